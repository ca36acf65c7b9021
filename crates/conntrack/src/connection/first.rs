//! A packet without an entry: what may begin a connection, and what else it can be.
//!
//! ICMP errors are about a connection whose packet they quote (RFC 792; RFC 4443, 3); they are
//! related to it and never a connection of their own.

use packet::{Fields, Fragment, Tuple, protocol};

use super::follow::{BLANK, INVALID, NEW};
use super::limits::Limits;
use super::state::{State, Track};
use super::tcp::{self, Segment};

/// What a packet without an entry is, by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// All is said.
    Track(Track),
    /// An error about a packet with this tuple.
    Error(Tuple),
}

/// See [`First`].
pub(super) fn judge(fields: &Fields, packet: &[u8], limits: &Limits) -> First {
    // Tracking needs whole datagrams: later parts have no ports.
    if fields.truncated || fields.fragment == Fragment::Later {
        return First::Track(INVALID);
    }
    let may_begin = match fields.tuple.protocol {
        protocol::TCP => Segment::read(fields, packet)
            .is_some_and(|segment| tcp::open(&segment, limits.loose).is_some()),
        protocol::UDP => udp_fits(fields, packet),
        protocol::ICMP if !fields.tuple.ipv6 => return icmp(fields, packet),
        protocol::ICMPV6 if fields.tuple.ipv6 => return icmpv6(fields, packet),
        _ => true,
    };
    First::Track(if may_begin { NEW } else { INVALID })
}

/// Whether the datagram's length lies within the packet (RFC 768).
fn udp_fits(fields: &Fields, packet: &[u8]) -> bool {
    let at = usize::from(fields.upper);
    let Some([_, _, _, _, high, low, ..]) = packet.get(at..).and_then(|udp| udp.first_chunk::<8>())
    else {
        return false;
    };
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    let room = (fields.len as usize).saturating_sub(at);
    // Of a first fragment, and of a jumbogram (RFC 2675, 4), the length says something else.
    fields.fragment != Fragment::Whole || len == 0 && fields.tuple.ipv6 || (8..=room).contains(&len)
}

fn icmp(fields: &Fields, packet: &[u8]) -> First {
    match fields.tuple.destination_port >> 8 {
        // Echo, timestamp, information, address mask: questions.
        8 | 13 | 15 | 17 => First::Track(NEW),
        // Unreachable, source quench, redirect, time exceeded, parameter problem.
        3 | 4 | 5 | 11 | 12 => quoted(fields, packet),
        _ => First::Track(INVALID),
    }
}

fn icmpv6(fields: &Fields, packet: &[u8]) -> First {
    match fields.tuple.destination_port >> 8 {
        // Echo, node information.
        128 | 139 => First::Track(NEW),
        // Unreachable, too big, time exceeded, parameter problem.
        1..=4 => quoted(fields, packet),
        // Listeners, routers, neighbours (RFC 2710, 4861, 3810): between neighbours only.
        130..=137 | 143 => First::Track(BLANK),
        _ => First::Track(INVALID),
    }
}

/// What an error says that it quotes.
fn quoted(fields: &Fields, packet: &[u8]) -> First {
    match quote(fields, packet) {
        Some((_, inner)) => First::Error(inner.tuple),
        None => First::Track(INVALID),
    }
}

/// The packet that an error quotes behind its eight bytes, if it can be about one.
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
    // Of TCP eight bytes are enough. An error goes to the one whose packet it quotes.
    let cut = inner.truncated && inner.tuple.protocol != protocol::TCP;
    let astray = inner.tuple.source != fields.tuple.destination;
    let useless = inner.fragment == Fragment::Later || cut || astray || about_itself;
    (!useless && inner.len > 0).then_some((quote, inner))
}

/// Whether a packet is an ICMP error.
#[inline]
pub fn is_error(fields: &Fields) -> bool {
    let kind = fields.tuple.destination_port >> 8;
    match fields.tuple.protocol {
        protocol::ICMP => matches!(kind, 3 | 4 | 5 | 11 | 12),
        protocol::ICMPV6 => matches!(kind, 1..=4),
        _ => false,
    }
}

/// The packet that an ICMP error quotes, and the tuple of answers to it; none for other packets.
pub(super) fn quoted_answers<'a>(fields: &Fields, packet: &'a [u8]) -> Option<(&'a [u8], Tuple)> {
    let (quote, inner) = quote(fields, packet).filter(|_| is_error(fields))?;
    Some((quote, inner.tuple.reversed()))
}

/// An error about a packet of this direction.
pub(super) fn related(track: Track) -> Track {
    Track {
        state: State::Related,
        quoted: true,
        ..track
    }
}
