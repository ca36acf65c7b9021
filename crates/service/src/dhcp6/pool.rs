//! IPv6 prefix pool: divides its prefix into subnets of one length and tracks their users.
//!
//! A returning user gets its former subnet as long as the pool keeps its prefix. New users get the lowest free
//! subnet.

use core::net::Ipv6Addr;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of subnets that a pool hands out.
const MOST: usize = 1 << 20;

/// User of a subnet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    /// Service that allocated the subnet.
    pub owner: &'static str,
    /// Identifies the user within the service.
    pub key: String,
}

/// Pool of IPv6 subnets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    prefix: (Ipv6Addr, u8),
    len: u8,
    used: BTreeMap<u128, User>,
    by_user: BTreeMap<User, u128>,
    /// Free subnets below `fresh`.
    free: BTreeSet<u128>,
    fresh: u128,
}

impl Pool {
    /// Creates a pool that divides the prefix of length `len` into subnets of length `piece`; `None` if length
    /// `piece` is below `len` or outside of 1 to 128.
    pub fn new(address: Ipv6Addr, len: u8, piece: u8) -> Option<Self> {
        let is_good = len <= piece && (1..=128).contains(&piece);
        is_good.then(|| Self {
            prefix: (first(address, len), len),
            len: piece,
            used: BTreeMap::new(),
            by_user: BTreeMap::new(),
            free: BTreeSet::new(),
            fresh: 0,
        })
    }

    /// Prefix of the pool.
    pub const fn prefix(&self) -> (Ipv6Addr, u8) {
        self.prefix
    }

    /// Length of the subnets.
    pub const fn piece(&self) -> u8 {
        self.len
    }

    /// Allocates a subnet for a user, preferably the user's former subnet; `None` if the pool is exhausted.
    pub fn take(&mut self, user: &User) -> Option<Ipv6Addr> {
        if let Some(index) = self.by_user.get(user) {
            return Some(self.address(*index));
        }
        if self.used.len() >= MOST {
            return None;
        }
        let index = match self.free.pop_first() {
            Some(index) => index,
            None => self.next_fresh()?,
        };
        self.give(index, user);
        Some(self.address(index))
    }

    /// Allocates this subnet if it belongs to the pool and is free, or already belongs to the user.
    pub fn take_this(&mut self, user: &User, wish: Ipv6Addr) -> bool {
        let Some(index) = self.index(wish) else {
            return false;
        };
        if let Some(own) = self.by_user.get(user) {
            return *own == index;
        }
        if self.used.contains_key(&index) || self.used.len() >= MOST {
            return false;
        }
        self.free.remove(&index);
        self.give(index, user);
        true
    }

    /// Subnet that the next `take` of this user would allocate.
    pub fn preview(&mut self, user: &User) -> Option<Ipv6Addr> {
        if let Some(index) = self.by_user.get(user) {
            return Some(self.address(*index));
        }
        if self.used.len() >= MOST {
            return None;
        }
        if let Some(index) = self.free.first() {
            return Some(self.address(*index));
        }
        while self.used.contains_key(&self.fresh) {
            self.fresh += 1;
        }
        (self.fresh < self.count()).then(|| self.address(self.fresh))
    }

    /// True if this subnet belongs to the pool and is free, or belongs to the user.
    pub fn is_available(&self, user: &User, wish: Ipv6Addr) -> bool {
        self.index(wish).is_some_and(|index| {
            match (self.by_user.get(user), self.used.get(&index)) {
                (Some(own), _) => *own == index,
                (None, taken) => taken.is_none(),
            }
        })
    }

    /// True if the address lies in the pool's prefix.
    pub fn contains(&self, address: Ipv6Addr) -> bool {
        first(address, self.prefix.1) == self.prefix.0
    }

    /// Frees the user's subnet.
    pub fn give_back(&mut self, user: &User) {
        if let Some(index) = self.by_user.remove(user) {
            self.used.remove(&index);
            if index < self.fresh {
                self.free.insert(index);
            }
        }
    }

    /// Allocated subnets with their users, in order.
    pub fn used(&self) -> impl Iterator<Item = (Ipv6Addr, &User)> {
        self.used
            .iter()
            .map(|(index, user)| (self.address(*index), user))
    }

    fn give(&mut self, index: u128, user: &User) {
        self.used.insert(index, user.clone());
        self.by_user.insert(user.clone(), index);
    }

    /// Lowest subnet that was never allocated; skips subnets that users requested explicitly.
    fn next_fresh(&mut self) -> Option<u128> {
        loop {
            let index = self.fresh;
            if index >= self.count() {
                return None;
            }
            self.fresh += 1;
            if !self.used.contains_key(&index) {
                return Some(index);
            }
        }
    }

    /// Number of subnets.
    fn count(&self) -> u128 {
        let bits = u32::from(self.len - self.prefix.1);
        1_u128.checked_shl(bits).unwrap_or(u128::MAX)
    }

    fn address(&self, index: u128) -> Ipv6Addr {
        let shifted = index.checked_shl(128 - u32::from(self.len)).unwrap_or(0);
        (self.prefix.0.to_bits() | shifted).into()
    }

