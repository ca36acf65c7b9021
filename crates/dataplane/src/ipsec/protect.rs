//! IPsec protection of packets for transmission: ESP or AH, in transport or tunnel mode.

use std::sync::Arc;

use esp::ah::Protecting;
use esp::{Fault, Sealing};
use frame::{Frame, InterfaceId, IpsecState, Offload, Pool, Segmentation, VECTOR_FRAMES, Vector};
use smallvec::SmallVec;
use wire::checksum;

use super::associations::{Leaving, Mode, Protocol};
use crate::drop::DropReason;
use crate::encap::{self, ETHERNET, IP_BYTES, Nexts, Outer, UDP_BYTES, make_room, tos, write_udp};
use crate::flow::upper4;
use crate::outlet::Outlet;
use crate::packet::protocol::{AH, ESP, IPIP as IPV4, IPV6, UDP};
use crate::table::Adjacency;
use crate::walk::Context;

/// Packets that are encrypted together.
const BATCH: usize = 64;

/// The paths of a vector's packets: one association for each policy.
#[derive(Default)]
pub(crate) struct AssociationPaths {
    paths: Vec<AssociationPath>,
}

struct AssociationPath {
    slot: u32,
    leaving: Arc<Leaving>,
    /// The next hop, if no rule applies to the outer packets.
    direct: Option<Adjacency>,
}

impl AssociationPaths {
    /// Returns the index of a policy's path; `None` if the policy has no association. Consecutive
    /// packets often have one policy.
    fn find(&mut self, cx: &Context<'_>, slot: u32) -> Option<usize> {
        if let Some(last) = self.paths.len().checked_sub(1)
            && self.paths[last].slot == slot
        {
            return Some(last);
        }
        let leaving = cx.snapshot.ipsec.associations.leaving(slot)?;
        let leaving = Arc::clone(leaving.as_ref()?);
        let direct = encap::beside_ipsec(cx, leaving.remote.ip());
        self.paths.push(AssociationPath {
            slot,
            leaving,
            direct,
        });
        Some(self.paths.len() - 1)
    }
}

