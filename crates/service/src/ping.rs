//! Echo requests of the `ping` command (RFC 792; RFC 4443, 4.1): pending requests and their results.
//!
//! ```text
//! ask ─▶ ticket ─▶ request on the wire ─▶ reply, or an error that quotes it ─▶ heard ─▶ take
//! ```
//!
//! All requests of a router share one identifier; the sequence number is the low half of the ticket. A reply counts
//! if it comes from the destination of the request, an error if it quotes the request. If too many requests are
//! pending, the oldest results are discarded.
//!
//! ARP ping (RFC 826) asks for a link-layer address instead; any host on the link that claims the address answers it.

use core::net::IpAddr;
use core::time::Duration;
use std::collections::BTreeMap;

use machine::Instant;
use wire::{Mac, Protocol, icmpv4, icmpv6, ipv4, ipv6};

/// Maximum number of pending requests.
const MOST: usize = 4_096;

/// Result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Echo reply.
    Reply,
    /// The packet exceeds a link's MTU and must not be fragmented (RFC 792).
    FragmentationNeeded,
    /// TTL or hop limit exceeded.
    TtlExceeded,
    /// Network unreachable.
    NetUnreachable,
    /// Host unreachable.
    HostUnreachable,
    /// Protocol unreachable.
    ProtocolUnreachable,
    /// Port unreachable.
    PortUnreachable,
    /// Administratively prohibited.
    Prohibited,
    /// Packet too big (ICMPv6).
    TooBig,
    /// Parameter problem.
    ParameterProblem,
    /// This router has no route to the destination.
    NoRoute,
}

/// Sender of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Responder {
    /// Host or router.
    Address(IpAddr),
    /// Neighbour that answered an ARP ping.
    Link(Mac),
}

/// Answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Sender; `None` if the request was never sent.
    pub from: Option<Responder>,
    /// Packet length in bytes.
    pub bytes: usize,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Round-trip time.
    pub took: Duration,
    /// Result.
    pub outcome: Outcome,
}

/// A received packet that may answer a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Sender; `None` if the request was never sent.
    pub from: Option<IpAddr>,
    /// Destination of the request: sender of a reply, or quoted destination of an error.
    pub to: IpAddr,
    /// Identifier.
    pub id: u16,
    /// Sequence number.
    pub seq: u16,
    /// Packet length in bytes.
    pub bytes: usize,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Result.
    pub outcome: Outcome,
}

/// Pending requests. `T` is returned to the owner with the answer.
#[derive(Debug)]
pub struct Pings<T> {
    id: u16,
    next: u64,
    sent: BTreeMap<u64, Sent<T>>,
}

#[derive(Debug)]
struct Sent<T> {
    to: IpAddr,
    /// Link number of an ARP ping.
    link: Option<u32>,
    at: Instant,
    owner: T,
    answer: Option<Answer>,
}

impl<T> Pings<T> {
    /// Creates a table whose requests have this identifier.
    pub const fn new(id: u16) -> Self {
        Self {
            id,
            next: 0,
            sent: BTreeMap::new(),
        }
    }

    /// Registers an echo request; returns its ticket.
    pub fn ask(&mut self, to: IpAddr, owner: T, now: Instant) -> u64 {
        self.begin(to, None, owner, now)
    }

    /// Registers an ARP ping on the link with this number; returns its ticket.
    pub fn ask_link(&mut self, to: IpAddr, link: u32, owner: T, now: Instant) -> u64 {
        self.begin(to, Some(link), owner, now)
    }

    fn begin(&mut self, to: IpAddr, link: Option<u32>, owner: T, now: Instant) -> u64 {
        let ticket = self.next;
        self.next += 1;
        if self.sent.len() >= MOST {
            self.sent.pop_first();
        }
        let sent = Sent {
            to,
            link,
            at: now,
            owner,
            answer: None,
        };
        self.sent.insert(ticket, sent);
        ticket
    }

    /// Identifier and sequence number of a request.
    pub const fn numbers(&self, ticket: u64) -> (u16, u16) {
        (self.id, ticket as u16)
    }

    /// Matches a received packet. Returns the owner of the request for its first answer only.
    pub fn hear(&mut self, heard: &Response, now: Instant) -> Option<&T> {
        if heard.id != self.id {
            return None;
        }
        let ticket = self.ticket(heard.seq)?;
        let sent = self.sent.get(&ticket)?;
        // Each member of a multicast group answers on its own.
        if sent.link.is_some() || heard.to != sent.to && !sent.to.is_multicast() {
            return None;
        }
        let answer = Answer {
            from: heard.from.map(Responder::Address),
            bytes: heard.bytes,
            ttl: heard.ttl,
            took: now.saturating_since(sent.at),
            outcome: heard.outcome,
        };
        self.end(ticket, answer)
    }

