//! Line plots over time as SVG, readable on light and dark pages.

use std::fmt::Write as _;

/// A line.
pub(in crate::bench) struct Series {
    pub(in crate::bench) name: String,
    /// Points: seconds and value.
    pub(in crate::bench) points: Vec<(f64, f64)>,
}

/// A plot.
pub(in crate::bench) struct Plot {
    pub(in crate::bench) title: &'static str,
    /// Unit of the values.
    pub(in crate::bench) unit: &'static str,
    pub(in crate::bench) series: Vec<Series>,
    /// Marked values, with their labels.
    pub(in crate::bench) lines: Vec<(f64, String)>,
    /// Marked times in seconds, with their labels.
    pub(in crate::bench) moments: Vec<(f64, String)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
/// Margins: left, right, top, bottom.
const MARGIN: (f64, f64, f64, f64) = (56.0, 130.0, 40.0, 44.0);
/// Distinguishable with colour blindness, on white and on black.
pub(in crate::bench) const COLOURS: [&str; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
];
/// Number of steps on an axis.
const STEPS: f64 = 6.0;

impl Plot {
    /// Renders the plot.
    pub(in crate::bench) fn to_svg(&self) -> String {
        let all = || {
            self.series
                .iter()
                .flat_map(|series| &series.points)
                .filter(|point| point.1.is_finite())
        };
        let end = all().map(|point| point.0).fold(1.0, f64::max);
        let marked = self.lines.iter().map(|line| line.0);
        let most = all()
            .map(|point| point.1)
            .chain(marked)
            .fold(f64::MIN_POSITIVE, f64::max)
            * 1.05;
        let scale = Scale { end, most };
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<title>{0}</title>\n\
             <style>text{{fill:#222}}.axis{{stroke:#888}}.grid{{stroke:#8883}}\
             @media(prefers-color-scheme:dark){{text{{fill:#ddd}}}}</style>\n\
             <text x=\"{1}\" y=\"22\" font-size=\"15\">{0}</text>\n",
            escaped(self.title),
            MARGIN.0
        );
        self.axes(&scale, &mut out);
        for (value, name) in &self.lines {
            let y = scale.y(*value);
            let (from, to) = (scale.x(0.0), scale.x(end));
            _ = writeln!(
                out,
                "<line x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" class=\"axis\" stroke-dasharray=\"6 4\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                to + 6.0,
                y + 4.0,
                escaped(name)
            );
        }
        for (number, (seconds, name)) in self.moments.iter().enumerate() {
            // Labels of near moments stand in three rows.
            let (x, bottom) = (scale.x(*seconds), scale.y(0.0));
            let y = MARGIN.2 + 12.0 + 14.0 * (number % 3) as f64;
            _ = writeln!(
                out,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\" class=\"axis\" \
                 stroke-dasharray=\"2 4\"/>\
                 <text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                MARGIN.2,
                x + 3.0,
                escaped(name)
            );
        }
        for (at, series) in self.series.iter().enumerate() {
            line(series, COLOURS[at % COLOURS.len()], &scale, &mut out);
            legend(series, at, &mut out);
        }
        out.push_str("</svg>\n");
        out
    }

    fn axes(&self, scale: &Scale, out: &mut String) {
        let (left, right) = (scale.x(0.0), scale.x(scale.end));
        let bottom = scale.y(0.0);
        let mut value = 0.0;
        while value <= scale.most {
            let y = scale.y(value);
            _ = writeln!(
                out,
                "<line x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" class=\"grid\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
                left - 6.0,
                y + 4.0
            );
            value = round(value + step(scale.most));
        }
        let mut second = 0.0;
        while second <= scale.end {
            let x = scale.x(second);
            _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{second}</text>",
                bottom + 16.0
            );
            second = round(second + step(scale.end));
        }
        _ = writeln!(
            out,
            "<line x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{bottom:.1}\" y2=\"{bottom:.1}\" class=\"axis\"/>\
             <text x=\"{right:.1}\" y=\"{:.1}\" text-anchor=\"end\">seconds</text>\
             <text x=\"{left:.1}\" y=\"{:.1}\">{}</text>",
            bottom + 34.0,
            MARGIN.2 - 4.0,
            escaped(self.unit)
        );
    }
}

/// Maps seconds and values to coordinates.
struct Scale {
    end: f64,
    most: f64,
}

impl Scale {
    fn x(&self, seconds: f64) -> f64 {
        MARGIN.0 + seconds / self.end * (WIDTH - MARGIN.0 - MARGIN.1)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - MARGIN.3 - value / self.most * (HEIGHT - MARGIN.2 - MARGIN.3)
    }
}

/// Returns a round step that divides an axis into a few parts.
fn step(most: f64) -> f64 {
    let rough = most / STEPS;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= rough);
    factor.unwrap_or(10.0) * power
}

/// Rounds sums of steps to remove binary fractions.
fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn line(series: &Series, colour: &str, scale: &Scale, out: &mut String) {
    _ = write!(
        out,
        "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\""
    );
    for (seconds, value) in series.points.iter().filter(|point| point.1.is_finite()) {
        _ = write!(out, "{:.1},{:.1} ", scale.x(*seconds), scale.y(*value));
    }
    out.push_str("\"/>\n");
}

fn legend(series: &Series, at: usize, out: &mut String) {
    let (x, y) = (
        WIDTH - MARGIN.1 + 8.0,
        HEIGHT - MARGIN.3 - 16.0 * at as f64 - 8.0,
    );
    _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"4\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
        y - 6.0,
        COLOURS[at % COLOURS.len()],
        x + 18.0,
        escaped(&series.name)
    );
}

pub(in crate::bench) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_a_line_for_each_series_within_its_bounds() {
        let series = |name: &str, top: f64| Series {
            name: name.to_owned(),
            points: vec![(0.0, 0.0), (1.0, top), (2.0, f64::NAN), (3.0, 1.0)],
        };
        let plot = Plot {
            title: "a < b & c",
            unit: "Mbit/s",
            series: vec![series("one", 22.0), series("two", 7.0)],
            lines: vec![(20.0, String::from("max-limit"))],
            moments: vec![(1.0, String::from("load"))],
        };
        let svg = plot.to_svg();
        assert!(svg.contains("a &lt; b &amp; c") && svg.ends_with("</svg>\n"));
        let lines: Vec<_> = svg
            .lines()
            .filter(|line| line.starts_with("<polyline"))
            .collect();
        assert_eq!(lines.len(), 2);
        let points = lines[0].rsplit_once("points=\"").expect("points").1;
        let points = points.trim_end_matches("\"/>").split_whitespace();
        let points: Vec<(f64, f64)> = points
            .map(|point| point.split_once(',').expect("a pair"))
            .map(|(x, y)| (x.parse().expect("a number"), y.parse().expect("a number")))
            .collect();
        assert_eq!(points.len(), 3, "what is no number is left out");
        assert!(
            points
                .iter()
                .all(|(x, y)| (0.0..=WIDTH).contains(x) && (0.0..=HEIGHT).contains(y))
        );
        assert!(points[1].1 < points[0].1, "more is higher");
    }

    #[test]
    fn steps_are_round() {
        assert_eq!([1.0, 5.0, 22.0, 130.0].map(step), [0.2, 1.0, 5.0, 50.0]);
    }
}
