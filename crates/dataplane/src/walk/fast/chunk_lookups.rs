//! Lookups and header fields of a chunk, made before any of its packets is decided: bit sets (exit,
//! IPv6, plain, TCP, FastTrack), connections and rule candidates.

use core::ops::Range;

use frame::{Frame, IpsecState};

use super::flow_batch::{BatchedPacket, FlowBatch};
use super::next_hop_cache::NextHopCache;
use super::pass1_results::HeaderClass;
use super::plain_packets::{FirstCandidates, PlainChains};
use super::raw_packets::RawPackets;
use crate::connection::{BatchLookup, BatchPackets, NatState, Tick, Tracker};
use crate::ipsec::PolicyLookup;
use crate::packet::Fields;
use crate::rule::{First, Ipsec};
use crate::walk::Context;
use crate::walk::decide::CHUNK;
use crate::walk::decide::chains::ipsec_state;
use crate::walk::decide::translation;
use crate::walk::decide::translation::turn_destination;
use crate::walk::packet::packet;

/// Working state that the passes over a chunk share. Arrays are indexed by the packet's position in
/// the chunk.
pub(in crate::walk) struct ChunkLookups {
    /// Header fields, valid where the bit in [`PacketSets::fields`] is set: of packets that are not
    /// plain, and of all packets if rules match fields without a column.
    pub(in crate::walk) fields: [Fields; CHUNK],
    /// Lengths of plain packets in bytes, as [`Fields::len`].
    pub(in crate::walk) lens: [u32; CHUNK],
    /// Connections of plain packets that existed when the chunk began.
    pub(in crate::walk) ways: BatchLookup,
    /// Bit sets over the chunk: exit, IPv6, plain, TCP, FastTrack.
    pub(in crate::walk) sets: PacketSets,
    pub(in crate::walk) batch: FlowBatch,
    /// First rule candidates in `raw`, by family (IPv4, IPv6) and position.
    pub(in crate::walk) raw: [[First; CHUNK]; 2],
    pub(in crate::walk) firsts: FirstCandidates,
    /// Some packet of the chunk may have IPsec processing.
    has_ipsec: bool,
}

/// Bit sets over a chunk: bit `n` belongs to the packet at position `n`.
#[derive(Clone, Copy, Default)]
pub(in crate::walk) struct PacketSets {
    /// The packet has left its walk in pass 1.
    pub(in crate::walk) exit: u64,
    pub(in crate::walk) ipv6: u64,
    /// A whole TCP segment or UDP datagram without options, in the middle of its connection or not
    /// tracked.
    pub(in crate::walk) plain: u64,
    pub(in crate::walk) tcp: u64,
    /// The packet is plain, and its connection is marked for FastTrack.
    pub(in crate::walk) fasttrack: u64,
    /// The packet is no whole TCP segment or UDP datagram, or its frame cannot be forwarded
    /// unchanged.
    pub(in crate::walk) odd: u64,
    /// The packet's fields have been parsed.
    pub(in crate::walk) fields: u64,
    /// Pass 1 has parsed the packet: a whole TCP segment or UDP datagram.
    pub(in crate::walk) read: u64,
}

impl PacketSets {
    /// Sets the bits that follow from the header classes of pass 1.
    #[inline(always)]
    pub(in crate::walk) fn enter(&mut self, classes: &[HeaderClass]) {
        let bits = |class: HeaderClass| {
            let bits = classes.iter().take(CHUNK).enumerate();
            bits.fold(0, |bits, (at, is)| bits | u64::from(*is == class) << at)
        };
        (self.exit, self.ipv6) = (bits(HeaderClass::Exit), bits(HeaderClass::V6));
    }

    /// Advances `at` past packets that pass 1 has parsed. Returns the family (true: IPv6) and the
    /// end of the unparsed packets of one family that follow.
    #[inline(always)]
    pub(in crate::walk) fn unread(&self, at: &mut usize, end: usize) -> (bool, usize) {
        let read = (self.read >> (*at % CHUNK)).trailing_ones();
        *at = end.min(*at + read as usize);
        let (ipv6, end) = match *at < end {
            true => self.family(*at, end),
            false => return (false, end),
        };
        let unread = (self.read >> (*at % CHUNK)).trailing_zeros();
        (ipv6, end.min(*at + unread as usize))
    }

