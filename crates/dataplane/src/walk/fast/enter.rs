//! Pass 1: ingress and prerouting for the frames of a vector; collects the destinations to look up.
//!
//! Three loops, from the most frequent case to the rarest: sixteen headers at once in columns ([`Together`]), plain
//! headers one by one ([`run`]), all other frames ([`odd`]).

use core::ops::Range;

use frame::{Frame, VECTOR_FRAMES};
use kernels::{Lanes, Work, widest};

use super::pass1_results::{HeaderClass, Pass1Results};
use crate::counters::Counters;
use crate::trace::Silent;
use crate::walk::decide::enter;
use crate::walk::decide::enter::PacketStart;
use crate::walk::demux;
use crate::walk::headers;
use crate::walk::headers::{Headers, Headers4, Headers6};
use crate::walk::ingress;
use crate::walk::ingress::Entrance;
use crate::walk::packet::Key as Destination;
use crate::walk::tally::received;
use crate::walk::{Context, Exit, prerouting};

/// Headers are prefetched this many frames ahead.
const AHEAD: usize = 8;

/// A consumer of the headers of frames that enter together.
pub(in crate::walk) trait HeaderConsumer {
    /// Receives the headers of consecutive frames, the first at position `place` of the vector.
    fn consume<L: Lanes, H: Headers>(
        &mut self,
        lanes: L,
        place: usize,
        frames: &[Frame; headers::TOGETHER],
        headers: &H,
    );
}

/// A consumer that ignores headers.
pub(in crate::walk) struct IgnoreHeaders;

impl HeaderConsumer for IgnoreHeaders {
    #[inline(always)]
    fn consume<L: Lanes, H: Headers>(
        &mut self,
        _lanes: L,
        _place: usize,
        _frames: &[Frame; headers::TOGETHER],
        _headers: &H,
    ) {
    }
}

/// Runs pass 1 for the frames at these positions of a vector.
pub(in crate::walk) fn pass1<const FAST: bool, S: HeaderConsumer>(
    cx: &Context<'_>,
    entrance: &Entrance,
    frames: &mut [Frame],
    places: Range<usize>,
    entered: &mut Pass1Results,
    consumer: &mut S,
    counters: &Counters,
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
            consumer,
        });
        // Frames behind a group that could not enter together may do so; the group itself is not
        // tried again, however often its kinds of frames alternate.
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

/// Enters frames that pass all checks, [`headers::TOGETHER`] at a time.
struct Together<'a, 'v, S> {
    cx: &'a Context<'a>,
    entrance: &'a Entrance,
    frames: &'v mut [Frame],
    places: Range<usize>,
    entered: &'v mut Pass1Results,
    consumer: &'v mut S,
}

impl<S: HeaderConsumer> Work for Together<'_, '_, S> {
    /// Position of the first frame that needs other checks.
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

impl<S: HeaderConsumer> Together<'_, '_, S> {
    /// Enters the group of frames at `at`. Returns false and changes nothing unless all of them
    /// surely enter.
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
        // Demux removes tags only on interfaces with VLANs or sessions.
        let tagged = part.iter().filter(|_| entrance.demuxes());
        let untagged = tagged.map(|frame| u32::from(frame.untagged)).sum::<u32>();
        entered.received.bytes += u64::from(lens + untagged);
        for frame in &mut *part {
            // Demux has already set the ingress interface of each frame.
            if !entrance.demuxes() {
                frame.ingress = entrance.id;
            }
            frame.l3 = ingress::ETHERNET as u16;
        }
        self.consumer.consume(lanes, at, part, &headers);
        true
    }
}

#[inline(always)]
fn split<T>(slice: &mut [T]) -> Option<(&mut [T; headers::TOGETHER], &mut [T])> {
    slice.split_first_chunk_mut()
}

/// Enters consecutive plain frames of one family. Returns the position of the first other frame.
///
/// One loop per family keeps its values in registers.
#[inline(never)]
fn run<const FAST: bool, const IPV6: bool>(
    cx: &Context<'_>,
    entrance: &Entrance,
    frames: &mut [Frame],
    places: Range<usize>,
    entered: &mut Pass1Results,
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
                    entered.classes[place] = HeaderClass::V6;
                    count6 += 1;
                }
                Err(exit) => entered.leave(place, exit),
            }
        } else {
            match prerouting::ipv4::<FAST>(cx, &arrived, packet) {
                Ok(address) => {
                    entered.keys4[count4 % VECTOR_FRAMES] = address;
                    entered.classes[place] = HeaderClass::V4;
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

/// Runs pass 1 for a frame that is not plain.
#[cold]
#[inline(never)]
fn odd<const FAST: bool>(
    cx: &Context<'_>,
    entrance: &Entrance,
    frame: &mut Frame,
    counters: &Counters,
) -> Result<Destination, Exit> {
    let mut start = PacketStart {
        interface: entrance.id,
        l3: 0,
    };
    let key = enter::enter::<FAST, _>(cx, entrance, frame.bytes(), &mut start, &mut Silent);
    frame.ingress = start.interface;
    frame.l3 = start.l3;
    if start.interface != entrance.id {
        frame.below = entrance.id;
        // On the fast path, pass 3 counts the frame.
        if !FAST || !cx.snapshot.is_routing_only() {
            let above = counters.interface(start.interface);
            above.rx.add(1, frame.len() as u64);
        }
    }
    if key.is_ok() {
        demux::untag(frame);
    }
    key
}
