//! Longest prefix match, as workers read it.
//!
//! ```text
//!             65,536 slots                 a block of 1 to 16 lines
//! address ──▶ by 16 bits  ──── lines ────▶ one line: ranges, sorted ──▶ next hop
//!                 │    └────── leaf: next hop                └─(IPv6)─▶ further lines, splits
//!                 │└─(IPv6)─── directory: single addresses, by a hash (`hosts`)
//!                 └─ split: 256 slots by 8 more bits, where many routes lie close together
//! ```
//!
//! The slot is selected by the first 16 bits (IPv4), or by the 16 bits after the first three of 2000::/3
//! (IPv6); most lookups read one slot and one cache line.
//!
//! A prefix that is shorter than the depth of the slots is not written into the lines below: a search without
//! result continues among the shorter prefixes (`short`). So adding a route builds one block of lines and
//! takes one store; adding one of the shortest, such as a default route, takes 512 stores, however many
//! routes there are.

use std::sync::Arc;

use kernels::{Baseline, Lanes};

use super::adjacency::NextHopId;
use super::entry::{Content, Entry, Lines, Split};
use super::heap::{Memory, UNIT_WORDS, Words};
use super::hosts;
use super::line::RangeMatch;
use super::lookup_start::{IndirectLookups, LookupStart};
use super::network::{Address, Key};
use super::slots::{BatchIndices, by_slots};

/// IPv4 routes of one routing table, as workers read them.
pub type Fib4 = Lpm<u32>;
/// IPv6 routes of one routing table, as workers read them.
pub type Fib6 = Lpm<u128>;

/// There is no room; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Number of slots of the root: one per 16-bit value.
pub(super) const ROOT_SLOTS: u32 = 1 << 16;
/// Slots for prefixes shorter than the root's depth, by the first eight of the root's bits: lines of the
/// prefixes with more bits, or the same entry as in `SHORT_LEAVES`.
pub(super) const SHORT_SLOTS: u32 = ROOT_SLOTS;
/// For each of these slots, the leaf of the prefixes that have no more bits.
pub(super) const SHORT_LEAVES: u32 = SHORT_SLOTS + 256;
/// The slot for addresses outside of the root, and for still shorter prefixes.
pub(super) const OTHER_SLOT: u32 = SHORT_LEAVES + 256;
/// Number of units of these slots.
pub(super) const RESERVED: u32 = OTHER_SLOT / UNIT_WORDS + 4;

/// Maximum number of lookups per batch.
pub(super) const BATCH_MAX: usize = 128;

