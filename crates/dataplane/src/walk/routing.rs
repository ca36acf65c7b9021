//! Routing: rules choose a table, the table gives a next hop, and the kind of the next hop decides what happens to
//! the packet.

use frame::InterfaceId;

use super::ingress::Arrived;
use super::input::Ingress;
use super::prerouting::{address, is_link_local6};
use super::{Context, Exit, input};
use crate::drop::DropReason;
use crate::flow;
use crate::punt::PuntReason;
use crate::routing_rules::RuleAction;
pub(crate) use crate::routing_rules::{Address, Flow};
use crate::snapshot::RpFilter;
use crate::table::{Adjacency, Kind, NextHopId};

/// The table that is used unless a rule or mark selects another.
pub(crate) const MAIN: u16 = 0;
/// Maximum number of references from table to table or group to group that a lookup follows.
const DEPTH: usize = 4;

/// A packet that is routed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'a> {
    /// The packet from its network header on.
    pub(crate) packet: &'a [u8],
    pub(crate) flow: Flow,
}

impl<'a> Query<'a> {
    /// Parses the addresses of a packet whose header has been checked.
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
            flow: Flow {
                ingress,
                source,
                destination,
                mark: 0,
            },
        }
    }
}

/// Returns the next hop of a destination in a table; no route if the table does not exist.
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

/// Like [`lookup`], but ignores routes with a prefix shorter than `min` bits.
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

/// Returns the next hop by marks and rules, in the order of RouterOS (`policy-rules` of
/// `/routing/settings`: mangle, local, user, main): the marked table, if it has a route; local
/// destinations; the first matching rule whose table has a route; table `main`.
///
/// # Errors
/// A rule discards the packet.
pub(crate) fn by_rules(cx: &Context<'_>, flow: &Flow) -> Result<NextHopId, Exit> {
    by_table(cx, flow).map(|(_, hop)| hop)
}

/// Like [`by_rules`], and returns the table that has the route; `main` if no table has one.
///
/// # Errors
/// A rule discards the packet.
pub(crate) fn by_table(cx: &Context<'_>, flow: &Flow) -> Result<(u16, NextHopId), Exit> {
    let main = lookup(cx, MAIN, flow.destination);
    if flow.mark != 0 {
        let table = flow.mark as u16;
        let hop = lookup(cx, table, flow.destination);
        if hop != NextHopId::NO_ROUTE {
            return Ok((table, hop));
        }
    }
    beside_main(cx, flow, main)
}

/// Like [`by_table`], for a packet that no mark routes. `main` is the next hop of table `main`.
///
/// # Errors
/// A rule discards the packet.
pub(crate) fn beside_main(
    cx: &Context<'_>,
    flow: &Flow,
    main: NextHopId,
) -> Result<(u16, NextHopId), Exit> {
    if cx.snapshot.rules.is_empty() || is_local(cx, main) {
        return Ok((MAIN, main));
    }
    for rule in cx.snapshot.rules.matching(flow) {
        match rule.action {
            RuleAction::Drop => return Err(Exit::Drop(DropReason::Blackhole)),
            RuleAction::Unreachable => return Err(Exit::Punt(PuntReason::Unreachable)),
            RuleAction::LookupOnly => {
                return Ok((rule.table, lookup(cx, rule.table, flow.destination)));
            }
            RuleAction::Lookup => {}
        }
        let min = rule.min_prefix.unwrap_or(0);
        let hop = lookup_min(cx, rule.table, flow.destination, min);
        if hop != NextHopId::NO_ROUTE {
            return Ok((rule.table, hop));
        }
    }
    Ok((MAIN, main))
}

/// Returns true if a next hop is this router, or the broadcast address of one of its links.
fn is_local(cx: &Context<'_>, hop: NextHopId) -> bool {
    let kind = cx.fib.adjacencies.read(hop).kind;
    matches!(kind, Kind::Local | Kind::Broadcast)
}

