//! Address lists. A list has three parts: a static part that the control plane replaces as a whole, entries
//! that rules add, and addresses of DNS names, which are added and removed one by one.
//!
//! All parts belong to the list and not to a snapshot: a change of the list needs no compilation of rules,
//! and an address that a rule adds is effective for the next packet on any worker.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use machine::Instant;

use super::address::AddressRange;
use super::shared::{Shared, Values};

/// Maximum number of entries that rules can add to a list, and of its addresses of names. Memory is committed
/// as entries are added: 40 bytes per entry.
pub const DYNAMIC_MAX: usize = 1 << 18;

/// Attempts to add an address that is concurrently removed.
const TRIES: usize = 8;

/// Indices of an entry's values.
const HIGH: usize = 0;
const LOW: usize = 1;
/// Time of addition, in nanoseconds.
const ADDED_TIME: usize = 2;
/// Time of expiry, in nanoseconds; all ones for never.
const EXPIRY: usize = 3;

/// An address list, shared by all rules that refer to it.
///
/// Exact across workers: the added entries are in one table of atomics; each address is added once and
/// effective for the next packet.
#[derive(Debug)]
pub struct List {
    /// The number that the control plane assigned to the list's name; it never changes.
    pub number: u32,
    fixed: ArcSwap<Fixed>,
    added: Shared<4>,
    /// Addresses of DNS names (`HIGH` and `LOW`); created on first use.
    named: OnceLock<Shared<2>>,
    /// Number of entries that were added; 0 skips the lookup.
    entered: AtomicU64,
    refused: AtomicU64,
}

/// An entry that a rule added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Added {
    /// The address; IPv4 in the low 32 bits.
    pub address: u128,
    /// Time of addition.
    pub since: Instant,
    /// Time of expiry; `None` for never.
    pub expiry: Option<Instant>,
}

impl Added {
    fn of(values: [u64; 4]) -> Self {
        Self {
            address: u128::from(values[HIGH]) << 64 | u128::from(values[LOW]),
            since: Instant::from_nanos(values[ADDED_TIME]),
            expiry: (values[EXPIRY] != u64::MAX).then(|| Instant::from_nanos(values[EXPIRY])),
        }
    }
}

