//! Value sets of matchers: address ranges, address types, interface classes.

/// Inclusive address range; IPv4 in the low 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddressRange {
    /// The lowest address.
    pub first: u128,
    /// The highest address; below `first` if the range is empty.
    pub last: u128,
}

impl AddressRange {
    /// Returns the range of a prefix: addresses that begin with `len` bits of `bits`. `width` is 32 or 128.
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

    /// Returns true if the range contains the address.
    #[inline(always)]
    pub const fn has(&self, address: u128) -> bool {
        self.first <= address && address <= self.last
    }
}

/// RouterOS: `src-address-type`, `dst-address-type`: classification of an address by the routing table, as a
/// bit set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressTypes(pub u8);

impl AddressTypes {
    /// A single remote host.
    pub const UNICAST: Self = Self(1);
    /// An address of this router.
    pub const LOCAL: Self = Self(2);
    /// The broadcast address of a connected network.
    pub const BROADCAST: Self = Self(4);
    /// A multicast group.
    pub const MULTICAST: Self = Self(8);
    /// Dropped by a blackhole route.
    pub const BLACKHOLE: Self = Self(16);
    /// The subnet-router anycast address (RFC 4291, 2.6.1). IPv6 only.
    pub const ANYCAST: Self = Self(32);
    /// Rejected by an unreachable route. IPv6 only.
    pub const UNREACHABLE: Self = Self(64);

    /// Returns true if the sets have a bit in common.
    #[inline(always)]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Class of interfaces that rules do not distinguish. Every interface named by a rule has its own class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u16);

impl Class {
    /// No interface.
    pub const NONE: Self = Self(0);
}

/// A set of interface classes: an interface list, or a word such as `all-ethernet` or `all-ppp`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassSet {
    /// The members in ascending order.
    classes: Box<[Class]>,
    /// Bit mask of the members.
    bits: Box<[u64]>,
}

impl ClassSet {
    /// Returns true if the set contains the class; false for [`Class::NONE`].
    #[inline(always)]
    pub fn has(&self, class: Class) -> bool {
        let place = usize::from(class.0);
        let word = self.bits.get(place / 64).copied().unwrap_or_default();
        word >> (place % 64) & 1 != 0
    }

    /// Returns the members in ascending order.
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
    fn the_absent_interface_is_in_no_set() {
        let set: ClassSet = [0, 3, 70].map(Class).into_iter().collect();
        assert!(!set.has(Class::NONE) && !set.has(Class(700)));
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 70].map(Class));
    }
}
