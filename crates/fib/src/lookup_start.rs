//! First half of batch lookups: from a slot of the root to the line to read. Directories and splits of all
//! destinations are read together, so that their cache misses overlap.

use kernels::{Lanes, Work, widest};

use super::adjacency::NextHopId;
use super::entry::Entry;
use super::heap::{UNIT_WORDS, Words};
use super::hosts;
use super::lpm::{BATCH_MAX, OTHER_SLOT};
use super::network::{Address, Key};
use super::slots::BatchIndices;

/// Result of the first half of a lookup.
#[derive(Clone, Copy, Default)]
pub(super) struct LookupStart {
    pub(super) entry: Entry,
    /// The line that the second half reads, if the entry is lines.
    pub(super) unit: u32,
}

impl LookupStart {
    #[inline(always)]
    pub(super) fn of<A: Address>(words: Words<'_>, destination: A) -> Self {
        Self::at(words, destination.root().unwrap_or(OTHER_SLOT), destination)
    }

    /// Starts the lookup of a destination that its host directory does not contain.
    #[inline(always)]
    pub(super) fn beside<A: Address>(words: Words<'_>, directory: Entry, destination: A) -> Self {
        Self::at(words, hosts::others(directory.unit()), destination)
    }

    /// Starts the lookup at a slot.
    #[inline(always)]
    fn at<A: Address>(words: Words<'_>, slot: u32, destination: A) -> Self {
        let key = Key::at_root(destination).first();
        let entry = words.slot(slot);
        let unit = if entry.is_lines() { entry.line(key) } else { 0 };
        Self { entry, unit }
    }

    /// Creates the result of a completed lookup.
    #[inline(always)]
    fn found<A: Address>(hop: NextHopId) -> Self {
        Self {
            entry: Entry::leaf(hop, A::BITS),
            unit: 0,
        }
    }
}

/// The destinations of a batch that need a directory or a split, by index.
pub(super) struct IndirectLookups {
    /// Seed of the address hash.
    seed: u64,
    by_hosts: BatchIndices,
    by_splits: BatchIndices,
}

