//! FastTrack: a packet of a connection that a rule marked needs no rule, no routing table and no state machine. The
//! line of its direction holds the complete rewrite and the next hop.
//!
//! Whole TCP segments and UDP datagrams without options go this way. Three kinds of packets walk slowly: SYN, FIN
//! and RST, because the connection's state follows from them; the end of the handshake, or the connection would be
//! forgotten as unanswered; and one packet a second in each direction, which keeps the timeout alive and looks the
//! route up again. RouterOS says only that "some" packets of a FastTracked connection walk slowly.

use core::ops::Range;

use frame::{Frame, InterfaceId};

use super::chunk::{Chunk, Passes};
use super::chunk_lookups::ChunkLookups;
use super::next_hop_cache::NextHopCache;
use crate::connection::{Fast, FlowId, NatState, Tick, Tracker};
use crate::counters::Traffic;
use crate::nat::Rewrite;
use crate::out::OutId;
use crate::table::Adjacency;
use crate::table::adjacency::HEADER_BYTES;
use crate::walk::decide::CHUNK;
use crate::walk::tally::{CounterKey, Speed, received};
use crate::walk::{Context, egress, forward, leave};

const ETHERNET: usize = 14;

/// Returns the packet of a frame that can be forwarded unchanged: behind an Ethernet header,
/// without pending offload work, and without a mark, which a batch does not store. Empty for other
/// frames.
#[inline(always)]
pub(in crate::walk) fn packet(frame: &Frame) -> &[u8] {
    let usual = frame.offload.is_finished() & (frame.mark == 0);
    let takes = usual & (usize::from(frame.l3) == ETHERNET);
    let packet = frame.bytes().split_first_chunk::<ETHERNET>();
    match packet {
        Some((_, packet)) if takes => packet,
        _ => &[],
    }
}

/// A plain packet of a FastTracked connection.
#[derive(Clone, Copy)]
struct PlainPacket {
    /// Its direction of the connection.
    way: FlowId,
    tcp: bool,
    /// Length in bytes, as [`packet::Fields::len`].
    len: u32,
}

/// Forwards a plain packet of a FastTracked connection. Returns `None` and changes nothing if the
/// packet must take the slow path.
#[inline(always)]
fn forward<const IPV6: bool>(
    cx: &Context<'_>,
    frame: &mut Frame,
    packet: PlainPacket,
    fast: &Fast<'_>,
    tracker: &Tracker,
    now: Tick,
    next_hops: &mut NextHopCache,
) -> Option<OutId> {
    if packet.tcp && !fast.assured {
        return None;
    }
    let translated = Some(packet.way).filter(|_| fast.nat != NatState::default());
    let next = next_hops.get(cx, fast.next_hop.id);
    // Translated packets cause no redirects.
    let straight = (next.simple & translated.is_some()) | next.is_straight(frame.ingress);
    let goes = (next.generation == fast.next_hop.generation)
        & straight
        & (packet.len <= next.adjacency.mtu);
    if !(goes && fast.count(packet.len, now)) {
        return None;
    }
    let shape = EgressHeader::of(&next.adjacency, IPV6);
    shape.depart(frame, packet.len, translated, tracker)?;
    frame.fasttracked = true;
    Some(shape.out)
}

/// The link header and egress of plain packets to one next hop.
#[derive(Clone, Copy)]
pub(in crate::walk) struct EgressHeader {
    link: [u8; HEADER_BYTES],
    /// Bytes of `link` that are used, at least an Ethernet header.
    pub(in crate::walk) header: u8,
    egress: InterfaceId,
    pub(in crate::walk) out: OutId,
    ipv6: bool,
}

impl EgressHeader {
    /// Returns the shape for a next hop, whose link must have an Ethernet header, with or without
    /// tags.
    #[inline(always)]
    pub(in crate::walk) fn of(adjacency: &Adjacency, ipv6: bool) -> Self {
        Self {
            link: adjacency.header,
            header: adjacency.header_len,
            egress: adjacency.egress,
            out: adjacency.out,
            ipv6,
        }
    }

    /// Writes the link header of the next hop, the TTL and the translated addresses and ports, and
    /// cuts the frame after a packet of `len` bytes. Returns `None` and changes nothing if the
    /// frame is shorter than its headers state.
    #[inline(always)]
    pub(in crate::walk) fn depart(
        &self,
        frame: &mut Frame,
        len: u32,
        translated: Option<FlowId>,
        tracker: &Tracker,
    ) -> Option<()> {
        let Some(way) = translated else {
            return match self.ipv6 {
                true => self.depart_as_is::<true>(frame, len),
                false => self.depart_as_is::<false>(frame, len),
            };
        };
        let (_, packet) = frame.bytes_mut().split_first_chunk_mut::<ETHERNET>()?;
        translate(packet, self.ipv6, way, tracker)?;
        self.leave(frame, len)
    }

