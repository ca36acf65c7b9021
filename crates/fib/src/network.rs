//! Addresses and prefixes, the keys of routes.

use core::fmt::Debug;

use kernels::{Lanes, Line};

use super::line::{FORMATS4, FORMATS6, LineFormat, RangeMatch, find8, find16, find32};

/// An address as a number: IPv4 with 32 bits (`u32`), IPv6 with 128 bits (`u128`).
#[expect(private_bounds, reason = "how a family is laid out is not for others")]
pub trait Address: Layout + Copy + Ord + Debug + Default + Send + Sync + 'static {
    /// Number of bits.
    const BITS: u8;

    /// Returns the address with all but the first `len` bits cleared; `len` is at most [`Self::BITS`].
    fn truncate(self, len: u8) -> Self;

    /// Returns the 64 bits after the first `depth`, padded with zeros.
    fn key(self, depth: u8) -> u64;

    /// Returns the 32 bits after the first `depth`, padded with zeros.
    #[inline]
    fn window(self, depth: u8) -> u32 {
        (self.key(depth) >> 32) as u32
    }
}

/// Layout of a family's routes.
pub(super) trait Layout {
    /// The formats of lines, by number.
    const FORMATS: &'static [LineFormat];
    /// Depth at which the root's 16 bits begin.
    const SHORT_DEPTH: u8;
    /// An address that the root covers.
    const WITHIN: Self;
    /// Depth at which the root's bits end.
    const ROOT_DEPTH: u8 = Self::SHORT_DEPTH + 16;
    /// True if routes to single addresses are found by hash.
    const HASHES_HOSTS: bool;
    /// True if a line may lead to further lines and splits.
    const NESTED: bool;

    /// Converts the address to 128 bits.
    fn wide(self) -> u128;

    /// Converts 128 bits to an address.
    fn narrow(wide: u128) -> Self;

    /// Returns the first 32 bits.
    fn top(self) -> u32;

    /// Returns the first 32 bits of 16 addresses.
    fn tops<L: Lanes>(lanes: L, addresses: &[Self; 16]) -> [u32; 16]
    where
        Self: Sized;

    /// Returns the root's slot for the first 32 bits of an address; `None` if the root does not cover it.
    fn slot_of(top: u32) -> Option<u32>;

    /// Returns the root's slot of this address; `None` if the root does not cover it.
    #[inline(always)]
    fn root(self) -> Option<u32>
    where
        Self: Sized,
    {
        Self::slot_of(self.top())
    }

    /// Returns the 32 bits after the root's depth.
    fn below_root(self) -> u32;

    /// Searches a line of a format that begins at quarter `at` of a cache line.
    fn find<L: Lanes>(lanes: L, line: &Line, at: u32, format: u32, key: Key<Self>) -> RangeMatch
    where
        Self: Sized;
}

/// Search key of a destination in lines: the 64 bits after a depth. Few lines compare more than the first 32
/// bits, so the remaining bits are computed on demand.
#[derive(Clone, Copy)]
pub(super) struct Key<A> {
    first: u32,
    address: A,
    depth: u8,
}

impl<A: Address> Key<A> {
    /// Creates the key at the depth at which the root ends for an address.
    #[inline(always)]
    pub(super) fn at_root(address: A) -> Self {
        let (first, depth) = match address.root() {
            Some(_) => (address.below_root(), A::ROOT_DEPTH),
            None => (address.window(0), 0),
        };
        Self {
            first,
            address,
            depth,
        }
    }

    #[inline(always)]
    pub(super) fn behind(depth: u8, address: A) -> Self {
        Self {
            first: address.window(depth),
            address,
            depth,
        }
    }

    /// Returns the first 32 bits.
    #[inline(always)]
    pub(super) fn first(self) -> u32 {
        self.first
    }

    #[inline(always)]
    fn whole(self) -> u64 {
        self.address.key(self.depth)
    }
}

impl Layout for u32 {
    const FORMATS: &'static [LineFormat] = &FORMATS4;
    const SHORT_DEPTH: u8 = 0;
    const WITHIN: Self = 0;
    const HASHES_HOSTS: bool = false;
    const NESTED: bool = false;

    #[inline(always)]
    fn wide(self) -> u128 {
        self.into()
    }

    #[inline(always)]
    fn narrow(wide: u128) -> Self {
        wide as Self
    }

    #[inline(always)]
    fn top(self) -> u32 {
        self
    }

    #[inline(always)]
    fn tops<L: Lanes>(_lanes: L, addresses: &[Self; 16]) -> [u32; 16] {
        *addresses
    }

