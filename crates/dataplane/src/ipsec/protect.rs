//! IPsec protection of packets for transmission: ESP or AH, in transport or tunnel mode.

use esp::Sealing;
use esp::ah::Protecting;
use frame::{Frame, InterfaceId, IpsecState, Offload, Pool, Segmentation, Vector};
use smallvec::SmallVec;
use wire::checksum;

use super::associations::{Mode, Protocol};
use super::decapsulate::reason;
use super::path::{BATCH, Paths, PreparedLeaving};
use crate::drop::DropReason;
use crate::encap::{self, ETHERNET, Nexts, make_room, tos};
use crate::flow::upper4;
use crate::outlet::Outlet;
use crate::packet::protocol::{IPIP as IPV4, IPV6};
use crate::table::Adjacency;
use crate::walk::Context;

/// Protects frames by the associations of their policies, whose slots are in `Frame::waits_for`, and
/// sends the frames on.
pub(crate) fn protect(
    cx: &Context<'_>,
    frames: &mut Vector,
    nexts: &mut Nexts,
    outlet: &mut Outlet,
) {
    if !frames.frames().iter().any(is_merged) {
        return protect_all(cx, frames, nexts, outlet);
    }
    let mut ready = core::mem::take(&mut outlet.protecting);
    for frame in frames.drain() {
        match is_merged(&frame) {
            true => cut(frame, &mut ready, outlet),
            false => ready.push(frame),
        }
    }
    let mut whole = ready.drain(..).peekable();
    while whole.peek().is_some() {
        while !frames.is_full()
            && let Some(frame) = whole.next()
        {
            if let Err(frame) = frames.push(frame) {
                outlet.lose(frame, DropReason::AgendaFull);
            }
        }
        protect_all(cx, frames, nexts, outlet);
    }
    drop(whole);
    outlet.protecting = ready;
}

/// Returns true if a frame holds several packets, to be split before protection.
fn is_merged(frame: &Frame) -> bool {
    let segmentation = frame.offload.segmentation;
    !matches!(segmentation, Segmentation::None | Segmentation::Fragments)
}

/// Splits a merged frame into its packets.
fn cut(frame: Frame, ready: &mut Vec<Frame>, outlet: &mut Outlet) {
    let mut pieces = core::mem::take(&mut outlet.pieces);
    match frame::segment(&mut outlet.pool, &frame, &mut pieces) {
        Ok(_) => {
            ready.append(&mut pieces);
            outlet.pool.free(frame);
        }
        Err(_) => outlet.lose(frame, DropReason::NoBuffer),
    }
    outlet.pieces = pieces;
}

/// Protects the frames of a vector, with one packet each, in place, and sends them on.
fn protect_all(cx: &Context<'_>, frames: &mut Vector, nexts: &mut Nexts, outlet: &mut Outlet) {
    let reader = cx.snapshot.ipsec.associations.leaving_reader();
    let mut id = outlet.memory.rules.random() as u16;
    let mut at = 0;
    let mut paths = Paths::new(cx, &reader);
    for batch in frames.frames_mut().chunks_mut(BATCH) {
        paths.next_batch();
        let mut parts: SmallVec<[ProtectedPart; BATCH]> = SmallVec::new();
        for frame in &mut *batch {
            id = id.wrapping_add(1);
            parts.push(prepare(frame, &mut paths, id, &mut outlet.pool));
        }
        encrypt(&paths, batch, &mut parts);
        for (frame, part) in batch.iter_mut().zip(&parts) {
            let next = match part.lost {
                None => {
                    frame.l3 = ETHERNET as u16;
                    frame.guarded = IpsecState::Protected;
                    nexts.by(cx, frame, paths.direct(paths.get(part.path)), outlet)
                }
                Some(reason) => encap::Next::Lost(reason),
            };
            nexts.set(at, next);
            at += 1;
        }
    }
    nexts.send(cx, frames, outlet);
}

/// The protected part of a frame.
struct ProtectedPart {
    /// Position of the frame's path.
    path: u8,
    /// Protocol of the payload.
    next_header: u8,
    /// Bytes of the payload.
    payload: u32,
    /// The reason to drop the frame.
    lost: Option<DropReason>,
}

