//! Routes in the writer's form, grouped by the slot in which their lookup ends.
//!
//! A *node* contains all routes of one slot, sorted, and publishes that slot. A node with too many routes, or
//! with routes that no block of lines can hold, moves its densest part to a *split*, which has a node for
//! each of its 256 slots; a split that becomes nearly empty is dissolved.

use super::adjacency::NextHopId;
use super::build::{Crowded, Item, blocks, build};
use super::entry::{self, Entry};
use super::heap::{Block, Heap, SPLIT_UNITS, block};
use super::network::{Address, Network};

/// Maximum number of items of a node, unless lines with the smallest key can distinguish them all.
const ITEMS_MAX: usize = 64;
/// A split with this number of routes or fewer is dissolved.
const SPARSE: usize = 4;

/// The routes of one slot.
#[derive(Debug, Default)]
pub(super) struct Node<A> {
    items: Vec<Item<A>>,
    splits: Vec<Box<Split<A>>>,
}

/// The longer routes in a network, by the eight bits after its length.
#[derive(Debug)]
struct Split<A> {
    network: Network<A>,
    place: entry::Split,
    /// Number of routes.
    count: usize,
    /// Routes of at most eight bits more than the network's length.
    base: Node<A>,
    /// Nodes of longer routes, created on demand.
    nodes: Box<[Option<Box<Node<A>>>]>,
}

/// The slot that a node publishes, and its depth.
#[derive(Clone, Copy, Debug)]
pub(super) struct PublishedSlot {
    pub(super) slot: u32,
    pub(super) depth: u8,
}

impl<A: Address> Node<A> {
    /// Returns true if the node has no routes.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.splits.is_empty()
    }

    /// Returns the node's routes, except those in splits.
    pub(super) fn items(&self) -> &[Item<A>] {
        &self.items
    }

    /// Changes a route and publishes the node.
    pub(super) fn put(
        &mut self,
        heap: &mut Heap,
        place: PublishedSlot,
        network: Network<A>,
        id: NextHopId,
    ) -> Option<NextHopId> {
        if let Some(at) = self.split_of(network) {
            let split = &mut self.splits[at];
            let old = split.put(heap, network, id);
            if id == NextHopId::NO_ROUTE && split.count <= SPARSE {
                self.dissolve(heap, place, at);
            }
            return old;
        }
        let old = self.note(heap, network, id);
        if old.unwrap_or(NextHopId::NO_ROUTE) != id {
            self.settle(heap, place);
        }
        old
    }

    /// Changes a route; publishes it only if it belongs to a split.
    pub(super) fn note(
        &mut self,
        heap: &mut Heap,
        network: Network<A>,
        id: NextHopId,
    ) -> Option<NextHopId> {
        if let Some(at) = self.split_of(network) {
            return self.splits[at].put(heap, network, id);
        }
        let entry = Entry::leaf(id, network.len());
        let found = self
            .items
            .binary_search_by_key(&network, |item| item.network);
        match found {
            Ok(at) if id == NextHopId::NO_ROUTE => Some(self.items.remove(at).entry.id()),
            Ok(at) => Some(core::mem::replace(&mut self.items[at].entry, entry).id()),
            Err(_) if id == NextHopId::NO_ROUTE => None,
            Err(at) => {
                self.items.insert(at, Item { network, entry });
                None
            }
        }
    }

    /// Publishes the node, after moving routes to splits as necessary.
    pub(super) fn settle(&mut self, heap: &mut Heap, place: PublishedSlot) {
        let built = loop {
            match self.build(heap, place.depth) {
                Ok(entry) => break entry,
                Err(Crowded) => self.carve(heap, place.depth),
            }
        };
        let old = heap.memory().slot(place.slot);
        if old == built {
            return;
        }
        heap.publish(place.slot, built);
        let mut unlinked = Vec::new();
        blocks::<A>(heap, old, &mut unlinked);
        heap.retire(unlinked);
    }

    fn build(&self, heap: &mut Heap, depth: u8) -> Result<Entry, Crowded> {
        let count = self.items.len() + self.splits.len();
        let mut networks = self.items.iter().map(|item| item.network);
        if count > ITEMS_MAX && (!self.splits.is_empty() || networks.any(|n| n.len() > depth + 8)) {
            return Err(Crowded);
        }
        if self.splits.is_empty() {
            return build(heap, &self.items, depth, Entry::NONE);
        }
        let mut all = self.items.clone();
        all.extend(self.splits.iter().map(|split| Item {
            network: split.network,
            entry: Entry::split(split.place),
        }));
        all.sort_by_key(|item| item.network);
        build(heap, &all, depth, Entry::NONE)
    }

    /// Moves the densest part to a split.
    fn carve(&mut self, heap: &mut Heap, depth: u8) {
        let network = most_crowded(&self.items, depth)
            .or_else(|| Some(Network::new(self.splits.first()?.network.bits(), depth)))
            .unwrap_or_default();
        let block = heap.allocate(SPLIT_UNITS);
        heap.write(block.unit, &[0; SPLIT_UNITS as usize * 4]);
        let place = entry::Split {
            unit: block.unit,
            step: network.len() / 8,
        };
        let mut split = Box::new(Split::new(network, place));
        let inside =
            |other: Network<A>| other.len() > network.len() && network.contains(other.bits());
        for item in self.items.extract_if(.., |item| inside(item.network)) {
            split.count += 1;
            split.node(item.network).0.items.push(item);
        }
        for inner in self.splits.extract_if(.., |inner| inside(inner.network)) {
            split.count += inner.count;
            split.node_below(inner.network).splits.push(inner);
        }
        split.settle(heap);
        self.splits.push(split);
    }

    /// Moves the routes of a split back to the node.
    fn dissolve(&mut self, heap: &mut Heap, place: PublishedSlot, at: usize) {
        let split = self.splits.swap_remove(at);
        let mut unlinked = Vec::new();
        split.blocks(heap, &mut unlinked);
        split.for_each(&mut |item| self.items.push(*item));
        self.items.sort_by_key(|item| item.network);
        self.settle(heap, place);
        heap.retire(unlinked);
    }

    fn split_of(&self, network: Network<A>) -> Option<usize> {
        self.splits.iter().position(|split| {
            split.network.len() < network.len() && split.network.contains(network.bits())
        })
    }

    pub(super) fn get(&self, network: Network<A>) -> Option<NextHopId> {
        if let Some(at) = self.split_of(network) {
            return self.splits[at].get(network);
        }
        let at = self
            .items
            .binary_search_by_key(&network, |item| item.network)
            .ok()?;
        Some(self.items[at].entry.id())
    }

    pub(super) fn for_each(&self, each: &mut impl FnMut(&Item<A>)) {
        self.items.iter().for_each(&mut *each);
        for split in &self.splits {
            split.for_each(each);
        }
    }
}

