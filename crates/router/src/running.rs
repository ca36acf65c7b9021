//! Read-only view of a router's running state for features: interfaces, addresses, routes.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

use dataplane::connection::Table;
use dataplane::counters::InterfaceTraffic;
use frame::InterfaceId;
use machine::Instant;
use service::icmp::{Offender, SentTo};

use crate::compile::{Addresses, Layout, PortState};
use crate::drive::workers::Workers;
use crate::drive::{Dad, Resources};
use crate::intent::{Intent, Name};
use crate::rib::{MAIN, Rib, Target, V4, V6};
use board::Board;

/// References to the running state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running<'a> {
    /// The time.
    pub(crate) now: Instant,
    /// The intent.
    pub(crate) intent: &'a Intent,
    /// The interfaces.
    pub(crate) layout: &'a Layout,
    /// Attached ports, by the name of their mapping.
    pub(crate) ports: &'a BTreeMap<Name, PortState>,
    /// The addresses of interfaces.
    pub(crate) addresses: &'a Addresses,
    /// State of duplicate address detection of IPv6 addresses.
    pub(crate) dad: &'a BTreeMap<(InterfaceId, Ipv6Addr), Dad>,
    /// The routes of IPv4.
    pub(crate) rib4: &'a Rib<V4>,
    /// The routes of IPv6.
    pub(crate) rib6: &'a Rib<V6>,
    /// Counters.
    pub(crate) counted: Counted<'a>,
}

/// Counters of the running router and of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted<'a> {
    /// Start of the router.
    pub(crate) started: Instant,
    /// Resources of the host.
    pub(crate) resources: &'a Resources,
    /// Connections that are tracked.
    pub(crate) connections: &'a Table,
    pub(crate) board: &'static Board,
    pub(crate) workers: &'a Workers,
    /// Interface counters at their last reset.
    pub(crate) reset: &'a BTreeMap<InterfaceId, InterfaceTraffic>,
    /// Why changes of the configuration cannot be stored; empty if they can.
    pub(crate) storage_fault: &'a str,
}

impl Counted<'_> {
    /// Returns the traffic of an interface since its counters were last reset.
    pub(crate) fn traffic(&self, id: InterfaceId, now: Instant) -> InterfaceTraffic {
        let sum = self.workers.traffic(id, now);
        let base = self.reset.get(&id).copied().unwrap_or_default();
        let mut since = sum;
        for (sum, base) in [
            (&mut since.rx, base.rx),
            (&mut since.tx, base.tx),
            (&mut since.fp_rx, base.fp_rx),
            (&mut since.fp_tx, base.fp_tx),
        ] {
            sum.packets = sum.packets.saturating_sub(base.packets);
            sum.bytes = sum.bytes.saturating_sub(base.bytes);
        }
        since.rx_drop = sum.rx_drop.saturating_sub(base.rx_drop);
        since.tx_drop = sum.tx_drop.saturating_sub(base.tx_drop);
        since
    }

    /// Returns the model, as `/system/resource` shows it.
    pub(crate) fn board(&self) -> &str {
        match self.board.is_routerboard() {
            true => self.board.name,
            false => &self.resources.board,
        }
    }
}

