//! Row order of SNMP tables: interfaces by number, addresses by value.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ops::Bound;
use std::collections::{BTreeMap, BTreeSet};

use frame::InterfaceId;
use menu::Changes;

use crate::feature::{View, each_item};
use crate::intent::{ItemId, Name};
use crate::kind;
use crate::object::DYNAMIC;
use crate::running::Running;

/// First number of dynamic interfaces; interfaces of items have lower numbers.
pub(super) const BY_NAME: u32 = 1 << 24;
/// Count of numbers that are derived from names.
const NAMED: u32 = i32::MAX as u32 - BY_NAME;

/// Derives a number from a name by FNV-1a. All versions of this program derive equal numbers.
pub(super) fn number_of_name(name: &str) -> u32 {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    BY_NAME + hash % NAMED
}

/// Index of interfaces and addresses.
#[derive(Debug, Default)]
pub(super) struct Index {
    interfaces: BTreeMap<u32, InterfaceId>,
    numbers: BTreeMap<InterfaceId, u32>,
    addresses: BTreeMap<Ipv4Addr, (InterfaceId, u8)>,
    /// Addresses of each interface.
    own4: BTreeMap<InterfaceId, Vec<Ipv4Addr>>,
    own6: BTreeMap<InterfaceId, Vec<Ipv6Addr>>,
    runs: BTreeMap<InterfaceId, bool>,
    /// Menu and comment of each interface item.
    items: BTreeMap<ItemId, (&'static str, String)>,
}

/// An interface that started or stopped running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) number: u32,
    pub(super) name: Name,
    pub(super) runs: bool,
    pub(super) disabled: bool,
}

