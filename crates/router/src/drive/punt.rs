//! Punted packets: one handler for each reason.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeSet;

use dataplane::table::NextHopId;
use dataplane::{DropReason, Punt, PuntReason};
use frame::{Frame, InterfaceId};
use service::neighbour::{Event, Proxy, Question};
use wire::{Mac, Protocol};

use super::half::{Upcall, Waiting};
use super::{Control, Dad};
use crate::feature::Effects;
use crate::rib::{MAIN, Target};
use crate::running::destination;

/// Packets that one call takes from each worker, so that timers are not starved.
const PER_POLL: usize = 256;

impl Control {
    /// Handles punted packets of the workers; returns whether more may wait.
    pub(super) fn take_punts(&mut self) -> bool {
        let mut more = false;
        for worker in 0..self.workers.len() as u16 {
            for taken in 0..PER_POLL {
                let Some(punt) = self.workers.punt(worker) else {
                    break;
                };
                self.handle_punt(worker, punt);
                more |= taken + 1 == PER_POLL;
            }
            more |= self.take_copies(worker);
        }
        more
    }

    /// Handles one punted packet of a worker.
    pub fn handle_punt(&mut self, worker: u16, punt: Punt) {
        let Punt { frame, why } = punt;
        match why {
            PuntReason::Service { id, .. } => self.hear(frame, id, worker),
            PuntReason::Local => self.hear_local(frame, worker),
            PuntReason::Unresolved(hop) => self.resolve(frame, hop, worker),
            PuntReason::Redirect(hop) => self.redirect(frame, hop, worker),
            PuntReason::TtlExceeded
            | PuntReason::TooBig(_)
            | PuntReason::NoRoute
            | PuntReason::Unreachable
            | PuntReason::Prohibit
            | PuntReason::BeyondScope
            | PuntReason::ParameterProblem(_)
            | PuntReason::UnknownOption(_) => self.report(frame, why, worker),
            PuntReason::Rejected(how) => self.reject(frame, how, worker),
            PuntReason::Tarpit => self.tarpit(frame, worker),
            PuntReason::RuleEvent(event) => self.hear_rule(frame, event),
            PuntReason::Unprotected(slot) => self.want_keys(frame, slot),
            PuntReason::Keyless(peer) => self.want_session(frame, peer),
            PuntReason::OwnSource => self.report_own_source(frame),
        }
    }

    /// Logs a frame from a bridge port whose source is a link address of this router.
    fn report_own_source(&mut self, frame: Frame) {
        let mut out = Effects::default();
        let source = frame.bytes().get(6..).and_then(|rest| rest.first_chunk());
        if let Some(mac) = source {
            let bridges = &mut self.features.bridges;
            bridges.report_own_source(frame.ingress, Mac(*mac), self.now, &mut out);
        }
        self.workers.free(frame);
        self.carry_out(out);
    }

    /// Queues a packet for a WireGuard peer without a session, and starts the handshake.
    fn want_session(&mut self, frame: Frame, peer: u32) {
        let mut out = Effects::default();
        let packet = packet_of(&frame);
        let wireguard = &mut self.features.wireguard;
        match wireguard.want_session(peer, packet, self.now, &mut out) {
            Ok(()) => self.workers.free(frame),
            Err(reason) => self.workers.discard(frame, reason),
        }
        self.carry_out(out);
    }

    /// Requests keys for a packet that an IPsec policy protects. The worker has already counted the drop.
    fn want_keys(&mut self, frame: Frame, slot: u32) {
        self.workers.free(frame);
        let mut out = Effects::default();
        self.features.ipsec.want_keys(slot, self.now, &mut out);
        self.carry_out(out);
    }

    /// Resolves the link address of a packet's next hop.
    fn resolve(&mut self, frame: Frame, hop: NextHopId, worker: u16) {
        let Some(to) = destination(packet_of(&frame)) else {
            return self.workers.discard(frame, DropReason::NoRoute);
        };
        let found = match to {
            IpAddr::V4(to) => {
                let found = neighbour(self.v4.rib.target(hop), to);
                found.map(|(id, address)| (id, address.into()))
            }
            IpAddr::V6(to) if hop == NextHopId::NO_ROUTE => Some((frame.egress, to.into())),
            IpAddr::V6(to) => {
                let found = neighbour(self.v6.rib.target(hop), to);
                found.map(|(id, address)| (id, address.into()))
            }
        };
        let Some((id, address)) = found else {
            return self.workers.discard(frame, DropReason::NoRoute);
        };
        let laid = self.layout.interfaces.get(&id);
        if laid.is_some_and(|laid| laid.link.awaits_session) {
            return self.dial(frame, id);
        }
        // A packet that cannot be held also triggers the resolution of its neighbour: the next packet finds the link
        // address.
        let frame = self.workers.hold(frame);
        let waiting = frame.map(|frame| Waiting { frame, worker, hop });
        match address {
            IpAddr::V4(address) => self.resolve4(id, address, waiting),
            IpAddr::V6(address) => self.resolve6(id, address, waiting),
        }
    }

    /// Makes a client dial whose interface has no session. The packet is dropped.
    fn dial(&mut self, frame: Frame, id: InterfaceId) {
        let mut out = Effects::default();
        let name = self.layout.name(id);
        self.features.ppp.demand(name, self.now, &mut out);
        self.workers.discard(frame, DropReason::PppDemand);
        self.carry_out(out);
    }

