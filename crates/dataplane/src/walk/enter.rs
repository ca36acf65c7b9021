//! Pass 1: ingress and prerouting for the frames of a vector; collects the destinations to look up.
//!
//! Three loops, from the most frequent case to the rarest: sixteen headers at once in columns ([`Together`]), plain
//! headers one by one ([`run`]), all other frames ([`odd`]).

use core::ops::Range;

use frame::{Frame, VECTOR_FRAMES};
use kernels::{Lanes, Work, widest};

use super::decide::{self, Place};
use super::demux;
use super::headers::{self, Headers, Headers4, Headers6};
use super::ingress::{self, Entrance};
use super::packet::Key as Destination;
use super::tally::received;
use super::{Context, Exit, prerouting};
use crate::counters::{Counters, Traffic};
use crate::drop::DropReason;
use crate::trace::Silent;

/// Headers are asked for this many frames ahead.
const AHEAD: usize = 8;

/// What pass 1 says of the frames of a vector, by their place in it.
pub(super) struct Entered {
    pub(super) lanes: [Lane; VECTOR_FRAMES],
    pub(super) exits: [Exit; VECTOR_FRAMES],
    /// The destinations by family, without gaps, and how many they are.
    keys4: [u32; VECTOR_FRAMES],
    count4: usize,
    keys6: [u128; VECTOR_FRAMES],
    count6: usize,
    /// What came in, of whatever kind.
    received: Traffic,
}

/// What pass 1 found a frame to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// It has left its walk already.
    Exit,
    V4,
    V6,
}

impl Entered {
    pub(super) const fn new() -> Self {
        Self {
            lanes: [Lane::Exit; VECTOR_FRAMES],
            exits: [Exit::Drop(DropReason::NoRoute); VECTOR_FRAMES],
            keys4: [0; VECTOR_FRAMES],
            count4: 0,
            keys6: [0; VECTOR_FRAMES],
            count6: 0,
            received: Traffic {
                packets: 0,
                bytes: 0,
            },
        }
    }

    /// A new vector begins.
    pub(super) fn begin(&mut self) {
        (self.count4, self.count6) = (0, 0);
        self.received = Traffic::default();
    }

    /// The destinations of IPv4 to look up.
    pub(super) fn destinations4(&self) -> &[u32] {
        self.keys4.get(..self.count4).unwrap_or_default()
    }

    /// The same of IPv6.
    pub(super) fn destinations6(&self) -> &[u128] {
        self.keys6.get(..self.count6).unwrap_or_default()
    }

    /// Counts what came in by this entrance.
    pub(super) fn count(&self, entrance: &Entrance, counters: &Counters) -> Traffic {
        let Traffic { packets, bytes } = self.received;
        if entrance.counts {
            counters.interface(entrance.id).rx.add(packets, bytes);
        }
        self.received
    }

    /// Keeps how a frame left its walk.
    #[inline(always)]
    fn leave(&mut self, place: usize, exit: Exit) {
        self.lanes[place % VECTOR_FRAMES] = Lane::Exit;
        self.exits[place % VECTOR_FRAMES] = exit;
    }

    /// Keeps what was decided about a frame.
    fn note(&mut self, at: usize, key: Result<Destination, Exit>) {
        let place = at % VECTOR_FRAMES;
        match key {
            Ok(Destination::V4(address)) => {
                self.keys4[self.count4 % VECTOR_FRAMES] = address;
                self.lanes[place] = Lane::V4;
                self.count4 += 1;
            }
            Ok(Destination::V6(address)) => {
                self.keys6[self.count6 % VECTOR_FRAMES] = address;
                self.lanes[place] = Lane::V6;
                self.count6 += 1;
            }
            Err(exit) => self.leave(place, exit),
        }
    }

    /// The same of frames from a place on that enter together. False, and nothing kept, where there is no
    /// room for them.
    #[inline(always)]
    fn note_all<K: Key>(&mut self, at: usize, keys: [K; headers::TOGETHER]) -> bool {
        if at + headers::TOGETHER > VECTOR_FRAMES {
            return false;
        }
        let (all, count) = K::keys(self);
        let Some((to, _)) = all.get_mut(*count..).and_then(split) else {
            return false;
        };
        *to = keys;
        *count += headers::TOGETHER;
        self.lanes[at..at + headers::TOGETHER].fill(K::LANE);
        true
    }
}

