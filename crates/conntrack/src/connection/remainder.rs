//! The beginnings of messages that the end of a segment cut, of connections that a helper reads, until
//! the segment comes that goes on.
//!
//! Each direction of such a connection has its last few places where a segment ended and a message did
//! not, or where one that went on did: a segment that was lost behind the router comes again, and is to
//! be read as it was the first time. Bounded, and freed with the connection; hardly any has one.

use std::collections::BTreeMap;

use super::id::{Slot, Way};
use super::tracker::Tracker;

/// The most directions of a worker's connections of which something is kept.
const DIRECTIONS_MAX: usize = 4_096;

/// The most bytes that a worker keeps.
const BYTES_MAX: usize = 1 << 20;

/// The places that a direction has.
const PLACES: usize = 4;

/// A place where a segment ended.
#[derive(Clone, Debug, Default)]
struct Place {
    /// The number of the byte that comes next.
    number: u32,
    /// What has to be read before it.
    text: Box<[u8]>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Remainders {
    /// The newest place first.
    directions: BTreeMap<(Slot, bool), [Place; PLACES]>,
    bytes: usize,
}

impl Remainders {
    /// What has to be read before the segment that begins with this number.
    fn before(&self, direction: (Slot, bool), number: u32) -> &[u8] {
        if self.directions.is_empty() {
            return &[];
        }
        let mut places = self.directions.get(&direction).into_iter().flatten();
        let place = places.find(|place| place.number == number);
        place.map_or(&[], |place| &place.text)
    }

    /// How many of the bytes from this number on were read together the first time, of so many: what comes
    /// again may come in longer segments.
    fn together(&self, direction: (Slot, bool), number: u32, bytes: usize) -> usize {
        let places = self.directions.get(&direction).into_iter().flatten();
        let cut = places.filter(|place| !place.text.is_empty());
        let until = cut.map(|place| place.number.wrapping_sub(number) as usize);
        until.filter(|len| *len > 0).fold(bytes, usize::min)
    }

    /// A segment ended before this number, and this has to be read before the next one. False when too
    /// much is kept: the next one is read by itself then.
    fn keep(&mut self, direction: (Slot, bool), number: u32, text: Box<[u8]>) -> bool {
        let Some(places) = self.directions.get_mut(&direction) else {
            return text.is_empty() || self.begin(direction, Place { number, text });
        };
        // What comes again was read already.
        if number.wrapping_sub(places[0].number) as i32 <= 0 {
            return true;
        }
        let oldest = &mut places[PLACES - 1];
        self.bytes -= core::mem::take(&mut oldest.text).len();
        places.rotate_right(1);
        let fits = self.bytes + text.len() <= BYTES_MAX;
        let text = if fits { text } else { Box::default() };
        self.bytes += text.len();
        places[0] = Place { number, text };
        if places.iter().all(|place| place.text.is_empty()) {
            self.directions.remove(&direction);
        }
        fits
    }

    /// The first place of a direction.
    fn begin(&mut self, direction: (Slot, bool), place: Place) -> bool {
        let fits = self.bytes + place.text.len() <= BYTES_MAX;
        if !fits || self.directions.len() >= DIRECTIONS_MAX {
            return false;
        }
        self.bytes += place.text.len();
        // The others have no text, whatever their number.
        let mut places: [Place; PLACES] = Default::default();
        places[0] = place;
        self.directions.insert(direction, places);
        true
    }

    /// A connection ended.
    pub(super) fn forget(&mut self, slot: Slot) {
        for reply in [false, true] {
            let places = self.directions.remove(&(slot, reply));
            let texts = places.iter().flatten().map(|place| place.text.len());
            self.bytes -= texts.sum::<usize>();
        }
    }
}

impl Tracker {
    /// What was kept of a direction of a connection, to be read before the segment that begins with this
    /// number, as its sender wrote it; nothing usually.
    #[inline]
    pub fn remainder(&self, way: Way, number: u32) -> &[u8] {
        self.remainders.before((way.slot(), way.reply()), number)
    }

    /// How many of the bytes from this number on were read together the first time, of so many.
    #[inline]
    pub fn together(&self, way: Way, number: u32, bytes: usize) -> usize {
        self.remainders
            .together((way.slot(), way.reply()), number, bytes)
    }

    /// Keeps what has to be read before the segment that begins with this number; nothing where a
    /// message ended. False when too much is kept.
    #[inline]
    pub fn keep(&mut self, way: Way, number: u32, text: Box<[u8]>) -> bool {
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
    fn the_last_places_are_there_for_segments_that_come_again() {
        let mut all = Remainders::default();
        // The numbers of TCP begin anew.
        let number = |segment: u32| (u32::MAX - 20).wrapping_add(segment * 10);
        for segment in 1..=5 {
            assert!(all.keep(HERE, number(segment), text(segment as usize)));
            // Again, in another form.
            assert!(all.keep(HERE, number(segment), text(9)));
        }

        let kept = (1..=6).map(|segment| all.before(HERE, number(segment)).len());

        assert_eq!(kept.collect::<Vec<_>>(), [0, 2, 3, 4, 5, 0]);
        assert_eq!(all.before((HERE.0, false), number(5)), b"");
        assert_eq!(all.bytes, 14);
    }

    #[test]
    fn nothing_is_left_when_messages_end_with_their_segments_again() {
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
    fn what_is_kept_is_bounded_and_goes_with_its_connection() {
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
