//! Echo requests of users: chooses the next hop and records the results. `feature/ping.rs` receives the answers.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::task::Waker;

use dataplane::PuntReason;
use dataplane::table::NextHopId;
use frame::InterfaceId;
use menu::Reason;
use service::ping::{self, Outcome, Response, request4, request6};
use tool::{Ping, Pong, Responder};
use wire::arp::{self, Operation};
use wire::ipv4::Fragment;
use wire::{EtherType, Mac, Protocol, icmpv4, icmpv6, ipv4, ipv6};

use super::Control;
use super::half::{self, Waiting};
use crate::feature::hear::Echo;
use crate::rib::{MAIN, Target};

/// The worker that sends requests.
const WORKER: u16 = 0;

impl Control {
    /// Sends an echo request; returns its ticket.
    pub(crate) fn send_ping(&mut self, ping: &Ping, news: &Waker) -> Result<u64, Reason> {
        let on = match &ping.interface {
            None => None,
            Some(name) => {
                let found = self.layout.named(name);
                Some(found.ok_or_else(|| Reason::no_match("interface"))?.0)
            }
        };
        match (ping.to, ping.source) {
            (IpAddr::V4(to), source) if ping.arp => {
                let on = on.ok_or_else(|| Reason::Missing(vec!["interface"]))?;
                let own = source.and_then(|own| match own {
                    IpAddr::V4(own) => Some(own),
                    IpAddr::V6(_) => None,
                });
                Ok(self.send_arp_ping(to, own, on, news))
            }
            (IpAddr::V4(to), None) => self.send_ping4(ping, to, None, on, news),
            (IpAddr::V4(to), Some(IpAddr::V4(own))) => {
                self.send_ping4(ping, to, Some(own), on, news)
            }
            (IpAddr::V6(to), None) => self.send_ping6(ping, to, None, on, news),
            (IpAddr::V6(to), Some(IpAddr::V6(own))) => {
                self.send_ping6(ping, to, Some(own), on, news)
            }
            _ => Err(Reason::no_match("src-address")),
        }
    }

    /// Sends an ARP request as broadcast, whether or not the neighbour is known. RouterOS: this finds hosts that answer
    /// no echo.
    fn send_arp_ping(
        &mut self,
        to: Ipv4Addr,
        own: Option<Ipv4Addr>,
        on: InterfaceId,
        news: &Waker,
    ) -> u64 {
        let near = { self.addresses.of4(on) }.find(|(_, own)| own.network.contains(to));
        let near = near.map(|(address, _)| address);
        let own = own.or(near).or_else(|| self.running().first4(on));
        let ticket =
            self.features
                .pings
                .under_way
                .ask_link(to.into(), on.0, news.clone(), self.now);
        let mac = self.layout.interfaces.get(&on).map(|laid| laid.link.mac);
        let question = arp::Repr {
            operation: Operation::REQUEST,
            sender_mac: mac.unwrap_or(Mac::ZERO),
            sender: own.unwrap_or(Ipv4Addr::UNSPECIFIED),
            target_mac: Mac::ZERO,
            target: to,
        };
        let (_, mut means) = self.arp();
        let bytes = question.to_bytes();
        half::send(on, Mac::BROADCAST, EtherType::ARP, &bytes, &mut means);
        ticket
    }

