//! A line: the addresses below some depth as sorted ranges, small enough for one cache line.
//!
//! It holds the first address of every range but the first, then what each range leads to; unused
//! places at the end repeat the last range. A search counts the first addresses that are at most
//! the key, all at once and without a branch.
//!
//! Its shape is the cheapest in which the ranges fit. The key is the 32 bits of the address behind
//! the line's depth; a shape looks at the first 8, 16 or 32 of them.
//!
//! | shape | family | bytes | ranges | key | leads to |
//! |---|---|---|---|---|---|
//! | 0, 1, 2 | both | 16, 32, 64 | 5, 11, 21 | 8 bits | next hops |
//! | 3, 4, 5 | IPv4 | 16, 32, 64 | 4, 8, 16 | 16 bits | next hops |
//! | 3, 4 | IPv6 | 32, 64 | 6, 11 | 32 bits | next hops |
//! | 5, 6 | IPv6 | 32, 64 | 4, 8 | 32 bits | entries |

use core::sync::atomic::{AtomicU64, Ordering};

use super::entry::Entry;

/// A shape of lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) number: u32,
    /// Its size, in units of 16 bytes.
    pub(super) units: u32,
    /// How many ranges fit.
    pub(super) ranges: usize,
    /// The bits of a key.
    pub(super) key_bits: u8,
    /// The bytes of what a range leads to: 2 for next hops only, 4 for any entry.
    pub(super) value_bytes: usize,
}

const fn shape(number: u32, units: u32, ranges: usize, key_bits: u8, value_bytes: usize) -> Shape {
    Shape {
        number,
        units,
        ranges,
        key_bits,
        value_bytes,
    }
}

/// The shapes of IPv4 tables.
pub(super) const SHAPES4: [Shape; 6] = [
    shape(0, 1, 5, 8, 2),
    shape(1, 2, 11, 8, 2),
    shape(2, 4, 21, 8, 2),
    shape(3, 1, 4, 16, 2),
    shape(4, 2, 8, 16, 2),
    shape(5, 4, 16, 16, 2),
];
/// The shapes of IPv6 tables.
pub(super) const SHAPES6: [Shape; 7] = [
    shape(0, 1, 5, 8, 2),
    shape(1, 2, 11, 8, 2),
    shape(2, 4, 21, 8, 2),
    shape(3, 2, 6, 32, 2),
    shape(4, 4, 11, 32, 2),
    shape(5, 2, 4, 32, 4),
    shape(6, 4, 8, 32, 4),
];

/// The most words that a search reads from a line's beginning; a short line's search reads into
/// what follows, and ignores it.
pub(super) const READ_WORDS: usize = 8;

/// A range and what it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// The first key.
    pub(super) start: u32,
    pub(super) entry: Entry,
}

impl Shape {
    /// Writes `ranges`, of which the first begins at or before the line's first key.
    pub(super) fn write(&self, ranges: &[Range], out: &mut [u64]) {
        let Some(last) = ranges.last() else { return };
        let (key, value) = (usize::from(self.key_bits / 8), self.value_bytes);
        let mut bytes = [0_u8; READ_WORDS * 8];
        let values_at = (self.ranges - 1) * key;
        for at in 0..self.ranges {
            let range = ranges.get(at);
            let start = range.map_or(u32::MAX, |range| range.start) >> (32 - self.key_bits);
            let entry = range.unwrap_or(last).entry.0;
            if at > 0 {
                let place = (at - 1) * key;
                bytes[place..place + key].copy_from_slice(&start.to_le_bytes()[..key]);
            }
            let place = values_at + at * value;
            bytes[place..place + value].copy_from_slice(&entry.to_le_bytes()[..value]);
        }
        for (word, eight) in out.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = eight
                .iter()
                .rev()
                .fold(0, |word, byte| (word << 8) | u64::from(*byte));
        }
    }

    /// What range number `at` of a line leads to.
    pub(super) fn value(&self, line: &[AtomicU64], at: usize) -> Entry {
        let place = (self.ranges - 1) * usize::from(self.key_bits / 8) + at * self.value_bytes;
        let value = (line[place / 8].load(Ordering::Relaxed) >> (place % 8 * 8)) as u32;
        Entry(if self.value_bytes == 2 {
            value & 0xffff
        } else {
            value
        })
    }
}

