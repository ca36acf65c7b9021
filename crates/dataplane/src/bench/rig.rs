//! A router of one worker between a port that copies templates and one that takes everything.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use frame::{Frame, InterfaceId, Pool, Port, Sizes, Transmitted, VECTOR_FRAMES, Vector};
use machine::Rng;
use wire::Mac;

use super::packets::Templates;
use super::{Family, Invalid};
use crate::counters::Counters;
use crate::rings::{Command, rings};
use crate::snapshot::{FamilySettings, Interface, OwnAddresses, PortBinding, Snapshot, Walk};
use crate::table::{Adjacency, FibWriter, Kind, Network, NextHopId};
use crate::worker::{Parts, Worker};

/// The router's link address.
pub(super) const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const INGRESS: InterfaceId = InterfaceId(1);
const EGRESS: InterfaceId = InterfaceId(2);
/// Next hops that the routes of a large table are spread over.
const GATEWAYS: usize = 16;

/// When a vector was received, and what all of them took.
#[derive(Debug, Default)]
struct Meter {
    received: AtomicU64,
    clocks: AtomicU64,
    sent: AtomicU64,
}

/// See the module.
pub(super) struct Rig {
    family: Family,
    worker: Worker,
    meter: Arc<Meter>,
    templates: Arc<Mutex<Option<Templates>>>,
    /// The networks that are routed, for choosing destinations.
    networks: Vec<(u128, u8)>,
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

    /// A random address that is routed.
    pub(super) fn destination(&self, rng: &mut Rng) -> u128 {
        let chosen = rng.below(self.networks.len() as u64) as usize;
        let (network, len) = self.networks[chosen];
        let random = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        match self.family {
            Family::Ipv4 => network | (random & 0xffff_ffff) & (0xffff_ffff >> len),
            Family::Ipv6 => network | random & u128::MAX.checked_shr(len.into()).unwrap_or(0),
        }
    }

    /// Gives the packets that the next runs send.
    pub(super) fn load(&mut self, templates: Templates) {
        if let Ok(mut place) = self.templates.lock() {
            *place = Some(templates);
        }
    }

    /// Walks this many packets; clocks per packet.
    pub(super) fn run(&mut self, packets: usize) -> Result<f64, Invalid> {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        take(&self.meter.clocks);
        take(&self.meter.sent);
        let vectors = packets / VECTOR_FRAMES;
        for _ in 0..vectors {
            self.worker.step();
        }
        let (expected, sent) = ((vectors * VECTOR_FRAMES) as u64, take(&self.meter.sent));
        if expected != sent {
            return Err(Invalid::Lost { expected, sent });
        }
        Ok(take(&self.meter.clocks) as f64 / sent as f64)
    }
}

/// Writes the routes; returns the networks.
fn fill(
    writer: &mut FibWriter,
    family: Family,
    routes: u32,
    seed: u64,
) -> Result<Vec<(u128, u8)>, Invalid> {
    let gateways = (0..GATEWAYS)
        .map(|number| writer.add_next_hop(&gateway(family, number as u8)))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| Invalid::TableFull)?;
    let networks = networks(family, routes, seed);
    let table = writer.table(0).map_err(|_| Invalid::TableFull)?;
    let mut rng = Rng::seeded(seed ^ 0x5a1f);
    let mut chosen = || gateways[rng.below(GATEWAYS as u64) as usize];
    let result = match family {
        Family::Ipv4 => {
            let routes = networks
                .iter()
                .map(|&(bits, len)| (Network::new(bits as u32, len), chosen()));
            table.ipv4.change(routes.collect::<Vec<(_, NextHopId)>>())
        }
        Family::Ipv6 => {
            let routes = networks
                .iter()
                .map(|&(bits, len)| (Network::new(bits, len), chosen()));
            table.ipv6.change(routes.collect::<Vec<(_, NextHopId)>>())
        }
    };
    result.map_err(|_| Invalid::TableFull)?;
    Ok(networks)
}

/// Random networks; a default route if there is to be one only.
fn networks(family: Family, routes: u32, seed: u64) -> Vec<(u128, u8)> {
    if routes <= 1 {
        // Destinations are drawn from an eighth of all addresses, all of them plain.
        return vec![match family {
            Family::Ipv4 => (0x2000_0000, 3),
            Family::Ipv6 => (0x2000 << 112, 3),
        }];
    }
    let mut rng = Rng::seeded(seed);
    (0..routes).map(|_| network(family, &mut rng)).collect()
}

fn network(family: Family, rng: &mut Rng) -> (u128, u8) {
    let draw = rng.below(100);
    match family {
        Family::Ipv4 => {
            let len = match draw {
                0..60 => 24,
                60..72 => 22,
                72..82 => 23,
                82..87 => 21,
                87..92 => 20,
                92..96 => 19,
                96..99 => 16,
                _ => 18,
            };
            let address = 0x0b00_0000 + rng.below(0xd000_0000) as u32;
            let plain = if address >> 24 == 127 {
                address ^ 0x4000_0000
            } else {
                address
            };
            (u128::from(plain & (u32::MAX << (32 - len))), len)
        }
        Family::Ipv6 => {
            let len = match draw {
                0..48 => 48,
                48..60 => 32,
                60..72 => 44,
                72..82 => 40,
                82..90 => 36,
                90..95 => 29,
                _ => 46,
            };
            let random = u128::from(rng.next_u64()) << 64;
            let address = 0x2000 << 112 | random >> 3;
            (address & (u128::MAX << (128 - len)), len)
        }
    }
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
        self.0
            .clocks
            .fetch_add(now.wrapping_sub(received), Ordering::Relaxed);
        let sent = frames.len() as u32;
        self.0.sent.fetch_add(u64::from(sent), Ordering::Relaxed);
        for frame in frames.drain(..) {
            pool.free(frame);
        }
        Transmitted { sent, dropped: 0 }
    }
}
