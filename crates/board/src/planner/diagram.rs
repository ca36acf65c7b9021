//! Block diagram of a board with the loads of a plan, as SVG.

use std::fmt::Write as _;

use super::load::{Evaluation, Resource, ResourceKind};
use super::report::percent;
use crate::hardware::{Connection, Hardware};
use crate::model::Board;

/// Width of a port in pixels, with its gap.
const COLUMN: usize = 74;
/// Height of the rows in pixels.
const ROW: usize = 110;
const MARGIN: usize = 20;

/// Colours of loads: green below 70 %, amber up to 100 %, red above 100 %, grey for unknown loads.
const GREEN: &str = "#2e9d57";
const AMBER: &str = "#d99000";
const RED: &str = "#cc3333";
const GREY: &str = "#9aa3ad";

/// A group of ports in the diagram with their connection to the processor.
struct Block {
    title: String,
    lane: Option<usize>,
    ports: Vec<String>,
}

/// Returns the diagram.
pub fn svg(board: &Board, hardware: &Hardware<'_>, loads: &Evaluation) -> String {
    let blocks = blocks(board, hardware, loads);
    let columns: usize = blocks.iter().map(|block| block.ports.len().max(2)).sum();
    let width = columns * COLUMN + MARGIN * 2;
    let height = 3 * ROW + MARGIN * 2 + 20;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>{} with the loads of a plan</title>\n",
        escaped(board.name)
    );
    let bottom = MARGIN + 2 * ROW + 40;
    let mut x = MARGIN;
    for block in &blocks {
        let wide = block.ports.len().max(2) * COLUMN;
        draw(&mut out, block, loads, x);
        link(&mut out, block, loads, x + wide / 2, bottom);
        x += wide;
    }
    let part = |kind| loads.resources.iter().find(|part| part.kind == kind);
    let processor = part(ResourceKind::Processor);
    let mut label = match hardware.processor {
        Some(processor) => format!("{}: processor {}", board.name, processor.name),
        None => format!("{}: processor", board.name),
    };
    label.push_str(&load_of(processor));
    if let Some(engine) = part(ResourceKind::Encryption) {
        label.push_str(&format!(", IPsec{}", load_of(Some(engine))));
    }
    boxed(
        &mut out,
        (MARGIN, bottom),
        (width - 2 * MARGIN, 44),
        colour(processor),
    );
    caption(&mut out, width / 2, bottom + 27, &label);
    out.push_str("</svg>\n");
    out
}

/// Groups the ports by lane; ports without lane are grouped by connection.
fn blocks(board: &Board, hardware: &Hardware<'_>, loads: &Evaluation) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let in_use = |lane: usize| {
        let mut parts = loads.resources.iter();
        parts.find(|part| part.name == format!("lane {lane}"))
    };
    for (lane, own) in board.lanes.iter().enumerate() {
        // Switched ports may have moved to another lane.
        let ports: Vec<String> = match in_use(lane) {
            Some(part) => part.ports.clone(),
            None => own.ports.iter().map(|port| (*port).to_owned()).collect(),
        };
        blocks.push(Block {
            title: format!("lane {lane}"),
            lane: Some(lane),
            ports,
        });
    }
    for connection in [Connection::Direct, Connection::Unknown] {
        let groups = hardware.ports.iter();
        let groups = groups.filter(|group| group.connection == connection);
        let ports: Vec<String> = { groups.flat_map(|group| group.names) }
            .map(|port| (*port).to_owned())
            .collect();
        if !ports.is_empty() {
            let title = match connection {
                Connection::Direct => "direct",
                _ => "connection not published",
            };
            blocks.push(Block {
                title: title.to_owned(),
                lane: None,
                ports,
            });
        }
    }
    blocks
}

fn draw(out: &mut String, block: &Block, loads: &Evaluation, left: usize) {
    for (at, port) in block.ports.iter().enumerate() {
        let mut parts = loads.resources.iter();
        let part = parts.find(|part| part.kind == ResourceKind::Port && part.name == *port);
        let x = left + at * COLUMN;
        boxed(out, (x + 3, MARGIN), (COLUMN - 6, 48), colour(part));
        caption(out, x + COLUMN / 2, MARGIN + 20, port);
        caption(out, x + COLUMN / 2, MARGIN + 38, load_of(part).trim());
        let _ = writeln!(
            out,
            "<path d=\"M{0} {1}V{2}\" stroke=\"{3}\" stroke-width=\"2\"/>",
            x + COLUMN / 2,
            MARGIN + 48,
            MARGIN + ROW,
            colour(part)
        );
    }
    let wide = block.ports.len().max(2) * COLUMN;
    boxed(out, (left + 3, MARGIN + ROW), (wide - 6, 30), GREY);
    caption(out, left + wide / 2, MARGIN + ROW + 19, &block.title);
}

/// Draws the connection of a block to the processor.
fn link(out: &mut String, block: &Block, loads: &Evaluation, x: usize, bottom: usize) {
    let lane = block.lane.map(|lane| format!("lane {lane}"));
    let mut parts = loads.resources.iter();
    let part = parts.find(|part| lane.as_ref().is_some_and(|lane| part.name == *lane));
    let top = MARGIN + ROW + 30;
    let _ = writeln!(
        out,
        "<path d=\"M{x} {top}V{bottom}\" stroke=\"{}\" stroke-width=\"6\"/>",
        colour(part)
    );
    if let Some(part) = part {
        let rate =
            { part.mbps }.map_or_else(|| String::from("? Mbps"), |rate| format!("{rate} Mbps"));
        let label = format!("{rate}{}", load_of(Some(part)));
        caption(out, x, (top + bottom) / 2, &label);
    }
}

fn load_of(part: Option<&Resource>) -> String {
    match part.map(|part| part.share) {
        Some(Some(share)) => format!(" {}", percent(share)),
        Some(None) => String::from(" ? %"),
        None => String::new(),
    }
}

fn colour(part: Option<&Resource>) -> &'static str {
    match part.and_then(|part| part.share) {
        Some(share) if share > 1.0 => RED,
        Some(share) if share > 0.7 => AMBER,
        Some(_) => GREEN,
        None => GREY,
    }
}

fn boxed(out: &mut String, corner: (usize, usize), size: (usize, usize), stroke: &str) {
    let _ = writeln!(
        out,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"#fff\" stroke=\"{stroke}\" \
         stroke-width=\"2\"/>",
        corner.0, corner.1, size.0, size.1
    );
}

fn caption(out: &mut String, x: usize, y: usize, text: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"#1d2733\" stroke=\"#fff\" stroke-width=\"3\" \
         paint-order=\"stroke\">{}</text>",
        escaped(text)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
