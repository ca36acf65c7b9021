//! Packets of this router, and packets for its host stack; source addresses.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dataplane::table::NextHopId;
use dataplane::{Command, Drop};
use frame::{Frame, InterfaceId};
use service::neighbour::Event;

use super::Control;
use super::half::Waiting;
use crate::rib::{MAIN, Target};

impl Control {
    /// Sends an IP packet of this router's own. `hint` is the interface for destinations that no
    /// route leads to: groups and link-local addresses.
    pub(super) fn output(&mut self, packet: &[u8], hint: InterfaceId, worker: u16) {
        let Some(mut frame) = self.workers.frame(packet) else {
            return;
        };
        frame.l3 = 0;
        frame.egress = hint;
        self.workers.send(worker, Command::Output(frame));
    }

    /// Sends an IP packet of this router's own by this next hop alone.
    pub(super) fn probe(&mut self, packet: &[u8], hop: NextHopId) {
        if let Some(mut frame) = self.workers.frame(packet) {
            frame.l3 = 0;
            self.workers.send(0, Command::Probe(frame, hop));
        }
    }

    /// Gives a packet to the host stack, by the mirror of this interface.
    pub(super) fn deliver(&mut self, mut frame: Frame, interface: InterfaceId, worker: u16) {
        let mirror = self
            .layout
            .interfaces
            .get(&interface)
            .and_then(|l| l.mirror);
        let Some((_, mirror)) = mirror else {
            return self.workers.discard(frame, Drop::NotForUs);
        };
        let l3 = frame.l3;
        frame.pull_front(usize::from(l3));
        frame.offload.shift(0i16.wrapping_sub(l3 as i16));
        frame.l3 = 0;
        frame.egress = mirror;
        self.workers.send(worker, Command::Transmit(frame));
    }

    pub(super) fn resolve4(&mut self, id: InterfaceId, address: Ipv4Addr, waiting: Waiting) {
        let event = Event::Resolve {
            address,
            packet: Some(waiting),
        };
        self.feed4(id, event);
    }

    pub(super) fn resolve6(&mut self, id: InterfaceId, address: Ipv6Addr, waiting: Waiting) {
        let event = Event::Resolve {
            address,
            packet: Some(waiting),
        };
        self.feed6(id, event);
    }

    /// The next identification of an IPv4 packet of this router's own.
    pub(super) fn next_id(&mut self) -> u16 {
        self.ip_id = self.ip_id.wrapping_add(1);
        self.ip_id
    }

    /// The address that this router speaks with to `to`: what the route prefers, else an address of
    /// the interface that the route leaves by, else any.
    pub(crate) fn source4(&self, to: Ipv4Addr) -> Option<Ipv4Addr> {
        let found = self.v4.rib.lookup(MAIN, to);
        let preferred = found.as_ref().and_then(|found| found.pref_src);
        let leaves = found.and_then(|found| found.paths.first().and_then(Target::interface));
        preferred
            .or_else(|| self.first4(leaves?))
            .or_else(|| self.addresses.ipv4.keys().next().map(|(_, addr)| *addr))
    }

    /// The same to a destination that is reached by this neighbour: an address of that interface, if it has
    /// any.
    pub(super) fn source_on4(
        &self,
        on: InterfaceId,
        next: Ipv4Addr,
        to: Ipv4Addr,
    ) -> Option<Ipv4Addr> {
        let found = self.v4.rib.lookup(MAIN, to);
        if found.is_some_and(|found| found.paths.first() == Some(&Target::Neighbour(on, next))) {
            return self.source4(to);
        }
        let mut own = self.addresses.of4(on);
        let near = own.find(|(_, own)| own.network.contains(next));
        near.map(|(address, _)| address)
            .or_else(|| self.first4(on))
            .or_else(|| self.source4(to))
    }

    /// Whether an IPv6 address has passed duplicate address detection.
    pub(crate) fn is_in_use(&self, id: InterfaceId, addr: Ipv6Addr) -> bool {
        self.dad.get(&(id, addr)) == Some(&super::Dad::Done)
    }

    /// Whether somebody else was found to have an IPv6 address.
    pub(crate) fn is_duplicate(&self, id: InterfaceId, addr: Ipv6Addr) -> bool {
        self.dad.get(&(id, addr)) == Some(&super::Dad::Failed)
    }

    /// The first address of an interface.
    pub(super) fn first4(&self, interface: InterfaceId) -> Option<Ipv4Addr> {
        self.addresses.of4(interface).next().map(|(addr, _)| addr)
    }

    /// The same of IPv6 (RFC 6724): the addresses of the interface that leads there, those of the
    /// others behind them.
    pub(crate) fn source6(&self, to: Ipv6Addr, ingress: InterfaceId) -> Option<Ipv6Addr> {
        let found = self.v6.rib.lookup(MAIN, to);
        let leaves = match found {
            // Groups are sent to where it was said.
            Some(found) if !is_of_link(to) && !to.is_multicast() => {
                found.paths.first().and_then(Target::interface)
            }
            _ => Some(ingress),
        }?;
        self.source_on6(leaves, to)
    }

    /// The same of a packet that leaves by this interface.
    pub(super) fn source_on6(&self, leaves: InterfaceId, to: Ipv6Addr) -> Option<Ipv6Addr> {
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
        // The interface that it leaves by comes first (RFC 6724, 5, rule 5), if it has an address
        // that reaches as far as the destination.
        let reaches = |own: &Ipv6Addr| is_of_link(to) || !own.is_unicast_link_local();
        let near = service::icmp::v6::source(None, near, to).filter(reaches);
        near.or_else(|| service::icmp::v6::source(None, far, to))
    }
}

/// Whether a packet to this address never leaves its link (RFC 4291, 2.5.6 and 2.7).
fn is_of_link(to: Ipv6Addr) -> bool {
    let scope = to.segments()[0] & 0xf;
    to.is_unicast_link_local() || to.is_multicast() && scope <= 2
}

/// The destination of an IP packet.
pub(super) fn destination(packet: &[u8]) -> Option<IpAddr> {
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
