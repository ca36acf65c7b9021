//! First half of batch lookups: from a slot of the root to the line to read. Directories and splits of all
//! destinations are read together, so that their cache misses overlap.

use kernels::{Lanes, Work, widest};

use super::adjacency::NextHopId;
use super::entry::Entry;
use super::heap::{UNIT_WORDS, Words};
use super::hosts;
use super::lpm::{ABREAST, OTHER_SLOT};
use super::network::{Address, Key};
use super::slots::Places;

/// Result of the first half of a lookup.
#[derive(Clone, Copy, Default)]
pub(super) struct First {
    pub(super) entry: Entry,
    /// The line that the second half reads, if the entry is lines.
    pub(super) unit: u32,
}

impl First {
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
pub(super) struct Led {
    /// Seed of the address hash.
    seed: u64,
    by_hosts: Places,
    by_splits: Places,
}

impl Led {
    #[inline(always)]
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            by_hosts: Places::default(),
            by_splits: Places::default(),
        }
    }

    /// Starts the lookup of the destination at index `place` and prefetches what its next step reads.
    #[inline(always)]
    pub(super) fn ask<A: Address>(
        &mut self,
        words: Words<'_>,
        destination: A,
        place: usize,
    ) -> First {
        let mut first = First::of(words, destination);
        if first.entry.is_lines() {
            words.prefetch(first.unit);
        } else if A::HOSTED && first.entry.is_directory() {
            // Stores the hash in place of the unit for now.
            first.unit = hosts::hash(self.seed, destination.wide());
            let slot = hosts::slot(first.entry.unit(), first.unit, 0);
            words.prefetch(slot / UNIT_WORDS);
            self.by_hosts.push(place);
        } else if let Some((slot, _)) = below(first.entry, root_depth(destination), destination) {
            words.prefetch(slot / UNIT_WORDS);
            self.by_splits.push(place);
        }
        first
    }

    /// Continues all of these lookups; `firsts` get their results, or first halves that need further steps.
    #[inline(always)]
    pub(super) fn follow<A: Address>(
        self,
        words: Words<'_>,
        destinations: &[A],
        firsts: &mut [First; ABREAST],
    ) {
        if !(self.by_hosts.is_empty() && self.by_splits.is_empty()) {
            self.led(words, destinations, firsts);
        }
    }

    /// Not inlined: callers without such destinations keep more values in registers.
    #[inline(never)]
    fn led<A: Address>(self, words: Words<'_>, destinations: &[A], firsts: &mut [First; ABREAST]) {
        widest(Follow {
            led: self,
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
        firsts: &mut [First; ABREAST],
    ) {
        let by_splits = &mut self.by_splits;
        let mut beside = |first: First, at: usize| {
            let first = First::beside(words, first.entry, destinations[at]);
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
                Some(hop) => First::found::<A>(hop),
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
        firsts: &mut [First; ABREAST],
    ) {
        let (mut lines, mut depths) = ([First::default(); ABREAST], [0; ABREAST]);
        for at in self.by_splits.iter() {
            let (mut entry, mut depth) = (firsts[at].entry, root_depth(destinations[at]));
            while let Some((slot, behind)) = below(entry, depth, destinations[at]) {
                (entry, depth) = (words.slot(slot), behind);
            }
            if entry.is_lines() {
                let unit = entry.line(destinations[at].window(depth));
                words.prefetch(unit);
                (lines[at], depths[at]) = (First { entry, unit }, depth);
            } else if entry.id() != NextHopId::NO_ROUTE {
                firsts[at] = First::found::<A>(entry.id());
            }
        }
        for at in self.by_splits.iter() {
            let First { entry, unit } = lines[at];
            if entry.is_lines() {
                let (line, key) = (words.line(unit), Key::behind(depths[at], destinations[at]));
                let found = A::find(lanes, line, unit % 4, entry.shape(), key).1;
                if found.is_leaf() && found.id() != NextHopId::NO_ROUTE {
                    firsts[at] = First::found::<A>(found.id());
                }
            }
        }
    }
}

/// Reads the directories and splits of a batch.
struct Follow<'a, A> {
    led: Led,
    words: Words<'a>,
    destinations: &'a [A],
    firsts: &'a mut [First; ABREAST],
}

impl<A: Address> Work for Follow<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        if A::HOSTED {
            let Self {
                words,
                destinations,
                ..
            } = self;
            self.led.hosts(lanes, words, destinations, self.firsts);
        }
        self.led
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
