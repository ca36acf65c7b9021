//! What is one worker's alone: counters of rules, the clock, the random source.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use machine::{Instant, Rng};
use packet::count::{Pair, Traffic};

use super::list::List;
use super::stream::{Kept, Streams};
use super::subject::Clock;

/// Rules whose counters share a page.
const PAGE: usize = 256;
/// How many pages there can be: a million rules in the life of a process.
const PAGES: usize = 4096;

/// The counters of one rule.
#[derive(Debug, Default)]
struct Hits {
    traffic: Pair,
    /// Nanoseconds; 0 is never.
    last: AtomicU64,
}

/// The counters of all rules, written by one worker and read by anybody.
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
    /// Makes room for this rule and those of its page. Control calls it before it publishes a rule.
    ///
    /// # Errors
    /// False when the id is beyond what can be counted (2^20); such a rule counts nothing.
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

    /// The same of several packets.
    #[inline(always)]
    pub fn count_all(&self, rule: u32, traffic: Traffic, now: Instant) {
        if let Some(hits) = self.hits(rule) {
            hits.traffic.add(traffic.packets, traffic.bytes);
            hits.last.store(now.as_nanos(), Ordering::Relaxed);
        }
    }

    /// What a rule counted, and when last.
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

/// See the module.
#[derive(Debug)]
pub struct Worker {
    /// The time of the vector; whoever walks it sets this first.
    pub clock: Clock,
    pub(super) counters: Arc<RuleCounters>,
    pub(super) rng: Rng,
    pub(super) streams: Streams,
    /// What rules would have entered into lists where nothing is committed: the list and the address.
    supposed: Vec<(u32, u128)>,
}

impl Worker {
    /// A worker that counts there; `seed` begins its random source.
    pub fn new(counters: Arc<RuleCounters>, seed: u64) -> Self {
        Self {
            clock: Clock::default(),
            counters,
            rng: Rng::seeded(seed),
            streams: Streams::default(),
            supposed: Vec::new(),
        }
    }

    /// Whether a list has an address, or would have by now.
    #[inline]
    pub(super) fn finds(&self, list: &List, address: u128) -> bool {
        let supposed = || self.supposed.contains(&(list.number, address));
        list.has(address, self.clock.now) || !self.supposed.is_empty() && supposed()
    }

    /// Takes an address to be in a list from here on.
    pub(super) fn suppose(&mut self, list: &List, address: u128) {
        self.supposed.push((list.number, address));
    }

    /// A number that nobody can guess from those before.
    #[inline]
    pub fn random(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// The connection that the last packet began is in the table, and keeps what the packet's changes
    /// say of its stream.
    #[inline]
    pub fn begun(&mut self) {
        self.streams.begun();
    }

    /// A connection ended that kept this of its stream.
    #[inline]
    pub fn forget(&mut self, kept: Kept) {
        self.streams.forget(kept);
    }

    /// The clocks that it took to match what connections carry, since this was asked last.
    pub fn take_stream_clocks(&mut self) -> u64 {
        core::mem::take(&mut self.streams.clocks)
    }

    /// Counts a packet of so many bytes for a rule.
    #[inline(always)]
    pub fn count(&self, rule: u32, bytes: u32) {
        self.counters.count(rule, bytes, self.clock.now);
    }

    /// Counts packets for a rule, if there are any.
    #[inline(always)]
    pub fn count_all(&self, rule: u32, traffic: Traffic) {
        if traffic.packets > 0 {
            self.counters.count_all(rule, traffic, self.clock.now);
        }
    }
}
