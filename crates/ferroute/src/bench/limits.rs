//! `ferroute bench limits`: measures stop and start times of a router with a large configuration, its memory after a
//! change, and the time of an SNMP walk over its interfaces. Each figure has a bound; the exit code is 1 if any bound
//! is exceeded.
//!
//! ```text
//!   left ── ether1 [ router ] ether2 ── right
//! ```

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab::{End, Holding, Host, Lab, Layout, Life, Link, Offloads, Options};
use rustix::process::Signal;

use super::process::{Router, SERVER, Start};
use crate::cli::output;

/// Maximum time to stop on request.
const END: Duration = Duration::from_secs(2);
/// Maximum time from the start of the program to the first forwarded packet.
const FORWARD: Duration = Duration::from_secs(3);
/// Maximum memory after a change, in percent of the memory before.
const MEMORY: u64 = 110;
/// Maximum time for memory to return.
const RETURN: Duration = Duration::from_secs(15);
/// Timeout for all steps.
const PATIENCE: Duration = Duration::from_secs(300);

/// Maximum time of a walk of `ifTable`.
const WALK: Duration = Duration::from_secs(2);

const VLANS: u32 = 2_000;
const ROUTES: u32 = 200_000;
const RULES: u32 = 5_000;
const QUEUES: u32 = 30_000;
/// Number of walked interfaces, and number of those with a parent among the others.
const WALKED: u32 = 10_000;
const PER_PARENT: u32 = 4_000;
/// Number of `ifTable` columns in the agent.
const COLUMNS: u32 = 21;

const fn host(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

const fn link(host: &'static str, addresses: &'static [&'static str], port: &'static str) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [
            End {
                host,
                device: "eth0",
                addresses,
            },
            End {
                host: "router",
                device: port,
                addresses: &[],
            },
        ],
    }
}

const LAYOUT: Layout = Layout {
    name: "limits",
    summary: "a router between two hosts",
    hosts: &[host("left"), host("router"), host("right")],
    links: &[
        link("left", &["192.0.2.2/24"], "ether1"),
        link("right", &["198.51.100.2/24"], "ether2"),
    ],
    config: "",
};

const BASE: &str = "/ip address add address=192.0.2.1/24 interface=ether1\n\
                    /ip address add address=198.51.100.1/24 interface=ether2\n";

/// Runs all measurements, and prints them. Returns the exit code.
///
/// # Errors
/// The machine does not permit it, or a router does not start.
pub(super) fn run() -> Result<u8, String> {
    let mut bounds = Bounds::default();
    with_vlans(&mut bounds)?;
    with_everything(&mut bounds)?;
    with_queues(&mut bounds)?;
    with_manager(&mut bounds)?;
    Ok(bounds.code())
}

/// Figures with their bounds.
#[derive(Default)]
struct Bounds {
    broken: bool,
}

impl Bounds {
    fn time(&mut self, what: &str, took: Duration, most: Duration) -> Result<(), String> {
        let seconds = took.as_secs_f64();
        let (figure, bound) = (format!("{seconds:.2} s"), format!("{most:?}"));
        self.line(what, &figure, took <= most, &bound)
    }

    fn line(&mut self, what: &str, figure: &str, holds: bool, bound: &str) -> Result<(), String> {
        let verdict = if holds { "holds" } else { "BROKEN" };
        self.broken |= !holds;
        output::line(format_args!("{what}: {figure}, at most {bound}: {verdict}"))
    }

    fn code(&self) -> u8 {
        u8::from(self.broken)
    }
}

fn vlans() -> String {
    let mut text = BASE.to_owned();
    for n in 0..VLANS {
        let _ = write!(
            text,
            "/interface vlan add interface=ether1 name=v{n} vlan-id={}\n\
             /ip address add address=10.{}.{}.1/24 interface=v{n}\n",
            n + 2,
            64 + n / 256,
            n % 256
        );
    }
    text
}

fn everything() -> String {
    let mut text = vlans();
    for n in 0..ROUTES {
        let (a, b, c) = (16 + n / 65_536, n / 256 % 256, n % 256);
        let _ = writeln!(
            text,
            "/ip route add dst-address={a}.{b}.{c}.0/24 gateway=198.51.100.2"
        );
    }
    for n in 0..RULES {
        let _ = writeln!(
            text,
            "/ip firewall filter add chain=forward action=drop src-address=11.0.{}.{}",
            n / 256,
            n % 256
        );
    }
    text
}

