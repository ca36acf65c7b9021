//! Deadlines of many machines, ordered by time.

use std::collections::{BTreeMap, BTreeSet};

use machine::Instant;

/// One deadline per key.
#[derive(Debug)]
pub struct Timers<K> {
    by_key: BTreeMap<K, Instant>,
    by_time: BTreeSet<(Instant, K)>,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self {
            by_key: BTreeMap::new(),
            by_time: BTreeSet::new(),
        }
    }
}

impl<K: Copy + Ord> Timers<K> {
    /// Sets, changes or clears the deadline of a key.
    pub fn set(&mut self, key: K, at: Option<Instant>) {
        let before = match at {
            Some(at) => self.by_key.insert(key, at),
            None => self.by_key.remove(&key),
        };
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.by_time.remove(&(before, key));
        }
        if let Some(at) = at {
            self.by_time.insert((at, key));
        }
    }

    /// The earliest deadline.
    pub fn deadline(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Removes and returns a key whose deadline has passed.
    pub fn due(&mut self, now: Instant) -> Option<K> {
        let (at, key) = *self.by_time.first()?;
        if at > now {
            return None;
        }
        self.set(key, None);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_timer_fires_first_and_only_once() {
        let mut timers = Timers::default();
        timers.set('a', Some(Instant::from_secs(5)));
        timers.set('b', Some(Instant::from_secs(3)));
        timers.set('a', Some(Instant::from_secs(2)));

        assert_eq!(timers.deadline(), Some(Instant::from_secs(2)));
        assert_eq!(timers.due(Instant::from_secs(1)), None);
        assert_eq!(timers.due(Instant::from_secs(9)), Some('a'));
        assert_eq!(timers.due(Instant::from_secs(9)), Some('b'));
        assert_eq!(timers.due(Instant::from_secs(9)), None);
    }
}
