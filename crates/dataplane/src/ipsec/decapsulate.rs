//! Reception of IPsec: decapsulates packets of ESP and AH, and returns them to prerouting on their
//! ingress interface.

use std::sync::Arc;

use esp::ah::{Verified, Verifying};
use esp::{Fault, Opened, Opening};
use frame::{Frame, InterfaceId, IpsecState, Offload, Segmentation};
use smallvec::SmallVec;

use super::associations::{Arriving, Mode, Protocol};
use super::policies::{Action, Policy};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::encap::{self, DEPTH, ETHERNET, UDP_BYTES, congest, settle, tos};
use crate::flow::{self, Upper};
use crate::outlet::Outlet;
use crate::packet::Fields;
use crate::packet::protocol::{AH, ESP, IPIP as IPV4, IPV6, TCP, UDP};
use crate::walk::{Context, Exit};

/// The UDP port of ESP with NAT traversal (RFC 3948).
const PORT: u16 = 4500;
/// Packets that are decrypted together.
const BATCH: usize = 64;
/// Next header of a dummy packet (RFC 4303, 2.6).
const DUMMY: u8 = 59;

/// Returns the exit of an ESP or AH packet for this router; `None` for any other packet.
#[inline]
pub(crate) fn arrival(cx: &Context<'_>, packet: &[u8]) -> Option<Exit> {
    let associations = &cx.snapshot.ipsec.associations;
    if cx.snapshot.ipsec.is_empty() && associations.is_empty() {
        return None;
    }
    let upper = upper(packet)?;
    match upper.protocol {
        ESP | AH if upper.fragment => return Some(Exit::Collect),
        // Only the first fragment has the ports, so any fragment may belong to ESP in UDP and must
        // be reassembled first.
        UDP if upper.fragment => return (!associations.is_empty()).then_some(Exit::Collect),
        ESP | AH | UDP => {}
        _ => return None,
    }
    let (at, kind) = protocol_offset(packet, &upper)?;
    match kind {
        // Multicast packets with AH belong to their protocol, such as VRRP (RFC 2338, 5.3.6.3).
        Kind::Of(Protocol::Ah) if is_to_group(packet) => None,
        Kind::Of(protocol) => Some(match named(cx, packet.get(at..)?, protocol) {
            Some(_) => Exit::Reveal,
            None => Exit::Drop(DropReason::IpsecUnknown),
        }),
        Kind::Keepalive => Some(Exit::Drop(DropReason::IpsecKeepalive)),
        Kind::Other => None,
    }
}

/// Returns true if the destination is a multicast address.
fn is_to_group(packet: &[u8]) -> bool {
    match packet.first().map_or(0, |first| first >> 4) {
        4 => packet.get(16).is_some_and(|first| first >> 4 == 0xe),
        _ => packet.get(24) == Some(&0xff),
    }
}

/// Returns the association of bytes that begin with an ESP or AH header.
fn named(cx: &Context<'_>, bytes: &[u8], protocol: Protocol) -> Option<Arc<Arriving>> {
    let spi = match protocol {
        Protocol::Esp => bytes.first_chunk()?,
        Protocol::Ah => bytes.get(4..)?.first_chunk()?,
    };
    let associations = &cx.snapshot.ipsec.associations;
    let by = associations.arriving(u32::from_be_bytes(*spi))?;
    (by.protocol == protocol).then_some(by)
}

fn upper(packet: &[u8]) -> Option<Upper> {
    match packet.first()? >> 4 {
        4 => flow::upper4(packet),
        _ => flow::upper6_or_ah(packet),
    }
}

/// The protocol behind the headers of a packet.
enum Kind {
    Of(Protocol),
    Keepalive,
    Other,
}

/// Returns the offset of ESP or AH in a packet, and the protocol.
fn protocol_offset(packet: &[u8], upper: &Upper) -> Option<(usize, Kind)> {
    match upper.protocol {
        ESP => return Some((upper.offset, Kind::Of(Protocol::Esp))),
        AH => return Some((upper.offset, Kind::Of(Protocol::Ah))),
        _ => {}
    }
    let datagram = packet.get(upper.offset..)?;
    let [_, _, a, b, ..] = *datagram.first_chunk::<UDP_BYTES>()?;
    if u16::from_be_bytes([a, b]) != PORT {
        return Some((0, Kind::Other));
    }
    let at = upper.offset + UDP_BYTES;
    Some(match datagram.get(UDP_BYTES..)? {
        [0xff] => (at, Kind::Keepalive),
        // A zero SPI marks IKE messages.
        [0, 0, 0, 0, ..] => (at, Kind::Other),
        _ => (at, Kind::Of(Protocol::Esp)),
    })
}

