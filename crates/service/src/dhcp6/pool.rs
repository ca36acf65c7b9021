//! Prefixes to give out: a pool cuts its prefix into pieces of one length, and knows who has which.
//!
//! Who comes again gets the same piece as long as the pool has the same prefix. A new one is the lowest that is free.

use core::net::Ipv6Addr;
use std::collections::{BTreeMap, BTreeSet};

/// Most pieces that a pool gives out.
const MOST: usize = 1 << 20;

/// Who has a piece.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    /// The service that gave it out.
    pub owner: &'static str,
    /// Tells the user from others of that service.
    pub key: String,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    prefix: (Ipv6Addr, u8),
    len: u8,
    used: BTreeMap<u128, User>,
    by_user: BTreeMap<User, u128>,
    /// Pieces below `fresh` that nobody has.
    free: BTreeSet<u128>,
    fresh: u128,
}

impl Pool {
    /// A pool of this prefix, whose pieces are this long; none if they are longer than it, or no prefixes.
    pub fn new((address, len): (Ipv6Addr, u8), piece: u8) -> Option<Self> {
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

    /// Its prefix.
    pub const fn prefix(&self) -> (Ipv6Addr, u8) {
        self.prefix
    }

    /// The length of its pieces.
    pub const fn piece(&self) -> u8 {
        self.len
    }

    /// The piece of a user, the same as before if there is one; none when all are used.
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

    /// Gives a user this piece, if it is one and free, or the user's already.
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

    /// A user gives its piece back.
    pub fn give_back(&mut self, user: &User) {
        if let Some(index) = self.by_user.remove(user) {
            self.used.remove(&index);
            if index < self.fresh {
                self.free.insert(index);
            }
        }
    }

    /// Who has which piece, in order.
    pub fn used(&self) -> impl Iterator<Item = (Ipv6Addr, &User)> {
        self.used
            .iter()
            .map(|(index, user)| (self.address(*index), user))
    }

    fn give(&mut self, index: u128, user: &User) {
        self.used.insert(index, user.clone());
        self.by_user.insert(user.clone(), index);
    }

    /// The lowest piece that nobody has had; those that somebody wished for are passed over.
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

    /// How many pieces there are.
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

/// The first address of the network that an address is in.
pub fn first(address: Ipv6Addr, len: u8) -> Ipv6Addr {
    (address.to_bits() & mask(len)).into()
}

/// The address of a network whose bits behind it are those of another address.
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
    fn pieces_are_given_from_the_lowest_and_kept() {
        let mut pool = Pool::new((address("2001:db8::7"), 62), 64).expect("a pool");
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
    fn a_wish_is_met_if_it_is_a_free_piece() {
        let mut pool = Pool::new((address("2001:db8::"), 56), 64).expect("a pool");
        assert!(pool.take_this(&user(1), address("2001:db8:0:1::")));
        assert!(pool.take_this(&user(1), address("2001:db8:0:1::")));
        for bad in ["2001:db8:0:1::", "2001:db8:0:2::1", "2001:db8:1::", "::"] {
            assert!(!pool.take_this(&user(2), address(bad)), "{bad}");
        }
        assert_eq!(pool.take(&user(2)), Some(address("2001:db8::")));
        assert_eq!(pool.take(&user(3)), Some(address("2001:db8:0:2::")));
    }

    #[test]
    fn lengths_that_make_no_pieces_are_no_pool() {
        assert!(Pool::new((address("::"), 64), 63).is_none());
        assert!(Pool::new((address("::"), 0), 0).is_none());
        assert!(Pool::new((address("::"), 0), 129).is_none());
        let mut whole = Pool::new((address("2001:db8::5"), 128), 128).expect("a pool");
        assert_eq!(whole.take(&user(1)), Some(address("2001:db8::5")));
        assert_eq!(whole.take(&user(2)), None);
        let mut all = Pool::new((address("::"), 0), 128).expect("a pool");
        assert_eq!(all.take(&user(1)), Some(address("::")));
        assert_eq!(
            join(address("2001:db8:1::"), 64, address("::7")),
            address("2001:db8:1::7")
        );
    }

    #[test]
    fn nobody_shares_a_piece_whatever_is_asked_for() {
        for seed in 0..50 {
            let mut rng = Rng::seeded(seed);
            let mut pool = Pool::new((address("2001:db8::"), 60), 64).expect("a pool");
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
