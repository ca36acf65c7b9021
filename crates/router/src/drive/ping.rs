//! Echo requests of users: which way they go, and what becomes of them.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::task::Waker;

use dataplane::Why;
use frame::InterfaceId;
use menu::{Ping, Pong, Reason};
use service::ping::{Heard, Outcome, request4, request6};
use wire::ipv4::Fragment;
use wire::{Protocol, icmpv4, icmpv6, ipv4, ipv6};

use super::Control;
use super::half::Waiting;
use crate::rib::{MAIN, Target};

/// The worker that is given requests.
const WORKER: u16 = 0;

impl Control {
    /// Sends an echo request; gives its ticket.
    pub(crate) fn send_ping(&mut self, ping: &Ping, news: &Waker) -> Result<u64, Reason> {
        let on = match &ping.interface {
            None => None,
            Some(name) => {
                let found = self.layout.named(name);
                Some(found.ok_or_else(|| Reason::no_match("interface"))?.0)
            }
        };
        match (ping.to, ping.source) {
            (IpAddr::V4(to), None) => self.send_ping4(ping, (to, None), on, news),
            (IpAddr::V4(to), Some(IpAddr::V4(own))) => {
                self.send_ping4(ping, (to, Some(own)), on, news)
            }
            (IpAddr::V6(to), None) => self.send_ping6(ping, (to, None), on, news),
            (IpAddr::V6(to), Some(IpAddr::V6(own))) => {
                self.send_ping6(ping, (to, Some(own)), on, news)
            }
            _ => Err(Reason::no_match("src-address")),
        }
    }

    fn send_ping4(
        &mut self,
        ping: &Ping,
        (to, own): (Ipv4Addr, Option<Ipv4Addr>),
        on: Option<InterfaceId>,
        news: &Waker,
    ) -> Result<u64, Reason> {
        if own.is_some_and(|own| self.v4.rib.local(own).is_none()) {
            return Err(Reason::no_match("src-address"));
        }
        let leaves = self.leaves4(to);
        let beside = on.filter(|on| leaves != Some(*on));
        let ticket = self.pings.ask(to.into(), news.clone(), self.now);
        let own = own
            .or_else(|| self.first4(on?))
            .or_else(|| self.source4(to));
        let way = leaves.is_some() || beside.is_some() || self.v4.rib.local(to).is_some();
        let Some(own) = own.filter(|_| way) else {
            self.pings.fail(ticket, Outcome::NoRoute);
            return Ok(ticket);
        };
        let (id, seq) = self.pings.numbers(ticket);
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
            // Where no route leads by that interface, the receiver is taken for a neighbour there.
            Some(on) => {
                if let Some(mut frame) = self.workers.frame(&packet) {
                    (frame.l3, frame.egress) = (0, on);
                    let worker = WORKER;
                    self.resolve4(on, to, Waiting { frame, worker });
                }
            }
        }
        Ok(ticket)
    }

    fn send_ping6(
        &mut self,
        ping: &Ping,
        (to, own): (Ipv6Addr, Option<Ipv6Addr>),
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
        let beside = on.filter(|on| !is_near(to) && self.leaves6(to) != Some(*on));
        let ticket = self.pings.ask(to.into(), news.clone(), self.now);
        let own = own.or_else(|| self.source6(to, hint));
        let way = is_near(to) || beside.is_some() || self.v6.rib.lookup(MAIN, to).is_some();
        let Some(own) = own.filter(|_| way) else {
            self.pings.fail(ticket, Outcome::NoRoute);
            return Ok(ticket);
        };
        let (id, seq) = self.pings.numbers(ticket);
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
            Some(on) => {
                if let Some(mut frame) = self.workers.frame(&packet) {
                    (frame.l3, frame.egress) = (0, on);
                    let worker = WORKER;
                    self.resolve6(on, to, Waiting { frame, worker });
                }
            }
        }
        Ok(ticket)
    }

    /// The interface that a packet leaves by.
    fn leaves4(&self, to: Ipv4Addr) -> Option<InterfaceId> {
        let found = self.v4.rib.lookup(MAIN, to)?;
        found.paths.first().and_then(Target::interface)
    }

    fn leaves6(&self, to: Ipv6Addr) -> Option<InterfaceId> {
        let found = self.v6.rib.lookup(MAIN, to)?;
        found.paths.first().and_then(Target::interface)
    }

    /// Takes a packet that may answer a request; says whether it does.
    pub(super) fn hear_pong(&mut self, heard: &Heard) -> bool {
        let owner = self.pings.hear(heard, self.now);
        owner.map(Waker::wake_by_ref).is_some()
    }

    /// Takes what becomes of a request of this router's own on its way out; says whether it is one.
    pub(super) fn own_ping_ended(&mut self, packet: &[u8], why: Why) -> bool {
        let outcome = match why {
            Why::TtlExceeded => Outcome::TtlExceeded,
            Why::TooBig(_) => Outcome::TooBig,
            Why::NoRoute | Why::BeyondScope => Outcome::NetUnreachable,
            Why::Unreachable => Outcome::HostUnreachable,
            Why::Prohibit | Why::Rejected(_) => Outcome::Prohibited,
            Why::ParameterProblem(_) => Outcome::ParameterProblem,
            Why::Arp
            | Why::Local
            | Why::Unresolved(_)
            | Why::Redirect(_)
            | Why::Tarpit
            | Why::Told(_) => return false,
        };
        let Some((to, (id, seq))) = request4(packet).or_else(|| request6(packet)) else {
            return false;
        };
        let heard = Heard {
            from: sender(packet).unwrap_or(to),
            to,
            id,
            seq,
            bytes: packet.len(),
            ttl: packet_ttl(packet),
            outcome,
        };
        self.hear_pong(&heard)
    }

    /// What has come of a request.
    pub(crate) fn take_pong(&mut self, ticket: u64) -> Option<Pong> {
        let answer = self.pings.take(ticket)?;
        Some(Pong {
            from: answer.from,
            bytes: answer.bytes as u64,
            ttl: answer.ttl,
            took: answer.took,
            status: words(answer.outcome),
        })
    }
}

/// What stands in a request behind its header: the alphabet again and again.
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

fn packet_ttl(packet: &[u8]) -> u8 {
    let at = match packet.first().map(|first| first >> 4) {
        Some(4) => 8,
        _ => 7,
    };
    packet.get(at).copied().unwrap_or_default()
}

/// RouterOS: what stands behind an answer that is no echo.
const fn words(outcome: Outcome) -> Option<&'static str> {
    Some(match outcome {
        Outcome::Reply => return None,
        Outcome::TtlExceeded => "TTL exceeded",
        Outcome::NetUnreachable => "net unreachable",
        Outcome::HostUnreachable => "host unreachable",
        Outcome::ProtocolUnreachable => "protocol unreachable",
        Outcome::PortUnreachable => "port unreachable",
        Outcome::Prohibited => "communication administratively prohibited",
        Outcome::TooBig => "packet too large and cannot be fragmented",
        Outcome::ParameterProblem => "parameter problem",
        Outcome::NoRoute => "no route to host",
    })
}
