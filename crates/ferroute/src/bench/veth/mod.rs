//! The benchmark through real ports: a router on veth devices, alternating with the kernel's own forwarding on other
//! veth devices, with equal packets.
//!
//! ```text
//!              ┌─ ga1 ── ether1 [ router ] ether2 ── gb1 ─┐
//!  generator ──┤                                          ├── counted and dropped
//!              └─ ga2 ── k1     [ kernel ]     k2 ── gb2 ─┘
//!    core 0                      core 1
//! ```
//!
//! Frames at the far end of both paths have an unused destination address, so that the kernel drops them early.
//! `guarded.rs` contains the row with a firewall.
//!
//! The cores of a virtual machine run at different speeds while the host's other guests are busy, by half and for
//! seconds. This does not cancel out in the comparison: one side may be limited by the generator's core, the other by
//! the forwarder's. So the speed of both cores is measured around each pair of runs, and a pair on uneven cores is
//! repeated, unless the cores of the machine are usually uneven.

mod bridged;
mod cores;
mod generator;
mod guarded;
mod headroom;
mod kernel;
mod napi;
mod pair;

use std::time::Duration;

use bench::{Family, Row};
use lab::{End, Holding, Host, Lab, Layout, Life, Link, Offloads, Options};

use super::process::Router;
use crate::cli::{Bench, Via};
use napi::Napi;
use pair::{Pair, Sample};

pub(in crate::bench) use cores::{Cores, realtime};
pub(in crate::bench) use generator::{Generator, templates};

/// Warm-up of a run.
const WARM_UP: Duration = Duration::from_millis(50);
/// Duration of a measurement.
const WINDOW: Duration = Duration::from_millis(300);
/// Realtime priority of measured threads over everything else, and priority of the worker, whose packets would
/// otherwise wait until the kernel has no more packets of its own.
const MEASURED: u8 = 20;
pub(in crate::bench) const WORKER: u8 = 21;
/// Link address of the next hop at both far ends.
pub(in crate::bench) const NOBODY: &str = "02:00:00:00:fe:fe";

const HOST: Host = Host {
    name: "router",
    forwards: false,
    loopback: &[],
    routes: &[],
};

/// Both paths, side by side.
pub(in crate::bench) const LAYOUT: Layout = Layout {
    name: "bench",
    summary: "a generator, a router and a kernel that forwards",
    hosts: &[
        Host {
            name: GENERATOR,
            ..HOST
        },
        HOST,
        Host {
            name: KERNEL,
            forwards: true,
            ..HOST
        },
    ],
    links: &[
        link([end(GENERATOR, "ga1"), end("router", "ether1")]),
        link([end("router", "ether2"), end(GENERATOR, "gb1")]),
        link([
            end(GENERATOR, "ga2"),
            End {
                addresses: &["10.0.1.1/24", "2001:db8:1::1/64"],
                ..end(KERNEL, "k1")
            },
        ]),
        link([
            End {
                addresses: &["10.0.2.1/24", "2001:db8:2::1/64"],
                ..end(KERNEL, "k2")
            },
            end(GENERATOR, "gb2"),
        ]),
    ],
    config: "",
};

pub(in crate::bench) const GENERATOR: &str = "generator";
const KERNEL: &str = "kernel";

const fn end(host: &'static str, device: &'static str) -> End {
    End {
        host,
        device,
        addresses: &[],
    }
}

const fn link(ends: [End; 2]) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends,
    }
}

/// Rows of this module.
pub(super) const ROWS: [&str; 5] = [
    "routing-fast-path",
    "stateful-25",
    BRIDGE_OFFLOAD,
    bridged::ROWS[1],
    bridged::ROWS[2],
];

/// The row that only XDP can run.
pub(super) const BRIDGE_OFFLOAD: &str = bridged::ROWS[0];

