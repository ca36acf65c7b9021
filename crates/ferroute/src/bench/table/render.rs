//! The table as Markdown, JSON and a picture.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::chart::{self, Group};
use super::results::{Cell, Kind, Line, MAX_SPREAD_PERCENT, Results};

/// Explanations below the Markdown tables.
const NOTES: &str = "\nBridging, routing and switching: sizes are frames with FCS, Mbps are of layer 2 unless the line \
states layer 1.\nIPsec: sizes and Mbps are of inner packets, encryption only. Boards: all ports, as published by the \
manufacturer;\n`?` marks a figure whose place in the published table is a guess. This machine: one core, medians; in \
memory without\ndevices, so the figures show the cost of the code; through ports with veth devices, whose cost is \
included.\nFilter rules were measured with 64,000 flows in memory, other lines with 1,000.\n";

/// Returns all tables as Markdown.
pub(super) fn to_markdown(tables: &[Results]) -> String {
    let mut text = String::new();
    for kind in Kind::ALL {
        for results in tables.iter().filter(|results| results.kind == kind) {
            text.push_str(&one_table(results));
            text.push('\n');
        }
    }
    let _ = writeln!(
        text,
        "{}`spread`: measurements differ by more than {MAX_SPREAD_PERCENT} % of the median (10th to 90th percentile), \
         so there is no figure.",
        NOTES.trim_start()
    );
    text
}

fn one_table(results: &Results) -> String {
    let mut text = format!("| {} | |", results.machine);
    for size in results.kind.sizes() {
        let _ = write!(text, " {size} kpps | Mbps |");
    }
    text.push_str("\n|---|---|---:|---:|---:|---:|---:|---:|\n");
    for line in &results.lines {
        let _ = write!(text, "| {} | {} |", line.mode, line.configuration);
        for cell in line.cells {
            let _ = match cell {
                Cell::Missing => write!(text, " – | – |"),
                Cell::Rate {
                    kpps,
                    mbps,
                    is_guessed,
                } => {
                    let mark = if is_guessed { " ?" } else { "" };
                    write!(text, " {kpps:.1}{mark} | {mbps:.1}{mark} |")
                }
                Cell::Unsteady { percent } => write!(text, " spread | {percent:.0} % |"),
            };
        }
        text.push('\n');
    }
    text
}

/// Returns all tables as JSON: an object per figure, without those that are missing.
pub(super) fn to_json(tables: &[Results]) -> Value {
    let each = tables.iter().map(|results| {
        json!({
            "machine": results.machine,
            "kind": results.kind.name(),
            "results": figures(results),
        })
    });
    json!({ "max-spread-percent": MAX_SPREAD_PERCENT, "tables": each.collect::<Value>() })
}

fn figures(results: &Results) -> Value {
    let sizes = results.kind.sizes();
    let of_line = |line: &Line| {
        let cells = line.cells.into_iter().zip(sizes);
        let (mode, configuration) = (line.mode, line.configuration.clone());
        cells.filter_map(move |(cell, size)| match cell {
            Cell::Missing => None,
            Cell::Rate {
                kpps,
                mbps,
                is_guessed,
            } => Some(json!({
                "mode": mode, "configuration": configuration, "size": size,
                "kpps": kpps, "mbps": mbps, "guessed-place": is_guessed,
            })),
            Cell::Unsteady { percent } => Some(json!({
                "mode": mode, "configuration": configuration, "size": size, "spread-percent": percent,
            })),
        })
    };
    results.lines.iter().flat_map(of_line).collect()
}

/// Draws the packet rates of bridging, routing and IPsec: a group for each line and size, a bar for each machine.
pub(super) fn to_svg(tables: &[Results]) -> String {
    let mut groups: Vec<Group> = Vec::new();
    for kind in [Kind::Forwarding, Kind::Ipsec] {
        for (at, size) in kind.sizes().into_iter().enumerate() {
            for results in tables.iter().filter(|results| results.kind == kind) {
                for line in &results.lines {
                    let Cell::Rate { kpps, .. } = line.cells[at] else {
                        continue;
                    };
                    let name = format!("{}, {}, {size} bytes", line.mode, line.configuration);
                    let bar = (results.machine.clone(), kpps);
                    match groups.iter_mut().find(|group| group.name == name) {
                        Some(group) => group.bars.push(bar),
                        None => groups.push(Group {
                            name,
                            bars: vec![bar],
                        }),
                    }
                }
            }
        }
    }
    chart::to_svg("Thousands of packets per second", &groups)
}

#[cfg(test)]
mod tests {
    use super::super::boards;
    use super::*;

    fn own() -> Results {
        let mut lines: Vec<Line> = { boards::FORWARDING.iter() }
            .map(|(mode, configuration)| Line {
                mode,
                configuration: (*configuration).to_owned(),
                cells: Kind::Forwarding
                    .sizes()
                    .map(|size| Cell::rate(1_000.0, size)),
            })
            .collect();
        lines[4].cells[0] = Cell::Unsteady { percent: 38.2 };
        lines[3].cells[2] = Cell::Missing;
        lines[1].cells[1] = lines[1].cells[1].guessed();
        Results {
            machine: String::from("x"),
            kind: Kind::Forwarding,
            lines,
        }
    }

    #[test]
    fn markdown_shows_figures_guesses_gaps_and_spreads() {
        let text = one_table(&own());
        assert_eq!(text.lines().count(), 2 + boards::FORWARDING.len());
        let line = "| Routing | none (fast path) | 1000.0 | 12144.0 | 1000.0 | 4096.0 |";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("| Routing | 25 ip filter rules | spread | 38 % | 1000.0 |"));
        assert!(text.contains("| 512.0 |\n") || text.contains(" – | – |\n"));
        assert!(text.contains("1000.0 ? | 4096.0 ? |"));
    }

    #[test]
    fn json_and_picture_have_every_figure_of_the_tables() {
        let mut tables = vec![own()];
        tables.extend(Kind::ALL.into_iter().flat_map(boards::published));
        let json = to_json(&tables);
        let results = &json["tables"][0]["results"];
        assert_eq!(results.as_array().map(Vec::len), Some(14));
        assert_eq!(results[11]["spread-percent"], 38.2);
        let rates = |results: &Results| {
            let cells = results.lines.iter().flat_map(|line| line.cells);
            cells
                .filter(|cell| matches!(cell, Cell::Rate { .. }))
                .count()
        };
        let drawn: usize = { tables.iter() }
            .filter(|results| results.kind != Kind::Switching)
            .map(rates)
            .sum();
        assert_eq!(to_svg(&tables).matches("<rect ").count(), drawn);
    }
}
