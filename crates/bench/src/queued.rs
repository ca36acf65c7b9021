//! Benchmark rows of queues: the walk of `routing-fast-path` through simple queues within their
//! limits, and through the queues of the egress interface.

use std::sync::Arc;

use dataplane::firewall::Firewall;
use dataplane::queueing::{Change, Simple};
use queue::{Fifo, Kind, Leaf, Limits, Match, Node, Order, Settings, Target};

use super::measure::Bench;
use super::packets::Templates;
use super::rig::{CLIENTS4, CLIENTS6, Rig};
use super::{Family, Invalid, Options, Row};

/// The names of these rows. Each simple queue has a separate network except the last, which covers
/// all; flows come from all networks.
pub const QUEUED: &[&str] = &["simple-queues-25", "simple-queues-30000", "interface-queue"];

/// Number of flows.
const FLOWS: u32 = 1_000;
/// A rate in bits per second that no row reaches.
const PLENTY: u64 = 1_000_000_000_000;

/// Measures the rows of these names, for each family and frame length of the options.
///
/// # Errors
/// [`Invalid`]: the first row that could not be measured.
pub fn queued(
    options: &Options,
    rows: &[&'static str],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    for &name in rows {
        for &family in &options.families {
            let mut bench =
                Bench::new(options, |workers| rig(family, workers, name, options.seed))?;
            for &frame in &options.frames {
                bench.load(|rig, seed| {
                    rig.load_these(|rig, worker| Templates::new(rig, FLOWS, frame, seed + worker));
                });
                emit(Row {
                    row: name,
                    family: family.name(),
                    frame,
                    flows: FLOWS,
                    routes: 1,
                    ..bench.measure()?
                });
            }
        }
    }
    Ok(())
}

fn rig(family: Family, workers: u16, name: &str, seed: u64) -> Result<Rig, Invalid> {
    let mut rig = Rig::new(family, 1, workers, Firewall::default(), seed)?;
    let count = match name {
        "simple-queues-25" => 25,
        "simple-queues-30000" => 30_000,
        _ => {
            rig.queue_far_side(&leaf(1, workers));
            return Ok(rig);
        }
    };
    let client_bits = match family {
        Family::Ipv4 => 22,
        Family::Ipv6 => 64,
    };
    rig.queue(&simple_queues(family, count, client_bits, workers));
    Ok(rig)
}

/// Creates simple queues over clients whose addresses differ in `client_bits` bits: each queue has
/// a separate network, the last covers all addresses.
pub(super) fn simple_queues(
    family: Family,
    count: u64,
    client_bits: u8,
    workers: u16,
) -> Vec<Change> {
    let (ipv6, clients, all) = match family {
        Family::Ipv4 => (false, u128::from(CLIENTS4), 32),
        Family::Ipv6 => (true, CLIENTS6, 128),
    };
    let network_bits = count.next_power_of_two().ilog2() as u8;
    let host_bits = client_bits - network_bits;
    let target = |at: u64| match at + 1 == count {
        true => Target::Prefix {
            ipv6,
            address: 0,
            len: 0,
        },
        false => Target::Prefix {
            ipv6,
            address: clients | u128::from(at) << host_bits,
            len: all - host_bits,
        },
    };
    (0..count)
        .map(|at| simple(at, target(at), workers))
        .collect()
}

fn leaf(id: u64, workers: u16) -> Arc<Leaf> {
    let node = Node::new(Settings {
        id,
        home: 0,
        parent: None,
        limits: Limits {
            max_limit: PLENTY,
            ..Limits::default()
        },
        shapes: false,
        shared: workers > 1,
    });
    let kind = Kind::Fifo(Fifo {
        packets: 50,
        bytes: u64::MAX,
    });
    Arc::new(Leaf { node, kind })
}

/// Returns the simple queue with this number.
fn simple(at: u64, target: Target, workers: u16) -> Change {
    let both = |way| Some(leaf(at * 2 + way, workers));
    Change::Simple {
        id: at,
        order: Order::from_slice(&[at]),
        matches: Match {
            targets: vec![target],
            ..Match::default()
        },
        within: Vec::new(),
        queue: Simple {
            up: both(0),
            down: both(1),
            total: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::PACKETS;
    use super::*;

    #[test]
    fn a_worker_that_falls_behind_loses_nothing() {
        for name in QUEUED {
            let mut rig = rig(Family::Ipv4, 2, name, 1).expect("a router");
            rig.load_these(|rig, worker| Templates::new(rig, FLOWS, 64, 1 + worker));
            for lane in rig.lanes() {
                for _ in 0..4 {
                    lane.run(PACKETS)
                        .unwrap_or_else(|lost| panic!("{name}: {lost}"));
                }
            }
        }
    }
}
