//! Hash index from tuples to entries. One worker modifies it; other threads may search it through `SharedBuckets`.
//!
//! Linear hashing (Litwin, 1980): buckets are appended one at a time, and each new bucket takes over part of
//! the items of one older bucket. The index thus grows by one cache line at a time, without pauses, and
//! commits memory as it grows. A bucket is one cache line: seven items and the number of its overflow bucket.
//! The items of a chain fill its buckets from the front. An item holds all 32 bits of the hash, so that
//! splitting a bucket reads no entry.

use core::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::Arc;

use kernels::{Baseline, Lanes, Pages, Zeroed};

use super::hash::Hash;
use super::layout::Line;

/// Items per bucket; the word after them is the number of the overflow bucket.
const ITEMS: usize = 7;
const LINK: usize = ITEMS;
/// Average items per bucket above which the index grows.
const LOAD: usize = 4;
/// Number of buckets of an empty index.
const BUCKETS_MIN: usize = 64;
/// The bit that is set in every item and clear in an empty word.
const PRESENT: u64 = 1 << 31;

/// An entry and a direction: entry index × 2, +1 for the reply direction.
pub(super) type Target = u32;

/// The buckets of an index, which other threads read while the owner modifies them.
#[derive(Debug)]
pub(super) struct SharedBuckets {
    buckets: Zeroed<Line>,
    /// Overflow buckets; number 0 stands for none.
    overflow: Zeroed<Line>,
    /// Number of buckets in use, published for other threads.
    count: AtomicU64,
    /// Seqlock version: odd while the owner moves items, when a reader may miss them.
    version: AtomicU64,
}

impl SharedBuckets {
    /// Creates empty buckets for about `items` items.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub(super) fn new(items: usize) -> std::io::Result<Self> {
        let buckets = (items / LOAD + 1).max(BUCKETS_MIN);
        Ok(Self {
            buckets: Zeroed::new(buckets, Pages::Huge)?,
            // Chains need about a tenth of this; `insert` fails if a degenerate hash needs more.
            overflow: Zeroed::new(buckets + BUCKETS_MIN, Pages::Huge)?,
            count: AtomicU64::new(BUCKETS_MIN as u64),
            version: AtomicU64::new(0),
        })
    }

    /// Searches from another thread for an item with this hash that `right` accepts. An item that is added or
    /// removed meanwhile may be missed; an item that stays is found.
    pub(super) fn search<T>(&self, hash: Hash, right: impl Fn(Target) -> Option<T>) -> Option<T> {
        for _ in 0..RETRIES {
            let version = self.version.load(Ordering::Acquire);
            let found = self.search_once(hash, &right);
            fence(Ordering::Acquire);
            if found.is_some()
                || (version & 1, self.version.load(Ordering::Relaxed)) == (0, version)
            {
                return found;
            }
            core::hint::spin_loop();
        }
        None
    }

    fn search_once<T>(&self, hash: Hash, right: impl Fn(Target) -> Option<T>) -> Option<T> {
        let count = self.count.load(Ordering::Acquire) as usize;
        let buckets = Buckets::of(&self.buckets, count);
        let mut bucket = self.buckets.get(buckets.number(hash.0))?;
        // A chain may be inconsistent while it is modified, so the number of steps is bounded.
        for _ in 0..CHAIN {
            let matches = matching(Baseline, bucket, hash.0);
            let places = (0..ITEMS).filter(|at| matches >> at & 1 != 0);
            let mut targets = places.map(|at| (get(bucket, at) & (PRESENT - 1)) as Target);
            if let Some(found) = targets.find_map(&right) {
                return Some(found);
            }
            match get(bucket, LINK) {
                0 => break,
                next => bucket = self.overflow.get(next as usize)?,
            }
        }
        None
    }

    /// Marks the start of a move: concurrent readers retry.
    fn begin(&self) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
    }

    /// Marks the end of a move.
    fn end(&self) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Release);
    }
}

/// Retries of a reader that the owner disturbs; one search is shorter than two modifications.
const RETRIES: usize = 10_000;
/// Buckets after which a reader gives up on a chain: thousands of times the length with a good hash.
const CHAIN: usize = 1 << 16;

