//! The memory of a route table: what readers see of it, and who allocates it.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::Arc;

use kernels::{Lanes, Line, Pages, Zeroed};

use super::entry::{Entry, UNITS};
use super::grace::{Grace, Limbo};
use super::lpm::Full;

/// Bytes of a unit.
pub(super) const UNIT_BYTES: usize = 16;
/// Words in a unit: a slot each, or a part of a line.
pub(super) const UNIT_WORDS: u32 = 4;
/// The lengths that a unit's ranges need: 5 ranges in a line of one unit, 21 in one of four.
const UNIT_LENS: usize = 6;
/// The units of a split: a line of its own (base and outer slot), then 256 slots.
pub(super) const SPLIT_UNITS: u32 = 68;
/// The most units of a block of lines: 32 cache lines.
pub(super) const LINES_UNITS: u32 = 128;
/// What smaller blocks are cut from.
const SLAB_UNITS: u32 = 64;
/// Below this many bytes nothing is made from.
const SMALLEST: usize = 4 << 20;

/// What readers see: words, of which some are slots and some make lines.
#[derive(Debug)]
pub(super) struct Memory {
    lines: Zeroed<Line>,
    /// The length of the prefix behind each range of a line that leads to next hops only.
    lens: Zeroed<AtomicU8>,
    units: u32,
}

impl Memory {
    /// Address space for up to `bytes`; less, where the kernel does not give as much.
    pub(super) fn new(bytes: usize, pages: Pages) -> Result<Self, Full> {
        let mut bytes = bytes.min(UNITS as usize * UNIT_BYTES);
        loop {
            let units = bytes / UNIT_BYTES;
            let lines = Zeroed::new(units / 4, pages);
            let lens = Zeroed::new(units * UNIT_LENS, Pages::Small);
            if let (Ok(lines), Ok(lens)) = (lines, lens) {
                let units = units as u32;
                return Ok(Self { lines, lens, units });
            }
            bytes /= 2;
            if bytes < SMALLEST {
                return Err(Full);
            }
        }
    }

    /// What a lookup walks through.
    #[inline(always)]
    pub(super) fn words(&self) -> Words<'_> {
        Words {
            lines: &self.lines,
            slots: self.lines.as_flattened(),
        }
    }

    /// The slot with this number.
    pub(super) fn slot(&self, slot: u32) -> Entry {
        self.words().slot(slot)
    }

    /// A number of this memory that nobody outside of the process knows: where it lies.
    #[inline(always)]
    pub(super) fn seed(&self) -> u64 {
        (self.lines.as_ptr() as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)
    }

    /// The cache line that a unit is a quarter of.
    pub(super) fn line(&self, unit: u32) -> &Line {
        self.words().line(unit)
    }

    /// The length of the prefix behind range `at` of the line at `unit`.
    pub(super) fn len(&self, unit: u32, at: usize) -> u8 {
        self.lens[unit as usize * UNIT_LENS + at].load(Ordering::Relaxed)
    }
}

/// The words of a table, seen in two ways.
#[derive(Clone, Copy)]
pub(super) struct Words<'m> {
    lines: &'m [Line],
    slots: &'m [AtomicU32],
}

impl<'m> Words<'m> {
    /// The slot with this number.
    #[inline(always)]
    pub(super) fn slot(self, slot: u32) -> Entry {
        Entry(self.slots[slot as usize].load(Ordering::Acquire))
    }

    /// The slots with these numbers. What they lead to is to be read by [`Self::slot`].
    #[inline(always)]
    pub(super) fn slots<L: Lanes>(self, lanes: L, numbers: &[u32; 16]) -> [u32; 16] {
        lanes.gather_shared(self.slots, numbers)
    }

    /// The cache line that a unit is a quarter of.
    #[inline(always)]
    pub(super) fn line(self, unit: u32) -> &'m Line {
        &self.lines[(unit / 4) as usize]
    }

    /// Asks for the cache line of a unit.
    #[inline(always)]
    pub(super) fn prefetch(self, unit: u32) {
        kernels::prefetch(self.line(unit));
    }
}

/// The writer's side: which units are free, which wait until no reader can hold them.
#[derive(Debug)]
pub(super) struct Heap {
    memory: Arc<Memory>,
    /// Units from here on were never used.
    fresh: u32,
    /// Up to here, the kernel has given the memory.
    ready: u32,
    /// Free blocks of 2^n units; the last are splits.
    free: [Vec<u32>; 9],
    limbo: Limbo<Block>,
}

/// A piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) unit: u32,
    class: u8,
}

const SPLIT_CLASS: u8 = 8;
/// How much memory is made ready at a time: 1 MB.
const PREPARED_UNITS: u32 = 1 << 16;
const PAGE_BYTES: usize = 4096;
/// How many blocks from limbo an allocation puts back at most.
const THAW: usize = 8;

impl Heap {
    /// All of `memory`, of which `reserved` units are used otherwise.
    pub(super) fn new(memory: Arc<Memory>, reserved: u32, grace: Arc<Grace>) -> Self {
        let fresh = reserved.next_multiple_of(4);
        Self {
            memory,
            fresh,
            ready: fresh,
            free: Default::default(),
            limbo: Limbo::new(grace),
        }
    }

