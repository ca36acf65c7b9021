//! A branch: one direction of a queue as workers use it.

use std::sync::Arc;

use dataplane::queueing::Change;
use machine::{Duration, Instant};
use queue::{Counts, Kind, Leaf, Limits, Node, Settings};

use super::QueueRequest;
use super::read::Side;
use crate::feature::{Effect, Effects};

/// Allocates node numbers and spreads trees over the workers.
#[derive(Debug)]
pub(super) struct Numbers {
    last: u64,
    /// Number of workers.
    pub(super) workers: u16,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            last: 0,
            workers: 1,
        }
    }
}

/// One direction of a queue: its node, its packets and its rates.
#[derive(Debug)]
pub(super) struct Branch {
    /// Node that is the parent of inner queues.
    pub(super) node: Arc<Node>,
    /// Node that holds the packets of this queue: `node`, or a separate node if the queue has inner queues.
    pub(super) leaf: Option<Arc<Leaf>>,
    /// Counts at the last reset of the counters.
    base: Counts,
    /// Time, bytes and packets of the last rate computation.
    seen: (Instant, u64, u64),
    pub(super) rate: (u64, u64),
}

/// Interval of rate computations.
pub(super) const LOOK: Duration = Duration::from_secs(1);

impl Branch {
    /// Returns a branch within `parent`. `own` is the discipline if packets wait in the queue
    /// itself; `parts` says whether it has inner queues.
    pub(super) fn new(
        numbers: &mut Numbers,
        parent: Option<&Self>,
        side: &Side,
        own: Option<&Kind>,
        parts: bool,
    ) -> Self {
        let node = numbers.node(
            parent.map(|parent| &parent.node),
            &side.limits,
            own.filter(|_| !parts),
        );
        let leaf = own.map(|kind| {
            let node = match parts {
                true => numbers.node(Some(&node), &Limits::default(), own),
                false => Arc::clone(&node),
            };
            Arc::new(Leaf {
                node,
                kind: kind.clone(),
            })
        });
        Self {
            node,
            leaf,
            base: Counts::default(),
            seen: (Instant::ZERO, 0, 0),
            rate: (0, 0),
        }
    }

    /// Changes the discipline. Returns whether it changed.
    pub(super) fn wait_in(&mut self, kind: &Kind, out: &mut Effects) -> bool {
        let Some(leaf) = self.leaf.as_ref().filter(|leaf| leaf.kind != *kind) else {
            return false;
        };
        let leaf = Arc::new(Leaf {
            node: Arc::clone(&leaf.node),
            kind: kind.clone(),
        });
        leaf.node.set_shapes(Leaf::shapes(kind));
        tell(out, Change::Kind(Arc::clone(&leaf)));
        self.leaf = Some(leaf);
        true
    }

    /// Removes the branch from the workers.
    pub(super) fn end(&self, out: &mut Effects) {
        if let Some(leaf) = self.leaf.as_ref().filter(|leaf| leaf.node != self.node) {
            tell(out, Change::Gone(Arc::clone(&leaf.node)));
        }
        tell(out, Change::Gone(Arc::clone(&self.node)));
    }

    /// Returns the numbers of its nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u64> {
        let leaf = self.leaf.as_ref().map(|leaf| leaf.node.id());
        core::iter::once(self.node.id()).chain(leaf)
    }

    /// Returns the counts since the last reset.
    pub(super) fn counts(&self) -> Counts {
        let now = self.node.counts();
        let own = self.leaf.as_ref().filter(|leaf| leaf.node != self.node);
        let own = own.map_or_else(Counts::default, |leaf| leaf.node.counts());
        Counts {
            packets: now.packets.saturating_sub(self.base.packets),
            bytes: now.bytes.saturating_sub(self.base.bytes),
            dropped: (now.dropped + own.dropped).saturating_sub(self.base.dropped),
            streams: now.streams + own.streams,
            ..now
        }
    }

    /// Resets the counters.
    pub(super) fn reset(&mut self) {
        let Counts {
            packets,
            bytes,
            dropped,
            ..
        } = self.counts();
        self.base.packets += packets;
        self.base.bytes += bytes;
        self.base.dropped += dropped;
    }

    /// Computes the rates in bits and packets per second.
    pub(super) fn look(&mut self, now: Instant) {
        let counts = self.node.counts();
        let (then, bytes, packets) =
            core::mem::replace(&mut self.seen, (now, counts.bytes, counts.packets));
        let nanos = now.saturating_since(then).as_nanos().max(1);
        let per_second = |count: u64| (u128::from(count) * 1_000_000_000 / nanos) as u64;
        self.rate = match then == Instant::ZERO {
            true => (0, 0),
            false => (
                per_second((counts.bytes - bytes) * 8),
                per_second(counts.packets - packets),
            ),
        };
    }
}

impl Numbers {
    /// Returns an unused node number.
    pub(super) fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn node(
        &mut self,
        parent: Option<&Arc<Node>>,
        limits: &Limits,
        kind: Option<&Kind>,
    ) -> Arc<Node> {
        let id = self.next();
        let own_home = (id % u64::from(self.workers.max(1))) as u16;
        Node::new(Settings {
            id,
            home: parent.map_or(own_home, |parent| parent.home()),
            parent: parent.cloned(),
            limits: *limits,
            shapes: kind.is_some_and(Leaf::shapes),
            shared: self.workers > 1,
        })
    }
}

/// Sends workers a change without packet marks.
pub(super) fn tell(out: &mut Effects, change: Change) {
    out.push(Effect::Queues(QueueRequest::Change {
        change,
        marks: Vec::new(),
        within: Vec::new(),
    }));
}