/// Hash index of one worker's connections of one family.
#[derive(Debug)]
pub(super) struct Index {
    shared: Arc<SharedBuckets>,
    /// The first free overflow bucket; free buckets form a linked list.
    overflow_free: u64,
    /// Number of overflow buckets that were ever used.
    overflow_used: u64,
    /// Number of buckets in use.
    count: usize,
    /// The largest power of two that is at most `count`, minus one.
    mask: usize,
    items: usize,
}

impl Index {
    /// Creates an empty index; each `SharedBuckets` belongs to one index.
    pub(super) fn new(shared: Arc<SharedBuckets>) -> Self {
        Self {
            shared,
            overflow_free: 0,
            overflow_used: 1,
            count: BUCKETS_MIN,
            mask: BUCKETS_MIN - 1,
            items: 0,
        }
    }

    /// Returns the bytes of the buckets in use.
    pub(super) fn bytes(&self) -> usize {
        (self.count + self.overflow_used as usize) * size_of::<Line>()
    }

    /// Returns the bucket array for use in loops.
    #[inline(always)]
    pub(super) fn buckets(&self) -> Buckets<'_> {
        Buckets {
            buckets: &self.shared.buckets,
            count: self.count,
            mask: self.mask,
        }
    }

    /// Returns the target with this hash that `right` accepts.
    #[inline(always)]
    pub(super) fn find(&self, hash: Hash, right: impl Fn(Target) -> bool) -> Option<Target> {
        let mut bucket = &self.shared.buckets[self.bucket(hash.0)];
        loop {
            let mut matches = matching(Baseline, bucket, hash.0);
            while matches != 0 {
                let at = matches.trailing_zeros() as usize % ITEMS;
                let target = (get(bucket, at) & (PRESENT - 1)) as Target;
                if right(target) {
                    return Some(target);
                }
                matches &= matches - 1;
            }
            match get(bucket, LINK) {
                0 => return None,
                next => bucket = self.chained(next),
            }
        }
    }

    /// Adds an item. Returns false, without changes, if there is no room.
    pub(super) fn insert(&mut self, hash: Hash, target: Target) -> bool {
        let item = u64::from(hash.0) << 32 | PRESENT | u64::from(target);
        if !self.place(self.bucket(hash.0), item) {
            return false;
        }
        self.items += 1;
        if self.items > self.count * LOAD && self.count < self.shared.buckets.len() {
            self.divide();
        }
        true
    }

    /// Removes an item. Returns false if the item does not exist.
    pub(super) fn remove(&mut self, hash: Hash, target: Target) -> bool {
        let item = u64::from(hash.0) << 32 | PRESENT | u64::from(target);
        let mut bucket = &self.shared.buckets[self.bucket(hash.0)];
        let (hole, at) = loop {
            match (0..ITEMS).find(|at| get(bucket, *at) == item) {
                Some(at) => break (bucket, at),
                None if get(bucket, LINK) == 0 => return false,
                None => bucket = self.chained(get(bucket, LINK)),
            }
        };
        self.shared.begin();
        // Moves the chain's last item into the hole, so that chains stay short.
        let (mut before, mut last) = (None, hole);
        while get(last, LINK) != 0 {
            before = Some(last);
            last = self.chained(get(last, LINK));
        }
        let from = (0..ITEMS)
            .rev()
            .find(|at| get(last, *at) != 0)
            .unwrap_or(at);
        put(hole, at, get(last, from));
        put(last, from, 0);
        if from == 0 {
            let freed = before.map(|before| {
                let number = get(before, LINK);
                put(before, LINK, 0);
                number
            });
            // The hole was in the last bucket itself: find the bucket that links to it.
            let freed = freed.or_else(|| self.unlink_empty(hash));
            freed.into_iter().for_each(|number| self.give_back(number));
        }
        self.shared.end();
        self.items -= 1;
        true
    }

    /// Returns the number of the bucket for a hash.
    #[inline(always)]
    fn bucket(&self, hash: u32) -> usize {
        self.buckets().number(hash)
    }

    #[inline(always)]
    fn chained(&self, number: u64) -> &Line {
        &self.shared.overflow[number as usize]
    }

    /// Stores an item in the first free word of a bucket's chain.
    fn place(&mut self, bucket: usize, item: u64) -> bool {
        let mut last = &self.shared.buckets[bucket];
        loop {
            if let Some(free) = (0..ITEMS).find(|at| get(last, *at) == 0) {
                put(last, free, item);
                return true;
            }
            match get(last, LINK) {
                0 => break,
                next => last = self.chained(next),
            }
        }
        let number = match self.overflow_free {
            0 if self.overflow_used as usize >= self.shared.overflow.len() => return false,
            0 => self.overflow_used,
            free => free,
        };
        put(last, LINK, number);
        put(self.chained(number), 0, item);
        if number == self.overflow_free {
            self.overflow_free = get(self.chained(number), LINK);
            put(self.chained(number), LINK, 0);
        } else {
            self.overflow_used += 1;
        }
        true
    }

    /// Appends a bucket and splits the oldest bucket that is not split yet.
    fn divide(&mut self) {
        self.shared.begin();
        let old = self.count - (self.mask + 1);
        let (mut items, mut chain) = take(&self.shared.buckets[old]);
        self.count += 1;
        self.shared
            .count
            .store(self.count as u64, Ordering::Relaxed);
        if self.count == (self.mask + 1) * 2 {
            self.mask = self.mask << 1 | 1;
        }
        loop {
            // Items are copied out first and placed again once their old bucket is empty.
            for item in items.into_iter().filter(|item| *item != 0) {
                let placed = self.place(self.bucket((item >> 32) as u32), item);
                debug_assert!(placed);
            }
            if chain == 0 {
                break;
            }
            let number = chain;
            (items, chain) = take(self.chained(number));
            self.give_back(number);
        }
        self.shared.end();
    }

    /// Unlinks the last bucket of a hash's chain, which is empty.
    fn unlink_empty(&self, hash: Hash) -> Option<u64> {
        let mut bucket = &self.shared.buckets[self.bucket(hash.0)];
        loop {
            let next = get(bucket, LINK);
            if next == 0 {
                return None;
            }
            if get(self.chained(next), 0) == 0 {
                put(bucket, LINK, 0);
                return Some(next);
            }
            bucket = self.chained(next);
        }
    }

    fn give_back(&mut self, number: u64) {
        put(self.chained(number), LINK, self.overflow_free);
        self.overflow_free = number;
    }
}

