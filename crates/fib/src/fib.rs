//! All routing tables, with the next hops that they share.
//!
//! [`Fib`] is what workers read; [`FibWriter`] is the one writer, which control owns. A table is a
//! number of `/routing/table` (0 is `main`) and has an IPv4 and an IPv6 half; it is made when it is
//! first written and stays, empty perhaps, for the process's life.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use frame::shortcut::{Footing, Shortcuts};
use kernels::Pages;

use super::adjacency::{Adjacency, AdjacencyTable, Kind, NEXT_HOPS, NextHopId};
use super::grace::{Grace, Limbo};
use super::lpm::{Fib4, Fib6, Full};
use super::routes::Routes;

/// The most routing tables.
pub const TABLES: usize = 256;

/// The bits of a generation: a connection keeps the rest of an id beside it.
pub const GENERATION_BITS: u32 = 28;
const GENERATIONS: u32 = (1 << GENERATION_BITS) - 1;

/// Changes that are looked at again; beyond them all shortcuts are forgotten.
const DOUBTS: usize = 4096;

/// What workers read: every routing table, and the next hops.
#[derive(Debug)]
pub struct Fib {
    tables: [OnceLock<Table>; TABLES],
    /// The next hops that routes of all tables lead to.
    pub adjacencies: AdjacencyTable,
    /// How many rounds of route changes there were: what remembers a route compares it.
    rounds: AtomicU32,
    /// Where each worker registers, and says between two vectors that it has passed.
    pub grace: Arc<Grace>,
}

/// A routing table.
#[derive(Debug)]
pub struct Table {
    /// Its IPv4 routes.
    pub ipv4: Arc<Fib4>,
    /// Its IPv6 routes.
    pub ipv6: Arc<Fib6>,
}

impl Fib {
    /// A number that is another one after each round of route changes.
    #[inline(always)]
    pub fn round(&self) -> u32 {
        self.rounds.load(Ordering::Acquire)
    }

    /// A number of [`GENERATION_BITS`] that is another one when routes changed, or a next hop's id was given back:
    /// who keeps an id longer than a vector keeps this with it, and looks the route up again when it differs.
    #[inline(always)]
    pub fn generation(&self, id: NextHopId) -> u32 {
        (self.round() << 8 | self.adjacencies.generation(id) & 0xff) & GENERATIONS
    }

    /// Routing table `number`; `None` if no route was ever written to it.
    #[inline]
    pub fn table(&self, number: u16) -> Option<&Table> {
        self.tables.get(usize::from(number))?.get()
    }

    /// Table 0, which is always there.
    #[inline]
    pub fn main(&self) -> &Table {
        self.tables[0]
            .get()
            .expect("`FibWriter::new` made table 0 before anybody got the FIB")
    }
}

/// The one writer of a [`Fib`].
#[derive(Debug)]
pub struct FibWriter {
    fib: Arc<Fib>,
    tables: Vec<Option<TableRoutes>>,
    next_hops: NextHops,
    /// Routes may have changed since the last round was closed.
    changed: bool,
    /// What ports learned of it.
    shortcuts: Option<Arc<dyn Shortcuts>>,
    /// What has changed that no shortcut rested on, though workers may be about to install one.
    doubts: Limbo<Footing>,
}

/// The writers of a routing table's halves.
#[derive(Debug)]
pub struct TableRoutes {
    /// Its IPv4 routes.
    pub ipv4: Routes<u32>,
    /// Its IPv6 routes.
    pub ipv6: Routes<u128>,
}

impl Default for FibWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl FibWriter {
    /// A FIB with table 0, without a route.
    ///
    /// # Panics
    /// When the kernel has not even a few megabytes of address space.
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

    /// Takes shortcuts that ports may learn.
    pub fn set_shortcuts(&mut self, shortcuts: Arc<dyn Shortcuts>) {
        self.shortcuts = Some(shortcuts);
    }

    /// Something that forwarding depends on has changed, here or in the snapshot: whatever ports learned
    /// before is forgotten.
    pub fn forget_shortcuts(&mut self) {
        if let Some(shortcuts) = &self.shortcuts {
            // What a worker is about to install rests on what was there before, and is forgotten, too.
            self.doubts.clear();
            shortcuts.forget();
        }
    }

