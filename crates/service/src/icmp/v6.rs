//! ICMPv6: echo replies (RFC 4443, 4.2), errors (RFC 4443, 2.4 and 3) and redirects (RFC 4861, 8.2).

use core::net::Ipv6Addr;

use wire::icmpv6::{
    self, ERROR_LEN_MAX, HEADER_LEN as ICMP_HEADER_LEN, Message, Type, Unreachable,
};
use wire::ipv6::{HEADER_LEN, Packet, Repr};
use wire::ndp::{self, HOP_LIMIT, NdpOption, Options};
use wire::{Mac, Protocol};

use super::{NotOwed, Offender, SentTo};

/// Error to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The packet cannot be delivered.
    Unreachable(Unreachable),
    /// The packet exceeds the MTU of the next link.
    PacketTooBig {
        /// MTU of the next link in bytes.
        mtu: u32,
    },
    /// The hop limit expired.
    TimeExceeded,
    /// Reassembly timed out.
    ReassemblyTimeExceeded,
    /// A header field is invalid.
    ParameterProblem {
        /// Kind of error.
        code: Parameter,
        /// Offset of the field from the IPv6 header.
        pointer: u32,
    },
}

/// Code of a parameter problem (RFC 4443, 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Invalid header field.
    Field = 0,
    /// Unknown next header.
    NextHeader = 1,
    /// Unknown option whose two highest bits request a report.
    Option = 2,
    /// The first fragment lacks headers (RFC 7112, 5).
    HeaderChain = 3,
}

impl Error {
    /// ICMPv6 type, for rate limits.
    pub const fn kind(self) -> u8 {
        match self {
            Self::Unreachable(_) => Type::UNREACHABLE.0,
            Self::PacketTooBig { .. } => Type::PACKET_TOO_BIG.0,
            Self::TimeExceeded | Self::ReassemblyTimeExceeded => Type::TIME_EXCEEDED.0,
            Self::ParameterProblem { .. } => Type::PARAMETER_PROBLEM.0,
        }
    }

    /// True if the error is also sent for multicast packets (RFC 4443, 2.4 (e.3)).
    const fn is_owed_to_many(self) -> bool {
        matches!(
            self,
            Self::PacketTooBig { .. }
                | Self::ParameterProblem {
                    code: Parameter::Option,
                    ..
                }
        )
    }

    fn message(self, quoted: &[u8]) -> Message<'_> {
        match self {
            Self::Unreachable(code) => Message::Unreachable { code, quoted },
            Self::PacketTooBig { mtu } => Message::PacketTooBig { mtu, quoted },
            Self::TimeExceeded => Message::TimeExceeded { code: 0, quoted },
            Self::ReassemblyTimeExceeded => Message::TimeExceeded { code: 1, quoted },
            Self::ParameterProblem { code, pointer } => Message::ParameterProblem {
                code: code as u8,
                pointer,
                quoted,
            },
        }
    }
}

/// Returns the destination of an error about a packet, if the error may be sent (RFC 4443, 2.4 (e)).
///
/// # Errors
/// Returns the first reason that forbids the error.
pub fn owed(offender: &Offender<'_>, error: Error) -> Result<Ipv6Addr, NotOwed> {
    let packet = Packet::new_quoted(offender.packet).map_err(|_| NotOwed::Malformed)?;
    let many = offender.sent_to == SentTo::Many || packet.dst().is_multicast();
    if many && !error.is_owed_to_many() {
        return Err(NotOwed::SentToMany);
    }
    let src = packet.src();
    if src.is_unspecified() || src.is_multicast() || src.is_loopback() {
        return Err(NotOwed::Source);
    }
    // A malformed header chain is a reason to send a parameter problem.
    if let Ok(upper) = packet.upper()
        && upper.protocol == Protocol::ICMPV6
    {
        let kind = match upper.is_later_piece() {
            true => None,
            false => upper.payload.first().map(|&kind| Type(kind)),
        };
        // An unknown type might be an error.
        if kind.is_none_or(|kind| kind.is_error() || kind == Type::REDIRECT) {
            return Err(NotOwed::IsError);
        }
    }
    Ok(src)
}

/// Builds the packet that reports an error, from the IPv6 header on.
///
/// `source` is an address of this router (see [`source`]). The error quotes as much as fits into 1,280 bytes (RFC
/// 4443, 2.4 (c)).
///
/// # Errors
/// Returns the reason from [`owed`] if no error may be sent.
pub fn error(offender: &Offender<'_>, error: Error, source: Ipv6Addr) -> Result<Vec<u8>, NotOwed> {
    let to = owed(offender, error)?;
    let message = error.message(quote(offender.packet));
    Ok(build(&message, Repr::new(Protocol::ICMPV6, source, to)))
}

