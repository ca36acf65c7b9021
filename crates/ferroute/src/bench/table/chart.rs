//! Horizontal bars on a logarithmic scale as SVG, readable on light and dark pages.

use std::fmt::Write as _;

use crate::bench::queues::plot::{COLOURS, escaped};

/// A group of bars with a heading.
pub(in crate::bench) struct Group {
    pub(in crate::bench) name: String,
    /// Name and value of each bar; values below 1 are drawn as 1.
    pub(in crate::bench) bars: Vec<(String, f64)>,
}

const WIDTH: f64 = 900.0;
/// Left end of bars, and right margin for their values.
const LEFT: f64 = 330.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 48.0;
/// Height of a bar with its distance to the next, and of a heading.
const BAR: f64 = 15.0;
const HEADING: f64 = 24.0;

/// Draws groups of bars with a title, which states the unit.
pub(in crate::bench) fn to_svg(title: &str, groups: &[Group]) -> String {
    let values = || groups.iter().flat_map(|group| &group.bars);
    let decades = values()
        .map(|(_, value)| value.max(1.0).log10().ceil())
        .fold(1.0, f64::max);
    let x = |value: f64| LEFT + value.max(1.0).log10() / decades * (WIDTH - LEFT - RIGHT);
    let height = TOP + groups.len() as f64 * HEADING + values().count() as f64 * BAR + 8.0;
    let title = escaped(title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<title>{title}</title>\n\
         <style>text{{fill:#222}}.grid{{stroke:#8883}}\
         @media(prefers-color-scheme:dark){{text{{fill:#ddd}}}}</style>\n\
         <text x=\"8\" y=\"20\" font-size=\"15\">{title}</text>\n"
    );
    for decade in 0..=decades as i32 {
        let value = 10_f64.powi(decade);
        _ = writeln!(
            out,
            "<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{TOP}\" y2=\"{height:.1}\" class=\"grid\"/>\
             <text x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"middle\">{value}</text>",
            x(value),
            TOP - 6.0
        );
    }
    let mut y = TOP;
    for group in groups {
        y += HEADING;
        _ = writeln!(
            out,
            "<text x=\"8\" y=\"{:.1}\" font-weight=\"bold\">{}</text>",
            y - 6.0,
            escaped(&group.name)
        );
        for (number, (name, value)) in group.bars.iter().enumerate() {
            let right = x(*value);
            _ = writeln!(
                out,
                "<text x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"end\">{2}</text>\
                 <rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{3:.1}\" height=\"{4:.1}\" fill=\"{5}\"/>\
                 <text x=\"{6:.1}\" y=\"{1:.1}\">{value:.1}</text>",
                LEFT - 6.0,
                y + BAR - 5.0,
                escaped(name),
                right - LEFT,
                BAR - 4.0,
                COLOURS[number % COLOURS.len()],
                right + 4.0
            );
            y += BAR;
        }
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_lie_within_the_picture_and_grow_with_their_values() {
        let bars = [("a < b", 0.1), ("c", 50.0), ("d", 99_000.0)];
        let group = Group {
            name: String::from("64 bytes"),
            bars: bars.map(|(name, value)| (name.to_owned(), value)).into(),
        };
        let svg = to_svg("kpps & more", &[group]);
        assert!(svg.contains("kpps &amp; more") && svg.contains("a &lt; b"));
        let widths = svg.split("width=\"").skip(1).filter_map(|rest| {
            let (width, _) = rest.split_once('"')?;
            width.parse::<f64>().ok()
        });
        let widths: Vec<f64> = widths.collect();
        assert_eq!(widths.len(), 3, "{svg}");
        assert!(widths[0] == 0.0 && widths[0] < widths[1] && widths[1] < widths[2]);
        assert!(LEFT + widths[2] < WIDTH - RIGHT + 1.0);
    }
}
