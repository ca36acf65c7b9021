//! Differences between IPv4 and IPv6 in routes: the width of an address.

use core::fmt::Debug;
use core::hash::Hash;
use core::net::{Ipv4Addr, Ipv6Addr};

/// An address family.
pub trait Family: Copy + Debug + Default + Eq + Ord + Hash + Send + Sync + 'static {
    /// Address type, ordered as numbers.
    type Addr: Copy + Debug + core::fmt::Display + Eq + Ord + Hash + Send + Sync + 'static;
    /// Bits of an address.
    const BITS: u8;
    /// Whether it is IPv6.
    const IPV6: bool;
    /// The unspecified address.
    const UNSPECIFIED: Self::Addr;

    /// Converts an address to a number; IPv4 in the low 32 bits.
    fn bits(addr: Self::Addr) -> u128;
    /// Converts a number to an address; ignores bits beyond the family's width.
    fn addr(bits: u128) -> Self::Addr;
}

/// IPv4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct V4;

/// IPv6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct V6;

impl Family for V4 {
    type Addr = Ipv4Addr;
    const BITS: u8 = 32;
    const IPV6: bool = false;
    const UNSPECIFIED: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

    fn bits(addr: Ipv4Addr) -> u128 {
        u128::from(u32::from(addr))
    }

    fn addr(bits: u128) -> Ipv4Addr {
        Ipv4Addr::from(bits as u32)
    }
}

impl Family for V6 {
    type Addr = Ipv6Addr;
    const BITS: u8 = 128;
    const IPV6: bool = true;
    const UNSPECIFIED: Ipv6Addr = Ipv6Addr::UNSPECIFIED;

    fn bits(addr: Ipv6Addr) -> u128 {
        u128::from(addr)
    }

    fn addr(bits: u128) -> Ipv6Addr {
        Ipv6Addr::from(bits)
    }
}

/// A network: first address and prefix length. Host bits are always zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Net<F: Family> {
    addr: F::Addr,
    len: u8,
}

impl<F: Family> Net<F> {
    /// Creates the network that contains `addr`; limits the prefix length to the family's width.
    pub fn new(addr: F::Addr, len: u8) -> Self {
        let len = len.min(F::BITS);
        Self {
            addr: F::addr(F::bits(addr) & Self::mask(len)),
            len,
        }
    }

    /// Creates the network of one address.
    pub fn host(addr: F::Addr) -> Self {
        Self { addr, len: F::BITS }
    }

    /// Creates the network of all addresses.
    pub fn all() -> Self {
        Self {
            addr: F::UNSPECIFIED,
            len: 0,
        }
    }

    /// Returns the first address.
    pub fn first(&self) -> F::Addr {
        self.addr
    }

    /// Returns the last address.
    pub fn last(&self) -> F::Addr {
        F::addr(F::bits(self.addr) | (Self::mask(F::BITS) & !Self::mask(self.len)))
    }

    /// Returns the length of the prefix in bits.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a prefix is never empty; its length is not a count"
    )]
    pub fn len(&self) -> u8 {
        self.len
    }

    /// Whether the network contains `addr`.
    pub fn contains(&self, addr: F::Addr) -> bool {
        F::bits(addr) & Self::mask(self.len) == F::bits(self.addr)
    }

    /// Whether the network contains all of `other`.
    pub fn covers(&self, other: &Self) -> bool {
        self.len <= other.len && self.contains(other.addr)
    }

    fn mask(len: u8) -> u128 {
        let width = u32::from(F::BITS);
        let all = u128::MAX >> (128 - width);
        let host = width - u32::from(len);
        if host >= 128 {
            0
        } else {
            (all >> host) << host
        }
    }
}

impl<F: Family> core::fmt::Display for Net<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.addr, self.len)
    }
}

impl<F: Family> Debug for Net<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_bits_are_cut_off_and_bounds_are_right() {
        let net = Net::<V4>::new(Ipv4Addr::new(10, 1, 2, 3), 22);
        assert_eq!(net.to_string(), "10.1.0.0/22");
        assert_eq!(net.last(), Ipv4Addr::new(10, 1, 3, 255));
        assert!(net.contains(Ipv4Addr::new(10, 1, 3, 1)));
        assert!(!net.contains(Ipv4Addr::new(10, 1, 4, 0)));

        assert_eq!(Net::<V4>::all().last(), Ipv4Addr::BROADCAST);
        assert_eq!(u128::from(Net::<V6>::all().last()), u128::MAX);
        assert!(Net::<V6>::all().covers(&Net::host(Ipv6Addr::LOCALHOST)));
    }
}
