//! Lookups and header fields of a chunk, made before any of its packets is decided: bit sets (exit,
//! IPv6, plain, TCP, FastTrack), connections and rule candidates.

use core::ops::Range;

use frame::Frame;

use super::CHUNK;
use super::arrived::Arrived;
use super::plain::{Firsts, Plain};
use super::run::{Run, Waiting};
use super::translation::turn_destination;
use crate::connection::{BatchLookup, BatchPackets, NatState, Tick, Tracker};
use crate::packet::Fields;
use crate::rule::First;
use crate::walk::Context;
use crate::walk::entered::Lane;
use crate::walk::near::Near;
use crate::walk::packet::packet;

/// Working state that the passes over a chunk share. Arrays are indexed by the packet's position in
/// the chunk.
pub(in crate::walk) struct Ahead {
    /// Header fields, valid where the bit in [`Which::fields`] is set: of packets that are not
    /// plain, and of all packets if rules match fields without a column.
    pub(super) fields: [Fields; CHUNK],
    /// Lengths of plain packets in bytes, as [`Fields::len`].
    pub(super) lens: [u32; CHUNK],
    /// Connections of plain packets that existed when the chunk began.
    pub(super) ways: BatchLookup,
    /// Bit sets over the chunk: exit, IPv6, plain, TCP, FastTrack.
    pub(super) which: Which,
    pub(super) run: Run,
    /// First rule candidates in `raw`, by family (IPv4, IPv6) and position.
    pub(super) raw: [[First; CHUNK]; 2],
    pub(super) firsts: Firsts,
}

/// Bit sets over a chunk: bit `n` belongs to the packet at position `n`.
#[derive(Clone, Copy, Default)]
pub(super) struct Which {
    /// The packet has left its walk in pass 1.
    pub(super) exit: u64,
    pub(super) ipv6: u64,
    /// A whole TCP segment or UDP datagram without options, in the middle of its connection or not
    /// tracked.
    pub(super) plain: u64,
    pub(super) tcp: u64,
    /// The packet is plain, and its connection is marked for FastTrack.
    pub(super) fasttrack: u64,
    /// The packet is no whole TCP segment or UDP datagram, or its frame cannot be forwarded
    /// unchanged.
    pub(super) odd: u64,
    /// The packet's fields have been parsed.
    pub(super) fields: u64,
    /// Pass 1 has parsed the packet: a whole TCP segment or UDP datagram.
    pub(super) read: u64,
}

impl Which {
    /// Sets the bits that follow from the lanes of pass 1.
    #[inline(always)]
    pub(super) fn enter(&mut self, lanes: &[Lane]) {
        let bits = |lane: Lane| {
            let bits = lanes.iter().take(CHUNK).enumerate();
            bits.fold(0, |bits, (at, is)| bits | u64::from(*is == lane) << at)
        };
        (self.exit, self.ipv6) = (bits(Lane::Exit), bits(Lane::V6));
    }

    /// Advances `at` past packets that pass 1 has parsed. Returns the family (true: IPv6) and the
    /// end of the unparsed packets of one family that follow.
    #[inline(always)]
    pub(super) fn unread(&self, at: &mut usize, end: usize) -> (bool, usize) {
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
    pub(super) fn family(&self, at: usize, end: usize) -> (bool, usize) {
        let rest = self.ipv6 >> (at % CHUNK);
        let ipv6 = rest & 1 != 0;
        let len = match ipv6 {
            true => rest.trailing_ones(),
            false => rest.trailing_zeros(),
        };
        (ipv6, end.min(at + len as usize))
    }

    /// Returns the end of the consecutive packets in `at..end` that take the short way.
    #[inline(always)]
    pub(super) fn waiting(&self, at: usize, end: usize) -> usize {
        let rest = (self.plain & !self.fasttrack) >> (at % CHUNK);
        end.min(at + rest.trailing_ones() as usize)
    }
}

impl Ahead {
    pub(in crate::walk) fn new() -> Self {
        Self {
            fields: [Fields::default(); CHUNK],
            lens: [0; CHUNK],
            ways: BatchLookup::default(),
            which: Which::default(),
            run: Run::new(),
            raw: [[First::NOBODY; CHUNK]; 2],
            firsts: Firsts::new(),
        }
    }