/// Routes of one family in one routing table. Workers read it, a [`Routes`](super::Routes) writes it.
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

    /// Returns the next hop of the longest matching prefix, or [`NextHopId::NO_ROUTE`] if none matches.
    #[inline]
    pub fn lookup(&self, destination: A) -> NextHopId {
        let words = self.memory.words();
        let mut first = LookupStart::of(words, destination);
        if A::HASHES_HOSTS && first.entry.is_directory() {
            if let Some(hop) = self.host(first.entry, destination) {
                return hop;
            }
            first = LookupStart::beside(words, first.entry, destination);
        }
        match self.second(Baseline, words, first, destination) {
            Ok(hop) => hop,
            Err(below) => self.below(Baseline, words, below, destination),
        }
    }

    /// Looks up a vector of destinations, with overlapping memory accesses. `out` must be as long as
    /// `destinations`; further elements are not written.
    pub fn lookup_vector(&self, destinations: &[A], out: &mut [NextHopId]) {
        kernels::widest(Vector {
            table: self,
            destinations,
            out,
        });
    }

    /// Looks up a destination and returns the length of the matching prefix as well. Slower than `lookup`:
    /// for rules with `min-prefix`, and for display.
    pub fn lookup_longest(&self, destination: A) -> Option<(NextHopId, u8)> {
        let (slot, depth) = match destination.root() {
            Some(slot) => (slot, A::ROOT_DEPTH),
            None => (OTHER_SLOT, 0),
        };
        let mut entry = self.memory.slot(slot);
        if A::HASHES_HOSTS && entry.is_directory() {
            if let Some(hop) = self.host(entry, destination) {
                return Some((hop, A::BITS));
            }
            entry = self.memory.slot(hosts::others(entry.unit()));
        }
        let leaf = self.resolve(entry, depth, destination);
        let leaf = self.or_shorter(leaf, destination);
        (leaf.id() != NextHopId::NO_ROUTE).then(|| (leaf.id(), leaf.len()))
    }

    /// Looks up a destination in a directory of hosts.
    fn host(&self, directory: Entry, destination: A) -> Option<NextHopId> {
        let (words, address) = (self.memory.words(), destination.wide());
        let hash = hosts::hash(self.memory.seed(), address);
        let line = hosts::line(words, directory.unit(), hash)?;
        hosts::find(Baseline, words.line(line), address)
    }

    /// Second half of a lookup: reads the line.
    ///
    /// # Errors
    /// If the line leads to further lines, returns them and the unit to read.
    #[inline(always)]
    fn second<L: Lanes>(
        &self,
        lanes: L,
        words: Words<'_>,
        first: LookupStart,
        destination: A,
    ) -> Result<NextHopId, LookupStart> {
        let mut found = first.entry;
        if found.is_lines() {
            let key = Key::at_root(destination);
            let (line, at) = (words.line(first.unit), first.unit % 4);
            found = A::find(lanes, line, at, found.format(), key).1;
            if A::NESTED && found.is_lines() {
                let unit = found.line(destination.window(depth_below(destination)));
                return Err(LookupStart { entry: found, unit });
            }
        }
        if found.is_leaf() && found.id() != NextHopId::NO_ROUTE {
            return Ok(found.id());
        }
        if found == Entry::NONE && destination.root().is_some() {
            let short = words.slot(SHORT_SLOTS + (destination.window(A::SHORT_DEPTH) >> 24));
            if short.is_leaf() && short.id() != NextHopId::NO_ROUTE {
                return Ok(short.id());
            }
        }
        let depth = match found == first.entry {
            true => destination.root().map_or(0, |_| A::ROOT_DEPTH),
            false => depth_below(destination),
        };
        Ok(self.third(found, depth, destination))
    }

    /// Searches the lines below a line, which exist for many IPv6 networks of 52 bits and more.
    #[inline(always)]
    fn below<L: Lanes>(
        &self,
        lanes: L,
        words: Words<'_>,
        LookupStart { entry, unit }: LookupStart,
        destination: A,
    ) -> NextHopId {
        let depth = depth_below(destination);
        let (line, key) = (words.line(unit), Key::behind(depth, destination));
        let found = A::find(lanes, line, unit % 4, entry.format(), key).1;
        if found.is_leaf() && found.id() != NextHopId::NO_ROUTE {
            return found.id();
        }
        self.third(entry, depth, destination)
    }

    /// Completes a lookup for which neither the root nor a line below it gave a next hop.
    #[inline(never)]
    fn third(&self, found: Entry, depth: u8, destination: A) -> NextHopId {
        let leaf = self.resolve(found, depth, destination);
        self.or_shorter(leaf, destination).id()
    }

    /// Returns `leaf` if it has a route, else the leaf of the prefixes shorter than the root's depth.
    fn or_shorter(&self, leaf: Entry, destination: A) -> Entry {
        if leaf.id() != NextHopId::NO_ROUTE || destination.root().is_none() {
            return leaf;
        }
        let number = destination.window(A::SHORT_DEPTH) >> 24;
        let entry = self.memory.slot(SHORT_SLOTS + number);
        let leaf = self.resolve(entry, A::SHORT_DEPTH + 8, destination);
        if leaf.id() != NextHopId::NO_ROUTE {
            return leaf;
        }
        self.memory.slot(SHORT_LEAVES + number)
    }

    /// Follows an entry at `depth` to a leaf.
    #[inline(never)]
    fn resolve(&self, entry: Entry, depth: u8, destination: A) -> Entry {
        match entry.content() {
            Content::Leaf(_) => entry,
            Content::Split(split) => self.in_split(split, depth, destination),
            Content::Lines(lines) => {
                let (unit, (at, found)) = self.find(lines, Key::behind(depth, destination));
                let format = &A::FORMATS[lines.format as usize];
                if format.value_bytes > 2 {
                    return self.resolve(found, depth + 32, destination);
                }
                Entry::leaf(found.id(), self.memory.len(unit, at))
            }
        }
    }

    /// `above` is the depth of the entry that leads to the split.
    fn in_split(&self, split: Split, above: u8, destination: A) -> Entry {
        let depth = split.depth(above);
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

    /// Searches the line of a key; returns its unit and the range.
    fn find(&self, lines: Lines, key: Key<A>) -> (u32, RangeMatch) {
        let unit = Entry::lines(lines).line(key.first());
        (
            unit,
            A::find(
                Baseline,
                self.memory.line(unit),
                unit % 4,
                lines.format,
                key,
            ),
        )
    }
}

