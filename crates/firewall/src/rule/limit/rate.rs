//! Token bucket stored as one number: the time at which the bucket will be full again (virtual scheduling
//! algorithm of ITU-T I.371). Taking tokens advances that time; the bucket is empty when the time is a whole
//! burst ahead.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use machine::Instant;

/// Time units per nanosecond; the 64-bit time overflows after nine years of uptime.
const TICKS: u64 = 64;
/// Fractional bits of a unit's price: 64 bytes at 32 Gbit/s cost 1,024 time units.
const FRACTION: u32 = 16;

/// Unit of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bits of packets, from the network header on.
    Bits,
}

/// A rate with a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Units per time span, 1 to 32,000,000,000.
    pub count: u64,
    /// The time span.
    pub per: Duration,
    /// Burst after a pause in units; at least one packet passes.
    pub burst: u64,
    /// The unit.
    pub unit: Unit,
}

/// A rate in time units: price of a packet, price of a byte, and depth of the bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Price {
    packet: u128,
    byte: u128,
    depth: u64,
}

impl Price {
    pub(super) fn new(rate: &Rate) -> Self {
        let unit =
            ((rate.per.as_nanos() * u128::from(TICKS)) << FRACTION) / u128::from(rate.count.max(1));
        let depth = unit.saturating_mul(u128::from(rate.burst)) >> FRACTION;
        let (packet, byte) = match rate.unit {
            Unit::Packets => (unit, 0),
            Unit::Bits => (0, unit * 8),
        };
        Self {
            packet,
            byte,
            depth: u64::try_from(depth).unwrap_or(u64::MAX),
        }
    }

    /// Takes the price of a packet of `len` bytes; returns false if the bucket has too few tokens. Exact
    /// across workers: if two workers take at once, one of them retries with the remaining tokens.
    pub(super) fn take(&self, full_at: &AtomicU64, len: u32, now: Instant, commit: bool) -> bool {
        let now = now.as_nanos().saturating_mul(TICKS);
        let cost = (self.packet + self.byte * u128::from(len)) >> FRACTION;
        let cost = u64::try_from(cost).unwrap_or(u64::MAX);
        let step = |full: u64| {
            let after = full.max(now).saturating_add(cost);
            // RouterOS: behaviour with a burst below one packet is unknown; here one packet passes.
            (after - now <= self.depth.max(cost)).then_some(after)
        };
        match commit {
            true => full_at
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, step)
                .is_ok(),
            false => step(full_at.load(Ordering::Relaxed)).is_some(),
        }
    }
}

/// `limit`: matches while the rate is kept.
///
/// Exact across workers: they share one bucket. RouterOS fills the bucket every 10 ms, this implementation
/// continuously.
#[derive(Debug)]
pub struct Limit {
    price: Price,
    full_at: AtomicU64,
}

impl Limit {
    /// Creates a full bucket.
    pub fn new(rate: Rate) -> Self {
        Self {
            price: Price::new(&rate),
            full_at: AtomicU64::new(0),
        }
    }

    pub(in crate::rule) fn matches(&self, len: u32, now: Instant, commit: bool) -> bool {
        self.price.take(&self.full_at, len, now, commit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(count: u64, burst: u64, unit: Unit) -> Rate {
        Rate {
            count,
            per: Duration::from_secs(1),
            burst,
            unit,
        }
    }

    fn passed(limit: &Limit, millis: core::ops::Range<u64>) -> usize {
        let times = millis.map(Instant::from_millis);
        times.filter(|now| limit.matches(100, *now, true)).count()
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let limit = Limit::new(rate(10, 5, Unit::Packets));
        assert_eq!(passed(&limit, 1000..1001), 1);
        assert_eq!(passed(&limit, 1000..2000), 4 + 9);
        assert_eq!(passed(&limit, 9000..9005), 5);
    }

    #[test]
    fn bits_are_counted_by_the_length_of_packets() {
        // 8,000 bit/s are ten packets of 100 bytes per second.
        let limit = Limit::new(rate(8000, 1600, Unit::Bits));
        assert_eq!(passed(&limit, 0..1000), 2 + 9);
        let fast = Limit::new(rate(32_000_000_000, 800, Unit::Bits));
        let times = (0..1000).map(Instant::from_nanos);
        assert_eq!(
            times.filter(|now| fast.matches(100, *now, true)).count(),
            40
        );
    }

    #[test]
    fn a_check_consumes_no_tokens() {
        let limit = Limit::new(rate(1, 1, Unit::Packets));
        assert!((0..9).all(|_| limit.matches(60, Instant::ZERO, false)));
        assert!(limit.matches(60, Instant::ZERO, true) && !limit.matches(60, Instant::ZERO, false));
    }

    #[test]
    fn workers_share_one_bucket() {
        let limit = Limit::new(rate(1, 1000, Unit::Packets));
        let sum = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let some = (0..900).filter(|_| limit.matches(60, Instant::ZERO, true));
                    sum.fetch_add(some.count() as u64, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(sum.into_inner(), 1000);
    }
}
