//! The connection tables of all workers: only the owner writes an entry, any thread may read it.
//!
//! An entry's version is odd while the owner changes its identity (seqlock); a reader that copies a whole
//! entry retries if the version changed. Counters, times and TCP state change without a new version: each
//! word is consistent by itself.

use core::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Arc, OnceLock};

use kernels::{Pages, Zeroed};

use super::entry::Entry;
use super::expectation::EXPECTATIONS_MAX;
use super::hash::Keys;
use super::id::{EntryId, SLOTS_MAX, Slot, WORKERS_MAX};
use super::index::SharedBuckets;
use super::layout::{Cold, Ipv4, Ipv6, Layout, Line, SHARED, line_of, load, shared};
use super::row::{Row, Words};
use super::shared_expectations::SharedExpectations;
use crate::nat::Mappings;

/// The entries of one worker and one family.
#[derive(Debug)]
pub(super) struct Entries<F> {
    lines: Zeroed<Line>,
    cold: Zeroed<Cold>,
    /// Upper bound of the entries in use: higher entries were never written.
    used: AtomicU32,
    /// Number of FastTracked connections. Only the owner writes it.
    fasttracked: AtomicU32,
    capacity: u32,
    /// The buckets of the owner's index.
    shared: Arc<SharedBuckets>,
    of: core::marker::PhantomData<F>,
}

impl<F: Layout> Entries<F> {
    fn new(capacity: u32) -> std::io::Result<Self> {
        let entries = capacity as usize;
        Ok(Self {
            lines: Zeroed::new(entries * F::LINES, Pages::Huge)?,
            cold: Zeroed::new(entries, Pages::Huge)?,
            used: AtomicU32::new(0),
            fasttracked: AtomicU32::new(0),
            capacity,
            shared: Arc::new(SharedBuckets::new(entries * 2)?),
            of: core::marker::PhantomData,
        })
    }

    /// Returns the buckets of the owner's index.
    pub(super) fn shared_buckets(&self) -> &Arc<SharedBuckets> {
        &self.shared
    }

    /// Returns the upper bound of the entries in use.
    pub(super) fn used(&self) -> u32 {
        self.used.load(Ordering::Acquire)
    }

    /// Adds one entry to those in use; `None` at the capacity. Only the owner calls this.
    pub(super) fn extend(&self) -> Option<u32> {
        let place = self.used.load(Ordering::Relaxed);
        if place >= self.capacity {
            return None;
        }
        self.used.store(place + 1, Ordering::Release);
        Some(place)
    }

    /// Increments the number of FastTracked connections. Only the owner calls this.
    pub(super) fn begin_fasttrack(&self) {
        let now = self.fasttracked.load(Ordering::Relaxed);
        self.fasttracked.store(now + 1, Ordering::Relaxed);
    }

    /// Decrements the number of FastTracked connections. Only the owner calls this.
    pub(super) fn end_fasttrack(&self) {
        let now = self.fasttracked.load(Ordering::Relaxed);
        debug_assert!(now > 0, "it was counted when it began");
        self.fasttracked
            .store(now.saturating_sub(1), Ordering::Relaxed);
    }

    /// Returns the entry at an index, which must be below the capacity.
    #[inline(always)]
    pub(super) fn at(&self, place: u32) -> Entry<'_, F> {
        let place = place as usize;
        Entry {
            lines: &self.lines[place * F::LINES..][..F::LINES],
            cold: &self.cold,
            place,
            of: core::marker::PhantomData,
        }
    }

    /// Returns the lines of the entries for use in loops.
    #[inline(always)]
    pub(super) fn lines(&self) -> Lines<'_, F> {
        Lines {
            lines: &self.lines,
            of: core::marker::PhantomData,
        }
    }

    /// Copies an entry consistently; `None` if the index was never used.
    pub(super) fn read(&self, place: u32) -> Option<Words> {
        let entry = (place < self.used()).then(|| self.at(place))?;
        loop {
            let version = entry.shared(shared::VERSION).load(Ordering::Acquire);
            if version & 1 == 0 {
                let words = entry.words();
                fence(Ordering::Acquire);
                if load(entry.shared(shared::VERSION)) == version {
                    return Some(words);
                }
            }
            core::hint::spin_loop();
        }
    }

    /// Returns the row of a slot; `None` if it holds no connection.
    fn row(&self, slot: Slot) -> Option<Row> {
        Row::of::<F>(slot, &self.read(slot.place())?)
    }
}

