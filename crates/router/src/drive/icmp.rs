//! ICMP messages of control: errors, redirects, and unreachables for protocols and ports without a service.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dataplane::rule::Reject;
use dataplane::table::NextHopId;
use dataplane::{DropReason, PuntReason};
use frame::{Frame, InterfaceId};
use machine::Rng;
use service::icmp::v4::{SourcePolicy, Sources};
use service::icmp::v6::{BetterHop, Parameter};
use service::icmp::{Limiter, Offender, Rate, v4, v6};
use wire::{Protocol, icmpv4, icmpv6};

use super::Control;
use super::half::Waiting;
use super::punt::packet_of;
use super::reset;
use crate::rib::{MAIN, Target};
use crate::running::{destination, source_of6};

/// ICMP types of redirects: keys of the rate limit.
const REDIRECT4: u8 = icmpv4::Type::REDIRECT.0;

/// Rate limits of packets that the router sends in answer to packets of others.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) errors4: Limiter,
    pub(super) errors6: Limiter,
    pub(super) redirects: Limiter,
    /// Limit of TCP segments that the router answers with.
    pub(super) segments: Limiter,
}

impl Limits {
    /// `secrets` gives the hash keys of the limiters.
    pub(super) fn new(secrets: &mut Rng) -> Self {
        let mut limiter = |rate| Limiter::new(rate, secrets.next_u64());
        Self {
            errors4: limiter(Rate::V4),
            errors6: limiter(Rate::V6),
            redirects: limiter(Rate::REDIRECTS),
            segments: limiter(Rate::SEGMENTS),
        }
    }
}

impl Control {
    /// Answers an IPv4 packet that no service takes (RFC 1122, 3.2.2.1; RFC 9293, 3.10.7.1).
    pub(super) fn refuse4(&mut self, frame: Frame, worker: u16) {
        let code = match packet_of(&frame).get(9) {
            Some(6) => {
                if let Some(reset) = reset::answer4(reset::TcpPacket::of(&frame), self.next_id()) {
                    self.output(&reset, frame.ingress, worker);
                }
                return self.workers.discard(frame, DropReason::NotForUs);
            }
            Some(17) => icmpv4::Unreachable::PORT,
            _ => icmpv4::Unreachable::PROTOCOL,
        };
        self.error4(&frame, v4::Error::Unreachable(code), worker);
        self.workers.discard(frame, DropReason::NotForUs);
    }

    /// Answers an IPv6 packet that no service takes (RFC 4443, 3.1 and 3.4). `upper` is the protocol, and the offset in
    /// the packet of the field that names the protocol.
    pub(super) fn refuse6(&mut self, frame: Frame, upper: (Protocol, u32), worker: u16) {
        let error = match upper.0 {
            Protocol::TCP => {
                // A connection needs a unicast destination.
                let to = destination(packet_of(&frame));
                let is_shared = matches!(to, Some(IpAddr::V6(to)) if self.addresses.is_shared6(to));
                if !is_shared && let Some(reset) = reset::answer6(reset::TcpPacket::of(&frame)) {
                    self.output(&reset, frame.ingress, worker);
                }
                return self.workers.discard(frame, DropReason::NotForUs);
            }
            Protocol::UDP => v6::Error::Unreachable(icmpv6::Unreachable::PORT),
            _ => v6::Error::ParameterProblem {
                code: Parameter::NextHeader,
                pointer: upper.1,
            },
        };
        self.error6(&frame, error, worker);
        self.workers.discard(frame, DropReason::NotForUs);
    }

    /// Sends the ICMP error for a dropped packet. The worker has already counted the drop.
    pub(super) fn report(&mut self, frame: Frame, why: PuntReason, worker: u16) {
        if frame.ingress == InterfaceId::NONE && self.own_ping_ended(packet_of(&frame), why) {
            return self.workers.free(frame);
        }
        match packet_of(&frame).first().map(|first| first >> 4) {
            Some(4) => {
                if let Some(error) = error4_of(why) {
                    self.error4(&frame, error, worker);
                }
            }
            Some(6) => {
                if let Some(error) = error6_of(why) {
                    self.error6(&frame, error, worker);
                }
            }
            _ => {}
        }
        self.workers.free(frame);
    }

