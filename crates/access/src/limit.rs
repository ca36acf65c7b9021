//! Rate limit of login attempts: a token bucket per key.
//!
//! An attempt takes a token before it starts and returns it on success, so that concurrent attempts count, too.
//! Without tokens an attempt waits. The table is bounded; the oldest key is forgotten first.

use std::collections::{BTreeMap, VecDeque};

use machine::{Duration, Instant};

/// Maximum number of keys.
const KEYS: usize = 4_096;

/// Token bucket: `burst` tokens, one more after each `refill`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) burst: u32,
    pub(crate) refill: Duration,
}

/// Attempts by key.
#[derive(Debug)]
pub(crate) struct Limiter<K> {
    tries: BTreeMap<K, Tries>,
    order: VecDeque<K>,
}

#[derive(Clone, Copy, Debug)]
struct Tries {
    used: u32,
    /// Time of the last refill.
    since: Instant,
}

impl<K> Default for Limiter<K> {
    fn default() -> Self {
        Self {
            tries: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<K: Ord + Clone> Limiter<K> {
    /// Takes a token and returns the time at which the attempt may start; `None` if the wait exceeds `patience`.
    pub(crate) fn take(
        &mut self,
        key: &K,
        limit: Limit,
        patience: Duration,
        now: Instant,
    ) -> Option<Instant> {
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
        let tries = self.tries.entry(key.clone()).or_insert(fresh);
        tries.rest(limit.refill, now);
        let begins = match (tries.used + 1).saturating_sub(limit.burst) {
            0 => now,
            ahead => tries.since + limit.refill * ahead,
        };
        if begins > now + patience {
            return None;
        }
        tries.used += 1;
        Some(begins)
    }

    /// Returns a token.
    pub(crate) fn give_back(&mut self, key: &K) {
        if let Some(tries) = self.tries.get_mut(key) {
            tries.used = tries.used.saturating_sub(1);
        }
    }
}

impl Tries {
    /// Adds the tokens that were refilled since.
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
    const THREE: Limit = Limit {
        burst: 3,
        refill: SECOND,
    };

    #[test]
    fn login_attempts_are_limited_and_replenished() {
        let mut limiter = Limiter::default();
        let at = Instant::from_secs;
        let mut take = |key, now| limiter.take(&key, THREE, SECOND * 2, at(now));

        let first: Vec<_> = (0..6).map(|_| take("a", 10)).collect();

        let times = [10, 10, 10, 11, 12].map(|second| Some(at(second)));
        assert_eq!(first[..5], times);
        assert_eq!(first[5], None, "it would wait for too long");
        assert_eq!(take("b", 10), Some(at(10)), "another key has its own");
        assert_eq!(take("a", 13), Some(at(13)));
        assert_eq!(take("a", 13), Some(at(14)));
        limiter.give_back(&"a");
        assert_eq!(limiter.take(&"a", THREE, SECOND, at(13)), Some(at(14)));
    }

    #[test]
    fn the_table_is_bounded() {
        let mut limiter = Limiter::default();
        let now = Instant::from_secs(1);
        let one = Limit {
            burst: 1,
            refill: SECOND,
        };

        for key in 0..2 * KEYS {
            assert!(limiter.take(&key, one, Duration::ZERO, now).is_some());
        }

        assert_eq!((limiter.tries.len(), limiter.order.len()), (KEYS, KEYS));
        let newest = 2 * KEYS - 1;
        assert!(
            limiter.take(&newest, one, Duration::ZERO, now).is_none(),
            "the newest is known"
        );
    }
}
