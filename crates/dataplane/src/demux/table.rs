//! A table from keys to interfaces: control writes it, workers read it without a lock.
//!
//! ```text
//! hash of the key ──▶ first line: four entries ──▶ second line, where the first one is full
//!                         word 0: the key's name (64)
//!                         word 1: id of the interface (32) | slot of the interface below (20) | facts (12)
//! ```
//!
//! A line is a cache line, and nearly every lookup reads one. Each key is in one of two lines, so a
//! lookup reads at most two. An entry without an interface is free. The writer frees an entry
//! before it writes another key there, and a reader reads word 1 before and after word 0: it never
//! combines two entries.
//!
//! Where both lines of a key are full, a key of them moves to its other line. A reader that found
//! nothing while a key moved reads again. A table that is half full doubles, which costs a constant
//! per key; keys that come and go change their own entry alone. Outgrown tables are never freed,
//! because a worker may still read them; together they use less memory than the current table.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::OnceLock;

use frame::InterfaceId;
use kernels::{Pages, Zeroed};

/// Entries of a line.
const ENTRIES: usize = 4;
/// Lines of the smallest table, as a power of two.
const FIRST_BITS: u32 = 4;
/// Number of table sizes: the largest table holds a key for each interface when it is half full.
const SIZES: usize = (InterfaceId::SLOT_BITS + 2 - FIRST_BITS) as usize - 1;

/// Key of an interface on the interface below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The slot of the interface below; 0 in key spaces of the whole router.
    pub(crate) on: u32,
    /// The key in received frames: a tag, an address or a session.
    pub(crate) name: u64,
}

/// Facts about an interface that its key's entry repeats, so that a lookup need not read the interface: 12 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts(pub(crate) u16);

/// The value of a key in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The interface; never [`InterfaceId::NONE`].
    pub(crate) id: InterfaceId,
    pub(crate) facts: Facts,
}

const SLOT_SHIFT: u32 = 32;
const SLOT: u64 = (1 << InterfaceId::SLOT_BITS) - 1;
const FACTS_SHIFT: u32 = 52;

impl Entry {
    const fn word(self, on: u32) -> u64 {
        self.id.0 as u64 | (on as u64 & SLOT) << SLOT_SHIFT | (self.facts.0 as u64) << FACTS_SHIFT
    }

    const fn from_word(word: u64) -> Self {
        Self {
            id: InterfaceId(word as u32),
            facts: Facts((word >> FACTS_SHIFT) as u16),
        }
    }
}

/// A key and its entry, as a line stores them.
#[derive(Clone, Copy)]
struct EntryWords {
    /// The name of the key.
    name: u64,
    /// The entry and the interface of the key ([`Entry::word`]).
    value: u64,
}

impl EntryWords {
    const fn key(self) -> Key {
        Key {
            on: (self.value >> SLOT_SHIFT & SLOT) as u32,
            name: self.name,
        }
    }
}

type Line = [AtomicU64; 2 * ENTRIES];

/// Hash of a key, which determines the two lines that may contain it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyHash(u64);

/// The table. Memory is allocated with the first key.
#[derive(Debug)]
pub(crate) struct KeyTable {
    sizes: [OnceLock<Zeroed<Line>>; SIZES],
    /// Index of the size in use, plus one; 0 before the first key.
    size: AtomicU32,
    /// Number of keys.
    count: AtomicU32,
    /// Number of moves of keys to their other lines.
    moves: AtomicU64,
    /// Random seed of the hash: peers choose their keys, and could otherwise choose keys that fall
    /// into few lines.
    seed: u64,
}

impl Default for KeyTable {
    fn default() -> Self {
        Self {
            sizes: [const { OnceLock::new() }; SIZES],
            size: AtomicU32::new(0),
            count: AtomicU32::new(0),
            moves: AtomicU64::new(0),
            seed: RandomState::new().hash_one(SIZES),
        }
    }
}

/// The table for the lookups of one vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    lines: &'a [Line],
    seed: u64,
    moves: &'a AtomicU64,
}

