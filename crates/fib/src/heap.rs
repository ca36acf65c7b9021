//! Memory of a route table: the words that readers see, and the writer's allocator.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::Arc;

use kernels::{Lanes, Line, Pages, Zeroed};

use super::entry::{Entry, UNITS};
use super::grace::{Grace, Limbo};
use super::lpm::Full;

/// Bytes per unit.
pub(super) const UNIT_BYTES: usize = 16;
/// Words per unit: slots, or part of a line.
pub(super) const UNIT_WORDS: u32 = 4;
/// Prefix lengths per unit: 5 ranges in a line of one unit, 21 in a line of four.
const UNIT_LENS: usize = 6;
/// Units of a split: one line for the base and outer slots, then 256 slots.
pub(super) const SPLIT_UNITS: u32 = 68;
/// Maximum units of a block of lines: 32 cache lines.
pub(super) const LINES_UNITS: u32 = 128;
/// Units of a slab, from which smaller blocks are cut.
const SLAB_UNITS: u32 = 64;
/// Minimum size of the memory in bytes.
const SMALLEST: usize = 4 << 20;

/// The words that readers see: slots and lines.
#[derive(Debug)]
pub(super) struct Memory {
    lines: Zeroed<Line>,
    /// The prefix length of each range, for lines with next hops only.
    lens: Zeroed<AtomicU8>,
    units: u32,
}

impl Memory {
    /// Reserves address space for at most `bytes`; less if the kernel refuses.
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

    /// Returns the words for a lookup.
    #[inline(always)]
    pub(super) fn words(&self) -> Words<'_> {
        Words {
            lines: &self.lines,
            slots: self.lines.as_flattened(),
        }
    }

    /// Returns a slot by its number.
    pub(super) fn slot(&self, slot: u32) -> Entry {
        self.words().slot(slot)
    }

    /// Returns a number that is unknown outside of the process: derived from the memory's address.
    #[inline(always)]
    pub(super) fn seed(&self) -> u64 {
        (self.lines.as_ptr() as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)
    }

    /// Returns the cache line that contains a unit.
    pub(super) fn line(&self, unit: u32) -> &Line {
        self.words().line(unit)
    }

    /// Returns the prefix length of range `at` in the line at `unit`.
    pub(super) fn len(&self, unit: u32, at: usize) -> u8 {
        self.lens[unit as usize * UNIT_LENS + at].load(Ordering::Relaxed)
    }
}

/// The words of a table, as cache lines and as slots.
#[derive(Clone, Copy)]
pub(super) struct Words<'m> {
    lines: &'m [Line],
    slots: &'m [AtomicU32],
}

impl<'m> Words<'m> {
    /// Returns a slot by its number.
    #[inline(always)]
    pub(super) fn slot(self, slot: u32) -> Entry {
        Entry(self.slots[slot as usize].load(Ordering::Acquire))
    }

    /// Returns 16 slots without ordering; read an entry's target through [`Self::slot`].
    #[inline(always)]
    pub(super) fn slots<L: Lanes>(self, lanes: L, numbers: &[u32; 16]) -> [u32; 16] {
        lanes.gather_shared(self.slots, numbers)
    }

    /// Returns the cache line that contains a unit.
    #[inline(always)]
    pub(super) fn line(self, unit: u32) -> &'m Line {
        &self.lines[(unit / 4) as usize]
    }

    /// Prefetches the cache line of a unit.
    #[inline(always)]
    pub(super) fn prefetch(self, unit: u32) {
        kernels::prefetch(self.line(unit));
    }
}

/// The writer's allocator: free units, and units that readers may still hold.
#[derive(Debug)]
pub(super) struct Heap {
    memory: Arc<Memory>,
    /// Units from here on were never used.
    fresh: u32,
    /// End of the memory that the kernel has committed.
    ready: u32,
    /// Free blocks of 2^n units; the last list contains splits.
    free: [Vec<u32>; 9],
    limbo: Limbo<Block>,
}

/// A block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) unit: u32,
    class: u8,
}

const SPLIT_CLASS: u8 = 8;
/// Units that are committed in advance: 1 MB.
const PREPARED_UNITS: u32 = 1 << 16;
const PAGE_BYTES: usize = 4096;
/// Maximum number of retired blocks that an allocation reclaims.
const RECLAIMS_MAX: usize = 8;

impl Heap {
    /// Creates the allocator of `memory`, whose first `reserved` units are in use.
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

    /// Returns the managed memory.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Commits memory for later changes, which takes the kernel up to a millisecond that a change should not
    /// wait for.
    pub(super) fn prepare(&mut self) {
        let from = self.ready.max(self.fresh);
        let end = (self.fresh + PREPARED_UNITS).min(self.memory.units);
        if from >= self.fresh + PREPARED_UNITS / 2 {
            return;
        }
        for unit in (from..end).step_by(PAGE_BYTES / UNIT_BYTES) {
            // The memory is unused, and there is no other writer.
            self.memory.words().line(unit)[0].store(0, Ordering::Relaxed);
            self.memory.lens[unit as usize * UNIT_LENS].store(0, Ordering::Relaxed);
        }
        self.ready = end;
    }

    /// Returns the number of bytes that were never used.
    pub(super) fn room(&self) -> usize {
        (self.memory.units - self.fresh) as usize * UNIT_BYTES
    }

    /// Returns the number of bytes that readers may access: lines, slots and prefix lengths.
    pub(super) fn bytes(&self) -> usize {
        self.fresh as usize * (UNIT_BYTES + UNIT_LENS)
    }

    /// Allocates a block of `units`, a power of two up to [`LINES_UNITS`], or [`SPLIT_UNITS`]. Its content is
    /// arbitrary. The caller must have checked `room`.
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
        // The rest of the slab becomes free blocks of that size, the lowest first.
        for other in (1..slab / units).rev() {
            self.free[usize::from(class)].push(unit + other * units);
        }
        Block { unit, class }
    }

    /// Frees a block that no reader ever saw.
    pub(super) fn free(&mut self, block: Block) {
        self.free[usize::from(block.class)].push(block.unit);
    }

    /// Retires blocks that readers can no longer find, though some may hold them.
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

    /// Stores the prefix length of a range.
    pub(super) fn write_len(&self, unit: u32, at: usize, len: u8) {
        self.memory.lens[unit as usize * UNIT_LENS + at].store(len, Ordering::Relaxed);
    }

    /// Writes a slot: the single store by which a change becomes visible.
    pub(super) fn publish(&self, slot: u32, entry: Entry) {
        self.memory.words().slots[slot as usize].store(entry.0, Ordering::Release);
    }

    fn thaw(&mut self) {
        for _ in 0..RECLAIMS_MAX {
            let Some(block) = self.limbo.pop() else {
                break;
            };
            self.free(block);
        }
    }
}

/// Returns the block of lines or of a split at `unit`.
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
    fn a_retired_block_is_reused_only_after_the_grace_period() {
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
    fn preallocation_changes_no_used_memory() {
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
