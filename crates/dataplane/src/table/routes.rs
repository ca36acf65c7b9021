//! The writer of a route table: it knows every route exactly, and rebuilds what a change touches.
//!
//! Routes are kept where the lookup ends that they belong to: a *node* is all routes behind one
//! slot, sorted, and what it publishes is that slot. A node that holds too many, or that no block
//! of lines can hold, gives its most crowded part away to a *split*, with a node for each of the
//! 256 slots there; a split that has become nearly empty is dissolved again. So a change rebuilds
//! one node of a bounded size, however many routes there are. Where IPv6 has single addresses below a
//! slot of the root, that leads to their directory (`hosts`), and its node publishes there.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernels::Pages;

use super::adjacency::NextHopId;
use super::build::{Crowded, Item, blocks, build};
use super::entry::{self, Entry};
use super::grace::Grace;
use super::heap::{Block, Heap, Memory, SPLIT_UNITS, block};
use super::hosts::{Directory, hash};
use super::lpm::{Full, Lpm, OTHER_SLOT, RESERVED, ROOT_SLOTS};
use super::network::{Address, Network};
use super::short::Short;

/// The most items of a node some of which are longer than a line of the smallest key tells apart.
const CROWD: usize = 64;
/// A split that has lost all but so many routes is dissolved.
const SPARSE: usize = 4;
/// A change is begun only with so many bytes left, more than any takes.
const ROOM: usize = 1 << 20;
/// What a route takes at most when many are written at once.
const ROOM_PER_ROUTE: usize = 256;
/// The memory that a table may grow to, in bytes.
const LARGEST: usize = 256 << 20;
const PAGE: usize = 256;

/// The only writer of an [`Lpm`].
#[derive(Debug)]
pub struct Routes<A> {
    fib: Arc<Lpm<A>>,
    heap: Heap,
    /// The nodes of the root's slots, in pages that are made when they are needed.
    root: Vec<Option<Box<[Node<A>]>>>,
    short: Short<A>,
    other: Node<A>,
    /// The directories of hosts, by the slot of the root that leads to them.
    hosts: BTreeMap<u32, Directory>,
    len: usize,
}

/// All routes behind one slot.
#[derive(Debug, Default)]
pub(super) struct Node<A> {
    items: Vec<Item<A>>,
    splits: Vec<Box<Split<A>>>,
}

/// The routes in a network that are longer than it, by the eight bits behind its length.
#[derive(Debug)]
struct Split<A> {
    network: Network<A>,
    place: entry::Split,
    /// How many routes are in it.
    count: usize,
    /// Routes of up to eight bits more than the network's.
    base: Node<A>,
    /// Longer ones; made when they are needed.
    nodes: Box<[Option<Box<Node<A>>>]>,
}

/// Where a node publishes, and the depth that its slot stands at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) slot: u32,
    pub(super) depth: u8,
}

impl<A: Address> Routes<A> {
    /// An empty table and its writer. What the writer takes out, it uses again after `grace`.
    /// Huge pages make lookups in a large table faster; small ones let a small table take a few
    /// kilobytes.
    ///
    /// # Errors
    /// [`Full`]: the kernel has no address space for it.
    pub fn new(grace: Arc<Grace>, pages: Pages) -> Result<Self, Full> {
        let memory = Arc::new(Memory::new(LARGEST, pages)?);
        Ok(Self {
            fib: Arc::new(Lpm::new(Arc::clone(&memory))),
            heap: Heap::new(memory, RESERVED, grace),
            root: (0..ROOT_SLOTS as usize / PAGE).map(|_| None).collect(),
            short: Short::default(),
            other: Node::default(),
            hosts: BTreeMap::new(),
            len: 0,
        })
    }

    /// What workers read.
    pub fn fib(&self) -> &Arc<Lpm<A>> {
        &self.fib
    }

    /// Adds a route, or gives it another next hop; returns the next hop that it had.
    /// [`NextHopId::NO_ROUTE`] removes it.
    ///
    /// # Errors
    /// [`Full`]; nothing was changed.
    pub fn insert(
        &mut self,
        network: Network<A>,
        id: NextHopId,
    ) -> Result<Option<NextHopId>, Full> {
        if self.heap.room() < ROOM {
            return Err(Full);
        }
        let old = if is_short(network) {
            self.short.put(&mut self.heap, network, id)
        } else if is_host(network) {
            self.put_host(network, id)
        } else {
            let (node, place, heap) = self.node(network);
            let old = node.put(heap, place, network, id);
            self.underlie(network);
            old
        };
        self.count(old, id);
        Ok(old)
    }

