//! Classification of a packet without an entry: it may begin a connection, or it is an ICMP error.
//!
//! An ICMP error quotes a packet of the connection that it concerns (RFC 792; RFC 4443, 3). It is related to
//! that connection and never begins a connection of its own.

use packet::{Fields, Fragment, Tuple, protocol};

use super::follow::{BLANK, INVALID, NEW};
use super::limits::Limits;
use super::state::{State, Track};
use super::tcp::{self, Segment};

/// Classification of a packet that matches no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstPacket {
    /// The classification is final.
    Track(Track),
    /// An ICMP error about a packet with this tuple.
    Error(Tuple),
}

/// Classifies a packet that matches no entry.
pub(super) fn judge(fields: &Fields, packet: &[u8], limits: &Limits) -> FirstPacket {
    // Later fragments carry no ports, so tracking needs whole datagrams.
    if fields.truncated || fields.fragment == Fragment::Later {
        return FirstPacket::Track(INVALID);
    }
    let may_begin = match fields.tuple.protocol {
        protocol::TCP => Segment::read(fields, packet)
            .is_some_and(|segment| tcp::open(&segment, limits.loose).is_some()),
        protocol::UDP => udp_fits(fields, packet),
        protocol::ICMP if !fields.tuple.ipv6 => return icmp(fields, packet),
        protocol::ICMPV6 if fields.tuple.ipv6 => return icmpv6(fields, packet),
        _ => true,
    };
    FirstPacket::Track(if may_begin { NEW } else { INVALID })
}

/// Returns true if the UDP length lies within the packet (RFC 768).
fn udp_fits(fields: &Fields, packet: &[u8]) -> bool {
    let at = usize::from(fields.upper);
    let Some([_, _, _, _, high, low, ..]) = packet.get(at..).and_then(|udp| udp.first_chunk::<8>())
    else {
        return false;
    };
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    let room = (fields.len as usize).saturating_sub(at);
    // The length covers more than this packet in a first fragment, and is 0 in a jumbogram (RFC 2675, 4).
    fields.fragment != Fragment::Whole || len == 0 && fields.tuple.ipv6 || (8..=room).contains(&len)
}

fn icmp(fields: &Fields, packet: &[u8]) -> FirstPacket {
    match fields.tuple.destination_port >> 8 {
        // Requests: echo, timestamp, information, address mask.
        8 | 13 | 15 | 17 => FirstPacket::Track(NEW),
        // Unreachable, source quench, redirect, time exceeded, parameter problem.
        3 | 4 | 5 | 11 | 12 => quoted(fields, packet),
        _ => FirstPacket::Track(INVALID),
    }
}

fn icmpv6(fields: &Fields, packet: &[u8]) -> FirstPacket {
    match fields.tuple.destination_port >> 8 {
        // Requests: echo, node information.
        128 | 139 => FirstPacket::Track(NEW),
        // Unreachable, too big, time exceeded, parameter problem.
        1..=4 => quoted(fields, packet),
        // Multicast listener discovery, router and neighbour discovery (RFC 2710, 4861, 3810): link-local
        // only.
        130..=137 | 143 => FirstPacket::Track(BLANK),
        _ => FirstPacket::Track(INVALID),
    }
}

/// Classifies an ICMP error by the packet that it quotes.
fn quoted(fields: &Fields, packet: &[u8]) -> FirstPacket {
    match quote(fields, packet) {
        Some((_, inner)) => FirstPacket::Error(inner.tuple),
        None => FirstPacket::Track(INVALID),
    }
}

/// Returns the packet that an ICMP error quotes after its eight-byte header, or `None` if the quote is
/// unusable.
fn quote<'a>(fields: &Fields, packet: &'a [u8]) -> Option<(&'a [u8], Fields)> {
    let quote = packet.get(usize::from(fields.upper) + 8..)?;
    let version = if fields.tuple.ipv6 { 6 } else { 4 };
    if quote.first()? >> 4 != version {
        return None;
    }
    let inner = Fields::of(quote);
    let about_itself = match inner.tuple.protocol {
        protocol::ICMP | protocol::ICMPV6 => inner.tuple == inner.tuple.reversed(),
        _ => false,
    };
    // Eight bytes of TCP are enough. An error goes to the source of the packet that it quotes.
    let cut = inner.truncated && inner.tuple.protocol != protocol::TCP;
    let astray = inner.tuple.source != fields.tuple.destination;
    let useless = inner.fragment == Fragment::Later || cut || astray || about_itself;
    (!useless && inner.len > 0).then_some((quote, inner))
}

/// Returns true if a packet is an ICMP error.
#[inline]
pub fn is_error(fields: &Fields) -> bool {
    let kind = fields.tuple.destination_port >> 8;
    match fields.tuple.protocol {
        protocol::ICMP => matches!(kind, 3 | 4 | 5 | 11 | 12),
        protocol::ICMPV6 => matches!(kind, 1..=4),
        _ => false,
    }
}

/// Returns the packet that an ICMP error quotes and the tuple of replies to it; `None` for other packets.
pub(super) fn quoted_answers<'a>(fields: &Fields, packet: &'a [u8]) -> Option<(&'a [u8], Tuple)> {
    let (quote, inner) = quote(fields, packet).filter(|_| is_error(fields))?;
    Some((quote, inner.tuple.reversed()))
}

/// Returns the classification of an ICMP error about a packet of `track`'s direction.
pub(super) fn related(track: Track) -> Track {
    Track {
        state: State::Related,
        quoted: true,
        ..track
    }
}
