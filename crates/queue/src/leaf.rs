//! A leaf: a queue in which packets wait.

use std::sync::Arc;

use crate::kind::Kind;
use crate::node::Node;

/// A node, and how packets wait in the node.
#[derive(Debug, PartialEq)]
pub struct Leaf {
    /// Limits and counters.
    pub node: Arc<Node>,
    /// How packets wait.
    pub kind: Kind,
}

impl Eq for Leaf {}

impl Leaf {
    /// Returns true if the discipline has a rate limit, so that all packets must pass through the discipline.
    pub fn shapes(kind: &Kind) -> bool {
        match kind {
            Kind::Pcq(pcq) => pcq.rate > 0,
            Kind::Cake(cake) => cake.bandwidth > 0,
            _ => false,
        }
    }
}
