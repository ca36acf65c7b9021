//! Routing: rules choose a table, the table gives a next hop, and the kind of the next hop decides what happens to
//! the packet.

use frame::InterfaceId;

use super::ingress::Arrived;
use super::prerouting::{address, is_link_local6};
use super::{Context, Exit, input};
use crate::drop::DropReason;
use crate::flow;
use crate::punt::Why;
use crate::snapshot::{Prefix, RoutingRule, RpFilter, RuleAction};
use crate::table::{Adjacency, Kind, NextHopId};

/// The table that is used when no rule says otherwise.
pub(crate) const MAIN: u16 = 0;
/// How often a route may refer to another table, or a group to a group.
const DEPTH: usize = 4;

/// What the rules ask of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'a> {
    /// From its network header on.
    pub(crate) packet: &'a [u8],
    /// Where it came in; none for the router's own packets.
    pub(crate) ingress: InterfaceId,
    pub(crate) source: Address,
    pub(crate) destination: Address,
    /// The routing mark: a table's number; 0 is none.
    pub(crate) mark: u32,
}

impl<'a> Query<'a> {
    /// Reads the addresses of a packet whose header is whole.
    pub(crate) fn new(packet: &'a [u8], ingress: InterfaceId) -> Self {
        let zero = (Address::V4(0), Address::V4(0));
        let (source, destination) = match packet.first().map(|first| first >> 4) {
            Some(6) => packet.first_chunk::<40>().map_or(zero, |header| {
                let (source, destination) = (address(header, 8), address(header, 24));
                (Address::V6(source), Address::V6(destination))
            }),
            _ => packet.first_chunk::<20>().map_or(zero, |header| {
                let [.., a, b, c, d, e, f, g, h] = *header;
                let source = Address::V4(u32::from_be_bytes([a, b, c, d]));
                (source, Address::V4(u32::from_be_bytes([e, f, g, h])))
            }),
        };
        Self {
            packet,
            ingress,
            source,
            destination,
            mark: 0,
        }
    }
}

/// An address of either family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    V4(u32),
    V6(u128),
}

impl Address {
    /// From its bits.
    pub(crate) fn of(bits: u128, ipv6: bool) -> Self {
        match ipv6 {
            true => Self::V6(bits),
            false => Self::V4(bits as u32),
        }
    }

    pub(crate) fn bits(self) -> u128 {
        match self {
            Self::V4(bits) => u128::from(bits),
            Self::V6(bits) => bits,
        }
    }

    fn is_in(self, prefix: &Prefix) -> bool {
        let (width, ipv6) = match self {
            Self::V4(_) => (32, false),
            Self::V6(_) => (128, true),
        };
        let shift = width - u32::from(prefix.len).min(width);
        let differing = self.bits() ^ prefix.bits;
        ipv6 == prefix.ipv6 && differing.checked_shr(shift).unwrap_or(0) == 0
    }
}

/// The next hop of a destination in a table, no route if there is no such table.
#[inline]
pub(crate) fn lookup(cx: &Context<'_>, table: u16, destination: Address) -> NextHopId {
    let Some(table) = cx.fib.table(table) else {
        return NextHopId::NO_ROUTE;
    };
    match destination {
        Address::V4(address) => table.ipv4.lookup(address),
        Address::V6(address) => table.ipv6.lookup(address),
    }
}

/// As [`lookup`], but a route that is shorter than `min` does not count.
fn lookup_min(cx: &Context<'_>, table: u16, destination: Address, min: u8) -> NextHopId {
    let found = cx.fib.table(table).and_then(|table| match destination {
        Address::V4(address) => table.ipv4.lookup_longest(address),
        Address::V6(address) => table.ipv6.lookup_longest(address),
    });
    match found {
        Some((hop, len)) if len >= min => hop,
        _ => NextHopId::NO_ROUTE,
    }
}