/// References to the buckets of an index, which a loop keeps in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buckets<'a> {
    buckets: &'a [Line],
    count: usize,
    mask: usize,
}

impl<'a> Buckets<'a> {
    /// Creates the view of `count` buckets in use, at least one.
    fn of(buckets: &'a [Line], count: usize) -> Self {
        Self {
            buckets,
            count,
            mask: (1 << count.ilog2()) - 1,
        }
    }

    /// Returns the number of the bucket for a hash.
    #[inline(always)]
    fn number(self, hash: u32) -> usize {
        let wide = hash as usize & (self.mask << 1 | 1);
        let narrow = hash as usize & self.mask;
        // Without a branch: it would be unpredictable.
        if wide < self.count { wide } else { narrow }
    }

    /// Prefetches the bucket of a hash.
    #[inline(always)]
    pub(super) fn prefetch(self, hash: Hash) {
        kernels::prefetch(&self.buckets[self.number(hash.0)]);
    }

    /// Returns the first target with this hash in its bucket; all but one in 500 million lookups have at most
    /// one.
    #[inline(always)]
    pub(super) fn first<L: Lanes>(self, lanes: L, hash: Hash) -> Option<Target> {
        let bucket = &self.buckets[self.number(hash.0)];
        let matches = matching(lanes, bucket, hash.0);
        let at = matches.trailing_zeros() as usize % ITEMS;
        (matches != 0).then(|| (get(bucket, at) & (PRESENT - 1)) as Target)
    }

    /// Returns true if the bucket of a hash has an overflow bucket.
    #[inline(always)]
    pub(super) fn is_chained(self, hash: Hash) -> bool {
        get(&self.buckets[self.number(hash.0)], LINK) != 0
    }
}

/// Returns a bit mask of the bucket's items with this hash.
#[inline(always)]
fn matching<L: Lanes>(lanes: L, bucket: &Line, hash: u32) -> u32 {
    let key = u64::from(hash) << 1 | 1;
    lanes.alike::<{ PRESENT.trailing_zeros() }>(bucket, key) & !(1 << LINK)
}

