//! `/ip/firewall/address-list` and its twin of IPv6: the fixed part of lists.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::rule::{Added, AddressRange};
use machine::{Duration, Instant};
use menu::{Changes, Item, Store, Value};

use super::names::Lists;
use super::value;
use crate::intent::{ItemId, Name};

/// The configured entries of one family.
#[derive(Debug, Default)]
pub(super) struct Entries {
    by_list: BTreeMap<Name, BTreeMap<ItemId, AddressRange>>,
    /// When entries end that do.
    ends: BTreeMap<ItemId, Instant>,
    /// When entries were made, of those that this run has seen come.
    made: BTreeMap<ItemId, Instant>,
}

impl Entries {
    /// Takes over all entries; the time of those that end begins now.
    pub(super) fn load(&mut self, store: &Store, path: &str, now: Instant, lists: &mut Lists) {
        let mut stale: BTreeSet<Name> = self.by_list.keys().cloned().collect();
        *self = Self::default();
        for item in store.items(path) {
            self.take(item, &mut stale);
            if item.get("timeout").is_some() {
                self.time(item, now);
            }
        }
        self.publish(&stale, lists);
    }

    /// The entries whose time is over. RouterOS: one that a rule has put into its list again stays for
    /// as long as the rule says.
    pub(super) fn due(&mut self, now: Instant, lists: &Lists) -> Vec<ItemId> {
        let over = self.ends.iter().filter(|(_, end)| **end <= now);
        let mut over: Vec<_> = over.map(|(item, _)| *item).collect();
        over.retain(|item| match self.again(*item, now, lists) {
            Some(Added {
                expiry: Some(expiry),
                ..
            }) => {
                self.ends.insert(*item, expiry);
                false
            }
            Some(_) => {
                self.ends.remove(item);
                false
            }
            None => true,
        });
        over
    }

    /// What a rule has put into an entry's list that is the entry's own address.
    fn again(&self, item: ItemId, now: Instant, lists: &Lists) -> Option<Added> {
        let mut all = self.by_list.iter();
        let (name, range) = all.find_map(|(name, list)| Some((name, list.get(&item)?)))?;
        let single = range.first == range.last;
        let list = lists.find(name).filter(|_| single)?;
        list.added_at(range.first, now)
    }

    /// When the next entry ends.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.ends.values().min().copied()
    }

    /// When an entry was made, and when it ends, as far as either is known.
    pub(super) fn times(
        &self,
        item: ItemId,
        now: Instant,
        lists: &Lists,
    ) -> (Option<Instant>, Option<Instant>) {
        let made = self.made.get(&item).copied();
        let end = self.ends.get(&item).copied();
        let end = end.and_then(|end| match self.again(item, now, lists) {
            Some(added) => added.expiry.map(|expiry| expiry.max(end)),
            None => Some(end),
        });
        (made, end)
    }

    /// Takes over what a transaction changed.
    pub(super) fn follow(
        &mut self,
        changes: &Changes,
        path: &str,
        now: Instant,
        lists: &mut Lists,
    ) {
        let mut stale = BTreeSet::new();
        for change in changes.of(path) {
            if let Some(before) = &change.before {
                self.forget(before, &mut stale, lists);
            }
            if let Some(after) = &change.after {
                self.take(after, &mut stale);
                self.time(after, now);
            }
        }
        self.publish(&stale, lists);
    }

    fn time(&mut self, item: &Item, now: Instant) {
        self.made.entry(item.id.0).or_insert(now);
        let timeout = item.get("timeout").and_then(Value::as_nanos);
        if let Some(timeout) = timeout.and_then(|nanos| u64::try_from(nanos).ok()) {
            let end = now + Duration::from_nanos(timeout);
            self.ends.insert(item.id.0, end);
        }
    }

    /// The single addresses of a list: a rule that put one in for ever made it an entry.
    pub(super) fn singles(&self, list: &str) -> BTreeSet<u128> {
        let ranges = self.by_list.get(list).into_iter();
        let ranges = ranges.flat_map(BTreeMap::values);
        let singles = ranges.filter(|range| range.first == range.last);
        singles.map(|range| range.first).collect()
    }

    fn forget(&mut self, item: &Item, stale: &mut BTreeSet<Name>, lists: &mut Lists) {
        self.ends.remove(&item.id.0);
        let name = Name::from(item.text("list"));
        let Some(list) = self.by_list.get_mut(&name) else {
            return;
        };
        if let Some(range) = list.remove(&item.id.0)
            && range.first == range.last
            && let Some(list) = lists.list(&name)
        {
            // What a rule has put there goes with it.
            list.remove(range.first);
        }
        stale.insert(name);
    }

    fn take(&mut self, item: &Item, stale: &mut BTreeSet<Name>) {
        if item.is("disabled") {
            return;
        }
        // A host's name has what addresses it has at the time: see `hosts.rs`.
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
