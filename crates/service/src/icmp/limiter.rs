//! Rate limits for ICMP: token buckets per destination and in total (RFC 1812, 4.3.2.8; RFC 4443, 2.4 (f)), as
//! `icmp-rate-limit` and `icmp-rate-mask` of `/ip/settings` configure them.
//!
//! A bucket is stored as the time of its next full level. Destinations share a table of fixed size. An evicted
//! destination starts with a full bucket again; the total bucket bounds the effect.

use core::net::IpAddr;

use machine::{Duration, Instant, Rng};

/// Size of the destination table: `SETS` times `WAYS`.
const SETS: usize = 1024;
const WAYS: usize = 4;

/// Rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Mean interval between messages to one destination; zero is unlimited. RouterOS: `icmp-rate-limit`, in
    /// milliseconds.
    pub interval: Duration,
    /// Burst of messages to one destination.
    pub burst: u32,
    /// Types with a limit per destination: bit n is type n. Types above 31 are unlimited. RouterOS: `icmp-rate-mask`.
    pub mask: u32,
    /// Types that count for the total limit.
    pub mask_all: u32,
    /// Mean interval between messages in total; zero is unlimited.
    pub interval_all: Duration,
    /// Burst of messages in total.
    pub burst_all: u32,
}

impl Rate {
    /// RouterOS's defaults: 10 ms between errors to one destination, for unreachable (3), source quench (4), time
    /// exceeded (11) and parameter problem (12); in total 1,000 a second as in Linux.
    pub const V4: Self = Self {
        interval: Duration::from_millis(10),
        burst: 6,
        mask: 0x1818,
        mask_all: 0x1818,
        interval_all: Duration::from_millis(1),
        burst_all: 50,
    };

    /// Example of RFC 4443, 2.4 (f): ten messages a second per destination. Packet too big has only the total limit,
    /// because path MTU discovery depends on it.
    pub const V6: Self = Self {
        interval: Duration::from_millis(100),
        burst: 10,
        mask: 0b1_1010,
        mask_all: 0b1_1110,
        interval_all: Duration::from_millis(1),
        burst_all: 50,
    };

    /// TCP segments that the router sends itself: resets of reject rules, answers of a tarpit. The limits of ICMPv4
    /// errors, for all types.
    pub const SEGMENTS: Self = Self {
        mask: u32::MAX,
        mask_all: u32::MAX,
        ..Self::V4
    };

    /// Redirects of both families, per sender (RFC 1812, 4.3.2.8; RFC 4861, 8.2): one a second after a short burst.
    pub const REDIRECTS: Self = Self {
        interval: Duration::from_secs(1),
        burst: 9,
        mask: u32::MAX,
        mask_all: u32::MAX,
        interval_all: Duration::from_millis(10),
        burst_all: 50,
    };
}

/// Table entry: time at which the bucket of `to` is full again. A full bucket may be replaced.
#[derive(Clone, Copy, Debug)]
struct Slot {
    to: IpAddr,
    full: Instant,
}

/// Decides whether a message may be sent. Uses a fixed amount of memory.
#[derive(Debug)]
pub struct Limiter {
    rate: Rate,
    key: u64,
    places: Box<[[Option<Slot>; WAYS]]>,
    full_all: Instant,
    limited: u64,
}

impl Limiter {
    /// Creates a limiter with full buckets. `seed` makes the table's hash unpredictable.
    pub fn new(rate: Rate, seed: u64) -> Self {
        Self {
            rate,
            key: Rng::seeded(seed).next_u64(),
            places: vec![[None; WAYS]; SETS].into_boxed_slice(),
            full_all: Instant::ZERO,
            limited: 0,
        }
    }

    /// Changes the limits; buckets keep their levels.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// Number of messages that were not admitted.
    pub fn limited(&self) -> u64 {
        self.limited
    }

    /// Returns true and takes a token if a message of this ICMP type may be sent to `to`.
    pub fn admit(&mut self, to: IpAddr, kind: u8, now: Instant) -> bool {
        let bit = 1u32.checked_shl(kind.into()).unwrap_or(0);
        let set = self.set(to);
        let each = (self.rate.mask & bit != 0 && !self.rate.interval.is_zero()).then(|| {
            let full = self.full(set, to);
            spend(full, self.rate.interval, self.rate.burst, now)
        });
        let all = (self.rate.mask_all & bit != 0 && !self.rate.interval_all.is_zero()).then(|| {
            spend(
                self.full_all,
                self.rate.interval_all,
                self.rate.burst_all,
                now,
            )
        });
        if each == Some(None) || all == Some(None) {
            self.limited += 1;
            return false;
        }
        if let Some(Some(full)) = each {
            self.remember(set, Slot { to, full });
        }
        if let Some(Some(full)) = all {
            self.full_all = full;
        }
        true
    }

