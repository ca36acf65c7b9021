//! The benchmark through real ports: a router on veth devices, and beside it the kernel's own
//! forwarding on others, measured in alternation with the same packets.
//!
//! ```text
//!              ┌─ ga1 ── ether1 [ router ] ether2 ── gb1 ─┐
//!  generator ──┤                                          ├── counted and dropped
//!              └─ ga2 ── k1     [ kernel ]     k2 ── gb2 ─┘
//!    core 0                      core 1
//! ```
//!
//! What arrives at the far end is addressed to a link address that nobody has, so that the kernel
//! drops it at the first look. For the kernel's side that is the same.
//!
//! The cores of a virtual machine run at different speeds while the host's other guests are busy, by
//! half and for seconds. That is no common factor: one side may be limited by the generator's core,
//! the other by the forwarder's. So the speed of both cores is measured around each pair of runs,
//! and a pair that found them uneven is run again, as long as that is not the machine's usual state.

mod cores;
mod generator;
mod kernel;

use std::time::Duration;

use dataplane::bench::{Family, Peer, Row, Spread};
use lab::{End, Holding, Host, Lab, Layout, Life, Link, Offloads, Options};

use super::process::Router;
use crate::cli::Bench;
use cores::{Cores, realtime};
use generator::Generator;
use kernel::Kernel;

/// How long packets flow before they count.
const WARM_UP: Duration = Duration::from_millis(50);
/// How long they count.
const WINDOW: Duration = Duration::from_millis(300);
/// For each run that is wanted, this many may be run again because the cores were uneven.
const AGAIN: usize = 2;
/// What both sides' far ends are told to be the next hop's link address.
const NOBODY: &str = "02:00:00:00:fe:fe";

const HOST: Host = Host {
    name: "router",
    forwards: false,
    loopback: &[],
    routes: &[],
};