    /// Matches a received link-layer address. Returns the owner of the oldest unanswered request for it.
    pub fn hear_link(&mut self, from: IpAddr, link: u32, mac: Mac, now: Instant) -> Option<&T> {
        let waits =
            |sent: &Sent<T>| sent.link == Some(link) && sent.to == from && sent.answer.is_none();
        let (ticket, sent) = self.sent.iter().find(|(_, sent)| waits(sent))?;
        let answer = Answer {
            from: Some(Responder::Link(mac)),
            bytes: 0,
            ttl: 0,
            took: now.saturating_since(sent.at),
            outcome: Outcome::Reply,
        };
        let ticket = *ticket;
        self.end(ticket, answer)
    }

    /// Ends a request that was not sent or that this router itself rejected.
    pub fn fail(&mut self, ticket: u64, outcome: Outcome) {
        let answer = Answer {
            from: None,
            bytes: 0,
            ttl: 0,
            took: Duration::ZERO,
            outcome,
        };
        self.end(ticket, answer);
    }

    /// Returns and removes the answer to a request.
    pub fn take(&mut self, ticket: u64) -> Option<Answer> {
        self.sent.get(&ticket)?.answer?;
        self.sent.remove(&ticket)?.answer
    }

    /// Removes a request.
    pub fn forget(&mut self, ticket: u64) {
        self.sent.remove(&ticket);
    }

    fn end(&mut self, ticket: u64, answer: Answer) -> Option<&T> {
        let sent = self.sent.get_mut(&ticket)?;
        if sent.answer.is_some() {
            return None;
        }
        sent.answer = Some(answer);
        Some(&sent.owner)
    }

    /// Latest ticket with this sequence number.
    fn ticket(&self, seq: u16) -> Option<u64> {
        let last = self.next.checked_sub(1)?;
        let back = (last as u16).wrapping_sub(seq);
        last.checked_sub(u64::from(back))
    }
}

/// Parses an IPv4 or IPv6 packet that may answer a request.
pub fn parse_response(packet: &[u8]) -> Option<Response> {
    if packet.first()? >> 4 == 6 {
        let packet = ipv6::Packet::new_checked(packet).ok()?;
        let upper = packet.upper().ok()?;
        let is_icmp = upper.protocol == Protocol::ICMPV6;
        return { is_icmp }.then(|| parse_response6(&packet, upper.payload))?;
    }
    let packet = ipv4::Packet::new_checked(packet).ok()?;
    let is_icmp = packet.protocol() == Protocol::ICMP;
    { is_icmp }.then(|| parse_response4(&packet))?
}

/// Parses an IPv4 packet that may answer a request.
pub fn parse_response4(packet: &ipv4::Packet<'_>) -> Option<Response> {
    let icmp = icmpv4::Packet::new_verified(packet.payload()).ok()?;
    let (from, bytes, ttl): (IpAddr, _, _) =
        (packet.src().into(), packet.total_len(), packet.ttl());
    let response = |to, (id, seq), outcome| Response {
        from: Some(from),
        to,
        id,
        seq,
        bytes: usize::from(bytes),
        ttl,
        outcome,
    };
    use icmpv4::Message;
    let (quoted, outcome) = match icmp.message() {
        Message::EchoReply { id, seq, .. } => {
            return Some(response(from, (id, seq), Outcome::Reply));
        }
        Message::Unreachable { code, quoted, .. } => (quoted, unreachable4(code)),
        Message::TimeExceeded { quoted, .. } => (quoted, Outcome::TtlExceeded),
        Message::ParameterProblem { quoted, .. } => (quoted, Outcome::ParameterProblem),
        _ => return None,
    };
    let (to, numbers) = request4(quoted)?;
    Some(response(to, numbers, outcome))
}