    fn index(&self, address: Ipv6Addr) -> Option<u128> {
        let is_inside = first(address, self.prefix.1) == self.prefix.0;
        let is_piece = first(address, self.len) == address;
        let within = address.to_bits() & !mask(self.prefix.1);
        let shift = 128 - u32::from(self.len);
        (is_inside && is_piece).then(|| within.checked_shr(shift).unwrap_or(0))
    }
}

/// First address of the network that contains an address.
pub fn first(address: Ipv6Addr, len: u8) -> Ipv6Addr {
    (address.to_bits() & mask(len)).into()
}

/// Combines the network bits of one address with the host bits of another.
pub fn join(network: Ipv6Addr, len: u8, host: Ipv6Addr) -> Ipv6Addr {
    (network.to_bits() & mask(len) | host.to_bits() & !mask(len)).into()
}

const fn mask(len: u8) -> u128 {
    match u128::MAX.checked_shl(128 - len as u32) {
        Some(mask) => mask,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Rng;

    fn user(key: u64) -> User {
        User {
            owner: "test",
            key: key.to_string(),
        }
    }

    fn address(text: &str) -> Ipv6Addr {
        text.parse().expect("an address")
    }

    #[test]
    fn prefixes_are_assigned_lowest_first_and_kept() {
        let mut pool = Pool::new(address("2001:db8::7"), 62, 64).expect("a pool");
        let pieces: Vec<_> = (0..5).map(|key| pool.take(&user(key))).collect();
        let expected = [
            "2001:db8::",
            "2001:db8:0:1::",
            "2001:db8:0:2::",
            "2001:db8:0:3::",
        ];
        let expected: Vec<_> = expected.iter().map(|text| Some(address(text))).collect();
        assert_eq!(pieces[..4], expected);
        assert_eq!(pieces[4], None, "all are used");
        assert_eq!(pool.take(&user(2)), expected[2]);
        pool.give_back(&user(1));
        assert_eq!(pool.take(&user(9)), expected[1]);
        assert_eq!(pool.used().count(), 4);
    }

    #[test]
    fn a_prefix_hint_is_honoured_if_that_prefix_is_free() {
        let mut pool = Pool::new(address("2001:db8::"), 56, 64).expect("a pool");
        assert!(pool.take_this(&user(1), address("2001:db8:0:1::")));
        assert!(pool.take_this(&user(1), address("2001:db8:0:1::")));
        for bad in ["2001:db8:0:1::", "2001:db8:0:2::1", "2001:db8:1::", "::"] {
            assert!(!pool.take_this(&user(2), address(bad)), "{bad}");
        }
        assert_eq!(pool.take(&user(2)), Some(address("2001:db8::")));
        assert_eq!(pool.take(&user(3)), Some(address("2001:db8:0:2::")));
    }

    #[test]
    fn a_preview_names_the_subnet_that_is_allocated_next() {
        let mut pool = Pool::new(address("2001:db8::"), 62, 64).expect("a pool");
        assert!(pool.take_this(&user(1), address("2001:db8::")));
        for key in 2..5 {
            let preview = pool.preview(&user(key));
            assert_eq!(
                pool.preview(&user(key)),
                preview,
                "a preview allocates nothing"
            );
            assert_eq!(pool.take(&user(key)), preview);
        }
        assert_eq!(pool.preview(&user(9)), None, "all are used");
        pool.give_back(&user(1));
        assert!(pool.is_available(&user(9), address("2001:db8::")));
        assert!(
            !pool.is_available(&user(2), address("2001:db8::")),
            "it has another one"
        );
        assert_eq!(pool.preview(&user(9)), Some(address("2001:db8::")));
    }

    #[test]
    fn invalid_prefix_lengths_make_no_pool() {
        assert!(Pool::new(address("::"), 64, 63).is_none());
        assert!(Pool::new(address("::"), 0, 0).is_none());
        assert!(Pool::new(address("::"), 0, 129).is_none());
        let mut whole = Pool::new(address("2001:db8::5"), 128, 128).expect("a pool");
        assert_eq!(whole.take(&user(1)), Some(address("2001:db8::5")));
        assert_eq!(whole.take(&user(2)), None);
        let mut all = Pool::new(address("::"), 0, 128).expect("a pool");
        assert_eq!(all.take(&user(1)), Some(address("::")));
        assert_eq!(
            join(address("2001:db8:1::"), 64, address("::7")),
            address("2001:db8:1::7")
        );
    }

    #[test]
    fn no_prefix_is_assigned_twice() {
        for seed in 0..50 {
            let mut rng = Rng::seeded(seed);
            let mut pool = Pool::new(address("2001:db8::"), 60, 64).expect("a pool");
            let mut has: BTreeMap<u64, Ipv6Addr> = BTreeMap::new();
            for _ in 0..300 {
                let key = rng.below(24);
                match rng.below(3) {
                    0 => {
                        pool.give_back(&user(key));
                        has.remove(&key);
                    }
                    1 => {
                        let wish = pool.address(rng.below(16).into());
                        if pool.take_this(&user(key), wish) {
                            has.insert(key, wish);
                        }
                    }
                    _ => match pool.take(&user(key)) {
                        Some(piece) => drop(has.insert(key, piece)),
                        None => assert_eq!(has.len(), 16),
                    },
                }
                let pieces: BTreeSet<_> = has.values().collect();
                assert_eq!(pieces.len(), has.len(), "seed {seed}");
                assert_eq!(pool.used().count(), has.len(), "seed {seed}");
            }
        }
    }
}
