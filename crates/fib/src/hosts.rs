//! Routes to single IPv6 addresses, such as one per neighbour of a link: found by hash.
//!
//! ```text
//! slot ──▶ directory: 256 slots by eight bits of the hash ──▶ a line of three hosts ──▶ next hop
//!              │                                      └─ directory: by eight bits more
//!              └─ for other addresses: the slot's previous entry
//! ```
//!
//! Neighbours differ in the last 64 bits of their addresses, which are mostly random. A search by prefixes
//! would read a line for every 32 bits, one after another; the hash leads to the only line that can contain
//! an address. No prefix is longer than a single address, so a match ends the lookup.
//!
//! Lines are immutable: a change creates a new line and stores it in the slot.

#[cfg(test)]
mod tests;

use core::sync::atomic::Ordering;

use kernels::{Lanes, Line};

use super::adjacency::NextHopId;
use super::build::Crowded;
use super::entry::{Entry, Lines};
use super::heap::{Block, Heap, SPLIT_UNITS, UNIT_WORDS, Words, block};

/// Hosts per line: their addresses, followed by the ids of their next hops.
const LINE_HOSTS: usize = 3;
/// Units per line.
const LINE_UNITS: u32 = 4;
/// Word number of the first id.
const IDS: usize = 12;
/// Shape number of these lines; unused, because only directories refer to them.
const FORMAT: u32 = 7;
/// Maximum nesting of directories: each uses eight bits of the hash.
const LEVELS: u8 = 4;
/// A nested directory with this number of hosts or fewer is dissolved.
const SPARSE: usize = 2;

/// Hosts as the writer stores them.
type Hosts = Vec<(u128, NextHopId)>;

/// Returns the hash of an address. `seed` prevents an attacker from choosing addresses that collide.
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

/// Returns the slot for a hash in the directory at `unit`.
#[inline(always)]
pub(super) fn slot(unit: u32, hash: u32, level: u8) -> u32 {
    unit * UNIT_WORDS + 16 + (hash.wrapping_shl(u32::from(level) * 8) >> 24)
}

/// Returns the slot with the entry for all other addresses of the directory at `unit`.
#[inline(always)]
pub(super) fn others(unit: u32) -> u32 {
    unit * UNIT_WORDS
}

/// Returns the first unit of the only line that can contain a host with this hash, below the directory at
/// `unit`.
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

/// Returns the next hop of a host if the line contains it.
#[inline(always)]
pub(super) fn find<L: Lanes>(lanes: L, line: &Line, address: u128) -> Option<NextHopId> {
    // Unused positions repeat the first host.
    let at = lanes.alike_wide(line, address).trailing_zeros() as usize;
    (at < LINE_HOSTS).then(|| NextHopId(line[IDS + at].load(Ordering::Relaxed)))
}

/// A directory in the writer's form.
#[derive(Debug)]
pub(super) struct Directory {
    block: Block,
    level: u8,
    count: usize,
    buckets: Box<[Bucket]>,
}

/// Content of a slot of the directory.
#[derive(Debug)]
enum Bucket {
    Few(Hosts),
    More(Box<Directory>),
}

impl Directory {
    /// Creates an empty directory with `others` for all other addresses. No slot refers to it yet.
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

    /// Returns the entry that refers to the directory.
    pub(super) fn entry(&self) -> Entry {
        Entry::directory(self.block.unit)
    }

    /// Returns the slot with the entry for all other addresses.
    pub(super) fn others(&self) -> u32 {
        others(self.block.unit)
    }

    /// Returns true if the directory has no hosts.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the next hop of a host.
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

    /// Adds or changes a host, or removes it with [`NextHopId::NO_ROUTE`]; returns its previous next hop.
    ///
    /// # Errors
    /// [`Crowded`] without changes if too many hosts have the same hash.
    pub(super) fn put(
        &mut self,
        heap: &mut Heap,
        seed: u64,
        address: u128,
        id: NextHopId,
    ) -> Result<Option<NextHopId>, Crowded> {
        let hash = hash(seed, address);
        let (number, slot) = (self.number(hash), slot(self.block.unit, hash, self.level));
        let old = match &mut self.buckets[number] {
            Bucket::More(below) => {
                let old = below.put(heap, seed, address, id)?;
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
                    let Ok(below) = Self::with(heap, self.level + 1, seed, hosts) else {
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

    /// Creates a directory with some hosts.
    fn with(heap: &mut Heap, level: u8, seed: u64, hosts: &Hosts) -> Result<Self, Crowded> {
        let mut below = Self::at_level(heap, level, Entry::NONE);
        for (address, id) in hosts {
            if let Err(crowded) = below.put(heap, seed, *address, *id) {
                let mut blocks = Vec::new();
                below.blocks(heap, &mut blocks);
                blocks.into_iter().for_each(|block| heap.free(block));
                return Err(crowded);
            }
        }
        Ok(below)
    }

    /// Collects all blocks of the directory, including its own.
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

/// Changes a host in a short list; returns its previous next hop.
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

/// Creates a line with these few hosts and stores it in a slot.
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
        format: FORMAT,
        fan: 0,
    };
    replace(heap, slot, Entry::lines(line));
}

/// Replaces a slot's line by another entry.
fn replace(heap: &mut Heap, slot: u32, entry: Entry) {
    let old = heap.memory().slot(slot);
    heap.publish(slot, entry);
    heap.retire(line_block(old));
}

fn line_block(entry: Entry) -> Option<Block> {
    entry.is_lines().then(|| block(entry.unit(), LINE_UNITS))
}
