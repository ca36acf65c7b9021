//! The entries of all workers: written by their owner, read by anybody.
//!
//! A slot's version is odd while the owner changes what it is about; who reads it all for a row
//! reads again when the version moved. Counters, times and TCP's numbers change under the same
//! version: each is a word, whole by itself.

use core::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Arc, OnceLock};

use kernels::{Pages, Zeroed};

use super::id::{EntryId, SLOTS_MAX, Slot, WORKERS_MAX};
use super::layout::{
    Cold, FLAGS_SHIFT, Ipv4, Ipv6, Layout, Line, SHARED, TUPLE_BITS, flag, half_of, line_of, load,
    own, pair, shared, store,
};
use super::row::{Row, Words};
use super::state::Helper;
use crate::nat::Mappings;

/// One family's entries of one worker.
#[derive(Debug)]
pub(super) struct Entries<F> {
    lines: Zeroed<Line>,
    cold: Zeroed<Cold>,
    /// Places below this one were used at some time.
    used: AtomicU32,
    capacity: u32,
    of: core::marker::PhantomData<F>,
}

/// One connection, in its place.
#[derive(Debug)]
pub(super) struct Entry<'a, F> {
    lines: &'a [Line],
    /// Those of all entries, and which are its.
    cold: &'a [Cold],
    place: usize,
    of: core::marker::PhantomData<F>,
}

impl<F> Clone for Entry<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Entry<'_, F> {}

impl<F: Layout> Entries<F> {
    fn new(capacity: u32) -> std::io::Result<Self> {
        let entries = capacity as usize;
        Ok(Self {
            lines: Zeroed::new(entries * F::LINES, Pages::Huge)?,
            cold: Zeroed::new(entries, Pages::Huge)?,
            used: AtomicU32::new(0),
            capacity,
            of: core::marker::PhantomData,
        })
    }

    /// How many connections fit.
    pub(super) fn capacity(&self) -> u32 {
        self.capacity
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

    /// Reads a place for a row, none when no connection is there.
    fn row(&self, slot: Slot) -> Option<Row> {
        let entry = (slot.place() < self.used()).then(|| self.at(slot.place()))?;
        loop {
            let version = entry.shared(shared::VERSION).load(Ordering::Acquire);
            if version & 1 == 0 {
                let words = entry.words();
                fence(Ordering::Acquire);
                if load(entry.shared(shared::VERSION)) == version {
                    return Row::of::<F>(slot, &words);
                }
            }
            core::hint::spin_loop();
        }
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

/// The flags of the direction whose line this is, where it has this tuple.
#[inline(always)]
pub(super) fn flags_of<F: Layout>(line: &Line, key: &F::Key) -> Option<u8> {
    let key = key.as_ref();
    // Without branches: nearly always all of it is the same.
    let others = (0..F::META).fold(0, |others, word| others | load(&line[word]) ^ key[word]);
    let meta = load(&line[F::META]);
    let same = others | (meta ^ key[F::META]) & TUPLE_BITS == 0;
    same.then_some((meta >> FLAGS_SHIFT) as u8)
}

impl<'a, F: Layout> Entry<'a, F> {
    /// A direction's line.
    #[inline(always)]
    pub(super) fn line(self, reply: bool) -> &'a Line {
        &self.lines[line_of(reply)]
    }

    /// A word of a direction's line.
    #[inline(always)]
    pub(super) fn word(self, reply: bool, word: usize) -> &'a core::sync::atomic::AtomicU64 {
        &self.lines[line_of(reply)][word]
    }

    /// The line that both directions share.
    #[inline(always)]
    pub(super) fn shared_line(self) -> &'a Line {
        &self.lines[SHARED]
    }

    /// A word of the shared line.
    #[inline(always)]
    pub(super) fn shared(self, word: usize) -> &'a core::sync::atomic::AtomicU64 {
        &self.lines[SHARED][word]
    }

    /// A direction's rate and sample, or a word of its rewrite.
    #[inline(always)]
    pub(super) fn rate(self, reply: bool, word: usize) -> &'a core::sync::atomic::AtomicU64 {
        &self.lines[F::RATE_LINE[usize::from(reply)]][F::RATE + word]
    }

    /// A cold word.
    #[inline(always)]
    pub(super) fn cold(self, word: usize) -> &'a core::sync::atomic::AtomicU64 {
        &self.cold[self.place][word]
    }

    /// Whether a direction has this tuple.
    #[inline(always)]
    pub(super) fn is(self, reply: bool, key: &F::Key) -> bool {
        flags_of::<F>(self.line(reply), key).is_some()
    }

    /// The flags that both directions know.
    #[inline(always)]
    pub(super) fn flags(self, reply: bool) -> u8 {
        (load(self.word(reply, F::META)) >> FLAGS_SHIFT) as u8
    }

    /// Sets flags in both directions' lines.
    pub(super) fn set_flags(self, flags: u8) {
        for reply in [false, true] {
            let meta = self.word(reply, F::META);
            store(meta, load(meta) | u64::from(flags) << FLAGS_SHIFT);
        }
    }

    /// The flags that only the shared line knows.
    #[inline(always)]
    pub(super) fn own(self) -> u16 {
        (load(self.shared(shared::STATE)) >> 40) as u16
    }

    /// How many connections lay here before this one.
    #[inline(always)]
    pub(super) fn generation(self) -> u32 {
        half_of(load(self.shared(shared::VERSION)), 1)
    }

    /// Whether a connection lies here.
    #[inline(always)]
    pub(super) fn is_live(self) -> bool {
        self.own() & own::LIVE != 0
    }

    /// Whether a helper expected it.
    pub(super) fn is_expected(self) -> bool {
        self.own() & own::EXPECTED != 0
    }

    /// Whether a helper reads what it carries.
    pub(super) fn is_helped(self) -> bool {
        self.helper() != Helper::None && !self.is_expected()
    }

    /// Whether it is kept when the table is full.
    #[inline(always)]
    pub(super) fn is_assured(self) -> bool {
        self.flags(false) & flag::ASSURED != 0
    }

    /// Changes what the place is about: readers read again.
    pub(super) fn change(self, generation: u32, change: impl FnOnce()) {
        let version = self.shared(shared::VERSION);
        let odd = (load(version) as u32).wrapping_add(1) | 1;
        store(version, pair(odd, generation));
        fence(Ordering::Release);
        change();
        version.store(pair(odd.wrapping_add(1), generation), Ordering::Release);
    }

    /// All words, one after the other.
    fn words(self) -> Words {
        let mut words = Words::default();
        for (copy, line) in words.lines.iter_mut().zip(self.lines) {
            *copy = core::array::from_fn(|word| load(&line[word]));
        }
        words.cold = core::array::from_fn(|word| load(self.cold(word)));
        words
    }
}

/// One worker's entries.
#[derive(Debug)]
struct Part {
    ipv4: Arc<Entries<Ipv4>>,
    ipv6: Arc<Entries<Ipv6>>,
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

    /// A worker's entries.
    pub(super) fn part(&self, worker: u16) -> (Arc<Entries<Ipv4>>, Arc<Entries<Ipv6>>) {
        let part = &self.parts[usize::from(worker) % self.parts.len()];
        (Arc::clone(&part.ipv4), Arc::clone(&part.ipv6))
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