    fn send_ping4(
        &mut self,
        ping: &Ping,
        to: Ipv4Addr,
        own: Option<Ipv4Addr>,
        on: Option<InterfaceId>,
        news: &Waker,
    ) -> Result<u64, Reason> {
        if own.is_some_and(|own| self.v4.rib.local(own).is_none()) {
            return Err(Reason::no_match("src-address"));
        }
        let leaves = self.leaves4(to);
        let beside = on.filter(|on| leaves != Some(*on) || self.is_point_to_point(*on));
        let ticket = self
            .features
            .pings
            .under_way
            .ask(to.into(), news.clone(), self.now);
        let way = leaves.is_some() || beside.is_some() || self.v4.rib.local(to).is_some();
        let way = way || own.is_some() || self.is_led();
        let own = own
            .or_else(|| self.running().first4(on?))
            .or_else(|| self.running().source4(to));
        let Some(own) = own.filter(|_| way) else {
            self.features.pings.under_way.fail(ticket, Outcome::NoRoute);
            return Ok(ticket);
        };
        let (id, seq) = self.features.pings.under_way.numbers(ticket);
        let data = data(usize::from(ping.bytes), ipv4::HEADER_LEN);
        let mut echo = Vec::with_capacity(data.len() + icmpv4::HEADER_LEN);
        let data = &data;
        icmpv4::Message::EchoRequest { id, seq, data }.emit(&mut echo);
        let header = ipv4::Repr {
            tos: ping.dscp << 2,
            id: self.next_id(),
            fragment: match ping.whole {
                true => Fragment::DONT,
                false => Fragment::WHOLE,
            },
            ttl: ping.ttl,
            ..ipv4::Repr::new(Protocol::ICMP, own, to)
        };
        let packet = [&header.to_bytes(echo.len())[..], &echo].concat();
        match beside {
            None => self.output(&packet, on.unwrap_or(InterfaceId::NONE), WORKER),
            Some(on) if self.is_point_to_point(on) => self.send_to_far_end(&packet, on, WORKER),
            // Without a route by that interface the destination counts as a neighbour on it.
            Some(on) => {
                if let Some(mut frame) = self.workers.frame(&packet) {
                    (frame.l3, frame.egress) = (0, on);
                    let worker = WORKER;
                    let hop = NextHopId::NO_ROUTE;
                    self.resolve4(on, to, Some(Waiting { frame, worker, hop }));
                }
            }
        }
        Ok(ticket)
    }

    fn send_ping6(
        &mut self,
        ping: &Ping,
        to: Ipv6Addr,
        own: Option<Ipv6Addr>,
        on: Option<InterfaceId>,
        news: &Waker,
    ) -> Result<u64, Reason> {
        if own.is_some_and(|own| self.v6.rib.local(own).is_none() && !is_near(own)) {
            return Err(Reason::no_match("src-address"));
        }
        if is_near(to) && on.is_none() {
            return Err(Reason::Missing(vec!["interface"]));
        }
        let hint = on.unwrap_or(InterfaceId::NONE);
        let is_beside =
            |on: &InterfaceId| self.leaves6(to) != Some(*on) || self.is_point_to_point(*on);
        let beside = on.filter(|on| !is_near(to) && is_beside(on));
        let ticket = self
            .features
            .pings
            .under_way
            .ask(to.into(), news.clone(), self.now);
        let way = is_near(to) || beside.is_some() || self.v6.rib.lookup(MAIN, to).is_some();
        let way = way || own.is_some() || self.is_led();
        let own = own.or_else(|| self.running().source6(to, hint));
        let Some(own) = own.filter(|_| way) else {
            self.features.pings.under_way.fail(ticket, Outcome::NoRoute);
            return Ok(ticket);
        };
        let (id, seq) = self.features.pings.under_way.numbers(ticket);
        let data = data(usize::from(ping.bytes), ipv6::HEADER_LEN);
        let mut echo = Vec::with_capacity(data.len() + icmpv4::HEADER_LEN);
        let data = &data;
        icmpv6::Message::EchoRequest { id, seq, data }.emit(own, to, &mut echo);
        let header = ipv6::Repr {
            traffic_class: ping.dscp << 2,
            hop_limit: ping.ttl,
            ..ipv6::Repr::new(Protocol::ICMPV6, own, to)
        };
        let packet = [&header.to_bytes(echo.len())[..], &echo].concat();
        match beside {
            None => self.output(&packet, hint, WORKER),
            Some(on) if self.is_point_to_point(on) => self.send_to_far_end(&packet, on, WORKER),
            Some(on) => {
                if let Some(mut frame) = self.workers.frame(&packet) {
                    (frame.l3, frame.egress) = (0, on);
                    let worker = WORKER;
                    let hop = NextHopId::NO_ROUTE;
                    self.resolve6(on, to, Some(Waiting { frame, worker, hop }));
                }
            }
        }
        Ok(ticket)
    }

