//! Limit of discovery packets per link address: a fixed number of counters, selected by a keyed hash, that start again
//! each second. Addresses that share a counter share its limit.

use machine::{Instant, Rng};
use wire::Mac;

/// Number of counters; a power of two.
const COUNTERS: usize = 1 << 15;
/// Packets of a counter in one second.
const PER_SECOND: u16 = 50;

/// Packets of a second.
#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    /// Low bits of the second.
    second: u16,
    count: u16,
}

/// Counters of all addresses.
#[derive(Debug)]
pub(super) struct Limiter {
    key: u64,
    /// Empty before the first packet.
    counters: Vec<Counter>,
}

impl Limiter {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self {
            key: rng.next_u64(),
            counters: Vec::new(),
        }
    }

    /// Counts a packet of an address on a port. Returns false if the packet exceeds the limit.
    pub(super) fn admit(&mut self, port: u64, from: Mac, now: Instant) -> bool {
        if self.counters.is_empty() {
            self.counters.resize(COUNTERS, Counter::default());
        }
        let [a, b, c, d, e, f] = from.0;
        let name = u64::from_be_bytes([0, 0, a, b, c, d, e, f]) ^ port.rotate_left(48);
        // A finalizer of MurmurHash3 around the key: neighbouring addresses get unrelated counters.
        let mut hash = (name ^ self.key).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33) ^ self.key.rotate_left(32)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        let slot = (hash >> 40) as usize % COUNTERS;
        let second = (now.as_nanos() / 1_000_000_000) as u16;
        let Some(counter) = self.counters.get_mut(slot) else {
            return true;
        };
        if counter.second != second {
            *counter = Counter { second, count: 0 };
        }
        counter.count = counter.count.saturating_add(1);
        counter.count <= PER_SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_is_limited_and_the_others_are_not() {
        let mut limiter = Limiter::new(&mut Rng::seeded(1));
        let now = Instant::from_secs(5);
        let flooder = Mac([2, 0, 0, 0, 0, 1]);
        let admitted = (0..10_000)
            .filter(|_| limiter.admit(1, flooder, now))
            .count();
        assert_eq!(admitted, usize::from(PER_SECOND));

        let others = (0..1000u16).map(|at| Mac([2, 1, 0, 0, (at >> 8) as u8, at as u8]));
        let refused = others.filter(|mac| !limiter.admit(1, *mac, now)).count();
        assert!(refused <= 2, "{refused} share the counter of the flooder");
        assert!(limiter.admit(1, flooder, Instant::from_secs(6)));
    }
}
