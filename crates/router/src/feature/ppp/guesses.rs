//! Limit of refused logins of a caller: passwords are not guessed by thousands of sessions.

use std::collections::BTreeMap;

use machine::{Duration, Instant};

/// Time over which refusals are counted.
const INTERVAL: Duration = Duration::from_secs(60);
/// Refused logins of a caller in an interval, after which its links are closed at once.
const MAX_REFUSALS: u32 = 20;
/// Maximum number of callers with refusals; those of further callers are not counted.
const MAX_CALLERS: usize = 4096;

/// Refused logins of the current interval, by the address of the caller.
#[derive(Debug)]
pub(super) struct Guesses {
    refusals: BTreeMap<Box<str>, u32>,
    ends: Instant,
}

impl Default for Guesses {
    fn default() -> Self {
        Self {
            refusals: BTreeMap::new(),
            ends: Instant::ZERO,
        }
    }
}

impl Guesses {
    /// Counts a refused login.
    pub(super) fn note(&mut self, caller: &str) {
        if let Some(count) = self.refusals.get_mut(caller) {
            *count = count.saturating_add(1);
        } else if self.refusals.len() < MAX_CALLERS {
            self.refusals.insert(caller.into(), 1);
        }
    }

    /// Returns true if a new link of a caller is to be closed.
    pub(super) fn exceeds(&mut self, caller: &str, now: Instant) -> bool {
        if self.ends <= now {
            self.refusals.clear();
            self.ends = now + INTERVAL;
        }
        let count = self.refusals.get(caller);
        count.is_some_and(|count| *count >= MAX_REFUSALS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_with_many_refused_logins_waits_for_the_next_interval() {
        let mut guesses = Guesses::default();
        let now = Instant::from_secs(100);
        for number in 0..40 {
            assert_eq!(guesses.exceeds("10.0.0.1", now), number >= 20, "{number}");
            guesses.note("10.0.0.1");
        }
        assert!(!guesses.exceeds("10.0.0.2", now));
        assert!(!guesses.exceeds("10.0.0.1", now + INTERVAL));
    }
}