/// Writes the headers of a frame in front of its payload.
#[inline(always)]
fn prepare(
    frame: &mut Frame,
    paths: &mut Paths<'_, '_>,
    id: u16,
    pool: &mut Pool,
) -> ProtectedPart {
    let mut part = ProtectedPart {
        path: 0,
        next_header: 0,
        payload: 0,
        lost: Some(DropReason::IpsecNoKeys),
    };
    let Some(path) = paths.find(frame.waits_for()) else {
        return part;
    };
    part.path = path;
    match lay_out(frame, &paths.get(path).prepared, id, pool) {
        Ok(layout) => {
            part.next_header = layout.next_header;
            part.payload = layout.payload as u32;
            part.lost = None;
        }
        Err(reason) => part.lost = Some(reason),
    }
    part
}

/// Protects the frames of a batch: ESP frames together, and AH frames together.
fn encrypt(paths: &Paths<'_, '_>, batch: &mut [Frame], parts: &mut [ProtectedPart]) {
    let mut sealing: SmallVec<[Sealing<'_>; BATCH]> = SmallVec::new();
    let mut signing: SmallVec<[Protecting<'_>; 1]> = SmallVec::new();
    for (frame, part) in batch.iter_mut().zip(&*parts) {
        if part.lost.is_some() {
            continue;
        }
        let leaving = paths.get(part.path).prepared.leaving;
        let from = match leaving.protocol {
            Protocol::Esp => usize::from(frame.l3),
            // AH authenticates the headers, too.
            Protocol::Ah => ETHERNET,
        };
        let bytes = frame.bytes_mut().get_mut(from..).unwrap_or_default();
        let (sa, next_header) = (&leaving.sa, part.next_header);
        match leaving.protocol {
            Protocol::Esp => {
                sealing.push(Sealing::new(sa, bytes, part.payload as usize, next_header));
            }
            Protocol::Ah => signing.push(Protecting::new(sa, bytes, next_header)),
        }
    }
    esp::seal(&mut sealing);
    esp::ah::protect(&mut signing);
    let (mut sealed, mut signed) = (sealing.iter(), signing.iter());
    for part in parts.iter_mut().filter(|part| part.lost.is_none()) {
        let fault = match paths.get(part.path).prepared.leaving.protocol {
            Protocol::Esp => sealed.next().and_then(|one| one.outcome.err()),
            Protocol::Ah => signed.next().and_then(|one| one.outcome.err()),
        };
        part.lost = fault.map(reason);
    }
}

/// Encapsulates a frame for the association in this slot without encryption and authentication, for
/// a trace: uses no sequence number. Returns the next hop if no rule applies to the outer packet.
///
/// # Errors
/// The policy has no association, or the association cannot carry the packet.
pub(crate) fn protect_unencrypted(
    cx: &Context<'_>,
    slot: u32,
    frame: &mut Frame,
    pool: &mut Pool,
) -> Result<Option<Adjacency>, DropReason> {
    let reader = cx.snapshot.ipsec.associations.leaving_reader();
    let leaving = reader.get(slot).ok_or(DropReason::IpsecNoKeys)?;
    lay_out(frame, &PreparedLeaving::new(leaving), 0, pool)?;
    frame.l3 = ETHERNET as u16;
    frame.guarded = IpsecState::Protected;
    frame.egress = InterfaceId::NONE;
    Ok(encap::beside_ipsec(cx, leaving.remote.ip()))
}

/// Completes checksums, which are part of the protected bytes, writes the headers of the
/// association, and makes room for padding and authentication data. `id` is the identification of
/// an outer IPv4 header.
#[inline(always)]
fn lay_out(
    frame: &mut Frame,
    prepared: &PreparedLeaving<'_>,
    id: u16,
    pool: &mut Pool,
) -> Result<ProtectionLayout, DropReason> {
    let PreparedLeaving { header, leaving } = prepared;
    if !frame.offload.is_finished() {
        let offload = frame.offload;
        frame::finish_checksum(frame.bytes_mut(), &offload)
            .map_err(|_| DropReason::OffloadMalformed)?;
    }
    encap::mark_encapsulated(frame)?;
    let l3 = usize::from(frame.l3);
    if let Some(port) = &leaving.peer_port {
        port.restore(frame.bytes_mut().get_mut(l3..).unwrap_or_default());
    }
    let packet = frame.bytes().get(l3..).unwrap_or_default();
    let layout = layout(packet, leaving.mode)?;
    let (front, back) = leaving.room(layout.payload);
    let more = header.len + front + ETHERNET;
    make_room(frame, layout.kept + layout.payload, more, back, pool)?;
    write(frame, prepared, layout, front, back, id)?;
    Ok(layout)
}

/// The layout of a packet for its association.
#[derive(Clone, Copy)]
struct ProtectionLayout {
    /// Bytes of the packet's own header that stay in front; 0 in tunnel mode.
    kept: usize,
    /// Bytes of the protected payload.
    payload: usize,
    /// Protocol number of the payload.
    next_header: u8,
}

/// Returns how a packet, from its network header on, is protected.
#[inline(always)]
fn layout(packet: &[u8], mode: Mode) -> Result<ProtectionLayout, DropReason> {
    let malformed = DropReason::IpsecMalformed;
    let ipv6 = packet.first().ok_or(malformed)? >> 4 == 6;
    let (header, total, protocol) = match ipv6 {
        true => {
            let header = packet.first_chunk::<40>().ok_or(malformed)?;
            let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
            (40, 40 + payload, header[6])
        }
        false => {
            let header = packet.first_chunk::<20>().ok_or(malformed)?;
            let total = u16::from_be_bytes([header[2], header[3]]);
            (
                usize::from(header[0] & 0xf) * 4,
                usize::from(total),
                header[9],
            )
        }
    };
    if total > packet.len() || header > total {
        return Err(malformed);
    }
    if mode == Mode::Tunnel {
        return Ok(ProtectionLayout {
            kept: 0,
            payload: total,
            next_header: if ipv6 { IPV6 } else { IPV4 },
        });
    }
    // Hop-by-hop options, routing and fragment headers are for routers on the way; transport
    // mode protects whole datagrams (RFC 4303, 3.1.1; RFC 4302, 3.3.4).
    let fragment = !ipv6 && upper4(packet).is_some_and(|upper| upper.fragment);
    match fragment || ipv6 && matches!(protocol, 0 | 43 | 44) {
        true => Err(DropReason::IpsecHeaders),
        false => Ok(ProtectionLayout {
            kept: header,
            payload: total - header,
            next_header: protocol,
        }),
    }
}

/// Writes all headers except that of ESP or AH. The frame is then
/// `Ethernet | IP | (UDP) | payload`, and `l3` is the offset of the payload until it is protected. Protection adds
/// `front` bytes in front of the payload and `back` bytes behind it.
#[inline(always)]
fn write(
    frame: &mut Frame,
    prepared: &PreparedLeaving<'_>,
    layout: ProtectionLayout,
    front: usize,
    back: usize,
    id: u16,
) -> Result<(), DropReason> {
    let l3 = usize::from(frame.l3);
    let tos = tos(frame.bytes().get(l3..).unwrap_or_default());
    let PreparedLeaving { header, leaving } = prepared;
    let more = header.len + front;
    frame.pull_front(l3);
    let total = more + layout.kept + layout.payload + back;
    let fits = frame.push_front(more + ETHERNET) && frame.set_len(ETHERNET + total);
    let bytes = frame.bytes_mut();
    if !fits || u16::try_from(total).is_err() || bytes.len() < ETHERNET + total {
        return Err(DropReason::NoBuffer);
    }
    let packet = bytes.get_mut(ETHERNET..).unwrap_or_default();
    if leaving.mode == Mode::Transport {
        packet.copy_within(more..more + layout.kept, 0);
        rewrite(
            packet.get_mut(..layout.kept).unwrap_or_default(),
            total,
            header.protocol,
        );
    }
    let own = packet.get_mut(layout.kept..).unwrap_or_default();
    header.write(own, total - layout.kept, tos, id);
    frame.l3 = (ETHERNET + layout.kept + header.len) as u16;
    frame.offload = Offload::FINISHED;
    Ok(())
}

/// Writes another length and protocol into the header of a packet.
pub(super) fn rewrite(header: &mut [u8], total: usize, protocol: u8) {
    let len = header.len();
    match header {
        [first, _, _, _, a, b, next, ..] if *first >> 4 == 6 => {
            [*a, *b] = ((total - len.min(total)) as u16).to_be_bytes();
            *next = protocol;
        }
        [_, _, a, b, _, _, _, _, _, next, c, d, ..] => {
            [*a, *b] = (total as u16).to_be_bytes();
            *next = protocol;
            [*c, *d] = [0, 0];
            let sum = !checksum::sum(header);
            if let Some(place) = header.get_mut(10..12) {
                place.copy_from_slice(&sum.to_be_bytes());
            }
        }
        _ => {}
    }
}
