//! IPv4 address pools (`/ip/pool`), from which services such as DHCP allocate.
//!
//! ```text
//! fresh ──take──▶ used ──give back──▶ idle (oldest first) ──take──▶ used …
//! ```
//! Fresh addresses are stored as ranges, so that memory depends on the used addresses, not on the pool's size. Each
//! operation takes logarithmic time. A returned address is reused as late as possible.

#[cfg(test)]
mod tests;

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// First and last address.
pub type Range = (Ipv4Addr, Ipv4Addr);

/// Maximum length of a chain of pools (`next-pool`).
const DEEPEST: usize = 32;

/// User of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Service that allocated the address.
    pub owner: &'static str,
    /// Description of the user.
    pub info: Box<str>,
}

/// Pool.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    ranges: Vec<(u32, u32)>,
    next: Option<Box<str>>,
    /// Never allocated addresses: first to last.
    fresh: BTreeMap<u32, u32>,
    /// Returned addresses in the order of their return.
    idle: BTreeMap<u64, u32>,
    idle_since: BTreeMap<u32, u64>,
    used: BTreeMap<u32, Use>,
    count: u64,
}

impl Pool {
    /// Replaces the ranges of the pool. Used addresses outside of them leave the pool once they are returned.
    fn set_ranges(&mut self, ranges: &[Range]) {
        let mut sorted: Vec<(u32, u32)> = ranges
            .iter()
            .map(|(first, last)| (first.to_bits(), last.to_bits()))
            .filter(|(first, last)| first <= last)
            .collect();
        sorted.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (first, last) in sorted {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ => joined.push((first, last)),
            }
        }
        if joined == self.ranges {
            return;
        }
        self.fresh = joined.iter().copied().collect();
        self.ranges = joined;
        let (idle, used) = (
            core::mem::take(&mut self.idle),
            core::mem::take(&mut self.used),
        );
        self.idle_since.clear();
        for (since, address) in idle {
            if self.cut(address) {
                self.idle.insert(since, address);
                self.idle_since.insert(address, since);
            }
        }
        for address in used.keys() {
            self.cut(*address);
        }
        self.used = used;
    }

    /// Removes an address from the fresh ranges.
    fn cut(&mut self, address: u32) -> bool {
        let Some((first, last)) = self.fresh.range(..=address).next_back() else {
            return false;
        };
        let (first, last) = (*first, *last);
        if last < address {
            return false;
        }
        self.fresh.remove(&first);
        if first < address {
            self.fresh.insert(first, address - 1);
        }
        if address < last {
            self.fresh.insert(address + 1, last);
        }
        true
    }

    fn contains(&self, address: u32) -> bool {
        let at = self.ranges.partition_point(|(first, _)| *first <= address);
        at > 0 && address <= self.ranges[at - 1].1
    }

    /// RouterOS: allocates the last address first.
    fn any(&mut self) -> Option<u32> {
        if let Some(entry) = self.fresh.last_entry() {
            let address = *entry.get();
            self.cut(address);
            return Some(address);
        }
        let (_, address) = self.idle.pop_first()?;
        self.idle_since.remove(&address);
        Some(address)
    }

    fn take(&mut self, address: u32) -> bool {
        if let Some(since) = self.idle_since.remove(&address) {
            self.idle.remove(&since);
            return true;
        }
        self.cut(address)
    }

    fn give_back(&mut self, address: u32) {
        if self.used.remove(&address).is_some() && self.contains(address) {
            self.count += 1;
            self.idle.insert(self.count, address);
            self.idle_since.insert(address, self.count);
        }
    }

    fn total(&self) -> u64 {
        let sizes = self.ranges.iter();
        sizes.map(|(first, last)| u64::from(last - first) + 1).sum()
    }

    fn available(&self) -> u64 {
        let fresh = self.fresh.iter();
        let fresh: u64 = fresh.map(|(first, last)| u64::from(last - first) + 1).sum();
        fresh + self.idle.len() as u64
    }
}

/// Numbers of addresses of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// All addresses.
    pub total: u64,
    /// Allocated addresses.
    pub used: u64,
    /// Free addresses.
    pub available: u64,
}

/// All pools by name. Clones share the pools.
#[derive(Clone, Debug, Default)]
pub struct Pools(Arc<Mutex<BTreeMap<Box<str>, Pool>>>);