    /// This has changed: what ports learned before is forgotten if that may rest on it.
    pub fn forget_shortcuts_on(&mut self, footings: impl IntoIterator<Item = Footing>) {
        let Some(shortcuts) = &self.shortcuts else {
            return;
        };
        for footing in footings {
            if self.doubts.len() >= DOUBTS || shortcuts.rests_on(&footing) {
                return self.forget_shortcuts();
            }
            self.doubts.push(footing);
        }
    }

    /// Looks again when no worker can be about to install what rests on a change.
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

    /// What workers read.
    pub fn fib(&self) -> &Arc<Fib> {
        &self.fib
    }

    /// The routes of table `number`, which is made if it is new.
    ///
    /// # Errors
    /// [`Full`]: the number is not below [`TABLES`], or there is no address space for a new one.
    pub fn table(&mut self, number: u16) -> Result<&mut TableRoutes, Full> {
        self.changed = true;
        let number = usize::from(number);
        let slot = self.tables.get_mut(number).ok_or(Full)?;
        // Full tables are looked up in `main`; others may be many, and have few routes.
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

    /// Closes a round of changes: what remembers routes looks them up again ([`Fib::round`]). Has
    /// the kernel give memory for changes to come, so that none waits for it.
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

    /// Makes a next hop.
    ///
    /// # Errors
    /// [`Full`]: there are [`NEXT_HOPS`] already, or the free ones may still be held by a worker.
    pub fn add_next_hop(&mut self, adjacency: &Adjacency) -> Result<NextHopId, Full> {
        let id = self.next_hops.take().ok_or(Full)?;
        self.fib.adjacencies.write(id, adjacency);
        Ok(id)
    }

    /// Changes a next hop; every route and group that leads to it follows at once.
    pub fn set_next_hop(&mut self, id: NextHopId, adjacency: &Adjacency) {
        let before = self.fib.adjacencies.read(id);
        self.fib.adjacencies.write(id, adjacency);
        if before == *adjacency {
            return;
        }
        match before.kind {
            // They lead to others.
            Kind::Group | Kind::Table => self.forget_shortcuts(),
            Kind::Forward => self.forget_shortcuts_on(before.footing()),
            // Nothing was forwarded by it.
            _ => {}
        }
    }

    /// Notes which IPv4 neighbour a next hop is, if it is one.
    pub fn set_gateway(&mut self, id: NextHopId, gateway: Option<Ipv4Addr>) {
        self.fib.adjacencies.set_gateway(id, gateway);
    }

    /// Gives a next hop back that no route and no group leads to any more. Its id is used again
    /// when no worker can hold it, with another generation
    /// ([`AdjacencyTable::generation`]): connections that remember the id notice. What led to it has changed
    /// before, and shortcuts with it.
    pub fn remove_next_hop(&mut self, id: NextHopId) {
        if id == NextHopId::NO_ROUTE {
            return;
        }
        self.fib.adjacencies.retire(id);
        self.next_hops.limbo.push(id);
    }
}

/// The ids that are free.
#[derive(Debug)]
struct NextHops {
    /// Below this, every id was taken once. 0 is no route.
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
    use frame::shortcut::{Between, Gathered, Service, Went, Which};

    use super::super::network::Network;
    use super::*;
    use packet::out::OutId;

    /// Ports that have learned a way by one next hop, and count how often they forgot.
    #[derive(Debug)]
    struct Learned {
        on: Vec<Footing>,
        forgotten: AtomicU32,
    }

    impl Shortcuts for Learned {
        fn forget(&self) {
            self.forgotten.fetch_add(1, Ordering::Relaxed);
        }

        fn rests_on(&self, footing: &Footing) -> bool {
            self.on.contains(footing)
        }

        fn take(&self, _: Which, _: &mut dyn FnMut(Went)) {}

        fn waiting(&self, _: &Between, _: &Service) -> Option<Gathered> {
            None
        }
    }

    #[test]
    fn only_a_change_that_shortcuts_rest_on_forgets_them() {
        let mut writer = FibWriter::new();
        let host = |first| Footing::Network {
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
    fn tables_are_made_when_first_written_and_do_not_mix() {
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
    fn a_next_hop_comes_back_with_another_generation_after_the_workers_passed() {
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