fn queues() -> String {
    let mut text = BASE.to_owned();
    for n in 0..QUEUES {
        let _ = writeln!(
            text,
            "/queue simple add name=q{n} target=10.0.{}.{}/32 max-limit=10M/10M",
            n / 256,
            n % 256
        );
    }
    text
}

/// Builds a configuration of VLANs in VLANs, each with an IPv4 and an IPv6 address, and an SNMP agent.
fn walked() -> String {
    let mut text = format!("{BASE}/snmp set enabled=yes\n");
    let mut parent = 0;
    for n in 0..WALKED {
        let at = n % PER_PARENT;
        if at == 0 {
            parent = n;
            let id = n / PER_PARENT + 2;
            let _ = writeln!(
                text,
                "/interface vlan add interface=ether1 name=v{n} vlan-id={id}"
            );
        } else {
            let id = at + 2;
            let _ = writeln!(
                text,
                "/interface vlan add interface=v{parent} name=v{n} vlan-id={id}"
            );
        }
        let (high, low) = (64 + n / 256, n % 256);
        let _ = write!(
            text,
            "/ip address add address=10.{high}.{low}.1/24 interface=v{n}\n\
             /ipv6 address add address=2001:db8:{n:x}::1/64 interface=v{n} advertise=no\n"
        );
    }
    text
}

/// Creates a lab whose hosts reach each other by the router.
fn lab(name: &str) -> Result<Lab, String> {
    let text = |error: lab::Error| error.to_string();
    let options = Options {
        name: Some(format!("limits-{name}-{}", std::process::id())),
        life: Life::Owned,
        holding: Some(Holding::choose().map_err(text)?),
        belongings: Vec::new(),
    };
    let lab = Lab::up(&LAYOUT, &options).map_err(text)?;
    for (host, port, own) in [
        ("left", "ether1", "192.0.2.1"),
        ("right", "ether2", "198.51.100.1"),
    ] {
        // `/sys` shows the devices of the namespace of its mount, so ask `ip` instead.
        let shown = sh(&lab, "router", &format!("ip -br link show dev {port}"))?;
        let mac = { shown.split_whitespace().nth(2) }
            .ok_or_else(|| format!("ip shows no link address of {port}: {shown}"))?;
        // An unanswered neighbour solicitation is repeated after one second only.
        let neighbour = format!("ip neigh replace {own} lladdr {mac} dev eth0 nud permanent");
        sh(
            &lab,
            host,
            &format!("{neighbour}; ip route add default via {own}"),
        )?;
    }
    Ok(lab)
}