    #[inline(always)]
    fn slot_of(top: u32) -> Option<u32> {
        Some(top >> 16)
    }

    #[inline(always)]
    fn below_root(self) -> u32 {
        self << 16
    }

    #[inline(always)]
    fn find<L: Lanes>(lanes: L, line: &Line, at: u32, format: u32, key: Key<Self>) -> RangeMatch {
        if format < 3 {
            find8(lanes, line, at, format, key.first())
        } else {
            find16(lanes, line, at, format, key.first())
        }
    }
}

impl Layout for u128 {
    const FORMATS: &'static [LineFormat] = &FORMATS6;
    const SHORT_DEPTH: u8 = 3;
    const WITHIN: Self = 0x2000 << 112;
    const HASHES_HOSTS: bool = true;
    const NESTED: bool = true;

    #[inline(always)]
    fn wide(self) -> u128 {
        self
    }

    #[inline(always)]
    fn narrow(wide: u128) -> Self {
        wide
    }

    #[inline(always)]
    fn top(self) -> u32 {
        (self >> 96) as u32
    }

    #[inline(always)]
    fn tops<L: Lanes>(lanes: L, addresses: &[Self; 16]) -> [u32; 16] {
        lanes.tops(addresses)
    }

    #[inline(always)]
    fn slot_of(top: u32) -> Option<u32> {
        // 2000::/3, from which all global unicast addresses are assigned (RFC 4291, 2.4).
        (top >> 29 == 1).then_some(top >> 13 & 0xffff)
    }

    #[inline(always)]
    fn below_root(self) -> u32 {
        (self >> 77) as u32
    }

    #[inline(always)]
    fn find<L: Lanes>(lanes: L, line: &Line, at: u32, format: u32, key: Key<Self>) -> RangeMatch {
        if format < 3 {
            find8(lanes, line, at, format, key.first())
        } else {
            find32(lanes, line, at, format, key.first(), || key.whole())
        }
    }
}

impl Address for u32 {
    const BITS: u8 = 32;

    #[inline]
    fn truncate(self, len: u8) -> Self {
        self & !Self::MAX.checked_shr(Self::from(len)).unwrap_or(0)
    }

    #[inline]
    fn key(self, depth: u8) -> u64 {
        let key = u64::from(self) << 32;
        key.checked_shl(Self::from(depth)).unwrap_or(0)
    }
}

impl Address for u128 {
    const BITS: u8 = 128;

    #[inline]
    fn truncate(self, len: u8) -> Self {
        self & !Self::MAX.checked_shr(u32::from(len)).unwrap_or(0)
    }

    #[inline]
    fn key(self, depth: u8) -> u64 {
        (self.checked_shl(u32::from(depth)).unwrap_or(0) >> 64) as u64
    }
}

/// A network: an address and a prefix length; the bits after the prefix are zero.
///
/// The order is that of a walk over the prefix tree: by address, a shorter prefix before the longer ones that
/// it contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network<A> {
    bits: A,
    len: u8,
}

impl<A: Address> Network<A> {
    /// Creates the network of length `len` that contains `address`; `len` is limited to the address's number
    /// of bits.
    #[inline]
    pub fn new(address: A, len: u8) -> Self {
        let len = len.min(A::BITS);
        Self {
            bits: address.truncate(len),
            len,
        }
    }

    /// Returns the first address.
    #[inline]
    pub fn bits(self) -> A {
        self.bits
    }

    /// Returns the prefix length in bits.
    #[inline]
    pub fn len(self) -> u8 {
        self.len
    }

    /// Returns true for the network of all addresses.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns true if the network contains `address`.
    #[inline]
    pub fn contains(self, address: A) -> bool {
        address.truncate(self.len) == self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_after_the_prefix_are_ignored() {
        let network = Network::new(0xc0a8_58ff_u32, 24);

        assert_eq!(network, Network::new(0xc0a8_5801, 24));
        assert_eq!(network.bits(), 0xc0a8_5800);
        assert!(network.contains(0xc0a8_5877) && !network.contains(0xc0a8_5977));
        assert!(Network::new(7_u32, 0).contains(u32::MAX));
        assert_eq!(Network::new(7_u128, 255).len(), 128);
    }

    #[test]
    fn a_key_window_is_padded_with_zeros() {
        assert_eq!(0x0102_0304_u32.window(24), 0x0400_0000);
        assert_eq!(0x0102_0304_u32.window(32), 0);
        assert_eq!((0xabcd_u128).window(112), 0xabcd_0000);
        assert_eq!((0xabcd_u128 << 64).window(64), 0);
        assert_eq!((1_u128 << 127).window(0), 1 << 31);
    }
}