    /// Returns the family (true: IPv6) of the packet at `at`, and the end of the packets of that
    /// family in `at..end`.
    #[inline(always)]
    pub(in crate::walk) fn family(&self, at: usize, end: usize) -> (bool, usize) {
        let rest = self.ipv6 >> (at % CHUNK);
        let ipv6 = rest & 1 != 0;
        let len = match ipv6 {
            true => rest.trailing_ones(),
            false => rest.trailing_zeros(),
        };
        (ipv6, end.min(at + len as usize))
    }

    /// Returns the end of the consecutive packets in `at..end` that take the short path.
    #[inline(always)]
    pub(in crate::walk) fn end_of_plain(&self, at: usize, end: usize) -> usize {
        let rest = (self.plain & !self.fasttrack) >> (at % CHUNK);
        end.min(at + rest.trailing_ones() as usize)
    }
}

impl ChunkLookups {
    pub(in crate::walk) fn new() -> Self {
        Self {
            fields: [Fields::default(); CHUNK],
            lens: [0; CHUNK],
            ways: BatchLookup::default(),
            sets: PacketSets::default(),
            batch: FlowBatch::new(),
            raw: [[First::NOBODY; CHUNK]; 2],
            firsts: FirstCandidates::new(),
            has_ipsec: false,
        }
    }

    /// Clears the bit sets for a new chunk.
    #[inline(always)]
    pub(in crate::walk) fn begin(&mut self) {
        self.sets = PacketSets::default();
    }

    /// Determines the IPsec processing of the plain packets of a chunk, which rules match (`ipsec-policy`).
    /// `by_wire`: no packet came out of a tunnel.
    #[inline(always)]
    pub(in crate::walk) fn look_up_ipsec(
        &mut self,
        cx: &Context<'_>,
        by_wire: bool,
        frames: &[Frame],
    ) {
        let is_clear = |frame: &Frame| frame.guarded == IpsecState::Clear;
        let none = cx.snapshot.ipsec.is_empty() && (by_wire || frames.iter().all(is_clear));
        if self.has_ipsec | !none {
            self.set_ipsec(cx, frames);
            self.has_ipsec = !none;
        }
    }

    #[inline(never)]
    fn set_ipsec(&mut self, cx: &Context<'_>, frames: &[Frame]) {
        let policies = &cx.snapshot.ipsec.policies;
        for (at, frame) in frames.iter().enumerate().take(CHUNK) {
            if self.sets.plain >> at & 1 == 0 {
                continue;
            }
            let columns = &mut self.batch.columns;
            let ipv6 = self.sets.ipv6 >> at & 1 != 0;
            let concerned = match ipv6 {
                true => columns.may_go_in::<true>(at, policies),
                false => columns.may_go_in::<false>(at, policies),
            };
            if !concerned && frame.guarded == IpsecState::Clear {
                columns.set_ipsec(at, Ipsec::default());
                continue;
            }
            let tuple = match ipv6 {
                true => columns.tuple::<true>(at),
                false => columns.tuple::<false>(at),
            };
            columns.set_ipsec(at, ipsec_state(cx, &tuple, frame.guarded));
        }
    }

    /// Looks up the IPsec policies of the packets of the batch, by their translated addresses.
    #[inline(never)]
    pub(in crate::walk) fn look_up_policies(
        &mut self,
        policies: &mut PolicyLookup<'_>,
        frames: &[Frame],
        tracker: &Tracker,
    ) {
        match self.batch.is_ipv6() {
            true => self.look_up_policies_of::<true>(policies, frames, tracker),
            false => self.look_up_policies_of::<false>(policies, frames, tracker),
        }
    }

    #[inline(always)]
    fn look_up_policies_of<const IPV6: bool>(
        &mut self,
        policies: &mut PolicyLookup<'_>,
        frames: &[Frame],
        tracker: &Tracker,
    ) {
        for at in 0..self.batch.len() {
            if !(self.batch.columns).may_be_policed::<IPV6>(at, policies.policies) {
                continue;
            }
            let batched = self.batch.get(at);
            let Some(frame) = frames.get(batched.place) else {
                return;
            };
            let arrived = self.batch.columns.tuple::<IPV6>(at);
            let translated = { batched.way }.filter(|_| batched.passed.nat != NatState::default());
            let leaves =
                translated.map_or(arrived, |way| translation::leaving(tracker, way, arrived));
            let out = policies.out_of_flow(packet(frame), frame.guarded, &arrived, &leaves);
            self.batch.police(at, out);
        }
    }

