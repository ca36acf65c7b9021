//! Longest prefix match: what workers read.
//!
//! ```text
//!             65,536 slots                 a block of 1 to 16 lines
//! address ──▶ by 16 bits  ──── lines ────▶ one line: ranges, sorted ──▶ next hop
//!                 │    └────── leaf: next hop                └─(IPv6)─▶ further lines, splits
//!                 └─ split: 256 slots by 8 bits more, where routes are crowded
//! ```
//!
//! The slots are found by the first 16 bits (IPv4), or by those behind the first three of 2000::/3
//! (IPv6); a slot and one cache line are all that most lookups read.
//!
//! A prefix that is shorter than the slots' depth is not written into what lies below it: the
//! search answers "nothing", and goes on among the shorter ones. So a route of any length is added
//! by building the one block of lines that it belongs to, and by one store: a default route
//! touches no more than a host does.

use std::sync::Arc;

use super::adjacency::NextHopId;
use super::build::line_of;
use super::entry::{Content, Entry, Lines, Split};
use super::heap::{Memory, SPLIT_UNITS, UNIT_SLOTS};
use super::line::{Found, READ_WORDS};
use super::network::Address;

/// The IPv4 routes of one routing table, as workers read them.
pub type Fib4 = Lpm<u32>;
/// The IPv6 routes of one routing table, as workers read them.
pub type Fib6 = Lpm<u128>;

/// There is no room for another one; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// How many slots the root has: one for each value of 16 bits.
pub(super) const ROOT_SLOTS: u32 = 1 << 16;
/// The split of the prefixes that are shorter than the root's depth, behind the root.
pub(super) const SHORT: u32 = ROOT_SLOTS / UNIT_SLOTS;
/// The slot of all addresses that the root does not cover, and of still shorter prefixes.
pub(super) const OTHER_SLOT: u32 = (SHORT + SPLIT_UNITS) * UNIT_SLOTS;
/// The units that these take.
pub(super) const RESERVED: u32 = SHORT + SPLIT_UNITS + 4;

/// How many lookups go side by side.
const ABREAST: usize = 128;

/// The routes of one family in one routing table. Workers read, a [`Routes`](super::Routes)
/// writes.
#[derive(Debug)]
pub struct Lpm<A> {
    memory: Arc<Memory>,
    of: core::marker::PhantomData<A>,
}

impl<A: Address> Lpm<A> {
    pub(super) fn new(memory: Arc<Memory>) -> Self {
        Self {
            memory,
            of: core::marker::PhantomData,
        }
    }

    /// The next hop of the longest prefix that `destination` lies in; [`NextHopId::NO_ROUTE`] when
    /// it lies in none.
    #[inline]
    pub fn lookup(&self, destination: A) -> NextHopId {
        let (entry, depth) = self.first(destination);
        self.second(entry, depth, destination)
    }

    /// Looks a vector of destinations up, with the memory for all of them on its way at once.
    /// `out` is as long as `destinations`; what is longer is not touched.
    #[inline]
    pub fn lookup_vector(&self, destinations: &[A], out: &mut [NextHopId]) {
        let mut entries = [Entry::NONE; ABREAST];
        for (destinations, out) in destinations.chunks(ABREAST).zip(out.chunks_mut(ABREAST)) {
            for destination in destinations {
                self.memory
                    .prefetch_slot(destination.root().unwrap_or(OTHER_SLOT));
            }
            for (destination, place) in destinations.iter().zip(&mut entries) {
                let (entry, depth) = self.first(*destination);
                *place = entry;
                if let Content::Lines(lines) = entry.content() {
                    let shape = &A::SHAPES[lines.shape as usize];
                    let line = line_of(destination.window(depth), lines.fan);
                    self.memory.prefetch_unit(lines.unit + line * shape.units);
                }
            }
            for ((destination, entry), out) in destinations.iter().zip(&entries).zip(out) {
                let depth = destination.root().map_or(0, |_| A::ROOT_DEPTH);
                *out = self.second(*entry, depth, *destination);
            }
        }
    }