/// Builds the reply to an echo request, from the IPv6 header on; `request` is complete and addressed to this router.
///
/// `source` is an address of this router. It is the source of the reply if the request's destination is a multicast
/// address or an address for which `is_own` is false (anycast). Otherwise the request's destination is the source
/// (RFC 4443, 2.2 and 4.2).
///
/// # Errors
/// Fails if the packet is not an intact, unfragmented echo request.
pub fn echo_reply(
    request: &Offender<'_>,
    source: Ipv6Addr,
    is_own: impl Fn(Ipv6Addr) -> bool,
) -> Result<Vec<u8>, NotOwed> {
    let packet = Packet::new_checked(request.packet).map_err(|_| NotOwed::Malformed)?;
    let upper = packet.upper().map_err(|_| NotOwed::Malformed)?;
    let (src, dst) = (packet.src(), packet.dst());
    if src.is_unspecified() || src.is_multicast() {
        return Err(NotOwed::Source);
    }
    if upper.protocol != Protocol::ICMPV6 {
        return Err(NotOwed::NoEcho);
    }
    if upper.fragment.is_some_and(|fragment| !fragment.is_atomic()) {
        return Err(NotOwed::Fragment);
    }
    let icmp =
        icmpv6::Packet::new_verified(upper.payload, src, dst).map_err(|_| NotOwed::Malformed)?;
    let Message::EchoRequest { id, seq, data } = icmp.message() else {
        return Err(NotOwed::NoEcho);
    };
    let reply = Message::EchoReply { id, seq, data };
    let own = if is_own(dst) { dst } else { source };
    let header = Repr {
        traffic_class: packet.traffic_class(),
        ..Repr::new(Protocol::ICMPV6, own, src)
    };
    Ok(build(&reply, header))
}

/// A better first hop for a sender (RFC 4861, 8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BetterHop {
    /// Link-local address of the better router, or the destination itself if it is on the link.
    pub target: Ipv6Addr,
    /// MAC address of the target, if known.
    pub mac: Option<Mac>,
    /// True if the sender is on the link by which the packet came and leaves.
    pub sender_is_neighbour: bool,
}

/// Builds a redirect to a better first hop, from the IPv6 header on. `source` is this router's link-local address on
/// the link.
///
/// # Errors
/// Returns the reason from [`owed`], or `NoBetterWay` if the sender is no neighbour, if `source` or a target router is
/// not link-local, or if the packet has a routing header.
pub fn redirect(
    offender: &Offender<'_>,
    hop: &BetterHop,
    source: Ipv6Addr,
) -> Result<Vec<u8>, NotOwed> {
    let to = owed(offender, Error::TimeExceeded)?;
    let packet = Packet::new_quoted(offender.packet).map_err(|_| NotOwed::Malformed)?;
    let routed = packet.upper().is_ok_and(|upper| upper.routing.is_some());
    let destination = packet.dst();
    let target_fits = hop.target == destination || hop.target.is_unicast_link_local();
    let local = source.is_unicast_link_local();
    if routed || !hop.sender_is_neighbour || !target_fits || !local || to == hop.target {
        return Err(NotOwed::NoBetterWay);
    }
    let mut options = Vec::new();
    if let Some(mac) = hop.mac {
        NdpOption::Target(mac).emit(&mut options);
    }
    // Type, target, destination and the option's own header; the quote is a multiple of 8 bytes.
    let head = HEADER_LEN + ICMP_HEADER_LEN + 32 + options.len() + 8;
    let room = (ERROR_LEN_MAX - head) / 8 * 8;
    let quoted = quote(offender.packet);
    NdpOption::Redirected(quoted.get(..room).unwrap_or(quoted)).emit(&mut options);
    let message = ndp::Message::Redirect {
        target: hop.target,
        destination,
        options: Options::new_checked(&options).unwrap_or_default(),
    };
    let mut upper = Vec::new();
    message.emit(source, to, &mut upper);
    let header = Repr {
        hop_limit: HOP_LIMIT,
        ..Repr::new(Protocol::ICMPV6, source, to)
    };
    let mut bytes = header.to_bytes(upper.len()).to_vec();
    bytes.append(&mut upper);
    Ok(bytes)
}

/// Selects the source address of a message to `to`: the packet's destination if it is local (RFC 4443, 2.2 (a)), else
/// the best local address by scope and longest match (RFC 6724, 5, rules 2 and 8).
///
/// `own` lists the addresses of the egress interface first, then those of other interfaces; link-local addresses must
/// belong to the egress interface.
pub fn source(
    destination: Option<Ipv6Addr>,
    own: impl IntoIterator<Item = Ipv6Addr>,
    to: Ipv6Addr,
) -> Option<Ipv6Addr> {
    let common = |own: Ipv6Addr| (own.to_bits() ^ to.to_bits()).leading_zeros();
    let rank = |own: Ipv6Addr| (scope(own) == scope(to), common(own));
    let best = |best: Option<Ipv6Addr>, own: Ipv6Addr| match best {
        Some(best) if rank(best) >= rank(own) => Some(best),
        _ => Some(own),
    };
    destination.or_else(|| own.into_iter().fold(None, best))
}

/// Scope of an address: link-local or global (RFC 4291, 2.7; unique local addresses are global, RFC 4193, 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Link,
    Global,
}

fn scope(address: Ipv6Addr) -> Scope {
    let octets = address.octets();
    let group_on_link = octets[0] == 0xff && octets[1] & 0xf <= 2;
    match address.is_unicast_link_local() || address.is_loopback() || group_on_link {
        true => Scope::Link,
        false => Scope::Global,
    }
}

/// The part of a packet that an error may quote, without padding of the frame.
fn quote(packet: &[u8]) -> &[u8] {
    let len = Packet::new_quoted(packet).map_or(packet.len(), |ip| {
        HEADER_LEN + usize::from(ip.payload_len())
    });
    let len = len.min(ERROR_LEN_MAX - HEADER_LEN - ICMP_HEADER_LEN);
    packet.get(..len).unwrap_or(packet)
}

fn build(message: &Message<'_>, header: Repr) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_LEN + message.len());
    bytes.extend_from_slice(&header.to_bytes(message.len()));
    message.emit(header.src, header.dst, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests;