/// Runs a script in a host; returns its output.
fn sh(lab: &Lab, host: &str, script: &str) -> Result<String, String> {
    let mut command = lab.command(host, "sh").map_err(|error| error.to_string())?;
    let output = command.args(["-ec", script]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{host}: {script}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!(
            "{host}: {script}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Starts a ping from left to right, which ends with the first answer.
fn ping(lab: &Lab) -> Result<Child, String> {
    let mut command = lab
        .command("left", "ping")
        .map_err(|error| error.to_string())?;
    let seconds = PATIENCE.as_secs().to_string();
    command.args([
        "-q",
        "-c",
        "1",
        "-i",
        "0.02",
        "-w",
        &seconds,
        "198.51.100.2",
    ]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    child.map_err(|error| format!("ping: {error}"))
}

fn start(lab: &Lab, config: Option<&str>, state: &Path) -> Result<Router, String> {
    Router::begin(
        lab,
        &Start {
            host: SERVER,
            config,
            ports: &[
                String::from("ether1=packet:ether1"),
                String::from("ether2=packet:ether2"),
            ],
            state: Some(state),
            host_plane: true,
        },
    )
}

/// Temporary folder, removed with the value.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("ferroute-limits-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn with_vlans(bounds: &mut Bounds) -> Result<(), String> {
    let (lab, state) = (lab("vlans")?, Folder::new("vlans"));
    let config = vlans();
    let mut router = start(&lab, Some(&config), &state.0)?;
    router.wait(PATIENCE)?;
    let took = router.end(Signal::TERM)?;
    bounds.time("2,000 VLANs: end", took, END)?;
    let mut router = start(&lab, None, &state.0)?;
    router.wait(PATIENCE)?;
    router.signal(Signal::KILL);
    let begin = Instant::now();
    let mut next = start(&lab, None, &state.0)?;
    next.wait(PATIENCE)?;
    let took = begin.elapsed().as_secs_f64();
    output::line(format_args!(
        "2,000 VLANs: answers {took:.2} s after a kill"
    ))?;
    router.end(Signal::KILL)?;
    next.end(Signal::TERM).map(|_| ())
}

fn with_everything(bounds: &mut Bounds) -> Result<(), String> {
    let (lab, state) = (lab("all")?, Folder::new("all"));
    let config = everything();
    let mut router = start(&lab, Some(&config), &state.0)?;
    router.wait(PATIENCE)?;
    router.end(Signal::TERM)?;
    let begin = Instant::now();
    let mut ping = ping(&lab)?;
    let mut router = start(&lab, None, &state.0)?;
    let answered = ping.wait().map_err(|error| format!("ping: {error}"))?;
    let took = begin.elapsed();
    if !answered.success() {
        return Err(String::from("the router forwards nothing"));
    }
    let what = "200,000 routes, 2,000 VLANs, 5,000 rules: forwards after its start";
    bounds.time(what, took, FORWARD)?;
    router.wait(PATIENCE)?;
    let took = router.end(Signal::TERM)?;
    bounds.time("200,000 routes, 2,000 VLANs, 5,000 rules: end", took, END)?;
    Ok(())
}

fn with_queues(bounds: &mut Bounds) -> Result<(), String> {
    let (lab, state) = (lab("queues")?, Folder::new("queues"));
    let mut router = start(&lab, Some(&queues()), &state.0)?;
    router.wait(PATIENCE)?;
    let before = settled(&router, u64::MAX);
    router.exec("/queue simple set [find name=q77] max-limit=20M/20M")?;
    let most = before * MEMORY / 100;
    let after = settled(&router, most);
    let figure = format!("{} MiB, {} MiB before", after >> 10, before >> 10);
    let bound = format!("{MEMORY} % of before");
    bounds.line(
        "30,000 queues: memory after one set",
        &figure,
        after <= most,
        &bound,
    )?;
    router.end(Signal::TERM).map(|_| ())
}

/// Walks `ifTable` like a manager, with `snmpbulkwalk` of Net-SNMP.
fn with_manager(bounds: &mut Bounds) -> Result<(), String> {
    let (lab, state) = (lab("walk")?, Folder::new("walk"));
    let mut router = start(&lab, Some(&walked()), &state.0)?;
    router.wait(PATIENCE)?;
    let walk = |table: &str| {
        let ask = "snmpbulkwalk -v2c -c public -t 5 -On -Cr50 192.0.2.1";
        sh(&lab, "left", &format!("{ask} {table} | wc -l"))
    };
    // Repeats `ifNumber` until duplicate address detection has ended and the agent answers.
    walk(".1.3.6.1.2.1.2.1")?;
    let begin = Instant::now();
    let lines = walk(".1.3.6.1.2.1.2.2")?;
    let took = begin.elapsed();
    let lines = lines.trim().parse().unwrap_or(0);
    if lines < WALKED * COLUMNS {
        return Err(format!("the walk of ifTable ends after {lines} values"));
    }
    bounds.time("SNMP: walk of 10,000 interfaces", took, WALK)?;
    router.end(Signal::TERM).map(|_| ())
}

/// Returns the router's memory in KiB as soon as it is at most `most`; otherwise returns the minimum until the timeout.
/// Without a bound (`u64::MAX`), waits for the timeout.
fn settled(router: &Router, most: u64) -> u64 {
    let (begin, mut least) = (Instant::now(), u64::MAX);
    while begin.elapsed() < RETURN {
        let now = router.resident_kib();
        least = least.min(now);
        if now <= most && most != u64::MAX {
            return now;
        }
        thread::park_timeout(Duration::from_millis(200));
    }
    least
}
