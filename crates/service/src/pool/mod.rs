//! Pools of IPv4 addresses: what services give to hosts, such as DHCP.
//!
//! ```text
//! fresh ──take──▶ used ──give back──▶ idle (oldest first) ──take──▶ used …
//! ```
//! Fresh addresses are ranges, so that a pool of millions costs what is used of it; each step takes logarithmic time.
//! An address that was given back is given to somebody else as late as possible.

#[cfg(test)]
mod tests;

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Addresses from the first to the last.
pub type Range = (Ipv4Addr, Ipv4Addr);

/// Pools behind each other that are looked at for an address.
const DEEPEST: usize = 32;

/// Who has an address of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The service that gave it.
    pub owner: &'static str,
    /// To whom.
    pub info: Box<str>,
}

/// A pool.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    ranges: Vec<(u32, u32)>,
    next: Option<Box<str>>,
    /// First and last of what was never given.
    fresh: BTreeMap<u32, u32>,
    /// What was given back, by the time of that.
    idle: BTreeMap<u64, u32>,
    idle_since: BTreeMap<u32, u64>,
    used: BTreeMap<u32, Use>,
    count: u64,
}

impl Pool {
    /// Makes the pool consist of these ranges. What is used and lies in none of them is no more of it once it is given
    /// back.
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

    /// Takes an address out of what is fresh.
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

    /// RouterOS: the last address comes first.
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

/// How many addresses a pool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// All.
    pub total: u64,
    /// Those that are given out.
    pub used: u64,
    /// Those that are left.
    pub available: u64,
}

/// All pools by name. Who clones it shares it.
#[derive(Clone, Debug, Default)]
pub struct Pools(Arc<Mutex<BTreeMap<Box<str>, Pool>>>);

impl Pools {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Box<str>, Pool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what a pool consists of, and the pool that is looked at when it is empty.
    pub fn set(&self, name: &str, ranges: &[Range], next: Option<&str>) {
        let mut all = self.all();
        let pool = all.entry(name.into()).or_default();
        pool.set_ranges(ranges);
        pool.next = next.map(Into::into);
    }

    /// Calls a pool otherwise; what is used of it stays.
    pub fn rename(&self, from: &str, to: &str) {
        let mut all = self.all();
        if let Some(pool) = all.remove(from) {
            all.insert(to.into(), pool);
        }
    }

    /// Forgets a pool.
    pub fn remove(&self, name: &str) {
        self.all().remove(name);
    }

    /// Takes an address that is left, of the pool or of those behind it. Gives the pool that it is of.
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

    /// Takes this address, if it is left in the pool or in one behind it. Gives the pool that it is of.
    pub fn take(&self, name: &str, address: Ipv4Addr, of: &Use) -> Option<Box<str>> {
        let address = address.to_bits();
        let mut all = self.all();
        let mut names = chain(&all, name).into_iter();
        let name = names.find(|name| all.get_mut(name).is_some_and(|pool| pool.take(address)))?;
        let pool = all.get_mut(&name)?;
        pool.used.insert(address, of.clone());
        Some(name)
    }

    /// Keeps an address that nobody of a pool gave out from being given, such as that of a static lease. False if it
    /// is given out already, or in no pool.
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

    /// Ends what [`Self::reserve`] did.
    pub fn release(&self, address: Ipv4Addr) {
        let address = address.to_bits();
        self.all()
            .values_mut()
            .for_each(|pool| pool.give_back(address));
    }

    /// Gives back an address of a pool.
    pub fn give_back(&self, name: &str, address: Ipv4Addr) {
        if let Some(pool) = self.all().get_mut(name) {
            pool.give_back(address.to_bits());
        }
    }

    /// Whether a pool, or one behind it, has this address, given out or not.
    pub fn contains(&self, name: &str, address: Ipv4Addr) -> bool {
        let all = self.all();
        let mut names = chain(&all, name).into_iter();
        names.any(|name| { all.get(&name) }.is_some_and(|pool| pool.contains(address.to_bits())))
    }

    /// How many addresses a pool has.
    pub fn counts(&self, name: &str) -> Option<Counts> {
        let all = self.all();
        let pool = all.get(name)?;
        Some(Counts {
            total: pool.total(),
            used: pool.used.len() as u64,
            available: pool.available(),
        })
    }

    /// The addresses that are given out, by pool, from a place on: at most so many, and in order.
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

/// A pool and those behind it, each once.
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