/// A range's number in its line, and what it leads to.
pub(super) type Found = (usize, Entry);

#[inline(always)]
fn load(line: &[AtomicU64], at: usize) -> u64 {
    line[at].load(Ordering::Relaxed)
}

/// How many of the first `starts` lanes are set; those that are set come first.
#[inline(always)]
fn count(lanes: u32, starts: u32) -> u32 {
    (lanes & ((1 << starts) - 1)).trailing_ones()
}

#[inline(always)]
fn value16(line: &[AtomicU64], place: u32) -> Entry {
    let word = load(line, (place / 8) as usize % READ_WORDS);
    Entry((word >> (place % 8 * 8)) as u32 & 0xffff)
}

/// Searches a line of shape 0, 1 or 2. `line` has [`READ_WORDS`] words, here and below.
#[inline(always)]
pub(super) fn find8(line: &[AtomicU64], shape: u32, key: u32) -> Found {
    let starts = (0x14_0a04 >> (shape * 8)) & 0xff;
    let words = [load(line, 0), load(line, 1), load(line, 2)];
    let at = count(kernels::at_most_u8(words, (key >> 24) as u8), starts);
    (at as usize, value16(line, starts + at * 2))
}

/// Searches a line of shape 3, 4 or 5 of IPv4.
#[inline(always)]
pub(super) fn find16(line: &[AtomicU64], shape: u32, key: u32) -> Found {
    let starts = (4 << (shape - 3)) - 1;
    let words = [load(line, 0), load(line, 1), load(line, 2), load(line, 3)];
    let at = count(kernels::at_most_u16(words, (key >> 16) as u16), starts);
    (at as usize, value16(line, starts * 2 + at * 2))
}

/// Searches a line of shape 3 to 6 of IPv6.
#[inline(always)]
pub(super) fn find32(line: &[AtomicU64], shape: u32, key: u32) -> Found {
    let starts = (0x0703_0a05 >> ((shape - 3) * 8)) & 0xff;
    let words = [
        load(line, 0),
        load(line, 1),
        load(line, 2),
        load(line, 3),
        load(line, 4),
    ];
    let at = count(kernels::at_most_u32(words, key), starts);
    if shape < 5 {
        return (at as usize, value16(line, starts * 4 + at * 2));
    }
    let place = starts * 4 + at * 4;
    let word = load(line, (place / 8) as usize % READ_WORDS);
    (at as usize, Entry((word >> (place % 8 * 8)) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line_of(shape: &Shape, ranges: &[Range]) -> Vec<AtomicU64> {
        // What follows a short line must not matter.
        let mut words = [0x5555_5555_5555_5555; READ_WORDS];
        shape.write(ranges, &mut words[..shape.units as usize * 2]);
        words.into_iter().map(AtomicU64::new).collect()
    }

    proptest! {
        #[test]
        fn every_shape_finds_the_range_that_a_key_lies_in(
            family6: bool,
            which in 0..7_usize,
            starts in prop::collection::btree_set(1_u32.., 0..20),
            keys in prop::collection::vec(any::<u32>(), 20),
        ) {
            let shapes: &[Shape] = if family6 { &SHAPES6 } else { &SHAPES4 };
            let shape = &shapes[which % shapes.len()];
            let mask = u32::MAX << (32 - shape.key_bits);
            let mut starts: Vec<u32> = starts.into_iter().map(|s| s & mask).filter(|s| *s > 0).collect();
            starts.dedup();
            starts.truncate(shape.ranges - 1);
            starts.insert(0, 0);
            let ranges: Vec<Range> = starts
                .iter()
                .zip(1..)
                .map(|(start, id)| Range { start: *start, entry: Entry(id * 3000) })
                .collect();
            let line = line_of(shape, &ranges);

            for key in keys.into_iter().chain(starts).chain([0, u32::MAX]) {
                let right = ranges.iter().rfind(|range| range.start <= key).expect("0 is a start");
                let (at, entry) = match shape.key_bits {
                    8 => find8(&line, shape.number, key),
                    16 => find16(&line, shape.number, key),
                    _ => find32(&line, shape.number, key),
                };
                prop_assert_eq!(entry, right.entry);
                prop_assert_eq!(shape.value(&line, at), right.entry);
            }
        }
    }
}