    /// Sends an echo request of a feature. Drops the request if no local address fits its destination.
    pub(super) fn send_echo(&mut self, echo: &Echo, worker: u16) {
        let (id, seq) = echo.numbers;
        let bytes = usize::from(echo.bytes);
        let mut message = Vec::with_capacity(bytes);
        let packet = match (echo.to, echo.source) {
            (IpAddr::V4(to), source) => {
                let own = match source {
                    Some(IpAddr::V4(own)) => Some(own),
                    _ => self.running().source4(to),
                };
                let Some(own) = own else { return };
                let data = &data(bytes, ipv4::HEADER_LEN);
                icmpv4::Message::EchoRequest { id, seq, data }.emit(&mut message);
                let header = ipv4::Repr {
                    id: self.next_id(),
                    ttl: echo.ttl,
                    ..ipv4::Repr::new(Protocol::ICMP, own, to)
                };
                [&header.to_bytes(message.len())[..], &message].concat()
            }
            (IpAddr::V6(to), source) => {
                let own = match source {
                    Some(IpAddr::V6(own)) => Some(own),
                    _ => self.running().source6(to, InterfaceId::NONE),
                };
                let Some(own) = own else { return };
                let data = &data(bytes, ipv6::HEADER_LEN);
                icmpv6::Message::EchoRequest { id, seq, data }.emit(own, to, &mut message);
                let header = ipv6::Repr {
                    hop_limit: echo.ttl,
                    ..ipv6::Repr::new(Protocol::ICMPV6, own, to)
                };
                [&header.to_bytes(message.len())[..], &message].concat()
            }
        };
        self.output(&packet, InterfaceId::NONE, worker);
    }

    /// Whether an interface has no neighbours but its far end: packets that name it leave by it, even if several
    /// interfaces have far ends with one address.
    fn is_point_to_point(&self, on: InterfaceId) -> bool {
        let laid = self.layout.interfaces.get(&on);
        laid.is_some_and(|laid| laid.is_point_to_point())
    }

    /// Whether a routing rule without a source may match a request that has no source address yet. Linux: without a
    /// source address the route lookup runs without one, and the route gives the source.
    fn is_led(&self) -> bool {
        let rules = &self.snapshot.load().rules;
        rules
            .iter()
            .any(|rule| rule.source.is_none() && rule.interface.is_none())
    }

    /// Returns the interface that a packet to this address leaves by.
    fn leaves4(&self, to: Ipv4Addr) -> Option<InterfaceId> {
        let found = self.v4.rib.lookup(MAIN, to)?;
        found.paths.first().and_then(Target::interface)
    }

    fn leaves6(&self, to: Ipv6Addr) -> Option<InterfaceId> {
        let found = self.v6.rib.lookup(MAIN, to)?;
        found.paths.first().and_then(Target::interface)
    }

