//! `ferroute plan`: finds the bottleneck of a board or of this machine for expected traffic, and suggests better ports
//! and boards. The calculation is in the crate `board`.

mod machine;
mod setup;

use std::path::Path;

use board::planner::{Advice, Evaluation, Flow, Move, Setup, advise, chips, evaluate, report, svg};
use board::{Board, Hardware, SUITES};
use machine::Machine;
use serde_json::{Value, json};

use crate::cli::Plan;
use crate::cli::output;

/// Exit code if a part is overloaded.
const EXIT_OVERLOADED: u8 = 4;

/// Runs `ferroute plan`; returns the exit code: 4 if a part is overloaded.
pub(crate) fn plan(asked: &Plan) -> Result<u8, String> {
    if asked.chips {
        output::text(chips())?;
        return Ok(0);
    }
    match (asked.board, &asked.machine) {
        (Some(board), None) => {
            let hardware = (board.hardware())
                .ok_or_else(|| format!("nothing is known about {}", board.name))?;
            on(asked, board, hardware)
        }
        (None, Some(results)) => {
            let machine = Machine::read(results)?;
            let names = machine.names();
            let groups = machine.groups(&names);
            on(asked, &Machine::BOARD, &machine.hardware(&groups))
        }
        _ => Err(String::from(
            "--board NAME or --machine FILE is missing; --chips needs neither",
        )),
    }
}

fn on(asked: &Plan, board: &'static Board, hardware: &Hardware<'_>) -> Result<u8, String> {
    let ports: Vec<&str> = hardware.port_names().collect();
    if ports.is_empty() {
        let unknown = hardware.unknown().join(", ");
        return Err(format!(
            "{}: these facts are unknown: {unknown}",
            board.name
        ));
    }
    if asked.flows.is_empty() {
        return Err(String::from("--flow PORT-PORT=RATE is missing"));
    }
    let setup = match &asked.config {
        Some(file) => setup::read(file, board)?,
        None => Setup::default(),
    };
    let setup = with_switched(setup, &asked.switched, &ports)?;
    let usual = setup.suite.unwrap_or(SUITES[0]);
    let flows: Result<Vec<_>, String> = { asked.flows.iter() }
        .map(|text| Flow::parse(text, &ports, usual))
        .collect();
    let flows = flows?;
    let loads = evaluate(board, hardware, &flows, &setup);
    let advice = advise(board, hardware, &flows, &setup);
    if let Some(file) = &asked.svg {
        write(file, &svg(board, hardware, &loads))?;
    }
    output::text(match asked.json {
        true => format!("{}\n", to_json(board, &loads, &advice)),
        false => report(board, hardware, &loads, &advice),
    })?;
    Ok(match loads.is_overloaded() {
        true => EXIT_OVERLOADED,
        false => 0,
    })
}

/// Adds the ports of `--switched`.
fn with_switched(mut setup: Setup, switched: &[String], ports: &[&str]) -> Result<Setup, String> {
    for port in switched {
        if !ports.contains(&&**port) {
            return Err(format!(
                "--switched: {port} is not one of {}",
                ports.join(", ")
            ));
        }
        setup.switched.insert(port.clone());
    }
    Ok(setup)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn parts(loads: &Evaluation) -> Value {
    let parts = loads.resources.iter().map(|part| {
        json!({
            "name": part.name, "ports": part.ports, "mbps": part.mbps,
            "up": part.up_bps, "down": part.down_bps, "share": part.share,
        })
    });
    parts.collect()
}

fn steps(moves: &[Move]) -> Value {
    let all = moves.iter();
    all.map(|step| json!({ "from": step.from, "to": step.to }))
        .collect()
}

fn to_json(board: &Board, loads: &Evaluation, advice: &Advice) -> Value {
    let busiest = |loads: &Evaluation| loads.busiest().and_then(|part| part.share);
    let boards = advice.boards.iter().map(|other| {
        json!({
            "board": other.board.name, "share": busiest(&other.evaluation),
            "moves": steps(&other.moves), "switched": other.switched,
            "usd": other.price.map(|price| f64::from(price.cents) / 100.0),
            "price-date": other.price.map(|price| price.date),
        })
    });
    let better = advice.moves.as_ref();
    json!({
        "board": board.name,
        "carries": loads.carries(),
        "bottleneck": loads.busiest().map(|part| &part.name),
        "parts": parts(loads),
        "unknown": loads.unknown,
        "notes": loads.notes,
        "better": better.map(|(moves, loads)| json!({ "moves": steps(moves), "share": busiest(loads) })),
        "without-switching": advice.without_switching.as_ref().map(parts),
        "boards": boards.collect::<Value>(),
    })
}
