//! What is known of the packets of a chunk before any of them is decided about: what they are, and which
//! connections they belong to.

use core::ops::Range;

use frame::Frame;
use kernels::{Lanes, Work};

use super::columns::Columns;
use super::plain::{Arrived, Firsts, Plain};
use super::run::{Run, Waiting};
use super::translation::turn_destination;
use super::{CHUNK, fasttrack};
use crate::connection::{NatState, Tick, Tracker, Way, Ways};
use crate::packet::{Fields, SLOW_FLAGS, protocol};
use crate::rule::First;
use crate::walk::depart::packet;
use crate::walk::enter::{Lane, Sees};
use crate::walk::headers::{self, Headers, column};

/// What the passes tell each other about the frames of a chunk, by their place in it.
pub(in crate::walk) struct Ahead {
    /// Of packets that are not plain, and of all where rules ask for more than columns.
    fields: [Fields; CHUNK],
    /// Of plain packets, as in [`Fields`].
    pub(super) lens: [u32; CHUNK],
    /// The connections that were there when the chunk began, of plain packets.
    pub(super) ways: Ways,
    /// What is so of which packets.
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
    /// A whole TCP segment or UDP datagram without options, which is in the midst of what it belongs to.
    pub(super) plain: u64,
    pub(super) tcp: u64,
    /// It is plain, and its connection is marked for FastTrack.
    pub(super) fasttrack: u64,
    /// No such segment or datagram, or not in a frame that can go on as it is.
    odd: u64,
    /// Its fields are at hand.
    fields: u64,
    /// Pass 1 has read it: it is a whole TCP segment or UDP datagram.
    read: u64,
}

impl Which {
    /// Keeps what pass 1 found.
    #[inline(always)]
    fn enter(&mut self, lanes: &[Lane]) {
        let bits = |lane: Lane| {
            let bits = lanes.iter().take(CHUNK).enumerate();
            bits.fold(0, |bits, (at, is)| bits | u64::from(*is == lane) << at)
        };
        (self.exit, self.ipv6) = (bits(Lane::Exit), bits(Lane::V6));
    }

    /// Moves `at` over packets that pass 1 has read; where those end behind it that it has not, and are of
    /// one family, and which that is.
    #[inline(always)]
    fn unread(&self, at: &mut usize, end: usize) -> (bool, usize) {
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
            ways: Ways::default(),
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
    pub(super) fn look_up_raw(&mut self, plain: &Plain<'_>, family: usize, frames: &[Frame]) {
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
    fn ask<const IPV6: bool>(&mut self, places: Range<usize>, tracker: &Tracker) {
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

    /// Looks up which rules the packets of the run may hit.
    #[inline(always)]
    pub(super) fn look_up(&mut self, plain: &Plain<'_>) {
        plain.look_up(&self.run, &self.fields, &mut self.firsts);
    }

    /// What a packet of the run is, as rules are to see it, and the rules that it may hit.
    #[inline(always)]
    pub(super) fn asked(
        &mut self,
        waiting: &Waiting,
        frame: &Frame,
        tracker: &Tracker,
    ) -> (&mut Fields, &Firsts) {
        let unread = self.which.fields >> (waiting.place % CHUNK) & 1 == 0;
        let fields = self.fields(waiting.place, frame);
        if let Some(way) = waiting.way
            && unread
            && waiting.passed.nat != NatState::default()
        {
            turn_destination(tracker, way, &mut fields.tuple);
        }
        (&mut self.fields[waiting.place % CHUNK], &self.firsts)
    }

    /// Puts tracked datagrams at these places into the run, until there is more to be decided about one; how
    /// many those are.
    #[inline(never)]
    pub(super) fn wait<const IPV6: bool>(
        &mut self,
        places: Range<usize>,
        tracker: &Tracker,
        now: Tick,
    ) -> usize {
        let (first, len) = (places.start, self.run.len());
        let lens = &self.lens[places.clone()];
        let (run, read) = (&mut self.run, (&mut self.fields, self.which.fields));
        let which = (&self.ways, places);
        let done = tracker.pass_datagrams::<IPV6>(which, lens, now, |at, way, passed| {
            if passed.nat != NatState::default() {
                let read = (&mut *read.0, read.1);
                turn::<IPV6>(&mut run.columns, read, first + at, way, tracker);
            }
            run.keep(len + at, passed);
        });
        let places = first..first + done;
        let ways = self.ways.of(places.clone());
        self.run.add::<IPV6>(places, &lens[..done], Some(ways));
        done
    }

    /// Gives a packet the destination that its connection translates it to.
    pub(super) fn turn<const IPV6: bool>(&mut self, at: usize, way: Way, tracker: &Tracker) {
        let read = (&mut self.fields, self.which.fields);
        turn::<IPV6>(&mut self.run.columns, read, at, way, tracker);
    }
}

/// The same, in what was read of it: its columns, and its fields where the bit of its place says so. By
/// itself, so that others do not pay for what it needs.
#[inline(never)]
fn turn<const IPV6: bool>(
    columns: &mut Columns,
    (fields, read): (&mut [Fields; CHUNK], u64),
    at: usize,
    way: Way,
    tracker: &Tracker,
) {
    let mut tuple = columns.tuple::<IPV6>(at);
    turn_destination(tracker, way, &mut tuple);
    columns.set_destination::<IPV6>(at, &tuple);
    if read >> (at % CHUNK) & 1 != 0 {
        fields[at % CHUNK].tuple = tuple;
    }
}

/// Reads all packets, and asks for what the index says of their connections. By family, so that what it
/// works with stays in registers.
pub(super) struct Read<'a> {
    pub(super) frames: &'a [Frame],
    pub(super) lanes: &'a [Lane],
    pub(super) ahead: &'a mut Ahead,
    pub(super) tracker: &'a Tracker,
    /// Which families are tracked.
    pub(super) tracks: [bool; 2],
    /// And of which rules ask for more than columns.
    pub(super) reads: [bool; 2],
}

impl Work for Read<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, _lanes: L) {
        self.ahead.which.enter(self.lanes);
        let (mut at, count) = (0, self.frames.len().min(CHUNK));
        while at < count {
            let (ipv6, end) = self.ahead.which.unread(&mut at, count);
            match ipv6 {
                true => self.read_family::<true>(at..end),
                false => self.read_family::<false>(at..end),
            }
            at = end;
        }
        if self.ahead.which.odd != 0 {
            self.odd();
        }
    }
}

