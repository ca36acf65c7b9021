//! Report of a plan as text.

use std::fmt::Write as _;

use super::advice::{Advice, Move};
use super::load::{Evaluation, Resource, ResourceKind};
use crate::hardware::{Hardware, Price};
use crate::model::Board;

/// Returns loads, bottleneck, unknown facts and recommendations as text.
pub fn report(
    board: &Board,
    hardware: &Hardware<'_>,
    loads: &Evaluation,
    advice: &Advice,
) -> String {
    let mut text = format!("{}{}\n", board.name, describe(board, hardware));
    let last = loads.resources.len().saturating_sub(1);
    for (at, part) in loads.resources.iter().enumerate() {
        let corner = if at == last { "└─" } else { "├─" };
        let _ = writeln!(text, "{corner} {}", line(part));
    }
    text.push_str(&verdict(loads));
    for fact in &loads.unknown {
        let _ = writeln!(text, "unknown: {fact}");
    }
    for note in &loads.notes {
        let _ = writeln!(text, "note: {note}");
    }
    for rate in hardware.encryption.software {
        let needs = loads.unknown.iter().any(|fact| fact.contains("IPsec"));
        if needs && rate.tunnel.starts_with("IPsec") {
            let _ = writeln!(
                text,
                "measured: {} carried {} Mbps of a file with the processor at {} %",
                rate.tunnel, rate.mbps, rate.processor_percent
            );
        }
    }
    text.push_str(&recommendations(loads, advice));
    text
}

fn describe(board: &Board, hardware: &Hardware<'_>) -> String {
    let mut words = Vec::new();
    if board.is_routerboard() {
        words.push(board.model.to_owned());
    }
    if let Some(processor) = hardware.processor {
        let clock = { processor.mhz }.map_or_else(String::new, |mhz| format!(", {mhz} MHz"));
        let cores = match processor.cores {
            1 => String::from("1 core"),
            cores => format!("{cores} cores"),
        };
        words.push(format!("{}, {cores}{clock}", processor.name));
    }
    if let Some(form) = hardware.smart_card {
        words.push(format!("smart-card slot of {form}"));
    }
    if let Some(price) = hardware.price {
        words.push(format!("{} on {}", dollars(price), price.date));
    }
    match words.is_empty() {
        true => String::new(),
        false => format!(" ({})", words.join("; ")),
    }
}

fn dollars(price: Price) -> String {
    format!("${}.{:02}", price.cents / 100, price.cents % 100)
}

/// Returns a rate in Mbps.
fn mbps(bps: f64) -> String {
    format!("{:.0} Mbps", bps / 1e6)
}

/// Returns a share in percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn line(part: &Resource) -> String {
    let share = part.share.map_or_else(|| String::from("?"), percent);
    let full = match part.share {
        Some(share) if share > 1.0 => "  ◀ overloaded",
        _ => "",
    };
    let rate =
        { part.mbps }.map_or_else(|| String::from("? Mbps"), |rate| format!("{rate:.0} Mbps"));
    let (up, down) = (mbps(part.up_bps), mbps(part.down_bps));
    let name = &part.name;
    match part.kind {
        ResourceKind::Port => format!("port {name} of {rate}: in {up}, out {down}, {share}{full}"),
        ResourceKind::Lane => format!(
            "{name} ══ {rate} each way: up {up}, down {down}, {share}{full} ══ {}",
            part.ports.join(" ")
        ),
        ResourceKind::Chip => format!("{name} switches {up} of {rate}: {share}{full}"),
        ResourceKind::Processor => format!("processor: {share}{full}"),
        ResourceKind::Encryption => format!("encryption by {name}: {share}{full}"),
    }
}

fn verdict(loads: &Evaluation) -> String {
    match (loads.busiest(), loads.unknown.is_empty()) {
        (Some(part), _) if part.share > Some(1.0) => {
            let passes = percent(1.0 / part.share.unwrap_or(1.0));
            let name = &part.name;
            format!("the bottleneck is {name}: {passes} of its traffic gets through\n")
        }
        (Some(part), true) => {
            let share = part.share.map_or_else(String::new, percent);
            format!("it fits; the busiest is {} with {share}\n", part.name)
        }
        _ => String::from("whether it fits is not known\n"),
    }
}

fn said(moves: &[Move]) -> String {
    let all: Vec<_> = { moves.iter() }
        .map(|step| format!("{} in place of {}", step.to, step.from))
        .collect();
    all.join(", ")
}

fn busiest(loads: &Evaluation) -> String {
    let share = loads
        .busiest()
        .map(|part| (part, part.share.unwrap_or(0.0)));
    share.map_or_else(String::new, |(part, share)| {
        format!("{} has {}", part.name, percent(share))
    })
}

fn recommendations(loads: &Evaluation, advice: &Advice) -> String {
    let mut text = String::new();
    if let Some(software) = &advice.without_switching {
        let cost =
            |loads: &Evaluation| loads.processor().map_or_else(|| String::from("?"), percent);
        let _ = writeln!(
            text,
            "switching puts all switched ports on one lane; with hw=no {}{}, and the processor has {} in place of {}",
            if software.carries() { "it fits: " } else { "" },
            busiest(software),
            cost(software),
            match loads.processor() {
                Some(share) => percent(share),
                None => percent(0.0),
            },
        );
    }
    if let Some((moves, loads)) = &advice.moves {
        let _ = writeln!(text, "better: {}; then {}", said(moves), busiest(loads));
    }
    for other in &advice.boards {
        let mut words = vec![busiest(&other.evaluation)];
        if let Some(price) = other.price {
            let forwarded = { other.evaluation.resources.iter() }
                .filter(|part| part.kind == ResourceKind::Port)
                .map(|part| part.down_bps)
                .sum::<f64>();
            let per_dollar = forwarded / 1e6 / (f64::from(price.cents) / 100.0);
            words.push(format!(
                "{} on {}, {per_dollar:.1} Mbps of this traffic per dollar",
                dollars(price),
                price.date
            ));
        }
        if !other.moves.is_empty() {
            words.push(said(&other.moves));
        }
        if !other.switched.is_empty() {
            let ports: Vec<_> = other.switched.iter().map(String::as_str).collect();
            words.push(format!("{} switched", ports.join(" ")));
        }
        let _ = writeln!(
            text,
            "board that carries it: {} ({})",
            other.board.name,
            words.join("; ")
        );
    }
    let fits_in_software = { advice.without_switching.as_ref() }.is_some_and(Evaluation::carries);
    if loads.is_overloaded() && advice.moves.is_none() && !fits_in_software {
        text.push_str("no assignment of its ports that was tried carries it\n");
    }
    text
}
