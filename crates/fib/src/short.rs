//! Writer of prefixes that are shorter than the root's depth.
//!
//! They are found by the first eight of the root's bits. Prefixes with at most these eight bits are expanded
//! to 256 leaves; longer ones have lines, and slots without lines contain the leaf. So one more load answers
//! most lookups that match only a short prefix, and a change writes at most 512 slots.

use super::adjacency::NextHopId;
use super::build::{Item, leaves};
use super::entry::Entry;
use super::heap::Heap;
use super::lpm::{SHORT_LEAVES, SHORT_SLOTS};
use super::network::{Address, Network};
use super::node::{Node, PublishedSlot};

/// The routes whose length lies within the root's bits.
#[derive(Debug)]
pub(super) struct Short<A> {
    /// Routes of at most eight of the root's bits.
    base: Node<A>,
    /// Longer routes.
    nodes: Box<[Node<A>]>,
    /// Entry of addresses that no route covers.
    outer: Entry,
}

impl<A: Address> Default for Short<A> {
    fn default() -> Self {
        Self {
            base: Node::default(),
            nodes: (0..256).map(|_| Node::default()).collect(),
            outer: Entry::NONE,
        }
    }
}

impl<A: Address> Short<A> {
    /// Length up to which a route is expanded to leaves.
    const SPREAD: u8 = A::SHORT_DEPTH + 8;

    /// Changes a route and publishes it.
    pub(super) fn put(
        &mut self,
        heap: &mut Heap,
        network: Network<A>,
        id: NextHopId,
    ) -> Option<NextHopId> {
        if network.len() <= Self::SPREAD {
            let old = self.base.note(heap, network, id);
            self.spread(heap);
            return old;
        }
        let at = index(network);
        let place = PublishedSlot {
            slot: SHORT_SLOTS + at as u32,
            depth: Self::SPREAD,
        };
        let node = &mut self.nodes[at];
        let old = node.put(heap, place, network, id);
        if node.is_empty() {
            let leaf = heap.memory().slot(SHORT_LEAVES + at as u32);
            heap.publish(place.slot, leaf);
        }
        old
    }

    /// Changes the entry of addresses that no route covers, which comes from still shorter prefixes.
    pub(super) fn set_outer(&mut self, heap: &Heap, outer: Entry) {
        if self.outer != outer {
            self.outer = outer;
            self.spread(heap);
        }
    }

    /// Returns the next hop of exactly this route.
    pub(super) fn get(&self, network: Network<A>) -> Option<NextHopId> {
        if network.len() <= Self::SPREAD {
            return self.base.get(network);
        }
        self.nodes[index(network)].get(network)
    }

    /// Calls `each` for every route.
    pub(super) fn for_each(&self, each: &mut impl FnMut(&Item<A>)) {
        self.base.for_each(each);
        for node in &self.nodes {
            node.for_each(each);
        }
    }

    fn spread(&self, heap: &Heap) {
        let ranges = leaves(self.base.items(), A::SHORT_DEPTH, self.outer);
        let mut ranges = ranges.into_iter().peekable();
        let mut leaf = self.outer;
        for (at, node) in (0..).zip(&self.nodes) {
            while let Some(range) = ranges.next_if(|range| range.start <= u64::from(at) << 56) {
                leaf = range.entry;
            }
            heap.publish(SHORT_LEAVES + at, leaf);
            if node.is_empty() {
                heap.publish(SHORT_SLOTS + at, leaf);
            }
        }
    }
}

fn index<A: Address>(network: Network<A>) -> usize {
    (network.bits().window(A::SHORT_DEPTH) >> 24) as usize
}