impl Read<'_> {
    #[inline(always)]
    fn read_family<const IPV6: bool>(&mut self, places: Range<usize>) {
        let family = usize::from(IPV6);
        // What nobody asks for is not kept.
        match self.reads[family] {
            true => self.read::<IPV6, true>(places.clone()),
            false => self.read::<IPV6, false>(places.clone()),
        }
        if self.tracks[family] {
            self.ahead.ask::<IPV6>(places, self.tracker);
        }
    }

    #[inline(always)]
    fn read<const IPV6: bool, const FIELDS: bool>(&mut self, places: Range<usize>) {
        let ahead = &mut *self.ahead;
        let mut which = ahead.which;
        for (behind, frame) in self.frames[places.clone()].iter().enumerate() {
            let at = (places.start + behind) % CHUNK;
            let mut fields = Fields::default();
            let Some(midst) = fields.read_usual::<IPV6>(fasttrack::packet(frame)) else {
                which.odd |= 1 << at;
                continue;
            };
            let tcp = fields.tuple.protocol == protocol::TCP;
            which.plain |= u64::from(midst) << at;
            which.tcp |= u64::from(tcp) << at;
            let columns = &mut ahead.run.columns;
            columns.put::<IPV6>(at, &fields.tuple, frame.ingress);
            ahead.lens[at] = fields.len;
            if FIELDS {
                ahead.fields[at] = fields;
                which.fields |= 1 << at;
            }
        }
        which.odd &= !which.exit;
        which.plain &= !which.exit;
        ahead.which = which;
    }

    /// Reads the packets that are not usual.
    #[cold]
    #[inline(never)]
    fn odd(&mut self) {
        let mut odd = self.ahead.which.odd;
        while odd != 0 {
            let at = odd.trailing_zeros() as usize;
            odd &= odd - 1;
            let Some(frame) = self.frames.get(at) else {
                return;
            };
            let tuple = self.ahead.fields(at, frame).tuple;
            let (ways, this) = (&mut self.ahead.ways, at..at + 1);
            match (self.tracks[usize::from(tuple.ipv6)], tuple.ipv6) {
                (true, true) => self.tracker.ask::<true>(ways, this, |_| tuple),
                (true, false) => self.tracker.ask::<false>(ways, this, |_| tuple),
                (false, _) => {}
            }
        }
    }
}

/// Keeps what pass 1 reads of packets that enter together, so that [`Read`] has less to do.
pub(super) struct Seeing<'a> {
    pub(super) ahead: &'a mut Ahead,
    pub(super) tracker: &'a Tracker,
    /// As in [`Read`].
    pub(super) tracks: [bool; 2],
    pub(super) reads: [bool; 2],
}

