//! A bounded hash table that all workers read and write: what limits and lists keep about flows and
//! addresses.
//!
//! A bucket is a cache line of eight tags; a key has two buckets. A tag is a hash of the whole key
//! with a state in its low bits: 0 is empty, 1 is being written, 2 is there. The values of an entry
//! lie apart and are atomics: who finds an entry changes them in place.
//!
//! Entering is exact: who claims a place marks it as being written and looks again; of two who do so
//! for one key, the one at the lower place goes on and the other waits and finds it. Both the mark
//! and the second look are sequentially consistent, so at least one sees the other. A reader of an
//! entry that is given to another key meanwhile may change that one's values once: an entry is given
//! away only when nothing is lost by that.

use core::sync::atomic::{AtomicU64, Ordering};

use kernels::{Pages, Zeroed};

const WAYS: usize = 8;
const EMPTY: u64 = 0;
/// A tag that is being written; and of one that is there, the same place being written.
const WRITING: u64 = 1;
const THERE: u64 = 2;
/// How often a claim is tried while another worker enters the same key, which takes it a few dozen
/// clocks, unless it is put to sleep over that.
const TRIES: usize = 64;

/// The values of an entry.
pub(super) type Values<const N: usize> = [AtomicU64; N];

/// See the module.
#[derive(Debug)]
pub(super) struct Shared<const N: usize> {
    tags: Zeroed<[AtomicU64; WAYS]>,
    values: Zeroed<Values<N>>,
    seed: u64,
}

/// What [`Shared::enter`] gives.
pub(super) struct Entered<'a, const N: usize> {
    /// The entry's values.
    pub(super) values: &'a Values<N>,
    /// It was not there before; its values are what `begin` made them.
    pub(super) new: bool,
}