/// The next hop by marks and rules, in the order of RouterOS (`policy-rules` of `/routing/settings`:
/// mangle, local, user, main): the table that the packet is marked for, if it has a route; what is for
/// this router; the first rule that matches and has a route; table `main`.
///
/// # Errors
/// A rule discards the packet.
pub(crate) fn by_rules(cx: &Context<'_>, query: &Query<'_>) -> Result<NextHopId, Exit> {
    by_table(cx, query).map(|(_, hop)| hop)
}

/// As [`by_rules`], with the table that was decided by; `main` if none has a route.
///
/// # Errors
/// As [`by_rules`].
pub(crate) fn by_table(cx: &Context<'_>, query: &Query<'_>) -> Result<(u16, NextHopId), Exit> {
    if query.mark != 0 {
        let table = query.mark as u16;
        let hop = lookup(cx, table, query.destination);
        if hop != NextHopId::NO_ROUTE {
            return Ok((table, hop));
        }
    }
    let main = lookup(cx, MAIN, query.destination);
    if cx.snapshot.rules.is_empty() || is_local(cx, main) {
        return Ok((MAIN, main));
    }
    for rule in &cx.snapshot.rules {
        if !matches(rule, query) {
            continue;
        }
        match rule.action {
            RuleAction::Drop => return Err(Exit::Drop(DropReason::Blackhole)),
            RuleAction::Unreachable => return Err(Exit::Punt(Why::Unreachable)),
            RuleAction::LookupOnly => {
                return Ok((rule.table, lookup(cx, rule.table, query.destination)));
            }
            RuleAction::Lookup => {}
        }
        let hop = lookup_min(
            cx,
            rule.table,
            query.destination,
            rule.min_prefix.unwrap_or(0),
        );
        if hop != NextHopId::NO_ROUTE {
            return Ok((rule.table, hop));
        }
    }
    Ok((MAIN, main))
}

/// Whether a next hop is this router, or everybody on one of its links.
fn is_local(cx: &Context<'_>, hop: NextHopId) -> bool {
    let kind = cx.fib.adjacencies.read(hop).kind;
    matches!(kind, Kind::Local | Kind::Broadcast)
}

/// Whether all conditions of a rule hold.
fn matches(rule: &RoutingRule, query: &Query<'_>) -> bool {
    rule.source.is_none_or(|prefix| query.source.is_in(&prefix))
        && rule
            .destination
            .is_none_or(|prefix| query.destination.is_in(&prefix))
        && rule
            .interface
            .is_none_or(|interface| interface == query.ingress)
        && rule.mark.is_none_or(|mark| mark == query.mark)
}

/// Follows a next hop that is not simply to be forwarded to: groups, other tables, this router
/// itself, and all kinds of refusal.
///
/// # Errors
/// The packet's end, where it does not go out.
#[cold]
#[inline(never)]
pub(crate) fn follow(
    cx: &Context<'_>,
    packet: &[u8],
    ingress: InterfaceId,
    hop: NextHopId,
) -> Result<(NextHopId, Adjacency), Exit> {
    let query = Query::new(packet, ingress);
    match resolve(cx, &query, hop)? {
        (hop, adjacency) if adjacency.kind == Kind::Forward => Ok((hop, adjacency)),
        (hop, _) => {
            if ingress != InterfaceId::NONE {
                passes_on(cx, packet)?;
            }
            Err(Exit::Punt(Why::Unresolved(hop)))
        }
    }
}

/// Whether a packet may be passed on at all: nobody is asked for the link address of the next hop for one
/// that would end here.
fn passes_on(cx: &Context<'_>, packet: &[u8]) -> Result<(), Exit> {
    let ipv6 = packet.first().is_some_and(|first| first >> 4 == 6);
    let (settings, lifetime) = match ipv6 {
        true => (&cx.snapshot.ipv6, packet.get(7)),
        false => (&cx.snapshot.ipv4, packet.get(8)),
    };
    match lifetime {
        _ if !settings.forward => Err(Exit::Drop(DropReason::ForwardingOff)),
        Some(0 | 1) => Err(Exit::Punt(Why::TtlExceeded)),
        _ => Ok(()),
    }
}

