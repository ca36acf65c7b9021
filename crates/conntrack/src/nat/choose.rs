//! A new connection's addresses and ports: the packet's own where they do, else others of the same
//! kind, and never such that two connections could not be told apart by their answers (RFC 4787, 4;
//! RFC 5382, 7).
//!
//! The source's port is kept when the reply tuple is free (port preservation), else another of its
//! class is taken ([`Ports::class`]). Ports are tried in an order that depends on the connection and
//! meets each of them once; after [`PROBES`] taken ones the connection is refused, so that a full
//! pool costs a bounded time. Smaller pools than that are searched whole.

use packet::drop::DropReason;
use packet::flow::mix64;
use packet::{Tuple, protocol};

use super::mapping::{Endpoint, Mappings};
use super::target::{Action, Addresses, Ports, Side, Target};

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
pub struct Context<'a> {
    /// The router's own address for [`Action::Own`]: of masquerade the route's preferred source or
    /// the egress interface's address, of redirect that of the ingress interface.
    pub own: Option<u128>,
    /// A number that nobody can guess, new for every connection.
    pub random: u64,
    /// The mappings of [`Action::EndpointIndependent`]; without them it is none.
    pub mappings: Option<&'a Mappings>,
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
    pub const fn reason(self) -> DropReason {
        match self {
            Self::Addresses => DropReason::NatAddress,
            Self::Ports => DropReason::NatPorts,
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
    context: &Context<'_>,
    unique: &dyn Unique,
) -> Result<Tuple, Exhausted> {
    let candidates = Candidates::of(target, tuple, context)?;
    if let Some(mappings) = context.mappings
        && is_endpoint_independent(target, tuple, context)
    {
        return endpoint_independent(target, tuple, mappings, candidates.at(0) as u32, unique);
    }
    match target.side {
        Side::Source => source(target, tuple, context, candidates, unique),
        Side::Destination => Ok(destination(target, tuple, candidates, unique)),
    }
}

/// Whether a tuple is translated by the mappings of endpoints: UDP of IPv4, by a rule that says so.
pub fn is_endpoint_independent(target: &Target, tuple: &Tuple, context: &Context<'_>) -> bool {
    target.action == Action::EndpointIndependent
        && context.mappings.is_some()
        && tuple.protocol == protocol::UDP
        && !tuple.ipv6
}

/// The last step of every new connection, translated or not: the tuple itself when its reverse is
/// free, else one with another source port of the same class.
///
/// # Errors
/// [`Exhausted::Ports`] when there is none.
pub fn settle(tuple: &Tuple, unique: &dyn Unique) -> Result<Tuple, Exhausted> {
    let ports = source_ports(None, tuple);
    let found = sources(*tuple, true, ports, seed(tuple))
        .take(PROBES as usize)
        .find(|other| !unique.taken(&other.reversed()));
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
    fn of(target: &Target, tuple: &Tuple, context: &Context<'_>) -> Result<Self, Exhausted> {
        let own = match target.side {
            Side::Source => tuple.source,
            Side::Destination => tuple.destination,
        };
        let addresses = match (target.action, target.side, target.addresses) {
            (Action::Own, ..) | (Action::EndpointIndependent, Side::Source, None) => {
                Addresses::one(context.own.ok_or(Exhausted::Addresses)?)
            }
            (_, _, given) => given.unwrap_or(Addresses::one(own)),
        };
        let all = addresses.count();
        let (first, count) = match target.action {
            Action::Own => (0, 1),
            // All of a client's ports at one address (RFC 4787, REQ-2).
            Action::EndpointIndependent => (u128::from(hash(own)), 1),
            Action::Translate => (u128::from(seed(tuple)), all),
            Action::Netmap { from } => {
                let from = from.filter(|from| from.count() == all);
                // Below the count, so that adding a turn to it does not pass the end of the numbers.
                (
                    from.and_then(|from| from.place(own)).unwrap_or(own % all),
                    1,
                )
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
        self.addresses.at(self.first + u128::from(turn))
    }
}

/// A source whose reply tuple is free: at the first address that has one, and there at the packet's
/// own port if it may be kept.
fn source(
    target: &Target,
    tuple: &Tuple,
    context: &Context<'_>,
    candidates: Candidates,
    unique: &dyn Unique,
) -> Result<Tuple, Exhausted> {
    let ports = source_ports(target.ports, tuple);
    let keeps = ports.is_none_or(|ports| !target.randomise && ports.contains(tuple.source_port));
    let start = match target.randomise {
        true => context.random,
        false => seed(tuple),
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
        for other in sources(moved, keeps, ports, start).take(left.min(share) as usize) {
            left -= 1;
            if !unique.taken(&other.reversed()) {
                return Ok(other);
            }
        }
    }
    Err(Exhausted::Ports)
}

/// The tuple with its own source port, if it keeps it, and then with each of the others.
fn sources(
    tuple: Tuple,
    keeps: bool,
    ports: Option<Ports>,
    start: u64,
) -> impl Iterator<Item = Tuple> {
    let own = tuple.source_port;
    let others = ports
        .into_iter()
        .flat_map(move |ports| Order::new(ports, start).ports());
    let others = others.filter(move |port| !keeps || *port != own);
    keeps
        .then_some(own)
        .into_iter()
        .chain(others)
        .map(move |source_port| Tuple {
            source_port,
            ..tuple
        })
}

/// The endpoint that stands for the source whatever the destination is; or who stands behind the
/// destination, which keeps what it is when that is nobody.
fn endpoint_independent(
    target: &Target,
    tuple: &Tuple,
    mappings: &Mappings,
    address: u32,
    unique: &dyn Unique,
) -> Result<Tuple, Exhausted> {
    if target.side == Side::Destination {
        let inside = mappings.inside(Endpoint::destination(tuple));
        return Ok(inside.map_or(*tuple, |inside| Tuple {
            destination: u128::from(inside.address),
            destination_port: inside.port,
            ..*tuple
        }));
    }
    let inside = Endpoint::source(tuple);
    let ports = target.ports.unwrap_or(Ports::class(tuple.source_port));
    let port = mappings
        .find(inside, address, ports, target.randomise)
        .ok_or(Exhausted::Ports)?;
    let moved = Tuple {
        source: u128::from(address),
        source_port: port,
        ..*tuple
    };
    match unique.taken(&moved.reversed()) {
        true => Err(Exhausted::Ports),
        false => Ok(moved),
    }
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
pub(super) struct Order {
    ports: Ports,
    start: u64,
    step: u64,
}

impl Order {
    /// Primes above every count of ports: steps of such a length meet each port once.
    const STEPS: [u32; 8] = [
        65_537, 71_993, 77_951, 83_939, 89_963, 95_917, 99_991, 104_729,
    ];

    pub(super) fn new(ports: Ports, seed: u64) -> Self {
        let step = Self::STEPS[(seed >> 61) as usize];
        Self {
            ports,
            start: seed >> 13 & 0xffff_ffff,
            step: u64::from(step),
        }
    }

    /// Each of the ports.
    pub(super) fn ports(self) -> impl Iterator<Item = u16> {
        let turns = 0..u64::from(self.ports.count());
        turns.map(move |turn| self.ports.at(self.start + turn * self.step))
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
