//! IPv6 prefix pools by name (`/ipv6/pool`), shared by all services that assign prefixes or addresses.

use core::net::Ipv6Addr;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machine::Instant;

use super::pool::{Pool, User};

/// Ends of the preferred and of the valid lifetime of a pool's prefix; `None` is infinite.
pub type Lifetimes = (Option<Instant>, Option<Instant>);

/// Definition of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// First address and length of the pool's prefix.
    pub prefix: (Ipv6Addr, u8),
    /// Length of the subnets that the pool assigns.
    pub len: u8,
    /// Lifetimes of the prefix, which limit those of its subnets.
    pub until: Lifetimes,
}

/// A subnet in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedSubnet {
    /// Name of the pool.
    pub pool: Box<str>,
    /// First address and length of the subnet.
    pub subnet: (Ipv6Addr, u8),
    /// Service that allocated the subnet.
    pub owner: &'static str,
    /// Description of the user.
    pub info: Box<str>,
}

/// Handle of all pools. Clones share the pools.
#[derive(Clone, Debug, Default)]
pub struct Pools(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    pools: BTreeMap<Box<str>, NamedPool>,
    version: u64,
}

#[derive(Debug)]
struct NamedPool {
    pool: Pool,
    until: Lifetimes,
    /// Description of each user.
    info: BTreeMap<User, Box<str>>,
}

impl NamedPool {
    /// Notes the description of a user, and returns the subnet with its length.
    fn note(&mut self, user: &User, info: &str, subnet: Ipv6Addr) -> (Ipv6Addr, u8) {
        if self.info.get(user).is_none_or(|before| &**before != info) {
            self.info.insert(user.clone(), info.into());
        }
        (subnet, self.pool.piece())
    }
}

impl Pools {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds, changes or removes a pool. Returns true if its prefix or the length of its subnets changed: then its users
    /// have lost their subnets.
    pub fn set(&self, name: &str, definition: Option<&Definition>) -> bool {
        let mut table = self.lock();
        let until = definition.map_or((None, None), |of| of.until);
        let wanted = definition.and_then(|of| Pool::new(of.prefix.0, of.prefix.1, of.len));
        let key = |pool: &Pool| (pool.prefix(), pool.piece());
        let before = table.pools.get_mut(name);
        if before.as_deref().map(|of| key(&of.pool)) == wanted.as_ref().map(key) {
            if let Some(before) = before {
                before.until = until;
            }
            return false;
        }
        table.version += 1;
        match wanted {
            Some(pool) => {
                let info = BTreeMap::new();
                let pool = NamedPool { pool, until, info };
                table.pools.insert(name.into(), pool);
            }
            None => _ = table.pools.remove(name),
        }
        true
    }

    /// Number that changes whenever users of a pool lose their subnets.
    pub fn version(&self) -> u64 {
        self.lock().version
    }

    /// True if the pool exists.
    pub fn has(&self, pool: &str) -> bool {
        self.lock().pools.contains_key(pool)
    }

    /// True if the address lies in the pool's prefix.
    pub fn contains(&self, pool: &str, address: Ipv6Addr) -> bool {
        let table = self.lock();
        table
            .pools
            .get(pool)
            .is_some_and(|of| of.pool.contains(address))
    }

    /// Lifetimes of the pool's prefix; `None` without the pool.
    pub fn until(&self, pool: &str) -> Option<Lifetimes> {
        self.lock().pools.get(pool).map(|of| of.until)
    }

    /// Returns the user's subnet and its length; without an allocation, allocates the wished subnet or,
    /// if that is taken, a free subnet. `None` if the pool does not exist or is exhausted.
    pub fn allocate(
        &self,
        pool: &str,
        user: &User,
        info: &str,
        wish: Option<Ipv6Addr>,
    ) -> Option<(Ipv6Addr, u8)> {
        let mut table = self.lock();
        let of = table.pools.get_mut(pool)?;
        let wish = wish.filter(|wish| of.pool.take_this(user, *wish));
        let subnet = wish.or_else(|| of.pool.take(user))?;
        Some(of.note(user, info, subnet))
    }