/// As [`follow`], for a packet whose ends may differ from what its bytes say; a next hop whose link
/// address is not known yet is an answer, too.
///
/// # Errors
/// As [`follow`].
pub(crate) fn resolve(
    cx: &Context<'_>,
    query: &Query<'_>,
    mut hop: NextHopId,
) -> Result<(NextHopId, Adjacency), Exit> {
    for _ in 0..=DEPTH {
        let adjacency = cx.fib.adjacencies.read(hop);
        match adjacency.kind {
            Kind::Forward | Kind::Glean | Kind::Incomplete => return Ok((hop, adjacency)),
            Kind::Group => {
                let policy = match query.destination {
                    Address::V4(_) => cx.snapshot.ipv4.multipath_hash,
                    Address::V6(_) => cx.snapshot.ipv6.multipath_hash,
                };
                hop = adjacency.member(flow::multipath(query.packet, policy));
            }
            Kind::Table => hop = lookup(cx, adjacency.egress.0 as u16, query.destination),
            Kind::NoRoute => return Err(Exit::Punt(Why::NoRoute)),
            Kind::Local => return Err(local(cx, query)),
            Kind::Broadcast => return Err(broadcast(cx, query, &adjacency)),
            Kind::Blackhole => return Err(Exit::Drop(DropReason::Blackhole)),
            Kind::Unreachable => return Err(Exit::Punt(Why::Unreachable)),
            Kind::Prohibit => return Err(Exit::Punt(Why::Prohibit)),
        }
    }
    // Tables that refer to each other in a circle lead nowhere.
    Err(Exit::Punt(Why::NoRoute))
}

fn local(cx: &Context<'_>, query: &Query<'_>) -> Exit {
    match cx.interfaces.get(query.ingress) {
        Some(interface) => input::arrival(cx, query.packet)
            .unwrap_or_else(|| input::unicast(cx, (query.ingress, &interface), query.packet)),
        // The host stack keeps what it sends to itself; control looks at what comes here anyway.
        None => Exit::Punt(Why::Local),
    }
}

/// The broadcast address of a connected network: taken from that network, not forwarded into it
/// from elsewhere (RFC 2644, 2).
fn broadcast(cx: &Context<'_>, query: &Query<'_>, adjacency: &Adjacency) -> Exit {
    match cx.interfaces.get(query.ingress) {
        Some(interface) if query.ingress == adjacency.egress => {
            input::group(cx, (query.ingress, &interface), query.packet)
        }
        Some(_) => Exit::Drop(DropReason::DirectedBroadcast),
        None => Exit::Punt(Why::Local),
    }
}

/// Whether `rp-filter` lets a packet from this source in (RFC 3704, 2). `packet` is the packet from
/// its network header on.
pub(crate) fn way_back4(cx: &Context<'_>, arrived: &Arrived, packet: &[u8], source: u32) -> bool {
    // Who has no address yet has no way back either.
    source == 0 || way_back(cx, arrived, packet, Address::V4(source))
}

/// The same of IPv6. Link-local sources are always on their link.
pub(crate) fn way_back6(cx: &Context<'_>, arrived: &Arrived, packet: &[u8], source: u128) -> bool {
    source == 0 || is_link_local6(source) || way_back(cx, arrived, packet, Address::V6(source))
}

/// Without routing rules the source alone says it. With them the answer's way depends on where the
/// packet goes: behind the firewall's translations only routing knows that, and asks [`admit`].
fn way_back(cx: &Context<'_>, arrived: &Arrived, packet: &[u8], source: Address) -> bool {
    if cx.snapshot.rules.is_empty() {
        let hop = lookup(cx, MAIN, source);
        return reaches(cx, hop, arrived.id, source);
    }
    if cx.snapshot.firewall.guards(arrived.ipv6) {
        return true;
    }
    let query = Query::new(packet, arrived.id);
    let found = by_rules(cx, &query).and_then(|hop| resolve(cx, &query, hop));
    admit(cx, &query, found) != Err(Exit::Drop(DropReason::ReversePath))
}