    /// Removes a route; returns the next hop that it had.
    ///
    /// # Errors
    /// [`Full`]; nothing was changed. (What is left may need a form that takes more memory.)
    pub fn remove(&mut self, network: Network<A>) -> Result<Option<NextHopId>, Full> {
        self.insert(network, NextHopId::NO_ROUTE)
    }

    /// Many changes at once, for the price of a few where they lie close together: each is
    /// inserted, or removed where its next hop is [`NextHopId::NO_ROUTE`]. Of several for one
    /// network the last counts. Readers see them one after another, in no order.
    ///
    /// # Errors
    /// [`Full`]; some of the changes were made.
    pub fn change(
        &mut self,
        changes: impl IntoIterator<Item = (Network<A>, NextHopId)>,
    ) -> Result<(), Full> {
        let mut changes: Vec<_> = changes.into_iter().collect();
        changes.sort_by_key(|(network, _)| *network);
        let place_of = |network: Network<A>| {
            let kind = (is_short(network), is_host(network));
            (kind, root_slot(network))
        };
        for group in changes.chunk_by(|one, two| place_of(one.0) == place_of(two.0)) {
            if self.heap.room() < ROOM + group.len() * ROOM_PER_ROUTE {
                return Err(Full);
            }
            if is_short(group[0].0) || is_host(group[0].0) {
                for (network, id) in group {
                    self.insert(*network, *id)?;
                }
                continue;
            }
            for (network, id) in group {
                let (node, _, heap) = self.node(*network);
                let old = node.note(heap, *network, *id);
                self.count(old, *id);
            }
            let (node, place, heap) = self.node(group[0].0);
            node.settle(heap, place);
            group
                .iter()
                .for_each(|(network, _)| self.underlie(*network));
        }
        Ok(())
    }

    /// Has the kernel give memory for changes to come, so that none waits for it: to be called
    /// when there is time, best after each round of changes.
    pub fn prepare(&mut self) {
        self.heap.prepare();
    }

    /// The next hop of exactly this route.
    pub fn get(&self, network: Network<A>) -> Option<NextHopId> {
        if is_short(network) {
            return self.short.get(network);
        }
        let slot = root_slot(network);
        if is_host(network)
            && let Some(hosts) = self.hosts.get(&slot.unwrap_or(OTHER_SLOT))
        {
            let address = network.bits().wide();
            let host = hosts.get(hash(self.heap.memory().seed(), address), address);
            if host.is_some() {
                return host;
            }
        }
        let Some(slot) = slot else {
            return self.other.get(network);
        };
        let page = self.root[slot as usize / PAGE].as_ref()?;
        page[slot as usize % PAGE].get(network)
    }

    /// The route that `destination` takes.
    pub fn longest(&self, destination: A) -> Option<(Network<A>, NextHopId)> {
        let (id, len) = self.fib.lookup_longest(destination)?;
        Some((Network::new(destination, len), id))
    }

