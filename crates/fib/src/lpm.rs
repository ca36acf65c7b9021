//! Longest prefix match: what workers read.
//!
//! ```text
//!             65,536 slots                 a block of 1 to 16 lines
//! address ──▶ by 16 bits  ──── lines ────▶ one line: ranges, sorted ──▶ next hop
//!                 │    └────── leaf: next hop                └─(IPv6)─▶ further lines, splits
//!                 │└─(IPv6)─── directory: single addresses, by a hash (`hosts`)
//!                 └─ split: 256 slots by 8 bits more, where routes are crowded
//! ```
//!
//! The slots are found by the first 16 bits (IPv4), or by those behind the first three of 2000::/3
//! (IPv6); a slot and one cache line are all that most lookups read.
//!
//! A prefix that is shorter than the slots' depth is not written into what lies below it: the
//! search answers "nothing", and goes on among the shorter ones (`short`). So a route is added by
//! building the one block of lines that it belongs to, and by one store; one of the shortest, a
//! default route say, by 512 stores, however many routes there are.

use std::sync::Arc;

use kernels::{Baseline, Lanes};

use super::adjacency::NextHopId;
use super::entry::{Content, Entry, Lines, Split};
use super::first::{First, Led};
use super::heap::{Memory, UNIT_WORDS, Words};
use super::hosts;
use super::line::Found;
use super::network::{Address, Key};
use super::slots::{Places, by_slots};

/// The IPv4 routes of one routing table, as workers read them.
pub type Fib4 = Lpm<u32>;
/// The IPv6 routes of one routing table, as workers read them.
pub type Fib6 = Lpm<u128>;

/// There is no room for another one; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// How many slots the root has: one for each value of 16 bits.
pub(super) const ROOT_SLOTS: u32 = 1 << 16;
/// The slots of prefixes that are shorter than the root's depth, by the first eight of its bits:
/// lines of those that have more bits, or what stands at the same place in `SHORT_LEAVES`.
pub(super) const SHORT_SLOTS: u32 = ROOT_SLOTS;
/// For each of them, the leaf of prefixes that have no more bits.
pub(super) const SHORT_LEAVES: u32 = SHORT_SLOTS + 256;
/// The slot of all addresses that the root does not cover, and of still shorter prefixes.
pub(super) const OTHER_SLOT: u32 = SHORT_LEAVES + 256;
/// The units that these take.
pub(super) const RESERVED: u32 = OTHER_SLOT / UNIT_WORDS + 4;

