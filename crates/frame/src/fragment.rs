//! Fragments IPv4 packets that exceed the MTU of their link (RFC 791, 2.3 and 3.2; RFC 1812, 4.2.2.7), and
//! IPv6 packets that arrived in fragments (`v6`).
//!
//! The first fragment carries all options, later fragments carry the options with the copied flag. A
//! fragment can be fragmented again: offsets add up, and only the last piece of a last fragment is a last
//! fragment.

mod v6;

use wire::ipv4::{self, Fragment, HeaderMut, IpOption, Packet, Repr};

use crate::segment::all_or_none;
pub use v6::fragment6;

use crate::{Frame, Offload, Pool};

/// The smallest MTU in bytes of a link with IPv4 (RFC 791, 3.2): every header and 8 bytes.
pub const MTU_MIN: usize = 68;

/// Reason why a packet cannot be fragmented. No fragment was created, and the frame is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfragmentable {
    /// Checksum or segmentation is unfinished: they cover the whole packet and must be finished first.
    Unfinished,
    /// The MTU is below [`MTU_MIN`].
    Mtu,
    /// The header is malformed.
    Header(ipv4::Malformed),
    /// The IPv6 header or an extension header is malformed.
    Ipv6(wire::ipv6::Malformed),
    /// An option is malformed.
    Option(ipv4::MalformedOption),
    /// The last fragment would end beyond byte 65,535 of the whole packet.
    BeyondEnd,
    /// The pool has no free slot.
    NoBuffer,
}

/// Appends the fragments of an IPv4 packet to `out` in order; returns their number.
///
/// The network header is at `frame.l3`; the bytes before it are copied, padding after the packet is not.
/// `mtu` is the link's layer-3 MTU in bytes. The caller checks the don't-fragment flag and keeps the frame.
/// Creates all fragments or none.
///
/// # Errors
/// The reason; `out` is unchanged.
pub fn fragment(
    pool: &mut Pool,
    frame: &Frame,
    mtu: usize,
    out: &mut Vec<Frame>,
) -> Result<usize, Unfragmentable> {
    if !frame.offload.is_finished() {
        return Err(Unfragmentable::Unfinished);
    }
    if mtu < MTU_MIN {
        return Err(Unfragmentable::Mtu);
    }
    let (link, packet) = frame
        .bytes()
        .split_at_checked(usize::from(frame.l3))
        .unwrap_or_default();
    let packet = Packet::new_checked(packet).map_err(Unfragmentable::Header)?;
    let whole = packet.fragment();
    if usize::from(whole.offset()) + packet.payload().len() > usize::from(u16::MAX) {
        return Err(Unfragmentable::BeyondEnd);
    }
    let copied = copied_options(&packet)?;
    let mut rest = packet.payload();
    let mut offset = whole.offset();
    all_or_none(pool, out, |pool, out| {
        loop {
            let options = if offset == whole.offset() {
                packet.options()
            } else {
                copied.bytes()
            };
            let room = mtu - ipv4::HEADER_LEN - options.len();
            let last = rest.len() <= room;
            let take = if last { rest.len() } else { room / 8 * 8 };
            let (data, after) = rest.split_at(take);
            let flags = whole.0 & !OFFSET_AND_MORE;
            let place = Fragment::piece(offset, whole.more() || !last);
            let repr = Repr {
                fragment: Fragment(flags | place.0),
                ..Repr::parse(&packet)
            };
            let header = header(&repr, options, data.len());
            let len = link.len() + header.len() + options.len() + data.len();
            let mut piece = pool.alloc(len).ok_or(Unfragmentable::NoBuffer)?;
            concat(piece.bytes_mut(), [link, &header, options, data]);
            piece.copy_meta(frame);
            piece.offload = Offload::FINISHED;
            out.push(piece);
            if last {
                return Ok(());
            }
            rest = after;
            offset += take as u16;
        }
    })
}

/// Returns the fixed header of a fragment, with its checksum including `options`.
fn header(repr: &Repr, options: &[u8], data_len: usize) -> [u8; ipv4::HEADER_LEN] {
    let mut bytes = repr.to_bytes(options.len() + data_len);
    bytes[0] += (options.len() / 4) as u8;
    if let Ok(mut header) = HeaderMut::new_checked(&mut bytes) {
        header.fill_checksum(options);
    }
    bytes
}

/// Options in a buffer, padded with end-of-list to a multiple of 4.
struct Copied {
    bytes: [u8; ipv4::OPTIONS_LEN_MAX],
    len: usize,
}

impl Copied {
    fn bytes(&self) -> &[u8] {
        self.bytes
            .get(..self.len.next_multiple_of(4))
            .unwrap_or_default()
    }
}

/// Returns the options that every fragment has (RFC 791, 3.1: the copied flag).
fn copied_options(packet: &Packet<'_>) -> Result<Copied, Unfragmentable> {
    let mut copied = Copied {
        bytes: [IpOption::END; ipv4::OPTIONS_LEN_MAX],
        len: 0,
    };
    for option in packet.options_iter() {
        let option = option.map_err(Unfragmentable::Option)?;
        if option.is_copied() {
            let end = copied.len + 2 + option.data.len();
            // All options fit into 40 bytes, so a subset does.
            if let Some([kind, len, data @ ..]) = copied.bytes.get_mut(copied.len..end) {
                (*kind, *len) = (option.kind, option.data.len() as u8 + 2);
                data.copy_from_slice(option.data);
            }
            copied.len = end;
        }
    }
    Ok(copied)
}

/// Fills `place` with `parts`, whose total length is equal.
fn concat(place: &mut [u8], parts: [&[u8]; 4]) {
    let mut rest = place;
    for part in parts {
        let (slot, after) = rest.split_at_mut(part.len());
        slot.copy_from_slice(part);
        rest = after;
    }
}

/// The bits of flags and offset that fragmentation sets; DF and the reserved bit stay unchanged.
const OFFSET_AND_MORE: u16 = 0x3fff;

#[cfg(test)]
mod tests;