    /// Calls `each` for every route, in no order.
    pub fn for_each(&self, mut each: impl FnMut(Network<A>, NextHopId)) {
        for hosts in self.hosts.values() {
            hosts.for_each(&mut |address, id| each(Network::new(A::narrow(address), A::BITS), id));
        }
        let mut each = |item: &Item<A>| each(item.network, item.entry.id());
        self.short.for_each(&mut each);
        self.other.for_each(&mut each);
        for node in self.root.iter().flatten().flatten() {
            node.for_each(&mut each);
        }
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The memory that readers may touch, in bytes.
    pub fn bytes(&self) -> usize {
        self.heap.bytes()
    }

    /// The node that a network belongs to.
    fn node(&mut self, network: Network<A>) -> (&mut Node<A>, Place, &mut Heap) {
        let published = |slot| self.hosts.get(&slot).map_or(slot, Directory::others);
        let Some(slot) = root_slot(network) else {
            let place = Place {
                slot: published(OTHER_SLOT),
                depth: 0,
            };
            return (&mut self.other, place, &mut self.heap);
        };
        let page = self.root[slot as usize / PAGE]
            .get_or_insert_with(|| (0..PAGE).map(|_| Node::default()).collect());
        let place = Place {
            slot: published(slot),
            depth: A::ROOT_DEPTH,
        };
        (&mut page[slot as usize % PAGE], place, &mut self.heap)
    }

    /// Changes the route to a single address.
    fn put_host(&mut self, network: Network<A>, id: NextHopId) -> Option<NextHopId> {
        let slot = root_slot(network).unwrap_or(OTHER_SLOT);
        let (node, place, heap) = self.node(network);
        // One that found no room among the hosts.
        if node.get(network).is_some() {
            return node.put(heap, place, network, id);
        }
        if id == NextHopId::NO_ROUTE && !self.hosts.contains_key(&slot) {
            return None;
        }
        let heap = &mut self.heap;
        let hosts = self.hosts.entry(slot).or_insert_with(|| {
            let others = heap.memory().slot(slot);
            let hosts = Directory::new(heap, others);
            heap.publish(slot, hosts.entry());
            hosts
        });
        let host = (heap.memory().seed(), network.bits().wide());
        let put = hosts.put(heap, host, id);
        if hosts.is_empty() {
            heap.publish(slot, heap.memory().slot(hosts.others()));
            let mut unlinked = Vec::new();
            hosts.blocks(heap, &mut unlinked);
            heap.retire(unlinked);
            self.hosts.remove(&slot);
        }
        put.unwrap_or_else(|_| {
            let (node, place, heap) = self.node(network);
            node.put(heap, place, network, id)
        })
    }

    /// After a change of `network`: what is shorter than all that the root covers shows through
    /// where the root has nothing.
    fn underlie(&mut self, network: Network<A>) {
        if network.len() >= A::SHORT_DEPTH || !network.contains(A::WITHIN) {
            return;
        }
        let outer = (0..A::SHORT_DEPTH).rev().find_map(|len| {
            let id = self.other.get(Network::new(A::WITHIN, len))?;
            Some(Entry::leaf(id, len))
        });
        let outer = outer.unwrap_or(Entry::NONE);
        self.short.set_outer(&self.heap, outer);
    }

    fn count(&mut self, old: Option<NextHopId>, id: NextHopId) {
        let is = usize::from(id != NextHopId::NO_ROUTE);
        self.len = self.len + is - usize::from(old.is_some());
    }
}

/// Whether the network is covered by the root but shorter than its depth.
fn is_short<A: Address>(network: Network<A>) -> bool {
    (A::SHORT_DEPTH..A::ROOT_DEPTH).contains(&network.len()) && network.bits().root().is_some()
}

/// Whether the network is a single address that is found by a hash.
fn is_host<A: Address>(network: Network<A>) -> bool {
    A::HOSTED && network.len() == A::BITS
}

/// The root's slot that a network of at least the root's depth belongs to.
fn root_slot<A: Address>(network: Network<A>) -> Option<u32> {
    let slot = network.bits().root()?;
    (network.len() >= A::SHORT_DEPTH).then_some(slot)
}

impl<A: Address> Node<A> {
    /// Whether it has no route.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.splits.is_empty()
    }

    /// Its routes, but for those in splits.
    pub(super) fn items(&self) -> &[Item<A>] {
        &self.items
    }

    /// Changes a route and publishes.
    pub(super) fn put(
        &mut self,
        heap: &mut Heap,
        place: Place,
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

    /// Changes a route; only one that belongs to a split is published.
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

    /// Publishes what the node holds, after it has given away what is too crowded.
    fn settle(&mut self, heap: &mut Heap, place: Place) {
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
        if count > CROWD && (!self.splits.is_empty() || networks.any(|n| n.len() > depth + 8)) {
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

    /// Moves the most crowded part into a split.
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

    /// Takes the routes of a split back.
    fn dissolve(&mut self, heap: &mut Heap, place: Place, at: usize) {
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

/// The network that most of what is too long for small keys lies in: the longest, in steps of
/// eight bits, that still holds three quarters.
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

    /// Publishes all of a new split.
    fn settle(&mut self, heap: &mut Heap) {
        let depth = self.depth();
        let slot = self.place.base_slot();
        self.base.settle(heap, Place { slot, depth });
        for (slot, node) in (self.place.slot(0)..).zip(&mut self.nodes) {
            if let Some(node) = node {
                let depth = depth + 8;
                node.settle(heap, Place { slot, depth });
            }
        }
    }

    fn node(&mut self, network: Network<A>) -> (&mut Node<A>, Place) {
        let depth = self.depth();
        if network.len() <= depth + 8 {
            let slot = self.place.base_slot();
            return (&mut self.base, Place { slot, depth });
        }
        let index = self.index(network);
        let slot = self.place.slot(index as u32);
        let depth = depth + 8;
        let node = self.nodes[index].get_or_insert_default();
        (node, Place { slot, depth })
    }

    fn node_below(&mut self, network: Network<A>) -> &mut Node<A> {
        let index = self.index(network);
        self.nodes[index].get_or_insert_default()
    }

    fn index(&self, network: Network<A>) -> usize {
        (network.bits().window(self.depth()) >> 24) as usize
    }

    /// All blocks that it takes, its own included.
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