/// Both paths, side by side.
const LAYOUT: Layout = Layout {
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

const GENERATOR: &str = "generator";
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

/// Measures every combination of the options, ours against the kernel's.
///
/// # Errors
/// What cannot be measured here, or went wrong; rows before it were printed.
pub(super) fn run(bench: &Bench, print: &mut dyn FnMut(&Row)) -> Result<(), String> {
    check(bench)?;
    let frames: Result<Vec<u16>, String> = bench.frames.iter().map(|f| frame(*f)).collect();
    let (frames, cores) = (frames?, Cores::of_this_machine()?);
    let via = bench.via.driver().ok_or("this is measured through ports")?;
    let text = |error: lab::Error| error.to_string();
    let options = Options {
        name: Some(format!("bench-{}", std::process::id())),
        life: Life::Owned,
        holding: Some(Holding::Named),
    };
    let lab = Lab::up(&LAYOUT, &options).map_err(text)?;
    let kernel = Kernel::prepare(&lab, cores)?;
    let ports = LAYOUT.ports().into_iter();
    let ports: Vec<String> = ports.map(|port| format!("{port}={via}:{port}")).collect();
    let router = Router::start(&lab, &configuration(), &ports)?;
    for worker in router.workers() {
        realtime(worker, true);
    }
    // From here on this thread is the generator.
    lab.enter(GENERATOR).map_err(text)?;
    let mut pair = Pair {
        ours: Generator::new("ga1", lab::plan::mac(1, 2), "gb1", cores)?,
        theirs: Generator::new("ga2", lab::plan::mac(3, 2), "gb2", cores)?,
        router,
        kernel,
        cores,
    };
    let machine = kernels::measure_hz();
    for family in [Family::Ipv4, Family::Ipv6] {
        for &flows in &bench.flows {
            for &frame in &frames {
                let templates = generator::templates(family, flows, frame);
                let mut measured = pair.measure(&templates, bench.runs)?;
                print(&Row {
                    frame,
                    flows,
                    via,
                    ..measured.row(family, machine)
                });
            }
        }
    }
    drop(pair);
    lab.down().map_err(text)
}

/// The router's part: as the kernel's.
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

/// Refuses what this cannot measure.
fn check(bench: &Bench) -> Result<(), String> {
    if !crate::reach::is_root() {
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

/// Both sides, ready to be measured.
struct Pair {
    ours: Generator,
    theirs: Generator,
    router: Router,
    kernel: Kernel,
    cores: Cores,
}

impl Pair {
    /// Runs both in alternation; each begins every other time, so that neither always has the
    /// machine as the other left it.
    fn measure(&mut self, templates: &[Vec<u8>], runs: u32) -> Result<Measured, String> {
        let mut measured = Measured::default();
        self.ours.load(templates)?;
        self.theirs.load(templates)?;
        let (wanted, mut again) = (runs.max(1) as usize, 0);
        while measured.ours.len() < wanted {
            let before = self.cores.speeds()?;
            let (ours, theirs) = self.run_both(measured.ours.len().is_multiple_of(2))?;
            let after = self.cores.speeds()?;
            if !(before.are_even() && after.are_even()) && again < wanted * AGAIN {
                again += 1;
                continue;
            }
            measured.reference.push(before.generator);
            measured.ours.push(ours);
            measured.theirs.push(theirs);
        }
        Ok(measured)
    }

    fn run_both(&mut self, ours_first: bool) -> Result<(Sample, Sample), String> {
        if ours_first {
            let ours = self.ours.run(|| self.router.cpu())?;
            Ok((ours, self.theirs.run(|| self.kernel.cpu())?))
        } else {
            let theirs = self.theirs.run(|| self.kernel.cpu())?;
            Ok((self.ours.run(|| self.router.cpu())?, theirs))
        }
    }
}

/// What one window of one side showed.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Packets that came out, per second.
    rate: f64,
    /// Processor time of what forwards, in nanoseconds per packet.
    core_ns: f64,
}

/// All windows of a row, pair by pair.
#[derive(Default)]
struct Measured {
    ours: Vec<Sample>,
    theirs: Vec<Sample>,
    reference: Vec<f64>,
}

impl Measured {
    /// The row, but for what the caller knows.
    fn row(&mut self, family: Family, (tsc_hz, core_hz): (u64, u64)) -> Row {
        let spread = |samples: &[Sample], value: &dyn Fn(&Sample) -> f64| {
            let mut values: Vec<f64> = samples.iter().map(value).collect();
            Spread::of(&mut values)
        };
        let pairs = self.ours.iter().zip(&self.theirs);
        let mut ratios: Vec<f64> = pairs.map(|(own, other)| own.rate / other.rate).collect();
        Row {
            row: "routing-fast-path",
            family: family.name(),
            frame: 0,
            flows: 0,
            routes: 1,
            via: "",
            workers: 1,
            tsc_hz,
            core_hz,
            tsc_per_packet: spread(&self.ours, &|sample| tsc_hz as f64 / sample.rate),
            reference_tsc: Spread::of(&mut self.reference).median,
            simd: kernels::Level::here().name(),
            core_ns: Some(spread(&self.ours, &|sample| sample.core_ns).median),
            peer: Some(Peer {
                name: "kernel",
                kpps: spread(&self.theirs, &|sample| sample.rate).median / 1e3,
                ratio: Spread::of(&mut ratios).median,
                core_ns: spread(&self.theirs, &|sample| sample.core_ns).median,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_the_median_of_the_pairs_and_not_of_the_sides() {
        let sample = |rate| Sample {
            rate,
            core_ns: 1e9 / rate,
        };
        let mut measured = Measured {
            ours: [100.0, 400.0, 900.0].map(sample).into(),
            theirs: [50.0, 400.0, 300.0].map(sample).into(),
            reference: vec![7.0],
        };

        let row = measured.row(Family::Ipv4, (1_000_000, 1_000_000));

        let peer = row.peer.expect("measured against the kernel");
        assert_eq!(peer.ratio, 2.0);
        assert_eq!((row.kpps(), peer.kpps), (0.4, 0.3));
        assert_eq!((row.core_ns, peer.core_ns), (Some(2.5e6), 1e9 / 300.0));
    }

    #[test]
    fn the_layout_has_the_ports_that_the_router_is_given() {
        assert_eq!(LAYOUT.ports(), ["ether1", "ether2"]);
    }

    #[test]
    fn only_what_fits_the_links_is_sent() {
        assert_eq!(frame(1518), Ok(1518));
        assert!(frame(63).is_err() && frame(1519).is_err());
    }
}