/// Returns the network with most routes that are too long for small keys: the longest, in steps of eight
/// bits, that still contains three quarters of them.
fn most_crowded<A: Address>(items: &[Item<A>], depth: u8) -> Option<Network<A>> {
    let mut depth = depth;
    let mut crowd = items;
    loop {
        let next = depth + 8;
        let largest = crowd
            .chunk_by(|one, two| {
                let block = Network::new(one.network.bits(), next);
                block.contains(two.network.bits())
            })
            .max_by_key(|group| group.len());
        let Some(largest) = largest else { break };
        let deep = largest.iter().filter(|i| i.network.len() > next + 8);
        if deep.count() * 4 < crowd.len() * 3 {
            break;
        }
        (crowd, depth) = (largest, next);
    }
    Some(Network::new(crowd.last()?.network.bits(), depth))
}

impl<A: Address> Split<A> {
    fn new(network: Network<A>, place: entry::Split) -> Self {
        Self {
            network,
            place,
            count: 0,
            base: Node::default(),
            nodes: (0..256).map(|_| None).collect(),
        }
    }

    fn depth(&self) -> u8 {
        self.network.len()
    }

    fn put(&mut self, heap: &mut Heap, network: Network<A>, id: NextHopId) -> Option<NextHopId> {
        let (node, place) = self.node(network);
        let old = node.put(heap, place, network, id);
        let is = usize::from(id != NextHopId::NO_ROUTE);
        self.count = self.count + is - usize::from(old.is_some());
        old
    }

    fn get(&self, network: Network<A>) -> Option<NextHopId> {
        if network.len() <= self.depth() + 8 {
            return self.base.get(network);
        }
        self.nodes[self.index(network)].as_ref()?.get(network)
    }

    /// Publishes all nodes of a new split.
    fn settle(&mut self, heap: &mut Heap) {
        let depth = self.depth();
        let slot = self.place.base_slot();
        self.base.settle(heap, PublishedSlot { slot, depth });
        for (slot, node) in (self.place.slot(0)..).zip(&mut self.nodes) {
            if let Some(node) = node {
                let depth = depth + 8;
                node.settle(heap, PublishedSlot { slot, depth });
            }
        }
    }

    fn node(&mut self, network: Network<A>) -> (&mut Node<A>, PublishedSlot) {
        let depth = self.depth();
        if network.len() <= depth + 8 {
            let slot = self.place.base_slot();
            return (&mut self.base, PublishedSlot { slot, depth });
        }
        let index = self.index(network);
        let slot = self.place.slot(index as u32);
        let depth = depth + 8;
        let node = self.nodes[index].get_or_insert_default();
        (node, PublishedSlot { slot, depth })
    }

    fn node_below(&mut self, network: Network<A>) -> &mut Node<A> {
        let index = self.index(network);
        self.nodes[index].get_or_insert_default()
    }

    fn index(&self, network: Network<A>) -> usize {
        (network.bits().window(self.depth()) >> 24) as usize
    }

    /// Collects all blocks of the split, including its own.
    fn blocks(&self, heap: &Heap, out: &mut Vec<Block>) {
        out.push(block(self.place.unit, SPLIT_UNITS));
        blocks::<A>(heap, heap.memory().slot(self.place.base_slot()), out);
        for number in 0..256 {
            blocks::<A>(heap, heap.memory().slot(self.place.slot(number)), out);
        }
        let nodes = self.nodes.iter().flatten().flat_map(|node| &node.splits);
        nodes.for_each(|inner| inner.blocks(heap, out));
    }

    fn for_each(&self, each: &mut impl FnMut(&Item<A>)) {
        self.base.for_each(each);
        for node in self.nodes.iter().flatten() {
            node.for_each(each);
        }
    }
}