    /// The memory that it manages.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Has the kernel give the memory for many changes to come, which takes it up to a
    /// millisecond, and a change should not wait for.
    pub(super) fn prepare(&mut self) {
        let from = self.ready.max(self.fresh);
        let end = (self.fresh + PREPARED_UNITS).min(self.memory.units);
        if from >= self.fresh + PREPARED_UNITS / 2 {
            return;
        }
        for unit in (from..end).step_by(PAGE_BYTES / UNIT_BYTES) {
            // Nothing is there yet, and nobody else writes.
            self.memory.words().line(unit)[0].store(0, Ordering::Relaxed);
            self.memory.lens[unit as usize * UNIT_LENS].store(0, Ordering::Relaxed);
        }
        self.ready = end;
    }

    /// How many bytes were never used.
    pub(super) fn room(&self) -> usize {
        (self.memory.units - self.fresh) as usize * UNIT_BYTES
    }

    /// How many bytes readers may touch: lines and slots, and the lengths beside them.
    pub(super) fn bytes(&self) -> usize {
        self.fresh as usize * (UNIT_BYTES + UNIT_LENS)
    }

    /// A block of `units`, a power of two up to [`LINES_UNITS`], or [`SPLIT_UNITS`]. Its content
    /// is anything. The caller has seen to it that there is `room`.
    pub(super) fn allocate(&mut self, units: u32) -> Block {
        self.thaw();
        let class = class_of(units);
        if let Some(unit) = self.free[usize::from(class)].pop() {
            return Block { unit, class };
        }
        let slab = units.max(SLAB_UNITS);
        assert!(
            self.fresh + slab <= self.memory.units,
            "`Routes` asks for room before it changes anything"
        );
        let unit = self.fresh;
        self.fresh += slab;
        // The rest of the slab is for the next of that size, the lowest first.
        for other in (1..slab / units).rev() {
            self.free[usize::from(class)].push(unit + other * units);
        }
        Block { unit, class }
    }

    /// Takes a block back that no reader ever saw.
    pub(super) fn free(&mut self, block: Block) {
        self.free[usize::from(block.class)].push(block.unit);
    }

    /// Takes a block back that readers can find no more, though some may hold it.
    pub(super) fn retire(&mut self, blocks: impl IntoIterator<Item = Block>) {
        self.limbo.extend(blocks);
    }

    /// Writes words to a block that no reader sees.
    pub(super) fn write(&self, unit: u32, words: &[u32]) {
        let slots = self.memory.words().slots;
        let places = &slots[(unit * UNIT_WORDS) as usize..];
        for (place, word) in places.iter().zip(words) {
            place.store(*word, Ordering::Relaxed);
        }
    }

    /// Notes the length of the prefix behind a range.
    pub(super) fn write_len(&self, unit: u32, at: usize, len: u8) {
        self.memory.lens[unit as usize * UNIT_LENS + at].store(len, Ordering::Relaxed);
    }

    /// Changes a slot: the one store by which a change becomes visible.
    pub(super) fn publish(&self, slot: u32, entry: Entry) {
        self.memory.words().slots[slot as usize].store(entry.0, Ordering::Release);
    }

    fn thaw(&mut self) {
        for _ in 0..THAW {
            let Some(block) = self.limbo.pop() else {
                break;
            };
            self.free(block);
        }
    }
}

/// The block of lines or of a split that begins at `unit`.
pub(super) fn block(unit: u32, units: u32) -> Block {
    Block {
        unit,
        class: class_of(units),
    }
}

fn class_of(units: u32) -> u8 {
    if units == SPLIT_UNITS {
        SPLIT_CLASS
    } else {
        units.ilog2() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retired_block_is_used_again_only_after_the_reader_passed() {
        let grace = Arc::new(Grace::default());
        let mut reader = grace.reader().expect("a free place");
        let memory = Arc::new(Memory::new(1 << 20, Pages::Small).expect("1 MB of address space"));
        let mut heap = Heap::new(memory, 3, Arc::clone(&grace));
        reader.pass();

        let first = heap.allocate(64);
        heap.retire([first]);
        let second = heap.allocate(64);
        assert_ne!(first, second);
        reader.pass();

        assert_eq!(heap.allocate(64), first);
    }

    #[test]
    fn preparing_memory_changes_nothing_that_is_used() {
        let memory = Arc::new(Memory::new(8 << 20, Pages::Small).expect("8 MB of address space"));
        let mut heap = Heap::new(memory, 4, Arc::new(Grace::default()));
        let first = heap.allocate(64).unit;

        for _ in 0..3_000 {
            let unit = heap.allocate(64).unit;
            heap.write(unit, &[7; 256]);
            heap.prepare();
            heap.write(first, &[unit; 256]);
            assert_eq!(heap.memory().slot(unit * UNIT_WORDS), Entry(7));
            assert_eq!(heap.memory().slot(first * UNIT_WORDS), Entry(unit));
        }
        assert!(heap.ready >= heap.fresh);
    }

    #[test]
    fn blocks_do_not_overlap_and_lie_within_cache_lines() {
        let grace = Arc::new(Grace::default());
        let memory = Arc::new(Memory::new(1 << 20, Pages::Small).expect("1 MB of address space"));
        let mut heap = Heap::new(memory, 3, grace);
        let mut used = std::collections::BTreeSet::new();

        for units in [1, 2, 4, 1, 64, SPLIT_UNITS, 2, 8, 1, 16, 32, SPLIT_UNITS, 1] {
            let unit = heap.allocate(units).unit;
            assert_eq!(unit % units.min(4), 0);
            assert!((unit..unit + units).all(|unit| used.insert(unit)));
        }
    }
}
