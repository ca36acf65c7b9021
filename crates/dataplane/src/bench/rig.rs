//! A router whose workers each sit between a port that copies templates and one that takes
//! everything.

use core::sync::atomic::{AtomicU64, Ordering};
use std::iter::repeat_with;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use frame::{Frame, InterfaceId, Pool, Port, Sizes, Transmitted, VECTOR_FRAMES, Vector};
use machine::{Duration, Instant, Rng};
use wire::Mac;

use super::packets::Templates;
use super::{Family, Invalid};
use crate::counters::Counters;
use crate::rings::{Command, Remote, rings};
use crate::snapshot::{FamilySettings, Interface, OwnAddresses, PortBinding, Snapshot, Walk};
use crate::table::{Adjacency, FibWriter, Kind, Network};
use crate::worker::{Parts, Worker};
use crate::workload;

/// The router's link address.
pub(super) const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const INGRESS: InterfaceId = InterfaceId(1);
const EGRESS: InterfaceId = InterfaceId(2);
/// What the clock that workers are told goes on by with each vector.
const VECTOR_TIME: Duration = Duration::from_micros(10);
/// Next hops that the routes of a large table are spread over.
const GATEWAYS: usize = 16;

/// When a vector was received, and what all took.
#[derive(Debug, Default)]
struct Meter {
    received: AtomicU64,
    sent: AtomicU64,
    /// Clocks from received vectors to transmitted ones.
    clocks: AtomicU64,
}

impl Meter {
    /// Takes note of frames that were transmitted.
    fn transmitted(&self, frames: u32) {
        let now = kernels::tsc();
        // A second transmission for the same vector counts from the first.
        let since = self.received.swap(now, Ordering::Relaxed);
        let clocks = now.wrapping_sub(since);
        self.clocks.fetch_add(clocks, Ordering::Relaxed);
        self.sent.fetch_add(u64::from(frames), Ordering::Relaxed);
    }
}

/// See the module.
pub(super) struct Rig {
    family: Family,
    /// The networks that are routed, for choosing destinations.
    networks: Networks,
    lanes: Vec<Lane>,
    /// Keeps the tables.
    _writer: FibWriter,
}

/// A worker between ports of its own.
pub(super) struct Lane {
    worker: Worker,
    now: Instant,
    meter: Arc<Meter>,
    templates: Arc<Mutex<Option<Templates>>>,
}

impl Rig {
    /// A router of so many workers, with such a table.
    pub(super) fn new(
        family: Family,
        routes: u32,
        workers: u16,
        seed: u64,
    ) -> Result<Self, Invalid> {
        let mut writer = FibWriter::new();
        let networks = fill(&mut writer, family, routes, seed)?;
        let count = usize::from(workers.max(1));
        let sizes = Sizes {
            small: 1024,
            medium: 16,
            large: 4,
        };
        let pools =
            Pool::group(count, sizes).map_err(|error| Invalid::Memory(error.to_string()))?;
        let (rings, mut remotes) = rings(count);
        let snapshot = Arc::new(ArcSwap::from_pointee(snapshot()));
        let mut lanes = Vec::new();
        for (((index, pool), rings), remote) in (0..).zip(pools).zip(rings).zip(&mut remotes) {
            let reader = writer.fib().grace.reader();
            let counters = Arc::new(Counters::new());
            counters.make_room(EGRESS);
            let parts = Parts {
                index,
                pool,
                snapshot: Arc::clone(&snapshot),
                fib: Arc::clone(writer.fib()),
                reader: reader.ok_or_else(|| Invalid::Memory("too many workers".to_owned()))?,
                rings,
                counters,
            };
            lanes.push(Lane::new(parts, remote));
        }
        Ok(Self {
            family,
            networks,
            lanes,
            _writer: writer,
        })
    }

    pub(super) fn family(&self) -> Family {
        self.family
    }

    /// The workers.
    pub(super) fn lanes(&mut self) -> &mut [Lane] {
        &mut self.lanes
    }

    /// Random addresses that are routed; IPv4 in the low 32 bits.
    pub(super) fn destinations(&self, count: u32, seed: u64) -> Vec<u128> {
        match &self.networks {
            Networks::V4(networks) => destinations(networks, count, seed)
                .into_iter()
                .map(u128::from)
                .collect(),
            Networks::V6(networks) => destinations(networks, count, seed),
        }
    }

    /// Gives each worker the packets that its next runs send, of flows of its own.
    pub(super) fn load(&mut self, flows: u32, frame: u16, seed: u64) {
        for (index, lane) in (0..).zip(&self.lanes) {
            let templates = Templates::new(self, flows, frame, seed + index);
            if let Ok(mut place) = lane.templates.lock() {
                *place = Some(templates);
            }
        }
    }
}

impl Lane {
    fn new(parts: Parts, remote: &mut Remote) -> Self {
        let meter = Arc::new(Meter::default());
        let templates = Arc::new(Mutex::new(None));
        let source = Source {
            meter: Arc::clone(&meter),
            templates: Arc::clone(&templates),
        };
        let sink = Sink(Arc::clone(&meter));
        let ports: [Box<dyn Port>; 2] = [Box::new(source), Box::new(sink)];
        for (number, port) in (0..).zip(ports) {
            // Two commands fit any ring.
            let _ = remote.commands.push(Command::Attach { number, port });
        }
        Self {
            worker: Worker::new(parts),
            now: Instant::ZERO,
            meter,
            templates,
        }
    }

