//! Punted packets: one handler per reason.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dataplane::table::NextHopId;
use dataplane::{Drop, Punt, Why};
use frame::{Frame, InterfaceId};
use service::mld;
use service::neighbour::{Arp, Discovery, Event, Family as _, Proxy, Question};
use service::ping;
use wire::icmpv6::Type;
use wire::{Mac, Protocol, ipv4, ipv6};

use super::check::{echo_reply4, echo_reply6};
use super::half::{Upcall, Waiting};
use super::output::destination;
use super::{Control, Dad};
use crate::rib::{MAIN, Target};

/// Punts that one call takes from each worker, so that timers are not starved.
const PER_POLL: usize = 256;

impl Control {
    /// Takes what the workers hand over; says whether there may be more.
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

    /// Sees to one packet of a worker.
    pub fn handle_punt(&mut self, worker: u16, punt: Punt) {
        let Punt { frame, why } = punt;
        match why {
            Why::Arp => self.hear_arp(frame),
            Why::Local if is_ipv6(&frame) => self.hear_local6(frame, worker),
            Why::Local => self.hear_local4(frame, worker),
            Why::Unresolved(hop) => self.resolve(frame, hop, worker),
            Why::Redirect(hop) => self.redirect(frame, hop, worker),
            Why::TtlExceeded
            | Why::TooBig(_)
            | Why::NoRoute
            | Why::Unreachable
            | Why::Prohibit
            | Why::BeyondScope
            | Why::ParameterProblem(_)
            | Why::UnknownOption(_) => self.report(frame, why, worker),
            Why::Rejected(how) => self.reject(frame, how, worker),
            Why::Tarpit => self.tarpit(frame, worker),
            Why::Told(event) => self.hear_rule(frame, event),
        }
    }

    fn hear_arp(&mut self, frame: Frame) {
        let (packet, from) = (packet_of(&frame), source_mac(&frame));
        if Arp::hear(packet, from).is_err() {
            return self.workers.discard(frame, Drop::ArpMalformed);
        }
        self.hear_arp_pong(frame.ingress, packet);
        self.feed4(frame.ingress, Event::Received { packet, from });
        self.workers.free(frame);
    }

    pub(super) fn hear_local4(&mut self, frame: Frame, worker: u16) {
        let Ok(packet) = ipv4::Packet::new_checked(packet_of(&frame)) else {
            return self.workers.discard(frame, Drop::Ipv4Length);
        };
        if packet.fragment().is_piece() {
            return self.collect4(frame, worker);
        }
        if packet.protocol() == Protocol::ICMP
            && wire::icmpv4::Packet::new_verified(packet.payload()).is_err()
        {
            return self.workers.discard(frame, Drop::IcmpMalformed);
        }
        if let Some((from, numbers)) = echo_reply4(&packet)
            && packet.protocol() == Protocol::ICMP
            && self.hear_echo_reply(from.into(), numbers)
        {
            return self.workers.free(frame);
        }
        if packet.protocol() == Protocol::ICMP
            && ping::heard4(&packet).is_some_and(|heard| self.hear_pong(&heard))
        {
            return self.workers.free(frame);
        }
        let is_echo = packet.protocol() == Protocol::ICMP
            && packet.payload().first() == Some(&wire::icmpv4::Type::ECHO_REQUEST.0);
        if is_echo {
            self.echo4(&frame, worker);
            return self.workers.free(frame);
        }
        match packet.protocol() {
            // Replies and errors are for those who asked.
            Protocol::ICMP | Protocol::IGMP => {
                let at = self.receiver(&frame);
                self.deliver(frame, at, worker);
            }
            _ => self.refuse4(frame, worker),
        }
    }

    pub(super) fn hear_local6(&mut self, frame: Frame, worker: u16) {
        let packet = ipv6::Packet::new_checked(packet_of(&frame)).ok();
        let parts = packet.and_then(|packet| Some((packet, packet.upper().ok()?)));
        let Some((packet, upper)) = parts else {
            return self.workers.discard(frame, Drop::Ipv6ExtensionHeader);
        };
        if upper.fragment.is_some() {
            return self.collect6(frame, worker);
        }
        if upper.protocol != Protocol::ICMPV6 {
            // The field that names it is the fixed header's, unless an extension header names it.
            let named_at = extension_before(packet_of(&frame), upper.at);
            let refused = (upper.protocol, named_at);
            return self.refuse6(frame, refused, worker);
        }
        let (src, dst) = (packet.src(), packet.dst());
        if wire::icmpv6::Packet::new_verified(upper.payload, src, dst).is_err() {
            return self.workers.discard(frame, Drop::IcmpMalformed);
        }
        if let Some((from, numbers)) = echo_reply6(&packet, upper.payload)
            && self.hear_echo_reply(from.into(), numbers)
        {
            return self.workers.free(frame);
        }
        if ping::heard6(&packet, upper.payload).is_some_and(|heard| self.hear_pong(&heard)) {
            return self.workers.free(frame);
        }
        match upper.payload.first().map(|kind| Type(*kind)) {
            Some(kind) if kind.is_ndp() => self.hear_discovery(frame),
            Some(Type::LISTENER_QUERY) => {
                let event = mld::Event::Received {
                    packet: packet_of(&frame),
                };
                self.feed_listener(frame.ingress, event);
                self.workers.free(frame);
            }
            Some(Type::ECHO_REQUEST) => {
                self.echo6(&frame, worker);
                self.workers.free(frame);
            }
            _ => {
                let at = self.receiver(&frame);
                self.deliver(frame, at, worker);
            }
        }
    }