/// Parses an IPv6 packet that may answer a request; `upper` is the payload after the extension headers.
pub fn parse_response6(packet: &ipv6::Packet<'_>, upper: &[u8]) -> Option<Response> {
    let icmp = icmpv6::Packet::new_verified(upper, packet.src(), packet.dst()).ok()?;
    let (from, bytes, ttl): (IpAddr, _, _) = (
        packet.src().into(),
        packet.payload_len(),
        packet.hop_limit(),
    );
    let response = |to, (id, seq), outcome| Response {
        from: Some(from),
        to,
        id,
        seq,
        bytes: ipv6::HEADER_LEN + usize::from(bytes),
        ttl,
        outcome,
    };
    use icmpv6::Message;
    let (quoted, outcome) = match icmp.message() {
        Message::EchoReply { id, seq, .. } => {
            return Some(response(from, (id, seq), Outcome::Reply));
        }
        Message::Unreachable { code, quoted } => (quoted, unreachable6(code)),
        Message::PacketTooBig { quoted, .. } => (quoted, Outcome::TooBig),
        Message::TimeExceeded { quoted, .. } => (quoted, Outcome::TtlExceeded),
        Message::ParameterProblem { quoted, .. } => (quoted, Outcome::ParameterProblem),
        _ => return None,
    };
    let (to, numbers) = request6(quoted)?;
    Some(response(to, numbers, outcome))
}

/// Returns destination, identifier and sequence number of an IPv4 echo request.
pub fn request4(packet: &[u8]) -> Option<(IpAddr, (u16, u16))> {
    let packet = ipv4::Packet::new_quoted(packet).ok()?;
    if packet.protocol() != Protocol::ICMP {
        return None;
    }
    let icmp = icmpv4::Packet::new_checked(packet.payload()).ok()?;
    let asks = icmp.kind() == icmpv4::Type::ECHO_REQUEST;
    asks.then(|| (packet.dst().into(), (icmp.echo_id(), icmp.echo_seq())))
}

/// Returns destination, identifier and sequence number of an IPv6 echo request.
pub fn request6(packet: &[u8]) -> Option<(IpAddr, (u16, u16))> {
    let packet = ipv6::Packet::new_quoted(packet).ok()?;
    let upper = packet.upper().ok()?;
    if upper.protocol != Protocol::ICMPV6 {
        return None;
    }
    let icmp = icmpv6::Packet::new_checked(upper.payload).ok()?;
    let asks = icmp.kind() == icmpv6::Type::ECHO_REQUEST;
    asks.then(|| (packet.dst().into(), (icmp.echo_id(), icmp.echo_seq())))
}

/// RFC 792 and RFC 1812, 5.2.7.1.
fn unreachable4(code: icmpv4::Unreachable) -> Outcome {
    use icmpv4::Unreachable as Code;
    match code {
        Code::HOST => Outcome::HostUnreachable,
        Code::PROTOCOL => Outcome::ProtocolUnreachable,
        Code::PORT => Outcome::PortUnreachable,
        Code::FRAGMENTATION_NEEDED => Outcome::FragmentationNeeded,
        Code::NETWORK_PROHIBITED | Code::HOST_PROHIBITED | Code::PROHIBITED => Outcome::Prohibited,
        _ => Outcome::NetUnreachable,
    }
}

