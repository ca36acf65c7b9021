//! Fragments IPv6 packets (RFC 8200, 4.5). Only the sender fragments, and a router that has reassembled a
//! packet that its sender fragmented.

use wire::{Protocol, ipv6};

use super::{Unfragmentable, concat};
use crate::segment::all_or_none;
use crate::{Frame, Offload, Pool};

/// Appends the fragments of an IPv6 packet to `out` in order; returns their number.
///
/// Works as [`super::fragment()`], for a packet without fragment header. `id` must differ between packets
/// with equal addresses for as long as their fragments may be on the way.
///
/// # Errors
/// The reason; `out` is unchanged.
pub fn fragment6(
    pool: &mut Pool,
    frame: &Frame,
    mtu: usize,
    id: u32,
    out: &mut Vec<Frame>,
) -> Result<usize, Unfragmentable> {
    if !frame.offload.is_finished() {
        return Err(Unfragmentable::Unfinished);
    }
    let (link, bytes) = frame
        .bytes()
        .split_at_checked(usize::from(frame.l3))
        .unwrap_or_default();
    let packet = ipv6::Packet::new_checked(bytes).map_err(Unfragmentable::Ipv6)?;
    let cut = Cut::of(&packet).map_err(Unfragmentable::Ipv6)?;
    let (head, _) = bytes.split_at_checked(cut.at).unwrap_or_default();
    let data = packet.payload().get(cut.at - ipv6::HEADER_LEN..);
    let mut rest = data.unwrap_or_default();
    let room = mtu.saturating_sub(head.len() + ipv6::FRAGMENT_HEADER_LEN) / 8 * 8;
    if room == 0 {
        return Err(Unfragmentable::Mtu);
    }
    all_or_none(pool, out, |pool, out| {
        let mut offset = 0;
        loop {
            let (data, after) = rest.split_at(rest.len().min(room));
            let header = ipv6::Fragment {
                next_header: cut.next_header,
                offset,
                more: !after.is_empty(),
                id,
            };
            let header = header.to_bytes();
            let len = link.len() + head.len() + header.len() + data.len();
            let mut piece = pool.alloc(len).ok_or(Unfragmentable::NoBuffer)?;
            concat(piece.bytes_mut(), [link, head, &header, data]);
            piece.copy_meta(frame);
            piece.offload = Offload::FINISHED;
            let payload = head.len() - ipv6::HEADER_LEN + header.len() + data.len();
            announce(&mut piece, cut.announced_at, payload as u16);
            out.push(piece);
            if after.is_empty() {
                return Ok(());
            }
            rest = after;
            offset += data.len() as u16;
        }
    })
}

/// Position of the fragment header, relative to the fixed header.
struct Cut {
    at: usize,
    /// Offset of the next header field that announces it.
    announced_at: usize,
    /// The next header value at this position in the whole packet.
    next_header: Protocol,
}

impl Cut {
    /// Finds the position after the per-fragment headers: hop-by-hop options, and headers up to routing.
    fn of(packet: &ipv6::Packet<'_>) -> Result<Self, ipv6::Malformed> {
        let mut cut = Self {
            at: ipv6::HEADER_LEN,
            announced_at: NEXT_HEADER_AT,
            next_header: packet.next_header(),
        };
        for extension in packet.extensions() {
            let extension = extension?;
            if matches!(extension.kind, Protocol::HOP_BY_HOP | Protocol::ROUTING) {
                let begin = ipv6::HEADER_LEN + extension.at;
                cut = Self {
                    at: begin + extension.bytes.len(),
                    announced_at: begin,
                    next_header: Protocol(extension.bytes.first().copied().unwrap_or_default()),
                };
            }
        }
        Ok(cut)
    }
}

/// Updates the headers of a fragment: payload length, and next header value of a fragment header.
fn announce(piece: &mut Frame, announced_at: usize, payload_len: u16) {
    let l3 = usize::from(piece.l3);
    let Some(packet) = piece.bytes_mut().get_mut(l3..) else {
        return;
    };
    if let Some(announced) = packet.get_mut(announced_at) {
        *announced = Protocol::FRAGMENT.0;
    }
    if let Ok(mut header) = ipv6::HeaderMut::new_checked(packet) {
        header.set_payload_len(payload_len);
    }
}

/// Offset of the next header field in an IPv6 header.
const NEXT_HEADER_AT: usize = 6;
