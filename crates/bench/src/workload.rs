//! Synthetic routing tables and traffic for benchmarks and scale tests, reproducible by their seed.
//!
//! Prefix lengths are mixed as in a full table of the Internet. Prefixes are drawn evenly from the
//! whole space, which is harder on caches than the Internet's.

use std::collections::BTreeSet;

use machine::Rng;

use dataplane::table::{Address, Network};

/// An address family with synthetic tables.
pub trait Family: Address {
    /// Prefix lengths, with their share in 1,000.
    const MIX: &'static [(u8, u16)];

    /// Returns a random address in the space of networks.
    fn random(rng: &mut Rng) -> Self;

    /// Returns a random address in `network`.
    fn random_in(network: Network<Self>, rng: &mut Rng) -> Self;
}

impl Family for u32 {
    const MIX: &'static [(u8, u16)] = &[
        (24, 598),
        (23, 100),
        (22, 110),
        (21, 50),
        (20, 44),
        (19, 26),
        (18, 14),
        (17, 8),
        (16, 38),
        (15, 2),
        (14, 1),
        (13, 1),
        (12, 1),
        (11, 1),
        (25, 1),
        (28, 1),
        (29, 1),
        (30, 1),
        (32, 2),
    ];

    fn random(rng: &mut Rng) -> Self {
        loop {
            let address = rng.next_u32();
            // 0/8, 127/8 and everything from 224/4 on belong to no network (RFC 6890).
            if !matches!(address >> 24, 0 | 127 | 224..) {
                return address;
            }
        }
    }

    fn random_in(network: Network<Self>, rng: &mut Rng) -> Self {
        let host = Self::MAX.checked_shr(network.len().into()).unwrap_or(0);
        network.bits() | (rng.next_u32() & host)
    }
}

impl Family for u128 {
    const MIX: &'static [(u8, u16)] = &[
        (48, 455),
        (32, 150),
        (44, 95),
        (40, 80),
        (36, 50),
        (46, 40),
        (47, 30),
        (29, 30),
        (45, 20),
        (42, 20),
        (33, 10),
        (34, 5),
        (35, 5),
        (28, 4),
        (24, 1),
        (20, 1),
        (64, 4),
    ];

    fn random(rng: &mut Rng) -> Self {
        let bits = (Self::from(rng.next_u64()) << 64) | Self::from(rng.next_u64());
        // 2000::/3: all global addresses (RFC 4291, 2.4).
        (bits >> 3) | (1 << 125)
    }

    fn random_in(network: Network<Self>, rng: &mut Rng) -> Self {
        let bits = (Self::from(rng.next_u64()) << 64) | Self::from(rng.next_u64());
        let host = Self::MAX.checked_shr(network.len().into()).unwrap_or(0);
        network.bits() | (bits & host)
    }
}

/// Returns `count` different networks in random order. IPv4 has at most a few million.
pub fn networks<A: Family>(count: usize, seed: u64) -> Vec<Network<A>> {
    let mut rng = Rng::seeded(seed);
    let mut seen = BTreeSet::new();
    let mut networks = Vec::with_capacity(count);
    while networks.len() < count {
        let network = Network::new(A::random(&mut rng), length::<A>(&mut rng));
        if seen.insert(network) {
            networks.push(network);
        }
    }
    networks
}

/// Returns `count` addresses, each in a random network.
pub fn destinations<A: Family>(networks: &[Network<A>], count: usize, seed: u64) -> Vec<A> {
    let mut rng = Rng::seeded(seed);
    (0..count)
        .map(|_| {
            let network = networks[rng.below(networks.len() as u64) as usize];
            A::random_in(network, &mut rng)
        })
        .collect()
}

fn length<A: Family>(rng: &mut Rng) -> u8 {
    let total = A::MIX.iter().map(|(_, share)| u64::from(*share)).sum();
    let mut draw = rng.below(total);
    for (len, share) in A::MIX {
        match draw.checked_sub(u64::from(*share)) {
            Some(rest) => draw = rest,
            None => return *len,
        }
    }
    A::BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_table_is_reproducible_and_has_the_prefix_mix() {
        let networks4 = networks::<u32>(20_000, 7);
        let networks6 = networks::<u128>(20_000, 7);
        let share = |len, lens: Vec<u8>| lens.iter().filter(|l| **l == len).count() / 200;

        assert_eq!(networks4, networks::<u32>(20_000, 7));
        assert_ne!(networks4, networks::<u32>(20_000, 8));
        assert!((57..63).contains(&share(24, networks4.iter().map(|n| n.len()).collect())));
        assert!((43..48).contains(&share(48, networks6.iter().map(|n| n.len()).collect())));
    }

    #[test]
    fn destinations_are_in_the_networks_of_the_table() {
        let networks = networks::<u128>(3, 1);

        let all = destinations(&networks, 100, 2);

        assert!(all.iter().all(|a| networks.iter().any(|n| n.contains(*a))));
    }
}