impl View<'_> {
    /// Returns where a key is looked for.
    #[inline(always)]
    pub(crate) fn hash(&self, key: Key) -> KeyHash {
        let with = 0x9e37_79b9_7f4a_7c15 ^ u64::from(key.on) << 1;
        let product = u128::from(key.name ^ self.seed) * u128::from(with);
        KeyHash((product >> 64) as u64 ^ product as u64)
    }

    /// Returns the number of the likelier line of a key.
    #[inline(always)]
    fn first(&self, hash: KeyHash) -> u32 {
        hash.0 as u32 & (self.lines.len() as u32 - 1)
    }

    /// Returns the numbers of both lines of a key, which always differ.
    fn both(&self, hash: KeyHash) -> [u32; 2] {
        let first = self.first(hash);
        let second = self.first(KeyHash(hash.0 >> 32));
        [first, if first == second { first ^ 1 } else { second }]
    }

    /// Prefetches the line that most likely has the key.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: KeyHash) {
        kernels::prefetch(self.line(self.first(hash)));
    }

    /// Returns the entry of a key; `place` is the key's.
    #[inline(always)]
    pub(crate) fn get(&self, hash: KeyHash, key: Key) -> Option<Entry> {
        match find(self.line(self.first(hash)), key) {
            Some((_, entry)) => Some(entry),
            None => self.get_elsewhere(hash, key),
        }
    }

    #[inline(never)]
    fn get_elsewhere(&self, hash: KeyHash, key: Key) -> Option<Entry> {
        loop {
            let moves = self.moves.load(Ordering::Acquire);
            let mut lines = self.both(hash).into_iter().rev();
            if let Some((_, entry)) = lines.find_map(|line| find(self.line(line), key)) {
                return Some(entry);
            }
            fence(Ordering::Acquire);
            if self.moves.load(Ordering::Relaxed) == moves {
                return None;
            }
        }
    }

    #[inline(always)]
    fn line(&self, at: u32) -> &Line {
        // The number of lines is a power of two.
        &self.lines[at as usize & (self.lines.len() - 1)]
    }
}

/// Returns the entry of a key in a line, and its number there.
///
/// Keys are spread over the entries at random, so the number is computed without a branch. An entry may have the name
/// of the key and still be free or on another interface; the search continues behind such an entry.
#[inline(always)]
fn find(line: &Line, key: Key) -> Option<(usize, Entry)> {
    let mut alike = 0;
    for at in 0..ENTRIES {
        let name = line[2 * at].load(Ordering::Relaxed);
        alike |= u32::from(name == key.name) << at;
    }
    if alike == 0 {
        return None;
    }
    let at = alike.trailing_zeros() as usize % ENTRIES;
    match read(line, at, key) {
        Some(entry) => Some((at, entry)),
        None => find_behind(line, at, key),
    }
}

#[cold]
#[inline(never)]
fn find_behind(line: &Line, at: usize, key: Key) -> Option<(usize, Entry)> {
    let mut others = at + 1..ENTRIES;
    others.find_map(|at| Some((at, read(line, at, key)?)))
}

/// Returns an entry, if it is the key's.
#[inline(always)]
fn read(line: &Line, at: usize, key: Key) -> Option<Entry> {
    let (name, value) = (&line[2 * at], &line[2 * at + 1]);
    let before = value.load(Ordering::Acquire);
    let same = name.load(Ordering::Relaxed) == key.name;
    fence(Ordering::Acquire);
    let unchanged = value.load(Ordering::Relaxed) == before;
    let of_key = (before >> SLOT_SHIFT & SLOT) as u32 == key.on && before as u32 != 0;
    (same & unchanged & of_key).then(|| Entry::from_word(before))
}

/// Writes a key into a free entry.
fn fill(line: &Line, at: usize, words: EntryWords) {
    // A reader that sees the new name also sees that the entry was free before.
    fence(Ordering::Release);
    line[2 * at].store(words.name, Ordering::Relaxed);
    line[2 * at + 1].store(words.value, Ordering::Release);
}

fn free(line: &Line, at: usize) {
    line[2 * at + 1].store(0, Ordering::Release);
}

fn free_entry(line: &Line) -> Option<usize> {
    (0..ENTRIES).find(|at| line[2 * at + 1].load(Ordering::Relaxed) as u32 == 0)
}