/// How many lookups go side by side.
pub(super) const ABREAST: usize = 128;

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
        let words = self.memory.words();
        let mut first = First::of(words, destination);
        if A::HOSTED && first.entry.is_directory() {
            if let Some(hop) = self.host(first.entry, destination) {
                return hop;
            }
            first = First::beside(words, first.entry, destination);
        }
        match self.second(Baseline, words, first, destination) {
            Ok(hop) => hop,
            Err(below) => self.below(Baseline, words, below, destination),
        }
    }

    /// Looks a vector of destinations up, with the memory for all of them on its way at once.
    /// `out` is as long as `destinations`; what is longer is not touched.
    pub fn lookup_vector(&self, destinations: &[A], out: &mut [NextHopId]) {
        kernels::widest(Vector {
            table: self,
            destinations,
            out,
        });
    }

    /// As `lookup`, with the length of the prefix that matched. Slower: for rules with
    /// `min-prefix`, and for people.
    pub fn lookup_longest(&self, destination: A) -> Option<(NextHopId, u8)> {
        let (slot, depth) = match destination.root() {
            Some(slot) => (slot, A::ROOT_DEPTH),
            None => (OTHER_SLOT, 0),
        };
        let mut entry = self.memory.slot(slot);
        if A::HOSTED && entry.is_directory() {
            if let Some(hop) = self.host(entry, destination) {
                return Some((hop, A::BITS));
            }
            entry = self.memory.slot(hosts::others(entry.unit()));
        }
        let leaf = self.resolve(entry, depth, destination);
        let leaf = self.or_shorter(leaf, destination);
        (leaf.id() != NextHopId::NO_ROUTE).then(|| (leaf.id(), leaf.len()))
    }

    /// What a directory of hosts says.
    fn host(&self, directory: Entry, destination: A) -> Option<NextHopId> {
        let (words, address) = (self.memory.words(), destination.wide());
        let hash = hosts::hash(self.memory.seed(), address);
        let line = hosts::line(words, directory.unit(), hash)?;
        hosts::find(Baseline, words.line(line), address)
    }

    /// The second half.
    ///
    /// # Errors
    /// The line that it read leads to lines below it: those, and which of them is to be read.
    #[inline(always)]
    fn second<L: Lanes>(
        &self,
        lanes: L,
        words: Words<'_>,
        first: First,
        destination: A,
    ) -> Result<NextHopId, First> {
        let mut found = first.entry;
        if found.is_lines() {
            let key = Key::at_root(destination);
            let (line, at) = (words.line(first.unit), first.unit % 4);
            found = A::find(lanes, line, at, found.shape(), key).1;
            if A::NESTED && found.is_lines() {
                let unit = found.line(destination.window(depth_below(destination)));
                return Err(First { entry: found, unit });
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

    /// What lines below a line say: of many IPv6 networks of 52 bits and more.
    #[inline(always)]
    fn below<L: Lanes>(
        &self,
        lanes: L,
        words: Words<'_>,
        First { entry, unit }: First,
        destination: A,
    ) -> NextHopId {
        let depth = depth_below(destination);
        let (line, key) = (words.line(unit), Key::behind(depth, destination));
        let found = A::find(lanes, line, unit % 4, entry.shape(), key).1;
        if found.is_leaf() && found.id() != NextHopId::NO_ROUTE {
            return found.id();
        }
        self.third(entry, depth, destination)
    }

    /// What is left when neither the root nor a line below it gave a next hop.
    #[inline(never)]
    fn third(&self, found: Entry, depth: u8, destination: A) -> NextHopId {
        let leaf = self.resolve(found, depth, destination);
        self.or_shorter(leaf, destination).id()
    }

    /// `leaf`, or what the prefixes say that are shorter than the root's depth.
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

    /// Follows an entry that stands at `depth` to a leaf.
    #[inline(never)]
    fn resolve(&self, entry: Entry, depth: u8, destination: A) -> Entry {
        match entry.content() {
            Content::Leaf(_) => entry,
            Content::Split(split) => self.in_split(split, depth, destination),
            Content::Lines(lines) => {
                let (unit, (at, found)) = self.find(lines, Key::behind(depth, destination));
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

    /// Searches the line that `key` belongs to: its unit, and the range.
    fn find(&self, lines: Lines, key: Key<A>) -> (u32, Found) {
        let unit = Entry::lines(lines).line(key.first());
        (
            unit,
            A::find(Baseline, self.memory.line(unit), unit % 4, lines.shape, key),
        )
    }
}

/// A vector of lookups.
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
        let chunks = self.destinations.chunks(ABREAST);
        for (destinations, out) in chunks.zip(self.out.chunks_mut(ABREAST)) {
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
    /// Looks those destinations up that are at these places: first all that slots lead to is asked for,
    /// then read.
    #[inline(always)]
    fn by_lines<L: Lanes>(
        &self,
        lanes: L,
        words: Words<'_>,
        destinations: &[A],
        out: &mut [NextHopId],
        places: impl Iterator<Item = usize> + Clone,
    ) {
        let mut firsts = [First::default(); ABREAST];
        let (mut led, mut deep) = (Led::new(self.memory.seed()), Places::default());
        for at in places.clone() {
            firsts[at % ABREAST] = led.ask(words, destinations[at], at);
        }
        led.follow(words, destinations, &mut firsts);
        for at in places {
            match self.second(lanes, words, firsts[at % ABREAST], destinations[at]) {
                Ok(hop) => out[at] = hop,
                Err(below) => {
                    words.prefetch(below.unit);
                    firsts[at % ABREAST] = below;
                    deep.push(at);
                }
            }
        }
        for at in deep.iter() {
            out[at] = self.below(lanes, words, firsts[at], destinations[at]);
        }
    }
}

/// Where lines begin that lie below those of the root.
#[inline(always)]
fn depth_below<A: Address>(destination: A) -> u8 {
    32 + destination.root().map_or(0, |_| A::ROOT_DEPTH)
}

impl Split {
    /// The depth of its slots, below an entry at `above`: there are always whole steps between them.
    #[inline(always)]
    pub(super) fn depth(self, above: u8) -> u8 {
        self.step * 8 + above % 8
    }

    /// The slot of prefixes of up to eight bits more than the split's depth.
    pub(super) fn base_slot(self) -> u32 {
        self.unit * UNIT_WORDS
    }

    /// The slot of what the addresses around the split lead to: a leaf.
    pub(super) fn outer_slot(self) -> u32 {
        self.base_slot() + 1
    }

    /// One of the 256 slots.
    #[inline(always)]
    pub(super) fn slot(self, number: u32) -> u32 {
        self.unit * UNIT_WORDS + 16 + number
    }
}