/// What is looked up of a family.
pub(super) trait Key: Copy {
    /// Those of a vector, and how many they are.
    fn keys(entered: &mut Entered) -> (&mut [Self; VECTOR_FRAMES], &mut usize);
    /// The lane of the family.
    const LANE: Lane;
}

impl Key for u32 {
    const LANE: Lane = Lane::V4;

    #[inline(always)]
    fn keys(entered: &mut Entered) -> (&mut [Self; VECTOR_FRAMES], &mut usize) {
        (&mut entered.keys4, &mut entered.count4)
    }
}

impl Key for u128 {
    const LANE: Lane = Lane::V6;

    #[inline(always)]
    fn keys(entered: &mut Entered) -> (&mut [Self; VECTOR_FRAMES], &mut usize) {
        (&mut entered.keys6, &mut entered.count6)
    }
}

/// Who works on with the headers of frames that enter together.
pub(super) trait Sees {
    /// They lie from this place of the vector on.
    fn see<L: Lanes, H: Headers>(
        &mut self,
        lanes: L,
        place: usize,
        frames: &[Frame; headers::TOGETHER],
        headers: &H,
    );
}

/// Nobody.
pub(super) struct Unseen;

impl Sees for Unseen {
    #[inline(always)]
    fn see<L: Lanes, H: Headers>(
        &mut self,
        _lanes: L,
        _place: usize,
        _frames: &[Frame; headers::TOGETHER],
        _headers: &H,
    ) {
    }
}

/// The pass, for the frames at some places of a vector.
pub(super) fn pass1<const FAST: bool, S: Sees>(
    cx: &Context<'_>,
    entrance: &Entrance,
    frames: &mut [Frame],
    places: Range<usize>,
    entered: &mut Entered,
    (sees, counters): (&mut S, &Counters),
) {
    let end = places.end.min(frames.len()).min(VECTOR_FRAMES);
    entered.received.packets += places.len() as u64;
    let mut at = places.start;
    while at < end {
        at = widest(Together {
            cx,
            entrance,
            frames,
            places: at..end,
            entered,
            sees,
        });
        // Those behind a part that could not enter together may; the part itself is not tried again,
        // however often kinds of frames change in it.
        let until = end.min(at + headers::TOGETHER);
        while at < until {
            let from = at;
            at = run::<FAST, false>(cx, entrance, frames, at..until, entered);
            at = run::<FAST, true>(cx, entrance, frames, at..until, entered);
            if at == from {
                let frame = &mut frames[at];
                entered.received.bytes += received(frame);
                let key = odd::<FAST>(cx, entrance, frame, counters);
                entered.note(at, key);
                at += 1;
            }
        }
    }
}

/// Frames that surely enter, [`headers::TOGETHER`] at a time.
struct Together<'a, 'v, S> {
    cx: &'a Context<'a>,
    entrance: &'a Entrance,
    frames: &'v mut [Frame],
    places: Range<usize>,
    entered: &'v mut Entered,
    sees: &'v mut S,
}

impl<S: Sees> Work for Together<'_, '_, S> {
    /// Where they end.
    type Output = usize;

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) -> usize {
        let (mut at, end) = (self.places.start, self.places.end);
        while at + headers::TOGETHER <= end
            && (self.part::<_, Headers4>(lanes, at) || self.part::<_, Headers6>(lanes, at))
        {
            at += headers::TOGETHER;
        }
        at
    }
}

