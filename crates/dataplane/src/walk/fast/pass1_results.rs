//! The results of pass 1 for the frames of a vector.

use frame::VECTOR_FRAMES;

use crate::counters::{Counters, Traffic};
use crate::drop::DropReason;
use crate::walk::Exit;
use crate::walk::headers::TOGETHER;
use crate::walk::ingress::Entrance;
use crate::walk::packet::Key as Destination;

/// The results of pass 1, by the frame's place in the vector.
pub(in crate::walk) struct Pass1Results {
    pub(in crate::walk) classes: [HeaderClass; VECTOR_FRAMES],
    pub(in crate::walk) exits: [Exit; VECTOR_FRAMES],
    /// The destinations of each family, stored without gaps, and their number.
    pub(in crate::walk) keys4: [u32; VECTOR_FRAMES],
    pub(in crate::walk) count4: usize,
    pub(in crate::walk) keys6: [u128; VECTOR_FRAMES],
    pub(in crate::walk) count6: usize,
    /// All received frames.
    pub(in crate::walk) received: Traffic,
}

/// The class that pass 1 gives a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::walk) enum HeaderClass {
    /// The frame has left its walk.
    Exit,
    V4,
    V6,
}

impl Pass1Results {
    pub(in crate::walk) const fn new() -> Self {
        Self {
            classes: [HeaderClass::Exit; VECTOR_FRAMES],
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

    /// Clears the results for a new vector.
    pub(in crate::walk) fn begin(&mut self) {
        (self.count4, self.count6) = (0, 0);
        self.received = Traffic::default();
    }

    /// Returns the IPv4 destinations to look up.
    pub(in crate::walk) fn destinations4(&self) -> &[u32] {
        self.keys4.get(..self.count4).unwrap_or_default()
    }

    /// Returns the IPv6 destinations to look up.
    pub(in crate::walk) fn destinations6(&self) -> &[u128] {
        self.keys6.get(..self.count6).unwrap_or_default()
    }

    /// Counts the received frames at their entrance. Returns their number and bytes.
    pub(in crate::walk) fn count(&self, entrance: &Entrance, counters: &Counters) -> Traffic {
        let Traffic { packets, bytes } = self.received;
        if entrance.counts {
            counters.interface(entrance.id).rx.add(packets, bytes);
        }
        self.received
    }

    /// Stores the exit of a frame.
    #[inline(always)]
    pub(in crate::walk) fn leave(&mut self, place: usize, exit: Exit) {
        self.classes[place % VECTOR_FRAMES] = HeaderClass::Exit;
        self.exits[place % VECTOR_FRAMES] = exit;
    }

    /// Stores the destination or the exit of a frame.
    pub(in crate::walk) fn note(&mut self, at: usize, key: Result<Destination, Exit>) {
        let place = at % VECTOR_FRAMES;
        match key {
            Ok(Destination::V4(address)) => {
                self.keys4[self.count4 % VECTOR_FRAMES] = address;
                self.classes[place] = HeaderClass::V4;
                self.count4 += 1;
            }
            Ok(Destination::V6(address)) => {
                self.keys6[self.count6 % VECTOR_FRAMES] = address;
                self.classes[place] = HeaderClass::V6;
                self.count6 += 1;
            }
            Err(exit) => self.leave(place, exit),
        }
    }

    /// Stores the destinations of successive frames from `at` on. Returns false, and stores nothing, if there is no
    /// room for all.
    #[inline(always)]
    pub(in crate::walk) fn note_all<K: DestinationKey>(
        &mut self,
        at: usize,
        keys: [K; TOGETHER],
    ) -> bool {
        if at + TOGETHER > VECTOR_FRAMES {
            return false;
        }
        let (all, count) = K::keys(self);
        let Some((to, _)) = all
            .get_mut(*count..)
            .and_then(<[K]>::split_first_chunk_mut::<TOGETHER>)
        else {
            return false;
        };
        *to = keys;
        *count += TOGETHER;
        self.classes[at..at + TOGETHER].fill(K::CLASS);
        true
    }
}

/// A destination address of one family.
pub(in crate::walk) trait DestinationKey: Copy {
    /// Returns the destinations of the vector and their number.
    fn keys(entered: &mut Pass1Results) -> (&mut [Self; VECTOR_FRAMES], &mut usize);
    /// The class of the family.
    const CLASS: HeaderClass;
}

impl DestinationKey for u32 {
    const CLASS: HeaderClass = HeaderClass::V4;

    #[inline(always)]
    fn keys(entered: &mut Pass1Results) -> (&mut [Self; VECTOR_FRAMES], &mut usize) {
        (&mut entered.keys4, &mut entered.count4)
    }
}

impl DestinationKey for u128 {
    const CLASS: HeaderClass = HeaderClass::V6;

    #[inline(always)]
    fn keys(entered: &mut Pass1Results) -> (&mut [Self; VECTOR_FRAMES], &mut usize) {
        (&mut entered.keys6, &mut entered.count6)
    }
}