impl IndirectLookups {
    #[inline(always)]
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            by_hosts: BatchIndices::default(),
            by_splits: BatchIndices::default(),
        }
    }

    /// Starts the lookup of the destination number `index` and prefetches the data of its next step.
    #[inline(always)]
    pub(super) fn ask<A: Address>(
        &mut self,
        words: Words<'_>,
        destination: A,
        index: usize,
    ) -> LookupStart {
        let mut first = LookupStart::of(words, destination);
        if first.entry.is_lines() {
            words.prefetch(first.unit);
        } else if A::HASHES_HOSTS && first.entry.is_directory() {
            // Stores the hash in place of the unit for now.
            first.unit = hosts::hash(self.seed, destination.wide());
            let slot = hosts::slot(first.entry.unit(), first.unit, 0);
            words.prefetch(slot / UNIT_WORDS);
            self.by_hosts.push(index);
        } else if let Some((slot, _)) = below(first.entry, root_depth(destination), destination) {
            words.prefetch(slot / UNIT_WORDS);
            self.by_splits.push(index);
        }
        first
    }

    /// Continues all of these lookups; `firsts` get their results, or first halves that need further steps.
    #[inline(always)]
    pub(super) fn follow<A: Address>(
        self,
        words: Words<'_>,
        destinations: &[A],
        firsts: &mut [LookupStart; BATCH_MAX],
    ) {
        if !(self.by_hosts.is_empty() && self.by_splits.is_empty()) {
            self.indirect(words, destinations, firsts);
        }
    }

    /// Not inlined: callers without such destinations keep more values in registers.
    #[inline(never)]
    fn indirect<A: Address>(
        self,
        words: Words<'_>,
        destinations: &[A],
        firsts: &mut [LookupStart; BATCH_MAX],
    ) {
        widest(ReadIndirect {
            indirect: self,
            words,
            destinations,
            firsts,
        });
    }

    #[inline(always)]
    fn hosts<A: Address, L: Lanes>(
        &mut self,
        lanes: L,
        words: Words<'_>,
        destinations: &[A],
        firsts: &mut [LookupStart; BATCH_MAX],
    ) {
        let by_splits = &mut self.by_splits;
        let mut beside = |first: LookupStart, at: usize| {
            let first = LookupStart::beside(words, first.entry, destinations[at]);
            match first.entry.is_split() {
                true => by_splits.push(at),
                false => words.prefetch(first.unit),
            }
            first
        };
        for at in self.by_hosts.iter() {
            let first = &mut firsts[at];
            match hosts::line(words, first.entry.unit(), first.unit) {
                Some(line) => {
                    words.prefetch(line);
                    first.unit = line;
                }
                None => *first = beside(*first, at),
            }
        }
        for at in self.by_hosts.iter() {
            let first = firsts[at];
            if !first.entry.is_directory() {
                continue;
            }
            let address = destinations[at].wide();
            firsts[at] = match hosts::find(lanes, words.line(first.unit), address) {
                Some(hop) => LookupStart::found::<A>(hop),
                None => beside(first, at),
            };
        }
    }

    #[inline(always)]
    fn splits<A: Address, L: Lanes>(
        &self,
        lanes: L,
        words: Words<'_>,
        destinations: &[A],
        firsts: &mut [LookupStart; BATCH_MAX],
    ) {
        let (mut lines, mut depths) = ([LookupStart::default(); BATCH_MAX], [0; BATCH_MAX]);
        for at in self.by_splits.iter() {
            let (mut entry, mut depth) = (firsts[at].entry, root_depth(destinations[at]));
            while let Some((slot, behind)) = below(entry, depth, destinations[at]) {
                (entry, depth) = (words.slot(slot), behind);
            }
            if entry.is_lines() {
                let unit = entry.line(destinations[at].window(depth));
                words.prefetch(unit);
                (lines[at], depths[at]) = (LookupStart { entry, unit }, depth);
            } else if entry.id() != NextHopId::NO_ROUTE {
                firsts[at] = LookupStart::found::<A>(entry.id());
            }
        }
        for at in self.by_splits.iter() {
            let LookupStart { entry, unit } = lines[at];
            if entry.is_lines() {
                let (line, key) = (words.line(unit), Key::behind(depths[at], destinations[at]));
                let found = A::find(lanes, line, unit % 4, entry.format(), key).1;
                if found.is_leaf() && found.id() != NextHopId::NO_ROUTE {
                    firsts[at] = LookupStart::found::<A>(found.id());
                }
            }
        }
    }
}

/// Reads the directories and splits of a batch.
struct ReadIndirect<'a, A> {
    indirect: IndirectLookups,
    words: Words<'a>,
    destinations: &'a [A],
    firsts: &'a mut [LookupStart; BATCH_MAX],
}

impl<A: Address> Work for ReadIndirect<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        if A::HASHES_HOSTS {
            let Self {
                words,
                destinations,
                ..
            } = self;
            self.indirect.hosts(lanes, words, destinations, self.firsts);
        }
        self.indirect
            .splits(lanes, self.words, self.destinations, self.firsts);
    }
}

/// Returns the depth at which the root ends for an address.
#[inline(always)]
fn root_depth<A: Address>(destination: A) -> u8 {
    destination.root().map_or(0, |_| A::ROOT_DEPTH)
}

/// Returns the slot to which a split below depth `above` leads an address, and the depth of that slot's
/// content.
#[inline(always)]
fn below<A: Address>(entry: Entry, above: u8, destination: A) -> Option<(u32, u8)> {
    let split = entry.is_split().then(|| entry.split_there())?;
    let depth = split.depth(above);
    Some((split.slot(destination.window(depth) >> 24), depth + 8))
}
