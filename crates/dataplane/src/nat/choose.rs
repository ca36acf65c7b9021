//! A new connection's addresses and ports: the packet's own where they do, else others of the same
//! kind, and never such that two connections could not be told apart by their answers (RFC 4787, 4;
//! RFC 5382, 7).
//!
//! The source's port is kept when the reply tuple is free (port preservation), else another of its
//! class is taken ([`Ports::class`]). Ports are tried in an order that depends on the connection and
//! meets each of them once; after [`PROBES`] taken ones the connection is refused, so that a full
//! pool costs a bounded time. Smaller pools than that are searched whole.

use super::target::{Action, Addresses, Ports, Side, Target};
use crate::drop::Drop;
use crate::flow::mix64;
use crate::packet::{Tuple, protocol};

/// The most reply tuples that are asked about for one connection.
pub const PROBES: u32 = 1024;

/// Whether answers of this kind belong to somebody already.
pub trait Unique {
    /// Whether a connection has this tuple, in either direction. Who answers "no" may hold the tuple
    /// for the asker.
    fn taken(&self, reply: &Tuple) -> bool;
}

/// What a choice depends on beside the rule and the packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    /// The router's own address for [`Action::Own`]: of masquerade the route's preferred source or
    /// the egress interface's address, of redirect that of the ingress interface.
    pub own: Option<u128>,
    /// A number that nobody can guess, new for every connection.
    pub random: u64,
}

/// Why a connection cannot be translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// The router has no address of its own there.
    Addresses,
    /// All ports of all addresses that may be used are in use towards that peer.
    Ports,
}

impl Exhausted {
    /// The name under which the packet is dropped.
    pub const fn reason(self) -> Drop {
        match self {
            Self::Addresses => Drop::NatAddress,
            Self::Ports => Drop::NatPorts,
        }
    }
}

/// What becomes of the tuple of a connection's first packet, in its own direction.
///
/// A translated source is unique: its [`Tuple::reversed`] is not taken. A translated destination is
/// where there is a choice, and need not be: [`settle`] looks at the whole when the source is known.
///
/// # Errors
/// [`Exhausted`] when the source cannot be translated, or there is no own address.
pub fn choose(
    target: &Target,
    tuple: &Tuple,
    context: &Context,
    unique: &dyn Unique,
) -> Result<Tuple, Exhausted> {
    let candidates = Candidates::of(target, tuple, context)?;
    match target.side {
        Side::Source => source(target, tuple, context, candidates, unique),
        Side::Destination => Ok(destination(target, tuple, candidates, unique)),
    }
}

/// The last step of every new connection, translated or not: the tuple itself when its reverse is
/// free, else one with another source port of the same class.
///
/// # Errors
/// [`Exhausted::Ports`] when there is none.
pub fn settle(tuple: &Tuple, unique: &dyn Unique) -> Result<Tuple, Exhausted> {
    if !unique.taken(&tuple.reversed()) {
        return Ok(*tuple);
    }
    let ports = source_ports(None, tuple).ok_or(Exhausted::Ports)?;
    let found = Order::new(ports, seed(tuple)).find(PROBES, |port| {
        let other = Tuple {
            source_port: port,
            ..*tuple
        };
        (!unique.taken(&other.reversed())).then_some(other)
    });
    found.ok_or(Exhausted::Ports)
}

/// The addresses that may be taken, and which of them first.
#[derive(Clone, Copy)]
struct Candidates {
    addresses: Addresses,
    first: u128,
    /// How many may be tried.
    count: u128,
}

impl Candidates {
    fn of(target: &Target, tuple: &Tuple, context: &Context) -> Result<Self, Exhausted> {
        let own = match target.side {
            Side::Source => tuple.source,
            Side::Destination => tuple.destination,
        };
        let addresses = match target.action {
            Action::Own => Addresses::one(context.own.ok_or(Exhausted::Addresses)?),
            _ => target.addresses.unwrap_or(Addresses::one(own)),
        };
        let all = addresses.count();
        let (first, count) = match target.action {
            Action::Own => (0, 1),
            Action::Translate => (u128::from(seed(tuple)), all),
            Action::Netmap { from } => {
                let from = from.filter(|from| from.count() == all);
                (from.and_then(|from| from.place(own)).unwrap_or(own), 1)
            }
            Action::Same { by_destination } => {
                let client = match target.side {
                    Side::Source => (tuple.source, tuple.destination),
                    Side::Destination => (tuple.destination, tuple.source),
                };
                let peer = if by_destination { client.1 } else { 0 };
                (u128::from(hash(client.0) ^ hash(peer).rotate_left(1)), 1)
            }
        };
        Ok(Self {
            addresses,
            first,
            count,
        })
    }