    /// Sends an ICMP error because the next hop did not answer.
    pub(super) fn unreachable(&mut self, waiting: Waiting) {
        let Waiting { frame, worker, .. } = waiting;
        self.workers.count(DropReason::NeighbourUnreachable);
        self.report(frame, PuntReason::Unreachable, worker);
    }

    pub(super) fn error4(&mut self, frame: &Frame, error: v4::Error, worker: u16) {
        let offender = self.offender(frame);
        let Ok(to) = v4::owed(&offender) else {
            return;
        };
        if !self.limits.errors4.admit(to.into(), error.kind(), self.now) {
            return;
        }
        let policy = match self.intent.ipv4.icmp_inbound {
            true => SourcePolicy::Inbound,
            false => SourcePolicy::Outbound,
        };
        let sent_to = match destination(offender.packet) {
            Some(IpAddr::V4(to)) => self.v4.rib.local(to).map(|_| to),
            _ => None,
        };
        let sources = Sources {
            destination: sent_to,
            inbound: self.running().first4(frame.ingress),
            outbound: self.running().source4(to),
            router: self.addresses.ipv4.keys().next().map(|(_, addr)| *addr),
        };
        let id = self.next_id();
        let Some(source) = v4::source(&sources, policy) else {
            return;
        };
        if let Ok(bytes) = v4::error(&self.offender(frame), error, source, id) {
            self.tell(frame, &bytes, worker);
        }
    }

    pub(super) fn error6(&mut self, frame: &Frame, error: v6::Error, worker: u16) {
        let offender = self.offender(frame);
        let Ok(to) = v6::owed(&offender, error) else {
            return;
        };
        if !self.limits.errors6.admit(to.into(), error.kind(), self.now) {
            return;
        }
        let sent_to = match destination(offender.packet) {
            Some(IpAddr::V6(to)) if !self.addresses.is_shared6(to) => {
                self.v6.rib.local(to).map(|_| to)
            }
            _ => None,
        };
        let Some(source) = sent_to.or_else(|| self.running().source6(to, frame.ingress)) else {
            return;
        };
        if let Ok(bytes) = v6::error(&self.offender(frame), error, source) {
            self.tell(frame, &bytes, worker);
        }
    }

    /// Sends an answer back to the packet's source. Packets of the router's own host stack have no ingress interface.
    pub(super) fn tell(&mut self, about: &Frame, bytes: &[u8], worker: u16) {
        if about.ingress != InterfaceId::NONE {
            return self.output(bytes, about.ingress, worker);
        }
        if let Some(frame) = self.workers.frame(bytes) {
            self.deliver(frame, about.egress, worker);
        }
    }

    /// Sends a redirect: tells a host on the link about a better first hop.
    pub(super) fn redirect(&mut self, frame: Frame, hop: NextHopId, worker: u16) {
        if self.intent.ipv4.send_redirects {
            match destination(packet_of(&frame)) {
                Some(IpAddr::V4(to)) => self.redirect4(&frame, hop, to, worker),
                Some(IpAddr::V6(to)) => self.redirect6(&frame, hop, to, worker),
                None => {}
            }
        }
        self.workers.free(frame);
    }

    fn redirect4(&mut self, frame: &Frame, hop: NextHopId, to: Ipv4Addr, worker: u16) {
        let gateway = match self.v4.rib.target(hop) {
            Some(Target::Neighbour(_, gateway)) => gateway,
            _ => to,
        };
        let Ok(sender) = v4::owed(&self.offender(frame)) else {
            return;
        };
        let networks: Vec<_> = self
            .addresses
            .of4(frame.ingress)
            .map(|(addr, own)| (addr, own.len))
            .collect();
        let Some(source) = self.running().first4(frame.ingress) else {
            return;
        };
        let id = self.next_id();
        let message = v4::redirect(&self.offender(frame), gateway, networks, source, id);
        if let Ok(bytes) = message
            && self
                .limits
                .redirects
                .admit(sender.into(), REDIRECT4, self.now)
        {
            self.output(&bytes, frame.ingress, worker);
        }
    }

