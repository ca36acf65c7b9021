//! Incomplete messages at the end of TCP segments that a helper reads, kept until the next segment arrives.
//!
//! For each direction the last few cut positions are kept: where a segment ended inside a message, and where
//! the message that continued ended. A retransmitted segment is then read as the first time. The storage is
//! bounded and freed with the connection; few connections use it.

use std::collections::BTreeMap;

use super::id::{FlowId, Slot};
use super::tracker::Tracker;

/// Maximum number of directions per worker with stored text.
const DIRECTIONS_MAX: usize = 4_096;

/// Maximum number of bytes that a worker stores.
const BYTES_MAX: usize = 1 << 20;

/// Number of cut positions per direction.
const CUTS: usize = 4;

/// A position in the stream where a segment ended.
#[derive(Clone, Debug, Default)]
struct CutPosition {
    /// Sequence number of the next byte.
    number: u32,
    /// Text to prepend to the next segment.
    text: Box<[u8]>,
}

/// The incomplete messages of one worker.
#[derive(Debug, Default)]
pub(super) struct Remainders {
    /// The cut positions of each direction, newest first.
    directions: BTreeMap<(Slot, bool), [CutPosition; CUTS]>,
    bytes: usize,
}

impl Remainders {
    /// Returns the text to prepend to the segment that begins at `number`.
    fn before(&self, direction: (Slot, bool), number: u32) -> &[u8] {
        if self.directions.is_empty() {
            return &[];
        }
        let mut places = self.directions.get(&direction).into_iter().flatten();
        let place = places.find(|place| place.number == number);
        place.map_or(&[], |place| &place.text)
    }

    /// Returns how many of `bytes` bytes from `number` on were read together the first time; retransmitted
    /// segments may be longer.
    fn together(&self, direction: (Slot, bool), number: u32, bytes: usize) -> usize {
        let places = self.directions.get(&direction).into_iter().flatten();
        let cut = places.filter(|place| !place.text.is_empty());
        let until = cut.map(|place| place.number.wrapping_sub(number) as usize);
        until.filter(|len| *len > 0).fold(bytes, usize::min)
    }

    /// Stores the text to prepend to the segment that begins at `number`. Returns false if the storage is
    /// full; the next segment is then read without it.
    fn keep(&mut self, direction: (Slot, bool), number: u32, text: Box<[u8]>) -> bool {
        let Some(places) = self.directions.get_mut(&direction) else {
            return text.is_empty() || self.begin(direction, CutPosition { number, text });
        };
        // A retransmission was already read.
        if number.wrapping_sub(places[0].number) as i32 <= 0 {
            return true;
        }
        let oldest = &mut places[CUTS - 1];
        self.bytes -= core::mem::take(&mut oldest.text).len();
        places.rotate_right(1);
        let fits = self.bytes + text.len() <= BYTES_MAX;
        let text = if fits { text } else { Box::default() };
        self.bytes += text.len();
        places[0] = CutPosition { number, text };
        if places.iter().all(|place| place.text.is_empty()) {
            self.directions.remove(&direction);
        }
        fits
    }

    /// Stores the first cut position of a direction.
    fn begin(&mut self, direction: (Slot, bool), place: CutPosition) -> bool {
        let fits = self.bytes + place.text.len() <= BYTES_MAX;
        if !fits || self.directions.len() >= DIRECTIONS_MAX {
            return false;
        }
        self.bytes += place.text.len();
        // The unused positions have no text, so their number does not matter.
        let mut places: [CutPosition; CUTS] = Default::default();
        places[0] = place;
        self.directions.insert(direction, places);
        true
    }

    /// Frees the text of a connection that has ended.
    pub(super) fn forget(&mut self, slot: Slot) {
        for reply in [false, true] {
            let places = self.directions.remove(&(slot, reply));
            let texts = places.iter().flatten().map(|place| place.text.len());
            self.bytes -= texts.sum::<usize>();
        }
    }
}

impl Tracker {
    /// Returns the text to prepend to the segment that begins at `number`, in the sender's numbering; usually
    /// empty.
    #[inline]
    pub fn remainder(&self, way: FlowId, number: u32) -> &[u8] {
        self.remainders.before((way.slot(), way.reply()), number)
    }

    /// Returns how many of `bytes` bytes from `number` on were read together the first time.
    #[inline]
    pub fn together(&self, way: FlowId, number: u32, bytes: usize) -> usize {
        self.remainders
            .together((way.slot(), way.reply()), number, bytes)
    }

    /// Stores the text to prepend to the segment that begins at `number`; empty if a message ended there.
    /// Returns false if the storage is full.
    #[inline]
    pub fn keep(&mut self, way: FlowId, number: u32, text: Box<[u8]>) -> bool {
        self.remainders
            .keep((way.slot(), way.reply()), number, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: (Slot, bool) = (Slot::new(false, 0, 7), true);

    fn text(len: usize) -> Box<[u8]> {
        vec![b'x'; len].into()
    }

    #[test]
    fn the_last_slots_are_reserved_for_retransmissions() {
        let mut all = Remainders::default();
        // The sequence numbers wrap around.
        let number = |segment: u32| (u32::MAX - 20).wrapping_add(segment * 10);
        for segment in 1..=5 {
            assert!(all.keep(HERE, number(segment), text(segment as usize)));
            // A retransmission with another length.
            assert!(all.keep(HERE, number(segment), text(9)));
        }

        let kept = (1..=6).map(|segment| all.before(HERE, number(segment)).len());

        assert_eq!(kept.collect::<Vec<_>>(), [0, 2, 3, 4, 5, 0]);
        assert_eq!(all.before((HERE.0, false), number(5)), b"");
        assert_eq!(all.bytes, 14);
    }

    #[test]
    fn no_buffer_remains_when_messages_end_at_segment_boundaries() {
        let mut all = Remainders::default();
        assert!(all.keep(HERE, 1, text(0)) && all.directions.is_empty());
        assert!(all.keep(HERE, 2, text(3)));
        for number in 3..6 {
            assert!(all.keep(HERE, number, text(0)));
            assert_eq!(all.before(HERE, 2), b"xxx");
        }

        assert!(all.keep(HERE, 6, text(0)));

        assert!(all.directions.is_empty() && all.bytes == 0);
    }

    #[test]
    fn buffers_are_bounded_and_freed_with_their_connection() {
        let mut all = Remainders::default();
        let of = |place| (Slot::new(false, 0, place), false);
        for place in 0..2 * DIRECTIONS_MAX as u32 {
            assert_eq!(all.keep(of(place), 1, text(200)), place < 4096);
        }
        assert!(all.keep(of(0), 2, text(BYTES_MAX - all.bytes)));
        assert!(!all.keep(of(1), 2, text(1)));
        assert_eq!(all.before(of(1), 1), [b'x'; 200]);
        assert_eq!(all.before(of(1), 2), b"");
        assert_eq!(all.bytes, BYTES_MAX);

        for place in 0..4096 {
            all.forget(Slot::new(false, 0, place));
        }

        assert!(all.directions.is_empty() && all.bytes == 0);
    }
}