    /// Walks this many packets; clocks per packet, over all of them.
    pub(super) fn run(&mut self, packets: usize) -> Result<f64, Invalid> {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        take(&self.meter.sent);
        take(&self.meter.clocks);
        let vectors = packets / VECTOR_FRAMES;
        for _ in 0..vectors {
            self.now += VECTOR_TIME;
            self.worker.step(self.now);
        }
        let (expected, sent) = ((vectors * VECTOR_FRAMES) as u64, take(&self.meter.sent));
        if expected != sent {
            return Err(Invalid::Lost { expected, sent });
        }
        Ok(take(&self.meter.clocks) as f64 / sent.max(1) as f64)
    }
}

/// What is routed.
pub(super) enum Networks {
    V4(Vec<Network<u32>>),
    V6(Vec<Network<u128>>),
}

/// Writes the routes; returns the networks.
pub(super) fn fill(
    writer: &mut FibWriter,
    family: Family,
    routes: u32,
    seed: u64,
) -> Result<Networks, Invalid> {
    let gateways = (0..GATEWAYS)
        .map(|number| writer.add_next_hop(&gateway(family, number as u8)))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| Invalid::TableFull)?;
    let table = writer.table(0).map_err(|_| Invalid::TableFull)?;
    let mut rng = Rng::seeded(seed ^ 0x5a1f);
    let chosen = || gateways[rng.below(GATEWAYS as u64) as usize];
    let (networks, filled) = match family {
        Family::Ipv4 => {
            let networks = networks(routes, seed);
            let filled = table
                .ipv4
                .change(networks.iter().copied().zip(repeat_with(chosen)));
            (Networks::V4(networks), filled)
        }
        Family::Ipv6 => {
            let networks = networks(routes, seed);
            let filled = table
                .ipv6
                .change(networks.iter().copied().zip(repeat_with(chosen)));
            (Networks::V6(networks), filled)
        }
    };
    filled.map(|_| networks).map_err(|_| Invalid::TableFull)
}

/// Random networks; the default route if there is to be one only.
fn networks<A: workload::Family>(routes: u32, seed: u64) -> Vec<Network<A>> {
    match routes {
        0 | 1 => vec![Network::new(A::default(), 0)],
        _ => workload::networks(routes as usize, seed),
    }
}

/// Random addresses in these networks; for the default route, any that networks are given.
fn destinations<A: workload::Family>(networks: &[Network<A>], count: u32, seed: u64) -> Vec<A> {
    let count = count as usize;
    if networks.len() > 1 {
        return workload::destinations(networks, count, seed);
    }
    let mut rng = Rng::seeded(seed);
    (0..count).map(|_| A::random(&mut rng)).collect()
}

/// A next hop.
pub(super) fn gateway(family: Family, number: u8) -> Adjacency {
    let mut gateway = Adjacency {
        kind: Kind::Forward,
        header_len: 14,
        port: 1,
        mtu: 1500,
        egress: EGRESS,
        ..Adjacency::default()
    };
    gateway.header[..6].copy_from_slice(&[2, 0, 0, 1, 0, number]);
    gateway.header[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
    gateway.header[12..14].copy_from_slice(match family {
        Family::Ipv4 => &[0x08, 0x00],
        Family::Ipv6 => &[0x86, 0xdd],
    });
    gateway
}

fn snapshot() -> Snapshot {
    let interface = |name: &str, mac, port| Interface {
        name: Arc::from(name),
        running: true,
        mac: Mac(mac),
        mtu: 1500,
        port,
        ethernet: true,
        ipv4: walk(),
        ipv6: walk(),
        ..Interface::default()
    };
    let binding = |interface| PortBinding {
        interface,
        ..PortBinding::default()
    };
    let settings = FamilySettings {
        forward: true,
        allow_fast_path: true,
        ..FamilySettings::default()
    };
    Snapshot {
        interfaces: vec![
            Interface::default(),
            interface("ether1", MAC, 0),
            interface("ether2", [2, 0, 0, 0, 0, 2], 1),
        ],
        ports: vec![binding(INGRESS), binding(EGRESS)],
        own: OwnAddresses::new(
            vec![0x0a00_0001, 0x0a00_0101],
            vec![0x2001_0db8 << 96 | 1, 0xfe80 << 112 | 1],
        ),
        send_redirects: true,
        ipv4: settings,
        ipv6: settings,
        ..Snapshot::default()
    }
}

fn walk() -> Walk {
    Walk {
        enabled: true,
        ..Walk::default()
    }
}

/// A port at which a full vector has always just arrived.
struct Source {
    meter: Arc<Meter>,
    templates: Arc<Mutex<Option<Templates>>>,
}

impl Port for Source {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        let mut count = 0;
        if let Ok(mut templates) = self.templates.lock()
            && let Some(templates) = &mut *templates
        {
            while into.room() > 0
                && let Some(frame) = pool.alloc_from(templates.next())
            {
                if let Err(frame) = into.push(frame) {
                    pool.free(frame);
                    break;
                }
                count += 1;
            }
        }
        self.meter.received.store(kernels::tsc(), Ordering::Relaxed);
        count
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        let dropped = frames.len() as u32;
        for frame in frames.drain(..) {
            pool.free(frame);
        }
        Transmitted { sent: 0, dropped }
    }
}

/// A port that takes everything.
struct Sink(Arc<Meter>);

impl Port for Sink {
    fn receive(&mut self, _pool: &mut Pool, _into: &mut Vector) -> usize {
        0
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        let sent = frames.len() as u32;
        self.0.transmitted(sent);
        for frame in frames.drain(..) {
            pool.free(frame);
        }
        Transmitted { sent, dropped: 0 }
    }
}
