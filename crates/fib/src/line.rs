//! A line: the addresses below some depth as sorted ranges in at most one cache line.
//!
//! It contains the start address of every range except the first, then the target of each range; unused
//! positions at the end repeat the last range. A search counts the start addresses up to the key, all at
//! once and without branches.
//!
//! A line gets the smallest format that holds its ranges. The key is the 64 bits of the address after the
//! line's depth; a format compares the first 8, 16, 32 or all of them.
//!
//! | format | family | bytes | ranges | key | target |
//! |---|---|---|---|---|---|
//! | 0, 1, 2 | both | 16, 32, 64 | 5, 11, 21 | 8 bits | next hops |
//! | 3, 4, 5 | IPv4 | 16, 32, 64 | 4, 8, 16 | 16 bits | next hops |
//! | 6, 7 | IPv4 | 32, 64 | 5, 11 | 16 bits | leaves |
//! | 3, 4 | IPv6 | 32, 64 | 6, 11 | 32 bits | next hops |
//! | 5, 6 | IPv6 | 32, 64 | 4, 8 | 32 bits | entries |
//! | 7 | IPv6 | 64 | 7 | 64 bits | next hops |
//!
//! Next hops take two bytes each; next hops with larger numbers, as those of sessions, need lines of leaves
//! or entries.

use core::sync::atomic::Ordering;

use kernels::{Baseline, Lanes, Line};

use super::entry::Entry;

/// Format of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineFormat {
    pub(super) number: u32,
    /// Size in units of 16 bytes.
    pub(super) units: u32,
    /// Maximum number of ranges.
    pub(super) ranges: usize,
    /// Number of compared bits of a key.
    pub(super) key_bits: u8,
    /// Bytes per target: 2 for next hops only, 4 for any entry.
    pub(super) value_bytes: usize,
}

const fn format(
    number: u32,
    units: u32,
    ranges: usize,
    key_bits: u8,
    value_bytes: usize,
) -> LineFormat {
    LineFormat {
        number,
        units,
        ranges,
        key_bits,
        value_bytes,
    }
}

/// The formats of IPv4 tables.
pub(super) const FORMATS4: [LineFormat; 8] = [
    format(0, 1, 5, 8, 2),
    format(1, 2, 11, 8, 2),
    format(2, 4, 21, 8, 2),
    format(3, 1, 4, 16, 2),
    format(4, 2, 8, 16, 2),
    format(5, 4, 16, 16, 2),
    format(6, 2, 5, 16, 4),
    format(7, 4, 11, 16, 4),
];
/// The formats of IPv6 tables.
pub(super) const FORMATS6: [LineFormat; 8] = [
    format(0, 1, 5, 8, 2),
    format(1, 2, 11, 8, 2),
    format(2, 4, 21, 8, 2),
    format(3, 2, 6, 32, 2),
    format(4, 4, 11, 32, 2),
    format(5, 2, 4, 32, 4),
    format(6, 4, 8, 32, 4),
    format(WIDE, 4, 7, 64, 2),
];
/// The format for a few networks that need more than 32 bits of key, as on nearly all links.
const WIDE: u32 = 7;

/// Words of the longest line, a cache line, in which shorter lines lie side by side. A search may read the
/// neighbouring lines and ignores them.
pub(super) const LINE_WORDS: usize = 16;

/// A range and its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// First key of the range.
    pub(super) start: u64,
    pub(super) entry: Entry,
}

impl LineFormat {
    /// Writes `ranges`; the first must begin at or before the line's first key.
    pub(super) fn write(&self, ranges: &[Range], out: &mut [u32]) {
        let Some(last) = ranges.last() else { return };
        let (key, value) = (usize::from(self.key_bits / 8), self.value_bytes);
        let mut bytes = [0_u8; LINE_WORDS * 4];
        // Unused positions begin at the last key and have the last range's target.
        let unused = Range {
            start: u64::MAX,
            entry: last.entry,
        };
        let ranges = ranges.iter().chain(core::iter::repeat(&unused));
        let values_at = (self.ranges - 1) * key;
        for (at, range) in ranges.take(self.ranges).enumerate() {
            if at > 0 {
                let start = range.start >> (64 - self.key_bits);
                put(&mut bytes, (at - 1) * key, key, start);
            }
            put(
                &mut bytes,
                values_at + at * value,
                value,
                range.entry.0.into(),
            );
        }
        for (word, four) in out.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*four);
        }
    }

    /// Returns the target of range `range` in the line at quarter `at`.
    pub(super) fn value(&self, line: &Line, at: u32, range: usize) -> Entry {
        let starts = (self.ranges - 1) * usize::from(self.key_bits / 8);
        let place = (starts + range * self.value_bytes) as u32;
        if self.value_bytes == 2 {
            value16(Baseline, line, at, place)
        } else {
            value32(line, at, place)
        }
    }
}

/// Writes the lowest `size` bytes of a number.
#[inline(always)]
fn put(bytes: &mut [u8; LINE_WORDS * 4], place: usize, size: usize, number: u64) {
    bytes[place..place + size].copy_from_slice(&number.to_le_bytes()[..size]);
}

/// The number of a range in its line, and its target.
pub(super) type RangeMatch = (usize, Entry);

