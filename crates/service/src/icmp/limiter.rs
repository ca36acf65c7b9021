//! How much is said: token buckets per destination and over all (RFC 1812, 4.3.2.8; RFC 4443,
//! 2.4 (f)), as `/ip/settings` `icmp-rate-limit` and `icmp-rate-mask` describe.
//!
//! A bucket is one point in time, at which it will be full again. Destinations share a table of
//! fixed size: a destination that loses its place to others begins with a full bucket, and the
//! bucket over all bounds what that can cost.

use core::net::IpAddr;

use machine::{Duration, Instant, Rng};

/// How many destinations are remembered: `SETS` times `WAYS`.
const SETS: usize = 1024;
const WAYS: usize = 4;

/// The limits in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The space between messages to one destination, in the long run; zero: no limit.
    /// RouterOS: `icmp-rate-limit`, in milliseconds.
    pub interval: Duration,
    /// How many messages to one destination may follow each other without space.
    pub burst: u32,
    /// The types that are limited per destination: bit n is type n. Types above 31 are not.
    /// RouterOS: `icmp-rate-mask`.
    pub mask: u32,
    /// The types that count for the limit over all.
    pub mask_all: u32,
    /// The space between messages over all, in the long run; zero: no limit.
    pub interval_all: Duration,
    /// How many messages over all may follow each other without space.
    pub burst_all: u32,
}

impl Rate {
    /// RouterOS's defaults: 10 ms between errors to one destination, unreachable (3), source quench
    /// (4), time exceeded (11) and parameter problem (12); over all Linux's 1,000 a second.
    pub const V4: Self = Self {
        interval: Duration::from_millis(10),
        burst: 6,
        mask: 0x1818,
        mask_all: 0x1818,
        interval_all: Duration::from_millis(1),
        burst_all: 50,
    };

    /// The example of RFC 4443, 2.4 (f): ten a second and destination. Packet too big is limited
    /// over all only, because path MTU discovery waits for it.
    pub const V6: Self = Self {
        interval: Duration::from_millis(100),
        burst: 10,
        mask: 0b1_1010,
        mask_all: 0b1_1110,
        interval_all: Duration::from_millis(1),
        burst_all: 50,
    };

    /// TCP segments in the place of others: resets of rules that reject, answers of a tarpit. As the
    /// errors of IPv4, whatever the type.
    pub const SEGMENTS: Self = Self {
        mask: u32::MAX,
        mask_all: u32::MAX,
        ..Self::V4
    };

    /// Redirects of either family, per sender (RFC 1812, 4.3.2.8; RFC 4861, 8.2): one a second after
    /// a few.
    pub const REDIRECTS: Self = Self {
        interval: Duration::from_secs(1),
        burst: 9,
        mask: u32::MAX,
        mask_all: u32::MAX,
        interval_all: Duration::from_millis(10),
        burst_all: 50,
    };
}

/// A place in the table: when the bucket of `to` is full again. Full already: as good as empty.
#[derive(Clone, Copy, Debug)]
struct Place {
    to: IpAddr,
    full: Instant,
}

/// Decides whether a message may be sent. Uses a fixed amount of memory.
#[derive(Debug)]
pub struct Limiter {
    rate: Rate,
    key: u64,
    places: Box<[[Option<Place>; WAYS]]>,
    full_all: Instant,
    limited: u64,
}

impl Limiter {
    /// A limiter whose buckets are full. `seed` keeps strangers from choosing who shares a place.
    pub fn new(rate: Rate, seed: u64) -> Self {
        Self {
            rate,
            key: Rng::seeded(seed).next_u64(),
            places: vec![[None; WAYS]; SETS].into_boxed_slice(),
            full_all: Instant::ZERO,
            limited: 0,
        }
    }

    /// Changes the limits; what was spent stays spent.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// How many messages were not admitted.
    pub fn limited(&self) -> u64 {
        self.limited
    }

    /// Whether a message of this ICMP type may go to `to`; if so, it is charged.
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
            self.remember(set, Place { to, full });
        }
        if let Some(Some(full)) = all {
            self.full_all = full;
        }
        true
    }

    /// When the bucket of `to` is full again; long ago if it is not remembered.
    fn full(&self, set: usize, to: IpAddr) -> Instant {
        let places = self.places[set].iter().flatten();
        places
            .filter(|place| place.to == to)
            .map(|place| place.full)
            .next()
            .unwrap_or(Instant::ZERO)
    }

    /// Takes the place that `to` has, or that of the bucket that is full first.
    fn remember(&mut self, set: usize, new: Place) {
        let rank = |place: &Option<Place>| match place {
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

/// When a bucket is full again after one token more is taken; `None` if it has none.
fn spend(full: Instant, interval: Duration, burst: u32, now: Instant) -> Option<Instant> {
    let full = full.max(now) + interval;
    let depth = interval.saturating_mul(burst.max(1));
    (full - now <= depth).then_some(full)
}

/// Spreads the bits of a number (splitmix64).
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

    /// How many of these messages are admitted.
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
    fn an_interval_of_zero_switches_the_limit_per_destination_off() {
        let rate = Rate {
            interval: Duration::ZERO,
            ..Rate::V4
        };
        let mut limiter = Limiter::new(rate, 1);

        assert_eq!(admitted(&mut limiter, TO, UNREACHABLE, 40, 0), 40);
    }

    #[test]
    fn one_destination_does_not_spend_what_is_for_others() {
        let mut limiter = Limiter::new(Rate::V4, 1);
        let other = IpAddr::V6(Ipv6Addr::LOCALHOST);

        assert_eq!(admitted(&mut limiter, TO, UNREACHABLE, 1_000, 0), 6);
        assert_eq!(admitted(&mut limiter, other, UNREACHABLE, 1_000, 0), 6);
    }

    #[test]
    fn a_million_destinations_get_what_the_bucket_over_all_allows() {
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
