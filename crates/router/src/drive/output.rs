//! Sends IP packets of this router, and delivers packets to its host stack.

use core::net::{Ipv4Addr, Ipv6Addr};

use dataplane::table::NextHopId;
use dataplane::{Command, DropReason, zone};
use frame::{Frame, InterfaceId};
use service::neighbour::Event;

use super::Control;
use super::half::Waiting;
impl Control {
    /// Sends an IP packet of this router. `hint` is the egress interface for multicast groups and link-local addresses,
    /// which have no route.
    pub(super) fn output(&mut self, packet: &[u8], hint: InterfaceId, worker: u16) {
        let Some(mut frame) = self.workers.frame(packet) else {
            return;
        };
        frame.l3 = 0;
        frame.egress = hint;
        self.workers.send(worker, Command::Output(frame));
    }

    /// Sends an IP packet of this router by this next hop only.
    pub(super) fn probe(&mut self, packet: &[u8], hop: NextHopId) {
        if let Some(mut frame) = self.workers.frame(packet) {
            frame.l3 = 0;
            self.workers.send(0, Command::Probe(frame, hop));
        }
    }

    /// Sends an IP packet of this router by a point-to-point interface, whatever routes say.
    pub(super) fn send_to_far_end(&mut self, packet: &[u8], on: InterfaceId, worker: u16) {
        if let Some(mut frame) = self.workers.frame(packet) {
            (frame.l3, frame.egress) = (0, on);
            self.workers
                .send(worker, Command::Probe(frame, NextHopId::NO_ROUTE));
        }
    }

    /// Delivers a packet to the host stack by the mirror of this interface. [`InterfaceId::NONE`] selects the shared
    /// mirror.
    pub(super) fn deliver(&mut self, mut frame: Frame, interface: InterfaceId, worker: u16) {
        let mirror = match interface {
            InterfaceId::NONE => self.shared_mirror,
            id => self.layout.interfaces.get(&id).and_then(|l| l.mirror),
        };
        let Some((_, mirror)) = mirror else {
            return self.workers.discard(frame, DropReason::NotForUs);
        };
        let l3 = frame.l3;
        frame.pull_front(usize::from(l3));
        frame.offload.shift(0i16.wrapping_sub(l3 as i16));
        frame.l3 = 0;
        frame.egress = mirror;
        let is_shared = self
            .shared_mirror
            .is_some_and(|(_, shared)| shared == mirror);
        if is_shared && interface != InterfaceId::NONE {
            let own = self.addresses.of6(interface).map(|(address, _)| address);
            let in_use = own.filter(|address| self.running().is_in_use(interface, *address));
            if !zone::enter(&mut frame, interface, zone::own(in_use)) {
                return self.workers.discard(frame, DropReason::Ipv6Zone);
            }
        }
        self.workers.send(worker, Command::Transmit(frame));
    }

    pub(super) fn resolve4(&mut self, id: InterfaceId, address: Ipv4Addr, packet: Option<Waiting>) {
        self.feed4(id, Event::Resolve { address, packet });
    }

    pub(super) fn resolve6(&mut self, id: InterfaceId, address: Ipv6Addr, packet: Option<Waiting>) {
        self.feed6(id, Event::Resolve { address, packet });
    }

    /// Returns the next identification for IPv4 packets of this router.
    pub(super) fn next_id(&mut self) -> u16 {
        self.ip_id = self.ip_id.wrapping_add(1);
        self.ip_id
    }

    /// Whether another host was found to use an IPv6 address.
    pub(crate) fn is_duplicate(&self, id: InterfaceId, addr: Ipv6Addr) -> bool {
        self.dad.get(&(id, addr)) == Some(&super::Dad::Failed)
    }
}