    /// As `lookup`, with the length of the prefix that matched. Slower: for rules with
    /// `min-prefix`, and for people.
    pub fn lookup_longest(&self, destination: A) -> Option<(NextHopId, u8)> {
        let (entry, depth) = self.first(destination);
        let leaf = self.resolve(entry, depth, destination);
        let leaf = self.or_shorter(leaf, destination);
        (leaf.id() != NextHopId::NO_ROUTE).then(|| (leaf.id(), leaf.len()))
    }

    /// The root's entry, and the depth that it stands at.
    #[inline(always)]
    fn first(&self, destination: A) -> (Entry, u8) {
        match destination.root() {
            Some(slot) => (self.memory.slot(slot), A::ROOT_DEPTH),
            None => (self.memory.slot(OTHER_SLOT), 0),
        }
    }

    #[inline(always)]
    fn second(&self, entry: Entry, depth: u8, destination: A) -> NextHopId {
        let mut found = entry;
        if let Content::Lines(lines) = entry.content() {
            found = self.find(lines, destination.window(depth)).1.1;
            if found.is_leaf() && found.id() != NextHopId::NO_ROUTE {
                return found.id();
            }
            if !found.is_leaf() {
                found = self.resolve(found, depth + 32, destination);
            }
        } else if !entry.is_leaf() {
            found = self.resolve(entry, depth, destination);
        }
        if found.id() != NextHopId::NO_ROUTE {
            return found.id();
        }
        self.or_shorter(found, destination).id()
    }

    /// `leaf`, or what the prefixes say that are shorter than the root's depth.
    #[inline(never)]
    fn or_shorter(&self, leaf: Entry, destination: A) -> Entry {
        if leaf.id() != NextHopId::NO_ROUTE || destination.root().is_none() {
            return leaf;
        }
        let short = Split {
            unit: SHORT,
            step: 0,
        };
        let leaf = self.in_split(short, A::SHORT_DEPTH, destination);
        if leaf.id() != NextHopId::NO_ROUTE || A::SHORT_DEPTH == 0 {
            return leaf;
        }
        self.resolve(self.memory.slot(OTHER_SLOT), 0, destination)
    }

    /// Follows an entry that stands at `depth` to a leaf.
    #[inline(never)]
    fn resolve(&self, entry: Entry, depth: u8, destination: A) -> Entry {
        match entry.content() {
            Content::Leaf(_) => entry,
            Content::Split(split) => self.in_split(split, depth, destination),
            Content::Lines(lines) => {
                let (unit, (at, found)) = self.find(lines, destination.window(depth));
                let shape = &A::SHAPES[lines.shape as usize];
                if shape.value_bytes > 2 {
                    return self.resolve(found, depth + 32, destination);
                }
                Entry::leaf(found.id(), self.memory.len(unit, at))
            }
        }
    }

    /// `above` is the depth of an entry that leads to the split.
    fn in_split(&self, split: Split, above: u8, destination: A) -> Entry {
        // From an entry to the entries below it there are always whole steps.
        let depth = split.step * 8 + above % 8;
        let slot = split.slot(destination.window(depth) >> 24);
        let mut leaf = self.resolve(self.memory.slot(slot), depth + 8, destination);
        if leaf.id() == NextHopId::NO_ROUTE {
            leaf = self.resolve(self.memory.slot(split.base_slot()), depth, destination);
        }
        if leaf.id() == NextHopId::NO_ROUTE {
            leaf = self.memory.slot(split.outer_slot());
        }
        leaf
    }

    /// Searches the line that `key` belongs to: its unit, and the range.
    #[inline(always)]
    fn find(&self, lines: Lines, key: u32) -> (u32, Found) {
        let shape = &A::SHAPES[lines.shape as usize % A::SHAPES.len()];
        let unit = lines.unit + line_of(key, lines.fan) * shape.units;
        let line = &self.memory.line(unit)[..READ_WORDS];
        (unit, A::find(line, lines.shape, key))
    }
}

impl Split {
    /// The slot of prefixes of up to eight bits more than the split's depth.
    pub(super) fn base_slot(self) -> u32 {
        self.unit * UNIT_SLOTS
    }

    /// The slot of what the addresses around the split lead to: a leaf.
    pub(super) fn outer_slot(self) -> u32 {
        self.base_slot() + 1
    }

    /// One of the 256 slots.
    #[inline(always)]
    pub(super) fn slot(self, number: u32) -> u32 {
        self.unit * UNIT_SLOTS + 16 + number
    }
}
