//! All routing tables and their next hops.
//!
//! Workers read [`Fib`]; [`FibWriter`] is its single writer, owned by the control plane. A table has a number
//! as in `/routing/table` (0 is `main`), and an IPv4 and an IPv6 part. It is created by its first write and
//! exists until the process ends.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use frame::shortcut::{Dependency, Shortcuts};
use kernels::Pages;

use super::adjacency::{Adjacency, AdjacencyTable, Kind, NEXT_HOPS, NextHopId};
use super::grace::{Grace, Limbo};
use super::lpm::{Fib4, Fib6, Full};
use super::routes::Routes;

/// Maximum number of routing tables.
pub const TABLES: usize = 256;

/// Bits of a generation: a connection stores it beside the upper bits of a next hop id.
pub const GENERATION_BITS: u32 = 28;
const GENERATIONS: u32 = (1 << GENERATION_BITS) - 1;

/// Maximum number of changes that are checked again; beyond it all shortcuts are removed.
const RECHECKS_MAX: usize = 4096;

/// The routing tables and next hops, as workers read them.
#[derive(Debug)]
pub struct Fib {
    tables: [OnceLock<Table>; TABLES],
    /// The next hops of all tables.
    pub adjacencies: AdjacencyTable,
    /// Number of completed rounds of route changes; users that cache a route compare it.
    rounds: AtomicU32,
    /// Each worker registers here and reports a quiescent state between vectors.
    pub grace: Arc<Grace>,
}

/// A routing table.
#[derive(Debug)]
pub struct Table {
    /// IPv4 routes.
    pub ipv4: Arc<Fib4>,
    /// IPv6 routes.
    pub ipv6: Arc<Fib6>,
}

impl Fib {
    /// Returns a number that changes with each round of route changes.
    #[inline(always)]
    pub fn round(&self) -> u32 {
        self.rounds.load(Ordering::Acquire)
    }

    /// Returns a number of [`GENERATION_BITS`] bits that changes when routes change or when a next hop id is
    /// freed. Users that keep an id for longer than a vector store this number with it, and look the route up
    /// again when it differs.
    #[inline(always)]
    pub fn generation(&self, id: NextHopId) -> u32 {
        (self.round() << 8 | self.adjacencies.generation(id) & 0xff) & GENERATIONS
    }

    /// Returns routing table `number`; `None` if no route was ever written to it.
    #[inline]
    pub fn table(&self, number: u16) -> Option<&Table> {
        self.tables.get(usize::from(number))?.get()
    }

    /// Returns table 0, which always exists.
    #[inline]
    pub fn main(&self) -> &Table {
        self.tables[0]
            .get()
            .expect("`FibWriter::new` made table 0 before anybody got the FIB")
    }
}

/// The single writer of a [`Fib`].
#[derive(Debug)]
pub struct FibWriter {
    fib: Arc<Fib>,
    tables: Vec<Option<TableRoutes>>,
    next_hops: NextHops,
    /// True if routes may have changed since the last round was completed.
    changed: bool,
    /// Shortcuts of ports that depend on routes.
    shortcuts: Option<Arc<dyn Shortcuts>>,
    /// Changes on which no shortcut depended, although a worker may be about to install one.
    doubts: Limbo<Dependency>,
}

/// The writers of a routing table.
#[derive(Debug)]
pub struct TableRoutes {
    /// IPv4 routes.
    pub ipv4: Routes<u32>,
    /// IPv6 routes.
    pub ipv6: Routes<u128>,
}

impl Default for FibWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl FibWriter {
    /// Creates a FIB with an empty table 0.
    ///
    /// # Panics
    /// If the kernel cannot reserve a few megabytes of address space.
    pub fn new() -> Self {
        let grace = Arc::new(Grace::default());
        let fib = Arc::new(Fib {
            tables: [const { OnceLock::new() }; TABLES],
            adjacencies: AdjacencyTable::new(),
            rounds: AtomicU32::new(0),
            grace: Arc::clone(&grace),
        });
        let mut writer = Self {
            fib,
            tables: (0..TABLES).map(|_| None).collect(),
            next_hops: NextHops::new(Arc::clone(&grace)),
            changed: false,
            shortcuts: None,
            doubts: Limbo::new(grace),
        };
        writer
            .table(0)
            .expect("a process begins with address space for its first table");
        writer
    }

    /// Sets the shortcuts that depend on this FIB.
    pub fn set_shortcuts(&mut self, shortcuts: Arc<dyn Shortcuts>) {
        self.shortcuts = Some(shortcuts);
    }