    /// Time at which the bucket of `to` is full again; a past time if the table has no entry.
    fn full(&self, set: usize, to: IpAddr) -> Instant {
        let places = self.places[set].iter().flatten();
        places
            .filter(|place| place.to == to)
            .map(|place| place.full)
            .next()
            .unwrap_or(Instant::ZERO)
    }

    /// Stores the bucket in the entry of `to`, or replaces the bucket that is full first.
    fn remember(&mut self, set: usize, new: Slot) {
        let rank = |place: &Option<Slot>| match place {
            Some(place) if place.to == new.to => (0, Instant::ZERO),
            None => (1, Instant::ZERO),
            Some(place) => (2, place.full),
        };
        if let Some(place) = self.places[set].iter_mut().min_by_key(|place| rank(place)) {
            *place = Some(new);
        }
    }

    fn set(&self, to: IpAddr) -> usize {
        let bits = match to {
            IpAddr::V4(to) => u128::from(to.to_bits()),
            IpAddr::V6(to) => to.to_bits(),
        };
        let mixed = mix(mix(self.key ^ bits as u64) ^ (bits >> 64) as u64);
        mixed as usize % SETS
    }
}

/// Time at which the bucket is full again after taking a token; `None` if it is empty.
fn spend(full: Instant, interval: Duration, burst: u32, now: Instant) -> Option<Instant> {
    let full = full.max(now) + interval;
    let depth = interval.saturating_mul(burst.max(1));
    (full - now <= depth).then_some(full)
}

/// Bit mixer (splitmix64).
fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    const TO: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const UNREACHABLE: u8 = 3;

    /// Number of admitted messages.
    fn admitted(limiter: &mut Limiter, to: IpAddr, kind: u8, times: u64, step_ms: u64) -> usize {
        (0..times)
            .filter(|n| limiter.admit(to, kind, Instant::from_millis(1_000 + n * step_ms)))
            .count()
    }

    #[test]
    fn a_burst_passes_and_then_one_per_interval() {
        let mut limiter = Limiter::new(Rate::V4, 1);

        assert_eq!(admitted(&mut limiter, TO, UNREACHABLE, 1_000, 1), 6 + 99);
        assert_eq!(limiter.limited(), 1_000 - 105);
    }

    #[test]
    fn types_outside_the_mask_are_not_limited() {
        let mut limiter = Limiter::new(Rate::V4, 1);

        assert_eq!(admitted(&mut limiter, TO, 0, 1_000, 0), 1_000);
        assert_eq!(admitted(&mut limiter, TO, 200, 1_000, 0), 1_000);
    }

    #[test]
    fn interval_zero_disables_the_limit_per_destination() {
        let rate = Rate {
            interval: Duration::ZERO,
            ..Rate::V4
        };
        let mut limiter = Limiter::new(rate, 1);

        assert_eq!(admitted(&mut limiter, TO, UNREACHABLE, 40, 0), 40);
    }

    #[test]
    fn one_destination_does_not_use_the_budget_of_others() {
        let mut limiter = Limiter::new(Rate::V4, 1);
        let other = IpAddr::V6(Ipv6Addr::LOCALHOST);

        assert_eq!(admitted(&mut limiter, TO, UNREACHABLE, 1_000, 0), 6);
        assert_eq!(admitted(&mut limiter, other, UNREACHABLE, 1_000, 0), 6);
    }

    #[test]
    fn a_million_destinations_share_the_global_bucket() {
        let mut limiter = Limiter::new(Rate::V4, 1);
        let now = Instant::from_secs(9);

        let sent = (0..1_000_000u32)
            .filter(|&n| limiter.admit(Ipv4Addr::from_bits(n).into(), UNREACHABLE, now))
            .count();

        assert_eq!(sent, 50);
    }

    #[test]
    fn a_bucket_allows_what_a_counting_model_allows() {
        // The model counts tokens in nanoseconds of credit.
        for seed in 0..200 {
            let mut rng = Rng::seeded(seed);
            let interval = 1 + rng.below(1_000);
            let burst = 1 + rng.below(10) as u32;
            let capacity = interval * u64::from(burst);
            let (mut credit, mut last, mut full) = (capacity, 0, Instant::ZERO);
            let mut now = 0;
            for _ in 0..500 {
                now += rng.below(2 * interval);
                credit = (credit + now - last).min(capacity);
                last = now;
                let expected = credit >= interval;
                credit -= if expected { interval } else { 0 };

                let interval = Duration::from_nanos(interval);
                let next = spend(full, interval, burst, Instant::from_nanos(now));
                full = next.unwrap_or(full);

                assert_eq!(next.is_some(), expected, "seed {seed}");
            }
        }
    }
}
