//! DNS cache with a memory limit and SIEVE eviction: one use bit per answer and a hand that moves from old to new
//! answers and evicts the first one without the bit. Names queried once do not displace names that are queried often.

use std::collections::HashMap;
use std::sync::Arc;

use machine::Instant;

use super::question::Key;
use super::stored::Stored;

/// Overhead of an entry in bytes: index and list.
const OVERHEAD: usize = 96;
/// End of the list.
const END: u32 = u32::MAX;
/// Maximum number of answers checked for expiry in one round.
const LOOKS: usize = 1024;

/// Cache of answers.
#[derive(Debug)]
pub(super) struct Cache {
    index: HashMap<Arc<[u8]>, u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Ends of the list: newest and oldest entry.
    newest: u32,
    oldest: u32,
    /// Next candidate for eviction.
    hand: u32,
    used: usize,
    most: usize,
    /// Start of the next expiry round.
    look: usize,
}

#[derive(Debug)]
struct Slot {
    key: Arc<[u8]>,
    stored: Option<Stored>,
    visited: bool,
    newer: u32,
    older: u32,
}

impl Cache {
    /// Creates an empty cache that holds at most `most` bytes.
    pub(super) fn new(most: usize) -> Self {
        Self {
            index: HashMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            newest: END,
            oldest: END,
            hand: END,
            used: 0,
            most,
            look: 0,
        }
    }

    /// Used memory in bytes.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Number of answers.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// Changes the memory limit and evicts what exceeds it.
    pub(super) fn set_most(&mut self, most: usize) {
        self.most = most;
        while self.used > self.most && self.evict() {}
    }

    /// Returns the unexpired answer to a query.
    pub(super) fn find(&mut self, key: &[u8], now: Instant) -> Option<&Stored> {
        let at = *self.index.get(key)?;
        let slot = self.slots.get_mut(at as usize)?;
        if slot
            .stored
            .as_ref()
            .is_none_or(|stored| stored.until <= now)
        {
            self.remove(at);
            return None;
        }
        slot.visited = true;
        self.slots.get(at as usize)?.stored.as_ref()
    }

    /// Stores an answer in place of an older one. Ignores answers that exceed the whole cache.
    pub(super) fn put(&mut self, key: &Key, stored: Stored) {
        let key: Arc<[u8]> = key.as_bytes().into();
        if let Some(at) = self.index.get(&key) {
            self.remove(*at);
        }
        let cost = cost(&key, &stored);
        if cost > self.most {
            return;
        }
        while self.used + cost > self.most && self.evict() {}
        let slot = Slot {
            key: Arc::clone(&key),
            stored: Some(stored),
            visited: false,
            newer: END,
            older: self.newest,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                // An entry has more than 100 bytes, so there are fewer than 2^32.
                (self.slots.len() - 1) as u32
            }
        };
        match self.slots.get_mut(self.newest as usize) {
            Some(newest) => newest.newer = at,
            None => self.oldest = at,
        }
        self.newest = at;
        self.used += cost;
        self.index.insert(key, at);
    }

    /// Removes all answers.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.most);
    }

    /// Removes cached failures.
    pub(super) fn forget_failures(&mut self) {
        let failed = |slot: &Slot| {
            let stored = slot.stored.as_ref();
            stored.is_some_and(|stored| stored.code == super::flight::FAILURE)
        };
        for at in 0..self.slots.len() {
            if failed(&self.slots[at]) {
                self.remove(at as u32);
            }
        }
    }

    /// Checks a part of the entries and removes expired ones.
    pub(super) fn tidy(&mut self, now: Instant) {
        for _ in 0..LOOKS.min(self.slots.len()) {
            self.look = (self.look + 1) % self.slots.len();
            let stored = self.slots[self.look].stored.as_ref();
            if stored.is_some_and(|stored| stored.until <= now) {
                self.remove(self.look as u32);
            }
        }
    }

    /// All queries with unexpired answers.
    pub(super) fn iter(&self, now: Instant) -> impl Iterator<Item = (Key, &Stored)> {
        self.slots.iter().filter_map(move |slot| {
            let stored = slot.stored.as_ref().filter(|stored| stored.until > now)?;
            let (name, rest) = slot.key.split_at(slot.key.len().checked_sub(3)?);
            let kind = u16::from_be_bytes([rest[0], rest[1]]);
            Some((Key::new(name, kind, rest[2] != 0)?, stored))
        })
    }

    /// Evicts one answer; returns false if the cache is empty.
    fn evict(&mut self) -> bool {
        let mut at = self.hand;
        // Two rounds suffice: the first one clears the use bits.
        for _ in 0..=2 * self.slots.len() {
            if at == END {
                at = self.oldest;
            }
            let Some(slot) = self.slots.get_mut(at as usize) else {
                return false;
            };
            let newer = slot.newer;
            if !core::mem::take(&mut slot.visited) {
                self.hand = newer;
                self.remove(at);
                return true;
            }
            at = newer;
        }
        false
    }

    fn remove(&mut self, at: u32) {
        let Some(slot) = self.slots.get_mut(at as usize) else {
            return;
        };
        let Some(stored) = slot.stored.take() else {
            return;
        };
        let (newer, older) = (slot.newer, slot.older);
        let key = core::mem::replace(&mut slot.key, Arc::from([]));
        self.used -= cost(&key, &stored);
        self.index.remove(&key);
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
        if self.hand == at {
            self.hand = newer;
        }
        self.free.push(at);
    }
}

