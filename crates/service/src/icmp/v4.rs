//! ICMP for IPv4: echo replies (RFC 1122, 3.2.2.6), errors (RFC 1812, 4.3.2 and 5.2.7) and
//! redirects (RFC 1812, 5.2.7.2).

use core::net::Ipv4Addr;

use wire::Protocol;
use wire::icmpv4::{
    self, ERROR_LEN_MAX, HEADER_LEN as ICMP_HEADER_LEN, Message, Type, Unreachable,
};
use wire::ipv4::{HEADER_LEN, IpOption, Packet, Repr};

use super::{NotOwed, Offender, SentTo};

/// An error to be reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The packet cannot be delivered. For `FRAGMENTATION_NEEDED` use the variant below.
    Unreachable(Unreachable),
    /// It is larger than the next link's MTU in bytes, and may not be fragmented (RFC 1191, 4).
    FragmentationNeeded {
        /// The next link's MTU.
        mtu: u16,
    },
    /// Its TTL ran out (RFC 1812, 5.2.7.3).
    TimeExceeded,
    /// Not all of its fragments came (RFC 1122, 3.3.2).
    ReassemblyTimeExceeded,
    /// A byte of its header is in error (RFC 1812, 5.2.7.4).
    ParameterProblem {
        /// Which byte.
        pointer: u8,
    },
}

impl Error {
    /// The ICMP type, by which messages are limited.
    pub const fn kind(self) -> u8 {
        match self {
            Self::Unreachable(_) | Self::FragmentationNeeded { .. } => Type::UNREACHABLE.0,
            Self::TimeExceeded | Self::ReassemblyTimeExceeded => Type::TIME_EXCEEDED.0,
            Self::ParameterProblem { .. } => Type::PARAMETER_PROBLEM.0,
        }
    }

    fn message(self, quoted: &[u8]) -> Message<'_> {
        match self {
            Self::Unreachable(code) => Message::Unreachable {
                code,
                mtu: 0,
                quoted,
            },
            Self::FragmentationNeeded { mtu } => Message::Unreachable {
                code: Unreachable::FRAGMENTATION_NEEDED,
                mtu,
                quoted,
            },
            Self::TimeExceeded => Message::TimeExceeded { code: 0, quoted },
            Self::ReassemblyTimeExceeded => Message::TimeExceeded { code: 1, quoted },
            Self::ParameterProblem { pointer } => Message::ParameterProblem {
                code: 0,
                pointer,
                quoted,
            },
        }
    }
}

/// Whether an error may be reported about a packet, and to whom (RFC 1812, 4.3.2.7).
///
/// # Errors
/// The first reason against it.
pub fn owed(offender: &Offender<'_>) -> Result<Ipv4Addr, NotOwed> {
    let packet = Packet::new_quoted(offender.packet).map_err(|_| NotOwed::Malformed)?;
    if packet.fragment().is_later_piece() {
        return Err(NotOwed::Fragment);
    }
    let dst = packet.dst();
    if offender.sent_to == SentTo::Many || dst.is_multicast() || dst.is_broadcast() {
        return Err(NotOwed::SentToMany);
    }
    let src = packet.src();
    if !is_station(src) {
        return Err(NotOwed::Source);
    }
    if packet.protocol() == Protocol::ICMP {
        // An unreadable message might be an error; one of an unknown type is none.
        let icmp = icmpv4::Packet::new_checked(packet.payload());
        if icmp.map_or(true, |icmp| icmp.kind().is_error()) {
            return Err(NotOwed::IsError);
        }
    }
    Ok(src)
}

/// The packet that reports an error, from its IPv4 header on.
///
/// `source` is ours (see [`source`]), `id` the identification. It quotes as much as fits into 576
/// bytes (RFC 1812, 4.3.2.3) and has the precedence of internetwork control (4.3.2.5).
///
/// # Errors
/// As [`owed`].
pub fn error(
    offender: &Offender<'_>,
    error: Error,
    source: Ipv4Addr,
    id: u16,
) -> Result<Vec<u8>, NotOwed> {
    let to = owed(offender)?;
    let message = error.message(quote(offender.packet));
    Ok(build(
        &message,
        control_tos(offender.packet),
        source,
        to,
        id,
    ))
}

/// The reply to an echo request, from its IPv4 header on; `request` is whole and for one of our
/// unicast addresses, which is the reply's source (RFC 1122, 3.2.2.6).
///
/// The TOS is the request's (RFC 1349, 5.1). A record-route option comes back with our address in
/// it; other options do not, because a source route is not to be followed backwards through us.
///
/// # Errors
/// What is not an echo request to one station, intact and whole.
pub fn echo_reply(request: &Offender<'_>, id: u16) -> Result<Vec<u8>, NotOwed> {
    let packet = Packet::new_checked(request.packet).map_err(|_| NotOwed::Malformed)?;
    let dst = packet.dst();
    if packet.fragment().is_piece() {
        return Err(NotOwed::Fragment);
    }
    if request.sent_to == SentTo::Many || dst.is_multicast() || dst.is_broadcast() {
        return Err(NotOwed::SentToMany);
    }
    if !is_station(packet.src()) {
        return Err(NotOwed::Source);
    }
    if packet.protocol() != Protocol::ICMP {
        return Err(NotOwed::NoEcho);
    }
    let icmp = icmpv4::Packet::new_verified(packet.payload()).map_err(|_| NotOwed::Malformed)?;
    let Message::EchoRequest {
        id: echo,
        seq,
        data,
    } = icmp.message()
    else {
        return Err(NotOwed::NoEcho);
    };
    let reply = Message::EchoReply {
        id: echo,
        seq,
        data,
    };
    let header = Repr {
        tos: packet.tos(),
        id,
        ..Repr::new(Protocol::ICMP, dst, packet.src())
    };
    let mut bytes = Vec::with_capacity(request.packet.len());
    header.emit(&recorded_route(&packet, dst), reply.len(), &mut bytes);
    reply.emit(&mut bytes);
    Ok(bytes)
}