/// References to the lines of all entries, which a loop keeps in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines<'a, F> {
    lines: &'a [Line],
    of: core::marker::PhantomData<F>,
}

impl<'a, F: Layout> Lines<'a, F> {
    /// Returns the line number of a direction of an entry.
    #[inline(always)]
    pub(super) fn number(place: u32, reply: bool) -> u32 {
        place * F::LINES as u32 + line_of(reply) as u32
    }

    /// Returns the shared line of an entry, given the line number of a direction.
    #[inline(always)]
    pub(super) fn shared(self, number: u32, reply: bool) -> &'a Line {
        self.line(number - line_of(reply) as u32 + SHARED as u32)
    }

    /// Returns a line of an entry below the capacity.
    #[inline(always)]
    pub(super) fn line(self, number: u32) -> &'a Line {
        &self.lines[number as usize]
    }

    /// Prefetches a line.
    #[inline(always)]
    pub(super) fn prefetch(self, number: u32) {
        kernels::prefetch(self.line(number));
    }

    /// Prefetches the shared line of an entry.
    #[inline(always)]
    pub(super) fn prefetch_shared(self, place: u32) {
        self.prefetch(Self::number(place, false) + SHARED as u32);
    }

    /// Returns the line that holds a direction's rewrite.
    #[inline(always)]
    pub(super) fn rewrite(self, place: u32, reply: bool) -> &'a Line {
        let line = F::RATE_LINE[usize::from(reply)];
        self.line(Self::number(place, false) + line as u32)
    }

    /// Prefetches the line that holds a direction's rewrite.
    #[inline(always)]
    pub(super) fn prefetch_rewrite(self, place: u32, reply: bool) {
        kernels::prefetch(self.rewrite(place, reply));
    }
}

/// The entries of one worker.
#[derive(Debug)]
struct Part {
    ipv4: Arc<Entries<Ipv4>>,
    ipv6: Arc<Entries<Ipv6>>,
    /// The owner's expectations.
    expectations: Arc<SharedExpectations>,
    /// Keys of the owner's hash, once set.
    keys: OnceLock<Keys>,
}

/// All connections of a router.
#[derive(Debug)]
pub struct Table {
    parts: Box<[Part]>,
    /// Number of entries: IPv4, IPv6.
    totals: [AtomicU32; 2],
    /// NAT mappings, from the first rule on that needs them.
    mappings: OnceLock<Arc<Mappings>>,
}

/// Entries beyond the maximum: those freed in this tick are not reused before the next.
const SPARE_SLOTS: u32 = 4_096;

