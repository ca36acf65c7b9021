//! Matchers with state: counters and rate limits.
//!
//! The state belongs to the rule and consists of atomics that all workers share, so a limit applies to all
//! workers together. Each matcher documents why it is exact.
//!
//! With `commit` a matcher updates its state; without it only computes the result.

mod connections;
mod flows;
mod psd;
mod rate;

use core::sync::atomic::{AtomicU32, Ordering};

pub use connections::ConnectionLimit;
pub use flows::DstLimit;
pub use psd::Psd;
pub use rate::{Limit, Rate, Unit};

/// `nth`: matches one packet of every `every`.
///
/// Exact across workers: each packet increments one shared counter. RouterOS: each rule has its own counter
/// of the packets that reach the matcher.
#[derive(Debug)]
pub struct Nth {
    every: u32,
    packet: u32,
    seen: AtomicU32,
}

impl Nth {
    /// Matches packet number `packet` of every `every`, counted from 1; an `every` of 0 counts as 1.
    pub const fn new(every: u32, packet: u32) -> Self {
        Self {
            every: if every == 0 { 1 } else { every },
            packet,
            seen: AtomicU32::new(0),
        }
    }

    pub(super) fn matches(&self, commit: bool) -> bool {
        let step = |seen: u32| Some((seen + 1) % self.every);
        let seen = match commit {
            true => self
                .seen
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, step),
            false => Ok(self.seen.load(Ordering::Relaxed)),
        };
        let (Ok(seen) | Err(seen)) = seen;
        seen + 1 == self.packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nth_3_2_matches_every_third_packet() {
        let nth = Nth::new(3, 2);
        let holds: Vec<bool> = (0..6).map(|_| nth.matches(true)).collect();
        assert_eq!(holds, [false, true, false, false, true, false]);
        assert!(!nth.matches(false) && !nth.matches(false));
    }

    #[test]
    fn workers_share_the_nth_counter() {
        let nth = Nth::new(10, 4);
        let matched = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..5000 {
                        matched.fetch_add(u32::from(nth.matches(true)), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(matched.into_inner(), 1000);
    }
}
