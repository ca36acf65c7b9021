//! `ferroute bench table`: prints the results of this machine in the format of the test results of RouterOS's maker,
//! beside boards of that maker.
//!
//! Tables in memory and through ports are separate. A configuration of the user is measured through ports.

mod boards;
pub(super) mod chart;
mod configured;
mod memory;
mod ports;
mod render;
mod results;

use self::results::{Kind, Results, switching};
use crate::cli::location::is_root;
use crate::cli::{Table, Via};

/// Maximum number of runs through ports, each of which takes a third of a second.
const PORT_RUNS: u32 = 11;

/// Runs the measurements, and writes the table in the requested formats.
///
/// # Errors
/// A measurement fails, the machine does not permit it, or a file cannot be written.
pub(super) fn run(asked: &Table) -> Result<(), String> {
    if let Some(config) = &asked.config {
        // The measurements before that of the configuration take minutes.
        let found = std::fs::metadata(config);
        found.map_err(|error| format!("{}: {error}", config.display()))?;
    }
    let mut tables = Vec::new();
    for via in carriers(asked)? {
        match via.driver() {
            None => {
                let forwarding = memory::forwarding(asked.runs)?;
                tables.push(bridge_as_switch(&forwarding));
                tables.push(forwarding);
                tables.push(memory::ipsec(asked.runs)?);
            }
            Some(driver) => {
                let forwarding = ports::forwarding(&ports::Request {
                    driver,
                    runs: asked.runs.min(PORT_RUNS),
                    config: asked.config.as_deref(),
                    ports: [&asked.from, &asked.to],
                })?;
                tables.push(bridge_as_switch(&forwarding));
                tables.push(forwarding);
            }
        }
    }
    tables.extend(Kind::ALL.into_iter().flat_map(boards::published));
    asked.formats.write(
        || render::to_markdown(&tables),
        || render::to_json(&tables),
        || render::to_svg(&tables),
    )
}

/// Returns the requested carriers: by default memory and, for root, packet sockets on veth devices.
fn carriers(asked: &Table) -> Result<Vec<Via>, String> {
    let carriers = match (asked.via.is_empty(), is_root()) {
        (false, _) => asked.via.clone(),
        (true, true) => vec![Via::Memory, Via::Packet],
        (true, false) => vec![Via::Memory],
    };
    if carriers.contains(&Via::Tap) {
        return Err(String::from(
            "bench table measures --via memory, packet and xdp",
        ));
    }
    let through_ports = carriers.iter().any(|via| via.driver().is_some());
    if asked.config.is_some() && !through_ports {
        return Err(String::from(
            "--config is measured through ports: --via packet or --via xdp, as root",
        ));
    }
    Ok(carriers)
}

/// Returns the bridge of a table of forwarding as a switch.
fn bridge_as_switch(forwarding: &Results) -> Results {
    Results {
        machine: format!("{}, software bridge", forwarding.machine),
        kind: Kind::Switching,
        lines: forwarding
            .lines
            .first()
            .map(|bridging| switching(bridging.cells))
            .unwrap_or_default(),
    }
}
