//! What control tells workers of queues. Every worker is told all of it, in the same order.

use std::sync::Arc;

use frame::InterfaceId;
use queue::{Leaf, Match, Node, Order};

use crate::out::OutId;

/// The leaves of a simple queue. Packets meet one of the two directions, then that of both together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// For what comes from the target.
    pub up: Option<Arc<Leaf>>,
    /// For what goes to it.
    pub down: Option<Arc<Leaf>>,
    /// For both together.
    pub total: Option<Arc<Leaf>>,
}

/// Something about queues that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A simple queue, new or other than before.
    Simple {
        /// Its number.
        id: u64,
        /// Its place in the list; no two are alike.
        order: Order,
        /// Which packets it is for.
        matches: Match,
        /// What the queues that it lies in are for: that has to match, too.
        within: Vec<Match>,
        /// Where its packets wait.
        queue: Simple,
    },
    /// A simple queue is no more.
    NoSimple(u64),
    /// A leaf of the trees of `global`, new or other than before; without marks for what no other leaf is for.
    Global(u64, Vec<u32>, Arc<Leaf>),
    /// A leaf of the trees of `global` is no more.
    NoGlobal(u64),
    /// An interface has queues: its frames leave by `OutId::queue`, and behind that by this out.
    Interface(InterfaceId, OutId),
    /// A leaf of the trees of an interface, as for `Global`.
    Leaf(InterfaceId, u64, Vec<u32>, Arc<Leaf>),
    /// It is no more.
    NoLeaf(InterfaceId, u64),
    /// A node is no more, and nothing leads to it: what waits in it goes on. Those within it are told before it.
    Gone(Arc<Node>),
    /// Packets of a leaf wait in this manner from now on.
    Kind(Arc<Leaf>),
}