impl Pools {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Box<str>, Pool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the ranges of a pool and its next pool, which is used when the pool is exhausted.
    pub fn set(&self, name: &str, ranges: &[Range], next: Option<&str>) {
        let mut all = self.all();
        let pool = all.entry(name.into()).or_default();
        pool.set_ranges(ranges);
        pool.next = next.map(Into::into);
    }

    /// Renames a pool; its allocations stay.
    pub fn rename(&self, from: &str, to: &str) {
        let mut all = self.all();
        if let Some(pool) = all.remove(from) {
            all.insert(to.into(), pool);
        }
    }

    /// Removes a pool.
    pub fn remove(&self, name: &str) {
        self.all().remove(name);
    }

    /// Allocates any free address of the pool or its next pools. Returns the address and the name of its pool.
    pub fn take_any(&self, name: &str, of: &Use) -> Option<(Ipv4Addr, Box<str>)> {
        let mut all = self.all();
        for name in chain(&all, name) {
            let pool = all.get_mut(&name)?;
            if let Some(address) = pool.any() {
                pool.used.insert(address, of.clone());
                return Some((Ipv4Addr::from_bits(address), name));
            }
        }
        None
    }

    /// Allocates this address if it is free in the pool or its next pools. Returns the name of its pool.
    pub fn take(&self, name: &str, address: Ipv4Addr, of: &Use) -> Option<Box<str>> {
        let address = address.to_bits();
        let mut all = self.all();
        let mut names = chain(&all, name).into_iter();
        let name = names.find(|name| all.get_mut(name).is_some_and(|pool| pool.take(address)))?;
        let pool = all.get_mut(&name)?;
        pool.used.insert(address, of.clone());
        Some(name)
    }

    /// Reserves an address in all pools that contain it, such as that of a static lease. Returns false if the address
    /// is allocated already or in no pool.
    pub fn reserve(&self, address: Ipv4Addr, of: &Use) -> bool {
        let address = address.to_bits();
        let mut all = self.all();
        let mut reserved = false;
        for pool in all.values_mut() {
            if pool.take(address) {
                pool.used.insert(address, of.clone());
                reserved = true;
            }
        }
        reserved
    }

    /// Releases an address reserved by [`Self::reserve`].
    pub fn release(&self, address: Ipv4Addr) {
        let address = address.to_bits();
        self.all()
            .values_mut()
            .for_each(|pool| pool.give_back(address));
    }

    /// Returns an address to its pool.
    pub fn give_back(&self, name: &str, address: Ipv4Addr) {
        if let Some(pool) = self.all().get_mut(name) {
            pool.give_back(address.to_bits());
        }
    }

    /// True if the pool or one of its next pools contains the address, free or allocated.
    pub fn contains(&self, name: &str, address: Ipv4Addr) -> bool {
        let all = self.all();
        let mut names = chain(&all, name).into_iter();
        names.any(|name| { all.get(&name) }.is_some_and(|pool| pool.contains(address.to_bits())))
    }

    /// Returns the numbers of addresses of a pool.
    pub fn counts(&self, name: &str) -> Option<Counts> {
        let all = self.all();
        let pool = all.get(name)?;
        Some(Counts {
            total: pool.total(),
            used: pool.used.len() as u64,
            available: pool.available(),
        })
    }

    /// Allocated addresses of all pools in order, at most `most`, starting at `from`.
    pub fn used_from(
        &self,
        from: &(Box<str>, Ipv4Addr),
        most: usize,
    ) -> Vec<(Box<str>, Ipv4Addr, Use)> {
        let all = self.all();
        let mut found = Vec::new();
        for (name, pool) in all.range(from.0.clone()..) {
            let first = if **name == *from.0 {
                from.1.to_bits()
            } else {
                0
            };
            for (address, of) in pool.used.range(first..) {
                if found.len() == most {
                    return found;
                }
                found.push((name.clone(), Ipv4Addr::from_bits(*address), of.clone()));
            }
        }
        found
    }
}

/// The pool and its next pools, each once.
fn chain(all: &BTreeMap<Box<str>, Pool>, name: &str) -> Vec<Box<str>> {
    let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
    let mut name: Option<Box<str>> = Some(name.into());
    while let Some(next) = name.take().filter(|_| names.len() < DEEPEST) {
        let Some(pool) = all.get(&next) else { break };
        if !seen.insert(next.clone()) {
            break;
        }
        name.clone_from(&pool.next);
        names.push(next);
    }
    names
}
