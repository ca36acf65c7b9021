//! Writer of a route table. It stores every route. A change rebuilds only the affected part: one node of bounded
//! size (`node`), however many routes there are. If IPv6 hosts lie below a slot of the root, the slot leads
//! to their directory (`hosts`), and the slot's node publishes there.

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
use super::node::{Node, PublishedSlot};
use super::short::Short;

/// Minimum number of free bytes before a change; more than any change needs.
const FREE_MIN: usize = 1 << 20;
/// Maximum number of bytes per route of a bulk change.
const ROOM_PER_ROUTE: usize = 256;
/// Maximum memory of a table in bytes.
const LARGEST: usize = 256 << 20;
const PAGE: usize = 256;

/// The single writer of an [`Lpm`].
#[derive(Debug)]
pub struct Routes<A> {
    fib: Arc<Lpm<A>>,
    heap: Heap,
    /// Nodes of the root's slots, in pages that are created on demand.
    root: Vec<Option<Box<[Node<A>]>>>,
    short: Short<A>,
    other: Node<A>,
    /// Host directories by the root's slot that leads to them.
    hosts: BTreeMap<u32, Directory>,
    len: usize,
}

impl<A: Address> Routes<A> {
    /// Creates an empty table and its writer, which reuses memory after `grace`. Huge pages make lookups in a
    /// large table faster; small pages let a small table take a few kilobytes.
    ///
    /// # Errors
    /// [`Full`] if the kernel cannot reserve the address space.
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

    /// Returns the part that workers read.
    pub fn fib(&self) -> &Arc<Lpm<A>> {
        &self.fib
    }

    /// Adds or changes a route; returns its previous next hop. [`NextHopId::NO_ROUTE`] removes it.
    ///
    /// # Errors
    /// [`Full`] without changes.
    pub fn insert(
        &mut self,
        network: Network<A>,
        id: NextHopId,
    ) -> Result<Option<NextHopId>, Full> {
        if self.heap.room() < FREE_MIN {
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

    /// Removes a route; returns its next hop.
    ///
    /// # Errors
    /// [`Full`] without changes: the remaining routes may need a form that takes more memory.
    pub fn remove(&mut self, network: Network<A>) -> Result<Option<NextHopId>, Full> {
        self.insert(network, NextHopId::NO_ROUTE)
    }

    /// Makes many changes at once, which costs less where they lie close together. Each inserts a route, or
    /// removes it if its next hop is [`NextHopId::NO_ROUTE`]. Of several changes of one network the last
    /// counts. Readers see the changes one by one, in arbitrary order.
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
            if self.heap.room() < FREE_MIN + group.len() * ROOM_PER_ROUTE {
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

    /// Commits memory in advance, so that later changes need not wait for the kernel. Call it after each
    /// round of changes.
    pub fn prepare(&mut self) {
        self.heap.prepare();
    }

    /// Returns the next hop of exactly this route.
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

    /// Returns the longest matching route of `destination`.
    pub fn longest(&self, destination: A) -> Option<(Network<A>, NextHopId)> {
        let (id, len) = self.fib.lookup_longest(destination)?;
        Some((Network::new(destination, len), id))
    }

    /// Calls `each` for every route, in arbitrary order.
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

    /// Returns the number of routes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no routes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes that readers may access.
    pub fn bytes(&self) -> usize {
        self.heap.bytes()
    }

    /// Returns the node of a network.
    fn node(&mut self, network: Network<A>) -> (&mut Node<A>, PublishedSlot, &mut Heap) {
        let published = |slot| self.hosts.get(&slot).map_or(slot, Directory::others);
        let Some(slot) = root_slot(network) else {
            let place = PublishedSlot {
                slot: published(OTHER_SLOT),
                depth: 0,
            };
            return (&mut self.other, place, &mut self.heap);
        };
        let page = self.root[slot as usize / PAGE]
            .get_or_insert_with(|| (0..PAGE).map(|_| Node::default()).collect());
        let place = PublishedSlot {
            slot: published(slot),
            depth: A::ROOT_DEPTH,
        };
        (&mut page[slot as usize % PAGE], place, &mut self.heap)
    }

    /// Changes the route to a single address.
    fn put_host(&mut self, network: Network<A>, id: NextHopId) -> Option<NextHopId> {
        let slot = root_slot(network).unwrap_or(OTHER_SLOT);
        let (node, place, heap) = self.node(network);
        // A host that found no room in the directory.
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
        let seed = heap.memory().seed();
        let put = hosts.put(heap, seed, network.bits().wide(), id);
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

    /// Updates the slots without route after a change of `network`: they lead to the longest prefix that
    /// contains all addresses of the root.
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

/// Returns true if the root covers the network, but the network is shorter than the root's depth.
fn is_short<A: Address>(network: Network<A>) -> bool {
    (A::SHORT_DEPTH..A::ROOT_DEPTH).contains(&network.len()) && network.bits().root().is_some()
}

/// Returns true if the network is a single address that is found by hash.
fn is_host<A: Address>(network: Network<A>) -> bool {
    A::HASHES_HOSTS && network.len() == A::BITS
}

/// Returns the root's slot of a network; `None` if the root does not cover it.
fn root_slot<A: Address>(network: Network<A>) -> Option<u32> {
    let slot = network.bits().root()?;
    (network.len() >= A::SHORT_DEPTH).then_some(slot)
}