impl Index {
    /// Updates the comments of interfaces.
    pub(super) fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>) {
        if changes.is_none() {
            self.items.clear();
        }
        for menu in kind::MENUS {
            each_item(view, menu, changes, |id, item| {
                match item {
                    Some(item) => {
                        let comment = item.text("comment").to_owned();
                        self.items.insert(id, (menu, comment))
                    }
                    None => self.items.remove(&id),
                };
            });
        }
    }

    /// Updates changed interfaces. Returns those that started or stopped running.
    pub(super) fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
    ) -> Vec<Change> {
        let mut changed = Vec::new();
        for id in others {
            let had = self.forget(*id);
            let Some(laid) = running.layout.interfaces.get(id) else {
                self.runs.remove(id);
                continue;
            };
            // An interface keeps its number while it exists.
            let number = had.unwrap_or_else(|| self.number(laid.item, &laid.name));
            self.numbers.insert(*id, number);
            self.interfaces.insert(number, *id);
            let own4 = running.addresses.of4(*id);
            let own4: Vec<_> = own4.map(|(address, own)| (address, own.len)).collect();
            for (address, len) in &own4 {
                self.addresses.insert(*address, (*id, *len));
            }
            let own4 = own4.into_iter().map(|(address, _)| address);
            self.own4.insert(*id, own4.collect());
            let own6 = running.addresses.of6(*id).map(|(address, _)| address);
            self.own6.insert(*id, own6.collect());
            let runs = laid.runs();
            // A new interface is no change of state.
            if self.runs.insert(*id, runs).is_some_and(|ran| ran != runs) {
                changed.push(Change {
                    number,
                    name: laid.name.clone(),
                    runs,
                    disabled: laid.disabled,
                });
            }
        }
        changed
    }

    /// Removes an interface. Returns its number.
    fn forget(&mut self, id: InterfaceId) -> Option<u32> {
        let had = self.numbers.remove(&id);
        if let Some(number) = had {
            self.interfaces.remove(&number);
        }
        for address in self.own4.remove(&id).unwrap_or_default() {
            if self
                .addresses
                .get(&address)
                .is_some_and(|(of, _)| *of == id)
            {
                self.addresses.remove(&address);
            }
        }
        self.own6.remove(&id);
        had
    }

    /// Returns the number of an interface: the item's, or for dynamic interfaces a free number
    /// derived from the name.
    fn number(&self, item: ItemId, name: &str) -> u32 {
        if item & DYNAMIC == 0
            && let Ok(number) = u32::try_from(item)
            && number < BY_NAME
        {
            return number;
        }
        let first = number_of_name(name) - BY_NAME;
        let mut numbers = (0..NAMED).map(|step| BY_NAME + first.wrapping_add(step) % NAMED);
        let is_free = |number: &u32| !self.interfaces.contains_key(number);
        numbers.find(is_free).unwrap_or(BY_NAME)
    }

    /// Returns the numbers of interfaces by name.
    pub(super) fn by_name<'r>(&self, running: &Running<'r>) -> BTreeMap<&'r str, u32> {
        let layout = running.layout;
        let named = self.numbers.iter().filter_map(|(id, number)| {
            let laid = layout.interfaces.get(id)?;
            Some((&*laid.name, *number))
        });
        named.collect()
    }

    /// Number of interfaces.
    pub(super) fn len(&self) -> usize {
        self.interfaces.len()
    }

    pub(super) fn has_addresses(&self) -> bool {
        !self.addresses.is_empty() || self.own6.values().any(|own| !own.is_empty())
    }

    pub(super) fn interface(&self, number: u32) -> Option<InterfaceId> {
        self.interfaces.get(&number).copied()
    }

    pub(super) fn number_of(&self, id: InterfaceId) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    /// Returns the number of the next interface.
    pub(super) fn after(&self, number: Option<u32>) -> Option<u32> {
        let from = number.map_or(Bound::Unbounded, Bound::Excluded);
        let mut behind = self.interfaces.range((from, Bound::Unbounded));
        behind.next().map(|(number, _)| *number)
    }

    pub(super) fn address(&self, address: Ipv4Addr) -> Option<(InterfaceId, u8)> {
        self.addresses.get(&address).copied()
    }

    /// Returns the first address after an index, which may have fewer than four parts.
    pub(super) fn address_after(&self, index: &[u32]) -> Option<Ipv4Addr> {
        let mut parts = [0; 4];
        let mut whole = index.len() >= 4;
        for (at, given) in index.iter().take(4).enumerate() {
            let Ok(part) = u8::try_from(*given) else {
                // A part above 255 sorts behind all addresses with the prefix so far.
                parts[at..].fill(u8::MAX);
                whole = true;
                break;
            };
            parts[at] = part;
        }
        let from = Ipv4Addr::from(parts);
        let from = match whole {
            true => Bound::Excluded(from),
            false => Bound::Included(from),
        };
        let mut behind = self.addresses.range((from, Bound::Unbounded));
        behind.next().map(|(address, _)| *address)
    }

    /// Returns the menu and the comment of an interface's item.
    pub(super) fn item(&self, item: ItemId) -> Option<(&'static str, &str)> {
        let (menu, comment) = self.items.get(&item)?;
        Some((menu, comment))
    }

    /// Returns a source address for `to`: an address of a network that contains `to`, otherwise any
    /// address that is neither loopback nor link-local.
    pub(super) fn source(&self, to: IpAddr) -> Option<IpAddr> {
        match to {
            IpAddr::V4(to) => {
                let near = |own: &Ipv4Addr, len: u8| {
                    let differ = u64::from(own.to_bits() ^ to.to_bits());
                    differ >> (32 - u32::from(len.min(32))) == 0
                };
                let mut all = self.addresses.iter();
                let found = all.find(|(own, (_, len))| near(own, *len));
                let found =
                    found.or_else(|| self.addresses.iter().find(|(own, _)| !own.is_loopback()));
                found.map(|(own, _)| IpAddr::V4(*own))
            }
            IpAddr::V6(_) => {
                let mut all = self.own6.values().flatten();
                let found = all.find(|own| !own.is_unicast_link_local() && !own.is_loopback());
                found.map(|own| IpAddr::V6(*own))
            }
        }
    }
}

#[cfg(test)]
mod tests;
