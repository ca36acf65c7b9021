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
use crate::connection::{Hash, NatState, Tick, Tracker, Way};
use crate::packet::{Fields, protocol};
use crate::rule::First;
use crate::walk::depart::packet;
use crate::walk::passes::Lane;

/// What the passes tell each other about the frames of a chunk, by their place in it.
pub(in crate::walk) struct Ahead {
    /// Of packets that are not plain, and of all where rules ask for more than columns.
    fields: [Fields; CHUNK],
    hashes: [Hash; CHUNK],
    /// Of plain packets, as in [`Fields`].
    pub(super) lens: [u32; CHUNK],
    /// The connections that were there when the chunk began, of plain packets.
    pub(super) ways: [Option<Way>; CHUNK],
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
}

impl Which {
    fn of(lanes: &[Lane]) -> Self {
        let bits = |lane: Lane| {
            let bits = lanes.iter().take(CHUNK).enumerate();
            bits.fold(0, |bits, (at, is)| bits | u64::from(*is == lane) << at)
        };
        Self {
            exit: bits(Lane::Exit),
            ipv6: bits(Lane::V6),
            ..Self::default()
        }
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
            hashes: [Hash::default(); CHUNK],
            lens: [0; CHUNK],
            ways: [None; CHUNK],
            which: Which::default(),
            run: Run::new(),
            raw: [[First::NOBODY; CHUNK]; 2],
            firsts: Firsts::new(),
        }
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
        let (first, mut len) = (places.start, self.run.len());
        let (ways, lens) = (&self.ways[places.clone()], &self.lens[places]);
        let (run, read) = (&mut self.run, (&mut self.fields, self.which.fields));
        let done = tracker.pass_datagrams::<IPV6>(ways, lens, now, |at, way, passed| {
            let place = first + at;
            if passed.nat != NatState::default() {
                turn::<IPV6>(
                    &mut run.columns,
                    (&mut *read.0, read.1),
                    place,
                    way,
                    tracker,
                );
            }
            run.put::<IPV6>(len, (place, lens[at]), Some(way), passed);
            len += 1;
        });
        self.run.close::<IPV6>(len);
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
        self.ahead.which = Which::of(self.lanes);
        let (mut at, count) = (0, self.frames.len().min(CHUNK));
        while at < count {
            let (ipv6, end) = self.ahead.which.family(at, count);
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
    /// What nobody asks for is not kept while a packet is read.
    #[inline(always)]
    fn read_family<const IPV6: bool>(&mut self, places: Range<usize>) {
        let family = usize::from(IPV6);
        match (self.tracks[family], self.reads[family]) {
            (true, true) => self.read::<IPV6, true, true>(places),
            (true, false) => self.read::<IPV6, true, false>(places),
            (false, true) => self.read::<IPV6, false, true>(places),
            (false, false) => self.read::<IPV6, false, false>(places),
        }
    }

    #[inline(always)]
    fn read<const IPV6: bool, const TRACKED: bool, const FIELDS: bool>(
        &mut self,
        places: Range<usize>,
    ) {
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
            if TRACKED {
                let hash = self.tracker.hash(&fields.tuple);
                ahead.hashes[at] = hash;
                self.tracker.prefetch(hash, IPV6);
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
            if self.tracks[usize::from(tuple.ipv6)] {
                let hash = self.tracker.hash(&tuple);
                self.ahead.hashes[at] = hash;
                self.tracker.prefetch(hash, tuple.ipv6);
            }
        }
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
        let (hashes, ways) = (
            &ahead.hashes[places.clone()],
            &mut ahead.ways[places.clone()],
        );
        tracker.candidates::<L, IPV6>(lanes, hashes, ways);
        let (columns, tcp, first) = (&ahead.run.columns, ahead.which.tcp, places.start);
        let mut marked = 0;
        tracker.verify::<IPV6>(
            ways,
            |at| columns.tuple::<IPV6>(first + at),
            |at, way, fasttrack| {
                let at = (first + at) % CHUNK;
                marked |= u64::from(fasttrack) << at;
                if (tcp >> at & 1 != 0) & !fasttrack {
                    tracker.prefetch_shared(way);
                }
            },
        );
        if self.fasttracks[usize::from(IPV6)] {
            ahead.which.fasttrack |= marked & ahead.which.plain;
        }
    }
}
