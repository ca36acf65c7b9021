//! Builds lines from routes: converts prefixes to ranges, and ranges to the smallest block that holds them.

use core::marker::PhantomData;

use super::entry::{Content, Entry, Lines};
use super::heap::{Block, Heap, LINES_UNITS, block};
use super::line::{LineFormat, Range};
use super::network::{Address, Network};

/// A route, or a split that takes the place of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item<A> {
    pub(super) network: Network<A>,
    pub(super) entry: Entry,
}

/// No block is large enough: too many addresses or hashes coincide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crowded;

/// Maximum number of lines per block, as a power of two.
const FAN: u32 = 4;
/// Maximum for next hops of more than two bytes: 32 lines then cover eight of the 256 keys each.
const WIDE_FAN: u32 = 5;
/// The bits of a key that distinguish routes in lines with entries.
const FIRST_32: u64 = !0 << 32;

/// Builds the entry for a slot at `depth`. `items` must be sorted, lie below one address of `depth` bits, and
/// be at least as long; addresses that no item covers lead to `outer`. Does not change the slot.
pub(super) fn build<A: Address>(
    heap: &mut Heap,
    items: &[Item<A>],
    depth: u8,
    outer: Entry,
) -> Result<Entry, Crowded> {
    let mut builder = Builder {
        heap,
        made: Vec::new(),
        of: PhantomData,
    };
    let built = builder.entry(items, depth, outer);
    if built.is_err() {
        for block in core::mem::take(&mut builder.made) {
            heap.free(block);
        }
    }
    built
}

/// Returns the ranges of the 64 bits after `depth`, for routes that are no longer than that.
pub(super) fn leaves<A: Address>(items: &[Item<A>], depth: u8, outer: Entry) -> Vec<Range> {
    let mut sweep = Sweep::new(outer);
    for item in items {
        let start = item.network.bits().key(depth);
        sweep.advance(start);
        sweep.open(start, last_key(item.network, depth), item.entry);
    }
    sweep.finish()
}

/// Collects the blocks that belong to `entry`, except splits.
pub(super) fn blocks<A: Address>(heap: &Heap, entry: Entry, out: &mut Vec<Block>) {
    let Content::Lines(lines) = entry.content() else {
        return;
    };
    let format = &A::FORMATS[lines.format as usize];
    out.push(block(lines.unit, format.units << lines.fan));
    if format.value_bytes == 2 {
        return;
    }
    for line in 0..1 << lines.fan {
        let unit = lines.unit + line * format.units;
        let words = heap.memory().line(unit);
        let mut last = Entry::NONE;
        for at in 0..format.ranges {
            let entry = format.value(words, unit % 4, at);
            // Unused positions at the end repeat an entry.
            if entry != last {
                blocks::<A>(heap, entry, out);
            }
            last = entry;
        }
    }
}

struct Builder<'h, A> {
    heap: &'h mut Heap,
    /// Allocated blocks, freed again if building fails.
    made: Vec<Block>,
    of: PhantomData<A>,
}

impl<A: Address> Builder<'_, A> {
    fn entry(&mut self, items: &[Item<A>], depth: u8, outer: Entry) -> Result<Entry, Crowded> {
        if let [only] = items
            && only.network.len() == depth
        {
            self.enclose(only.entry, outer);
            return Ok(only.entry);
        }
        if let Some(lines) = self.wide(items, depth, outer) {
            return Ok(lines);
        }
        let ranges = self.ranges(items, depth, outer)?;
        if let [only] = ranges[..] {
            return Ok(only.entry);
        }
        let short = items.iter().all(|item| item.network.len() <= depth + 8);
        let leaves = ranges.iter().all(|range| range.entry.is_leaf());
        let narrow = ranges.iter().all(|range| range.entry.is_narrow());
        if !leaves && !A::NESTED {
            return Err(Crowded);
        }
        let most = if leaves && !narrow { WIDE_FAN } else { FAN };
        let (format, fan) = A::FORMATS
            .iter()
            .filter(|format| (short || format.key_bits > 8) && (narrow || format.value_bytes > 2))
            .filter_map(|format| Some((format, fan(format, &ranges, most)?)))
            .min_by_key(|(format, fan)| format.units << fan)
            .ok_or(Crowded)?;
        Ok(self.write(format, fan, &ranges))
    }

    /// Builds one line with 64-bit keys if a few routes need more than 32 bits after `depth`.
    fn wide(&mut self, items: &[Item<A>], depth: u8, outer: Entry) -> Option<Entry> {
        let format = A::FORMATS.last().filter(|format| format.key_bits == 64)?;
        let behind = |item: &Item<A>| item.network.len() - depth;
        let leaves_fit = |item: &Item<A>| item.entry.is_narrow() && behind(item) <= 64;
        // Each item adds at least one range, so more items than ranges cannot fit.
        if items.len() > format.ranges || !items.iter().all(leaves_fit) || !outer.is_narrow() {
            return None;
        }
        if items.iter().all(|item| behind(item) <= 32) {
            return None;
        }
        let ranges = leaves(items, depth, outer);
        (2..=format.ranges)
            .contains(&ranges.len())
            .then(|| self.write(format, 0, &ranges))
    }

    /// Returns the ranges of the 32 bits after `depth` by a sweep over the sorted prefixes: a stack contains
    /// the prefixes that cover the current position, the innermost on top.
    fn ranges(
        &mut self,
        items: &[Item<A>],
        depth: u8,
        outer: Entry,
    ) -> Result<Vec<Range>, Crowded> {
        let mut sweep = Sweep::new(outer);
        let mut rest = items;
        while let [item, after @ ..] = rest {
            let start = item.network.bits().key(depth) & FIRST_32;
            let behind = item.network.len() - depth;
            if behind <= 32 {
                let around = sweep.advance(start);
                self.enclose(item.entry, around);
                sweep.open(start, last_key(item.network, depth), item.entry);
                rest = after;
            } else {
                // Longer than a key: routes that share all 32 bits get lines of their own.
                let same = |other: &Item<A>| other.network.bits().key(depth) & FIRST_32 == start;
                let count = rest.iter().take_while(|other| same(other)).count();
                let around = sweep.advance(start);
                let below = self.entry(&rest[..count], depth + 32, around)?;
                sweep.open(start, start | !FIRST_32, below);
                rest = &rest[count..];
            }
        }
        Ok(sweep.finish())
    }

    /// Stores in a split the entry for the addresses around it.
    fn enclose(&mut self, entry: Entry, outer: Entry) {
        if let Content::Split(split) = entry.content() {
            self.heap.publish(split.outer_slot(), outer);
        }
    }

    fn write(&mut self, format: &LineFormat, fan: u32, ranges: &[Range]) -> Entry {
        let block = self.heap.allocate(format.units << fan);
        self.made.push(block);
        let mut first = 0;
        for line in 0..1_u32 << fan {
            let unit = block.unit + line * format.units;
            let last_key = key_end(line, fan);
            // The range in which the line begins, up to the last range that begins in the line.
            let behind = first + ranges[first..].partition_point(|range| range.start <= last_key);
            let mine = &ranges[first..behind];
            let mut words = [0; super::line::LINE_WORDS];
            let words = &mut words[..format.units as usize * 4];
            format.write(mine, words);
            self.heap.write(unit, words);
            if format.value_bytes == 2 {
                self.write_lens(format, unit, mine);
            }
            let next_line_starts = ranges.get(behind).map(|range| range.start);
            let aligned = next_line_starts == last_key.checked_add(1);
            first = if aligned { behind } else { behind - 1 };
        }
        Entry::lines(Lines {
            unit: block.unit,
            format: format.number,
            fan,
        })
    }

    fn write_lens(&mut self, format: &LineFormat, unit: u32, mine: &[Range]) {
        for (at, range) in mine.iter().enumerate() {
            self.heap.write_len(unit, at, range.entry.len());
        }
        // A search may end in the last unused position.
        if let Some(last) = mine.last() {
            self.heap
                .write_len(unit, format.ranges - 1, last.entry.len());
        }
    }
}