    /// Removes all shortcuts after a change of forwarding state, here or in the snapshot.
    pub fn forget_shortcuts(&mut self) {
        if let Some(shortcuts) = &self.shortcuts {
            // A shortcut that a worker is about to install depends on the old state and is removed as well.
            self.doubts.clear();
            shortcuts.forget();
        }
    }

    /// Removes all shortcuts if one may depend on a changed object.
    pub fn forget_shortcuts_on(&mut self, footings: impl IntoIterator<Item = Dependency>) {
        let Some(shortcuts) = &self.shortcuts else {
            return;
        };
        for footing in footings {
            if self.doubts.len() >= RECHECKS_MAX || shortcuts.rests_on(&footing) {
                return self.forget_shortcuts();
            }
            self.doubts.push(footing);
        }
    }

    /// Checks the deferred changes again, once no worker can be about to install a shortcut that depends on
    /// them.
    fn clear_doubts(&mut self) {
        let Some(shortcuts) = self.shortcuts.clone() else {
            return;
        };
        while let Some(footing) = self.doubts.pop() {
            if shortcuts.rests_on(&footing) {
                return self.forget_shortcuts();
            }
        }
    }

    /// Returns the part that workers read.
    pub fn fib(&self) -> &Arc<Fib> {
        &self.fib
    }

    /// Returns the writer of table `number`; creates the table if it is new.
    ///
    /// # Errors
    /// [`Full`] if the number is not below [`TABLES`], or if there is no address space.
    pub fn table(&mut self, number: u16) -> Result<&mut TableRoutes, Full> {
        self.changed = true;
        let number = usize::from(number);
        let slot = self.tables.get_mut(number).ok_or(Full)?;
        // Lookups in `main` meet full tables; other tables may be many and have few routes.
        let pages = if number == 0 {
            Pages::Huge
        } else {
            Pages::Small
        };
        let routes = match slot {
            Some(routes) => routes,
            None => slot.insert(TableRoutes {
                ipv4: Routes::new(Arc::clone(&self.fib.grace), pages)?,
                ipv6: Routes::new(Arc::clone(&self.fib.grace), pages)?,
            }),
        };
        self.fib.tables[number].get_or_init(|| Table {
            ipv4: Arc::clone(routes.ipv4.fib()),
            ipv6: Arc::clone(routes.ipv6.fib()),
        });
        Ok(routes)
    }

    /// Completes a round of changes: users that cache routes look them up again ([`Fib::round`]). Commits
    /// memory in advance, so that later changes need not wait for the kernel.
    pub fn prepare(&mut self) {
        self.clear_doubts();
        if core::mem::take(&mut self.changed) {
            self.fib.rounds.fetch_add(1, Ordering::Release);
        }
        for routes in self.tables.iter_mut().flatten() {
            routes.ipv4.prepare();
            routes.ipv6.prepare();
        }
    }

    /// Creates a next hop.
    ///
    /// # Errors
    /// [`Full`] if there are [`NEXT_HOPS`], or if workers may still use the free ids.
    pub fn add_next_hop(&mut self, adjacency: &Adjacency) -> Result<NextHopId, Full> {
        let id = self.next_hops.take().ok_or(Full)?;
        self.fib.adjacencies.write(id, adjacency);
        Ok(id)
    }

    /// Changes a next hop; the change applies at once to all routes and groups that lead to it.
    pub fn set_next_hop(&mut self, id: NextHopId, adjacency: &Adjacency) {
        let before = self.fib.adjacencies.read(id);
        self.fib.adjacencies.write(id, adjacency);
        if before == *adjacency {
            return;
        }
        match before.kind {
            // These kinds lead to other next hops.
            Kind::Group | Kind::Table => self.forget_shortcuts(),
            Kind::Forward => self.forget_shortcuts_on(before.footing()),
            // No packet was forwarded by the other kinds.
            _ => {}
        }
    }

    /// Stores the IPv4 address of the neighbour that the next hop represents.
    pub fn set_gateway(&mut self, id: NextHopId, gateway: Option<Ipv4Addr>) {
        self.fib.adjacencies.set_gateway(id, gateway);
    }

    /// Frees a next hop to which no route or group leads. Its id is reused once no worker can hold it, with
    /// another generation ([`AdjacencyTable::generation`]), so that connections that stored the id notice.
    /// The caller has already changed the routes that led to it, and with them the shortcuts.
    pub fn remove_next_hop(&mut self, id: NextHopId) {
        if id == NextHopId::NO_ROUTE {
            return;
        }
        self.fib.adjacencies.retire(id);
        self.next_hops.limbo.push(id);
    }
}

/// Allocator of next hop ids.
#[derive(Debug)]
struct NextHops {
    /// Ids from here on were never used. 0 means no route.
    fresh: usize,
    limbo: Limbo<NextHopId>,
}

