//! Routes to single addresses of IPv6, as each neighbour of a link has one: found by a hash.
//!
//! ```text
//! slot ──▶ directory: 256 slots by eight bits of the hash ──▶ a line of three hosts ──▶ next hop
//!              │                                      └─ directory: by eight bits more
//!              └─ for all others: what the slot led to before
//! ```
//!
//! Neighbours differ in the last 64 bits of their addresses, which are mostly random. A search by
//! prefixes reads a line for every 32 of them, one after the other; the hash leads to the only line
//! that an address can be in. A route to a single address is the longest that there can be, so nothing
//! else is to be looked at where one is found.
//!
//! A line is never changed: a change makes another, and one store puts it in its slot.

#[cfg(test)]
mod tests;

use core::sync::atomic::Ordering;

use kernels::{Lanes, Line};

use super::adjacency::NextHopId;
use super::build::Crowded;
use super::entry::{Entry, Lines};
use super::heap::{Block, Heap, SPLIT_UNITS, UNIT_WORDS, Words, block};

/// How many hosts a line holds: their addresses, and behind them the ids of their next hops.
const LINE_HOSTS: usize = 3;
/// The units of a line.
const LINE_UNITS: u32 = 4;
/// The word of the first id.
const IDS: usize = 12;
/// Its shape, which nobody asks for: only directories lead there.
const SHAPE: u32 = 7;
/// How many directories lie one below the other: each takes eight bits of the hash.
const LEVELS: u8 = 4;
/// A directory below another that has lost all but so many hosts is dissolved.
const SPARSE: usize = 2;

/// Hosts as the writer knows them.
type Hosts = Vec<(u128, NextHopId)>;

/// The hash that hosts are found by. `seed` keeps others from choosing addresses that have the same.
#[inline(always)]
pub(super) fn hash(seed: u64, address: u128) -> u32 {
    let fold = |one: u64, other: u64| {
        let product = u128::from(one) * u128::from(other);
        (product >> 64) as u64 ^ product as u64
    };
    let (high, low) = ((address >> 64) as u64, address as u64);
    let both = fold(
        high ^ seed,
        low ^ seed.rotate_left(29) ^ 0x9e37_79b9_7f4a_7c15,
    );
    (fold(both ^ low, seed | 0xa076_1d64_78bd_642f) >> 16) as u32
}

/// The slot of a hash in the directory at `unit`.
#[inline(always)]
pub(super) fn slot(unit: u32, hash: u32, level: u8) -> u32 {
    unit * UNIT_WORDS + 16 + (hash.wrapping_shl(u32::from(level) * 8) >> 24)
}

/// The slot of what a directory at `unit` leads all others to.
#[inline(always)]
pub(super) fn others(unit: u32) -> u32 {
    unit * UNIT_WORDS
}

/// Where the only line begins that a host with this hash may be in, below the directory at `unit`.
#[inline(always)]
pub(super) fn line(words: Words<'_>, unit: u32, hash: u32) -> Option<u32> {
    let mut entry = words.slot(slot(unit, hash, 0));
    let mut level = 0;
    while entry.is_directory() {
        level += 1;
        entry = words.slot(slot(entry.unit(), hash, level));
    }
    entry.is_lines().then_some(entry.unit())
}

/// The next hop of a host, where it is in this line.
#[inline(always)]
pub(super) fn find<L: Lanes>(lanes: L, line: &Line, address: u128) -> Option<NextHopId> {
    // The places behind the last host repeat the first one.
    let at = lanes.alike_wide(line, address).trailing_zeros() as usize;
    (at < LINE_HOSTS).then(|| NextHopId(line[IDS + at].load(Ordering::Relaxed)))
}

/// A directory, as the writer keeps it.
#[derive(Debug)]
pub(super) struct Directory {
    block: Block,
    level: u8,
    count: usize,
    buckets: Box<[Bucket]>,
}

/// What is in one of its slots.
#[derive(Debug)]
enum Bucket {
    Few(Hosts),
    More(Box<Directory>),
}

impl Directory {
    /// An empty one, which leads to `others`. No slot leads to it yet.
    pub(super) fn new(heap: &mut Heap, others: Entry) -> Self {
        Self::at_level(heap, 0, others)
    }

    fn at_level(heap: &mut Heap, level: u8, others: Entry) -> Self {
        let block = heap.allocate(SPLIT_UNITS);
        let mut words = [0; (SPLIT_UNITS * UNIT_WORDS) as usize];
        words[0] = others.0;
        heap.write(block.unit, &words);
        Self {
            block,
            level,
            count: 0,
            buckets: (0..256).map(|_| Bucket::Few(Hosts::new())).collect(),
        }
    }

    /// What leads to it.
    pub(super) fn entry(&self) -> Entry {
        Entry::directory(self.block.unit)
    }

    /// The slot of what it leads others to.
    pub(super) fn others(&self) -> u32 {
        others(self.block.unit)
    }

    /// Whether there is no host.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The next hop of a host.
    pub(super) fn get(&self, hash: u32, address: u128) -> Option<NextHopId> {
        match &self.buckets[self.number(hash)] {
            Bucket::More(below) => below.get(hash, address),
            Bucket::Few(hosts) => {
                let host = hosts.iter().find(|(other, _)| *other == address);
                host.map(|(_, id)| *id)
            }
        }
    }