impl Table {
    /// Creates a table for `workers` workers (at most 128) and `entries_max` entries in total. Each worker
    /// reserves address space for all of them (at most 16 million per family); the kernel commits memory as
    /// entries are used.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub fn new(workers: u16, entries_max: u32) -> std::io::Result<Arc<Self>> {
        let capacity = entries_max.saturating_add(SPARE_SLOTS).min(SLOTS_MAX);
        let parts = (0..workers.clamp(1, WORKERS_MAX)).map(|_| {
            Ok(Part {
                ipv4: Arc::new(Entries::new(capacity)?),
                ipv6: Arc::new(Entries::new(capacity)?),
                expectations: Arc::new(SharedExpectations::new(EXPECTATIONS_MAX)?),
                keys: OnceLock::new(),
            })
        });
        Ok(Arc::new(Self {
            parts: parts.collect::<std::io::Result<_>>()?,
            totals: Default::default(),
            mappings: OnceLock::new(),
        }))
    }

    /// Returns the mappings of endpoint-independent NAT; `None` before [`Self::set_mappings`].
    #[inline]
    pub fn mappings(&self) -> Option<&Arc<Mappings>> {
        self.mappings.get()
    }

    /// Sets the mappings of endpoint-independent NAT. Connections refer to them, so they stay for the life of
    /// the table and further calls have no effect.
    pub fn set_mappings(&self, mappings: Arc<Mappings>) {
        // A second value is dropped: connections refer to the first.
        let _ = self.mappings.set(mappings);
    }

    /// `total-ip4-entries` and `total-ip6-entries`.
    pub fn totals(&self) -> (u32, u32) {
        let [ipv4, ipv6] = &self.totals;
        (ipv4.load(Ordering::Relaxed), ipv6.load(Ordering::Relaxed))
    }

    /// Returns the number of FastTracked connections of a family.
    pub fn fasttracked(&self, ipv6: bool) -> u32 {
        let marked = self.parts.iter().map(|part| match ipv6 {
            true => &part.ipv6.fasttracked,
            false => &part.ipv4.fasttracked,
        });
        marked.map(|marked| marked.load(Ordering::Relaxed)).sum()
    }

    /// Iterates over the connections of a family, worker by worker. Each row is consistent; a connection that
    /// begins or ends meanwhile may be missing.
    pub fn rows(&self, ipv6: bool) -> impl Iterator<Item = Row> + '_ {
        self.places(ipv6, 0).filter_map(|(_, row)| row)
    }

    /// Iterates over the entries of a family from position `from` (0 first). Yields the position after each
    /// entry and its connection, if any.
    pub fn places(&self, ipv6: bool, from: u64) -> impl Iterator<Item = (u64, Option<Row>)> + '_ {
        let first = (from >> 32) as usize;
        let parts = self.parts.iter().zip(0u16..).skip(first);
        parts.flat_map(move |(part, worker)| {
            let used = if ipv6 {
                part.ipv6.used()
            } else {
                part.ipv4.used()
            };
            let begin = if usize::from(worker) == first {
                from as u32
            } else {
                0
            };
            (begin..used).map(move |place| {
                let next = u64::from(worker) << 32 | (u64::from(place) + 1);
                (next, self.at(Slot::new(ipv6, worker, place)))
            })
        })
    }

    /// Returns the connection with this id, if it still exists.
    pub fn row(&self, id: EntryId) -> Option<Row> {
        self.at(id.slot).filter(|row| row.id == id)
    }

    fn at(&self, slot: Slot) -> Option<Row> {
        let part = self.parts.get(usize::from(slot.worker()))?;
        if slot.is_ipv6() {
            part.ipv6.row(slot)
        } else {
            part.ipv4.row(slot)
        }
    }

    /// Returns the number of workers that share the table.
    pub(super) fn workers(&self) -> usize {
        self.parts.len()
    }

    /// Iterates over the workers that have a tracker: hash keys, IPv4 entries, IPv6 entries.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&Keys, &Entries<Ipv4>, &Entries<Ipv6>)> {
        let parts = self.parts.iter();
        parts.filter_map(|part| Some((part.keys.get()?, &*part.ipv4, &*part.ipv6)))
    }

    /// Returns the entries of a worker for its tracker and sets its hash keys.
    pub(super) fn part(&self, worker: u16, keys: Keys) -> (Arc<Entries<Ipv4>>, Arc<Entries<Ipv6>>) {
        let part = &self.parts[usize::from(worker) % self.parts.len()];
        // A second tracker for a worker is a programming error.
        let fresh = part.keys.set(keys).is_ok();
        debug_assert!(fresh, "each worker has one tracker");
        (Arc::clone(&part.ipv4), Arc::clone(&part.ipv6))
    }

    /// Iterates over the expectation tables of all workers.
    pub(super) fn shared_expectations(&self) -> impl Iterator<Item = &Arc<SharedExpectations>> {
        self.parts.iter().map(|part| &part.expectations)
    }

    /// Counts one more entry, unless there are `max` already.
    pub(super) fn admit(&self, ipv6: bool, max: u32) -> bool {
        let (ipv4_now, ipv6_now) = self.totals();
        if ipv4_now.saturating_add(ipv6_now) >= max {
            return false;
        }
        // Workers that race here exceed the limit by their number at most.
        self.count(ipv6);
        true
    }

    /// Counts one more entry.
    pub(super) fn count(&self, ipv6: bool) {
        self.totals[usize::from(ipv6)].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns true if there are more than `max` entries.
    pub(super) fn is_over(&self, max: u32) -> bool {
        let (ipv4, ipv6) = self.totals();
        ipv4.saturating_add(ipv6) > max
    }

    /// Counts one entry less.
    pub(super) fn dismiss(&self, ipv6: bool) {
        self.totals[usize::from(ipv6)].fetch_sub(1, Ordering::Relaxed);
    }
}