impl List {
    /// Creates an empty list.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub fn new(number: u32) -> std::io::Result<Self> {
        Ok(Self {
            number,
            fixed: ArcSwap::default(),
            added: Shared::new(DYNAMIC_MAX)?,
            named: OnceLock::new(),
            entered: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        })
    }

    /// Replaces the static part; ranges may overlap and need not be sorted.
    pub fn set_fixed(&self, ranges: Vec<AddressRange>) {
        let fixed = Fixed {
            table: Arc::new(Ranges::new(ranges)),
            recent: Box::default(),
        };
        self.fixed.store(Arc::new(fixed));
    }

    /// Adds a range to the static part without rebuilding it. Returns false and changes nothing after [`RECENT`] such
    /// ranges: the owner of the static part then has to replace it. Only that owner calls this function.
    pub fn add_fixed(&self, range: AddressRange) -> bool {
        let before = self.fixed.load();
        if before.recent.len() >= RECENT {
            return false;
        }
        let fixed = Fixed {
            table: Arc::clone(&before.table),
            recent: merge([&before.recent[..], &[range]].concat()).into(),
        };
        self.fixed.store(Arc::new(fixed));
        true
    }

    /// Returns true if the list contains the address now.
    #[inline]
    pub fn has(&self, address: u128, now: Instant) -> bool {
        self.fixed.load().has(address) || self.has_added(address, now) || self.has_named(address)
    }

    fn has_named(&self, address: u128) -> bool {
        let Some(named) = self.named.get() else {
            return false;
        };
        let found = named.find(tag_in(named, address));
        found.is_some_and(|values| is(values, address))
    }

    /// Adds an address of a DNS name. Returns false if there is no room.
    pub fn enter_named(&self, address: u128) -> bool {
        let entered = self.try_enter_named(address);
        self.refused
            .fetch_add(u64::from(!entered), Ordering::Relaxed);
        entered
    }

    fn try_enter_named(&self, address: u128) -> bool {
        let named = match self.named.get() {
            Some(named) => named,
            None => match Shared::new(DYNAMIC_MAX) {
                Ok(made) => self.named.get_or_init(|| made),
                Err(_) => return false,
            },
        };
        let begin = |values: &Values<2>| {
            values[HIGH].store((address >> 64) as u64, Ordering::Relaxed);
            values[LOW].store(address as u64, Ordering::Relaxed);
        };
        let tag = tag_in(named, address);
        named.enter(tag, |_| false, |_| None, begin).is_some()
    }

    /// Removes an address of a DNS name. Returns false if it did not exist.
    pub fn remove_named(&self, address: u128) -> bool {
        let named = self.named.get();
        named.is_some_and(|named| named.remove(tag_in(named, address)))
    }

    fn has_added(&self, address: u128, now: Instant) -> bool {
        self.entered.load(Ordering::Acquire) != 0
            && self
                .added
                .find(self.tag(address))
                .is_some_and(|values| is(values, address) && !ended(values, now))
    }

    fn tag(&self, address: u128) -> u64 {
        tag_in(&self.added, address)
    }

    /// Adds an address until `expiry`, or permanently; extends an existing entry, but keeps a permanent one.
    /// Returns false if there is no room.
    pub fn add(&self, address: u128, expiry: Option<Instant>, now: Instant) -> bool {
        let expiry = expiry.map_or(u64::MAX, Instant::as_nanos);
        let begin = |values: &Values<4>| {
            values[HIGH].store((address >> 64) as u64, Ordering::Relaxed);
            values[LOW].store(address as u64, Ordering::Relaxed);
            values[ADDED_TIME].store(now.as_nanos(), Ordering::Relaxed);
            values[EXPIRY].store(expiry, Ordering::Relaxed);
        };
        let (tag, stale) = (self.tag(address), |values: &Values<4>| ended(values, now));
        for _ in 0..TRIES {
            let entered = self.added.enter(tag, stale, |_| None, begin);
            let Some(entered) = entered else { break };
            self.entered
                .fetch_add(u64::from(entered.new), Ordering::AcqRel);
            if entered.new {
                return true;
            }
            refresh(entered.values, expiry, now);
            // The entry may have expired and been removed concurrently: retry.
            if self.added.is(tag, entered.values) {
                return true;
            }
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Sets the expiry of an existing entry, permanent or not. Returns false if there is none.
    pub fn keep(&self, address: u128, expiry: Option<Instant>, now: Instant) -> bool {
        let tag = self.tag(address);
        let Some(values) = self.added.find(tag).filter(|values| is(values, address)) else {
            return false;
        };
        let nanos = now.as_nanos();
        let expiry = expiry.map_or(u64::MAX, Instant::as_nanos);
        let step = |old: u64| (old > nanos).then_some(expiry);
        let order = Ordering::SeqCst;
        values[EXPIRY].fetch_update(order, order, step).is_ok() && self.added.is(tag, values)
    }

    /// Removes an added entry. Returns false if it did not exist.
    pub fn remove(&self, address: u128) -> bool {
        self.added.remove(self.tag(address))
    }

    /// Removes expired entries to make room; they are ineffective since their expiry. The control plane calls
    /// this periodically.
    pub fn sweep(&self, now: Instant) {
        if self.entered.load(Ordering::Acquire) != 0 {
            self.added.sweep(|values| ended(values, now));
        }
    }

    /// Returns the added entries that have not expired.
    pub fn added(&self, now: Instant) -> impl Iterator<Item = Added> {
        let some = self.entered.load(Ordering::Acquire) != 0;
        let rows = some.then(|| self.added.rows()).into_iter().flatten();
        let rows = rows.filter(move |row| row[EXPIRY] > now.as_nanos());
        rows.map(Added::of)
    }

    /// Returns the added entry of an address, if it has not expired.
    pub fn added_at(&self, address: u128, now: Instant) -> Option<Added> {
        let found = self.added.find(self.tag(address));
        let values = found.filter(|values| is(values, address) && !ended(values, now))?;
        let order = Ordering::Relaxed;
        Some(Added::of(values.each_ref().map(|value| value.load(order))))
    }

    /// Returns how many addresses could not be added because the list was full.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

fn tag_in<const N: usize>(table: &Shared<N>, address: u128) -> u64 {
    table.tag((address >> 64) as u64, address as u64, 0)
}

fn is<const N: usize>(values: &Values<N>, address: u128) -> bool {
    values[LOW].load(Ordering::Relaxed) == address as u64
        && values[HIGH].load(Ordering::Relaxed) == (address >> 64) as u64
}

/// Sets the expiry of an existing entry unless it is permanent.
fn refresh(values: &Values<4>, expiry: u64, now: Instant) {
    let nanos = now.as_nanos();
    let order = Ordering::SeqCst;
    let step = |old: u64| (old != u64::MAX).then_some(expiry);
    if values[EXPIRY]
        .fetch_update(order, order, step)
        .is_ok_and(|old| old <= nanos)
    {
        values[ADDED_TIME].store(nanos, Ordering::Relaxed);
    }
}

fn ended(values: &Values<4>, now: Instant) -> bool {
    values[EXPIRY].load(Ordering::SeqCst) <= now.as_nanos()
}

/// Number of leading bits of an IPv4 address that the index uses.
const INDEXED: u32 = 12;

/// Sorted ranges that neither touch nor overlap.
#[derive(Debug, Default)]
struct Ranges {
    /// Ranges below 2^32: IPv4.
    first: Box<[u32]>,
    last: Box<[u32]>,
    /// By leading address bits: the number of ranges that begin below. Empty without ranges.
    index: Box<[u32]>,
    /// The other ranges, sorted by `first`.
    wide: Box<[AddressRange]>,
}

/// The fixed part of a list.
#[derive(Debug, Default)]
struct Fixed {
    table: Arc<Ranges>,
    /// Ranges added since the table was built, merged.
    recent: Box<[AddressRange]>,
}

/// Maximum number of ranges that are added before the table is rebuilt.
const RECENT: usize = 256;

impl Fixed {
    #[inline]
    fn has(&self, address: u128) -> bool {
        self.table.has(address) || !self.recent.is_empty() && has(&self.recent, address)
    }
}

/// Returns true if an address is in one of these sorted, merged ranges.
fn has(ranges: &[AddressRange], address: u128) -> bool {
    let after = ranges.partition_point(|range| range.first <= address);
    let range = after.checked_sub(1).and_then(|place| ranges.get(place));
    range.is_some_and(|range| address <= range.last)
}

/// Sorts ranges, and joins those that overlap or touch.
fn merge(mut ranges: Vec<AddressRange>) -> Vec<AddressRange> {
    ranges.retain(|range| range.first <= range.last);
    ranges.sort_unstable();
    let mut merged: Vec<AddressRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.first <= last.last.saturating_add(1) => {
                last.last = last.last.max(range.last);
            }
            _ => merged.push(range),
        }
    }
    merged
}