impl Running<'_> {
    /// Returns this router's source address for `to`; `None` without a route: any address would belong to another
    /// network.
    pub(crate) fn source(&self, to: IpAddr) -> Option<IpAddr> {
        match to {
            _ if !self.has_route(to) => None,
            IpAddr::V4(to) => self.source4(to).map(IpAddr::from),
            IpAddr::V6(to) => self.source6(to, InterfaceId::NONE).map(IpAddr::from),
        }
    }

    /// Returns this router's source address for `to`: the preferred source of the route, else an address of the egress
    /// interface, else any address.
    pub(crate) fn source4(&self, to: Ipv4Addr) -> Option<Ipv4Addr> {
        let found = self.rib4.lookup(MAIN, to);
        let preferred = found.as_ref().and_then(|found| found.pref_src);
        let leaves = found.and_then(|found| found.paths.first().and_then(Target::interface));
        preferred
            .or_else(|| self.first4(leaves?))
            .or_else(|| self.addresses.ipv4.keys().next().map(|(_, addr)| *addr))
    }

    /// Returns this router's source address for a destination behind this neighbour: an address of the neighbour's
    /// interface if possible.
    pub(crate) fn source_on4(
        &self,
        on: InterfaceId,
        next: Ipv4Addr,
        to: Ipv4Addr,
    ) -> Option<Ipv4Addr> {
        let found = self.rib4.lookup(MAIN, to);
        if found.is_some_and(|found| found.paths.first() == Some(&Target::Neighbour(on, next))) {
            return self.source4(to);
        }
        let mut own = self.addresses.of4(on);
        let near = own.find(|(_, own)| own.network.contains(next));
        near.map(|(address, _)| address)
            .or_else(|| self.first4(on))
            .or_else(|| self.source4(to))
    }

    /// Returns the first configured address of an interface; addresses from features come after configured ones.
    pub(crate) fn first4(&self, interface: InterfaceId) -> Option<Ipv4Addr> {
        let own = self.addresses.of4(interface);
        own.min_by_key(|(_, own)| own.item).map(|(addr, _)| addr)
    }

    /// Whether the main table has a route to an address.
    pub(crate) fn has_route(&self, to: IpAddr) -> bool {
        match to {
            IpAddr::V4(to) => self.rib4.lookup(MAIN, to).is_some(),
            IpAddr::V6(to) => self.rib6.lookup(MAIN, to).is_some(),
        }
    }

    /// Whether an IPv6 address has passed duplicate address detection.
    pub(crate) fn is_in_use(&self, id: InterfaceId, addr: Ipv6Addr) -> bool {
        self.dad.get(&(id, addr)) == Some(&Dad::Done)
    }

    /// Returns the usable link-local address of an interface.
    pub(crate) fn link_local(&self, id: InterfaceId) -> Option<Ipv6Addr> {
        let mut own = self.addresses.of6(id).map(|(addr, _)| addr);
        own.find(|addr| addr.is_unicast_link_local() && self.is_in_use(id, *addr))
    }

    /// Returns this router's IPv6 source address for `to` (RFC 6724): addresses of the egress interface first, then
    /// those of other interfaces.
    pub(crate) fn source6(&self, to: Ipv6Addr, ingress: InterfaceId) -> Option<Ipv6Addr> {
        let found = self.rib6.lookup(MAIN, to);
        let leaves = match found {
            // The caller chooses the interface of multicast groups.
            Some(found) if !is_of_link(to) && !to.is_multicast() => {
                found.paths.first().and_then(Target::interface)
            }
            _ => Some(ingress),
        }?;
        self.source_on6(leaves, to)
    }

    /// Returns this router's IPv6 source address for packets that leave by this interface.
    pub(crate) fn source_on6(&self, leaves: InterfaceId, to: Ipv6Addr) -> Option<Ipv6Addr> {
        let in_use = |id: InterfaceId, addr: &Ipv6Addr| self.is_in_use(id, *addr);
        let near = self
            .addresses
            .of6(leaves)
            .map(|(addr, _)| addr)
            .filter(|addr| in_use(leaves, addr));
        let far = self
            .addresses
            .ipv6
            .keys()
            .filter(|(id, addr)| {
                *id != leaves && !addr.is_unicast_link_local() && in_use(*id, addr)
            })
            .map(|(_, addr)| *addr);
        // An address of the egress interface comes first (RFC 6724, 5, rule 5), if its scope is wide enough for the
        // destination.
        let reaches = |own: &Ipv6Addr| is_of_link(to) || !own.is_unicast_link_local();
        let near = service::icmp::v6::source(None, near, to).filter(reaches);
        near.or_else(|| service::icmp::v6::source(None, far, to))
    }

    /// Whether an IPv4 address is the broadcast address of a connected network.
    pub(crate) fn is_broadcast4(&self, to: Ipv4Addr) -> bool {
        let found = self.rib4.lookup(MAIN, to);
        found.is_some_and(|found| matches!(found.paths[..], [Target::Broadcast(_), ..]))
    }

    /// Returns a packet that an ICMP error may answer. `link_group`: its frame was sent to a link-layer group or
    /// broadcast.
    pub(crate) fn offender<'p>(&self, packet: &'p [u8], link_group: bool) -> Offender<'p> {
        let network = match destination(packet) {
            Some(IpAddr::V4(to)) => self.is_broadcast4(to),
            _ => false,
        };
        Offender {
            packet,
            sent_to: if link_group || network {
                SentTo::Many
            } else {
                SentTo::One
            },
        }
    }
}

/// Whether packets to this address never leave their link (RFC 4291, 2.5.6 and 2.7).
fn is_of_link(to: Ipv6Addr) -> bool {
    let scope = to.segments()[0] & 0xf;
    to.is_unicast_link_local() || to.is_multicast() && scope <= 2
}

/// Returns the destination of an IP packet.
pub(crate) fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => {
            let bytes: [u8; 4] = *packet.get(16..)?.first_chunk()?;
            Some(IpAddr::V4(bytes.into()))
        }
        6 => {
            let bytes: [u8; 16] = *packet.get(24..)?.first_chunk()?;
            Some(IpAddr::V6(bytes.into()))
        }
        _ => None,
    }
}

/// Returns the source of an IPv6 packet.
pub(crate) fn source_of6(packet: &[u8]) -> Option<Ipv6Addr> {
    let bytes: [u8; 16] = *packet.get(8..)?.first_chunk()?;
    Some(bytes.into())
}