    /// Clears the bit sets for a new chunk.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        self.which = Which::default();
    }

    /// Looks up the candidate rules of `raw` for the packets of a chunk.
    #[inline(always)]
    pub(super) fn look_up_raw(
        &mut self,
        cx: &Context<'_>,
        plain: &Plain<'_>,
        family: usize,
        frames: &[Frame],
    ) {
        self.run.columns.classify(cx, frames.len());
        let arrived = Arrived {
            frames,
            ipv6: family != 0,
            columns: &self.run.columns,
            fields: &self.fields,
        };
        plain.look_up_raw(&arrived, &mut self.raw[family]);
    }

    /// Starts the connection lookups of the packets in this range, and prefetches their index
    /// entries.
    #[inline(always)]
    pub(super) fn ask<const IPV6: bool>(&mut self, places: Range<usize>, tracker: &Tracker) {
        let columns = &self.run.columns;
        tracker.ask::<IPV6>(&mut self.ways, places, |at| columns.tuple::<IPV6>(at));
    }

    /// Returns the fields of a packet; parses the frame on the first call.
    #[inline(always)]
    pub(super) fn fields(&mut self, at: usize, frame: &Frame) -> &mut Fields {
        let at = at % CHUNK;
        if self.which.fields >> at & 1 == 0 {
            self.which.fields |= 1 << at;
            self.fields[at] = Fields::of(packet(frame));
        }
        &mut self.fields[at]
    }

    /// Looks up the candidate rules of mangle's prerouting for the packets of the run.
    #[inline(always)]
    pub(super) fn look_up_early(&mut self, plain: &Plain<'_>) {
        plain.look_up_early(&self.run, &self.fields, &mut self.firsts);
    }

    /// Translates and routes the packets of the run, and looks up the candidate rules of the later
    /// chains.
    #[inline(always)]
    pub(super) fn look_up(
        &mut self,
        plain: &Plain<'_>,
        cx: &Context<'_>,
        near: &mut Near,
        tracker: &Tracker,
    ) {
        if self.run.translates() {
            let (fields, read) = (&mut self.fields, self.which.fields);
            match self.run.is_ipv6() {
                true => self.run.turn::<true>(fields, read, tracker),
                false => self.run.turn::<false>(fields, read, tracker),
            }
        }
        self.run.route(cx, near);
        plain.look_up(&self.run, &self.fields, &mut self.firsts);
    }

    /// Returns the fields of a packet of the run with its translated destination, the candidate
    /// rules and the run.
    #[inline(always)]
    pub(super) fn asked(
        &mut self,
        waiting: &Waiting,
        frame: &Frame,
        tracker: &Tracker,
    ) -> (&mut Fields, &Firsts, &Run) {
        let unread = self.which.fields >> (waiting.place % CHUNK) & 1 == 0;
        let fields = self.fields(waiting.place, frame);
        if let Some(way) = waiting.way
            && unread
            && waiting.passed.nat != NatState::default()
        {
            turn_destination(tracker, way, &mut fields.tuple);
        }
        let fields = &mut self.fields[waiting.place % CHUNK];
        (fields, &self.firsts, &self.run)
    }

    /// Appends the tracked packets in this range to the run, up to the first packet that the
    /// connection tracker leaves to the guard. Returns the number of packets appended.
    #[inline(never)]
    pub(super) fn wait<const IPV6: bool>(
        &mut self,
        places: Range<usize>,
        frames: &[Frame],
        tracker: &mut Tracker,
        now: Tick,
    ) -> usize {
        let (first, len) = (places.start, self.run.len());
        let lens = &self.lens[places.clone()];
        let frames = &frames[places.clone()];
        let run = &mut self.run;
        let packets = BatchPackets {
            ways: &self.ways,
            places,
            lens,
            segments: self.which.tcp,
        };
        let done = tracker.pass_together::<IPV6>(
            packets,
            |at| packet(&frames[at]),
            now,
            |at, passed| run.keep(len + at, passed),
        );
        let places = first..first + done;
        let ways = self.ways.of(places.clone());
        self.run.add::<IPV6>(places, &lens[..done], Some(ways));
        done
    }
}