/// Follows a next hop for a packet of this router: groups, other tables, this router itself, and rejections.
///
/// # Errors
/// The packet's exit, if it does not leave by a resolved next hop.
#[cold]
#[inline(never)]
pub(crate) fn follow(
    cx: &Context<'_>,
    packet: &[u8],
    hop: NextHopId,
) -> Result<(NextHopId, Adjacency), Exit> {
    let (hop, adjacency) = resolve(cx, &Query::new(packet, InterfaceId::NONE), hop)?;
    match adjacency.kind {
        Kind::Forward => Ok((hop, adjacency)),
        _ => Err(Exit::Punt(PuntReason::Unresolved(hop))),
    }
}

/// Like [`follow`], for a packet whose current addresses are in `query` rather than in its bytes.
/// Unresolved next hops are returned too.
///
/// # Errors
/// The packet's exit, if it does not leave by a next hop.
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
                let policy = match query.flow.destination {
                    Address::V4(_) => cx.snapshot.ipv4.multipath_hash,
                    Address::V6(_) => cx.snapshot.ipv6.multipath_hash,
                };
                hop = adjacency.member(flow::multipath(query.packet, policy));
            }
            Kind::Table => hop = lookup(cx, adjacency.egress.0 as u16, query.flow.destination),
            Kind::NoRoute => return Err(Exit::Punt(PuntReason::NoRoute)),
            Kind::Local => return Err(local(cx, query)),
            Kind::Broadcast => return Err(broadcast(cx, query, &adjacency)),
            Kind::Blackhole => return Err(Exit::Drop(DropReason::Blackhole)),
            Kind::Unreachable => return Err(Exit::Punt(PuntReason::Unreachable)),
            Kind::Prohibit => return Err(Exit::Punt(PuntReason::Prohibit)),
        }
    }
    // Tables or groups that refer to each other in a circle have no route.
    Err(Exit::Punt(PuntReason::NoRoute))
}

/// Returns the exit of a packet whose destination is an address of this router.
pub(super) fn arrives(cx: &Context<'_>, packet: &[u8], ingress: InterfaceId) -> Exit {
    local(cx, &Query::new(packet, ingress))
}

fn local(cx: &Context<'_>, query: &Query<'_>) -> Exit {
    match cx.interfaces.get(query.flow.ingress) {
        Some(interface) => input::arrival(cx, query.packet).unwrap_or_else(|| {
            let ingress = Ingress {
                id: query.flow.ingress,
                interface: &interface,
            };
            input::unicast(cx, ingress, query.packet)
        }),
        // The host stack delivers packets to itself; control inspects those that still arrive here.
        None => Exit::Punt(PuntReason::Local),
    }
}

/// Returns the exit of a packet to the broadcast address of a connected network: received from that
/// network, dropped from other interfaces (RFC 2644, 2).
fn broadcast(cx: &Context<'_>, query: &Query<'_>, adjacency: &Adjacency) -> Exit {
    match cx.interfaces.get(query.flow.ingress) {
        Some(interface) if query.flow.ingress == adjacency.egress => {
            let ingress = Ingress {
                id: query.flow.ingress,
                interface: &interface,
            };
            input::group(cx, ingress, query.packet)
        }
        Some(_) => Exit::Drop(DropReason::DirectedBroadcast),
        None => Exit::Punt(PuntReason::Local),
    }
}

/// Returns true if `rp-filter` accepts a packet from this source (RFC 3704, 2). `packet` begins at
/// its network header.
pub(crate) fn way_back4(cx: &Context<'_>, arrived: &Arrived, packet: &[u8], source: u32) -> bool {
    // A host without an address has no route to it.
    source == 0 || way_back(cx, arrived, packet, Address::V4(source))
}

