//! A token bucket in one number: the time at which it will be full again (the virtual scheduling
//! algorithm of ITU-T I.371). Taking a token moves that time; a bucket is empty when it lies the
//! whole burst ahead.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use machine::Instant;

/// Parts of a nanosecond that buckets are counted in; a router runs nine years before they overflow.
const TICKS: u64 = 64;
/// Bits behind the point of a unit's price: 64 bytes at 32 Gbit/s are 1,024 ticks.
const FRACTION: u32 = 16;

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bits of packets from the network header on.
    Bits,
}

/// A rate with a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many in each span, 1 to 32,000,000,000.
    pub count: u64,
    /// The span.
    pub per: Duration,
    /// How many at once after a pause; at least one packet passes.
    pub burst: u64,
    /// Of what.
    pub unit: Unit,
}

/// A rate, as buckets use it: what a packet or byte costs, and the depth, in ticks.
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

    /// Takes what a packet of `len` bytes costs; whether there was enough. Exact over workers: of
    /// two who take at once, one tries again with what the other left.
    pub(super) fn take(&self, full_at: &AtomicU64, len: u32, now: Instant, commit: bool) -> bool {
        let now = now.as_nanos().saturating_mul(TICKS);
        let cost = (self.packet + self.byte * u128::from(len)) >> FRACTION;
        let cost = u64::try_from(cost).unwrap_or(u64::MAX);
        let step = |full: u64| {
            let after = full.max(now).saturating_add(cost);
            // RouterOS: what a burst below one packet does is not known; here one passes.
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

/// `limit`: holds as long as the rate is kept.
///
/// Exact over workers: there is one bucket. RouterOS fills it every 10 ms, this one all the time.
#[derive(Debug)]
pub struct Limit {
    price: Price,
    full_at: AtomicU64,
}

impl Limit {
    /// A full bucket.
    pub fn new(rate: Rate) -> Self {
        Self {
            price: Price::new(&rate),
            full_at: AtomicU64::new(0),
        }
    }

    pub(in crate::rule) fn holds(&self, len: u32, now: Instant, commit: bool) -> bool {
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
        times.filter(|now| limit.holds(100, *now, true)).count()
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
        // 8,000 bits a second are ten packets of 100 bytes.
        let limit = Limit::new(rate(8000, 1600, Unit::Bits));
        assert_eq!(passed(&limit, 0..1000), 2 + 9);
        let fast = Limit::new(rate(32_000_000_000, 800, Unit::Bits));
        let times = (0..1000).map(Instant::from_nanos);
        assert_eq!(times.filter(|now| fast.holds(100, *now, true)).count(), 40);
    }

    #[test]
    fn asking_takes_nothing() {
        let limit = Limit::new(rate(1, 1, Unit::Packets));
        assert!((0..9).all(|_| limit.holds(60, Instant::ZERO, false)));
        assert!(limit.holds(60, Instant::ZERO, true) && !limit.holds(60, Instant::ZERO, false));
    }

    #[test]
    fn workers_take_from_one_bucket() {
        let limit = Limit::new(rate(1, 1000, Unit::Packets));
        let sum = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let some = (0..900).filter(|_| limit.holds(60, Instant::ZERO, true));
                    sum.fetch_add(some.count() as u64, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(sum.into_inner(), 1000);
    }
}
