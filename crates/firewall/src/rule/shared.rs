//! Bounded concurrent hash table for the state of limits and lists, which all workers read and write.
//!
//! A bucket is a cache line of eight tags; each key has two buckets. A tag is a hash of the whole key with a
//! state in its low bits: 0 empty, 1 being written, 2 present. The values of an entry are stored separately
//! as atomics; callers modify them in place.
//!
//! Insertion is exact: a worker marks a free slot as being written and searches again. If two workers insert
//! one key, the one with the lower slot continues and the other waits for its entry. Mark and second search
//! are sequentially consistent, so at least one sees the other. A caller that still holds an entry when it is
//! reused for another key may change the new key's values once; entries are reused only where that does no
//! harm.

use core::sync::atomic::{AtomicU64, Ordering};

use kernels::{Pages, Zeroed};

const WAYS: usize = 8;
const EMPTY: u64 = 0;
/// State bits: being written, and present.
const WRITING: u64 = 1;
const PRESENT: u64 = 2;
/// Attempts while another worker inserts the same key, which takes a few dozen cycles unless that worker is
/// preempted.
const TRIES: usize = 64;

/// The values of an entry.
pub(super) type Values<const N: usize> = [AtomicU64; N];

/// Bounded concurrent hash table with `N` values per entry.
#[derive(Debug)]
pub(super) struct Shared<const N: usize> {
    tags: Zeroed<[AtomicU64; WAYS]>,
    values: Zeroed<Values<N>>,
    seed: u64,
}

/// Result of [`Shared::enter`].
pub(super) struct SharedEntry<'a, const N: usize> {
    /// The entry's values.
    pub(super) values: &'a Values<N>,
    /// True if the entry is new; `begin` initialised its values.
    pub(super) new: bool,
}

