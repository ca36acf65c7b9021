//! Longest prefix match: the reader's table and its writer.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::adjacency::NextHopId;
use super::grace::Grace;
use super::network::{Address, Network};

/// The IPv4 routes of one routing table, as workers read them.
pub type Fib4 = Lpm<u32>;
/// The IPv6 routes of one routing table, as workers read them.
pub type Fib6 = Lpm<u128>;

/// The table has no memory left for a route; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The routes of one family in one routing table. Workers read, a [`Routes`] writes.
#[derive(Debug, Default)]
pub struct Lpm<A> {
    routes: RwLock<BTreeMap<Network<A>, NextHopId>>,
}

impl<A: Address> Lpm<A> {
    /// The next hop of the longest prefix that `destination` lies in; [`NextHopId::NO_ROUTE`] when
    /// it lies in none.
    pub fn lookup(&self, destination: A) -> NextHopId {
        self.lookup_longest(destination)
            .map_or(NextHopId::NO_ROUTE, |(id, _)| id)
    }

    /// Looks a vector of destinations up; `out` is as long as `destinations`.
    pub fn lookup_vector(&self, destinations: &[A], out: &mut [NextHopId]) {
        for (destination, out) in destinations.iter().zip(out) {
            *out = self.lookup(*destination);
        }
    }

    /// As `lookup`, with the length of the prefix that matched. Slower: for rules with
    /// `min-prefix`, and for people.
    pub fn lookup_longest(&self, destination: A) -> Option<(NextHopId, u8)> {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        (0..=A::BITS).rev().find_map(|len| {
            let id = routes.get(&Network::new(destination, len))?;
            Some((*id, len))
        })
    }

    /// The memory that readers may touch, in bytes.
    pub fn bytes(&self) -> usize {
        0
    }
}

/// The only writer of an [`Lpm`]: it knows every route exactly.
#[derive(Debug)]
pub struct Routes<A> {
    fib: Arc<Lpm<A>>,
}

impl<A: Address> Routes<A> {
    /// An empty table and its writer. What the writer takes out, it uses again after `grace`.
    pub fn new(_grace: Arc<Grace>) -> Self {
        Self {
            fib: Arc::new(Lpm::default()),
        }
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
        if id == NextHopId::NO_ROUTE {
            return self.remove(network);
        }
        Ok(self.write(|routes| routes.insert(network, id)))
    }

    /// Removes a route; returns the next hop that it had.
    ///
    /// # Errors
    /// [`Full`]; nothing was changed. (What is left may need another form of more memory.)
    pub fn remove(&mut self, network: Network<A>) -> Result<Option<NextHopId>, Full> {
        Ok(self.write(|routes| routes.remove(&network)))
    }

    /// Many changes at once, for the price of a few where they lie close together: each is
    /// inserted, or removed where its next hop is [`NextHopId::NO_ROUTE`]. Readers see them one
    /// after another, in no order.
    ///
    /// # Errors
    /// [`Full`]; the changes up to one of them were made.
    pub fn change(
        &mut self,
        changes: impl IntoIterator<Item = (Network<A>, NextHopId)>,
    ) -> Result<(), Full> {
        for (network, id) in changes {
            self.insert(network, id)?;
        }
        Ok(())
    }

    /// The next hop of exactly this route.
    pub fn get(&self, network: Network<A>) -> Option<NextHopId> {
        self.write(|routes| routes.get(&network).copied())
    }

    /// The route that `destination` takes.
    pub fn longest(&self, destination: A) -> Option<(Network<A>, NextHopId)> {
        let (id, len) = self.fib.lookup_longest(destination)?;
        Some((Network::new(destination, len), id))
    }

    /// Calls `each` for every route, in no order.
    pub fn for_each(&self, mut each: impl FnMut(Network<A>, NextHopId)) {
        self.write(|routes| routes.iter().for_each(|(network, id)| each(*network, *id)));
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.write(|routes| routes.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn write<R>(&self, what: impl FnOnce(&mut BTreeMap<Network<A>, NextHopId>) -> R) -> R {
        let mut routes = self
            .fib
            .routes
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        what(&mut routes)
    }
}