    /// Calls `each` for every host.
    pub(super) fn for_each(&self, each: &mut impl FnMut(u128, NextHopId)) {
        for bucket in &self.buckets {
            match bucket {
                Bucket::More(below) => below.for_each(each),
                Bucket::Few(hosts) => hosts.iter().for_each(|(address, id)| each(*address, *id)),
            }
        }
    }

    /// Adds a host, or gives it another next hop, or removes it with [`NextHopId::NO_ROUTE`]; returns the
    /// next hop that it had.
    ///
    /// # Errors
    /// [`Crowded`]: too many have the same hash; nothing was changed.
    pub(super) fn put(
        &mut self,
        heap: &mut Heap,
        (seed, address): (u64, u128),
        id: NextHopId,
    ) -> Result<Option<NextHopId>, Crowded> {
        let hash = hash(seed, address);
        let (number, slot) = (self.number(hash), slot(self.block.unit, hash, self.level));
        let old = match &mut self.buckets[number] {
            Bucket::More(below) => {
                let old = below.put(heap, (seed, address), id)?;
                if below.count <= SPARSE {
                    let mut hosts = Hosts::new();
                    below.for_each(&mut |address, id| hosts.push((address, id)));
                    let mut unlinked = Vec::new();
                    below.blocks(heap, &mut unlinked);
                    publish(heap, slot, &hosts);
                    heap.retire(unlinked);
                    self.buckets[number] = Bucket::Few(hosts);
                }
                old
            }
            Bucket::Few(hosts) => {
                let old = change(hosts, address, id);
                if hosts.len() <= LINE_HOSTS {
                    publish(heap, slot, hosts);
                } else if self.level + 1 == LEVELS {
                    hosts.pop();
                    return Err(Crowded);
                } else {
                    let Ok(below) = Self::with(heap, self.level + 1, (seed, hosts)) else {
                        hosts.pop();
                        return Err(Crowded);
                    };
                    replace(heap, slot, below.entry());
                    self.buckets[number] = Bucket::More(Box::new(below));
                }
                old
            }
        };
        let is = usize::from(id != NextHopId::NO_ROUTE);
        self.count = self.count + is - usize::from(old.is_some());
        Ok(old)
    }

    /// A directory of some hosts.
    fn with(heap: &mut Heap, level: u8, (seed, hosts): (u64, &Hosts)) -> Result<Self, Crowded> {
        let mut below = Self::at_level(heap, level, Entry::NONE);
        for (address, id) in hosts {
            if let Err(crowded) = below.put(heap, (seed, *address), *id) {
                let mut blocks = Vec::new();
                below.blocks(heap, &mut blocks);
                blocks.into_iter().for_each(|block| heap.free(block));
                return Err(crowded);
            }
        }
        Ok(below)
    }

    /// All blocks that it takes, its own included.
    pub(super) fn blocks(&self, heap: &Heap, out: &mut Vec<Block>) {
        out.push(self.block);
        for (number, bucket) in (0..).zip(&self.buckets) {
            let entry = heap.memory().slot(self.others() + 16 + number);
            match bucket {
                Bucket::More(below) => below.blocks(heap, out),
                Bucket::Few(_) => out.extend(line_block(entry)),
            }
        }
    }

    fn number(&self, hash: u32) -> usize {
        (slot(0, hash, self.level) - slot(0, 0, 0)) as usize
    }
}

/// Changes one of few hosts; returns the next hop that it had.
fn change(hosts: &mut Hosts, address: u128, id: NextHopId) -> Option<NextHopId> {
    let at = hosts.iter().position(|(other, _)| *other == address);
    match at {
        Some(at) if id == NextHopId::NO_ROUTE => Some(hosts.swap_remove(at).1),
        Some(at) => Some(core::mem::replace(&mut hosts[at].1, id)),
        None => {
            hosts.extend((id != NextHopId::NO_ROUTE).then_some((address, id)));
            None
        }
    }
}

/// Puts a line of these hosts, of which there are few, in a slot.
fn publish(heap: &mut Heap, slot: u32, hosts: &Hosts) {
    let Some(first) = hosts.first() else {
        return replace(heap, slot, Entry::NONE);
    };
    let block = heap.allocate(LINE_UNITS);
    let mut words = [0; 16];
    for at in 0..LINE_HOSTS {
        let (address, id) = hosts.get(at).unwrap_or(first);
        for (word, part) in words[at * 4..].iter_mut().zip(0..4) {
            *word = (address >> (part * 32)) as u32;
        }
        words[IDS + at] = id.0;
    }
    heap.write(block.unit, &words);
    let line = Lines {
        unit: block.unit,
        shape: SHAPE,
        fan: 0,
    };
    replace(heap, slot, Entry::lines(line));
}

/// Puts something else in a slot than the line that was there.
fn replace(heap: &mut Heap, slot: u32, entry: Entry) {
    let old = heap.memory().slot(slot);
    heap.publish(slot, entry);
    heap.retire(line_block(old));
}

fn line_block(entry: Entry) -> Option<Block> {
    entry.is_lines().then(|| block(entry.unit(), LINE_UNITS))
}