impl KeyTable {
    /// Returns the table for the lookups of a vector; `None` where it has no key.
    #[inline]
    pub(crate) fn view(&self) -> Option<View<'_>> {
        let size = self.size.load(Ordering::Acquire).checked_sub(1)?;
        self.view_of(size as usize)
    }

    fn view_of(&self, size: usize) -> Option<View<'_>> {
        Some(View {
            lines: self.sizes.get(size)?.get()?,
            seed: self.seed,
            moves: &self.moves,
        })
    }

    /// Returns the entry of a key.
    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<Entry> {
        let view = self.view()?;
        view.get(view.hash(key), key)
    }

    /// Sets the entry of a key. Returns false, and changes nothing, where the table is full. Only control calls this.
    #[must_use]
    pub(crate) fn set(&self, key: Key, entry: Entry) -> bool {
        let word = entry.word(key.on);
        if let Some(view) = self.view() {
            let hash = view.hash(key);
            for line in view.both(hash).map(|at| view.line(at)) {
                if let Some((at, _)) = find(line, key) {
                    line[2 * at + 1].store(word, Ordering::Release);
                    return true;
                }
            }
        }
        let count = self.count.load(Ordering::Relaxed);
        let words = EntryWords {
            name: key.name,
            value: entry.word(key.on),
        };
        if !self.add(count, words) {
            return false;
        }
        self.count.store(count + 1, Ordering::Relaxed);
        true
    }

    /// Removes a key. Returns what its entry was. Only control calls this.
    pub(crate) fn remove(&self, key: Key) -> Option<Entry> {
        let view = self.view()?;
        let hash = view.hash(key);
        let lines = view.both(hash).map(|at| view.line(at));
        let (line, (at, entry)) =
            { lines.into_iter() }.find_map(|line| Some((line, find(line, key)?)))?;
        free(line, at);
        self.count.fetch_sub(1, Ordering::Relaxed);
        Some(entry)
    }

    /// Adds a key; `count` is the number of existing keys. Uses a larger table if this one is half full or both lines
    /// of the key are full.
    fn add(&self, count: u32, words: EntryWords) -> bool {
        let view = self.view();
        let has_room = |view: &View<'_>| count as usize * 2 < view.lines.len() * ENTRIES;
        if view.is_some_and(|view| has_room(&view) && self.put(&view, words)) {
            return true;
        }
        let next = self.size.load(Ordering::Relaxed) as usize;
        (next..SIZES).any(|size| self.grow(size, view.as_ref(), words))
    }

    /// Copies all keys and one more into a table of this size, and publishes it. Returns false if the keys do not fit.
    fn grow(&self, size: usize, before: Option<&View<'_>>, words: EntryWords) -> bool {
        let Ok(lines) = Zeroed::new(1 << (FIRST_BITS as usize + size), Pages::Huge) else {
            return false;
        };
        if self.sizes[size].set(lines).is_err() {
            return false;
        }
        let Some(view) = self.view_of(size) else {
            return false;
        };
        let lines = before.map_or(&[][..], |view| view.lines);
        let entries = lines.iter().flat_map(|line| line.as_chunks::<2>().0);
        let entries =
            entries.map(|words| words.each_ref().map(|word| word.load(Ordering::Relaxed)));
        let entries = entries.filter(|[_, value]| *value as u32 != 0);
        let entries = entries.map(|[name, value]| EntryWords { name, value });
        let mut all = entries.chain([words]);
        let fits = all.all(|words| self.put(&view, words));
        if fits {
            self.size.store(size as u32 + 1, Ordering::Release);
        }
        fits
    }

    /// Writes a key into one of its lines. Returns false where there is no room.
    fn put(&self, view: &View<'_>, words: EntryWords) -> bool {
        let hash = view.hash(words.key());
        let lines = view.both(hash);
        for line in lines.map(|at| view.line(at)) {
            if let Some(at) = free_entry(line) {
                fill(line, at, words);
                return true;
            }
        }
        let moved = lines.iter().find_map(|line| self.make_room(view, *line));
        if let Some((line, at)) = moved {
            fill(line, at, words);
        }
        moved.is_some()
    }

    /// Moves a key of a full line to its other line. Returns the entry that is free then.
    fn make_room<'a>(&self, view: &View<'a>, from: u32) -> Option<(&'a Line, usize)> {
        let line = &view.lines[from as usize];
        for at in 0..ENTRIES {
            let [name, value] = [0, 1].map(|word| line[2 * at + word].load(Ordering::Relaxed));
            let words = EntryWords { name, value };
            let hash = view.hash(words.key());
            let [first, second] = view.both(hash);
            let other = if first == from { second } else { first };
            let other = &view.lines[other as usize];
            if let Some(to) = free_entry(other) {
                fill(other, to, words);
                self.moves.fetch_add(1, Ordering::Release);
                free(line, at);
                return Some((line, at));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
