//! The writer of a route table: it knows every route exactly, and rebuilds what a change touches: one
//! node of a bounded size (`node`), however many routes there are. Where IPv6 has single addresses below a
//! slot of the root, that leads to their directory (`hosts`), and its node publishes there.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernels::Pages;

use super::adjacency::NextHopId;
use super::build::Item;
use super::entry::Entry;
use super::grace::Grace;
use super::heap::{Heap, Memory};
use super::hosts::{Directory, hash};
use super::lpm::{Full, Lpm, OTHER_SLOT, RESERVED, ROOT_SLOTS};
use super::network::{Address, Network};
use super::node::{Node, Place};
use super::short::Short;

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