    /// Looks up the candidate rules of `raw` for the packets of a chunk.
    #[inline(always)]
    pub(in crate::walk) fn look_up_raw(
        &mut self,
        cx: &Context<'_>,
        plain: &PlainChains<'_>,
        family: usize,
        frames: &[Frame],
    ) {
        self.batch.columns.classify(cx, frames.len());
        let arrived = RawPackets {
            frames,
            ipv6: family != 0,
            columns: &self.batch.columns,
            fields: &self.fields,
        };
        plain.look_up_raw(&arrived, &mut self.raw[family]);
    }

    /// Starts the connection lookups of the packets in this range, and prefetches their index
    /// entries.
    #[inline(always)]
    pub(in crate::walk) fn start_lookups<const IPV6: bool>(
        &mut self,
        places: Range<usize>,
        tracker: &Tracker,
    ) {
        let columns = &self.batch.columns;
        tracker.ask::<IPV6>(&mut self.ways, places, |at| columns.tuple::<IPV6>(at));
    }

    /// Returns the fields of a packet; parses the frame on the first call.
    #[inline(always)]
    pub(in crate::walk) fn fields(&mut self, at: usize, frame: &Frame) -> &mut Fields {
        let at = at % CHUNK;
        if self.sets.fields >> at & 1 == 0 {
            self.sets.fields |= 1 << at;
            self.fields[at] = Fields::of(packet(frame));
        }
        &mut self.fields[at]
    }

    /// Looks up the candidate rules of mangle's prerouting for the packets of the batch.
    #[inline(always)]
    pub(in crate::walk) fn look_up_early(&mut self, plain: &PlainChains<'_>) {
        plain.look_up_early(&self.batch, &self.fields, &mut self.firsts);
    }

    /// Translates and routes the packets of the batch, and looks up the candidate rules of the later
    /// chains.
    #[inline(always)]
    pub(in crate::walk) fn look_up(
        &mut self,
        plain: &PlainChains<'_>,
        cx: &Context<'_>,
        next_hops: &mut NextHopCache,
        tracker: &Tracker,
        frames: &[Frame],
    ) {
        if self.batch.translates() {
            let (fields, read) = (&mut self.fields, self.sets.fields);
            match self.batch.is_ipv6() {
                true => self.batch.turn::<true>(fields, read, tracker),
                false => self.batch.turn::<false>(fields, read, tracker),
            }
            if self.has_ipsec {
                self.batch.turn_ipsec(cx, frames);
            }
        }
        self.batch.route(cx, next_hops);
        plain.look_up(&self.batch, &self.fields, &mut self.firsts);
    }

    /// Returns the fields of a packet of the batch with its translated destination, the candidate
    /// rules and the batch.
    #[inline(always)]
    pub(in crate::walk) fn with_fields(
        &mut self,
        batched: &BatchedPacket,
        frame: &Frame,
        tracker: &Tracker,
    ) -> (&mut Fields, &FirstCandidates, &FlowBatch) {
        let unread = self.sets.fields >> (batched.place % CHUNK) & 1 == 0;
        let fields = self.fields(batched.place, frame);
        if let Some(way) = batched.way
            && unread
            && batched.passed.nat != NatState::default()
        {
            turn_destination(tracker, way, &mut fields.tuple);
        }
        let fields = &mut self.fields[batched.place % CHUNK];
        (fields, &self.firsts, &self.batch)
    }

    /// Appends the tracked packets in this range to the batch, up to the first packet that the
    /// connection tracker leaves to the decider. Returns the number of packets appended.
    #[inline(never)]
    pub(in crate::walk) fn collect<const IPV6: bool>(
        &mut self,
        places: Range<usize>,
        frames: &[Frame],
        tracker: &mut Tracker,
        now: Tick,
    ) -> usize {
        let (first, len) = (places.start, self.batch.len());
        let lens = &self.lens[places.clone()];
        let frames = &frames[places.clone()];
        let batch = &mut self.batch;
        let packets = BatchPackets {
            ways: &self.ways,
            places,
            lens,
            segments: self.sets.tcp,
        };
        let done = tracker.pass_together::<IPV6>(
            packets,
            |at| packet(&frames[at]),
            now,
            |at, passed| batch.keep(len + at, passed),
        );
        let places = first..first + done;
        let ways = self.ways.of(places.clone());
        self.batch.add::<IPV6>(places, &lens[..done], Some(ways));
        done
    }
}