/// Returns the last key of a network among the keys after `depth`.
fn last_key<A: Address>(network: Network<A>, depth: u8) -> u64 {
    let behind = u32::from(network.len() - depth);
    network.bits().key(depth) | u64::MAX.checked_shr(behind).unwrap_or(0)
}

/// Returns the smallest power of two of lines with this format that holds the ranges, at most `most`.
fn fan(format: &LineFormat, ranges: &[Range], most: u32) -> Option<u32> {
    // Several lines are always whole cache lines, so that one shift converts a key to a line.
    let most = if format.units == 4 { most } else { 0 };
    (0..=most).find(|fan| {
        let units = format.units << fan;
        units <= LINES_UNITS
            && ranges.len() <= format.ranges << fan
            && most_in_a_line(*fan, ranges) <= format.ranges
    })
}

/// Returns the number of ranges in the fullest of 2^`fan` lines.
fn most_in_a_line(fan: u32, ranges: &[Range]) -> usize {
    let mut counts = [1; 1 << WIDE_FAN];
    for range in ranges {
        let line = line_of(range.start, fan);
        // A range that begins with a line is the line's first range and does not add one.
        counts[line as usize] += usize::from(range.start != key_start(line, fan));
    }
    counts.into_iter().max().unwrap_or(0)
}

/// Returns the line, of 2^`fan`, to which a key belongs.
fn line_of(key: u64, fan: u32) -> u32 {
    key.checked_shr(64 - fan).unwrap_or(0) as u32
}

fn key_start(line: u32, fan: u32) -> u64 {
    u64::from(line).checked_shl(64 - fan).unwrap_or(0)
}

fn key_end(line: u32, fan: u32) -> u64 {
    key_start(line, fan) | u64::MAX.checked_shr(fan).unwrap_or(0)
}

/// Converts nested intervals, sorted by start with the outer first, to ranges.
struct Sweep {
    ranges: Vec<Range>,
    /// Last key and entry of each open interval.
    open: Vec<(u64, Entry)>,
    outer: Entry,
}

impl Sweep {
    fn new(outer: Entry) -> Self {
        let start = Range {
            start: 0,
            entry: outer,
        };
        Self {
            ranges: vec![start],
            open: Vec::new(),
            outer,
        }
    }

    /// Closes the intervals that end before `start`; returns the entry around `start`.
    fn advance(&mut self, start: u64) -> Entry {
        while let Some((end, _)) = self.open.last().copied()
            && end < start
        {
            self.close(end);
        }
        self.around()
    }

    fn open(&mut self, start: u64, end: u64, entry: Entry) {
        self.emit(start, entry);
        self.open.push((end, entry));
    }

    fn finish(mut self) -> Vec<Range> {
        while let Some((end, _)) = self.open.last().copied() {
            self.close(end);
        }
        self.ranges
    }

    fn close(&mut self, end: u64) {
        self.open.pop();
        if let Some(next) = end.checked_add(1) {
            self.emit(next, self.around());
        }
    }

    fn around(&self) -> Entry {
        self.open.last().map_or(self.outer, |(_, entry)| *entry)
    }

    fn emit(&mut self, start: u64, entry: Entry) {
        if self.ranges.last().is_some_and(|last| last.start == start) {
            self.ranges.pop();
        }
        if self.ranges.last().is_none_or(|last| last.entry != entry) {
            self.ranges.push(Range { start, entry });
        }
    }
}
