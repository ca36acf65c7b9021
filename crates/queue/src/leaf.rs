//! A leaf: a queue that packets wait in.

use std::sync::Arc;

use crate::kind::Kind;
use crate::node::Node;

/// A node, and how packets wait in it.
#[derive(Debug, PartialEq)]
pub struct Leaf {
    /// Its limits and counters.
    pub node: Arc<Node>,
    /// How packets wait.
    pub kind: Kind,
}

impl Eq for Leaf {}

impl Leaf {
    /// Whether all its packets go by its discipline, as that holds them back by itself.
    pub fn shapes(kind: &Kind) -> bool {
        match kind {
            Kind::Pcq(pcq) => pcq.rate > 0,
            Kind::Cake(cake) => cake.bandwidth > 0,
            _ => false,
        }
    }
}
