//! Matchers that remember: how many packets, of whom, in what time.
//!
//! What they remember hangs on the rule and is made of atomics: all workers share it, and a limit is
//! one limit however many workers there are. Each says how that is exact.
//!
//! A matcher is asked with `commit`, and then takes its token; or without, and only tells what it
//! would say.

mod connections;
mod flows;
mod psd;
mod rate;

use core::sync::atomic::{AtomicU32, Ordering};

pub use connections::ConnectionLimit;
pub use flows::DstLimit;
pub use psd::Psd;
pub use rate::{Limit, Rate, Unit};

/// `nth`: one packet of each `every`.
///
/// Exact over workers: one counter, which each packet moves by one step.
/// RouterOS: each rule counts by itself, the packets that reach the matcher.
#[derive(Debug)]
pub struct Nth {
    every: u32,
    packet: u32,
    seen: AtomicU32,
}

impl Nth {
    /// The `packet`th of each `every`, both from 1 on; an `every` of 0 counts as 1.
    pub const fn new(every: u32, packet: u32) -> Self {
        Self {
            every: if every == 0 { 1 } else { every },
            packet,
            seen: AtomicU32::new(0),
        }
    }

    pub(super) fn holds(&self, commit: bool) -> bool {
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
    fn one_of_each_three_packets_is_the_second() {
        let nth = Nth::new(3, 2);
        let holds: Vec<bool> = (0..6).map(|_| nth.holds(true)).collect();
        assert_eq!(holds, [false, true, false, false, true, false]);
        assert!(!nth.holds(false) && !nth.holds(false));
    }

    #[test]
    fn workers_count_together() {
        let nth = Nth::new(10, 4);
        let matched = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..5000 {
                        matched.fetch_add(u32::from(nth.holds(true)), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(matched.into_inner(), 1000);
    }
}