impl<const N: usize> Shared<N> {
    /// Creates a table for `places` entries, rounded up to a power of two.
    pub(super) fn new(places: usize) -> std::io::Result<Self> {
        let buckets = (places / WAYS).next_power_of_two().max(2);
        Ok(Self {
            tags: Zeroed::new(buckets, Pages::Small)?,
            values: Zeroed::new(buckets * WAYS, Pages::Small)?,
            // A secret seed: an attacker cannot choose keys that collide.
            seed: std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0),
        })
    }

    /// Returns the tag of a key of two words and a few more bits.
    pub(super) fn tag(&self, high: u64, low: u64, more: u64) -> u64 {
        let first = fold(low ^ self.seed, more ^ 0x9e37_79b9_7f4a_7c15);
        let both = fold(high ^ first, self.seed ^ 0xd6e8_feb8_6659_fd93);
        // A single multiplication leaves patterns of consecutive keys: with one seed of 300 they fell into
        // few buckets.
        fold(both, 0xa076_1d64_78bd_642f) & !3 | PRESENT
    }

    fn buckets(&self, tag: u64) -> [usize; 2] {
        let mask = self.tags.len() - 1;
        let first = (tag >> 2) as usize & mask;
        // The second bucket always differs: the difference is odd.
        [first, first ^ ((tag >> 33) as usize & mask | 1)]
    }

    fn place(&self, place: usize) -> (&AtomicU64, &Values<N>) {
        (&self.tags[place / WAYS][place % WAYS], &self.values[place])
    }

    fn places(&self, tag: u64) -> impl Iterator<Item = usize> {
        let buckets = self.buckets(tag).into_iter();
        buckets.flat_map(|bucket| bucket * WAYS..(bucket + 1) * WAYS)
    }

    /// Returns the entry of a key.
    pub(super) fn find(&self, tag: u64) -> Option<&Values<N>> {
        self.buckets(tag).into_iter().find_map(|bucket| {
            let tags = &self.tags[bucket];
            let way = tags
                .iter()
                .position(|one| one.load(Ordering::Acquire) == tag)?;
            Some(&self.values[bucket * WAYS + way])
        })
    }

    /// Returns the entry of a key, inserting it if necessary: into an empty slot, else in place of a `stale`
    /// entry, else in place of the entry with the least `age`, if any has one. `begin` initialises the values
    /// before other workers see them. Returns `None` if there is no slot.
    pub(super) fn enter(
        &self,
        tag: u64,
        stale: impl Fn(&Values<N>) -> bool,
        age: impl Fn(&Values<N>) -> Option<u64>,
        begin: impl Fn(&Values<N>),
    ) -> Option<SharedEntry<'_, N>> {
        for attempt in 0..2 * TRIES {
            if let Some(values) = self.find(tag) {
                return Some(SharedEntry { values, new: false });
            }
            if attempt >= TRIES
                && let Some(values) = self.finish(tag, &begin)
            {
                return Some(SharedEntry { values, new: false });
            }
            let place = self.free(tag, &stale, &age)?;
            let (word, values) = self.place(place);
            let Some(old) = claim(word, tag, |old| {
                old == EMPTY || stale(values) || age(values).is_some()
            }) else {
                core::hint::spin_loop();
                continue;
            };
            if self.contested(tag, place) {
                word.store(old, Ordering::SeqCst);
                core::hint::spin_loop();
                continue;
            }
            begin(values);
            word.store(tag, Ordering::SeqCst);
            return Some(SharedEntry { values, new: true });
        }
        None
    }

    /// Completes an entry that a preempted worker is inserting; that worker's own completion is harmless.
    /// Returns `None` if no insertion is in progress: the worker has just finished or given up.
    fn finish(&self, tag: u64, begin: impl Fn(&Values<N>)) -> Option<&Values<N>> {
        let written = |place: &usize| self.place(*place).0.load(Ordering::SeqCst) == writing(tag);
        let (word, values) = self.place(self.places(tag).find(written)?);
        begin(values);
        let order = Ordering::SeqCst;
        let _ = word.compare_exchange(writing(tag), tag, order, order);
        Some(values)
    }

    /// Returns true if another worker has inserted the key, or is inserting it in a lower slot.
    fn contested(&self, tag: u64, mine: usize) -> bool {
        self.places(tag).any(|place| {
            let other = self.place(place).0.load(Ordering::SeqCst);
            place != mine && (other == tag || other == writing(tag) && place < mine)
        })
    }

    /// Returns a slot for a new key.
    fn free(
        &self,
        tag: u64,
        stale: impl Fn(&Values<N>) -> bool,
        age: impl Fn(&Values<N>) -> Option<u64>,
    ) -> Option<usize> {
        let is = |place: &usize, tag: u64| self.place(*place).0.load(Ordering::SeqCst) == tag;
        let empty = self.places(tag).find(|place| is(place, EMPTY));
        let stale = || self.places(tag).find(|place| stale(self.place(*place).1));
        let oldest = || {
            let ages = self.places(tag);
            let ages = ages.filter_map(|place| Some((age(self.place(place).1)?, place)));
            ages.min().map(|(_, place)| place)
        };
        empty.or_else(stale).or_else(oldest)
    }

    /// Returns true if an entry still belongs to the key, present or being written.
    pub(super) fn is(&self, tag: u64, values: &Values<N>) -> bool {
        let mut places = self.places(tag).map(|place| self.place(place));
        places.any(|(word, other)| {
            let now = word.load(Ordering::SeqCst);
            core::ptr::eq(values, other) && (now == tag || now == writing(tag))
        })
    }

    /// Removes a key. Returns false if it did not exist.
    pub(super) fn remove(&self, tag: u64) -> bool {
        self.places(tag).any(|place| {
            let word = self.place(place).0;
            word.compare_exchange(tag, EMPTY, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
        })
    }

    /// Removes all stale entries.
    pub(super) fn sweep(&self, stale: impl Fn(&Values<N>) -> bool) {
        for place in 0..self.values.len() {
            let (word, values) = self.place(place);
            let tag = word.load(Ordering::SeqCst);
            let full = tag & PRESENT != 0 && stale(values);
            if full && claim(word, EMPTY, |_| stale(values)).is_some() {
                word.store(EMPTY, Ordering::SeqCst);
            }
        }
    }

    /// Returns the current values of all entries.
    pub(super) fn rows(&self) -> impl Iterator<Item = [u64; N]> {
        (0..self.values.len()).filter_map(|place| {
            let (word, values) = self.place(place);
            let tag = word.load(Ordering::Acquire);
            if tag & PRESENT == 0 {
                return None;
            }
            let row = core::array::from_fn(|at| values[at].load(Ordering::Acquire));
            (word.load(Ordering::Acquire) == tag).then_some(row)
        })
    }
}

