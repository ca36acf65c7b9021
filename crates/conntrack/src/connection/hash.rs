//! Keyed hash of tuples for the index: an attacker cannot choose tuples that fall into one bucket.

use machine::Rng;
use packet::Tuple;

use super::layout::{Ipv4, Ipv6, Layout};

/// Hash of a tuple under the keys of a tracker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hash(pub(super) u32);

/// Secret keys of a tracker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys([u64; 5]);

impl Keys {
    pub(super) fn random(rng: &mut Rng) -> Self {
        // The top and the lowest bit are set: a multiplier with few bits would mix badly.
        Self(core::array::from_fn(|_| rng.next_u64() | 1 << 63 | 1))
    }

    /// Returns the 32-bit hash of a tuple.
    #[inline(always)]
    pub(super) fn hash(&self, tuple: &Tuple) -> Hash {
        Hash((self.wide(tuple) >> 32) as u32)
    }

    /// Returns the 64-bit hash of a tuple.
    #[inline(always)]
    pub(super) fn wide(&self, tuple: &Tuple) -> u64 {
        let keys = &self.0;
        if tuple.ipv6 {
            let [a, b, c, d, ports] = Ipv6::key(tuple);
            let addresses = fold(a ^ keys[0], b ^ keys[1]) ^ fold(c ^ keys[2], d ^ keys[3]);
            fold(addresses ^ keys[0], ports ^ keys[4])
        } else {
            let [addresses, ports] = Ipv4::key(tuple);
            fold(
                fold(addresses ^ keys[0], ports ^ keys[1]) ^ keys[2],
                keys[3],
            )
        }
    }
}

/// XORs both halves of the 128-bit product: each bit of the result depends on most bits of both factors.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use packet::protocol;

    use super::*;

    #[test]
    fn tuples_of_a_port_scan_spread_over_buckets() {
        let keys = Keys::random(&mut Rng::seeded(1));
        for ipv6 in [false, true] {
            let mut buckets = [0_u32; 1024];
            for port in 0..16_384_u16 {
                let tuple = Tuple {
                    source: 0x0a00_0001,
                    destination: 0xc000_0201 + u128::from(port & 3),
                    source_port: port,
                    destination_port: 443,
                    protocol: protocol::TCP,
                    ipv6,
                };
                buckets[keys.hash(&tuple).0 as usize % 1024] += 1;
            }

            // The mean is 16; for a random function the chance that any bucket exceeds 40 is below one in a
            // million.
            assert!(buckets.iter().all(|count| *count < 44));
        }
    }
}