impl Ranges {
    fn new(ranges: Vec<AddressRange>) -> Self {
        const EDGE: u128 = u32::MAX as u128;
        let merged = merge(ranges);
        let below = merged.iter().filter(|range| range.first <= EDGE);
        let first: Box<[u32]> = below.clone().map(|range| range.first as u32).collect();
        let last = below.map(|range| range.last.min(EDGE) as u32).collect();
        let index = match first.len() {
            0 => Box::default(),
            _ => (0..=1_u64 << INDEXED)
                .map(|top| {
                    first.partition_point(|one| u64::from(*one) < top << (32 - INDEXED)) as u32
                })
                .collect(),
        };
        let wide = merged.iter().filter(|range| range.last > EDGE);
        let wide = wide.map(|range| AddressRange {
            first: range.first.max(EDGE + 1),
            ..*range
        });
        Self {
            first,
            last,
            index,
            wide: wide.collect(),
        }
    }

    #[inline]
    fn has(&self, address: u128) -> bool {
        let Ok(narrow) = u32::try_from(address) else {
            return has(&self.wide, address);
        };
        let top = (narrow >> (32 - INDEXED)) as usize;
        let Some([from, to]) = self.index.get(top..top + 2) else {
            return false;
        };
        let (from, to) = (*from as usize, *to as usize);
        let within = self.first[from..to].partition_point(|first| *first <= narrow);
        match (from + within).checked_sub(1) {
            Some(place) => narrow <= self.last[place],
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_fixed_part_covers_every_range(
            ranges in proptest::collection::vec((any::<u32>(), 0_u32..1 << 22, any::<bool>()), 0..60),
            asked in proptest::collection::vec(any::<u32>(), 40),
        ) {
            let ranges: Vec<_> = ranges
                .iter()
                .map(|(first, len, wide)| {
                    let base = if *wide { 0x2001_0db8_u128 << 96 } else { 0 };
                    let last = first.saturating_add(*len);
                    AddressRange { first: base + u128::from(*first), last: base + u128::from(last) }
                })
                .collect();
            // Some are there from the start, others come one by one, and the table is built anew now and then.
            let list = List::new(1).expect("address space");
            let (first, rest) = ranges.split_at(ranges.len() / 2);
            list.set_fixed(first.to_vec());
            for (place, range) in rest.iter().enumerate() {
                prop_assert!(list.add_fixed(*range));
                if place == 20 {
                    list.set_fixed(ranges[..=first.len() + place].to_vec());
                }
            }
            let edges = ranges.iter().flat_map(|range| {
                [range.first.wrapping_sub(1), range.first, range.last, range.last.wrapping_add(1)]
            });
            for address in edges.chain(asked.iter().map(|one| u128::from(*one))) {
                let right = ranges.iter().any(|range| range.has(address));
                prop_assert_eq!(list.has(address, Instant::ZERO), right, "{:x}", address);
            }
        }
    }

    #[test]
    fn a_dynamic_address_stays_until_its_timeout() {
        let list = List::new(1).expect("address space");
        let at = Instant::from_secs;
        assert!(list.add(7, Some(at(10)), at(1)) && list.add(8, None, at(1)));

        assert!(list.has(7, at(9)) && !list.has(7, at(10)) && list.has(8, at(1000)));
        assert!(list.add(7, Some(at(20)), at(5)) && list.add(8, Some(at(9)), at(5)));
        assert!(list.has(7, at(19)) && list.has(8, at(1000)));
        assert_eq!(list.added(at(6)).count(), 2);

        list.sweep(at(30));
        assert!(list.remove(8) && !list.remove(7));
        assert!(list.add(7, Some(at(50)), at(40)));
        let rows: Vec<_> = list.added(at(41)).collect();
        let row = Added {
            address: 7,
            since: at(40),
            expiry: Some(at(50)),
        };
        assert_eq!(rows, [row]);
    }

    #[test]
    fn resolved_addresses_are_separate_from_those_added_by_rules() {
        let list = List::new(1).expect("address space");
        let far = 1 << 100;
        assert!(!list.has(7, Instant::ZERO) && !list.remove_named(7));

        assert!(list.enter_named(7) && list.enter_named(far) && list.add(7, None, Instant::ZERO));
        assert!(list.has(7, Instant::ZERO) && list.has(far, Instant::ZERO));
        assert!(!list.has(8, Instant::ZERO));
        assert_eq!(list.added(Instant::ZERO).count(), 1);

        assert!(list.remove(7) && list.has(7, Instant::ZERO));
        assert!(list.remove_named(7) && !list.has(7, Instant::ZERO));
        assert!(list.has(far, Instant::ZERO));
    }

    #[test]
    fn an_address_added_by_one_worker_is_visible_to_all() {
        let list = List::new(1).expect("address space");
        std::thread::scope(|scope| {
            for worker in 0..2_u128 {
                let list = &list;
                scope.spawn(move || {
                    for address in 0..5000 {
                        assert!(list.add(address, None, Instant::ZERO));
                        assert!(list.add(address << 80 | worker, None, Instant::ZERO));
                        assert!(list.has(address, Instant::ZERO));
                    }
                });
            }
        });
        // Two of the shifted addresses are 0 and 1.
        assert_eq!(list.added(Instant::ZERO).count(), 5000 + 2 * 4999);
        assert_eq!(list.refused(), 0);
    }
}