/// Returns the drop reason of packets that ESP or AH rejects.
pub(super) const fn reason(fault: Fault) -> DropReason {
    match fault {
        Fault::Replayed => DropReason::IpsecReplayed,
        Fault::Integrity => DropReason::IpsecIntegrity,
        Fault::Exhausted => DropReason::IpsecExhausted,
        _ => DropReason::IpsecMalformed,
    }
}

/// Decapsulates packets of ESP and AH, and queues their payloads for prerouting. Returns the
/// received packets and their bytes.
pub(crate) fn decapsulate(
    cx: &Context<'_>,
    frames: impl Iterator<Item = Frame>,
    count: usize,
    outlet: &mut Outlet,
) -> Traffic {
    let mut all = Traffic::default();
    let mut batch: SmallVec<[Sealed; BATCH]> = SmallVec::new();
    for frame in frames.take(count) {
        all.packets += 1;
        all.bytes += frame.len() as u64 + u64::from(frame.untagged);
        if frame.offload.segmentation == Segmentation::Udp {
            divide(cx, frame, &mut batch, outlet);
        } else {
            take(cx, frame, &mut batch, outlet);
        }
    }
    open_all(cx, &mut batch, outlet);
    all
}

/// An ESP or AH packet with its association.
struct Sealed {
    frame: Frame,
    by: Arc<Arriving>,
    /// Begin and end of the ESP or AH part in the frame.
    at: (usize, usize),
    outcome: Result<Opened, Fault>,
}

/// Adds a frame to a batch, and decapsulates the batch when it is full.
fn take(
    cx: &Context<'_>,
    frame: Frame,
    batch: &mut SmallVec<[Sealed; BATCH]>,
    outlet: &mut Outlet,
) {
    if frame.depth >= DEPTH {
        return outlet.discard(frame, DropReason::TunnelDepth);
    }
    let Some((by, at)) = association(cx, &frame) else {
        return outlet.discard(frame, DropReason::IpsecUnknown);
    };
    batch.push(Sealed {
        frame,
        by,
        at,
        outcome: Err(Fault::Malformed),
    });
    if batch.len() == BATCH {
        open_all(cx, batch, outlet);
    }
}

/// Splits merged datagrams, and adds each to the batch.
#[cold]
fn divide(
    cx: &Context<'_>,
    frame: Frame,
    batch: &mut SmallVec<[Sealed; BATCH]>,
    outlet: &mut Outlet,
) {
    let mut pieces = core::mem::take(&mut outlet.pieces);
    match frame::segment(&mut outlet.pool, &frame, &mut pieces) {
        Ok(_) => outlet.pool.free(frame),
        Err(_) => outlet.discard(frame, DropReason::OffloadMalformed),
    }
    for piece in pieces.drain(..) {
        take(cx, piece, batch, outlet);
    }
    outlet.pieces = pieces;
}

/// Returns the association of an ESP or AH packet, and begin and end of the ESP or AH part in the
/// frame.
fn association(cx: &Context<'_>, frame: &Frame) -> Option<(Arc<Arriving>, (usize, usize))> {
    let l3 = usize::from(frame.l3);
    let packet = frame.bytes().get(l3..)?;
    let upper = upper(packet)?;
    let (at, Kind::Of(protocol)) = protocol_offset(packet, &upper)? else {
        return None;
    };
    let total = match packet.first()? >> 4 {
        4 => u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]).into(),
        _ => 40 + usize::from(u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?])),
    };
    let by = named(cx, packet.get(at..total)?, protocol)?;
    Some((by, (l3 + at, l3 + total)))
}

