//! A node: one queue of a tree of queues, as all workers see it.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

use machine::{Duration, Instant};

use crate::burst::Burst;
use crate::gate::{Gate, ticks};

/// Levels of queues within each other, at most.
pub(crate) const DEPTH: usize = 8;

/// What an administrator says of a queue in one direction. Rates are bits per second, 0: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What it gets whatever others want.
    pub limit_at: u64,
    /// What it never exceeds.
    pub max_limit: u64,
    /// What it may exceed that by, for a while.
    pub burst_limit: u64,
    /// Below this average it may.
    pub burst_threshold: u64,
    /// The time of that average.
    pub burst_time: Duration,
    /// What is saved up while nothing passes, in thousandths of a second of its rates.
    pub bucket: u64,
    /// Who comes first where there is not enough for all: 1 to 8, 1 first.
    pub priority: u8,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            limit_at: 0,
            max_limit: 0,
            burst_limit: 0,
            burst_threshold: 0,
            burst_time: Duration::ZERO,
            bucket: 100,
            priority: 8,
        }
    }
}

/// What a node is made of.
#[derive(Debug)]
pub struct Settings {
    /// A number of its own.
    pub id: u64,
    /// The worker on which packets of its tree wait; the same for a whole tree.
    pub home: u16,
    /// What it lies in.
    pub parent: Option<Arc<Node>>,
    /// Its limits.
    pub limits: Limits,
    /// Its discipline holds packets back by itself, so that all go by it.
    pub shapes: bool,
    /// Several workers let packets pass at the same time.
    pub shared: bool,
}

/// What a node has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that passed, those that lie in it included.
    pub packets: u64,
    /// The same in bytes.
    pub bytes: u64,
    /// Packets that were dropped.
    pub dropped: u64,
    /// Packets that wait.
    pub queued_packets: u64,
    /// Bytes that wait.
    pub queued_bytes: u64,
    /// Streams of a PCQ.
    pub streams: u32,
    /// Packets that found its own limit reached.
    pub by_own: u64,
    /// Packets that found the limit reached of what it lies in.
    pub by_parent: u64,
}

/// See the module. What it says of rates can change at any time; what it lies in stays.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Node {
    // What a packet that passes touches lies together.
    parent: Option<Arc<Self>>,
    /// How many packets of the tree wait; of the tree's root.
    waiting: AtomicU32,
    shapes: AtomicBool,
    bursts: AtomicBool,
    shared: bool,
    priority: AtomicU8,
    /// The rate that it never exceeds, and that which it is guaranteed.
    pub(crate) ceiling: Gate,
    packets: AtomicU64,
    bytes: AtomicU64,
    pub(crate) guarantee: Gate,
    /// Bytes of it at a turn, among those that are alike.
    pub(crate) quantum: AtomicU32,
    id: u64,
    home: u16,
    burst: Burst,
    pub(crate) dropped: AtomicU64,
    pub(crate) queued_packets: AtomicU64,
    pub(crate) queued_bytes: AtomicU64,
    pub(crate) streams: AtomicU32,
    pub(crate) by_own: AtomicU64,
    pub(crate) by_parent: AtomicU64,
    /// Where its home worker keeps what waits; nobody else reads it.
    pub(crate) place: AtomicU32,
}

/// A node is itself alone.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Eq for Node {}

/// What a node may do at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Packets pass by what it has itself.
    Sends,
    /// They pass if what it lies in lends.
    Borrows,
    /// It has reached its limit.
    Waits,
}

/// No place.
pub(crate) const NOWHERE: u32 = u32::MAX;
/// Bytes at a turn, least and most: as many as pass in a tenth of a second at its guaranteed rate.
const QUANTUM: (u64, u64) = (1_514, 200_000);

impl Node {
    /// A node that nothing has passed yet.
    pub fn new(settings: Settings) -> Arc<Self> {
        let node = Self {
            id: settings.id,
            home: settings.home,
            parent: settings.parent,
            waiting: AtomicU32::new(0),
            shapes: AtomicBool::new(settings.shapes),
            bursts: AtomicBool::new(false),
            shared: settings.shared,
            priority: AtomicU8::new(0),
            guarantee: Gate::default(),
            ceiling: Gate::default(),
            quantum: AtomicU32::new(0),
            packets: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            burst: Burst::default(),
            dropped: AtomicU64::new(0),
            queued_packets: AtomicU64::new(0),
            queued_bytes: AtomicU64::new(0),
            streams: AtomicU32::new(0),
            by_own: AtomicU64::new(0),
            by_parent: AtomicU64::new(0),
            place: AtomicU32::new(NOWHERE),
        };
        node.set(&settings.limits);
        Arc::new(node)
    }

    /// Other limits, from now on.
    pub fn set(&self, limits: &Limits) {
        self.guarantee.set(limits.limit_at, limits.bucket);
        // RouterOS: the current rate is the highest of limit-at, max-limit and a burst's.
        let most = match limits.max_limit {
            0 => 0,
            most => most.max(limits.limit_at),
        };
        self.ceiling.set(most, limits.bucket);
        let time = ticks(Instant::ZERO + limits.burst_time);
        let burst = limits.burst_limit.max(most);
        let bursts = self.burst.set(burst, limits.burst_threshold, time);
        self.bursts.store(bursts, Relaxed);
        let quantum = (limits.limit_at / 80).clamp(QUANTUM.0, QUANTUM.1);
        self.quantum.store(quantum as u32, Relaxed);
        self.priority
            .store(limits.priority.clamp(1, 8) - 1, Relaxed);
    }