/// RFC 4443, 3.1.
fn unreachable6(code: icmpv6::Unreachable) -> Outcome {
    use icmpv6::Unreachable as Code;
    match code {
        Code::ADDRESS => Outcome::HostUnreachable,
        Code::PROHIBITED => Outcome::Prohibited,
        Code::PORT => Outcome::PortUnreachable,
        _ => Outcome::NetUnreachable,
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;

    const TO: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

    fn packet(from: Ipv4Addr, message: &icmpv4::Message<'_>) -> Vec<u8> {
        let mut icmp = Vec::new();
        message.emit(&mut icmp);
        let header = ipv4::Repr::new(Protocol::ICMP, from, Ipv4Addr::new(10, 0, 0, 9));
        [&header.to_bytes(icmp.len())[..], &icmp].concat()
    }

    fn parse_response(bytes: &[u8]) -> Option<Response> {
        parse_response4(&ipv4::Packet::new_checked(bytes).expect("it was made here"))
    }

    fn after(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn only_the_first_reply_of_the_target_counts() {
        let mut pings = Pings::new(7);
        let ticket = pings.ask(TO.into(), "owner", after(0));
        let (id, seq) = pings.numbers(ticket);
        let reply = icmpv4::Message::EchoReply {
            id,
            seq,
            data: b"x",
        };
        let other = parse_response(&packet(GATEWAY, &reply)).expect("a reply");
        let right = parse_response(&packet(TO, &reply)).expect("a reply");

        assert_eq!(pings.hear(&other, after(1)), None, "nobody asked him");
        assert_eq!(pings.take(ticket), None);
        assert_eq!(pings.hear(&right, after(2)), Some(&"owner"));
        assert_eq!(pings.hear(&right, after(3)), None, "it comes twice");

        let answer = pings.take(ticket).expect("it was answered");
        assert_eq!(answer.took, Duration::from_millis(2));
        assert_eq!((answer.bytes, answer.outcome), (29, Outcome::Reply));
        assert_eq!(pings.take(ticket), None, "it was taken");
    }

    #[test]
    fn an_error_that_quotes_the_request_counts() {
        let mut pings = Pings::new(7);
        let ticket = pings.ask(TO.into(), (), after(0));
        let (id, seq) = pings.numbers(ticket);
        let mut request = Vec::new();
        let message = icmpv4::Message::EchoRequest {
            id,
            seq,
            data: &[0; 28],
        };
        message.emit(&mut request);
        let header = ipv4::Repr::new(Protocol::ICMP, GATEWAY, TO);
        let quoted = [&header.to_bytes(request.len())[..], &request[..8]].concat();
        let error = icmpv4::Message::TimeExceeded {
            code: 0,
            quoted: &quoted,
        };

        let error = parse_response(&packet(GATEWAY, &error)).expect("it quotes a request");
        assert!(pings.hear(&error, after(5)).is_some());

        let answer = pings.take(ticket).expect("it has an end");
        assert_eq!(answer.outcome, Outcome::TtlExceeded);
        assert_eq!(answer.from, Some(Responder::Address(GATEWAY.into())));
    }

    #[test]
    fn a_neighbours_arp_reply_on_the_queried_link_counts() {
        let mac = Mac([2, 0, 0, 0, 0, 9]);
        let mut pings = Pings::new(7);
        let ticket = pings.ask_link(TO.into(), 3, "first", after(0));
        let second = pings.ask_link(TO.into(), 3, "second", after(10));
        let (id, seq) = pings.numbers(ticket);
        let data = &[];
        let reply = parse_response(&packet(TO, &icmpv4::Message::EchoReply { id, seq, data }));

        assert_eq!(pings.hear(&reply.expect("a reply"), after(1)), None);
        assert_eq!(pings.hear_link(TO.into(), 4, mac, after(1)), None);
        assert_eq!(pings.hear_link(GATEWAY.into(), 3, mac, after(1)), None);
        assert_eq!(
            pings.hear_link(TO.into(), 3, mac, after(12)),
            Some(&"first")
        );
        assert_eq!(
            pings.hear_link(TO.into(), 3, mac, after(15)),
            Some(&"second")
        );
        assert_eq!(pings.hear_link(TO.into(), 3, mac, after(16)), None);

        let answer = pings.take(second).expect("it was answered");
        assert_eq!(answer.from, Some(Responder::Link(mac)));
        assert_eq!(answer.took, Duration::from_millis(5));
        assert_eq!(
            pings.take(ticket).map(|answer| answer.took),
            Some(Duration::from_millis(12))
        );
    }

    #[test]
    fn unclaimed_replies_expire_and_sequence_numbers_wrap() {
        let mut pings = Pings::new(7);
        let first = pings.ask(TO.into(), (), after(0));
        for _ in 0..70_000 {
            pings.ask(TO.into(), (), after(0));
        }
        assert_eq!(pings.sent.len(), MOST);
        pings.fail(first, Outcome::NoRoute);
        assert_eq!(pings.take(first), None);

        let last = pings.ask(TO.into(), (), after(0));
        let (id, seq) = pings.numbers(last);
        let data = &[];
        let reply = parse_response(&packet(TO, &icmpv4::Message::EchoReply { id, seq, data }));
        assert!(pings.hear(&reply.expect("a reply"), after(1)).is_some());
        assert!(pings.take(last).is_some());
    }

    #[test]
    fn truncated_and_damaged_packets_are_harmless() {
        let mut request = Vec::new();
        let message = icmpv4::Message::EchoRequest {
            id: 7,
            seq: 0,
            data: &[0; 8],
        };
        message.emit(&mut request);
        let header = ipv4::Repr::new(Protocol::ICMP, GATEWAY, TO);
        let whole = [&header.to_bytes(request.len())[..], &request].concat();
        for end in 0..whole.len() {
            let _ = request4(&whole[..end]);
            let _ = request6(&whole[..end]);
        }
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = request4(&damaged);
            let _ = request6(&damaged);
        }
    }
}
