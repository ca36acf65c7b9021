//! The entries of all workers: written by their owner, read by anybody.
//!
//! A slot's version is odd while the owner changes what it is about; who reads it all for a row
//! reads again when the version moved. Counters, times and TCP's numbers change under the same
//! version: each is a word, whole by itself.

use core::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Arc, OnceLock};

use kernels::{Pages, Zeroed};

use super::board::Board;
use super::entry::Entry;
use super::expectation::EXPECTATIONS_MAX;
use super::hash::Keys;
use super::id::{EntryId, SLOTS_MAX, Slot, WORKERS_MAX};
use super::index::Shelf;
use super::layout::{Cold, Ipv4, Ipv6, Layout, Line, SHARED, line_of, load, shared};
use super::row::{Row, Words};
use crate::nat::Mappings;

/// One family's entries of one worker.
#[derive(Debug)]
pub(super) struct Entries<F> {
    lines: Zeroed<Line>,
    cold: Zeroed<Cold>,
    /// Places below this one were used at some time.
    used: AtomicU32,
    /// How many are marked for FastTrack. Only the owner counts.
    fasttracked: AtomicU32,
    capacity: u32,
    /// Of its owner's index.
    shelf: Arc<Shelf>,
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
            shelf: Arc::new(Shelf::new(entries * 2)?),
            of: core::marker::PhantomData,
        })
    }

    /// Where its owner's index has their tuples.
    pub(super) fn shelf(&self) -> &Arc<Shelf> {
        &self.shelf
    }

    /// Places below this one were used at some time.
    pub(super) fn used(&self) -> u32 {
        self.used.load(Ordering::Acquire)
    }

    /// Begins to use one more place; none when all were used. Only the owner calls this.
    pub(super) fn extend(&self) -> Option<u32> {
        let place = self.used.load(Ordering::Relaxed);
        if place >= self.capacity {
            return None;
        }
        self.used.store(place + 1, Ordering::Release);
        Some(place)
    }

    /// Counts one more that is marked for FastTrack. Only the owner calls this.
    pub(super) fn begin_fasttrack(&self) {
        let now = self.fasttracked.load(Ordering::Relaxed);
        self.fasttracked.store(now + 1, Ordering::Relaxed);
    }

    /// Counts one less. Only the owner calls this.
    pub(super) fn end_fasttrack(&self) {
        let now = self.fasttracked.load(Ordering::Relaxed);
        debug_assert!(now > 0, "it was counted when it began");
        self.fasttracked
            .store(now.saturating_sub(1), Ordering::Relaxed);
    }

    /// The entry at a place, which is below the capacity.
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

    /// Their lines, for loops.
    #[inline(always)]
    pub(super) fn lines(&self) -> Lines<'_, F> {
        Lines {
            lines: &self.lines,
            of: core::marker::PhantomData,
        }
    }

    /// Copies a place; none when it was never used.
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

    /// Reads a place for a row, none when no connection is there.
    fn row(&self, slot: Slot) -> Option<Row> {
        Row::of::<F>(slot, &self.read(slot.place())?)
    }
}

/// The lines of all entries: a copy of what leads to them, which a loop keeps in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines<'a, F> {
    lines: &'a [Line],
    of: core::marker::PhantomData<F>,
}

impl<'a, F: Layout> Lines<'a, F> {
    /// The number of the line of a direction of the entry at a place.
    #[inline(always)]
    pub(super) fn number(place: u32, reply: bool) -> u32 {
        place * F::LINES as u32 + line_of(reply) as u32
    }

    /// The line that both directions of an entry share, by the number of one's.
    #[inline(always)]
    pub(super) fn shared(self, number: u32, reply: bool) -> &'a Line {
        self.line(number - line_of(reply) as u32 + SHARED as u32)
    }

    /// A line, which is of an entry below the capacity.
    #[inline(always)]
    pub(super) fn line(self, number: u32) -> &'a Line {
        &self.lines[number as usize]
    }

    /// Asks for a line.
    #[inline(always)]
    pub(super) fn prefetch(self, number: u32) {
        kernels::prefetch(self.line(number));
    }

    /// Asks for the line that both directions share.
    #[inline(always)]
    pub(super) fn prefetch_shared(self, place: u32) {
        self.prefetch(Self::number(place, false) + SHARED as u32);
    }

    /// The line of a direction's rewrite.
    #[inline(always)]
    pub(super) fn rewrite(self, place: u32, reply: bool) -> &'a Line {
        let line = F::RATE_LINE[usize::from(reply)];
        self.line(Self::number(place, false) + line as u32)
    }

    /// Asks for that.
    #[inline(always)]
    pub(super) fn prefetch_rewrite(self, place: u32, reply: bool) {
        kernels::prefetch(self.rewrite(place, reply));
    }
}

/// One worker's entries.
#[derive(Debug)]
struct Part {
    ipv4: Arc<Entries<Ipv4>>,
    ipv6: Arc<Entries<Ipv6>>,
    /// What its owner's helpers expect.
    board: Arc<Board>,
    /// Of its owner's hash, as soon as there is one.
    keys: OnceLock<Keys>,
}

