//! A router of one worker between a port that copies templates and one that takes everything.

use core::sync::atomic::{AtomicU64, Ordering};
use std::iter::repeat_with;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use frame::{Frame, InterfaceId, Pool, Port, Sizes, Transmitted, VECTOR_FRAMES, Vector};
use machine::Rng;
use wire::Mac;

use super::packets::Templates;
use super::{Family, Invalid, Spread};
use crate::counters::Counters;
use crate::rings::{Command, rings};
use crate::snapshot::{FamilySettings, Interface, OwnAddresses, PortBinding, Snapshot, Walk};
use crate::table::{Adjacency, FibWriter, Kind, Network};
use crate::worker::{Parts, Worker};
use crate::workload;

/// The router's link address.
pub(super) const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const INGRESS: InterfaceId = InterfaceId(1);
const EGRESS: InterfaceId = InterfaceId(2);
/// Next hops that the routes of a large table are spread over.
const GATEWAYS: usize = 16;

/// When a vector was received, and what each took.
#[derive(Debug, Default)]
struct Meter {
    received: AtomicU64,
    sent: AtomicU64,
    /// Clocks per packet of each vector of a run.
    vectors: Mutex<Vec<f64>>,
}

/// See the module.
pub(super) struct Rig {
    family: Family,
    worker: Worker,
    meter: Arc<Meter>,
    templates: Arc<Mutex<Option<Templates>>>,
    /// The networks that are routed, for choosing destinations.
    networks: Networks,
    /// Keeps the tables.
    _writer: FibWriter,
}

impl Rig {
    pub(super) fn new(family: Family, routes: u32, seed: u64) -> Result<Self, Invalid> {
        let memory = |error: std::io::Error| Invalid::Memory(error.to_string());
        let mut writer = FibWriter::new();
        let networks = fill(&mut writer, family, routes, seed)?;
        let pool = Pool::new(Sizes {
            small: 1024,
            medium: 16,
            large: 4,
        })
        .map_err(memory)?;
        let (mut worker_rings, mut remotes) = rings(1);
        let counters = Arc::new(Counters::new());
        counters.make_room(EGRESS);
        let reader = writer.fib().grace.reader();
        let (Some(reader), Some(rings), Some(remote)) =
            (reader, worker_rings.pop(), remotes.first_mut())
        else {
            return Err(Invalid::Memory("no worker".to_owned()));
        };
        let worker = Worker::new(Parts {
            index: 0,
            pool,
            snapshot: Arc::new(ArcSwap::from_pointee(snapshot())),
            fib: Arc::clone(writer.fib()),
            reader,
            rings,
            counters,
        });
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
        Ok(Self {
            family,
            worker,
            meter,
            templates,
            networks,
            _writer: writer,
        })
    }

    pub(super) fn family(&self) -> Family {
        self.family
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

    /// Gives the packets that the next runs send.
    pub(super) fn load(&mut self, templates: Templates) {
        if let Ok(mut place) = self.templates.lock() {
            *place = Some(templates);
        }
    }

    /// Walks this many packets; clocks per packet, of the middle one of all vectors: what a machine
    /// does beside (interrupts, other programs) hits few of them, and is not the walk's.
    pub(super) fn run(&mut self, packets: usize) -> Result<f64, Invalid> {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        take(&self.meter.sent);
        let vectors = packets / VECTOR_FRAMES;
        if let Ok(mut clocks) = self.meter.vectors.lock() {
            clocks.clear();
            clocks.reserve(vectors);
        }
        for _ in 0..vectors {
            self.worker.step();
        }
        let (expected, sent) = ((vectors * VECTOR_FRAMES) as u64, take(&self.meter.sent));
        if expected != sent {
            return Err(Invalid::Lost { expected, sent });
        }
        let mut clocks = self.meter.vectors.lock();
        let clocks = clocks.as_mut().map(|clocks| Spread::of(clocks));
        Ok(clocks.unwrap_or_default().median)
    }
}

/// What is routed.
enum Networks {
    V4(Vec<Network<u32>>),
    V6(Vec<Network<u128>>),
}

/// Writes the routes; returns the networks.
fn fill(
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

fn gateway(family: Family, number: u8) -> Adjacency {
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
        let now = kernels::tsc();
        let received = self.0.received.load(Ordering::Relaxed);
        let sent = frames.len() as u32;
        if let Ok(mut vectors) = self.0.vectors.lock() {
            vectors.push(now.wrapping_sub(received) as f64 / f64::from(sent.max(1)));
        }
        self.0.sent.fetch_add(u64::from(sent), Ordering::Relaxed);
        for frame in frames.drain(..) {
            pool.free(frame);
        }
        Transmitted { sent, dropped: 0 }
    }
}
