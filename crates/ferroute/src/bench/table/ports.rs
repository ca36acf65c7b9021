//! Results of this machine through ports: a router on veth devices, its worker on one core, the generator on another.
//!
//! ```text
//!  generator ── ga1 ── in [ router ] out ── gb1 ── counted and dropped
//! ```

use std::fmt::Write as _;
use std::path::Path;

use bench::{Family, Ruleset, Spread};
use lab::{Holding, Lab, Life, Options};

use super::boards::FORWARDING;
use super::configured::Configured;
use super::results::{Cell, FRAMES, Kind, Line, Results};
use crate::bench::process::Router;
use crate::bench::tap::within;
use crate::bench::veth::{
    Cores, GENERATOR, Generator, LAYOUT, NOBODY, WORKER, realtime, templates,
};

/// Number of flows.
pub(super) const FLOWS: u32 = 1_000;
/// Rules and queues of a configuration.
const RULES: usize = 25;
/// Addresses, neighbours and routes of the configurations that route.
const ROUTING: &str = "/ip address
add address=10.0.1.1/24 interface=ether1
add address=10.0.2.1/24 interface=ether2
/ip route
add dst-address=198.18.0.0/15 gateway=10.0.2.2
";

/// Options of the measurement.
pub(super) struct Request<'a> {
    /// Driver of the ports.
    pub(super) driver: &'static str,
    pub(super) runs: u32,
    /// The user's configuration.
    pub(super) config: Option<&'a Path>,
    /// Ports of the user's configuration: receiving and transmitting.
    pub(super) ports: [&'a str; 2],
}

/// Measures bridging and routing, and the user's configuration.
///
/// # Errors
/// The machine does not permit it, or no packet arrives.
pub(super) fn forwarding(request: &Request<'_>) -> Result<Results, String> {
    if !crate::cli::location::is_root() {
        return Err(String::from(
            "a table through ports needs root: it makes network devices and sets priorities",
        ));
    }
    let cores = Cores::of_this_machine()?;
    let mut lines = Vec::new();
    for (number, (mode, configuration)) in FORWARDING.iter().enumerate() {
        let lab = new_lab(["ether1", "ether2"])?;
        let router = start(
            &lab,
            request.driver,
            ["ether1", "ether2"],
            &standard(number),
        )?;
        let cells = measure(&lab, &router, cores, request.runs, |size| {
            frames_to(number, size)
        })?;
        drop(router);
        lab.down().map_err(text)?;
        lines.push(Line {
            mode,
            configuration: (*configuration).to_owned(),
            cells,
        });
    }
    if let Some(config) = request.config {
        lines.push(configured(request, config, cores)?);
    }
    Ok(Results {
        machine: format!(
            "this machine, one core, through ports (veth, {})",
            request.driver
        ),
        kind: Kind::Forwarding,
        lines,
    })
}

/// Measures the user's configuration.
fn configured(request: &Request<'_>, config: &Path, cores: Cores) -> Result<Line, String> {
    let read = std::fs::read_to_string(config);
    let config_text = read.map_err(|error| format!("{}: {error}", config.display()))?;
    let lab = new_lab(request.ports)?;
    let router = start(&lab, request.driver, request.ports, &config_text)?;
    let configured = Configured::prepare(&router, request.ports)?;
    within(&lab, GENERATOR, || {
        configured.begin_connections(&router, cores)
    })?;
    let cells = measure(&lab, &router, cores, request.runs, |size| {
        configured.frames(size)
    });
    let cells = cells.map_err(|error| {
        let [from, to] = request.ports;
        format!("{}: from {from} to {to}: {error}", config.display())
    })?;
    drop(router);
    lab.down().map_err(text)?;
    let name = config.file_name().unwrap_or_default().to_string_lossy();
    Ok(Line {
        mode: "Routing",
        configuration: format!("{name}, {} to {}", request.ports[0], request.ports[1]),
        cells,
    })
}

fn text(error: lab::Error) -> String {
    error.to_string()
}

/// Creates the namespaces. The devices have the names of the layout; the router's ports are named in [`start`].
fn new_lab(ports: [&str; 2]) -> Result<Lab, String> {
    let options = Options {
        name: Some(format!("bench-table-{}-{}", ports[0], std::process::id())),
        life: Life::Owned,
        holding: Some(Holding::Named),
        belongings: Vec::new(),
    };
    Lab::up(&LAYOUT, &options).map_err(text)
}