/// A redirect of the sender to `gateway` for this host, from its IPv4 header on (RFC 1812, 5.2.7.2:
/// always a host redirect).
///
/// The packet leaves by the interface that it came in by; `networks` are that interface's, as one
/// address and prefix length each. `gateway` is the destination itself where it is on the link.
///
/// # Errors
/// As [`owed`], and `NoBetterWay` if sender and gateway share none of the networks or the sender
/// chose the way himself.
pub fn redirect(
    offender: &Offender<'_>,
    gateway: Ipv4Addr,
    networks: impl IntoIterator<Item = (Ipv4Addr, u8)>,
    source: Ipv4Addr,
    id: u16,
) -> Result<Vec<u8>, NotOwed> {
    let to = owed(offender)?;
    let packet = Packet::new_quoted(offender.packet).map_err(|_| NotOwed::Malformed)?;
    let shared = |(network, len): (Ipv4Addr, u8)| {
        in_network(to, network, len) && in_network(gateway, network, len)
    };
    let chosen = |option: IpOption<'_>| option.is_source_route();
    let mut options = packet.options_iter().flatten();
    if to == gateway || options.any(chosen) || !networks.into_iter().any(shared) {
        return Err(NotOwed::NoBetterWay);
    }
    let message = Message::Redirect {
        code: 1,
        gateway,
        quoted: quote(offender.packet),
    };
    Ok(build(
        &message,
        control_tos(offender.packet),
        source,
        to,
        id,
    ))
}

/// Our addresses among which the source of an error is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The packet's destination, if it is ours.
    pub destination: Option<Ipv4Addr>,
    /// The primary address of the interface by which the packet came.
    pub inbound: Option<Ipv4Addr>,
    /// The address of the interface by which the message leaves, or its route's preferred source.
    pub outbound: Option<Ipv4Addr>,
    /// Any address of this router, where that interface has none (the router-id).
    pub router: Option<Ipv4Addr>,
}

/// Which interface's address errors have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourcePolicy {
    /// That of the interface by which the message leaves (RFC 1812, 4.3.2.4).
    #[default]
    Outbound,
    /// That of the interface by which the packet came
    /// (`icmp-errors-use-inbound-interface-address=yes`).
    Inbound,
}

/// The source address of an error; `None` if this router has no address at all.
pub fn source(sources: &Sources, policy: SourcePolicy) -> Option<Ipv4Addr> {
    let by_policy = match policy {
        SourcePolicy::Outbound => sources.outbound,
        SourcePolicy::Inbound => sources.inbound.or(sources.outbound),
    };
    sources
        .destination
        .or(by_policy)
        .or(sources.router)
        .or(sources.inbound)
}

/// Whether an address can be one station's (RFC 1812, 4.3.2.7: "a single host").
fn is_station(address: Ipv4Addr) -> bool {
    let reserved = address.octets()[0] == 0 || address.octets()[0] >= 240;
    !(reserved || address.is_loopback() || address.is_multicast())
}

fn in_network(address: Ipv4Addr, network: Ipv4Addr, len: u8) -> bool {
    let drop = 32 - u32::from(len.min(32));
    let mask = u32::MAX.checked_shl(drop).unwrap_or(0);
    (address.to_bits() ^ network.to_bits()) & mask == 0
}

/// As much of a packet as an error may quote; padding of the frame is not quoted.
fn quote(packet: &[u8]) -> &[u8] {
    let len = Packet::new_quoted(packet).map_or(packet.len(), |ip| usize::from(ip.total_len()));
    let len = len.min(ERROR_LEN_MAX - HEADER_LEN - ICMP_HEADER_LEN);
    packet.get(..len).unwrap_or(packet)
}

/// The TOS of an error: the packet's, with the precedence of internetwork control (RFC 1812,
/// 4.3.2.5).
fn control_tos(packet: &[u8]) -> u8 {
    packet.get(1).map_or(0, |tos| tos & 0x1e) | 0xc0
}

fn build(message: &Message<'_>, tos: u8, src: Ipv4Addr, dst: Ipv4Addr, id: u16) -> Vec<u8> {
    let header = Repr {
        tos,
        id,
        ..Repr::new(Protocol::ICMP, src, dst)
    };
    let mut bytes = Vec::with_capacity(HEADER_LEN + message.len());
    header.emit(&[], message.len(), &mut bytes);
    message.emit(&mut bytes);
    bytes
}

/// The record-route option of a request with our address in the next free slot, if there is one.
fn recorded_route(request: &Packet<'_>, own: Ipv4Addr) -> Vec<u8> {
    let record = |option: &IpOption<'_>| option.kind == IpOption::RECORD_ROUTE;
    let Some(option) = request.options_iter().flatten().find(record) else {
        return Vec::new();
    };
    let mut bytes = vec![option.kind, (option.data.len() + 2) as u8];
    bytes.extend_from_slice(option.data);
    // The pointer counts from 1 at the option's first byte; 4 is the first slot (RFC 791, 3.1).
    let pointer = option.data.first().copied().unwrap_or(0);
    let at = usize::from(pointer.max(1)) - 1;
    if pointer >= 4
        && let Some(slot) = bytes.get_mut(at..at + 4)
    {
        slot.copy_from_slice(&own.octets());
        bytes[2] = pointer + 4;
    }
    bytes
}

#[cfg(test)]
mod tests;