/// Returns true if `rp-filter` accepts a packet from this IPv6 source. Link-local sources are
/// always accepted.
pub(crate) fn way_back6(cx: &Context<'_>, arrived: &Arrived, packet: &[u8], source: u128) -> bool {
    source == 0 || is_link_local6(source) || way_back(cx, arrived, packet, Address::V6(source))
}

/// Without routing rules the source decides alone. With rules the route of the answer depends on
/// the packet's destination, which the firewall may translate; routing then calls [`admit`].
fn way_back(cx: &Context<'_>, arrived: &Arrived, packet: &[u8], source: Address) -> bool {
    if cx.snapshot.rules.is_empty() {
        let hop = lookup(cx, MAIN, source);
        return reaches(cx, hop, arrived.id, source);
    }
    if cx.snapshot.firewall.guards(arrived.ipv6) {
        return true;
    }
    let query = Query::new(packet, arrived.id);
    let found = by_rules(cx, &query.flow).and_then(|hop| resolve(cx, &query, hop));
    admit(cx, &query, found) != Err(Exit::Drop(DropReason::ReversePath))
}

/// Returns the routing decision `found`, unless `rp-filter` rejects the packet: the answer, from
/// its destination to its source, must leave by the ingress interface. As in Linux, the answer has
/// no mark, and its ingress interface is the packet's egress interface, or none for a local packet.
///
/// # Errors
/// The error of `found`, or a drop for a failed reverse path check.
pub(crate) fn admit(
    cx: &Context<'_>,
    query: &Query<'_>,
    found: Result<(NextHopId, Adjacency), Exit>,
) -> Result<(NextHopId, Adjacency), Exit> {
    if query.flow.ingress == InterfaceId::NONE || !checks_way_back(cx, query) {
        return found;
    }
    let egress = match &found {
        Ok((_, adjacency)) => adjacency.egress,
        Err(exit) if exit.is_local() => InterfaceId::NONE,
        Err(_) => return found,
    };
    let answer = Flow {
        ingress: egress,
        source: query.flow.destination,
        destination: query.flow.source,
        mark: 0,
    };
    match by_rules(cx, &answer) {
        Ok(hop) if reaches(cx, hop, query.flow.ingress, query.flow.source) => found,
        _ => Err(Exit::Drop(DropReason::ReversePath)),
    }
}

/// Returns true if the reverse path of this packet must be checked.
fn checks_way_back(cx: &Context<'_>, query: &Query<'_>) -> bool {
    match query.flow.source {
        Address::V4(source) => cx.snapshot.ipv4.checks_way_back() && source != 0,
        Address::V6(source) => {
            cx.snapshot.ipv6.checks_way_back() && source != 0 && !is_link_local6(source)
        }
    }
}

/// Returns true if `rp-filter` accepts this next hop to the source of a packet received by
/// interface `came`.
fn reaches(cx: &Context<'_>, hop: NextHopId, came: InterfaceId, source: Address) -> bool {
    let ipv6 = matches!(source, Address::V6(_));
    match cx.snapshot.family(ipv6).rp_filter {
        RpFilter::No => true,
        RpFilter::Strict => leads_to(cx, hop, Some(came), source, DEPTH),
        RpFilter::Loose => leads_to(cx, hop, None, source, DEPTH),
    }
}

/// Returns true if a next hop leaves the router: by `wanted` if that is given, otherwise by any
/// interface.
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

/// Returns true if an address is the broadcast address of the network on this interface.
pub(crate) fn is_broadcast4(cx: &Context<'_>, interface: InterfaceId, address: u32) -> bool {
    let adjacency = cx
        .fib
        .adjacencies
        .read(lookup(cx, MAIN, Address::V4(address)));
    adjacency.kind == Kind::Broadcast && adjacency.egress == interface
}

/// Returns true if an address is one of this router's.
pub(crate) fn is_local6(cx: &Context<'_>, address: u128) -> bool {
    let hop = lookup(cx, MAIN, Address::V6(address));
    cx.fib.adjacencies.read(hop).kind == Kind::Local
}
