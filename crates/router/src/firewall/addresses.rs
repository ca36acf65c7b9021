//! `/ip/firewall/address-list` and `/ipv6/firewall/address-list`: the configured entries of lists.
//!
//! In the data plane each list is one sorted table, plus some ranges that were added since the table was built. The
//! table is rebuilt after a removal, or after many additions. To limit the cost of many commands in a row, at most
//! [`BURST`] builds happen without a pause. Further builds happen once per [`PAUSE`]; changed lists wait for this
//! deadline.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::rule::{Added, AddressRange};
use machine::{Duration, Instant};
use menu::{Changes, Item, Store, Value};

use super::names::Lists;
use super::value;
use crate::intent::{ItemId, Name};

/// Maximum number of builds without a pause.
const BURST: u32 = 32;
/// Time between two builds after a burst; each build of a burst adds it to the waiting time.
const PAUSE: Duration = Duration::from_millis(10);
/// Additional pause per range of a list.
const PER_RANGE: Duration = Duration::from_micros(1);
/// Maximum number of expired entries that one transaction removes.
const DUE: usize = 1_000;

/// Configured entries of one family.
#[derive(Debug, Default)]
pub(super) struct Entries {
    by_list: BTreeMap<Name, Ranges>,
    /// End of entries with a timeout.
    ends: BTreeMap<ItemId, Instant>,
    /// The items of `ends` by time.
    by_end: BTreeSet<(Instant, ItemId)>,
    /// Creation time of entries that were added since the start of the router.
    made: BTreeMap<ItemId, Instant>,
    /// Lists whose table in the data plane lacks changes.
    stale: BTreeMap<Name, Stale>,
    pace: Pace,
}

/// Changes that the data plane's table of a list lacks.
#[derive(Debug)]
enum Stale {
    /// Only these ranges, which were added.
    Added(Vec<AddressRange>),
    All,
}

/// Maximum number of ranges that are added to a table without rebuilding it.
const FEW: usize = 16;

/// The entries of a list.
#[derive(Debug, Default)]
struct Ranges {
    by_item: BTreeMap<ItemId, AddressRange>,
    /// Single addresses, with the number of entries for each.
    singles: BTreeMap<u128, u32>,
}

impl Ranges {
    fn insert(&mut self, item: ItemId, range: AddressRange) {
        if range.first == range.last {
            *self.singles.entry(range.first).or_default() += 1;
        }
        self.by_item.insert(item, range);
    }

    fn remove(&mut self, item: ItemId) -> Option<AddressRange> {
        let range = self.by_item.remove(&item)?;
        if let Some(count) = self
            .singles
            .get_mut(&range.first)
            .filter(|_| range.first == range.last)
        {
            *count -= 1;
            if *count == 0 {
                self.singles.remove(&range.first);
            }
        }
        Some(range)
    }
}

/// Rate limit of builds: each build moves `free` forward by a pause, and a burst may run ahead of the clock.
#[derive(Debug, Default)]
struct Pace {
    free: Instant,
}

impl Pace {
    /// Returns the time of the next build.
    fn next(&self) -> Instant {
        let ahead = PAUSE.saturating_mul(BURST);
        Instant::ZERO
            + self
                .free
                .saturating_since(Instant::ZERO)
                .saturating_sub(ahead)
    }

    /// Records a build of tables with this number of ranges: longer lists are built less often.
    fn built(&mut self, now: Instant, ranges: usize) {
        let pause = PAUSE + PER_RANGE.saturating_mul(u32::try_from(ranges).unwrap_or(u32::MAX));
        self.free = self.free.max(now) + pause;
    }
}

impl Entries {
    /// Reads all entries; timeouts start now.
    pub(super) fn load(&mut self, store: &Store, path: &str, now: Instant, lists: &mut Lists) {
        let lists_before = self.by_list.keys().cloned();
        let stale = lists_before.map(|name| (name, Stale::All)).collect();
        *self = Self {
            stale,
            ..Self::default()
        };
        for item in store.items(path) {
            self.take(item);
            if item.get("timeout").is_some() {
                self.time(item, now);
            }
        }
        self.publish(now, lists);
    }

    /// Returns expired entries, at most [`DUE`]. RouterOS: an entry that a rule added again stays for the timeout of
    /// the rule.
    pub(super) fn due(&mut self, now: Instant, lists: &Lists) -> Vec<ItemId> {
        let over = self.by_end.range(..=(now, ItemId::MAX)).take(DUE);
        let mut over: Vec<_> = over.map(|(_, item)| *item).collect();
        over.retain(|item| match self.again(*item, now, lists) {
            Some(Added {
                expiry: Some(expiry),
                ..
            }) => {
                self.set_end(*item, Some(expiry));
                false
            }
            Some(_) => {
                self.set_end(*item, None);
                false
            }
            None => true,
        });
        over
    }

