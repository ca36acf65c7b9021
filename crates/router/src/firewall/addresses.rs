//! `/ip/firewall/address-list` and its twin of IPv6: the fixed part of lists.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::rule::AddressRange;
use menu::{Changes, Item, Store, Value};

use super::names::Lists;
use super::value;
use crate::intent::{ItemId, Name};

/// The configured entries of one family.
#[derive(Debug, Default)]
pub(super) struct Entries {
    by_list: BTreeMap<Name, BTreeMap<ItemId, AddressRange>>,
}

impl Entries {
    /// Takes over all entries.
    pub(super) fn load(&mut self, store: &Store, path: &str, lists: &mut Lists) {
        let mut stale: BTreeSet<Name> = self.by_list.keys().cloned().collect();
        self.by_list.clear();
        for item in store.items(path) {
            self.take(item, &mut stale);
        }
        self.publish(&stale, lists);
    }

    /// Takes over what a transaction changed.
    pub(super) fn follow(&mut self, changes: &Changes, path: &str, lists: &mut Lists) {
        let mut stale = BTreeSet::new();
        for change in changes.of(path) {
            if let Some(before) = &change.before {
                self.forget(before, &mut stale);
            }
            if let Some(after) = &change.after {
                self.take(after, &mut stale);
            }
        }
        self.publish(&stale, lists);
    }

    fn forget(&mut self, item: &Item, stale: &mut BTreeSet<Name>) {
        let name = Name::from(item.text("list"));
        if let Some(list) = self.by_list.get_mut(&name) {
            list.remove(&item.id.0);
            stale.insert(name);
        }
    }

    fn take(&mut self, item: &Item, stale: &mut BTreeSet<Name>) {
        if item.is("disabled") {
            return;
        }
        // A host's name has no address before somebody asks for it.
        let is_name = matches!(item.get("address"), Some(Value::Text(_)));
        let range = item.get("address").filter(|_| !is_name);
        if let Some(range) = range.and_then(value::addresses) {
            let name = Name::from(item.text("list"));
            let list = self.by_list.entry(name.clone()).or_default();
            list.insert(item.id.0, range);
            stale.insert(name);
        }
    }

    /// Gives the lists that are other to the data plane: the next packet sees them.
    fn publish(&mut self, stale: &BTreeSet<Name>, lists: &mut Lists) {
        for name in stale {
            let Some(list) = lists.list(name) else {
                continue;
            };
            let ranges = self.by_list.get(name);
            let ranges = ranges.into_iter().flat_map(BTreeMap::values);
            list.set_fixed(ranges.copied().collect());
        }
    }
}
