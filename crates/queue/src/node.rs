//! A node: one queue of a tree, shared by all workers.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

use machine::{Duration, Instant};

use crate::burst::Burst;
use crate::gate::{Gate, ticks};

/// Maximum nesting of queues.
pub(crate) const DEPTH: usize = 8;

/// Configured limits of a queue in one direction. Rates are in bits per second; 0 means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Guaranteed rate.
    pub limit_at: u64,
    /// Maximum rate.
    pub max_limit: u64,
    /// Maximum rate during a burst.
    pub burst_limit: u64,
    /// Bursts are allowed while the average rate is below this value.
    pub burst_threshold: u64,
    /// Time over which the average rate is computed.
    pub burst_time: Duration,
    /// Depth of the token buckets, in milliseconds of the rates.
    pub bucket: u64,
    /// Priority for the bandwidth of the parent: 1 (first) to 8.
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

/// Settings of a new node.
#[derive(Debug)]
pub struct Settings {
    /// A unique number.
    pub id: u64,
    /// The worker that holds waiting packets; the same for a whole tree.
    pub home: u16,
    /// The parent.
    pub parent: Option<Arc<Node>>,
    /// The limits.
    pub limits: Limits,
    /// Whether the discipline has a rate limit, so that all packets must pass through the discipline.
    pub shapes: bool,
    /// Whether several workers let packets pass at the same time.
    pub shared: bool,
}

/// Counters of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Forwarded packets, including those of children.
    pub packets: u64,
    /// Forwarded bytes, including those of children.
    pub bytes: u64,
    /// Dropped packets.
    pub dropped: u64,
    /// Waiting packets.
    pub queued_packets: u64,
    /// Waiting bytes.
    pub queued_bytes: u64,
    /// Number of streams of a PCQ.
    pub streams: u32,
    /// Packets that waited because of the node's own limit.
    pub by_own: u64,
    /// Other packets that waited, for example because of a parent's limit.
    pub by_parent: u64,
}

/// A queue of a tree. Its rates can change at any time, its parent never changes.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Node {
    // Fields used for every forwarded packet are adjacent.
    parent: Option<Arc<Self>>,
    /// Number of waiting packets of the tree; used in the root only.
    waiting: AtomicU32,
    shapes: AtomicBool,
    bursts: AtomicBool,
    shared: bool,
    priority: AtomicU8,
    /// Token buckets of the maximum rate and of the guaranteed rate.
    pub(crate) ceiling: Gate,
    packets: AtomicU64,
    bytes: AtomicU64,
    pub(crate) guarantee: Gate,
    /// Bytes per round among nodes of the same priority.
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
    /// Number of the node in the schedule of the home worker; used only there.
    pub(crate) place: AtomicU32,
}

/// Nodes are compared by identity.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Eq for Node {}

/// Permission of a node to send, at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Packets pass by the node's guaranteed rate.
    Sends,
    /// Packets pass if the parent lends tokens.
    Borrows,
    /// The node has reached its maximum rate.
    Waits,
}

/// The node has no number in a schedule.
pub(crate) const NO_CLASS: u32 = u32::MAX;
/// Minimum and maximum bytes per round; between them, a tenth of a second at the guaranteed rate.
const QUANTUM: (u64, u64) = (1_514, 200_000);

