//! The report as an SVG picture: loss by load, one line for each frame length.

use std::fmt::Write as _;

use super::report::Report;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const MARGIN: f64 = 50.0;
const COLOURS: [&str; 6] = [
    "#1b6ca8", "#c0392b", "#27864b", "#8e44ad", "#b9770e", "#34495e",
];

/// Draws the curves.
pub(super) fn draw(report: &Report) -> String {
    let curves = report.results.iter().map(|result| &result.curve);
    let loads = curves.clone().flatten().map(|(load, _)| *load);
    let most = loads.fold(1.0, f64::max);
    let losses = curves.flatten().map(|(_, loss)| *loss);
    let worst = losses.fold(0.01, f64::max);
    let x = |load: f64| MARGIN + load / most * (WIDTH - 2.0 * MARGIN);
    let y = |loss: f64| HEIGHT - MARGIN - loss / worst * (HEIGHT - 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <path d=\"M{MARGIN} {MARGIN}V{}H{}\" fill=\"none\" stroke=\"black\"/>\n\
         <text x=\"{MARGIN}\" y=\"{}\">loss, up to {:.2} %</text>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">load, up to {most:.0} frames per second</text>\n",
        HEIGHT - MARGIN,
        WIDTH - MARGIN,
        MARGIN - 10.0,
        worst * 100.0,
        WIDTH - MARGIN,
        HEIGHT - MARGIN + 25.0,
    );
    for (at, result) in report.results.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let points = result.curve.iter();
        let points: Vec<_> = points
            .map(|(load, loss)| format!("{:.1},{:.1}", x(*load), y(*loss)))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
             <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{} bytes</text>",
            points.join(" "),
            MARGIN + 10.0,
            MARGIN + 15.0 * (at as f64 + 1.0),
            result.frame,
        );
    }
    svg.push_str("</svg>\n");
    svg
}
