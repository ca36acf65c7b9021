//! `/ip/firewall/address-list` and its twin of IPv6: the fixed part of lists.
//!
//! The data plane has each list as one sorted table and some ranges that came since that was built. The table is built
//! anew when an entry goes, or many have come. Many commands in a row would build it as often: after [`BURST`] builds
//! there is one each [`PAUSE`], and the lists that are stale meanwhile wait for the deadline.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::rule::{Added, AddressRange};
use machine::{Duration, Instant};
use menu::{Changes, Item, Store, Value};

use super::names::Lists;
use super::value;
use crate::intent::{ItemId, Name};

/// Tables that are built at once.
const BURST: u32 = 32;
/// The time between two builds after a burst, and for which a burst pays by each of its builds.
const PAUSE: Duration = Duration::from_millis(10);
/// What a range adds to the pause.
const PER_RANGE: Duration = Duration::from_micros(1);
/// Entries that end together leave the configuration in transactions of so many.
const DUE: usize = 1_000;

/// The configured entries of one family.
#[derive(Debug, Default)]
pub(super) struct Entries {
    by_list: BTreeMap<Name, Ranges>,
    /// When entries end that do.
    ends: BTreeMap<ItemId, Instant>,
    /// The items of `ends` by time.
    by_end: BTreeSet<(Instant, ItemId)>,
    /// When entries were made, of those that this run has seen come.
    made: BTreeMap<ItemId, Instant>,
    /// Lists whose table in the data plane lacks changes.
    stale: BTreeMap<Name, Stale>,
    pace: Pace,
}

/// What the data plane lacks of a list.
#[derive(Debug)]
enum Stale {
    /// These ranges alone.
    Added(Vec<AddressRange>),
    All,
}

/// Up to so many ranges are added to a table rather than built into it.
const FEW: usize = 16;

/// The entries of a list.
#[derive(Debug, Default)]
struct Ranges {
    by_item: BTreeMap<ItemId, AddressRange>,
    /// Ranges of one address, with the number of entries that are this address.
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

/// Spaces out builds of tables: each build moves `free` on by a pause, and a burst of builds may run ahead of the
/// clock.
#[derive(Debug, Default)]
struct Pace {
    free: Instant,
}

impl Pace {
    /// The time of the next build.
    fn next(&self) -> Instant {
        let ahead = PAUSE.saturating_mul(BURST);
        Instant::ZERO
            + self
                .free
                .saturating_since(Instant::ZERO)
                .saturating_sub(ahead)
    }

    /// Notes a build of tables with so many ranges: long lists are built less often.
    fn built(&mut self, now: Instant, ranges: usize) {
        let pause = PAUSE + PER_RANGE.saturating_mul(u32::try_from(ranges).unwrap_or(u32::MAX));
        self.free = self.free.max(now) + pause;
    }
}

impl Entries {
    /// Takes over all entries; the time of those that end begins now.
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

    /// The entries whose time is over, [`DUE`] of them at most. RouterOS: one that a rule has put into its list again
    /// stays for as long as the rule says.
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

    /// What a rule has put into an entry's list that is the entry's own address.
    fn again(&self, item: ItemId, now: Instant, lists: &Lists) -> Option<Added> {
        let mut all = self.by_list.iter();
        let (name, range) = all.find_map(|(name, list)| Some((name, list.by_item.get(&item)?)))?;
        let single = range.first == range.last;
        let list = lists.find(name).filter(|_| single)?;
        list.added_at(range.first, now)
    }

    /// When there is something to do: the next entry ends, or stale lists are published.
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

    /// Whether an address is an entry of a list by itself: a rule that put one in for ever made it an entry.
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
            // What a rule has put there goes with it.
            list.remove(range.first);
        }
        self.stale.insert(name, Stale::All);
    }

    fn take(&mut self, item: &Item) {
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
            let added = || Stale::Added(Vec::new());
            if let Stale::Added(added) = self.stale.entry(name).or_insert_with(added) {
                added.push(range);
            }
        }
    }

    /// Gives stale lists to the data plane, if it is time: the next packet sees them.
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
