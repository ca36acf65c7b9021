//! Dynamic entries of address lists that the router itself creates: addresses of host names, and objects of features.

use std::collections::BTreeMap;

use machine::Instant;

use super::{Firewall, names, value};
use crate::intent::{ItemId, Name};
use crate::object::ListEntry;

/// The dynamic entries of both families. An address stays in a list until its last entry is removed.
#[derive(Debug, Default)]
pub(super) struct DynamicEntries {
    /// Objects, with the time of their creation.
    objects: BTreeMap<ItemId, (ListEntry, Instant)>,
    /// Number of entries by family (true for IPv6), list and address.
    counts: BTreeMap<(bool, Name, u128), u32>,
}

impl DynamicEntries {
    fn enter(&mut self, ipv6: bool, list: &Name, address: u128, lists: &mut names::Lists) {
        let count = self
            .counts
            .entry((ipv6, list.clone(), address))
            .or_default();
        *count += 1;
        if *count == 1
            && let Some(list) = lists.list(list)
        {
            // A full list counts the address as refused.
            let _ = list.enter_named(address);
        }
    }

    fn leave(&mut self, ipv6: bool, list: &Name, address: u128, lists: &mut names::Lists) {
        let key = (ipv6, list.clone(), address);
        let Some(count) = self.counts.get_mut(&key) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&key);
            if let Some(list) = lists.list(list) {
                list.remove_named(address);
            }
        }
    }
}

impl Firewall {
    /// Adds an address of a host name to a list, or removes it.
    pub(crate) fn enter_named(&mut self, ipv6: bool, list: &Name, address: u128, comes: bool) {
        let lists = &mut self.shared.lists[usize::from(ipv6)];
        match comes {
            true => self.dynamic.enter(ipv6, list, address, lists),
            false => self.dynamic.leave(ipv6, list, address, lists),
        }
    }

    /// Adds an entry that is an object.
    pub(crate) fn add_entry(&mut self, id: ItemId, entry: ListEntry, now: Instant) {
        let (ipv6, address) = (entry.address.is_ipv6(), value::bits(entry.address));
        self.enter_named(ipv6, &entry.list, address, true);
        self.dynamic.objects.insert(id, (entry, now));
    }

    /// Removes an entry that is an object.
    pub(crate) fn remove_entry(&mut self, id: ItemId) {
        if let Some((entry, _)) = self.dynamic.objects.remove(&id) {
            let (ipv6, address) = (entry.address.is_ipv6(), value::bits(entry.address));
            self.enter_named(ipv6, &entry.list, address, false);
        }
    }

    /// Returns an entry that is an object, and the time of its creation.
    pub(crate) fn dynamic_entry(&self, id: ItemId) -> Option<&(ListEntry, Instant)> {
        self.dynamic.objects.get(&id)
    }
}