/// Decapsulates the packets of a batch, and queues their payloads for prerouting.
fn open_all(cx: &Context<'_>, batch: &mut SmallVec<[Sealed; BATCH]>, outlet: &mut Outlet) {
    decrypt(batch);
    for sealed in batch.drain(..) {
        let Sealed {
            mut frame,
            by,
            at: (from, _),
            outcome,
        } = sealed;
        let decapsulated = { outcome.map_err(reason) }
            .and_then(|opened| decapsulate_packet(&mut frame, &by, from, opened))
            .and_then(|()| admit(cx, &frame, &by));
        match decapsulated {
            Ok(()) => {
                let item = Item::Arrived(frame.ingress);
                encap::put(&mut None, item, frame, outlet);
            }
            Err(reason) => outlet.discard(frame, reason),
        }
    }
}

/// Decrypts and verifies the packets of a batch: ESP packets together, and AH packets together.
fn decrypt(batch: &mut [Sealed]) {
    let mut opening: SmallVec<[Opening<'_>; BATCH]> = SmallVec::new();
    let mut verifying: SmallVec<[Verifying<'_>; 1]> = SmallVec::new();
    for Sealed { frame, by, at, .. } in &mut *batch {
        let (from, to) = match by.protocol {
            Protocol::Esp => *at,
            // AH authenticates the headers, too.
            Protocol::Ah => (usize::from(frame.l3), at.1),
        };
        let bytes = frame.bytes_mut().get_mut(from..to).unwrap_or_default();
        match by.protocol {
            Protocol::Esp => opening.push(Opening::new(&by.sa, bytes)),
            Protocol::Ah => verifying.push(Verifying::new(&by.sa, bytes)),
        }
    }
    esp::open(&mut opening);
    esp::ah::verify(&mut verifying);
    let opened: SmallVec<[_; BATCH]> = opening.into_iter().map(|one| one.outcome).collect();
    let verified: SmallVec<[_; 1]> = verifying.into_iter().map(|one| one.outcome).collect();
    let (mut opened, mut verified) = (opened.into_iter(), verified.into_iter());
    for sealed in batch {
        let outcome = match sealed.by.protocol {
            Protocol::Esp => opened.next(),
            Protocol::Ah => verified
                .next()
                .map(|one| one.map(|one| behind(one, sealed.at.0, sealed.at.1))),
        };
        sealed.outcome = outcome.unwrap_or(Err(Fault::Pending));
    }
}

/// Returns the payload behind AH in the form of a decrypted packet.
fn behind(verified: Verified, from: usize, to: usize) -> Opened {
    Opened {
        payload: verified.header.len()..to - from,
        next_header: verified.next_header,
        number: verified.number,
    }
}

/// Returns the policy that admits a packet out of IPsec, from its network header on; `None` if no
/// association could have carried it.
pub(crate) fn policy_of_revealed<'a>(cx: &Context<'a>, packet: &[u8]) -> Option<&'a Policy> {
    let policy = { &cx.snapshot.ipsec.policies }.inbound(&Fields::of(packet).tuple)?;
    matches!(policy.action, Action::Protect { .. }).then_some(policy)
}

/// Checks that a decapsulated packet matches the policy of its association (RFC 4301, 5.2).
fn admit(cx: &Context<'_>, frame: &Frame, by: &Arriving) -> Result<(), DropReason> {
    let packet = frame
        .bytes()
        .get(usize::from(frame.l3)..)
        .unwrap_or_default();
    match policy_of_revealed(cx, packet).map(|policy| policy.action) {
        Some(Action::Protect { slot, .. }) if slot == by.slot => Ok(()),
        _ => Err(DropReason::IpsecMismatch),
    }
}

/// Turns a frame into its decapsulated packet.
fn decapsulate_packet(
    frame: &mut Frame,
    by: &Arriving,
    from: usize,
    opened: Opened,
) -> Result<(), DropReason> {
    if opened.next_header == DUMMY {
        return Err(DropReason::IpsecDummy);
    }
    let payload = from + opened.payload.start..from + opened.payload.end;
    match by.mode {
        Mode::Tunnel => decapsulate_tunnel(frame, payload, opened.next_header)?,
        Mode::Transport => {
            decapsulate_transport(frame, from, payload, opened.next_header, by.in_udp)?
        }
    }
    frame.l3 = ETHERNET as u16;
    frame.depth += 1;
    frame.guarded = IpsecState::Revealed;
    frame.egress = InterfaceId::NONE;
    (frame.flow, frame.walked, frame.priority) = (0, false, 0);
    (frame.untagged, frame.came_priority) = (0, 0);
    Ok(())
}