/// Runs the requested rows, the router against the kernel.
///
/// # Errors
/// The machine does not permit it, or a run failed; completed rows are printed.
pub(super) fn run(bench: &Bench, print: &mut dyn FnMut(&Row)) -> Result<(), String> {
    check(bench)?;
    let frames: Result<Vec<u16>, String> = bench.frames.iter().map(|f| frame(*f)).collect();
    let (frames, cores) = (frames?, Cores::of_this_machine()?);
    let via = bench.via.driver().ok_or("this is measured through ports")?;
    let asked = |row: &str| bench.rows.is_empty() || bench.rows.iter().any(|asked| asked == row);
    bridged::run(bench, via, &frames, cores, print)?;
    if !asked(ROWS[0]) && !asked(ROWS[1]) {
        return Ok(());
    }
    let text = |error: lab::Error| error.to_string();
    let options = Options {
        name: Some(format!("bench-{}", std::process::id())),
        life: Life::Owned,
        holding: Some(Holding::Named),
        belongings: Vec::new(),
    };
    let lab = Lab::up(&LAYOUT, &options).map_err(text)?;
    if let Err(reason) = headroom::leave(&lab) {
        eprintln!("frames are sent without the headroom that XDP needs: {reason}");
    }
    let kernel = kernel::prepare(&lab, cores)?;
    let ports = LAYOUT.ports().into_iter();
    let ports: Vec<String> = ports.map(|port| format!("{port}={via}:{port}")).collect();
    let router = Router::start(&lab, &configuration(), &ports)?;
    for worker in router.workers() {
        realtime(worker, Some(WORKER));
    }
    // From here on this thread is the generator.
    lab.enter(GENERATOR).map_err(text)?;
    let mut pair = Pair {
        ours: Generator::new("ga1", lab::plan::mac(1, 2), "gb1", cores)?,
        theirs: Generator::new("ga2", lab::plan::mac(3, 2), "gb2", cores)?,
        router,
        shortcuts: None,
        kernel,
        cores,
    };
    if bench.via == Via::Xdp {
        pair.shortcuts = Some(Napi::begin(&lab, "router", "ether1", cores)?);
    }
    if asked(ROWS[0]) {
        plain(bench, via, &frames, &mut pair, print)?;
    }
    if asked(ROWS[1]) {
        match guarded::prepare(&lab, &pair) {
            Ok(()) => guarded::measure(bench, via, &mut pair, print)?,
            Err(reason) => eprintln!("{} is left out: {reason}", ROWS[1]),
        }
    }
    drop(pair);
    lab.down().map_err(text)
}

/// The row without a firewall: every combination of the options.
fn plain(
    bench: &Bench,
    via: &'static str,
    frames: &[u16],
    pair: &mut Pair,
    print: &mut dyn FnMut(&Row),
) -> Result<(), String> {
    let (tsc_hz, core_hz) = kernels::measure_hz();
    for family in [Family::Ipv4, Family::Ipv6] {
        for &flows in &bench.flows {
            for &frame in frames {
                pair.load(&templates(family, flows, frame))?;
                let mut measured = pair.measure(bench.runs)?;
                print(&Row {
                    row: ROWS[0],
                    frame,
                    flows,
                    via,
                    ..measured.row(family, tsc_hz, core_hz)
                });
            }
        }
    }
    Ok(())
}

/// Returns the router's configuration, equivalent to the kernel's.
fn configuration() -> String {
    format!(
        "/ip address
add address=10.0.1.1/24 interface=ether1
add address=10.0.2.1/24 interface=ether2
/ip arp
add address=10.0.2.2 interface=ether2 mac-address={NOBODY}
/ip route
add dst-address=198.18.0.0/15 gateway=10.0.2.2
/ipv6 address
add address=2001:db8:1::1/64 advertise=no interface=ether1
add address=2001:db8:2::1/64 advertise=no interface=ether2
/ipv6 neighbor
add address=2001:db8:2::2 interface=ether2 mac-address={NOBODY}
/ipv6 route
add dst-address=2001:db8:ffff::/48 gateway=2001:db8:2::2
"
    )
}

/// Refuses options that this module cannot measure.
fn check(bench: &Bench) -> Result<(), String> {
    if !crate::cli::location::is_root() {
        return Err(String::from(
            "--via xdp and --via packet need root: they make network devices and set priorities",
        ));
    }
    if bench.workers != 1 {
        return Err(String::from(
            "--via xdp and --via packet measure one worker",
        ));
    }
    if bench.routes != [1] {
        return Err(String::from(
            "--via xdp and --via packet measure one route; --via memory has tables of any size",
        ));
    }
    Ok(())
}

fn frame(bytes: u32) -> Result<u16, String> {
    match u16::try_from(bytes) {
        Ok(bytes @ 64..=1518) => Ok(bytes),
        _ => Err(format!(
            "--frames {bytes}: through a port a frame has 64 to 1518 bytes, with its FCS"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_has_all_ports_of_the_router() {
        assert_eq!(LAYOUT.ports(), ["ether1", "ether2"]);
    }

    #[test]
    fn only_what_fits_the_links_is_sent() {
        assert_eq!(frame(1518), Ok(1518));
        assert!(frame(63).is_err() && frame(1519).is_err());
    }
}