    /// Carries out the requests of the IPv4 neighbours of an interface.
    pub(super) fn answer4(&mut self, id: InterfaceId, upcalls: Vec<Upcall<Ipv4Addr>>) {
        for upcall in upcalls {
            match upcall {
                Upcall::Unreachable(waiting) => self.unreachable(waiting),
                Upcall::Asked(question) => {
                    if self.speaks_for4(id, &question) {
                        self.feed4(id, Event::Answer(question));
                    }
                }
                Upcall::Answered(address) => self.answered(address.into(), id),
                Upcall::DadDone(_) | Upcall::DadFailed(..) | Upcall::Join(_) | Upcall::Leave(_) => {
                }
            }
        }
    }

    /// Carries out the requests of the IPv6 neighbours of an interface.
    pub(super) fn answer6(&mut self, id: InterfaceId, upcalls: Vec<Upcall<Ipv6Addr>>) {
        for upcall in upcalls {
            match upcall {
                Upcall::Unreachable(waiting) => self.unreachable(waiting),
                Upcall::DadDone(address) => self.detected(id, address, Dad::Done),
                Upcall::DadFailed(address, mac) => {
                    let name = self.layout.name(id);
                    let message = format!("{name}: duplicate address {address} at {mac}");
                    self.features.log.add("interface,error", message);
                    self.detected(id, address, Dad::Failed);
                }
                Upcall::Answered(address) => self.answered(address.into(), id),
                Upcall::Join(group) => self.report_group(id, group, true),
                Upcall::Leave(group) => self.report_group(id, group, false),
                // Neighbour discovery answers only for addresses of its interface.
                Upcall::Asked(_) => {}
            }
        }
    }

    fn detected(&mut self, id: InterfaceId, address: Ipv6Addr, state: Dad) {
        if self.dad.get(&(id, address)).is_none_or(|was| *was == state) {
            return;
        }
        self.set_dad(id, address, Some(state));
        self.mirror_addresses(id);
        self.lay_out_features(&BTreeSet::from([id]));
        self.detected = true;
    }

    /// Starts or stops the report of a multicast group on a link.
    pub(super) fn report_group(&mut self, id: InterfaceId, group: Ipv6Addr, is_received: bool) {
        let mut out = Effects::default();
        let (features, _, running) = self.features();
        match is_received {
            true => features.links6.join(id, group, &running, &mut out),
            false => features.links6.leave(id, group, running.now, &mut out),
        }
        self.carry_out(out);
    }

    /// Whether this router answers an ARP request for an address that the ingress interface does not have: an address
    /// of another interface (the weak host model of Linux and RouterOS), or proxy ARP.
    fn speaks_for4(&self, id: InterfaceId, question: &Question<Ipv4Addr>) -> bool {
        let found = self.v4.rib.lookup(MAIN, question.target);
        let Some(path) = found.and_then(|found| found.paths.first().copied()) else {
            return false;
        };
        let is_on_its_link = |other| self.layout.link_of(other) == self.layout.link_of(id);
        match (path, question.proxy) {
            // If several stations share a link, the station with the address answers, with its own link address.
            (Target::Local(own), _) if own != id && is_on_its_link(own) => false,
            (Target::Local(_), _) => question.asker.is_some(),
            (_, Proxy::None) => false,
            (Target::Connected(out) | Target::Neighbour(out, _), Proxy::OtherLinks) => {
                !is_on_its_link(out)
            }
            (Target::Connected(_) | Target::Neighbour(..), Proxy::AllLinks) => true,
            _ => false,
        }
    }
}

/// Returns the neighbour of a punted packet's next hop.
fn neighbour<F: crate::rib::Family>(
    target: Option<Target<F>>,
    to: F::Addr,
) -> Option<(InterfaceId, F::Addr)> {
    match target? {
        Target::Connected(id) => Some((id, to)),
        Target::Neighbour(id, address) => Some((id, address)),
        Target::Blackhole
        | Target::Unreachable
        | Target::Prohibit
        | Target::Local(_)
        | Target::Broadcast(_) => None,
    }
}

/// Returns the offset of the field that names the upper protocol. `upper` is the offset of the upper header behind the
/// fixed header: every extension header begins with the type of the next header.
pub(super) fn extension_before(packet: &[u8], upper: usize) -> u32 {
    let (mut at, mut named_at) = (0, 6);
    let mut kind = Protocol(packet.get(6).copied().unwrap_or_default());
    while at < upper {
        let Some(header) = packet
            .get(40 + at..)
            .and_then(|rest| rest.first_chunk::<2>())
        else {
            break;
        };
        named_at = 40 + at as u32;
        // The length unit is 4 bytes in AH (RFC 4302, 2.2) and 8 bytes in other headers; fragment headers have a fixed
        // length.
        at += match kind {
            Protocol::AH => (usize::from(header[1]) + 2) * 4,
            Protocol::FRAGMENT => 8,
            _ => (usize::from(header[1]) + 1) * 8,
        };
        kind = Protocol(header[0]);
    }
    named_at
}

/// Returns the packet of a frame, starting at its network header.
pub(super) fn packet_of(frame: &Frame) -> &[u8] {
    frame
        .bytes()
        .get(usize::from(frame.l3)..)
        .unwrap_or_default()
}
