//! TCP through a router on TAP devices with segmentation offload, alternating with the kernel's own forwarding with
//! offloads.
//!
//! ```text
//!            ┌─ s1 ── ether1 ═ tap1 [ router ] tap2 ═ ether2 ── r1 ─┐
//!   sender ──┤                                                      ├── receiver
//!            └─ s2 ── k1           [ kernel ]             k2 ── r2 ─┘
//! ```
//!
//! `═` is a kernel bridge. Hosts, bridges and forwarders share the machine's cores with equal priority.

mod stream;

use bench::{Family, Spread};
use lab::{End, Holding, Host, Lab, Layout, Life, Link, Offloads, Options, Route};

use super::process::Router;
use crate::cli::Bench;
use crate::cli::output;
pub(in crate::bench) use stream::{Stream, within};

/// Name of the row in `--rows`.
pub(super) const ROW: &str = "tcp-segments";

const SENDER: &str = "sender";
const RECEIVER: &str = "receiver";
const KERNEL: &str = "kernel";

const LAYOUT: Layout = Layout {
    name: "bench-tap",
    summary: "two hosts, a router and a kernel that forwards",
    hosts: &[
        host(
            SENDER,
            false,
            &[
                route("10.1.2.0/24", "10.1.1.1"),
                route("10.2.2.0/24", "10.2.1.1"),
                route("2001:db8:12::/64", "2001:db8:11::1"),
                route("2001:db8:22::/64", "2001:db8:21::1"),
            ],
        ),
        host("router", false, &[]),
        host(KERNEL, true, &[]),
        host(
            RECEIVER,
            false,
            &[
                route("10.1.1.0/24", "10.1.2.1"),
                route("10.2.1.0/24", "10.2.2.1"),
                route("2001:db8:11::/64", "2001:db8:12::1"),
                route("2001:db8:21::/64", "2001:db8:22::1"),
            ],
        ),
    ],
    links: &[
        link([
            end(SENDER, "s1", &["10.1.1.2/24", "2001:db8:11::2/64"]),
            end("router", "ether1", &[]),
        ]),
        link([
            end("router", "ether2", &[]),
            end(RECEIVER, "r1", &["10.1.2.2/24", "2001:db8:12::2/64"]),
        ]),
        link([
            end(SENDER, "s2", &["10.2.1.2/24", "2001:db8:21::2/64"]),
            end(KERNEL, "k1", &["10.2.1.1/24", "2001:db8:21::1/64"]),
        ]),
        link([
            end(KERNEL, "k2", &["10.2.2.1/24", "2001:db8:22::1/64"]),
            end(RECEIVER, "r2", &["10.2.2.2/24", "2001:db8:22::2/64"]),
        ]),
    ],
    config: "/ip address
add address=10.1.1.1/24 interface=ether1
add address=10.1.2.1/24 interface=ether2
/ipv6 address
add address=2001:db8:11::1/64 advertise=no interface=ether1
add address=2001:db8:12::1/64 advertise=no interface=ether2
",
};

const fn host(name: &'static str, forwards: bool, routes: &'static [Route]) -> Host {
    Host {
        name,
        forwards,
        loopback: &[],
        routes,
    }
}

const fn route(destination: &'static str, via: &'static str) -> Route {
    Route { destination, via }
}

const fn end(host: &'static str, device: &'static str, addresses: &'static [&'static str]) -> End {
    End {
        host,
        device,
        addresses,
    }
}

const fn link(ends: [End; 2]) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::On,
        ends,
    }
}