type Range = core::ops::Range<usize>;

/// Decapsulates a packet in tunnel mode.
fn decapsulate_tunnel(
    frame: &mut Frame,
    payload: Range,
    next_header: u8,
) -> Result<(), DropReason> {
    let malformed = DropReason::IpsecMalformed;
    let l3 = usize::from(frame.l3);
    let congested = tos(frame.bytes().get(l3..).unwrap_or_default()) & 3 == 3;
    let inner = frame.bytes().get(payload.clone()).ok_or(malformed)?;
    let version = inner.first().ok_or(malformed)? >> 4;
    let (ethertype, total) = match (next_header, version, inner) {
        (IPV4, 4, [_, _, a, b, ..]) => ([0x08, 0x00], usize::from(u16::from_be_bytes([*a, *b]))),
        (IPV6, 6, [_, _, _, _, a, b, ..]) => {
            let payload = usize::from(u16::from_be_bytes([*a, *b]));
            ([0x86, 0xdd], 40 + payload)
        }
        _ => return Err(malformed),
    };
    if total > inner.len() || !frame.set_len(payload.start + total) {
        return Err(malformed);
    }
    settle(frame, payload.start, ethertype).ok_or(malformed)?;
    if congested {
        congest(frame)?;
    }
    Ok(())
}

/// Decapsulates a packet in transport mode: restores the header and removes ESP or AH behind it.
fn decapsulate_transport(
    frame: &mut Frame,
    from: usize,
    payload: Range,
    next_header: u8,
    translated: bool,
) -> Result<(), DropReason> {
    let malformed = DropReason::IpsecMalformed;
    let l3 = usize::from(frame.l3);
    let first = *frame.bytes().get(l3).ok_or(malformed)?;
    let ipv6 = first >> 4 == 6;
    let header = if ipv6 {
        40
    } else {
        usize::from(first & 0xf) * 4
    };
    let udp = if translated { UDP_BYTES } else { 0 };
    if from != l3 + header + udp {
        return Err(DropReason::IpsecHeaders);
    }
    let start = payload.start.checked_sub(header).ok_or(malformed)?;
    if !frame.set_len(payload.end) {
        return Err(malformed);
    }
    frame.bytes_mut().copy_within(l3..l3 + header, start);
    let ethertype = if ipv6 { [0x86, 0xdd] } else { [0x08, 0x00] };
    settle(frame, start, ethertype).ok_or(malformed)?;
    let packet = frame.bytes_mut().get_mut(ETHERNET..).unwrap_or_default();
    let total = packet.len();
    super::protect::rewrite(
        packet.get_mut(..header).unwrap_or_default(),
        total,
        next_header,
    );
    if translated {
        request_checksum(frame, header, next_header);
    }
    Ok(())
}

/// Requests a new checksum for a decapsulated packet, because NAT has changed the addresses that
/// the checksum covers (RFC 3948, 3.1.2). ESP has verified the payload.
fn request_checksum(frame: &mut Frame, header: usize, protocol: u8) {
    let place = match protocol {
        TCP => 16,
        UDP => 6,
        _ => return,
    };
    let packet = frame.bytes_mut().get_mut(ETHERNET..).unwrap_or_default();
    let ipv6 = packet.first().is_some_and(|first| first >> 4 == 6);
    let addresses = if ipv6 { 8..40 } else { 12..20 };
    let len = packet.len().saturating_sub(header);
    let mut pseudo = u32::from(protocol) + len as u32;
    for word in packet.get(addresses).unwrap_or_default().chunks_exact(2) {
        pseudo += u32::from(u16::from_be_bytes([word[0], word[1]]));
    }
    let Some(field) = packet.get_mut(header + place..header + place + 2) else {
        return;
    };
    // A datagram without a checksum keeps none.
    if protocol == UDP && field == [0, 0] {
        return;
    }
    pseudo = (pseudo >> 16) + (pseudo & 0xffff);
    pseudo = (pseudo >> 16) + (pseudo & 0xffff);
    field.copy_from_slice(&(pseudo as u16).to_be_bytes());
    frame.offload = Offload {
        needs_checksum: true,
        checksum_start: (ETHERNET + header) as u16,
        checksum_offset: place as u16,
        ..Offload::FINISHED
    };
}