#[inline(always)]
fn value16<L: Lanes>(lanes: L, line: &Line, at: u32, place: u32) -> Entry {
    Entry(lanes.value(line, at * 16 + place).into())
}

/// Returns the word `place` bytes after the beginning of quarter `at`.
#[inline(always)]
fn value32(line: &Line, at: u32, place: u32) -> Entry {
    let word = (at * 4 + place / 4) as usize % LINE_WORDS;
    Entry(line[word].load(Ordering::Relaxed))
}

/// Searches a line of format 0, 1 or 2 that begins at quarter `at` of a cache line.
#[inline(always)]
pub(super) fn find8<L: Lanes>(lanes: L, line: &Line, at: u32, format: u32, key: u32) -> RangeMatch {
    let starts = (0x14_0a04 >> (format * 8)) & 0xff;
    let range = lanes.count(lanes.at_most_u8(line, at, (key >> 24) as u8), starts);
    (range as usize, value16(lanes, line, at, starts + range * 2))
}

/// Searches a line of format 3 to 7 of IPv4.
#[inline(always)]
pub(super) fn find16<L: Lanes>(
    lanes: L,
    line: &Line,
    at: u32,
    format: u32,
    key: u32,
) -> RangeMatch {
    let below = lanes.at_most_u16(line, at, (key >> 16) as u16);
    if format > 5 {
        let starts = if format == 6 { 4 } else { 10 };
        let range = lanes.count(below, starts);
        return (range as usize, value32(line, at, starts * 2 + range * 4));
    }
    let starts = (4 << (format - 3)) - 1;
    let range = lanes.count(below, starts);
    (
        range as usize,
        value16(lanes, line, at, starts * 2 + range * 2),
    )
}

/// Searches a line of format 3 to 7 of IPv6; `whole` returns all 64 bits of the key.
#[inline(always)]
pub(super) fn find32<L: Lanes>(
    lanes: L,
    line: &Line,
    at: u32,
    format: u32,
    key: u32,
    whole: impl FnOnce() -> u64,
) -> RangeMatch {
    if format == WIDE {
        return find64(lanes, line, whole());
    }
    let starts = (0x0703_0a05 >> ((format - 3) * 8)) & 0xff;
    let range = lanes.count(lanes.at_most_u32(line, at, key), starts);
    let found = if format < 5 {
        value16(lanes, line, at, starts * 4 + range * 2)
    } else {
        value32(line, at, starts * 4 + range * 4)
    };
    (range as usize, found)
}

/// Searches a line of format 7 of IPv6.
#[inline(always)]
fn find64<L: Lanes>(lanes: L, line: &Line, key: u64) -> RangeMatch {
    const STARTS: u32 = 6;
    let range = lanes.count(lanes.at_most_u64(line, key), STARTS);
    (
        range as usize,
        value16(lanes, line, 0, STARTS * 8 + range * 2),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicU32;
    use proptest::prelude::*;

    fn line_of(format: &LineFormat, at: usize, ranges: &[Range]) -> Line {
        // The rest of the cache line must not matter.
        let mut words = [0x5555_5555; LINE_WORDS];
        format.write(ranges, &mut words[at * 4..][..format.units as usize * 4]);
        words.map(AtomicU32::new)
    }

    #[test]
    fn every_format_fits_its_size() {
        let mut all = FORMATS4.iter().chain(&FORMATS6);

        assert!(all.all(|s| s.units * 16 >= size(s) && LINE_WORDS as u32 * 4 >= s.units * 16));
    }

    fn size(format: &LineFormat) -> u32 {
        let starts = (format.ranges - 1) * usize::from(format.key_bits / 8);
        (starts + format.ranges * format.value_bytes) as u32
    }

    proptest! {
        #[test]
        fn every_format_finds_the_range_of_a_key(
            family6: bool,
            which in 0..8_usize,
            at in 0..4_u32,
            starts in prop::collection::btree_set(1_u64.., 0..20),
            keys in prop::collection::vec(any::<u64>(), 20),
        ) {
            let formats: &[LineFormat] = if family6 { &FORMATS6 } else { &FORMATS4 };
            let format = &formats[which % formats.len()];
            let mask = u64::MAX << (64 - format.key_bits);
            let mut starts: Vec<u64> = starts.into_iter().map(|s| s & mask).filter(|s| *s > 0).collect();
            starts.dedup();
            starts.truncate(format.ranges - 1);
            starts.insert(0, 0);
            let ranges: Vec<Range> = starts
                .iter()
                .zip(1..)
                .map(|(start, id)| Range { start: *start, entry: Entry(id * 3000) })
                .collect();
            let at = at / format.units * format.units;
            let line = line_of(format, at as usize, &ranges);

            for key in keys.into_iter().chain(starts).chain([0, u64::MAX]) {
                let right = ranges.iter().rfind(|range| range.start <= key).expect("0 is a start");
                let first = (key >> 32) as u32;
                let (range, entry) = match format.key_bits {
                    8 => find8(Baseline, &line, at, format.number, first),
                    16 => find16(Baseline, &line, at, format.number, first),
                    _ => find32(Baseline, &line, at, format.number, first, || key),
                };
                prop_assert_eq!(entry, right.entry);
                prop_assert_eq!(format.value(&line, at, range), right.entry);
            }
        }
    }
}