/// Empties a bucket; returns its items and its link.
fn take(bucket: &Line) -> ([u64; ITEMS], u64) {
    let items = core::array::from_fn(|at| get(bucket, at));
    let link = get(bucket, LINK);
    (0..=LINK).for_each(|at| put(bucket, at, 0));
    (items, link)
}

// Relaxed ordering: only the owner writes these words.
#[inline(always)]
fn get(line: &Line, at: usize) -> u64 {
    line[at].load(Ordering::Relaxed)
}

#[inline(always)]
fn put(line: &Line, at: usize, value: u64) {
    line[at].store(value, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn index(items: usize) -> Index {
        Index::new(Arc::new(SharedBuckets::new(items).expect("address space")))
    }

    /// Checks that a chain has no hole before its last item, and that every item is in the chain of its hash.
    fn check(index: &Index) {
        let mut items = 0;
        for number in 0..index.count {
            let mut bucket = &index.shared.buckets[number];
            loop {
                let used = (0..ITEMS).take_while(|at| get(bucket, *at) != 0).count();
                assert!((used..ITEMS).all(|at| get(bucket, at) == 0));
                for at in 0..used {
                    assert_eq!(index.bucket((get(bucket, at) >> 32) as u32), number);
                }
                items += used;
                match get(bucket, LINK) {
                    0 => break,
                    next => {
                        assert_eq!(used, ITEMS);
                        bucket = index.chained(next);
                        assert_ne!(get(bucket, 0), 0);
                    }
                }
            }
        }
        assert_eq!(items, index.items);
    }

    proptest! {
        #[test]
        fn the_index_is_a_set_of_pairs(
            steps in prop::collection::vec((any::<bool>(), 0..40_u32, 0..60_u32), 0..800),
        ) {
            let mut index = index(4_000);
            let mut model = BTreeSet::new();
            for (add, hash, target) in steps {
                // Few distinct hashes make long chains; the hashes also differ in high bits.
                let hash = Hash((hash % 8).wrapping_mul(0x0100_0000) | (hash / 8));
                if add && model.insert((hash.0, target)) {
                    prop_assert!(index.insert(hash, target));
                } else {
                    prop_assert_eq!(model.remove(&(hash.0, target)), index.remove(hash, target));
                }
            }
            check(&index);
            for (hash, target) in &model {
                prop_assert_eq!(index.find(Hash(*hash), |found| found == *target), Some(*target));
                let right = |found| (found == *target).then_some(found);
                prop_assert_eq!(index.shared.search(Hash(*hash), right), Some(*target));
            }
        }
    }

    #[test]
    fn the_index_grows_incrementally_and_finds_all_entries() {
        let mut index = index(40_000);
        let hash = |item: u32| Hash(item.wrapping_mul(0x9e37_79b9));
        for item in 0..40_000 {
            assert!(index.insert(hash(item), item));
        }
        check(&index);

        assert!(
            (0..40_000).all(|item| index.find(hash(item), |found| found == item) == Some(item))
        );
        assert_eq!(index.find(Hash(12_345), |found| found == 40_001), None);

        assert!((0..40_000).all(|item| index.remove(hash(item), item)));
        check(&index);
        assert_eq!(index.items, 0);
    }

    /// Another thread finds all permanent items while the owner moves the items around them.
    #[test]
    fn entries_that_stay_are_found_concurrently() {
        let mut index = index(20_000);
        // Hashes that differ in few bits make long chains.
        let hash = |item: u32| Hash(item.wrapping_mul(0x9e37_79b9) & 0xff00_03ff);
        let (shared, done) = (Arc::clone(&index.shared), &AtomicU64::new(0));
        for item in 0..100 {
            assert!(index.insert(hash(item), item));
        }
        std::thread::scope(|scope| {
            let reader = scope.spawn(move || {
                while done.load(Ordering::Relaxed) == 0 {
                    for item in 0..100 {
                        let right = |found| (found == item).then_some(found);
                        assert_eq!(shared.search(hash(item), right), Some(item));
                    }
                }
            });
            for round in 0..20 {
                let items = 100..100 + 900 * (round + 1);
                assert!(items.clone().all(|item| index.insert(hash(item), item)));
                assert!(items.clone().all(|item| index.remove(hash(item), item)));
            }
            done.store(1, Ordering::Relaxed);
            reader.join().expect("everything was found");
        });
    }
}
