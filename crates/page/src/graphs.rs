//! Pages of `/graphs`: HTML and SVG without scripts, as RouterOS's pages of pictures.

use std::fmt::Write as _;

/// Width and height of the drawing area, and its margins, in pixels.
const WIDTH: usize = 500;
const HEIGHT: usize = 120;
const LEFT: usize = 70;
const TOP: usize = 10;
const BOTTOM: usize = 20;

/// Unit of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphUnit {
    /// Bits per second: 1,000 bits are a kilobit.
    Bits,
    /// Percent.
    Percent,
    /// Bytes: 1,024 bytes are a kibibyte.
    Bytes,
}

/// A chart: one period of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Chart<'a> {
    /// Heading.
    pub heading: &'a str,
    /// Number of samples of a full period.
    pub length: usize,
    /// Samples, the oldest first.
    pub samples: &'a [[u64; 2]],
    /// Unit of the samples.
    pub unit: GraphUnit,
    /// Names of the two values; a chart of one value has one name.
    pub labels: &'a [&'static str],
}

/// Returns an HTML page with this title and body; the browser loads it again after `refresh_seconds`.
pub fn graph_page(title: &str, body: &str, refresh_seconds: Option<u64>) -> String {
    let mut page =
        String::from("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    if let Some(seconds) = refresh_seconds {
        let _ = write!(page, "<meta http-equiv=\"refresh\" content=\"{seconds}\">");
    }
    let title = escape(title);
    let _ = write!(
        page,
        "<title>{title}</title></head>\n<body><h1>{title}</h1>\n{body}</body></html>\n"
    );
    page
}

/// Returns links to graphs: path and text of each.
pub fn graph_links<'a>(links: impl Iterator<Item = (String, &'a str)>) -> String {
    let mut body = String::from("<ul>\n");
    for (path, text) in links {
        let (path, text) = (escape(&path), escape(text));
        let _ = writeln!(body, "<li><a href=\"{path}\">{text}</a></li>");
    }
    body.push_str("</ul>\n");
    body
}

/// Returns a chart with its heading and figures as a part of a page.
pub fn chart_section(chart: &Chart<'_>) -> String {
    let mut text = format!(
        "<h2>{}</h2>\n{}\n<p>",
        escape(chart.heading),
        chart_svg(chart)
    );
    for (at, label) in chart.labels.iter().enumerate() {
        let mut values = chart.samples.iter().map(|sample| sample[at]);
        let count = values.clone().count().max(1) as u128;
        let sum: u128 = values.clone().map(u128::from).sum();
        let show = |value: u64| amount(value, chart.unit);
        let most = show(values.clone().max().unwrap_or(0));
        let mean = show(u64::try_from(sum / count).unwrap_or(u64::MAX));
        let last = show(values.next_back().unwrap_or(0));
        let separator = if at > 0 { "<br>" } else { "" };
        let _ = write!(
            text,
            "{separator}Max {label}: {most}; Average {label}: {mean}; Current {label}: {last};"
        );
    }
    text.push_str("</p>\n");
    text
}