/// All connections of a router.
#[derive(Debug)]
pub struct Table {
    parts: Box<[Part]>,
    /// IPv4, IPv6.
    totals: [AtomicU32; 2],
    /// The endpoints that connections are translated by, from the first rule on that wants them.
    mappings: OnceLock<Arc<Mappings>>,
}

/// Slots beyond the most entries: what went in this round is not used again before the next.
const SPARE_SLOTS: u32 = 4_096;

impl Table {
    /// A table for so many workers (at most 128) and entries. Each worker has address space for all
    /// of them (at most 16 million per family); memory is taken as entries are used.
    ///
    /// # Errors
    /// What the kernel says when there is not that much address space.
    pub fn new(workers: u16, entries_max: u32) -> std::io::Result<Arc<Self>> {
        let capacity = entries_max.saturating_add(SPARE_SLOTS).min(SLOTS_MAX);
        let parts = (0..workers.clamp(1, WORKERS_MAX)).map(|_| {
            Ok(Part {
                ipv4: Arc::new(Entries::new(capacity)?),
                ipv6: Arc::new(Entries::new(capacity)?),
                board: Arc::new(Board::new(EXPECTATIONS_MAX)?),
                keys: OnceLock::new(),
            })
        });
        Ok(Arc::new(Self {
            parts: parts.collect::<std::io::Result<_>>()?,
            totals: Default::default(),
            mappings: OnceLock::new(),
        }))
    }

    /// The mappings of endpoint-independent translation; none before [`Self::set_mappings`].
    #[inline]
    pub fn mappings(&self) -> Option<&Arc<Mappings>> {
        self.mappings.get()
    }

    /// Gives connections what endpoint-independent translation keeps. They hold parts of it, so it
    /// stays for as long as the table is there, and a second call changes nothing.
    pub fn set_mappings(&self, mappings: Arc<Mappings>) {
        // A second one is dropped: connections hold parts of the first.
        let _ = self.mappings.set(mappings);
    }

    /// `total-ip4-entries` and `total-ip6-entries`.
    pub fn totals(&self) -> (u32, u32) {
        let [ipv4, ipv6] = &self.totals;
        (ipv4.load(Ordering::Relaxed), ipv6.load(Ordering::Relaxed))
    }

    /// How many connections of a family are marked for FastTrack.
    pub fn fasttracked(&self, ipv6: bool) -> u32 {
        let marked = self.parts.iter().map(|part| match ipv6 {
            true => &part.ipv6.fasttracked,
            false => &part.ipv4.fasttracked,
        });
        marked.map(|marked| marked.load(Ordering::Relaxed)).sum()
    }

    /// The connections of a family, worker by worker, by place. Each row is consistent in itself;
    /// rows that come and go meanwhile may be seen or not. Nothing is kept in memory.
    pub fn rows(&self, ipv6: bool) -> impl Iterator<Item = Row> + '_ {
        self.places(ipv6, 0).filter_map(|(_, row)| row)
    }

    /// The same in pieces: the places of a family from one on, 0 first, each with the one to go on
    /// from and the connection that lies there, if any.
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

    /// The connection with this id, if there still is one.
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

    /// How many workers share it.
    pub(super) fn workers(&self) -> usize {
        self.parts.len()
    }

    /// The entries of each worker that has some, and the keys of its hash: IPv4, IPv6.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&Keys, &Entries<Ipv4>, &Entries<Ipv6>)> {
        let parts = self.parts.iter();
        parts.filter_map(|part| Some((part.keys.get()?, &*part.ipv4, &*part.ipv6)))
    }

    /// A worker's entries, for the worker, whose index has these keys.
    pub(super) fn part(&self, worker: u16, keys: Keys) -> (Arc<Entries<Ipv4>>, Arc<Entries<Ipv6>>) {
        let part = &self.parts[usize::from(worker) % self.parts.len()];
        // A second tracker of the same worker would be a mistake.
        let fresh = part.keys.set(keys).is_ok();
        debug_assert!(fresh, "each worker has one tracker");
        (Arc::clone(&part.ipv4), Arc::clone(&part.ipv6))
    }

    /// What the helpers of each worker expect.
    pub(super) fn boards(&self) -> impl Iterator<Item = &Arc<Board>> {
        self.parts.iter().map(|part| &part.board)
    }

    /// Counts one entry more, unless there are `max` already.
    pub(super) fn admit(&self, ipv6: bool, max: u32) -> bool {
        let (ipv4_now, ipv6_now) = self.totals();
        if ipv4_now.saturating_add(ipv6_now) >= max {
            return false;
        }
        // Workers that meet here exceed the limit by their number at most.
        self.count(ipv6);
        true
    }

    /// Counts one entry more.
    pub(super) fn count(&self, ipv6: bool) {
        self.totals[usize::from(ipv6)].fetch_add(1, Ordering::Relaxed);
    }

    /// Whether there are more than `max`.
    pub(super) fn is_over(&self, max: u32) -> bool {
        let (ipv4, ipv6) = self.totals();
        ipv4.saturating_add(ipv6) > max
    }

    /// Counts one entry less.
    pub(super) fn dismiss(&self, ipv6: bool) {
        self.totals[usize::from(ipv6)].fetch_sub(1, Ordering::Relaxed);
    }
}