/// A batch of lookups.
struct Vector<'a, A> {
    table: &'a Lpm<A>,
    destinations: &'a [A],
    out: &'a mut [NextHopId],
}

impl<A: Address> kernels::Work for Vector<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let words = self.table.memory.words();
        let chunks = self.destinations.chunks(BATCH_MAX);
        for (destinations, out) in chunks.zip(self.out.chunks_mut(BATCH_MAX)) {
            match by_slots(lanes, words, destinations, out) {
                Some(left) => self
                    .table
                    .by_lines(lanes, words, destinations, out, left.iter()),
                None => {
                    let all = 0..destinations.len().min(out.len());
                    self.table.by_lines(lanes, words, destinations, out, all);
                }
            }
        }
    }
}

impl<A: Address> Lpm<A> {
    /// Looks up the destinations at the indices `places`: first prefetches all lines, then reads them.
    #[inline(always)]
    fn by_lines<L: Lanes>(
        &self,
        lanes: L,
        words: Words<'_>,
        destinations: &[A],
        out: &mut [NextHopId],
        places: impl Iterator<Item = usize> + Clone,
    ) {
        let mut firsts = [LookupStart::default(); BATCH_MAX];
        let (mut indirect, mut deep) = (
            IndirectLookups::new(self.memory.seed()),
            BatchIndices::default(),
        );
        for at in places.clone() {
            firsts[at % BATCH_MAX] = indirect.ask(words, destinations[at], at);
        }
        indirect.follow(words, destinations, &mut firsts);
        for at in places {
            match self.second(lanes, words, firsts[at % BATCH_MAX], destinations[at]) {
                Ok(hop) => out[at] = hop,
                Err(below) => {
                    words.prefetch(below.unit);
                    firsts[at % BATCH_MAX] = below;
                    deep.push(at);
                }
            }
        }
        for at in deep.iter() {
            out[at] = self.below(lanes, words, firsts[at], destinations[at]);
        }
    }
}

/// Returns the depth of lines below the lines of the root.
#[inline(always)]
fn depth_below<A: Address>(destination: A) -> u8 {
    32 + destination.root().map_or(0, |_| A::ROOT_DEPTH)
}

impl Split {
    /// Returns the depth of the split's slots, given the depth of the entry that leads to it; the difference
    /// is a multiple of eight.
    #[inline(always)]
    pub(super) fn depth(self, above: u8) -> u8 {
        self.step * 8 + above % 8
    }

    /// Returns the slot for prefixes of at most eight bits more than the split's depth.
    pub(super) fn base_slot(self) -> u32 {
        self.unit * UNIT_WORDS
    }

    /// Returns the slot with the leaf of the addresses around the split.
    pub(super) fn outer_slot(self) -> u32 {
        self.base_slot() + 1
    }

    /// Returns one of the 256 slots.
    #[inline(always)]
    pub(super) fn slot(self, number: u32) -> u32 {
        self.unit * UNIT_WORDS + 16 + number
    }
}