/// The routing decision `found` about a packet, unless `rp-filter` keeps the packet out: what would be
/// routed from its destination to its source has to leave by where it came in. Linux: the answer is
/// taken to come in where the packet leaves, or from the router itself, and to have no mark.
///
/// # Errors
/// Those of `found`; and a drop.
pub(crate) fn admit(
    cx: &Context<'_>,
    query: &Query<'_>,
    found: Result<(NextHopId, Adjacency), Exit>,
) -> Result<(NextHopId, Adjacency), Exit> {
    if query.ingress == InterfaceId::NONE || !checks_way_back(cx, query) {
        return found;
    }
    let egress = match &found {
        Ok((_, adjacency)) => adjacency.egress,
        Err(exit) if exit.is_local() => InterfaceId::NONE,
        Err(_) => return found,
    };
    let answer = Query {
        ingress: egress,
        source: query.destination,
        destination: query.source,
        mark: 0,
        ..*query
    };
    match by_rules(cx, &answer) {
        Ok(hop) if reaches(cx, hop, query.ingress, query.source) => found,
        _ => Err(Exit::Drop(DropReason::ReversePath)),
    }
}

/// Whether the way back to the source of this packet is checked.
fn checks_way_back(cx: &Context<'_>, query: &Query<'_>) -> bool {
    match query.source {
        Address::V4(source) => cx.snapshot.ipv4.checks_way_back() && source != 0,
        Address::V6(source) => {
            cx.snapshot.ipv6.checks_way_back() && source != 0 && !is_link_local6(source)
        }
    }
}

/// Whether the way to a source is one that `rp-filter` takes from a packet that came in by this interface.
fn reaches(cx: &Context<'_>, hop: NextHopId, came: InterfaceId, source: Address) -> bool {
    let ipv6 = matches!(source, Address::V6(_));
    match cx.snapshot.family(ipv6).rp_filter {
        RpFilter::No => true,
        RpFilter::Strict => leads_to(cx, hop, Some(came), source, DEPTH),
        RpFilter::Loose => leads_to(cx, hop, None, source, DEPTH),
    }
}

/// Whether a next hop goes out at all, and by `wanted` where that is given.
fn leads_to(
    cx: &Context<'_>,
    hop: NextHopId,
    wanted: Option<InterfaceId>,
    source: Address,
    depth: usize,
) -> bool {
    let adjacency = cx.fib.adjacencies.read(hop);
    match adjacency.kind {
        Kind::Forward | Kind::Glean | Kind::Incomplete => {
            wanted.is_none_or(|wanted| wanted == adjacency.egress)
        }
        Kind::Group if depth > 0 => adjacency
            .members()
            .any(|member| leads_to(cx, member, wanted, source, depth - 1)),
        Kind::Table if depth > 0 => {
            let next = lookup(cx, adjacency.egress.0 as u16, source);
            leads_to(cx, next, wanted, source, depth - 1)
        }
        Kind::Group
        | Kind::Table
        | Kind::NoRoute
        | Kind::Local
        | Kind::Broadcast
        | Kind::Blackhole
        | Kind::Unreachable
        | Kind::Prohibit => false,
    }
}

/// Whether an address is the broadcast address of the network on this interface.
pub(crate) fn is_broadcast4(cx: &Context<'_>, interface: InterfaceId, address: u32) -> bool {
    let adjacency = cx
        .fib
        .adjacencies
        .read(lookup(cx, MAIN, Address::V4(address)));
    adjacency.kind == Kind::Broadcast && adjacency.egress == interface
}

/// Whether an address is this router's own.
pub(crate) fn is_local6(cx: &Context<'_>, address: u128) -> bool {
    let hop = lookup(cx, MAIN, Address::V6(address));
    cx.fib.adjacencies.read(hop).kind == Kind::Local
}