impl NextHops {
    fn new(grace: Arc<Grace>) -> Self {
        Self {
            fresh: 1,
            limbo: Limbo::new(grace),
        }
    }

    fn take(&mut self) -> Option<NextHopId> {
        if let Some(id) = self.limbo.pop() {
            return Some(id);
        }
        if self.fresh == NEXT_HOPS {
            return None;
        }
        let id = NextHopId(self.fresh as u32);
        self.fresh += 1;
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use frame::shortcut::{AddressPair, ConnectionTraffic, LaneSelector, LaneTraffic, Service};

    use super::super::network::Network;
    use super::*;
    use packet::out::OutId;

    /// Shortcuts that depend on some next hops and count their removals.
    #[derive(Debug)]
    struct Learned {
        on: Vec<Dependency>,
        forgotten: AtomicU32,
    }

    impl Shortcuts for Learned {
        fn forget(&self) {
            self.forgotten.fetch_add(1, Ordering::Relaxed);
        }

        fn rests_on(&self, footing: &Dependency) -> bool {
            self.on.contains(footing)
        }

        fn take(&self, _: LaneSelector, _: &mut dyn FnMut(LaneTraffic)) {}

        fn waiting(&self, _: &AddressPair, _: &Service) -> Option<ConnectionTraffic> {
            None
        }
    }

    #[test]
    fn only_relevant_changes_invalidate_shortcuts() {
        let mut writer = FibWriter::new();
        let host = |first| Dependency::Network {
            first,
            len: 32,
            ipv6: false,
        };
        let mut way = Adjacency {
            kind: Kind::Forward,
            out: OutId::port(1),
            header_len: 14,
            ..Adjacency::default()
        };
        way.header[0] = 2;
        let learned = Arc::new(Learned {
            on: vec![host(5), way.footing().expect("it leads to a port")],
            forgotten: AtomicU32::new(0),
        });
        writer.set_shortcuts(Arc::clone(&learned) as Arc<dyn Shortcuts>);
        let forgotten = || learned.forgotten.load(Ordering::Relaxed);

        let id = writer.add_next_hop(&Adjacency::default()).expect("room");
        writer.set_next_hop(id, &Adjacency { mtu: 1500, ..way });
        writer.set_next_hop(
            id,
            &Adjacency {
                header_len: 18,
                ..way
            },
        );
        writer.set_next_hop(id, &Adjacency::default());
        writer.remove_next_hop(id);
        writer.forget_shortcuts_on([host(1), host(2)]);
        writer.prepare();
        assert_eq!(forgotten(), 1, "the way that was there for a moment");

        writer.forget_shortcuts_on([host(1), host(5)]);
        assert_eq!(forgotten(), 2);
        let other = writer.add_next_hop(&Adjacency::default()).expect("room");
        writer.set_next_hop(other, &Adjacency::group(&[id]));
        writer.set_next_hop(other, &Adjacency::default());
        assert_eq!(forgotten(), 3);
    }

    #[test]
    fn tables_are_created_on_first_write_and_are_separate() {
        let mut writer = FibWriter::new();
        let fib = Arc::clone(writer.fib());
        assert!(fib.table(7).is_none());

        let net = Network::new(0x0a00_0000_u32, 8);
        let routes = writer.table(7).expect("a number below the limit");
        routes.ipv4.insert(net, NextHopId(3)).expect("room");

        let seven = fib.table(7).expect("made by writing");
        assert_eq!(seven.ipv4.lookup(0x0a01_0203), NextHopId(3));
        assert_eq!(fib.main().ipv4.lookup(0x0a01_0203), NextHopId::NO_ROUTE);
        assert!(writer.table(256).is_err() && fib.table(256).is_none());
    }

    #[test]
    fn a_next_hop_is_reused_with_a_new_generation_after_the_grace_period() {
        let mut writer = FibWriter::new();
        let fib = Arc::clone(writer.fib());
        let mut reader = fib.grace.reader().expect("a free slot");
        let forward = Adjacency {
            kind: Kind::Forward,
            ..Adjacency::default()
        };
        reader.pass();
        let id = writer.add_next_hop(&forward).expect("room");
        let generation = fib.adjacencies.generation(id);

        writer.remove_next_hop(id);
        assert_eq!(fib.adjacencies.read(id).kind, Kind::NoRoute);
        let other = writer.add_next_hop(&forward).expect("room");
        assert_ne!(other, id);
        reader.pass();

        assert_eq!(writer.add_next_hop(&forward), Ok(id));
        assert_ne!(fib.adjacencies.generation(id), generation);
    }
}