impl Node {
    /// Creates a node.
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
            place: AtomicU32::new(NO_CLASS),
        };
        node.set(&settings.limits);
        Arc::new(node)
    }

    /// Changes the limits.
    pub fn set(&self, limits: &Limits) {
        self.guarantee.set(limits.limit_at, limits.bucket);
        // In RouterOS the current rate is the maximum of limit-at, max-limit and the burst rate.
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

    /// Sets whether the discipline has a rate limit.
    pub fn set_shapes(&self, shapes: bool) {
        self.shapes.store(shapes, Relaxed);
    }

    /// Returns the number of the node.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the worker that holds waiting packets of the tree.
    pub fn home(&self) -> u16 {
        self.home
    }

    /// Returns the parent.
    pub fn parent(&self) -> Option<&Arc<Self>> {
        self.parent.as_ref()
    }

    /// Returns the counters.
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

    /// Returns true and counts a packet of this leaf if all limits allow the packet and no packet of the tree
    /// waits.
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

    /// Returns true if the limits allow packets of together `bytes` one after another, whatever their sizes, and no
    /// packet of the tree waits. `of_tree`: the bytes that all leaves of the tree send at this time. False for bursts,
    /// whose rate may change with each packet.
    pub fn admits(&self, bytes: u64, of_tree: u64, now: Instant) -> bool {
        if self.shapes.load(Relaxed) || self.root().waiting.load(Relaxed) != 0 {
            return false;
        }
        let now = ticks(now);
        let (mut node, mut bytes) = (self, bytes);
        // The modes of `mode` must hold until the last byte, also above the lender, where buckets run into debt.
        for level in 0..DEPTH {
            let guarantee = &node.guarantee;
            let is_steady = match guarantee.opens_at() > now {
                // A closed guarantee of the leaf is not charged.
                true => level == 0 || guarantee.may_owe(bytes, now),
                false => guarantee.stays_open(bytes, now),
            };
            if node.bursts.load(Relaxed) || !is_steady || !node.ceiling.stays_open(bytes, now) {
                return false;
            }
            let Some(parent) = node.parent.as_deref() else {
                return true;
            };
            (node, bytes) = (parent, of_tree);
        }
        false
    }

    /// Counts packets of together `bytes` that [`Self::admits`] has allowed, as [`Self::pass`] counts each.
    pub fn charge_all(&self, packets: u64, bytes: u64, now: Instant) {
        let now = ticks(now);
        if let Some(level) = self.lender(now) {
            self.charge_many(packets, bytes, now, level);
        }
    }

    /// Returns the level of the node that lends tokens (0: the leaf itself), or `None` if the packet must
    /// wait.
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

    /// Returns whether the node may send, may borrow from its parent, or must wait.
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

    /// Returns when the mode changes without further packets.
    pub(crate) fn changes_at(&self, now: u64) -> u64 {
        let gates = [self.guarantee.opens_at(), self.ceiling.opens_at()];
        let next = gates.into_iter().filter(|at| *at > now).min();
        let burst = self.burst.changes_at(now);
        next.into_iter().chain(burst).min().unwrap_or(u64::MAX)
    }

    /// Charges a packet that gets tokens from the node `level` levels above.
    #[inline]
    pub(crate) fn charge(&self, bytes: u32, now: u64, level: usize) {
        self.charge_many(1, bytes.into(), now, level);
    }

    /// Charges packets that get tokens from the node `level` levels above.
    #[inline(always)]
    fn charge_many(&self, packets: u64, bytes: u64, now: u64, level: usize) {
        let mut node = self;
        let mut at = 0;
        loop {
            node.add(&node.packets, packets);
            node.add(&node.bytes, bytes);
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

    /// Adds to a counter that only workers write. With one worker, no locked instruction is necessary.
    #[inline]
    fn add(&self, counter: &AtomicU64, more: u64) {
        if self.shared {
            counter.fetch_add(more, Relaxed);
        } else {
            counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
        }
    }

    /// Counts a packet that was dropped before waiting.
    pub fn lose(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    /// Returns true if the node's own limit delays packets, instead of a parent's limit.
    pub(crate) fn is_limited_itself(&self, now: u64) -> bool {
        self.mode(now) == Mode::Waits
    }

    pub(crate) fn priority(&self) -> u8 {
        self.priority.load(Relaxed)
    }

    pub(crate) fn quantum(&self) -> u32 {
        self.quantum.load(Relaxed)
    }

    /// Returns the root of the tree.
    #[inline]
    pub fn root(&self) -> &Self {
        let mut node = self;
        while let Some(parent) = node.parent.as_deref() {
            node = parent;
        }
        node
    }

    /// Counts a packet that begins or ends waiting.
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