    /// Writes the link header and TTL of a packet that is not translated. Returns `None` and
    /// changes nothing if the frame is shorter than its headers state.
    #[inline(always)]
    pub(in crate::walk) fn depart_as_is<const IPV6: bool>(
        &self,
        frame: &mut Frame,
        len: u32,
    ) -> Option<()> {
        let (_, packet) = frame.bytes_mut().split_first_chunk_mut::<ETHERNET>()?;
        match IPV6 {
            true => forward::age6(packet.first_chunk_mut()?),
            false => forward::age4(packet.first_chunk_mut()?),
        }
        self.leave(frame, len)
    }

    #[inline(always)]
    fn leave(&self, frame: &mut Frame, len: u32) -> Option<()> {
        frame.egress = self.egress;
        if usize::from(self.header) == ETHERNET {
            *frame.bytes_mut().first_chunk_mut::<ETHERNET>()? = *self.link.first_chunk()?;
        } else {
            egress::tag(frame, &self.link, self.header).then_some(())?;
        }
        let header = usize::from(self.header);
        leave::trim(frame, header + len as usize).then_some(())
    }
}

/// Writes the TTL and the translated addresses and ports.
#[inline(always)]
fn translate(packet: &mut [u8], ipv6: bool, way: FlowId, tracker: &Tracker) -> Option<()> {
    let written = if ipv6 {
        let [words @ .., _] = tracker.rewrite6(way).0;
        Rewrite::<16>::from_words(words).forward(packet, false)
    } else {
        Rewrite::<4>::from_words(tracker.rewrite4(way).0).forward(packet, false)
    };
    written.ok()
}

impl Passes<'_, '_> {
    /// Forwards consecutive packets from `at` on by FastTrack. Returns false at the first packet
    /// that must take the slow path; that packet is unchanged.
    #[inline(never)]
    pub(in crate::walk) fn fasttrack(
        &mut self,
        at: &mut usize,
        chunk: &mut Chunk<'_>,
        lookups: &ChunkLookups,
    ) -> bool {
        let (sets, count) = (&lookups.sets, chunk.frames.len().min(CHUNK));
        while *at < count {
            let marked = (sets.fasttrack >> (*at % CHUNK)).trailing_ones() as usize;
            if marked == 0 {
                break;
            }
            let (ipv6, end) = sets.family(*at, count.min(*at + marked));
            *at += match ipv6 {
                true => self.fasttrack_family::<true>(*at..end, chunk, lookups),
                false => self.fasttrack_family::<false>(*at..end, chunk, lookups),
            };
            if *at < end {
                return false;
            }
        }
        true
    }

    /// Forwards consecutive packets of one family by FastTrack. Returns the number of packets
    /// forwarded.
    #[inline(always)]
    fn fasttrack_family<const IPV6: bool>(
        &mut self,
        places: Range<usize>,
        chunk: &mut Chunk<'_>,
        lookups: &ChunkLookups,
    ) -> usize {
        let (tracker, counters) = (&self.outlet.memory.tracker, &self.outlet.counters);
        let from = places.start;
        let frames = chunk.frames[places.clone()].iter_mut();
        let outs = chunk.outs[places.clone()].iter_mut();
        let key = |egress| CounterKey {
            egress,
            ipv6: IPV6,
            speed: Speed::FastTrack,
        };
        let (mut egress, mut header_len, mut sent) = (InterfaceId::NONE, 0, Traffic::default());
        let (mut came, mut done) = (Traffic::default(), 0);
        for (place, (frame, out)) in places.zip(frames.zip(outs)) {
            let (Some(way), Some(fast)) = (
                lookups.ways.get(place),
                tracker.fast_of::<IPV6>(&lookups.ways, place),
            ) else {
                break;
            };
            let len = lookups.lens[place % CHUNK];
            let packet = PlainPacket {
                way,
                tcp: lookups.sets.tcp >> (place % CHUNK) & 1 != 0,
                len,
            };
            let received = received(frame);
            let (now, next_hops) = (self.now, &mut *self.next_hops);
            let to = forward::<IPV6>(self.cx, frame, packet, &fast, tracker, now, next_hops);
            let Some(to) = to else {
                break;
            };
            let leaves = (frame.egress, frame.l3 as u8);
            if leaves != (egress, header_len) {
                self.tally
                    .count_all(self.cx, key(egress), header_len, sent, counters);
                (egress, header_len) = leaves;
                sent = Traffic::default();
            }
            (sent.packets, sent.bytes) = (sent.packets + 1, sent.bytes + u64::from(len));
            if frame.ingress == self.ingress {
                (came.packets, came.bytes) = (came.packets + 1, came.bytes + received);
            } else {
                counters.interface(frame.ingress).fp_rx.add(1, received);
            }
            *out = to;
            done += 1;
        }
        self.tally
            .count_all(self.cx, key(egress), header_len, sent, counters);
        if let Some(installer) = self.installers[usize::from(IPV6)] {
            self.install_fasttrack::<IPV6>(&installer, from..from + done, chunk, lookups);
        }
        self.received.packets += came.packets;
        self.received.bytes += came.bytes;
        done
    }
}