/// Marks a slot as being written if `may` permits it; returns its old tag. `may` is evaluated after the mark,
/// so that a concurrent update of the entry is noticed by one side.
fn claim(word: &AtomicU64, tag: u64, may: impl Fn(u64) -> bool) -> Option<u64> {
    let order = Ordering::SeqCst;
    let old = word.load(order);
    let taken = old & WRITING != 0
        || word
            .compare_exchange(old, writing(tag), order, order)
            .is_err();
    if taken {
        return None;
    }
    if may(old) {
        return Some(old);
    }
    word.store(old, order);
    None
}

/// Returns the tag in the state being written.
const fn writing(tag: u64) -> u64 {
    tag & !PRESENT | WRITING
}

/// Multiplies and folds: every bit of both factors affects about half of the result's bits.
pub(super) const fn fold(a: u64, b: u64) -> u64 {
    let product = (a as u128 ^ 0xe703_7ed1_a0b4_28db) * (b as u128 | 1);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successive_keys_spread_for_every_seed() {
        let mut table = Shared::<1>::new(1 << 18).expect("address space");
        let mut rng = machine::Rng::seeded(1);
        for _ in 0..1_000 {
            table.seed = rng.next_u64();
            let mut filled = vec![0; table.tags.len()];
            // Consecutive networks, and consecutive addresses.
            let networks = (0..10_000).map(|number| (number >> 1 << 16, number & 1));
            for (high, low) in networks.chain((0..5_000).map(|address| (0, address))) {
                let buckets = table.buckets(table.tag(high, low, 0));
                let free = buckets.into_iter().find(|bucket| filled[*bucket] < WAYS);
                filled[free.expect("a place in a table that is nearly empty")] += 1;
            }
        }
    }

    #[test]
    fn concurrent_inserts_add_each_key_once() {
        let table = Shared::<1>::new(4096).expect("address space");
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for key in 0..1000 {
                        let tag = table.tag(0, key, 0);
                        let entered = table.enter(tag, |_| false, |_| None, |_| ());
                        entered.expect("room").values[0].fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });

        let rows: Vec<_> = table.rows().collect();
        assert_eq!(rows.len(), 1000);
        assert!(rows.iter().all(|row| row[0] == 3));
    }

    #[test]
    fn another_thread_completes_the_insert_of_a_stalled_one() {
        let table = Shared::<1>::new(16).expect("address space");
        let tag = table.tag(0, 7, 0);
        // The lower slot continues.
        let place = table.places(tag).min().expect("16 of them");
        table.place(place).0.store(writing(tag), Ordering::SeqCst);

        let begin = |values: &Values<1>| values[0].store(9, Ordering::Relaxed);
        let entered = table.enter(tag, |_| false, |_| None, begin).expect("room");

        assert!(!entered.new);
        assert_eq!(entered.values[0].load(Ordering::Relaxed), 9);
        assert!(table.is(tag, &table.values[place]) && table.find(tag).is_some());
        assert_eq!(table.rows().count(), 1);
    }

    #[test]
    fn a_full_table_evicts_the_oldest_entry_or_none() {
        let table = Shared::<1>::new(16).expect("address space");
        for key in 0..16 {
            let begin = |values: &Values<1>| values[0].store(key, Ordering::Relaxed);
            let tag = table.tag(0, key, 0);
            assert!(table.enter(tag, |_| false, |_| None, begin).is_some());
        }

        let tag = table.tag(0, 99, 0);
        assert!(table.enter(tag, |_| false, |_| None, |_| ()).is_none());
        let age = |values: &Values<1>| Some(values[0].load(Ordering::Relaxed));
        assert!(
            table
                .enter(tag, |_| false, age, |_| ())
                .is_some_and(|entered| entered.new)
        );
        assert!(table.find(table.tag(0, 0, 0)).is_none());
        assert!(table.remove(tag) && !table.remove(tag));
    }
}
