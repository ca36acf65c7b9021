//! Which addresses the prefixes of policies cover, roughly: most packets of a router with policies for a few networks
//! get the answer "none" from one read of memory.

use crate::snapshot::Prefix;

/// Cells of a family.
const CELLS: usize = 1024;
/// The leading bits of an IPv4 address that select its cell.
const CELL_BITS4: u8 = 10;
/// The leading bits of an IPv6 address that select its cell. Shorter prefixes count for every address.
const CELL_BITS6: u8 = 48;

/// A multiset of prefixes. A cell counts the prefixes that contain some address of the cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Coverage {
    ipv4: [u32; CELLS],
    ipv6: [u32; CELLS],
    /// Number of IPv6 prefixes shorter than [`CELL_BITS6`].
    wide6: u32,
}

impl Default for Coverage {
    fn default() -> Self {
        Self {
            ipv4: [0; CELLS],
            ipv6: [0; CELLS],
            wide6: 0,
        }
    }
}

impl Coverage {
    /// Adds a prefix.
    pub(super) fn add(&mut self, prefix: Prefix) {
        self.each(prefix, |count| *count += 1);
    }

    /// Removes a prefix that was added.
    pub(super) fn remove(&mut self, prefix: Prefix) {
        self.each(prefix, |count| *count = count.saturating_sub(1));
    }

    fn each(&mut self, prefix: Prefix, change: impl Fn(&mut u32)) {
        let first = prefix.masked();
        if !prefix.ipv6 {
            let cells = 1 << CELL_BITS4.saturating_sub(prefix.len);
            let first = cell4(first as u32);
            return self.ipv4[first..][..cells].iter_mut().for_each(change);
        }
        match prefix.len < CELL_BITS6 {
            true => change(&mut self.wide6),
            false => change(&mut self.ipv6[cell6(first)]),
        }
    }

    /// Returns false if no prefix contains this IPv4 address.
    #[inline(always)]
    pub(super) fn may_have4(&self, address: u32) -> bool {
        self.ipv4[cell4(address)] != 0
    }

    /// Returns false if no prefix contains this IPv6 address.
    #[inline(always)]
    pub(super) fn may_have6(&self, address: u128) -> bool {
        (self.wide6 != 0) | (self.ipv6[cell6(address)] != 0)
    }
}

/// Returns the cell of an IPv4 address.
#[inline(always)]
const fn cell4(address: u32) -> usize {
    (address >> (32 - CELL_BITS4)) as usize
}

/// Returns the cell of an IPv6 address.
#[inline(always)]
const fn cell6(address: u128) -> usize {
    let network = (address >> (128 - CELL_BITS6)) as u64;
    (network.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
}

#[cfg(test)]
mod tests {
    use machine::Rng;

    use super::*;

    fn contains(prefix: &Prefix, address: u128) -> bool {
        let of = |bits| Prefix { bits, ..*prefix }.masked();
        of(address) == of(prefix.bits)
    }

    #[test]
    fn an_address_of_a_prefix_is_covered_until_the_prefix_is_removed() {
        let mut rng = Rng::seeded(7);
        for ipv6 in [false, true] {
            let width = if ipv6 { 128 } else { 32 };
            let (mut coverage, mut all) = (Coverage::default(), Vec::new());
            for round in 0..2_000 {
                if round % 3 == 2 {
                    coverage.remove(all.swap_remove(rng.below(all.len() as u64) as usize));
                    continue;
                }
                let words = [rng.next_u64(), rng.next_u64()].map(u128::from);
                let bits = (words[0] << 64 | words[1]) >> (128 - width);
                // Few different networks, and all lengths.
                let bits = bits & !(u128::MAX >> 4 << (width - 8));
                let len = rng.below(width as u64 + 1) as u8;
                let prefix = Prefix { ipv6, bits, len };
                coverage.add(prefix);
                all.push(prefix);
                let has = |address| match ipv6 {
                    true => coverage.may_have6(address),
                    false => coverage.may_have4(address as u32),
                };
                let inside = bits
                    ^ words[1]
                        & (u128::MAX >> (128 - width))
                            .checked_shr(len.into())
                            .unwrap_or(0);
                assert!(contains(&prefix, inside) && has(inside), "{prefix:?}");
            }
            all.into_iter().for_each(|prefix| coverage.remove(prefix));
            assert_eq!(coverage, Coverage::default());
        }
    }

    #[test]
    fn addresses_far_from_all_prefixes_are_not_covered() {
        let mut coverage = Coverage::default();
        let site = Prefix {
            ipv6: false,
            bits: 0xac10_0000,
            len: 12,
        };
        coverage.add(site);

        assert!(coverage.may_have4(0xac1f_ffff));
        assert!(!coverage.may_have4(0xc0a8_0001));
        assert!(!coverage.may_have6(0xac1f_ffff));
    }
}