/// Returns a chart as SVG 1.1: an area for the first value of each sample, a line for the second value.
pub fn chart_svg(chart: &Chart<'_>) -> String {
    let most = chart.samples.iter().flatten().copied().max().unwrap_or(0);
    let scale = match chart.unit {
        GraphUnit::Percent => 100,
        _ => most.max(1),
    };
    let (width, height) = (LEFT + WIDTH + 10, TOP + HEIGHT + BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"10\"><title>{}</title>\n",
        escape(chart.heading)
    );
    for quarter in 0..=4_u64 {
        let y = TOP as u64 + HEIGHT as u64 * (4 - quarter) / 4;
        let value = u64::try_from(u128::from(scale) * u128::from(quarter) / 4).unwrap_or(0);
        let (right, text) = (LEFT + WIDTH, amount(value, chart.unit));
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {y}H{right}\" stroke=\"#ccc\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{text}</text>",
            LEFT - 4,
            y + 3
        );
    }
    let length = chart.length.max(chart.samples.len()).max(2);
    let x = |at: usize| LEFT + WIDTH * (length - chart.samples.len() + at) / (length - 1);
    let y = |value: u64| {
        let part = u128::from(value.min(scale)) * HEIGHT as u128 / u128::from(scale);
        TOP + HEIGHT - usize::try_from(part).unwrap_or(HEIGHT)
    };
    let points = |value: usize| {
        let mut points = String::new();
        for (at, sample) in chart.samples.iter().enumerate() {
            let _ = write!(points, "{},{} ", x(at), y(sample[value]));
        }
        points
    };
    if !chart.samples.is_empty() {
        let (first, last, floor) = (x(0), x(chart.samples.len() - 1), TOP + HEIGHT);
        let _ = writeln!(
            svg,
            "<polygon points=\"{first},{floor} {}{last},{floor}\" fill=\"#0c0\"/>",
            points(0)
        );
    }
    if chart.labels.len() > 1 {
        let line = points(1);
        let _ = writeln!(
            svg,
            "<polyline points=\"{line}\" fill=\"none\" stroke=\"#00f\"/>"
        );
    }
    svg.push_str("</svg>");
    svg
}

/// Returns an amount with its unit.
fn amount(value: u64, unit: GraphUnit) -> String {
    let (step, names): (f64, &[&str]) = match unit {
        GraphUnit::Percent => return format!("{value}%"),
        GraphUnit::Bits => (1_000.0, &["b", "kb", "Mb", "Gb", "Tb"]),
        GraphUnit::Bytes => (1_024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
    };
    let (mut value, mut at) = (value as f64, 0);
    while value >= step && at + 1 < names.len() {
        (value, at) = (value / step, at + 1);
    }
    let digits = if at == 0 { 0 } else { 2 };
    format!("{value:.digits$}{}", names[at])
}

/// Escapes a text for HTML and SVG.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHART: Chart<'static> = Chart {
        heading: "Daily <b>",
        length: 3,
        samples: &[[0, 500_000], [1_000_000, 250_000], [500_000, 0]],
        unit: GraphUnit::Bits,
        labels: &["In", "Out"],
    };

    #[test]
    fn a_chart_shows_its_samples_and_figures() {
        let svg = chart_svg(&CHART);
        assert!(
            svg.contains("points=\"70,130 70,130 320,10 570,70 570,130\""),
            "{svg}"
        );
        assert!(svg.contains("points=\"70,70 320,100 570,130 \""), "{svg}");
        let section = chart_section(&CHART);
        assert!(section.contains("Max In: 1.00Mb; Average In: 500.00kb; Current In: 500.00kb;"));
        assert!(section.contains("Max Out: 500.00kb; Average Out: 250.00kb; Current Out: 0b;"));
        let empty = Chart {
            samples: &[],
            ..CHART
        };
        assert!(!chart_svg(&empty).contains("polygon"));
    }

    #[test]
    fn names_cannot_add_markup() {
        let page = graph_page("<script>", &chart_section(&CHART), Some(300));
        assert!(
            page.contains("&lt;script&gt;") && !page.contains("<script>"),
            "{page}"
        );
        assert!(page.contains("Daily &lt;b&gt;") && page.contains("content=\"300\""));
        let links = graph_links([("a\"b/".to_owned(), "x&y")].into_iter());
        assert!(links.contains("href=\"a&quot;b/\">x&amp;y<"), "{links}");
    }

    #[test]
    fn amounts_have_units_of_their_kind() {
        let shown = [
            amount(999, GraphUnit::Bits),
            amount(1_536, GraphUnit::Bytes),
            amount(42, GraphUnit::Percent),
        ];
        assert_eq!(shown, ["999b", "1.50KiB", "42%"]);
    }
}