    fn hear_discovery(&mut self, frame: Frame) {
        let (packet, from) = (packet_of(&frame), source_mac(&frame));
        if Discovery::hear(packet, from).is_err() {
            return self.workers.discard(frame, Drop::IcmpMalformed);
        }
        self.feed6(frame.ingress, Event::Received { packet, from });
        self.hear_link6(frame.ingress, packet, from);
        self.workers.free(frame);
    }

    /// The interface whose mirror a packet for this router goes to: where it came in, or where the
    /// host stack sent it from.
    fn receiver(&self, frame: &Frame) -> InterfaceId {
        if frame.ingress == InterfaceId::NONE {
            frame.egress
        } else {
            frame.ingress
        }
    }

    /// A packet whose next hop has no link address yet.
    fn resolve(&mut self, frame: Frame, hop: NextHopId, worker: u16) {
        let Some(to) = destination(packet_of(&frame)) else {
            return self.workers.discard(frame, Drop::NoRoute);
        };
        let egress = frame.egress;
        let Some(frame) = self.workers.hold(frame) else {
            return;
        };
        let waiting = Waiting { frame, worker, hop };
        match to {
            IpAddr::V4(to) => match neighbour(self.v4.rib.target(hop), to) {
                Some((id, address)) => self.resolve4(id, address, waiting),
                None => self.workers.discard(waiting.frame, Drop::NoRoute),
            },
            IpAddr::V6(to) if hop == NextHopId::NO_ROUTE => self.resolve6(egress, to, waiting),
            IpAddr::V6(to) => match neighbour(self.v6.rib.target(hop), to) {
                Some((id, address)) => self.resolve6(id, address, waiting),
                None => self.workers.discard(waiting.frame, Drop::NoRoute),
            },
        }
    }

    /// Sees to what the IPv4 neighbours of an interface cannot do by themselves.
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

    /// The same of IPv6.
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
                Upcall::Join(group) => self.feed_listener(id, mld::Event::Join { group }),
                Upcall::Leave(group) => self.feed_listener(id, mld::Event::Leave { group }),
                // Neighbour discovery answers for its own addresses only.
                Upcall::Asked(_) => {}
            }
        }
    }

    fn detected(&mut self, id: InterfaceId, address: Ipv6Addr, state: Dad) {
        if self.dad.get(&(id, address)).is_none_or(|was| *was == state) {
            return;
        }
        self.set_dad((id, address), Some(state));
        self.mirror_addresses(id);
        if let Some(laid) = self.layout.interfaces.get(&id).cloned() {
            self.change_link6(id, &laid);
        }
        self.detected = true;
    }

    /// Whether this router answers an ARP question for an address that the asked interface does not
    /// have: one of its own on another interface (the weak host model of Linux and RouterOS), or by
    /// proxy.
    fn speaks_for4(&self, id: InterfaceId, question: &Question<Ipv4Addr>) -> bool {
        let found = self.v4.rib.lookup(MAIN, question.target);
        let Some(path) = found.and_then(|found| found.paths.first().copied()) else {
            return false;
        };
        match (path, question.proxy) {
            (Target::Local(_), _) => question.asker.is_some(),
            (_, Proxy::None) => false,
            (Target::Connected(out) | Target::Neighbour(out, _), Proxy::OtherLinks) => out != id,
            (Target::Connected(_) | Target::Neighbour(..), Proxy::AllLinks) => true,
            _ => false,
        }
    }
}

/// The neighbour that a punted next hop stands for.
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

/// Where the upper protocol of a packet is named, whose upper header is `upper` bytes behind the
/// fixed one: every header begins with the name of the next, but for the fixed one.
fn extension_before(packet: &[u8], upper: usize) -> u32 {
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
        // AH counts in words (RFC 4302, 2.2), fragments have a fixed length, the rest in double
        // words.
        at += match kind {
            Protocol::AH => (usize::from(header[1]) + 2) * 4,
            Protocol::FRAGMENT => 8,
            _ => (usize::from(header[1]) + 1) * 8,
        };
        kind = Protocol(header[0]);
    }
    named_at
}

/// The packet of a frame, from its network header on.
pub(super) fn packet_of(frame: &Frame) -> &[u8] {
    frame
        .bytes()
        .get(usize::from(frame.l3)..)
        .unwrap_or_default()
}

fn is_ipv6(frame: &Frame) -> bool {
    packet_of(frame)
        .first()
        .is_some_and(|first| first >> 4 == 6)
}

fn source_mac(frame: &Frame) -> Mac {
    let mac = frame.bytes().get(6..).and_then(|bytes| bytes.first_chunk());
    Mac(mac.copied().unwrap_or_default())
}
