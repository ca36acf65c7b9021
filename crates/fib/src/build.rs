//! Builds lines from routes: prefixes become ranges, ranges the smallest block that holds them.

use core::marker::PhantomData;

use super::entry::{Content, Entry, Lines};
use super::heap::{Block, Heap, LINES_UNITS, block};
use super::line::{Range, Shape};
use super::network::{Address, Network};

/// A route, or a split in a route's place: what a part of the address space leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item<A> {
    pub(super) network: Network<A>,
    pub(super) entry: Entry,
}

/// No block is large enough: the addresses, or their hashes, are too crowded somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crowded;

/// The most lines in a block, as a power of two.
const FAN: u32 = 4;
/// The same where next hops need more than two bytes: lines of eight keys each hold whatever 256 keys lead to.
const WIDE_FAN: u32 = 5;
/// The bits of a key by which lines tell routes apart that may lead on.
const FIRST_32: u64 = !0 << 32;

/// Builds what a slot at `depth` leads to. `items` are sorted, lie below one address of `depth`
/// bits and are no shorter; what none of them covers leads to `outer`. The slot is not changed.
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

/// The ranges of the 64 bits behind `depth`, of routes that are no longer than that.
pub(super) fn leaves<A: Address>(items: &[Item<A>], depth: u8, outer: Entry) -> Vec<Range> {
    let mut sweep = Sweep::new(outer);
    for item in items {
        let start = item.network.bits().key(depth);
        sweep.advance(start);
        sweep.open(start, last_key(item.network, depth), item.entry);
    }
    sweep.finish()
}

/// Collects the blocks that are found by `entry` and belong to it alone, splits excepted.
pub(super) fn blocks<A: Address>(heap: &Heap, entry: Entry, out: &mut Vec<Block>) {
    let Content::Lines(lines) = entry.content() else {
        return;
    };
    let shape = &A::SHAPES[lines.shape as usize];
    out.push(block(lines.unit, shape.units << lines.fan));
    if shape.value_bytes == 2 {
        return;
    }
    for line in 0..1 << lines.fan {
        let unit = lines.unit + line * shape.units;
        let words = heap.memory().line(unit);
        let mut last = Entry::NONE;
        for at in 0..shape.ranges {
            let entry = shape.value(words, unit % 4, at);
            // Only the unused places at the end repeat an entry.
            if entry != last {
                blocks::<A>(heap, entry, out);
            }
            last = entry;
        }
    }
}