impl<const N: usize> Shared<N> {
    /// Room for `places` entries, rounded up to a power of two.
    pub(super) fn new(places: usize) -> std::io::Result<Self> {
        let buckets = (places / WAYS).next_power_of_two().max(2);
        Ok(Self {
            tags: Zeroed::new(buckets, Pages::Small)?,
            values: Zeroed::new(buckets * WAYS, Pages::Small)?,
            // Who sends packets does not know where tables lie, and so not which keys meet.
            seed: std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0),
        })
    }

    /// The tag of a key of two words and a few bits.
    pub(super) fn tag(&self, high: u64, low: u64, more: u64) -> u64 {
        let first = fold(low ^ self.seed, more ^ 0x9e37_79b9_7f4a_7c15);
        let both = fold(high ^ first, self.seed ^ 0xd6e8_feb8_6659_fd93);
        // One product leaves a pattern of keys that follow each other: under one seed of 300 they met in few buckets.
        fold(both, 0xa076_1d64_78bd_642f) & !3 | THERE
    }

    fn buckets(&self, tag: u64) -> [usize; 2] {
        let mask = self.tags.len() - 1;
        let first = (tag >> 2) as usize & mask;
        // Another one for sure: the difference is odd.
        [first, first ^ ((tag >> 33) as usize & mask | 1)]
    }

    fn place(&self, place: usize) -> (&AtomicU64, &Values<N>) {
        (&self.tags[place / WAYS][place % WAYS], &self.values[place])
    }

    fn places(&self, tag: u64) -> impl Iterator<Item = usize> {
        let buckets = self.buckets(tag).into_iter();
        buckets.flat_map(|bucket| bucket * WAYS..(bucket + 1) * WAYS)
    }

    /// The entry of a key.
    pub(super) fn find(&self, tag: u64) -> Option<&Values<N>> {
        self.buckets(tag).into_iter().find_map(|bucket| {
            let tags = &self.tags[bucket];
            let way = tags
                .iter()
                .position(|one| one.load(Ordering::Acquire) == tag)?;
            Some(&self.values[bucket * WAYS + way])
        })
    }

    /// The entry of a key, made if there is none: in an empty place, else in one that is `stale`,
    /// else in the one with the least `age`, if any has one. `begin` makes its values before
    /// others see it. None where there is no place.
    pub(super) fn enter(
        &self,
        tag: u64,
        stale: impl Fn(&Values<N>) -> bool,
        age: impl Fn(&Values<N>) -> Option<u64>,
        begin: impl Fn(&Values<N>),
    ) -> Option<Entered<'_, N>> {
        for attempt in 0..2 * TRIES {
            if let Some(values) = self.find(tag) {
                return Some(Entered { values, new: false });
            }
            if attempt >= TRIES
                && let Some(values) = self.finish(tag, &begin)
            {
                return Some(Entered { values, new: false });
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
            return Some(Entered { values, new: true });
        }
        None
    }

    /// Finishes the entry of a key for somebody who was put to sleep over it; he does so once more. None
    /// where nobody is at it: he has just finished, or given up.
    fn finish(&self, tag: u64, begin: impl Fn(&Values<N>)) -> Option<&Values<N>> {
        let written = |place: &usize| self.place(*place).0.load(Ordering::SeqCst) == writing(tag);
        let (word, values) = self.place(self.places(tag).find(written)?);
        begin(values);
        let order = Ordering::SeqCst;
        let _ = word.compare_exchange(writing(tag), tag, order, order);
        Some(values)
    }

    /// Whether somebody else has entered the key already, or does so at a lower place.
    fn contested(&self, tag: u64, mine: usize) -> bool {
        self.places(tag).any(|place| {
            let other = self.place(place).0.load(Ordering::SeqCst);
            place != mine && (other == tag || other == writing(tag) && place < mine)
        })
    }

    /// Where a key may go.
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

    /// Whether an entry still is this key's, be it there or being entered.
    pub(super) fn is(&self, tag: u64, values: &Values<N>) -> bool {
        let mut places = self.places(tag).map(|place| self.place(place));
        places.any(|(word, other)| {
            let now = word.load(Ordering::SeqCst);
            core::ptr::eq(values, other) && (now == tag || now == writing(tag))
        })
    }

    /// Takes a key out; whether it was there.
    pub(super) fn remove(&self, tag: u64) -> bool {
        self.places(tag).any(|place| {
            let word = self.place(place).0;
            word.compare_exchange(tag, EMPTY, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
        })
    }

    /// Takes out what is stale among all entries.
    pub(super) fn sweep(&self, stale: impl Fn(&Values<N>) -> bool) {
        for place in 0..self.values.len() {
            let (word, values) = self.place(place);
            let tag = word.load(Ordering::SeqCst);
            let full = tag & THERE != 0 && stale(values);
            if full && claim(word, EMPTY, |_| stale(values)).is_some() {
                word.store(EMPTY, Ordering::SeqCst);
            }
        }
    }

    /// The values of all entries, as they are now.
    pub(super) fn rows(&self) -> impl Iterator<Item = [u64; N]> {
        (0..self.values.len()).filter_map(|place| {
            let (word, values) = self.place(place);
            let tag = word.load(Ordering::Acquire);
            if tag & THERE == 0 {
                return None;
            }
            let row = core::array::from_fn(|at| values[at].load(Ordering::Acquire));
            (word.load(Ordering::Acquire) == tag).then_some(row)
        })
    }
}

/// Marks a place as being written where it may be taken, and gives what it held. Whether it may is
/// asked behind the mark: who made the entry fresh meanwhile sees the mark, or is seen here.
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

/// The tag while its entry is being written.
const fn writing(tag: u64) -> u64 {
    tag & !THERE | WRITING
}

/// Multiplies and folds: every bit of both changes about half of the answer's.
pub(super) const fn fold(a: u64, b: u64) -> u64 {
    let product = (a as u128 ^ 0xe703_7ed1_a0b4_28db) * (b as u128 | 1);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_follow_each_other_spread_whatever_the_seed() {
        let mut table = Shared::<1>::new(1 << 18).expect("address space");
        let mut rng = machine::Rng::seeded(1);
        for _ in 0..1_000 {
            table.seed = rng.next_u64();
            let mut filled = vec![0; table.tags.len()];
            // Networks in a row, and addresses of each.
            let networks = (0..10_000).map(|number| (number >> 1 << 16, number & 1));
            for (high, low) in networks.chain((0..5_000).map(|address| (0, address))) {
                let buckets = table.buckets(table.tag(high, low, 0));
                let free = buckets.into_iter().find(|bucket| filled[*bucket] < WAYS);
                filled[free.expect("a place in a table that is nearly empty")] += 1;
            }
        }
    }

    #[test]
    fn several_threads_enter_each_key_once() {
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
    fn what_a_sleeping_thread_enters_is_finished_in_its_stead() {
        let table = Shared::<1>::new(16).expect("address space");
        let tag = table.tag(0, 7, 0);
        // The lower place goes on.
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
    fn a_full_table_gives_away_the_oldest_or_nothing() {
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
