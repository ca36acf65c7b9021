//! What is known about the packets of a chunk before any of them is decided: bit sets (which packets are exits,
//! IPv6, plain, TCP, FastTracked) and their connections.

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

/// What the passes tell each other about the frames of a chunk, by their place in it.
pub(in crate::walk) struct Ahead {
    /// Of packets that are not plain, and of all where rules ask for more than columns.
    pub(super) fields: [Fields; CHUNK],
    /// Of plain packets, as in [`Fields`].
    pub(super) lens: [u32; CHUNK],
    /// The connections that were there when the chunk began, of plain packets.
    pub(super) ways: BatchLookup,
    /// Bit sets over the chunk: which packets are exits, IPv6, plain, TCP, FastTracked.
    pub(super) which: Which,
    pub(super) run: Run,
    /// The first candidates in `raw`, by family, by place.
    pub(super) raw: [[First; CHUNK]; 2],
    pub(super) firsts: Firsts,
}

/// A bit for each packet of a chunk, by its place.
#[derive(Clone, Copy, Default)]
pub(super) struct Which {
    /// It has left its walk in pass 1.
    pub(super) exit: u64,
    pub(super) ipv6: u64,
    /// A whole TCP segment or UDP datagram without options, which is in the midst of what it belongs to, or
    /// belongs to nothing that is tracked.
    pub(super) plain: u64,
    pub(super) tcp: u64,
    /// It is plain, and its connection is marked for FastTrack.
    pub(super) fasttrack: u64,
    /// No such segment or datagram, or not in a frame that can go on as it is.
    pub(super) odd: u64,
    /// Its fields are at hand.
    pub(super) fields: u64,
    /// Pass 1 has read it: it is a whole TCP segment or UDP datagram.
    pub(super) read: u64,
}

impl Which {
    /// Keeps what pass 1 found.
    #[inline(always)]
    pub(super) fn enter(&mut self, lanes: &[Lane]) {
        let bits = |lane: Lane| {
            let bits = lanes.iter().take(CHUNK).enumerate();
            bits.fold(0, |bits, (at, is)| bits | u64::from(*is == lane) << at)
        };
        (self.exit, self.ipv6) = (bits(Lane::Exit), bits(Lane::V6));
    }

    /// Moves `at` over packets that pass 1 has read; where those end behind it that it has not, and are of
    /// one family, and which that is.
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

    /// Where the packets from `at` to `end` end that are of one family, and which that is.
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

    /// Where the packets from `at` to `end` end that go the short way, one after the other.
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

    /// A new chunk begins.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        self.which = Which::default();
    }

    /// Looks up which rules of `raw` the packets of a chunk may hit.
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

    /// Asks for what is needed to find the connections of the packets at some places.
    #[inline(always)]
    pub(super) fn ask<const IPV6: bool>(&mut self, places: Range<usize>, tracker: &Tracker) {
        let columns = &self.run.columns;
        tracker.ask::<IPV6>(&mut self.ways, places, |at| columns.tuple::<IPV6>(at));
    }

    /// What a packet is; it is read if it was not.
    #[inline(always)]
    pub(super) fn fields(&mut self, at: usize, frame: &Frame) -> &mut Fields {
        let at = at % CHUNK;
        if self.which.fields >> at & 1 == 0 {
            self.which.fields |= 1 << at;
            self.fields[at] = Fields::of(packet(frame));
        }
        &mut self.fields[at]
    }

    /// Looks up which rules of prerouting the packets of the run may hit.
    #[inline(always)]
    pub(super) fn look_up_early(&mut self, plain: &Plain<'_>) {
        plain.look_up_early(&self.run, &self.fields, &mut self.firsts);
    }

    /// Translates and routes the packets of the run, and looks up which other rules they may hit.
    #[inline(always)]
    pub(super) fn look_up(
        &mut self,
        plain: &Plain<'_>,
        cx: &Context<'_>,
        near: &mut Near,
        tracker: &Tracker,
    ) {
        if self.run.translates() {
            let fields = (&mut self.fields, self.which.fields);
            match self.run.is_ipv6() {
                true => self.run.turn::<true>(fields, tracker),
                false => self.run.turn::<false>(fields, tracker),
            }
        }
        self.run.route(cx, near);
        plain.look_up(&self.run, &self.fields, &mut self.firsts);
    }

    /// What a packet of the run is, as rules are to see it, and the rules that it may hit.
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

    /// Puts tracked packets at these places into the run, until there is more to be decided about one; how
    /// many those are.
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
