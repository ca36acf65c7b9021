//! How often somebody may try: a bucket of tries that fills again with time, for each key.
//!
//! A try is taken when it begins and given back when it succeeds, so that tries at the same time
//! are counted, too. The table is bounded: the key that came first is forgotten first.

use std::collections::{BTreeMap, VecDeque};

use machine::{Duration, Instant};

/// Keys that are remembered.
const KEYS: usize = 4_096;

/// Tries by key.
#[derive(Debug)]
pub(crate) struct Limiter<K> {
    burst: u32,
    refill: Duration,
    tries: BTreeMap<K, Tries>,
    order: VecDeque<K>,
}

#[derive(Clone, Copy, Debug)]
struct Tries {
    used: u32,
    /// When the last of them was given back by time.
    since: Instant,
}

impl<K: Ord + Clone> Limiter<K> {
    /// A limit of `burst` tries at once, and one more after each `refill`.
    pub(crate) fn new(burst: u32, refill: Duration) -> Self {
        let (tries, order) = (BTreeMap::new(), VecDeque::new());
        Self {
            burst,
            refill,
            tries,
            order,
        }
    }

    /// Takes a try, if there is one.
    pub(crate) fn take(&mut self, key: &K, now: Instant) -> bool {
        let fresh = Tries {
            used: 0,
            since: now,
        };
        if !self.tries.contains_key(key) {
            if self.order.len() >= KEYS
                && let Some(oldest) = self.order.pop_front()
            {
                self.tries.remove(&oldest);
            }
            self.order.push_back(key.clone());
        }
        let (burst, refill) = (self.burst, self.refill);
        let tries = self.tries.entry(key.clone()).or_insert(fresh);
        tries.rest(refill, now);
        if tries.used >= burst {
            return false;
        }
        tries.used += 1;
        true
    }

    /// Gives a try back.
    pub(crate) fn give_back(&mut self, key: &K) {
        if let Some(tries) = self.tries.get_mut(key) {
            tries.used = tries.used.saturating_sub(1);
        }
    }
}

impl Tries {
    /// Gives back what time gives back.
    fn rest(&mut self, refill: Duration, now: Instant) {
        let passed = now.saturating_since(self.since).as_nanos();
        let rested = passed / refill.as_nanos().max(1);
        let given = u32::try_from(rested).unwrap_or(u32::MAX).min(self.used);
        self.used -= given;
        self.since = match self.used {
            0 => now,
            _ => self.since + refill * given,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn tries_run_out_and_come_back_with_time() {
        let mut limiter = Limiter::new(3, SECOND);
        let at = |seconds| Instant::from_secs(seconds);

        let first: Vec<_> = (0..4).map(|_| limiter.take(&"a", at(10))).collect();

        assert_eq!(first, [true, true, true, false]);
        assert!(limiter.take(&"b", at(10)), "another key has its own");
        assert!(limiter.take(&"a", at(11)));
        assert!(!limiter.take(&"a", at(11)));
        limiter.give_back(&"a");
        assert!(limiter.take(&"a", at(11)));
    }

    #[test]
    fn the_table_is_bounded() {
        let mut limiter = Limiter::new(1, SECOND);
        let now = Instant::from_secs(1);

        for key in 0..2 * KEYS {
            assert!(limiter.take(&key, now));
        }

        assert_eq!((limiter.tries.len(), limiter.order.len()), (KEYS, KEYS));
        assert!(!limiter.take(&(2 * KEYS - 1), now), "the newest is known");
    }
}
