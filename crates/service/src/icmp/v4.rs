//! ICMPv4: echo replies (RFC 1122, 3.2.2.6), errors (RFC 1812, 4.3.2 and 5.2.7) and redirects (RFC 1812, 5.2.7.2).

use core::net::Ipv4Addr;

use wire::Protocol;
use wire::icmpv4::{
    self, ERROR_LEN_MAX, HEADER_LEN as ICMP_HEADER_LEN, Message, Type, Unreachable,
};
use wire::ipv4::{HEADER_LEN, IpOption, Packet, Repr};

use super::{NotOwed, Offender, SentTo};

/// Error to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The packet cannot be delivered. `FRAGMENTATION_NEEDED` has its own variant below.
    Unreachable(Unreachable),
    /// The packet exceeds the MTU of the next link and must not be fragmented (RFC 1191, 4).
    FragmentationNeeded {
        /// MTU of the next link in bytes.
        mtu: u16,
    },
    /// The TTL expired (RFC 1812, 5.2.7.3).
    TimeExceeded,
    /// Reassembly timed out (RFC 1122, 3.3.2).
    ReassemblyTimeExceeded,
    /// A header field is invalid (RFC 1812, 5.2.7.4).
    ParameterProblem {
        /// Offset of the field.
        pointer: u8,
    },
}

impl Error {
    /// ICMP type, for rate limits.
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

/// Returns the destination of an error about a packet, if an error may be sent (RFC 1812, 4.3.2.7).
///
/// # Errors
/// Returns the first reason that forbids the error.
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
        // A malformed ICMP message might be an error; an unknown type is none.
        let icmp = icmpv4::Packet::new_checked(packet.payload());
        if icmp.map_or(true, |icmp| icmp.kind().is_error()) {
            return Err(NotOwed::IsError);
        }
    }
    Ok(src)
}

/// Builds the packet that reports an error, from the IPv4 header on.
///
/// `source` is an address of this router (see [`source`]), `id` the IPv4 identification. The error quotes as much as
/// fits into 576 bytes (RFC 1812, 4.3.2.3) and has the precedence of internetwork control (4.3.2.5).
///
/// # Errors
/// Returns the reason from [`owed`] if no error may be sent.
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

/// Builds the reply to an echo request, from the IPv4 header on. `request` is complete and addressed to a unicast
/// address of this router, which is the source of the reply (RFC 1122, 3.2.2.6).
///
/// The reply copies the TOS (RFC 1349, 5.1). It returns a record-route option with this router's address added. Other
/// options are left out, because the router does not follow source routes backwards.
///
/// # Errors
/// Fails if the packet is not an intact, unfragmented echo request to a unicast address.
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

/// Builds a redirect to `gateway` for the packet's destination host, from the IPv4 header on (RFC 1812, 5.2.7.2:
/// always a host redirect).
///
/// The packet leaves by its ingress interface; `networks` are that interface's addresses with prefix lengths.
/// `gateway` equals the destination if the destination is on the link.
///
/// # Errors
/// Returns the reason from [`owed`], or `NoBetterWay` if sender and gateway share no network or the sender used
/// source routing.
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

/// Local addresses to choose the source of an error from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Destination of the packet, if it is a local address.
    pub destination: Option<Ipv4Addr>,
    /// Primary address of the ingress interface.
    pub inbound: Option<Ipv4Addr>,
    /// Address of the egress interface, or the preferred source of its route.
    pub outbound: Option<Ipv4Addr>,
    /// Any address of this router, for interfaces without address (router id).
    pub router: Option<Ipv4Addr>,
}

/// Interface whose address is the source of errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourcePolicy {
    /// Egress interface of the error (RFC 1812, 4.3.2.4).
    #[default]
    Outbound,
    /// Ingress interface of the packet (`icmp-errors-use-inbound-interface-address=yes`).
    Inbound,
}

/// Selects the source address of an error; `None` if the router has no address.
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

/// True for a unicast host address (RFC 1812, 4.3.2.7: "a single host").
fn is_station(address: Ipv4Addr) -> bool {
    let reserved = address.octets()[0] == 0 || address.octets()[0] >= 240;
    !(reserved || address.is_loopback() || address.is_multicast())
}

fn in_network(address: Ipv4Addr, network: Ipv4Addr, len: u8) -> bool {
    let drop = 32 - u32::from(len.min(32));
    let mask = u32::MAX.checked_shl(drop).unwrap_or(0);
    (address.to_bits() ^ network.to_bits()) & mask == 0
}

/// The part of a packet that an error may quote, without padding of the frame.
fn quote(packet: &[u8]) -> &[u8] {
    let len = Packet::new_quoted(packet).map_or(packet.len(), |ip| usize::from(ip.total_len()));
    let len = len.min(ERROR_LEN_MAX - HEADER_LEN - ICMP_HEADER_LEN);
    packet.get(..len).unwrap_or(packet)
}

/// TOS of an error: that of the packet, with the precedence of internetwork control (RFC 1812, 4.3.2.5).
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

/// Builds the record-route option of a reply with this router's address in the next free slot.
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
