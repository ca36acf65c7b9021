//! Chooses addresses and ports for a new connection: the packet's own if possible, else others of the same
//! kind. Replies to two connections are always distinguishable (RFC 4787, 4; RFC 5382, 7).
//!
//! The source port is kept if the reply tuple is free (port preservation), else another port of its class is
//! used ([`Ports::class`]). Ports are tried in an order that depends on the connection and contains each port
//! once. After [`PROBES`] occupied ones the connection is refused, so that a full pool costs bounded time.
//! Smaller pools are searched completely.

use packet::drop::DropReason;
use packet::flow::mix64;
use packet::{Tuple, protocol};

use super::mapping::{Endpoint, Mappings};
use super::target::{Action, Addresses, Ports, Side, Target};

/// Maximum number of reply tuples that are tried for one connection.
pub const PROBES: u32 = 1024;

/// Checks whether a reply tuple is in use.
pub trait Unique {
    /// Returns true if a connection has this tuple in either direction. An implementation that returns false
    /// may reserve the tuple for the caller.
    fn taken(&self, reply: &Tuple) -> bool;
}

/// Inputs of a choice besides the rule and the packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// The router's address for [`Action::Own`]. Masquerade: the route's preferred source or the egress
    /// interface's address. Redirect: the ingress interface's address.
    pub own: Option<u128>,
    /// A random number per connection that cannot be guessed.
    pub random: u64,
    /// The mappings of [`Action::EndpointIndependent`]; without them the action has no effect.
    pub mappings: Option<&'a Mappings>,
}

/// Reason why a connection cannot be translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// The interface has no address.
    Addresses,
    /// All ports of all permitted addresses are in use towards that peer.
    Ports,
}

impl Exhausted {
    /// Returns the drop reason of the packet.
    pub const fn reason(self) -> DropReason {
        match self {
            Self::Addresses => DropReason::NatAddress,
            Self::Ports => DropReason::NatPorts,
        }
    }
}

/// Returns the translated tuple of a connection's first packet, in its own direction.
///
/// A translated source is unique: its [`Tuple::reversed`] is free. A translated destination is unique if
/// possible; [`settle`] checks the whole tuple once the source is known.
///
/// # Errors
/// Returns [`Exhausted`] if the source cannot be translated, or if the router has no address.
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

/// Returns true if endpoint-independent mappings translate the tuple: UDP over IPv4 with a rule that requests
/// it.
pub fn is_endpoint_independent(target: &Target, tuple: &Tuple, context: &Context<'_>) -> bool {
    target.action == Action::EndpointIndependent
        && context.mappings.is_some()
        && tuple.protocol == protocol::UDP
        && !tuple.ipv6
}

/// Last step of every new connection, translated or not: returns the tuple if its reverse is free, else the
/// tuple with another source port of the same class.
///
/// # Errors
/// Returns [`Exhausted::Ports`] if there is no such port.
pub fn settle(tuple: &Tuple, unique: &dyn Unique) -> Result<Tuple, Exhausted> {
    let ports = source_ports(None, tuple);
    let found = sources(*tuple, true, ports, seed(tuple))
        .take(PROBES as usize)
        .find(|other| !unique.taken(&other.reversed()));
    found.ok_or(Exhausted::Ports)
}

/// The permitted addresses and the first one to try.
#[derive(Clone, Copy)]
struct Candidates {
    addresses: Addresses,
    first: u128,
    /// Number of addresses to try.
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
            // All ports of a client use one address (RFC 4787, REQ-2).
            Action::EndpointIndependent => (u128::from(hash(own)), 1),
            Action::Translate => (u128::from(seed(tuple)), all),
            Action::Netmap { from } => {
                let from = from.filter(|from| from.count() == all);
                // Modulo the count, so that adding the attempt number does not overflow.
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

/// Chooses a source with a free reply tuple: at the first address that has one, with the packet's own port if
/// permitted.
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
    // Each address gets a share of the probes; unused probes go to later addresses.
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

/// Yields the tuple with its own source port, if `keeps`, and then with each of the other ports.
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

/// Returns the tuple with the outside endpoint of its source, whatever the destination; or, for a destination
/// rule, with the inside endpoint of its destination, unchanged if there is none.
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

/// Chooses a destination: the packet's own port if permitted, else the first port whose reply tuple is free,
/// else the first port.
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

/// Returns the ports that may replace the source port: those of the rule, or those of its class; `None` if
/// the protocol has no ports.
fn source_ports(given: Option<Ports>, tuple: &Tuple) -> Option<Ports> {
    match tuple.protocol {
        protocol::ICMP | protocol::ICMPV6 if tuple.is_query() => Some(Ports::ALL),
        _ if tuple.has_ports() => Some(given.unwrap_or(Ports::class(tuple.source_port))),
        _ => None,
    }
}

/// A permutation of a port range that depends on a seed.
pub(super) struct Order {
    ports: Ports,
    start: u64,
    step: u64,
}

impl Order {
    /// Primes above the size of every port range: a step of such a length visits each port once.
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

    /// Yields each port once.
    pub(super) fn ports(self) -> impl Iterator<Item = u16> {
        let turns = 0..u64::from(self.ports.count());
        turns.map(move |turn| self.ports.at(self.start + turn * self.step))
    }
}

/// Returns a hash of the tuple.
fn seed(tuple: &Tuple) -> u64 {
    let ports = u64::from(tuple.source_port) << 16 | u64::from(tuple.destination_port);
    hash(tuple.source) ^ hash(tuple.destination).rotate_left(1) ^ mix64(ports)
}

fn hash(address: u128) -> u64 {
    mix64(mix64((address >> 64) as u64) ^ address as u64)
}
