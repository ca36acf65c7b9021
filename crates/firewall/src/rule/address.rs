//! Sets that matchers compare with: address ranges, kinds of addresses, classes of interfaces.

/// Addresses from `first` to `last`, both included; IPv4 in the low 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddressRange {
    /// The lowest.
    pub first: u128,
    /// The highest; an empty range has it below `first`.
    pub last: u128,
}

impl AddressRange {
    /// The addresses that begin with `len` bits of `bits`; `width` is 32 or 128.
    pub const fn prefix(bits: u128, len: u8, width: u8) -> Self {
        let host = match width.saturating_sub(len) {
            0 => 0,
            128.. => u128::MAX,
            free => (1 << free) - 1,
        };
        Self {
            first: bits & !host,
            last: bits | host,
        }
    }

    /// Whether the address lies in it.
    #[inline(always)]
    pub const fn has(&self, address: u128) -> bool {
        self.first <= address && address <= self.last
    }
}

/// RouterOS: `src-address-type`, `dst-address-type`: what the routing table says of an address, as a
/// set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressTypes(pub u8);

impl AddressTypes {
    /// Of one station elsewhere.
    pub const UNICAST: Self = Self(1);
    /// Of this router.
    pub const LOCAL: Self = Self(2);
    /// Of all stations of a connected network.
    pub const BROADCAST: Self = Self(4);
    /// Of a group.
    pub const MULTICAST: Self = Self(8);
    /// Routed to nowhere.
    pub const BLACKHOLE: Self = Self(16);
    /// The address of routers on a link (RFC 4291, 2.6.1). IPv6 only.
    pub const ANYCAST: Self = Self(32);
    /// Refused by a route. IPv6 only.
    pub const UNREACHABLE: Self = Self(64);

    /// Whether the sets have a bit in common.
    #[inline(always)]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A class of interfaces: those that rules cannot tell from each other. An interface that a rule names alone is a
/// class by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u16);

impl Class {
    /// Of no interface.
    pub const NONE: Self = Self(0);
}

/// A set of classes of interfaces: an interface list, or one of the words `all-ethernet`, `all-ppp` and the like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassSet {
    /// The members, ascending.
    classes: Box<[Class]>,
    /// A bit for each.
    bits: Box<[u64]>,
}

impl ClassSet {
    /// Whether the class is in the set; none (0) never is.
    #[inline(always)]
    pub fn has(&self, class: Class) -> bool {
        let place = usize::from(class.0);
        let word = self.bits.get(place / 64).copied().unwrap_or_default();
        word >> (place % 64) & 1 != 0
    }

    /// Its members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Class> {
        self.classes.iter().copied()
    }
}

impl FromIterator<Class> for ClassSet {
    fn from_iter<I: IntoIterator<Item = Class>>(classes: I) -> Self {
        let classes = classes.into_iter().filter(|class| *class != Class::NONE);
        let mut classes: Vec<_> = classes.collect();
        classes.sort_unstable();
        classes.dedup();
        let last = classes.last().map(|last| usize::from(last.0));
        let mut bits = vec![0_u64; last.map_or(0, |last| last / 64 + 1)];
        for class in &classes {
            bits[usize::from(class.0) / 64] |= 1 << (class.0 % 64);
        }
        Self {
            classes: classes.into(),
            bits: bits.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_the_range_of_its_addresses() {
        let ten = AddressRange::prefix(0x0a01_0203, 8, 32);
        assert_eq!((ten.first, ten.last), (0x0a00_0000, 0x0aff_ffff));
        let one = AddressRange::prefix(7, 128, 128);
        assert_eq!((one.first, one.last), (7, 7));
        assert!(AddressRange::prefix(5, 0, 128).has(u128::MAX));
    }

    #[test]
    fn no_interface_is_in_no_set() {
        let set: ClassSet = [0, 3, 70].map(Class).into_iter().collect();
        assert!(!set.has(Class::NONE) && !set.has(Class(700)));
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 70].map(Class));
    }
}