impl Sees for Seeing<'_> {
    #[inline(always)]
    fn see<L: Lanes, H: Headers>(
        &mut self,
        lanes: L,
        place: usize,
        frames: &[Frame; headers::TOGETHER],
        headers: &H,
    ) {
        let at = place % CHUNK;
        let family = usize::from(H::IPV6);
        let finished = frames.iter().all(|frame| frame.offload.is_finished());
        if self.reads[family] | !finished | (at > CHUNK - headers::TOGETHER) {
            return;
        }
        let Some(usual) = Usual::of(lanes, frames, headers) else {
            return;
        };
        let (ahead, to) = (&mut *self.ahead, at..at + headers::TOGETHER);
        ahead.which.read |= 0xffff << at;
        ahead.which.plain |= u64::from(usual.midst) << at;
        ahead.which.tcp |= u64::from(usual.tcp) << at;
        ahead.lens[to.clone()].copy_from_slice(&headers.totals());
        let columns = &mut ahead.run.columns;
        columns.put_together(at, frames[0].ingress, headers);
        match (self.tracks[family], H::IPV6) {
            (true, true) => ahead.ask::<true>(to, self.tracker),
            (true, false) => ahead.ask::<false>(to, self.tracker),
            (false, _) => {}
        }
    }
}

/// Of packets that were read together, all of them whole TCP segments or UDP datagrams.
struct Usual {
    /// As in [`Which`].
    tcp: u32,
    midst: u32,
}

impl Usual {
    #[inline(always)]
    fn of<L: Lanes, H: Headers>(
        lanes: L,
        frames: &[Frame; headers::TOGETHER],
        headers: &H,
    ) -> Option<Self> {
        let (protocols, fragments) = (headers.protocols(), headers.fragments());
        let (lifetimes, rest) = (headers.lifetimes(), headers.rest());
        let tcp = column(|at| protocols[at] ^ u32::from(protocol::TCP));
        let odd = column(|at| {
            let other = (tcp[at] != 0) & (protocols[at] != u32::from(protocol::UDP));
            fragments[at] | u32::from(other | (rest[at] < H::DATAGRAM))
        });
        if lanes.zeros(&odd) != 0xffff {
            return None;
        }
        let segments = lanes.zeros(&tcp);
        // Not read where nobody has any.
        let flags = match segments {
            0 => [0; headers::TOGETHER],
            _ => headers.flags(frames),
        };
        let slow = column(|at| {
            let ends = (flags[at] & u32::from(SLOW_FLAGS) != 0) | (rest[at] < H::SEGMENT);
            u32::from((lifetimes[at] <= 1) | (tcp[at] == 0) & ends)
        });
        Some(Self {
            tcp: segments,
            midst: lanes.zeros(&slow),
        })
    }
}

/// Finds the connections of all packets: first what they most likely are, so that the entries come
/// while others are looked for. The few that this does not find, the guard does.
pub(super) struct Find<'a> {
    pub(super) count: usize,
    pub(super) ahead: &'a mut Ahead,
    pub(super) tracker: &'a Tracker,
    pub(super) tracks: [bool; 2],
    /// Which families may be forwarded by FastTrack.
    pub(super) fasttracks: [bool; 2],
}

impl Work for Find<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let (mut at, count) = (0, self.count.min(CHUNK));
        while at < count {
            let (ipv6, end) = self.ahead.which.family(at, count);
            match (self.tracks[usize::from(ipv6)], ipv6) {
                (true, true) => self.find::<_, true>(lanes, at..end),
                (true, false) => self.find::<_, false>(lanes, at..end),
                (false, _) => {}
            }
            at = end;
        }
    }
}

impl Find<'_> {
    #[inline(always)]
    fn find<L: Lanes, const IPV6: bool>(&mut self, lanes: L, places: Range<usize>) {
        let (tracker, ahead) = (self.tracker, &mut *self.ahead);
        let (ways, columns) = (&mut ahead.ways, &ahead.run.columns);
        tracker.candidates::<L, IPV6>(lanes, ways, places.clone());
        tracker.verify::<IPV6>(ways, places.clone(), |at| columns.tuple::<IPV6>(at));
        let marked = ways.with_fasttrack(places.clone());
        if self.fasttracks[usize::from(IPV6)] {
            ahead.which.fasttrack |= marked & ahead.which.plain;
        }
        let all = u64::MAX >> (CHUNK - places.len().max(1)) << places.start;
        let mut slow = ahead.which.tcp & !marked & all;
        while slow != 0 {
            if let Some(way) = ahead.ways.get(slow.trailing_zeros() as usize) {
                tracker.prefetch_shared(way);
            }
            slow &= slow - 1;
        }
    }
}