struct Builder<'h, A> {
    heap: &'h mut Heap,
    /// To be freed again if the building fails.
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
        let (shape, fan) = A::SHAPES
            .iter()
            .filter(|shape| (short || shape.key_bits > 8) && (narrow || shape.value_bytes > 2))
            .filter_map(|shape| Some((shape, fan(shape, &ranges, most)?)))
            .min_by_key(|(shape, fan)| shape.units << fan)
            .ok_or(Crowded)?;
        Ok(self.write(shape, fan, &ranges))
    }

    /// One line of all 64 bits behind `depth`, where few routes need more than 32 of them.
    fn wide(&mut self, items: &[Item<A>], depth: u8, outer: Entry) -> Option<Entry> {
        let shape = A::SHAPES.last().filter(|shape| shape.key_bits == 64)?;
        let behind = |item: &Item<A>| item.network.len() - depth;
        let leaves_fit = |item: &Item<A>| item.entry.is_narrow() && behind(item) <= 64;
        // Each of them is at least one more range: more than so many need not be looked at.
        if items.len() > shape.ranges || !items.iter().all(leaves_fit) || !outer.is_narrow() {
            return None;
        }
        if items.iter().all(|item| behind(item) <= 32) {
            return None;
        }
        let ranges = leaves(items, depth, outer);
        (2..=shape.ranges)
            .contains(&ranges.len())
            .then(|| self.write(shape, 0, &ranges))
    }

    /// The ranges of the 32 bits behind `depth`, by a sweep over the prefixes: those that cover
    /// the place of the sweep are on a stack, the innermost on top.
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
                // Too long for a key: whatever shares all 32 bits has lines of its own.
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

    /// Tells a split what its surroundings lead to.
    fn enclose(&mut self, entry: Entry, outer: Entry) {
        if let Content::Split(split) = entry.content() {
            self.heap.publish(split.outer_slot(), outer);
        }
    }

    fn write(&mut self, shape: &Shape, fan: u32, ranges: &[Range]) -> Entry {
        let block = self.heap.allocate(shape.units << fan);
        self.made.push(block);
        let mut first = 0;
        for line in 0..1_u32 << fan {
            let unit = block.unit + line * shape.units;
            let last_key = key_end(line, fan);
            // The range that the line begins in, up to the last that begins in the line.
            let behind = first + ranges[first..].partition_point(|range| range.start <= last_key);
            let mine = &ranges[first..behind];
            let mut words = [0; super::line::LINE_WORDS];
            let words = &mut words[..shape.units as usize * 4];
            shape.write(mine, words);
            self.heap.write(unit, words);
            if shape.value_bytes == 2 {
                self.write_lens(shape, unit, mine);
            }
            let next_line_starts = ranges.get(behind).map(|range| range.start);
            let aligned = next_line_starts == last_key.checked_add(1);
            first = if aligned { behind } else { behind - 1 };
        }
        Entry::lines(Lines {
            unit: block.unit,
            shape: shape.number,
            fan,
        })
    }

    fn write_lens(&mut self, shape: &Shape, unit: u32, mine: &[Range]) {
        for (at, range) in mine.iter().enumerate() {
            self.heap.write_len(unit, at, range.entry.len());
        }
        // A search ends in the last of the unused places, if in any.
        if let Some(last) = mine.last() {
            self.heap
                .write_len(unit, shape.ranges - 1, last.entry.len());
        }
    }
}

/// The last key of a network among the keys behind `depth`.
fn last_key<A: Address>(network: Network<A>, depth: u8) -> u64 {
    let behind = u32::from(network.len() - depth);
    network.bits().key(depth) | u64::MAX.checked_shr(behind).unwrap_or(0)
}

/// The smallest power of two of lines of this shape that hold the ranges, up to `most`.
fn fan(shape: &Shape, ranges: &[Range], most: u32) -> Option<u32> {
    // Several lines are whole cache lines, so that a key is turned into a line by one shift.
    let most = if shape.units == 4 { most } else { 0 };
    (0..=most).find(|fan| {
        let units = shape.units << fan;
        units <= LINES_UNITS
            && ranges.len() <= shape.ranges << fan
            && most_in_a_line(*fan, ranges) <= shape.ranges
    })
}

/// How many ranges the fullest of 2^`fan` lines holds.
fn most_in_a_line(fan: u32, ranges: &[Range]) -> usize {
    let mut counts = [1; 1 << WIDE_FAN];
    for range in ranges {
        let line = line_of(range.start, fan);
        // A range that begins where a line does is the one that the line has anyway.
        counts[line as usize] += usize::from(range.start != key_start(line, fan));
    }
    counts.into_iter().max().unwrap_or(0)
}

/// Which of 2^`fan` lines a key belongs to.
fn line_of(key: u64, fan: u32) -> u32 {
    key.checked_shr(64 - fan).unwrap_or(0) as u32
}

fn key_start(line: u32, fan: u32) -> u64 {
    u64::from(line).checked_shl(64 - fan).unwrap_or(0)
}

fn key_end(line: u32, fan: u32) -> u64 {
    key_start(line, fan) | u64::MAX.checked_shr(fan).unwrap_or(0)
}

/// Turns nested intervals, sorted by where they begin and the outer first, into ranges.
struct Sweep {
    ranges: Vec<Range>,
    /// The last key and the entry of each interval that is open.
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

    /// Closes what ends before `start`; returns what `start` then lies in.
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
