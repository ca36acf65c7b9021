//! Changes of queues that control sends to workers. Every worker gets all changes, in one order.

use std::sync::Arc;

use frame::InterfaceId;
use queue::{Leaf, Match, Node, Order};

use crate::out::OutId;

/// The leaves of a simple queue. A packet passes the leaf of its direction, then the leaf of both
/// directions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// For packets from the target.
    pub up: Option<Arc<Leaf>>,
    /// For packets to the target.
    pub down: Option<Arc<Leaf>>,
    /// For both directions together.
    pub total: Option<Arc<Leaf>>,
}

/// A change of the queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A simple queue was added or changed.
    Simple {
        /// Its number.
        id: u64,
        /// Its unique position in the list.
        order: Order,
        /// The packets that it applies to.
        matches: Match,
        /// The matches of its parent queues, which must match, too.
        within: Vec<Match>,
        /// Its leaves.
        queue: Simple,
    },
    /// The simple queue with this number was removed.
    NoSimple(u64),
    /// A leaf of a `global` queue tree was added or changed: number, packet marks and leaf. A leaf
    /// without marks takes the packets that no other leaf matches.
    Global(u64, Vec<u32>, Arc<Leaf>),
    /// The leaf with this number was removed from the `global` queue trees.
    NoGlobal(u64),
    /// An interface got queues: its frames leave by `OutId::queue`, and the queues send to this
    /// out.
    Interface(InterfaceId, OutId),
    /// A leaf of an interface's queue tree was added or changed, as for `Global`.
    Leaf(InterfaceId, u64, Vec<u32>, Arc<Leaf>),
    /// A leaf was removed from an interface's queue tree.
    NoLeaf(InterfaceId, u64),
    /// A node was removed and is unreachable: its waiting packets continue. The nodes below it are
    /// removed first.
    Gone(Arc<Node>),
    /// A leaf changed its queue discipline.
    Kind(Arc<Leaf>),
}
