//! Measurement of one kind of tunnel.

use std::thread;
use std::time::{Duration, Instant};

use lab::Lab;
use netio::link::Links;

use super::echo::{Latency, Probe, Responder};
use super::kinds::Kind;
use super::{CLIENT, ONE, SERVER, TWO, TWO_ADDRESS};
use crate::bench::process::{Router, Start};
use crate::bench::tap::{Stream, within};

/// Maximum time to start a router, and until a packet passes.
const STARTED_WITHIN: Duration = Duration::from_secs(60);
const PASSES_WITHIN: Duration = Duration::from_secs(60);
/// Bytes of an Ethernet header, which device counters include.
const ETHERNET: u64 = 14;
/// MTU of the link between the routers, and the packet length of the calculated overhead, in bytes.
const LINK_MTU: u32 = 1_500;
const PACKET: u32 = 1_400;
/// Number of packets for the measurement of overhead.
const OVERHEAD_PACKETS: u64 = 100;

/// Results of `calc tunnel`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Calculated {
    pub(super) mtu: u32,
    /// Of packets of [`PACKET`] bytes, in percent.
    pub(super) overhead_percent: f64,
}

impl Calculated {
    /// Calculates for layers from the inside to the outside; without layers there is no overhead.
    ///
    /// # Errors
    /// A layer is unknown.
    pub(super) fn of(layers: &str) -> Result<Self, String> {
        if layers.is_empty() {
            return Ok(Self {
                mtu: LINK_MTU,
                overhead_percent: 0.0,
            });
        }
        let argument = format!("layers={layers}");
        let rows = calc::calculate("tunnel", [argument.as_str()].into_iter())?;
        let number = |name: &str| {
            let row = rows.iter().find(|(own, _)| own == name);
            let first = row.and_then(|(_, text)| text.split_whitespace().next());
            let number = first.and_then(|word| word.parse::<u32>().ok());
            number.ok_or_else(|| format!("calc tunnel {layers}: no {name}"))
        };
        let outside = number(&format!("packet of {PACKET}"))?;
        Ok(Self {
            mtu: number("MTU inside")?,
            overhead_percent: (f64::from(outside) / f64::from(PACKET) - 1.0) * 100.0,
        })
    }
}

/// Results of a kind.
pub(super) struct Row {
    pub(super) kind: &'static Kind,
    /// Payload of one TCP connection.
    pub(super) mbps: f64,
    /// CPU of client and server in percent of a core, during the transfer.
    pub(super) cpu_percent: [f64; 2],
    /// Bytes behind the link's Ethernet header over bytes of IP inside, minus 1, in percent: of packets with [`PACKET`]
    /// bytes, with what the tunnel itself sends meanwhile.
    pub(super) overhead_percent: f64,
    pub(super) mtu: u32,
    pub(super) calculated: Calculated,
    pub(super) idle: Latency,
    pub(super) loaded: Latency,
}

/// Starts both routers, and measures.
///
/// # Errors
/// A router does not start, or no packet passes.
pub(super) fn kind(lab: &Lab, kind: &'static Kind, seconds: u16) -> Result<Row, String> {
    let server = start(lab, SERVER, &kind.configuration(2))?;
    for command in kind.begin() {
        server.exec(command)?;
    }
    let client = start(lab, CLIENT, &kind.configuration(1))?;
    let _responder = Responder::start(lab)?;
    let probe = Probe::open(lab)?;
    probe.wait(PASSES_WITHIN)?;
    let mtu = probe.path_mtu()?;
    let duration = Duration::from_secs(seconds.into());
    let idle = probe.latency(duration.min(Duration::from_secs(1)));
    let before = Counters::read(lab)?;
    probe.exchange(OVERHEAD_PACKETS, PACKET);
    let counted = Counters::read(lab)?.since(&before);
    let stream = Stream::open(lab, ONE, TWO, TWO_ADDRESS)?;
    let cpu = || [client.cpu(), server.cpu()];
    let (cpu_before, begin) = (cpu(), Instant::now());
    let (mbps, loaded) = thread::scope(|scope| {
        let latency = scope.spawn(|| probe.latency(duration));
        let mbps = stream.rate_over(duration);
        let ended = |_| String::from("a thread of the benchmark panicked");
        Ok::<_, String>((mbps?, latency.join().map_err(ended)?))
    })?;
    let (cpu_after, nanos) = (cpu(), begin.elapsed().as_nanos() as f64);
    let share = |end: usize| (cpu_after[end] - cpu_before[end]) as f64 / nanos * 100.0;
    let calculated = Calculated::of(kind.layers)?;
    Ok(Row {
        kind,
        mbps,
        cpu_percent: [share(0), share(1)],
        overhead_percent: counted.overhead_percent(),
        calculated,
        mtu,
        idle,
        loaded,
    })
}

/// Starts a router in a host, and waits until it answers.
fn start(lab: &Lab, host: &'static str, config: &str) -> Result<Router, String> {
    let ports = ["ether1", "ether2"].map(|port| format!("{port}=packet:{port}"));
    let start = Start {
        host,
        config: Some(config),
        ports: &ports,
        state: None,
        host_plane: true,
    };
    let mut router = Router::begin(lab, &start)?;
    router.wait(STARTED_WITHIN)?;
    Ok(router)
}

/// Bytes of IP from the host `one` to its router, and from that router to the server.
#[derive(Clone, Copy)]
struct Counters {
    inside: u64,
    outside: u64,
}

impl Counters {
    fn read(lab: &Lab) -> Result<Self, String> {
        let sent = |host, device: &'static str| {
            within(lab, host, || {
                let counters = Links::open()?.find(device)?.counters;
                Ok::<_, std::io::Error>(
                    counters
                        .tx_bytes
                        .saturating_sub(counters.tx_packets * ETHERNET),
                )
            })
        };
        Ok(Self {
            inside: sent(ONE, "eth0")?,
            outside: sent(CLIENT, "ether2")?,
        })
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            inside: self.inside - before.inside,
            outside: self.outside - before.outside,
        }
    }

    fn overhead_percent(&self) -> f64 {
        (self.outside as f64 / self.inside.max(1) as f64 - 1.0) * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_that_of_the_calculator() {
        let gre = Calculated::of("gre").expect("a layer");
        assert_eq!(gre.mtu, 1_476);
        assert!((gre.overhead_percent - 24.0 / 14.0).abs() < 1e-9, "{gre:?}");
        assert_eq!(Calculated::of("").map(|none| none.mtu), Ok(1_500));
        assert!(Calculated::of("nonsense").is_err());
    }

    #[test]
    fn overhead_is_the_share_of_added_bytes() {
        let (before, after) = (
            Counters {
                inside: 1_000,
                outside: 5_000,
            },
            Counters {
                inside: 2_500,
                outside: 6_620,
            },
        );
        assert!((after.since(&before).overhead_percent() - 8.0).abs() < 1e-9);
    }
}