/// Protects frames by the associations of their policies, whose slots are in `frame.below`, and
/// sends the frames on.
pub(crate) fn protect(
    cx: &Context<'_>,
    frames: &mut Vector,
    nexts: &mut Nexts,
    paths: &mut AssociationPaths,
    outlet: &mut Outlet,
) {
    if !frames.frames().iter().any(is_merged) {
        return protect_all(cx, frames, nexts, paths, outlet);
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
        protect_all(cx, frames, nexts, paths, outlet);
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

/// The protected part of a packet: its layout, its length in bytes, and the index of its path.
#[derive(Clone, Copy)]
struct ProtectedPart {
    next_header: u8,
    payload: usize,
    path: usize,
}

/// The protected part of each frame of a vector by index, or the reason to drop the frame.
type Load = [Result<ProtectedPart, DropReason>; VECTOR_FRAMES];

/// Protects the frames of a vector, with one packet each, in place.
fn protect_all(
    cx: &Context<'_>,
    frames: &mut Vector,
    nexts: &mut Nexts,
    paths: &mut AssociationPaths,
    outlet: &mut Outlet,
) {
    let mut load: Load = [Err(DropReason::IpsecNoKeys); VECTOR_FRAMES];
    for (frame, place) in frames.frames_mut().iter_mut().zip(&mut load) {
        if let Some(path) = paths.find(cx, frame.below.0) {
            let id = outlet.memory.rules.random() as u16;
            let leaving = &paths.paths[path].leaving;
            let laid_out = lay_out(frame, leaving, id, &mut outlet.pool);
            *place = laid_out.map(|layout| ProtectedPart {
                next_header: layout.next_header,
                payload: layout.payload,
                path,
            });
        }
    }
    protect_batches(cx, paths, frames, &load, nexts, outlet);
    paths.paths.clear();
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
    let leaving = cx.snapshot.ipsec.associations.leaving(slot);
    let leaving = leaving.as_ref().and_then(|leaving| leaving.as_ref());
    let leaving = leaving.ok_or(DropReason::IpsecNoKeys)?;
    lay_out(frame, leaving, 0, pool)?;
    frame.l3 = ETHERNET as u16;
    frame.guarded = IpsecState::Protected;
    frame.egress = InterfaceId::NONE;
    Ok(encap::beside_ipsec(cx, leaving.remote.ip()))
}

/// Completes checksums, which are part of the protected bytes, writes the headers of the
/// association, and makes room for padding and authentication data. `id` is the identification of
/// an outer IPv4 header.
fn lay_out(
    frame: &mut Frame,
    leaving: &Leaving,
    id: u16,
    pool: &mut Pool,
) -> Result<ProtectionLayout, DropReason> {
    let offload = frame.offload;
    frame::finish_checksum(frame.bytes_mut(), &offload)
        .map_err(|_| DropReason::OffloadMalformed)?;
    encap::mark_encapsulated(frame)?;
    let l3 = usize::from(frame.l3);
    let packet = frame.bytes().get(l3..).unwrap_or_default();
    let layout = layout(packet, leaving.mode)?;
    let (front, back) = leaving.room(layout.payload);
    let more = outer(leaving) + front + ETHERNET;
    make_room(frame, layout.kept + layout.payload, more, back, pool)?;
    write(frame, leaving, layout, id)?;
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
    let fragment = !ipv6 && upper4(packet).is_some_and(|upper| upper.fragment);
    let whole = if ipv6 { IPV6 } else { IPV4 };
    match mode {
        Mode::Tunnel => Ok(ProtectionLayout {
            kept: 0,
            payload: total,
            next_header: whole,
        }),
        // Hop-by-hop options, routing and fragment headers are for routers on the way; transport
        // mode protects whole datagrams (RFC 4303, 3.1.1; RFC 4302, 3.3.4).
        Mode::Transport if fragment || ipv6 && matches!(protocol, 0 | 43 | 44) => {
            Err(DropReason::IpsecHeaders)
        }
        Mode::Transport => Ok(ProtectionLayout {
            kept: header,
            payload: total - header,
            next_header: protocol,
        }),
    }
}

/// Returns the bytes in front of ESP or AH that protection adds.
fn outer(leaving: &Leaving) -> usize {
    let ip = match leaving.mode {
        Mode::Transport => 0,
        Mode::Tunnel => IP_BYTES[usize::from(leaving.remote.is_ipv6())],
    };
    ip + if leaving.in_udp { UDP_BYTES } else { 0 }
}

/// Writes all headers except that of ESP or AH. The frame is then
/// `Ethernet | IP | (UDP) | payload`, and `l3` is the offset of the payload until it is protected.
fn write(
    frame: &mut Frame,
    leaving: &Leaving,
    layout: ProtectionLayout,
    id: u16,
) -> Result<(), DropReason> {
    let l3 = usize::from(frame.l3);
    let tos = tos(frame.bytes().get(l3..).unwrap_or_default());
    let (front, back) = leaving.room(layout.payload);
    let more = outer(leaving) + front;
    frame.pull_front(l3);
    let total = more + layout.kept + layout.payload + back;
    let fits = frame.push_front(more + ETHERNET) && frame.set_len(ETHERNET + total);
    let bytes = frame.bytes_mut();
    if !fits || u16::try_from(total).is_err() || bytes.len() < ETHERNET + total {
        return Err(DropReason::NoBuffer);
    }
    let kept = ETHERNET + more..ETHERNET + more + layout.kept;
    bytes.copy_within(kept, ETHERNET);
    let udp = if leaving.in_udp { UDP_BYTES } else { 0 };
    let protocol = match leaving.protocol {
        _ if leaving.in_udp => UDP,
        Protocol::Esp => ESP,
        Protocol::Ah => AH,
    };
    let ip = match leaving.mode {
        Mode::Transport => layout.kept,
        Mode::Tunnel => IP_BYTES[usize::from(leaving.remote.is_ipv6())],
    };
    let header = bytes.get_mut(ETHERNET..ETHERNET + ip).unwrap_or_default();
    match leaving.mode {
        // ECN bits are copied (RFC 6040, 4.1). The outer packet may be fragmented: the sender of an
        // inner packet that does not fit has already got an ICMP error.
        Mode::Tunnel => Outer {
            ends: (leaving.local.ip(), leaving.remote.ip()),
            protocol,
            tos,
            total,
            id,
        }
        .write(header),
        Mode::Transport => rewrite(header, total, protocol),
    }
    if udp > 0
        && let Some(place) = bytes.get_mut(ETHERNET + ip..ETHERNET + ip + UDP_BYTES)
    {
        // The checksum is "transmitted as a zero value" (RFC 3948, 2.1).
        let (from, to) = (leaving.local.port(), leaving.remote.port());
        write_udp(place, from, to, total - ip);
    }
    frame.l3 = (ETHERNET + ip + udp) as u16;
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

/// Protects the frames of a vector, and sends all frames on.
fn protect_batches(
    cx: &Context<'_>,
    AssociationPaths { paths }: &AssociationPaths,
    frames: &mut Vector,
    load: &Load,
    nexts: &mut Nexts,
    outlet: &mut Outlet,
) {
    for (from, batch) in (0..)
        .step_by(BATCH)
        .zip(frames.frames_mut().chunks_mut(BATCH))
    {
        let load = load.get(from..).unwrap_or_default();
        let (sealed, signed) = faults(paths, batch, load);
        let (mut sealed, mut signed) = (sealed.into_iter(), signed.into_iter());
        for (at, (frame, carried)) in (from..).zip(batch.iter_mut().zip(load)) {
            let next = match carried {
                Ok(carried) => {
                    let path = &paths[carried.path];
                    frame.l3 = ETHERNET as u16;
                    frame.guarded = IpsecState::Protected;
                    let fault = match path.leaving.protocol {
                        Protocol::Esp => sealed.next(),
                        Protocol::Ah => signed.next(),
                    };
                    match fault.flatten() {
                        None => nexts.by(cx, frame, path.direct.as_ref(), outlet),
                        Some(fault) => encap::Next::Lost(super::decapsulate::reason(fault)),
                    }
                }
                Err(reason) => encap::Next::Lost(*reason),
            };
            nexts.set(at, next);
        }
    }
    nexts.send(cx, frames, outlet);
}

/// The result for each frame of a batch, in order.
type Faults = SmallVec<[Option<Fault>; BATCH]>;

/// Protects the frames of a batch: ESP frames together, and AH frames together.
fn faults(
    paths: &[AssociationPath],
    batch: &mut [Frame],
    load: &[Result<ProtectedPart, DropReason>],
) -> (Faults, Faults) {
    let mut sealing: SmallVec<[Sealing<'_>; BATCH]> = SmallVec::new();
    let mut signing: SmallVec<[Protecting<'_>; 1]> = SmallVec::new();
    for (frame, carried) in batch.iter_mut().zip(load) {
        let Ok(carried) = carried else { continue };
        let leaving = &paths[carried.path].leaving;
        let from = match leaving.protocol {
            Protocol::Esp => usize::from(frame.l3),
            // AH authenticates the headers, too.
            Protocol::Ah => ETHERNET,
        };
        let bytes = frame.bytes_mut().get_mut(from..).unwrap_or_default();
        let (sa, next_header) = (&leaving.sa, carried.next_header);
        match leaving.protocol {
            Protocol::Esp => sealing.push(Sealing::new(sa, bytes, carried.payload, next_header)),
            Protocol::Ah => signing.push(Protecting::new(sa, bytes, next_header)),
        }
    }
    esp::seal(&mut sealing);
    esp::ah::protect(&mut signing);
    (
        sealing.iter().map(|one| one.outcome.err()).collect(),
        signing.iter().map(|one| one.outcome.err()).collect(),
    )
}