fn cost(key: &[u8], stored: &Stored) -> usize {
    OVERHEAD + key.len() + stored.size()
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::collections::BTreeMap;

    use machine::Rng;

    use super::*;

    fn key(number: u64) -> Key {
        let name = format!("{number:06}");
        let wire = [&[6], name.as_bytes(), &[0]].concat();
        Key::new(&wire, 1, false).expect("a name")
    }

    fn answer(size: usize, now: Instant, seconds: u64) -> Stored {
        let mut stored = Stored::empty(0);
        stored.body = vec![0; size].into();
        stored.made(now, Duration::from_secs(seconds))
    }

    #[test]
    fn the_cache_holds_the_latest_unexpired_entries_that_fit() {
        for seed in 0..20 {
            let mut rng = Rng::seeded(seed);
            let mut cache = Cache::new(20_000);
            let mut model = BTreeMap::new();
            let mut now = Instant::ZERO;
            for _ in 0..4000 {
                let number = rng.below(200);
                match rng.below(10) {
                    0..4 => {
                        let stored = answer(rng.below(300) as usize, now, 1 + rng.below(50));
                        cache.put(&key(number), stored.clone());
                        model.insert(number, stored);
                    }
                    4..9 => {
                        let found = cache.find(key(number).as_bytes(), now);
                        let known = model.get(&number).filter(|known| known.until > now);
                        // An entry may have been evicted, but never changed.
                        assert!(found.is_none() || found == known, "seed {seed}");
                    }
                    _ => now += Duration::from_secs(rng.below(5)),
                }
                cache.tidy(now);
                assert!(cache.used() <= 20_000, "seed {seed}");
                let all = cache
                    .iter(now)
                    .map(|(key, stored)| cost(key.as_bytes(), stored));
                assert_eq!(all.sum::<usize>(), cache.used(), "seed {seed}");
                assert_eq!(cache.iter(now).count(), cache.len(), "seed {seed}");
            }
        }
    }

    #[test]
    fn names_queried_once_do_not_evict_popular_names() {
        let now = Instant::ZERO;
        let one = cost(key(0).as_bytes(), &answer(100, now, 60));
        let mut cache = Cache::new(100 * one);
        for number in 0..50 {
            cache.put(&key(number), answer(100, now, 60));
        }
        for number in 1000..3000 {
            for often in 0..50 {
                cache.find(key(often).as_bytes(), now);
            }
            cache.put(&key(number), answer(100, now, 60));
        }

        let kept = (0..50).filter(|often| cache.find(key(*often).as_bytes(), now).is_some());
        assert_eq!((kept.count(), cache.len()), (50, 100));
    }
}