    /// Records the failure of an outgoing echo request; returns whether the packet is an echo request of this router.
    pub(super) fn own_ping_ended(&mut self, packet: &[u8], why: PuntReason) -> bool {
        let outcome = match why {
            PuntReason::TtlExceeded => Outcome::TtlExceeded,
            PuntReason::TooBig(_) => Outcome::TooBig,
            PuntReason::NoRoute | PuntReason::BeyondScope => Outcome::NoRoute,
            PuntReason::Unreachable => Outcome::HostUnreachable,
            PuntReason::Prohibit | PuntReason::Rejected(_) => Outcome::Prohibited,
            PuntReason::ParameterProblem(_) | PuntReason::UnknownOption(_) => {
                Outcome::ParameterProblem
            }
            PuntReason::Service { .. }
            | PuntReason::Local
            | PuntReason::Unresolved(_)
            | PuntReason::Redirect(_)
            | PuntReason::Tarpit
            | PuntReason::RuleEvent(_)
            | PuntReason::Unprotected(_)
            | PuntReason::Keyless(_)
            | PuntReason::OwnSource => return false,
        };
        let Some((to, (id, seq))) = request4(packet).or_else(|| request6(packet)) else {
            return false;
        };
        // RouterOS: a packet that the router never sends has no sender in the result. All other failures come from an
        // ICMP error of the router itself, which quotes a limited part of the request (RFC 1812, 4.3.2.3; RFC 4443,
        // 2.4).
        let unsent = matches!(outcome, Outcome::TooBig | Outcome::NoRoute);
        let bytes = match to {
            IpAddr::V4(_) => (ipv4::HEADER_LEN + icmpv4::HEADER_LEN + packet.len()).min(576),
            IpAddr::V6(_) => (ipv6::HEADER_LEN + icmpv4::HEADER_LEN + packet.len()).min(1_280),
        };
        let heard = Response {
            from: sender(packet).or(Some(to)).filter(|_| !unsent),
            to,
            id,
            seq,
            bytes,
            ttl: 64,
            outcome,
        };
        self.features.pings.answer(&heard, self.now)
    }

    /// Returns the result of a request, once it is known.
    pub(crate) fn take_pong(&mut self, ticket: u64) -> Option<Pong> {
        let answer = self.features.pings.under_way.take(ticket)?;
        let answered = answer.outcome == Outcome::Reply;
        let from = answer.from.map(|from| match from {
            ping::Responder::Address(address) => Responder::Address(address),
            ping::Responder::Link(mac) => Responder::Link(mac.0),
        });
        // RouterOS: a reply over IPv6 has the status `echo reply`; a reply over IPv4 has no status.
        let of_v6 = matches!(from, Some(Responder::Address(IpAddr::V6(_))));
        Some(Pong {
            answered,
            from,
            bytes: answer.bytes as u64,
            ttl: answer.ttl,
            took: answer.took,
            status: (!answered || of_v6).then_some(words(answer.outcome)),
        })
    }
}

/// Payload of a request: the alphabet, repeated.
fn data(bytes: usize, header: usize) -> Vec<u8> {
    let len = bytes.saturating_sub(header + icmpv4::HEADER_LEN);
    (b'a'..=b'z').cycle().take(len).collect()
}

fn is_near(address: Ipv6Addr) -> bool {
    address.is_unicast_link_local() || address.is_multicast()
}

fn sender(packet: &[u8]) -> Option<IpAddr> {
    let v4 = || {
        let bytes: [u8; 4] = *packet.get(12..)?.first_chunk()?;
        Some(IpAddr::V4(bytes.into()))
    };
    let v6 = || {
        let bytes: [u8; 16] = *packet.get(8..)?.first_chunk()?;
        Some(IpAddr::V6(bytes.into()))
    };
    match packet.first()? >> 4 {
        4 => v4(),
        _ => v6(),
    }
}

/// RouterOS: the status text of a result.
const fn words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Reply => "echo reply",
        Outcome::FragmentationNeeded => "fragmentation needed and DF set",
        Outcome::TtlExceeded => "TTL exceeded",
        Outcome::NetUnreachable => "net unreachable",
        Outcome::HostUnreachable => "host unreachable",
        Outcome::ProtocolUnreachable => "protocol unreachable",
        Outcome::PortUnreachable => "port unreachable",
        Outcome::Prohibited => "admin prohibited",
        Outcome::TooBig => "packet too large and cannot be fragmented",
        Outcome::ParameterProblem => "parameter problem",
        Outcome::NoRoute => "no route to host",
    }
}