/// Measures both families, and prints them.
///
/// # Errors
/// The machine does not permit it, or a run failed; completed rows are printed.
pub(super) fn run(bench: &Bench) -> Result<(), String> {
    if !crate::cli::location::is_root() {
        return Err(String::from(
            "--via tap needs root: it makes network devices",
        ));
    }
    if bench.workers != 1 {
        return Err(String::from("--via tap measures one worker"));
    }
    let text = |error: lab::Error| error.to_string();
    let options = Options {
        name: Some(format!("bench-{}", std::process::id())),
        life: Life::Owned,
        holding: Some(Holding::Named),
        belongings: Vec::new(),
    };
    let lab = Lab::up(&LAYOUT, &options).map_err(text)?;
    let ports = [1, 2].map(|number| format!("ether{number}=tap:tap{number}"));
    let router = Router::start(&lab, LAYOUT.config, &ports)?;
    bridge(&lab)?;
    if !bench.json {
        let _ = output::line(header());
    }
    for (family, own, other) in [
        (Family::Ipv4, "10.1.2.2", "10.2.2.2"),
        (Family::Ipv6, "2001:db8:12::2", "2001:db8:22::2"),
    ] {
        let ours = Stream::open(&lab, SENDER, RECEIVER, own)?;
        let theirs = Stream::open(&lab, SENDER, RECEIVER, other)?;
        let row = Row::measure(family, &ours, &theirs, bench.runs)?;
        let line = if bench.json {
            row.to_json()
        } else {
            row.line()
        };
        let _ = output::line(line);
    }
    if !bench.json {
        let _ = output::line(format_args!("\n{}", legend()));
    }
    drop(router);
    lab.down().map_err(text)
}

/// Bridges the hosts' links to the TAP devices.
fn bridge(lab: &Lab) -> Result<(), String> {
    let script = "for number in 1 2; do
        ip link add name bridge$number type bridge
        for device in ether tap bridge; do
            [ $device = bridge ] || ip link set dev $device$number master bridge$number
            ip link set dev $device$number up
        done
    done";
    let output = lab
        .command("router", "sh")
        .map_err(|error| error.to_string())?
        .args(["-e", "-c", script])
        .output()
        .map_err(|error| format!("sh: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("bridging the TAP devices: {reason}"))
}

/// Result of one family, in Mbit/s of payload.
struct Row {
    family: &'static str,
    ours: Spread,
    theirs: Spread,
    ratio: Spread,
}

impl Row {
    /// Alternates runs of both paths; the first path of a pair alternates as well.
    fn measure(family: Family, ours: &Stream, theirs: &Stream, runs: u32) -> Result<Self, String> {
        let mut rates = [Vec::new(), Vec::new()];
        for run in 0..runs.max(1) as usize {
            for side in [run % 2, (run + 1) % 2] {
                rates[side].push([ours, theirs][side].rate()?);
            }
        }
        let [mut own, mut other] = rates;
        let mut ratios: Vec<f64> = own
            .iter()
            .zip(&other)
            .map(|(own, other)| own / other)
            .collect();
        Ok(Self {
            family: family.name(),
            ours: Spread::of(&mut own),
            theirs: Spread::of(&mut other),
            ratio: Spread::of(&mut ratios),
        })
    }

    fn line(&self) -> String {
        let Spread { median, p10, p90 } = self.ours;
        format!(
            "{ROW:<20} {:<5} {median:>8.0}  {:<17} {:.2} ({:.2} to {:.2}) times the kernel's {:.0}",
            self.family,
            format!("{p10:.0} to {p90:.0}"),
            self.ratio.median,
            self.ratio.p10,
            self.ratio.p90,
            self.theirs.median,
        )
    }

    fn to_json(&self) -> String {
        serde_json::json!({
            "row": ROW,
            "family": self.family,
            "flows": 1,
            "via": "tap",
            "workers": 1,
            "mbps": self.ours.median.round(),
            "p10": self.ours.p10.round(),
            "p90": self.ours.p90.round(),
            "peer": {
                "name": "kernel",
                "mbps": self.theirs.median.round(),
                "ratio": (self.ratio.median * 1e3).round() / 1e3,
            },
        })
        .to_string()
    }
}

fn header() -> String {
    format!(
        "{:<20} {:<5} {:>8}  {:<17} {}",
        "row", "", "Mbps", "p10 to p90", "peer"
    )
}

fn legend() -> &'static str {
    "Mbps: payload of one TCP connection, median over the runs. peer: the median, 10th and 90th percentile\n\
     of the ratios within each pair of runs. Both hosts and the forwarder share the machine's cores."
}