    fn at(&self, turn: u32) -> u128 {
        // Modulo before the addition: the sum must not pass the end of the numbers.
        let place = self.first % self.addresses.count();
        self.addresses.at(place.saturating_add(u128::from(turn)))
    }
}

/// A source whose reply tuple is free.
fn source(
    target: &Target,
    tuple: &Tuple,
    context: &Context,
    candidates: Candidates,
    unique: &dyn Unique,
) -> Result<Tuple, Exhausted> {
    let free = |candidate: Tuple| (!unique.taken(&candidate.reversed())).then_some(candidate);
    let ports = source_ports(target.ports, tuple);
    let start = if target.randomise {
        context.random
    } else {
        seed(tuple)
    };
    // A share for each address; what an address does not use is left for later ones.
    let share = PROBES / candidates.count.clamp(1, 4) as u32;
    let mut left = PROBES;
    for turn in 0..PROBES {
        if left == 0 || u128::from(turn) >= candidates.count {
            break;
        }
        let moved = Tuple {
            source: candidates.at(turn),
            ..*tuple
        };
        let Some(ports) = ports else {
            left -= 1;
            match free(moved) {
                Some(found) => return Ok(found),
                None => continue,
            }
        };
        if !target.randomise && ports.contains(moved.source_port) {
            left -= 1;
            if let Some(found) = free(moved) {
                return Ok(found);
            }
        }
        let budget = left.min(share).min(ports.count());
        left -= budget;
        let found = Order::new(ports, start).find(budget, |port| {
            free(Tuple {
                source_port: port,
                ..moved
            })
        });
        if let Some(found) = found {
            return Ok(found);
        }
    }
    Err(Exhausted::Ports)
}

/// The destination: the packet's own port if it may be kept, else the first of the range whose
/// reply tuple is free, or the first of all.
fn destination(
    target: &Target,
    tuple: &Tuple,
    candidates: Candidates,
    unique: &dyn Unique,
) -> Tuple {
    let moved = Tuple {
        destination: candidates.at(0),
        ..*tuple
    };
    let Some(ports) = target.ports.filter(|_| tuple.has_ports()) else {
        return moved;
    };
    if ports.contains(moved.destination_port) {
        return moved;
    }
    let at = |place| Tuple {
        destination_port: ports.at(place),
        ..moved
    };
    let places = 0..u64::from(ports.count().min(PROBES));
    let free = |candidate: &Tuple| !unique.taken(&candidate.reversed());
    places.map(at).find(free).unwrap_or(at(0))
}

/// The numbers that may stand for the source's port: those of the rule, or those of its class; none
/// where the protocol has none.
fn source_ports(given: Option<Ports>, tuple: &Tuple) -> Option<Ports> {
    match tuple.protocol {
        protocol::ICMP | protocol::ICMPV6 if tuple.is_query() => Some(Ports::ALL),
        _ if tuple.has_ports() => Some(given.unwrap_or(Ports::class(tuple.source_port))),
        _ => None,
    }
}

/// An order of ports: each once, from a place and in steps that depend on a seed.
struct Order {
    ports: Ports,
    start: u64,
    step: u64,
}

impl Order {
    /// Primes above every count of ports: steps of such a length meet each port once.
    const STEPS: [u32; 8] = [
        65_537, 71_993, 77_951, 83_939, 89_963, 95_917, 99_991, 104_729,
    ];

    fn new(ports: Ports, seed: u64) -> Self {
        let step = Self::STEPS[(seed >> 61) as usize];
        Self {
            ports,
            start: seed >> 13 & 0xffff_ffff,
            step: u64::from(step),
        }
    }

    /// The first answer that is one, among as many ports as `budget` says.
    fn find(&self, budget: u32, ask: impl FnMut(u16) -> Option<Tuple>) -> Option<Tuple> {
        let turns = 0..u64::from(budget.min(self.ports.count()));
        let port = |turn| self.ports.at(self.start + turn * self.step);
        turns.map(port).find_map(ask)
    }
}

/// A number that spreads connections.
fn seed(tuple: &Tuple) -> u64 {
    let ports = u64::from(tuple.source_port) << 16 | u64::from(tuple.destination_port);
    hash(tuple.source) ^ hash(tuple.destination).rotate_left(1) ^ mix64(ports)
}

fn hash(address: u128) -> u64 {
    mix64(mix64((address >> 64) as u64) ^ address as u64)
}
