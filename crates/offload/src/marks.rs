//! Tracks the objects that shortcuts depend on, so that a change of other objects keeps all shortcuts.
//!
//! A table of hashes contains the latest generation in which a shortcut was installed that depends on an
//! object with that hash. Entries are never removed: invalidating all shortcuts starts a new generation.

use std::sync::atomic::{AtomicU32, Ordering};

use frame::shortcut::{AddressPair, Dependency, Shortcut};

/// Number of hash values, as a power of two: 256 KB.
const BITS: u32 = 16;

/// Generation of the last dependency, by hash of the object.
#[derive(Debug)]
pub(crate) struct Marks {
    seed: u64,
    generations: Box<[AtomicU32]>,
}

impl Marks {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            generations: (0..1 << BITS).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Records the dependencies of a shortcut before it is installed.
    pub(crate) fn note(&self, generation: u32, shortcut: &Shortcut) {
        let rewrite = shortcut
            .connection
            .and_then(|connection| connection.rewrite);
        let after = rewrite.map(|rewrite| rewrite.between);
        for AddressPair {
            source,
            destination,
            ipv6,
        } in [Some(shortcut.between), after].into_iter().flatten()
        {
            self.record(generation, address(source, ipv6));
            self.record(generation, address(destination, ipv6));
        }
        let lane = &shortcut.lane;
        self.record(generation, link(lane.egress.0, &lane.link));
    }

    /// Returns true if a shortcut of this generation may depend on the object.
    pub(crate) fn may_bear(&self, generation: u32, footing: &Dependency) -> bool {
        let what = match footing {
            Dependency::Link { egress, link: of } => link(egress.0, of),
            Dependency::Network { first, len, ipv6 } => {
                // Recorded are single IPv4 addresses, and IPv6 networks of 64 bits.
                if *len < if *ipv6 { 64 } else { 32 } {
                    return true;
                }
                address(*first, *ipv6)
            }
        };
        self.place(what).load(Ordering::SeqCst) == generation
    }

    fn record(&self, generation: u32, what: u128) {
        self.place(what).store(generation, Ordering::Relaxed);
    }

    fn place(&self, what: u128) -> &AtomicU32 {
        let (high, low) = ((what >> 64) as u64, what as u64);
        let mixed = (high ^ self.seed)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(32)
            ^ low;
        let hash = (mixed ^ self.seed).wrapping_mul(0xa076_1d64_78bd_642f);
        &self.generations[(hash >> (u64::BITS - BITS)) as usize % (1 << BITS)]
    }
}

/// Returns the recorded key of an address.
fn address(bits: u128, ipv6: bool) -> u128 {
    match ipv6 {
        true => bits >> 64,
        false => 1 << 127 | bits,
    }
}

/// Returns the recorded key of a next hop.
fn link(egress: u32, link: &[u8; 12]) -> u128 {
    let fold = |all: u128, byte: &u8| all << 8 | u128::from(*byte);
    1 << 126 | u128::from(egress) << 96 | link.iter().fold(0, fold)
}