impl<S: Sees> Together<'_, '_, S> {
    /// Those at a place and behind it. False, and nothing done, where not all of them surely enter.
    #[inline(always)]
    fn part<L: Lanes, H: Headers>(&mut self, lanes: L, at: usize) -> bool {
        let (entrance, entered) = (self.entrance, &mut *self.entered);
        let Some((part, behind)) = self.frames.get_mut(at..).and_then(split) else {
            return false;
        };
        if !(H::suit(&part[0]) && H::may_enter(self.cx.snapshot, &entrance.interface)) {
            return false;
        }
        let next = behind.iter().take(headers::TOGETHER);
        next.for_each(Frame::prefetch);
        let headers = H::read(lanes, part);
        let differ = ingress::differ(entrance, &headers);
        let doubts = headers.doubts(lanes, self.cx.interfaces.own());
        let odd = headers::column(|at| differ[at] | doubts[at]);
        if lanes.zeros(&odd) != 0xffff {
            return false;
        }
        if !entered.note_all(at, headers.destinations()) {
            return false;
        }
        let lens = headers.lens().iter().sum::<u32>();
        // Nothing was taken off where nothing lies on the interface.
        let tagged = part.iter().filter(|_| entrance.demuxes());
        let untagged = tagged.map(|frame| u32::from(frame.untagged)).sum::<u32>();
        entered.received.bytes += u64::from(lens + untagged);
        for frame in &mut *part {
            // Demux has said of each frame which interface receives it.
            if !entrance.demuxes() {
                frame.ingress = entrance.id;
            }
            frame.l3 = ingress::ETHERNET as u16;
        }
        self.sees.see(lanes, at, part, &headers);
        true
    }
}

#[inline(always)]
fn split<T>(slice: &mut [T]) -> Option<(&mut [T; headers::TOGETHER], &mut [T])> {
    slice.split_first_chunk_mut()
}

/// Plain frames of one family, as many as follow each other; returns where they end.
///
/// A loop of its own for each family keeps what it works with in registers.
#[inline(never)]
fn run<const FAST: bool, const IPV6: bool>(
    cx: &Context<'_>,
    entrance: &Entrance,
    frames: &mut [Frame],
    places: Range<usize>,
    entered: &mut Entered,
) -> usize {
    let (mut count4, mut count6) = (entered.count4, entered.count6);
    let mut bytes = 0;
    let (mut at, end) = (places.start, places.end.min(frames.len()));
    while at < end {
        if let Some(next) = frames.get(at + AHEAD) {
            next.prefetch();
        }
        let frame = &mut frames[at];
        let Some(mut arrived) = ingress::plain(entrance, frame.bytes()) else {
            break;
        };
        if arrived.ipv6 != IPV6 {
            break;
        }
        bytes += received(frame);
        if entrance.demuxes() {
            arrived.id = frame.ingress;
        }
        frame.ingress = arrived.id;
        frame.l3 = arrived.l3;
        let packet = frame.bytes().get(ingress::ETHERNET..).unwrap_or_default();
        let place = at % VECTOR_FRAMES;
        if IPV6 {
            match prerouting::ipv6::<FAST>(cx, &arrived, packet) {
                Ok(address) => {
                    entered.keys6[count6 % VECTOR_FRAMES] = address;
                    entered.lanes[place] = Lane::V6;
                    count6 += 1;
                }
                Err(exit) => entered.leave(place, exit),
            }
        } else {
            match prerouting::ipv4::<FAST>(cx, &arrived, packet) {
                Ok(address) => {
                    entered.keys4[count4 % VECTOR_FRAMES] = address;
                    entered.lanes[place] = Lane::V4;
                    count4 += 1;
                }
                Err(exit) => entered.leave(place, exit),
            }
        }
        at += 1;
    }
    (entered.count4, entered.count6) = (count4, count6);
    entered.received.bytes += bytes;
    at
}

/// A frame that is not plain.
#[cold]
#[inline(never)]
fn odd<const FAST: bool>(
    cx: &Context<'_>,
    entrance: &Entrance,
    frame: &mut Frame,
    counters: &Counters,
) -> Result<Destination, Exit> {
    let mut place = Place {
        interface: entrance.id,
        l3: 0,
    };
    let key = decide::enter::<FAST, _>(cx, entrance, frame.bytes(), &mut place, &mut Silent);
    frame.ingress = place.interface;
    frame.l3 = place.l3;
    if place.interface != entrance.id {
        frame.below = entrance.id;
        // The fast path counts in pass 3.
        if !FAST || cx.snapshot.queues {
            let above = counters.interface(place.interface);
            above.rx.add(1, frame.len() as u64);
        }
    }
    if key.is_ok() {
        demux::untag(frame);
    }
    key
}
