//! `ferroute bench vpn`: compares kinds of tunnels between two routers by throughput, CPU, overhead, MTU and latency,
//! beside the table of a talk (MUM Europe 2016).
//!
//! ```text
//!   one ── ether1 [ client ] ether2 ── ether2 [ server ] ether1 ── two
//! ```
//! Each router runs in a process of its own with one worker per core; both share the cores of the machine with the
//! ends of the TCP connection. The namespaces are made for the measurement, and removed afterwards.

mod echo;
mod kinds;
mod measure;
mod report;

use lab::{End, Holding, Host, Lab, Layout, Life, Link, Offloads, Options, Route};

use self::kinds::KINDS;
use crate::cli::Vpn;
use crate::cli::location::is_root;

/// Hosts at the ends, and the routers beside them.
pub(super) const ONE: &str = "one";
pub(super) const TWO: &str = "two";
pub(super) const CLIENT: &str = "client";
pub(super) const SERVER: &str = "server";
/// Address of the host `two`.
pub(super) const TWO_ADDRESS: &str = "10.2.0.2";

const LAYOUT: Layout = Layout {
    name: "vpn",
    summary: "two hosts, a router each, and the link between the routers",
    hosts: &[
        host(ONE, &[default("10.1.0.1")]),
        host(CLIENT, &[]),
        host(SERVER, &[]),
        host(TWO, &[default("10.2.0.1")]),
    ],
    links: &[
        link(
            end(ONE, "eth0", &["10.1.0.2/24"]),
            end(CLIENT, "ether1", &[]),
        ),
        link(end(CLIENT, "ether2", &[]), end(SERVER, "ether2", &[])),
        link(
            end(TWO, "eth0", &["10.2.0.2/24"]),
            end(SERVER, "ether1", &[]),
        ),
    ],
    config: "",
};

const fn host(name: &'static str, routes: &'static [Route]) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes,
    }
}

const fn default(via: &'static str) -> Route {
    Route {
        destination: "default",
        via,
    }
}

const fn end(host: &'static str, device: &'static str, addresses: &'static [&'static str]) -> End {
    End {
        host,
        device,
        addresses,
    }
}

const fn link(one: End, other: End) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [one, other],
    }
}

/// Measures the requested kinds one after the other, and writes the comparison.
///
/// # Errors
/// A kind is unknown, the machine does not permit namespaces, or no packet passes a tunnel.
pub(super) fn run(asked: &Vpn) -> Result<(), String> {
    let known = |name: &String| KINDS.iter().any(|kind| kind.name == name);
    if let Some(unknown) = asked.kinds.iter().find(|name| !known(name)) {
        let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        return Err(format!("no kind {unknown}: expected {}", names.join(", ")));
    }
    if !is_root() {
        return Err(String::from(
            "bench vpn needs root: it makes network namespaces and devices",
        ));
    }
    let chosen = |name: &str| asked.kinds.is_empty() || asked.kinds.iter().any(|own| own == name);
    let mut rows = Vec::new();
    for kind in KINDS.iter().filter(|kind| chosen(kind.name)) {
        let lab = new_lab()?;
        let row = measure::kind(&lab, kind, asked.seconds);
        lab.down().map_err(|error| error.to_string())?;
        rows.push(row.map_err(|error| format!("{}: {error}", kind.name))?);
    }
    asked.formats.write(
        || report::to_markdown(&rows),
        || report::to_json(&rows),
        || report::to_svg(&rows),
    )
}

fn new_lab() -> Result<Lab, String> {
    let options = Options {
        name: Some(format!("vpn-{}", std::process::id())),
        life: Life::Owned,
        holding: Some(Holding::Named),
        belongings: Vec::new(),
    };
    Lab::up(&LAYOUT, &options).map_err(|error| error.to_string())
}
