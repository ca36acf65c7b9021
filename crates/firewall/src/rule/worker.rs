//! Firewall state of a single worker: rule counters, clock and random source.

use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use machine::{Instant, Rng};
use packet::count::{Pair, Traffic};

use super::list::List;
use super::stream::{StreamState, Streams};
use super::subject::Clock;

/// Number of rules whose counters share a page.
const PAGE: usize = 256;
/// Maximum number of pages: a million rules during the life of a process.
const PAGES: usize = 4096;

/// Counters of one rule.
#[derive(Debug, Default)]
struct Hits {
    traffic: Pair,
    /// Time of the last match in nanoseconds; 0 for never.
    last: AtomicU64,
}

/// Counters of all rules, written by one worker and readable by any thread.
#[derive(Debug)]
pub struct RuleCounters {
    pages: Box<[OnceLock<Box<[Hits]>>]>,
}

impl Default for RuleCounters {
    fn default() -> Self {
        Self {
            pages: (0..PAGES).map(|_| OnceLock::new()).collect(),
        }
    }
}

impl RuleCounters {
    /// Allocates the counters of a rule's page. The control plane calls this before it publishes a rule.
    ///
    /// # Errors
    /// Returns false if the id exceeds the maximum (2^20); such a rule counts nothing.
    pub fn make_room(&self, rule: u32) -> bool {
        let Some(page) = self.pages.get(rule as usize / PAGE) else {
            return false;
        };
        page.get_or_init(|| (0..PAGE).map(|_| Hits::default()).collect());
        true
    }

    #[inline(always)]
    fn hits(&self, rule: u32) -> Option<&Hits> {
        let page = self.pages.get(rule as usize / PAGE)?.get()?;
        page.get(rule as usize % PAGE)
    }

    /// Counts a packet of `bytes` bytes; only the owner calls this.
    #[inline(always)]
    pub fn count(&self, rule: u32, bytes: u32, now: Instant) {
        let (packets, bytes) = (1, u64::from(bytes));
        self.count_all(rule, Traffic { packets, bytes }, now);
    }

    /// Counts several packets; only the owner calls this.
    #[inline(always)]
    pub fn count_all(&self, rule: u32, traffic: Traffic, now: Instant) {
        if let Some(hits) = self.hits(rule) {
            hits.traffic.add(traffic.packets, traffic.bytes);
            hits.last.store(now.as_nanos(), Ordering::Relaxed);
        }
    }

    /// Returns a rule's counters and the time of its last match.
    pub fn get(&self, rule: u32) -> (Traffic, Option<Instant>) {
        let Some(hits) = self.hits(rule) else {
            return (Traffic::default(), None);
        };
        let last = match hits.last.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Instant::from_nanos(nanos)),
        };
        (hits.traffic.get(), last)
    }
}

/// Firewall state of a worker.
#[derive(Debug)]
pub struct Worker {
    /// The time of the current vector; the caller sets it before the first packet.
    pub clock: Clock,
    pub(super) counters: Arc<RuleCounters>,
    pub(super) rng: Rng,
    pub(super) streams: Streams,
    /// Without commits: list entries that rules would have added, as list and address.
    supposed: Vec<(u32, u128)>,
    /// Whether a profile samples the current packets, and the rules that counted them.
    is_sampled: Cell<bool>,
    sampled: RefCell<Vec<(u32, u32)>>,
}

/// Maximum number of different rules, in a row, in a sample; further ones are left out.
const SAMPLED: usize = 512;

impl Worker {
    /// Creates a worker with these counters; `seed` initialises its random source.
    pub fn new(counters: Arc<RuleCounters>, seed: u64) -> Self {
        Self {
            clock: Clock::default(),
            counters,
            rng: Rng::seeded(seed),
            streams: Streams::default(),
            supposed: Vec::new(),
            is_sampled: Cell::new(false),
            sampled: RefCell::new(Vec::with_capacity(SAMPLED)),
        }
    }

    /// Begins a sample for a profile: notes the rules that count packets.
    pub fn begin_sample(&mut self) {
        self.sampled.get_mut().clear();
        self.is_sampled.set(true);
    }

    /// Ends a sample. Passes each rule that counted packets, with their number, to `each`.
    pub fn end_sample(&mut self, mut each: impl FnMut(u32, u32)) {
        self.is_sampled.set(false);
        let sampled = self.sampled.get_mut();
        sampled
            .drain(..)
            .for_each(|(rule, packets)| each(rule, packets));
    }

    #[cold]
    fn note(&self, rule: u32, packets: u64) {
        let mut sampled = self.sampled.borrow_mut();
        let packets = u32::try_from(packets).unwrap_or(u32::MAX);
        if let Some((last, count)) = sampled.last_mut()
            && *last == rule
        {
            *count = count.saturating_add(packets);
        } else if sampled.len() < SAMPLED {
            sampled.push((rule, packets));
        }
    }

    /// Returns true if a list contains an address, or would contain it with commits.
    #[inline]
    pub(super) fn finds(&self, list: &List, address: u128) -> bool {
        let supposed = || self.supposed.contains(&(list.number, address));
        list.has(address, self.clock.now) || !self.supposed.is_empty() && supposed()
    }

    /// Records an address that a rule would have added to a list.
    pub(super) fn suppose(&mut self, list: &List, address: u128) {
        self.supposed.push((list.number, address));
    }

    /// Returns an unpredictable random number.
    #[inline]
    pub fn random(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Confirms that the connection of the last first packet entered the table, with the stream state of the
    /// packet's changes.
    #[inline]
    pub fn begun(&mut self) {
        self.streams.begun();
    }

    /// Frees the stream state of a connection that has ended.
    #[inline]
    pub fn forget(&mut self, kept: StreamState) {
        self.streams.forget(kept);
    }

    /// Returns the cycles spent on reading payload since the last call.
    pub fn take_stream_clocks(&mut self) -> u64 {
        core::mem::take(&mut self.streams.clocks)
    }

    /// Counts a packet of `bytes` bytes for a rule.
    #[inline(always)]
    pub fn count(&self, rule: u32, bytes: u32) {
        if self.is_sampled.get() {
            self.note(rule, 1);
        }
        self.counters.count(rule, bytes, self.clock.now);
    }

    /// Counts packets for a rule; without effect if there are none.
    #[inline(always)]
    pub fn count_all(&self, rule: u32, traffic: Traffic) {
        if traffic.packets > 0 {
            if self.is_sampled.get() {
                self.note(rule, traffic.packets);
            }
            self.counters.count_all(rule, traffic, self.clock.now);
        }
    }
}