    /// Whether its discipline holds packets back by itself.
    pub fn set_shapes(&self, shapes: bool) {
        self.shapes.store(shapes, Relaxed);
    }

    /// Its number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The worker on which packets of its tree wait.
    pub fn home(&self) -> u16 {
        self.home
    }

    /// What it lies in.
    pub fn parent(&self) -> Option<&Arc<Self>> {
        self.parent.as_ref()
    }

    /// What it has counted.
    pub fn counts(&self) -> Counts {
        Counts {
            packets: self.packets.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            queued_packets: self.queued_packets.load(Relaxed),
            queued_bytes: self.queued_bytes.load(Relaxed),
            streams: self.streams.load(Relaxed),
            by_own: self.by_own.load(Relaxed),
            by_parent: self.by_parent.load(Relaxed),
        }
    }

    /// Lets a packet of this leaf pass if nothing of its tree waits and all limits allow it, and counts it.
    #[inline]
    pub fn pass(&self, bytes: u32, now: Instant) -> bool {
        if self.shapes.load(Relaxed) || self.root().waiting.load(Relaxed) != 0 {
            return false;
        }
        let now = ticks(now);
        match self.lender(now) {
            Some(level) => {
                self.charge(bytes, now, level);
                true
            }
            None => false,
        }
    }

    /// How far up a packet that passes borrows: 0 is the leaf itself; none where it may not pass.
    #[inline]
    fn lender(&self, now: u64) -> Option<usize> {
        let mut node = self;
        for level in 0..DEPTH {
            match node.mode(now) {
                Mode::Sends => return Some(level),
                Mode::Waits => return None,
                Mode::Borrows => node = node.parent.as_deref()?,
            }
        }
        None
    }

    /// What it may do.
    #[inline]
    pub(crate) fn mode(&self, now: u64) -> Mode {
        if self.guarantee.is_set() && self.guarantee.opens_at() <= now {
            Mode::Sends
        } else if self.ceiling.opens_at() > now {
            Mode::Waits
        } else if self.parent.is_some() {
            Mode::Borrows
        } else {
            Mode::Sends
        }
    }

    /// When its mode changes though nothing passes.
    pub(crate) fn changes_at(&self, now: u64) -> u64 {
        let gates = [self.guarantee.opens_at(), self.ceiling.opens_at()];
        let next = gates.into_iter().filter(|at| *at > now).min();
        let burst = self.burst.changes_at(now);
        next.into_iter().chain(burst).min().unwrap_or(u64::MAX)
    }

    /// A packet passes that is lent tokens by the node `level` levels above.
    #[inline]
    pub(crate) fn charge(&self, bytes: u32, now: u64, level: usize) {
        let mut node = self;
        let mut at = 0;
        loop {
            node.add(&node.packets, 1);
            node.add(&node.bytes, bytes.into());
            let mut cost = None;
            if node.bursts.load(Relaxed) {
                cost = node.burst.cost(now);
                node.burst.count(bytes, now);
            }
            node.ceiling.charge(bytes, now, cost, node.shared);
            if at >= level {
                node.guarantee.charge(bytes, now, None, node.shared);
            }
            at += 1;
            match node.parent.as_deref() {
                Some(parent) => node = parent,
                None => return,
            }
        }
    }

    /// Adds to what workers alone write: while there is one, without a locked instruction.
    #[inline]
    fn add(&self, counter: &AtomicU64, more: u64) {
        if self.shared {
            counter.fetch_add(more, Relaxed);
        } else {
            counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
        }
    }

    /// A packet of it was dropped before it could wait.
    pub fn lose(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    /// Whose limit keeps its packets waiting: its own, rather than that of what it lies in.
    pub(crate) fn is_limited_itself(&self, now: u64) -> bool {
        self.mode(now) == Mode::Waits
    }

    pub(crate) fn priority(&self) -> u8 {
        self.priority.load(Relaxed)
    }

    pub(crate) fn quantum(&self) -> u32 {
        self.quantum.load(Relaxed)
    }

    /// The root of its tree.
    #[inline]
    pub(crate) fn root(&self) -> &Self {
        let mut node = self;
        while let Some(parent) = node.parent.as_deref() {
            node = parent;
        }
        node
    }

    /// Counts a packet that begins to wait, or ends it.
    pub(crate) fn wait(&self, begins: bool, bytes: u32) {
        let mut node = self;
        loop {
            match begins {
                true => {
                    node.queued_packets.fetch_add(1, Relaxed);
                    node.queued_bytes.fetch_add(bytes.into(), Relaxed);
                }
                false => {
                    node.queued_packets.fetch_sub(1, Relaxed);
                    node.queued_bytes.fetch_sub(bytes.into(), Relaxed);
                }
            }
            match node.parent.as_deref() {
                Some(parent) => node = parent,
                None => break,
            }
        }
        match begins {
            true => node.waiting.fetch_add(1, Relaxed),
            false => node.waiting.fetch_sub(1, Relaxed),
        };
    }
}