    /// Returns the subnet that [`Self::allocate`] would return now.
    pub fn preview(
        &self,
        pool: &str,
        user: &User,
        wish: Option<Ipv6Addr>,
    ) -> Option<(Ipv6Addr, u8)> {
        let mut table = self.lock();
        let of = table.pools.get_mut(pool)?;
        let wish = wish.filter(|wish| of.pool.is_available(user, *wish));
        let subnet = wish.or_else(|| of.pool.preview(user))?;
        Some((subnet, of.pool.piece()))
    }

    /// Allocates exactly this subnet. Returns false if it is no subnet of the pool or belongs to another user.
    pub fn reserve(&self, pool: &str, user: &User, info: &str, subnet: (Ipv6Addr, u8)) -> bool {
        let mut table = self.lock();
        let Some(of) = table.pools.get_mut(pool) else {
            return false;
        };
        let is_its = of.pool.piece() == subnet.1 && of.pool.take_this(user, subnet.0);
        if is_its {
            of.note(user, info, subnet.0);
        }
        is_its
    }

    /// Returns the first pool whose subnets have the length of this prefix and whose range contains the prefix.
    pub fn pool_of(&self, subnet: (Ipv6Addr, u8)) -> Option<Box<str>> {
        let table = self.lock();
        let mut pools = table.pools.iter();
        let fits = |of: &NamedPool| of.pool.piece() == subnet.1 && of.pool.contains(subnet.0);
        pools.find(|(_, of)| fits(of)).map(|(name, _)| name.clone())
    }

    /// Frees the user's subnet.
    pub fn release(&self, pool: &str, user: &User) {
        if let Some(of) = self.lock().pools.get_mut(pool) {
            of.pool.give_back(user);
            of.info.remove(user);
        }
    }

    /// Returns all subnets in use.
    pub fn used(&self) -> Vec<UsedSubnet> {
        let table = self.lock();
        let used = table.pools.iter().flat_map(|(name, of)| {
            of.pool.used().map(move |(first, user)| UsedSubnet {
                pool: name.clone(),
                subnet: (first, of.pool.piece()),
                owner: user.owner,
                info: of.info.get(user).cloned().unwrap_or_default(),
            })
        });
        used.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_lose_their_subnets_only_with_the_prefix_of_the_pool() {
        let pools = Pools::default();
        let mut definition = Definition {
            prefix: ("2001:db8::".parse().expect("an address"), 56),
            len: 64,
            until: (None, None),
        };
        assert!(pools.set("isp", Some(&definition)));
        let user = User {
            owner: "test",
            key: "1".into(),
        };
        let wish = "2001:db8:0:7::".parse().ok();
        let subnet = pools.allocate("isp", &user, "anna", wish).expect("room");
        assert_eq!(Some(subnet.0), wish);
        let version = pools.version();
        definition.until = (Some(Instant::ZERO), None);
        assert!(!pools.set("isp", Some(&definition)));
        assert_eq!(pools.until("isp"), Some(definition.until));
        assert_eq!(pools.version(), version);
        assert_eq!(&*pools.used()[0].info, "anna");

        definition.prefix.1 = 48;
        assert!(pools.set("isp", Some(&definition)));
        assert_ne!(pools.version(), version);
        assert!(pools.used().is_empty());
        assert!(pools.reserve("isp", &user, "anna", subnet));
        assert!(!pools.reserve("isp", &user, "anna", (subnet.0, 60)));
        pools.release("isp", &user);
        assert!(pools.used().is_empty());
        assert_eq!(pools.pool_of(subnet).as_deref(), Some("isp"));
        assert!(pools.set("isp", None) && !pools.has("isp"));
        assert_eq!(pools.allocate("isp", &user, "", None), None);
    }
}