/// Starts a router whose two ports have these names.
fn start(lab: &Lab, driver: &str, ports: [&str; 2], config: &str) -> Result<Router, String> {
    let devices = ["ether1", "ether2"];
    let ports: Vec<String> = { ports.iter().zip(devices) }
        .map(|(port, device)| format!("{port}={driver}:{device}"))
        .collect();
    let router = Router::start(lab, config, &ports)?;
    for worker in router.workers() {
        realtime(worker, Some(WORKER));
    }
    Ok(router)
}

/// Measures the rates for all frame lengths.
fn measure(
    lab: &Lab,
    router: &Router,
    cores: Cores,
    runs: u32,
    frames: impl Fn(u16) -> Vec<Vec<u8>> + Sync,
) -> Result<[Cell; 3], String> {
    within(lab, GENERATOR, || {
        let mut generator = Generator::new("ga1", lab::plan::mac(1, 2), "gb1", cores)?;
        let mut cells = [Cell::Missing; 3];
        for (cell, size) in cells.iter_mut().zip(FRAMES) {
            generator.load_as_they_are(&frames(size))?;
            let mut kpps = Vec::new();
            for _ in 0..runs {
                kpps.push(generator.run(|| router.cpu())?.rate / 1e3);
            }
            let spread = Spread::of(&mut kpps);
            *cell = Cell::measured(spread.median, spread, size);
        }
        Ok::<_, String>(cells)
    })
}

/// Returns the configuration of a line of [`FORWARDING`].
fn standard(line: usize) -> String {
    let bridge = format!(
        "/interface bridge
add name=bridge1 protocol-mode=none
/interface bridge port
add bridge=bridge1 interface=ether1 hw=no
add bridge=bridge1 interface=ether2 hw=no
/interface bridge host
add bridge=bridge1 interface=ether2 mac-address={NOBODY}
"
    );
    let arp = format!("/ip arp\nadd address=10.0.2.2 interface=ether2 mac-address={NOBODY}\n");
    let routing = format!("{ROUTING}{arp}");
    let numbers = 0..RULES;
    match line {
        0 => bridge,
        1 => numbers.fold(format!("{bridge}/interface bridge filter\n"), |mut all, n| {
            let _ = writeln!(
                all,
                "add chain=forward action=accept mac-protocol=ip src-address=11.{n}.0.0/16 ip-protocol=udp"
            );
            all
        }),
        2 => routing,
        3 => numbers.fold(format!("{routing}/queue simple\n"), |mut all, n| {
            // The last queue has the rest of the senders' network.
            let target = match n + 1 == RULES {
                true => String::from("100.64.0.0/10"),
                false => format!("100.{}.0.0/17", 64 + n),
            };
            let _ = writeln!(all, "add name=queue{n} target={target} max-limit=100G/100G");
            all
        }),
        _ => {
            let rules = Ruleset::new(Family::Ipv4).routeros();
            let tracking = "/ip firewall connection tracking\nset enabled=no\n";
            rules.iter().fold(
                format!("{routing}{tracking}/ip firewall filter\n"),
                |mut all, rule| {
                    let _ = writeln!(all, "add chain=forward action=accept {rule}");
                    all
                },
            )
        }
    }
}

/// Returns the frames for a line of [`FORWARDING`]: to the router, or to the host behind its bridge.
fn frames_to(line: usize, size: u16) -> Vec<Vec<u8>> {
    let to = match FORWARDING[line].0 {
        "Bridging" => address(NOBODY),
        _ => address(&lab::plan::mac(1, 2)),
    };
    let mut frames = templates(Family::Ipv4, FLOWS, size);
    for frame in &mut frames {
        frame[..6].copy_from_slice(&to);
    }
    frames
}

/// Parses a link address; bytes that are no numbers become 0.
pub(super) fn address(text: &str) -> [u8; 6] {
    let mut bytes = [0; 6];
    for (byte, part) in bytes.iter_mut().zip(text.trim().split(':')) {
        *byte = u8::from_str_radix(part, 16).unwrap_or(0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_rules_have_25_of_them() {
        let count = |line, word: &str| standard(line).matches(word).count();
        assert_eq!(count(1, "action=accept"), 25);
        assert_eq!(count(3, "max-limit"), 25);
        assert_eq!(count(4, "action=accept"), 25);
        assert_eq!(count(2, "action=accept") + count(0, "action=accept"), 0);
    }

    #[test]
    fn frames_are_addressed_to_the_router_or_to_the_host_behind_the_bridge() {
        let bridged = frames_to(0, 64);
        assert!(bridged.iter().all(|frame| frame[..6] == address(NOBODY)));
        let routed = frames_to(2, 512);
        assert_eq!((routed.len(), routed[0].len()), (1_000, 508));
        assert_eq!(routed[0][..6], [2, 0, 0, 0, 1, 2]);
    }
}
