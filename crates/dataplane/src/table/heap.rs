//! The memory of a route table: what readers see of it, and who allocates it.

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::Arc;

use kernels::Zeroed;

use super::entry::{Entry, UNITS};
use super::grace::{Grace, Limbo};
use super::line::READ_WORDS;
use super::lpm::Full;

/// Bytes of a unit.
pub(super) const UNIT_BYTES: usize = 16;
const UNIT_WORDS: usize = UNIT_BYTES / 8;
/// Slots in a unit.
pub(super) const UNIT_SLOTS: u32 = 4;
/// The lengths that a unit's ranges need: 5 ranges in a line of one unit, 21 in one of four.
const UNIT_LENS: usize = 6;
/// The units of a split: a line of its own (base and outer slot), then 256 slots.
pub(super) const SPLIT_UNITS: u32 = 68;
/// The most units of a block of lines: 16 cache lines.
pub(super) const LINES_UNITS: u32 = 64;
/// Below this many bytes nothing is made from.
const SMALLEST: usize = 4 << 20;

/// What readers see: words, addressed by units, and as slots of half a word.
#[derive(Debug)]
pub(super) struct Memory {
    words: Zeroed<AtomicU64>,
    /// The length of the prefix behind each range of a line that leads to next hops only.
    lens: Zeroed<AtomicU8>,
    units: u32,
}

impl Memory {
    /// Address space for up to `bytes`; less, where the kernel does not give as much.
    pub(super) fn new(bytes: usize) -> Result<Self, Full> {
        let mut bytes = bytes.min(UNITS as usize * UNIT_BYTES);
        loop {
            let units = bytes / UNIT_BYTES;
            let words = Zeroed::new(units * UNIT_WORDS + READ_WORDS);
            if let (Ok(words), Ok(lens)) = (words, Zeroed::new(units * UNIT_LENS)) {
                let units = units as u32;
                return Ok(Self { words, lens, units });
            }
            bytes /= 2;
            if bytes < SMALLEST {
                return Err(Full);
            }
        }
    }

    /// The slot with this number.
    #[inline(always)]
    pub(super) fn slot(&self, slot: u32) -> Entry {
        let word = self.words[(slot / 2) as usize].load(Ordering::Acquire);
        Entry((word >> (slot % 2 * 32)) as u32)
    }

    /// Asks for the cache line of a slot.
    #[inline(always)]
    pub(super) fn prefetch_slot(&self, slot: u32) {
        kernels::prefetch(&self.words[(slot / 2) as usize]);
    }

    /// The words from a unit on, as many as a search reads.
    #[inline(always)]
    pub(super) fn line(&self, unit: u32) -> &[AtomicU64] {
        let at = unit as usize * UNIT_WORDS;
        &self.words[at..at + READ_WORDS]
    }

    /// Asks for the cache line of a unit.
    #[inline(always)]
    pub(super) fn prefetch_unit(&self, unit: u32) {
        kernels::prefetch(&self.words[unit as usize * UNIT_WORDS]);
    }

    /// The length of the prefix behind range `at` of the line at `unit`.
    pub(super) fn len(&self, unit: u32, at: usize) -> u8 {
        self.lens[unit as usize * UNIT_LENS + at].load(Ordering::Relaxed)
    }
}

/// The writer's side: which units are free, which wait until no reader can hold them.
#[derive(Debug)]
pub(super) struct Heap {
    memory: Arc<Memory>,
    /// Units from here on were never used.
    fresh: u32,
    /// Free blocks of 2^n units; the last are splits.
    free: [Vec<u32>; 8],
    limbo: Limbo<Block>,
}

/// A piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) unit: u32,
    class: u8,
}

const SPLIT_CLASS: u8 = 7;
/// How many blocks from limbo an allocation puts back at most.
const THAW: usize = 8;

impl Heap {
    /// All of `memory`, of which `reserved` units are used otherwise.
    pub(super) fn new(memory: Arc<Memory>, reserved: u32, grace: Arc<Grace>) -> Self {
        Self {
            memory,
            fresh: reserved.next_multiple_of(4),
            free: Default::default(),
            limbo: Limbo::new(grace),
        }
    }

    /// The memory that it manages.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
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
        let slab = units.max(LINES_UNITS);
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

    /// Writes a line, or a part of one, to a block that no reader sees.
    pub(super) fn write(&self, unit: u32, words: &[u64]) {
        let at = unit as usize * UNIT_WORDS;
        for (place, word) in self.memory.words[at..].iter().zip(words) {
            place.store(*word, Ordering::Relaxed);
        }
    }

    /// Notes the length of the prefix behind a range.
    pub(super) fn write_len(&self, unit: u32, at: usize, len: u8) {
        self.memory.lens[unit as usize * UNIT_LENS + at].store(len, Ordering::Relaxed);
    }

    /// Changes a slot: the one store by which a change becomes visible.
    pub(super) fn publish(&self, slot: u32, entry: Entry) {
        let word = &self.memory.words[(slot / 2) as usize];
        let shift = slot % 2 * 32;
        let other = word.load(Ordering::Relaxed) & !(u64::from(u32::MAX) << shift);
        word.store(other | (u64::from(entry.0) << shift), Ordering::Release);
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
        let memory = Arc::new(Memory::new(1 << 20).expect("1 MB of address space"));
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
    fn blocks_do_not_overlap_and_lie_within_cache_lines() {
        let grace = Arc::new(Grace::default());
        let memory = Arc::new(Memory::new(1 << 20).expect("1 MB of address space"));
        let mut heap = Heap::new(memory, 3, grace);
        let mut used = std::collections::BTreeSet::new();

        for units in [1, 2, 4, 1, 64, SPLIT_UNITS, 2, 8, 1, 16, 32, SPLIT_UNITS, 1] {
            let unit = heap.allocate(units).unit;
            assert_eq!(unit % units.min(4), 0);
            assert!((unit..unit + units).all(|unit| used.insert(unit)));
        }
    }
}
