//! `psd`: port scan detection.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use machine::Instant;
use packet::Tuple;

use crate::rule::shared::{Shared, Values};

/// Maximum number of sources per rule; a further source replaces the one that was quiet longest.
const SOURCES: usize = 1 << 14;
/// Maximum number of ports per source that are told apart; every packet to a further port counts.
const PORTS: usize = 30;
/// Index of the time of the last new port, in nanoseconds.
const LAST: usize = 0;
/// Index of the word with the round (high half) and the weight (low half).
const STATE: usize = 1;

/// `psd`: matches packets of a source that tries many ports in a short time.
///
/// The weights of a source's ports add up while a new port follows within the delay; otherwise a new round
/// begins. A packet to a new port matches if the sum reaches the threshold. A packet to a port that was
/// already tried in this round has no weight and does not match, as in netfilter's psd module.
///
/// Exact across workers: a port's slot is claimed and the weight changed by one atomic operation each, so
/// that each new port counts once, whichever worker receives it.
#[derive(Debug)]
pub struct Psd {
    threshold: u64,
    delay: Duration,
    low: u64,
    high: u64,
    sources: Shared<{ 2 + PORTS }>,
}

type Source = Values<{ 2 + PORTS }>;

impl Psd {
    /// Creates the matcher: `threshold` is the weight of a scan, `delay` the maximum pause between ports,
    /// `low` the weight of a port below 1024, `high` that of other ports.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub fn new(threshold: u16, delay: Duration, low: u16, high: u16) -> std::io::Result<Self> {
        Ok(Self {
            threshold: u64::from(threshold),
            delay,
            low: u64::from(low),
            high: u64::from(high),
            sources: Shared::new(SOURCES)?,
        })
    }

    pub(in crate::rule) fn matches(&self, tuple: &Tuple, now: Instant, commit: bool) -> bool {
        let weight = match tuple.destination_port {
            0..1024 => self.low,
            _ => self.high,
        };
        let source = tuple.source;
        let tag = self
            .sources
            .tag((source >> 64) as u64, source as u64, tuple.ipv6.into());
        let last = |values: &Source| Instant::from_nanos(values[LAST].load(Ordering::Acquire));
        let stale = |values: &Source| now.saturating_since(last(values)) > self.delay;
        if !commit {
            let known = self.sources.find(tag).filter(|values| !stale(values));
            return match known {
                Some(values) => self.would_hold(values, tuple.destination_port, weight),
                None => weight >= self.threshold,
            };
        }
        let age = |values: &Source| Some(values[LAST].load(Ordering::Relaxed));
        let begin = |values: &Source| {
            values[LAST].store(now.as_nanos(), Ordering::Release);
            self.next_round(&values[STATE]);
        };
        let Some(entered) = self.sources.enter(tag, stale, age, begin) else {
            return false;
        };
        let values = entered.values;
        let before = values[LAST].load(Ordering::Acquire);
        if now.saturating_since(Instant::from_nanos(before)) > self.delay
            && values[LAST]
                .compare_exchange(before, now.as_nanos(), Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        {
            self.next_round(&values[STATE]);
        }
        self.weigh(values, tuple.destination_port, weight, now)
    }

    /// Starts a new round, which invalidates the ports of the previous one.
    fn next_round(&self, state: &AtomicU64) {
        let step = |state: u64| Some((state >> 32).wrapping_add(1) << 32);
        let _ = state.fetch_update(Ordering::AcqRel, Ordering::Relaxed, step);
    }

    /// Returns the slot value of a port that was tried in this round; never 0.
    fn mark(round: u64, port: u16) -> u64 {
        round << 32 | 1 << 16 | u64::from(port)
    }

    fn weigh(&self, values: &Source, port: u16, weight: u64, now: Instant) -> bool {
        let round = values[STATE].load(Ordering::Acquire) >> 32;
        let mark = Self::mark(round, port);
        for place in &values[2..] {
            let claim = |old: u64| (old >> 32 != round || old == 0).then_some(mark);
            match place.fetch_update(Ordering::AcqRel, Ordering::Acquire, claim) {
                Ok(_) => break,
                Err(old) if old == mark => return false,
                Err(_) => {}
            }
        }
        values[LAST].fetch_max(now.as_nanos(), Ordering::AcqRel);
        let sum = values[STATE].fetch_add(weight, Ordering::AcqRel) as u32;
        u64::from(sum) + weight >= self.threshold
    }

    fn would_hold(&self, values: &Source, port: u16, weight: u64) -> bool {
        let state = values[STATE].load(Ordering::Acquire);
        let mark = Self::mark(state >> 32, port);
        let tried = values[2..]
            .iter()
            .any(|place| place.load(Ordering::Acquire) == mark);
        !tried && u64::from(state as u32) + weight >= self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_port(psd: &Psd, source: u128, port: u16, at: u64, commit: bool) -> bool {
        let tuple = Tuple {
            source,
            destination_port: port,
            protocol: 6,
            ..Tuple::default()
        };
        psd.matches(&tuple, Instant::from_millis(at), commit)
    }

    fn usual() -> Psd {
        Psd::new(21, Duration::from_secs(3), 3, 1).expect("address space")
    }

    #[test]
    fn seven_low_ports_count_as_a_scan() {
        let psd = usual();
        for port in 1..7 {
            assert!(!try_port(&psd, 1, port, u64::from(port) * 1000, true));
            assert!(!try_port(&psd, 1, port, u64::from(port) * 1000, true));
        }
        assert!(try_port(&psd, 1, 7, 7000, false));
        assert!(try_port(&psd, 1, 7, 7000, true));
        assert!(!try_port(&psd, 2, 8, 7000, true));
    }

    #[test]
    fn a_pause_resets_the_weight() {
        let psd = usual();
        for port in 1..7 {
            assert!(!try_port(&psd, 1, port, 0, true));
        }
        assert!(!try_port(&psd, 1, 7, 3001, false));
        for port in 1..7 {
            assert!(!try_port(&psd, 1, port, 3001, true), "{port}");
        }
        assert!(try_port(&psd, 1, 9, 3002, true));
    }

    #[test]
    fn high_ports_weigh_less_even_beyond_the_remembered_ports() {
        let psd = usual();
        let at = (2000..2100).position(|port| try_port(&psd, 1, port, 0, true));
        assert_eq!(at, Some(20));
    }

    #[test]
    fn workers_count_each_port_once() {
        let psd = Psd::new(1000, Duration::from_secs(3), 3, 1).expect("address space");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for port in 1..=20 {
                        try_port(&psd, 1, port, 0, true);
                    }
                });
            }
        });
        let weights: Vec<_> = psd.sources.rows().map(|row| row[STATE] as u32).collect();
        assert_eq!(weights, [60]);
    }
}
