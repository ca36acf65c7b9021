//! Reception of IPsec: decapsulates packets of ESP and AH, and returns them to prerouting on their
//! ingress interface, in the batch that they arrived in.

use esp::ah::{Verified, Verifying};
use esp::{Fault, Opened, Opening};
use frame::{Frame, InterfaceId, IpsecState, Offload, Segmentation, VECTOR_FRAMES};
use smallvec::SmallVec;

use super::arrival::Arrivals;
use super::associations::{Arriving, Mode, Protocol};
use super::policies::{Action, Policy};
use super::policy_lookup::inbound_policy;
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::encap::{self, DEPTH, ETHERNET, UDP_BYTES, congest, settle, tos};
use crate::outlet::Outlet;
use crate::packet::protocol::{IPIP as IPV4, IPV6, TCP, UDP};
use crate::walk::Context;

/// Packets that are decrypted together.
const BATCH: usize = 64;
/// Next header of a dummy packet (RFC 4303, 2.6).
const DUMMY: u8 = 59;

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
    let reader = cx.snapshot.ipsec.associations.arriving_reader();
    let mut batch = Batch {
        cx,
        arrivals: Arrivals::new(&reader),
        frames: SmallVec::new(),
        sealed: SmallVec::new(),
        opened: None,
    };
    for frame in frames.take(count) {
        all.packets += 1;
        all.bytes += frame.len() as u64 + u64::from(frame.untagged);
        if frame.offload.segmentation == Segmentation::Udp {
            batch.divide(frame, outlet);
        } else {
            batch.add(frame, outlet);
        }
    }
    batch.open(outlet);
    batch.close(outlet);
    all
}

/// ESP and AH packets that are decrypted together, and the decapsulated packets before them.
struct Batch<'a, 'r> {
    cx: &'a Context<'a>,
    arrivals: Arrivals<'r>,
    frames: SmallVec<[Frame; BATCH]>,
    /// The protected part of each frame.
    sealed: SmallVec<[Sealed<'r>; BATCH]>,
    /// Decapsulated packets that are not on the agenda yet, and their common ingress interface.
    opened: Option<(InterfaceId, Vec<Frame>)>,
}

/// The protected part of a frame, with its association.
struct Sealed<'r> {
    by: &'r Arriving,
    /// The ESP or AH part in the frame.
    part: (u32, u32),
    /// The payload in the frame once decrypted, and its protocol.
    payload: (u32, u32),
    next_header: u8,
    /// The reason to drop the frame.
    lost: Option<DropReason>,
}

impl Sealed<'_> {
    /// Stores the result of decryption. Single fields are stored and loaded: a value that is copied as a whole right
    /// after its parts were written waits for them.
    #[inline(always)]
    fn store(&mut self, outcome: &Result<Opened, Fault>) {
        match outcome {
            Ok(opened) => {
                let payload = &opened.payload;
                self.payload = (
                    self.part.0 + payload.start as u32,
                    self.part.0 + payload.end as u32,
                );
                self.next_header = opened.next_header;
                self.lost = None;
            }
            Err(fault) => self.lost = Some(reason(*fault)),
        }
    }
}

impl Batch<'_, '_> {
    /// Adds a frame, and opens the batch when it is full.
    #[inline(always)]
    fn add(&mut self, frame: Frame, outlet: &mut Outlet) {
        if frame.depth >= DEPTH {
            return outlet.discard(frame, DropReason::TunnelDepth);
        }
        let Some((by, part)) = self.arrivals.part(&frame) else {
            return outlet.discard(frame, DropReason::IpsecUnknown);
        };
        self.frames.push(frame);
        self.sealed.push(Sealed {
            by,
            part: (part.start as u32, part.end as u32),
            payload: (0, 0),
            next_header: 0,
            lost: Some(DropReason::IpsecMalformed),
        });
        if self.frames.len() == BATCH {
            self.open(outlet);
        }
    }

    /// Splits merged datagrams, and adds each.
    #[cold]
    fn divide(&mut self, frame: Frame, outlet: &mut Outlet) {
        let mut pieces = core::mem::take(&mut outlet.pieces);
        match frame::segment(&mut outlet.pool, &frame, &mut pieces) {
            Ok(_) => outlet.pool.free(frame),
            Err(_) => outlet.discard(frame, DropReason::OffloadMalformed),
        }
        for piece in pieces.drain(..) {
            self.add(piece, outlet);
        }
        outlet.pieces = pieces;
    }

    /// Decapsulates the packets, and queues their payloads for prerouting.
    fn open(&mut self, outlet: &mut Outlet) {
        decrypt(&mut self.frames, &mut self.sealed);
        for (frame, sealed) in self.frames.iter_mut().zip(&mut self.sealed) {
            if sealed.lost.is_none() {
                sealed.lost = decapsulate_packet(frame, sealed)
                    .and_then(|()| admit(self.cx, frame, sealed.by))
                    .err();
            }
        }
        let mut frames = core::mem::take(&mut self.frames);
        for (frame, sealed) in frames.drain(..).zip(&self.sealed) {
            match sealed.lost {
                None => put(&mut self.opened, frame, outlet),
                Some(reason) => outlet.discard(frame, reason),
            }
        }
        self.frames = frames;
        self.sealed.clear();
    }