    fn redirect6(&mut self, frame: &Frame, hop: NextHopId, to: Ipv6Addr, worker: u16) {
        let target = match self.v6.rib.target(hop) {
            Some(Target::Neighbour(_, gateway)) => gateway,
            _ => to,
        };
        let Some(sender) = source_of6(packet_of(frame)) else {
            return;
        };
        let found = self.v6.rib.lookup(MAIN, sender);
        let on_link =
            found.is_some_and(|found| found.paths == [Target::Neighbour(frame.ingress, sender)]);
        let better = BetterHop {
            target,
            mac: self.v6.rib.lines().mac(frame.ingress, target),
            sender_is_neighbour: on_link || sender.is_unicast_link_local(),
        };
        let own = self.addresses.of6(frame.ingress).map(|(addr, _)| addr);
        let Some(source) = own.into_iter().find(Ipv6Addr::is_unicast_link_local) else {
            return;
        };
        if let Ok(bytes) = v6::redirect(&self.offender(frame), &better, source)
            && self
                .limits
                .redirects
                .admit(sender.into(), REDIRECT4, self.now)
        {
            self.output(&bytes, frame.ingress, worker);
        }
    }

    fn offender<'a>(&self, frame: &'a Frame) -> Offender<'a> {
        // A frame without a link header comes from the host stack.
        let link = frame.l3 >= 14 && frame.bytes().first().is_some_and(|first| first & 1 == 1);
        self.running().offender(packet_of(frame), link)
    }
}

/// Returns the IPv4 error for a drop (RFC 1812, 4.3.2 and 5.2.7); `None` if no error is due.
fn error4_of(why: PuntReason) -> Option<v4::Error> {
    use icmpv4::Unreachable as Code;
    Some(match why {
        PuntReason::TtlExceeded => v4::Error::TimeExceeded,
        PuntReason::TooBig(mtu) => v4::Error::FragmentationNeeded {
            mtu: u16::try_from(mtu).unwrap_or(u16::MAX),
        },
        PuntReason::NoRoute => v4::Error::Unreachable(Code::NETWORK),
        PuntReason::Unreachable => v4::Error::Unreachable(Code::HOST),
        PuntReason::Prohibit => v4::Error::Unreachable(Code::PROHIBITED),
        PuntReason::ParameterProblem(at) => v4::Error::ParameterProblem {
            pointer: u8::try_from(at).unwrap_or(u8::MAX),
        },
        PuntReason::Rejected(Reject::Icmp(code)) => v4::Error::Unreachable(Code(code)),
        PuntReason::Service { .. }
        | PuntReason::Local
        | PuntReason::Unresolved(_)
        | PuntReason::Redirect(_)
        | PuntReason::BeyondScope
        | PuntReason::UnknownOption(_)
        | PuntReason::Rejected(_)
        | PuntReason::Tarpit
        | PuntReason::RuleEvent(_)
        | PuntReason::Unprotected(_)
        | PuntReason::Keyless(_)
        | PuntReason::OwnSource => return None,
    })
}

/// Returns the IPv6 error for a drop (RFC 4443, 3); `None` if no error is due.
fn error6_of(why: PuntReason) -> Option<v6::Error> {
    use icmpv6::Unreachable as Code;
    Some(match why {
        PuntReason::TtlExceeded => v6::Error::TimeExceeded,
        PuntReason::TooBig(mtu) => v6::Error::PacketTooBig { mtu },
        PuntReason::NoRoute => v6::Error::Unreachable(Code::NO_ROUTE),
        PuntReason::Unreachable => v6::Error::Unreachable(Code::ADDRESS),
        PuntReason::Prohibit => v6::Error::Unreachable(Code::PROHIBITED),
        PuntReason::BeyondScope => v6::Error::Unreachable(Code::BEYOND_SCOPE),
        PuntReason::UnknownOption(at) => v6::Error::ParameterProblem {
            code: Parameter::Option,
            pointer: u32::from(at),
        },
        PuntReason::Rejected(Reject::Icmpv6(code)) => v6::Error::Unreachable(Code(code)),
        PuntReason::Rejected(Reject::Icmpv6Problem(_)) => v6::Error::ParameterProblem {
            code: Parameter::HeaderChain,
            pointer: 0,
        },
        PuntReason::Service { .. }
        | PuntReason::Local
        | PuntReason::Unresolved(_)
        | PuntReason::Redirect(_)
        | PuntReason::ParameterProblem(_)
        | PuntReason::Rejected(_)
        | PuntReason::Tarpit
        | PuntReason::RuleEvent(_)
        | PuntReason::Unprotected(_)
        | PuntReason::Keyless(_)
        | PuntReason::OwnSource => return None,
    })
}