    /// Returns the dynamic entry of a rule for the address of a configured entry.
    fn again(&self, item: ItemId, now: Instant, lists: &Lists) -> Option<Added> {
        let mut all = self.by_list.iter();
        let (name, range) = all.find_map(|(name, list)| Some((name, list.by_item.get(&item)?)))?;
        let single = range.first == range.last;
        let list = lists.find(name).filter(|_| single)?;
        list.added_at(range.first, now)
    }

    /// Returns the time of the next work: an entry expires, or stale lists are published.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let end = self.by_end.first().map(|(end, _)| *end);
        let publish = (!self.stale.is_empty()).then(|| self.pace.next());
        end.into_iter().chain(publish).min()
    }

    fn set_end(&mut self, item: ItemId, end: Option<Instant>) {
        let before = match end {
            Some(end) => self.ends.insert(item, end),
            None => self.ends.remove(&item),
        };
        if let Some(before) = before {
            self.by_end.remove(&(before, item));
        }
        self.by_end.extend(end.map(|end| (end, item)));
    }

    /// Returns when an entry was created, and when it expires, as far as known.
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

    /// Applies the changes of a transaction.
    pub(super) fn follow(
        &mut self,
        changes: &Changes,
        path: &str,
        now: Instant,
        lists: &mut Lists,
    ) {
        for change in changes.of(path) {
            if let Some(before) = &change.before {
                self.forget(before, lists);
            }
            match &change.after {
                Some(after) => {
                    self.take(after);
                    self.time(after, now);
                }
                None => _ = self.made.remove(&change.id.0),
            }
        }
        self.publish(now, lists);
    }

    fn time(&mut self, item: &Item, now: Instant) {
        self.made.entry(item.id.0).or_insert(now);
        let timeout = item.get("timeout").and_then(Value::as_nanos);
        if let Some(timeout) = timeout.and_then(|nanos| u64::try_from(nanos).ok()) {
            let end = now + Duration::from_nanos(timeout);
            self.set_end(item.id.0, Some(end));
        }
    }

    /// Whether an address is a configured entry of a list; a rule that adds an address without a timeout creates one.
    pub(super) fn is_single(&self, list: &str, address: u128) -> bool {
        let list = self.by_list.get(list);
        list.is_some_and(|list| list.singles.contains_key(&address))
    }

    fn forget(&mut self, item: &Item, lists: &mut Lists) {
        self.set_end(item.id.0, None);
        let name = Name::from(item.text("list"));
        let Some(list) = self.by_list.get_mut(&name) else {
            return;
        };
        if let Some(range) = list.remove(item.id.0)
            && range.first == range.last
            && let Some(list) = lists.list(&name)
        {
            // The dynamic entry of a rule goes with it.
            list.remove(range.first);
        }
        self.stale.insert(name, Stale::All);
    }

    fn take(&mut self, item: &Item) {
        if item.is("disabled") {
            return;
        }
        // `hosts.rs` handles host names, whose addresses change.
        let is_name = matches!(item.get("address"), Some(Value::Text(_)));
        let range = item.get("address").filter(|_| !is_name);
        if let Some(range) = range.and_then(value::addresses) {
            let name = Name::from(item.text("list"));
            let list = self.by_list.entry(name.clone()).or_default();
            list.insert(item.id.0, range);
            let added = || Stale::Added(Vec::new());
            if let Stale::Added(added) = self.stale.entry(name).or_insert_with(added) {
                added.push(range);
            }
        }
    }

    /// Publishes stale lists to the data plane, if a build is due: the next packet uses them.
    pub(super) fn publish(&mut self, now: Instant, lists: &mut Lists) {
        if self.stale.is_empty() || now < self.pace.next() {
            return;
        }
        let mut built = 0;
        for (name, stale) in core::mem::take(&mut self.stale) {
            let Some(list) = lists.list(&name) else {
                continue;
            };
            if let Stale::Added(added) = &stale
                && added.len() <= FEW
                && added.iter().all(|range| list.add_fixed(*range))
            {
                built += added.len();
                continue;
            }
            let ranges = self.by_list.get(&name);
            let ranges = ranges.into_iter().flat_map(|list| list.by_item.values());
            let ranges: Vec<_> = ranges.copied().collect();
            built += ranges.len();
            list.set_fixed(ranges);
        }
        self.pace.built(now, built);
    }
}