    /// Queues the decapsulated packets that are left.
    fn close(self, outlet: &mut Outlet) {
        if let Some((ingress, frames)) = self.opened {
            outlet.agenda.put_batch(Item::Arrived(ingress), frames);
        }
    }
}

/// Adds a decapsulated packet to the packets of its ingress interface, or queues it alone if the agenda has no room for
/// them together.
#[inline(always)]
fn put(opened: &mut Option<(InterfaceId, Vec<Frame>)>, frame: Frame, outlet: &mut Outlet) {
    let item = Item::Arrived(frame.ingress);
    match opened {
        Some((ingress, frames))
            if *ingress == frame.ingress
                && frames.len() < VECTOR_FRAMES
                && outlet.agenda.has_room_for(item, frames.len() + 1) =>
        {
            frames.push(frame);
        }
        _ => begin(opened, frame, outlet),
    }
}

/// Queues the packets of another ingress interface, and begins with this one.
#[inline(never)]
fn begin(opened: &mut Option<(InterfaceId, Vec<Frame>)>, frame: Frame, outlet: &mut Outlet) {
    if let Some((ingress, frames)) = opened.take() {
        outlet.agenda.put_batch(Item::Arrived(ingress), frames);
    }
    let item = Item::Arrived(frame.ingress);
    match outlet.agenda.batch(item, 1) {
        Some(mut frames) => {
            let ingress = frame.ingress;
            frames.push(frame);
            *opened = Some((ingress, frames));
        }
        None => encap::put(&mut None, item, frame, outlet),
    }
}

/// Decrypts and verifies the packets of a batch: ESP packets together, and AH packets together.
fn decrypt(frames: &mut [Frame], sealed: &mut [Sealed<'_>]) {
    let mut opening: SmallVec<[Opening<'_>; BATCH]> = SmallVec::new();
    let mut verifying: SmallVec<[Verifying<'_>; 1]> = SmallVec::new();
    for (frame, sealed) in frames.iter_mut().zip(&*sealed) {
        let (from, to) = (sealed.part.0 as usize, sealed.part.1 as usize);
        let l3 = usize::from(frame.l3);
        let bytes = frame.bytes_mut();
        let sa = &sealed.by.sa;
        match sealed.by.protocol {
            Protocol::Esp => {
                let bytes = bytes.get_mut(from..to).unwrap_or_default();
                opening.push(Opening::new(sa, bytes));
            }
            // AH authenticates the headers, too.
            Protocol::Ah => {
                let bytes = bytes.get_mut(l3..to).unwrap_or_default();
                verifying.push(Verifying::new(sa, bytes));
            }
        }
    }
    esp::open(&mut opening);
    esp::ah::verify(&mut verifying);
    let (mut opened, mut verified) = (opening.iter(), verifying.into_iter());
    for sealed in sealed {
        match sealed.by.protocol {
            Protocol::Esp => {
                if let Some(opened) = opened.next() {
                    sealed.store(&opened.outcome);
                }
            }
            Protocol::Ah => {
                let (from, to) = sealed.part;
                let outcome = verified.next().map(|one| one.outcome);
                let outcome = outcome.unwrap_or(Err(Fault::Pending));
                let len = (to - from) as usize;
                sealed.store(&outcome.map(|verified| behind(verified, len)));
            }
        }
    }
}

/// Returns the payload behind AH in the form of a decrypted packet. AH and payload have `len` bytes.
fn behind(verified: Verified, len: usize) -> Opened {
    Opened {
        payload: verified.header.len()..len,
        next_header: verified.next_header,
        number: verified.number,
    }
}

/// Returns the policy that admits a packet out of IPsec, from its network header on; `None` if no
/// association could have carried it.
pub(crate) fn policy_of_revealed<'a>(cx: &Context<'a>, packet: &[u8]) -> Option<&'a Policy> {
    let policy = inbound_policy(cx, packet)?;
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
#[inline(always)]
fn decapsulate_packet(frame: &mut Frame, sealed: &Sealed<'_>) -> Result<(), DropReason> {
    let (by, next_header) = (sealed.by, sealed.next_header);
    if next_header == DUMMY {
        return Err(DropReason::IpsecDummy);
    }
    let payload = sealed.payload.0 as usize..sealed.payload.1 as usize;
    match by.mode {
        Mode::Tunnel => decapsulate_tunnel(frame, payload, next_header)?,
        Mode::Transport => {
            let from = sealed.part.0 as usize;
            decapsulate_transport(frame, from, payload, next_header, by.in_udp)?;
            if let Some(port) = &by.peer_port {
                port.show(frame.bytes_mut().get_mut(ETHERNET..).unwrap_or_default());
            }
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
#[inline(always)]
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
