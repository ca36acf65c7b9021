//! Writes changes of the RIB into the FIB.

use core::net::Ipv4Addr;

use dataplane::table::adjacency::Adjacency;
use dataplane::table::fib::FibWriter;
use dataplane::table::{Address, Network, NextHopId, Routes};
use frame::shortcut::Dependency;

use crate::rib::{Family, LineSink, Net, RouteSink, V4, V6};

/// Writes into the FIB; counts entries without room.
#[derive(Debug)]
pub struct FibSink<'a> {
    fib: &'a mut FibWriter,
    /// Routes and next hops without room in the tables, which therefore do not forward.
    pub lost: usize,
}

impl<'a> FibSink<'a> {
    /// Creates a sink for this FIB.
    pub fn new(fib: &'a mut FibWriter) -> Self {
        Self { fib, lost: 0 }
    }
}

impl LineSink for FibSink<'_> {
    fn take_line(&mut self) -> Option<NextHopId> {
        let id = self.fib.add_next_hop(&Adjacency::default()).ok();
        self.lost += usize::from(id.is_none());
        id
    }

    fn write_line(&mut self, id: NextHopId, adjacency: &Adjacency, gateway: Option<Ipv4Addr>) {
        self.fib.set_gateway(id, gateway);
        self.fib.set_next_hop(id, adjacency);
    }

    fn return_line(&mut self, id: NextHopId) {
        self.fib.remove_next_hop(id);
    }
}

impl RouteSink<V4> for FibSink<'_> {
    fn write_routes(&mut self, table: u16, changes: &[(Net<V4>, NextHopId)]) {
        let network = |net: &Net<V4>| Network::new(V4::bits(net.first()) as u32, net.len());
        let Ok(routes) = self.fib.table(table) else {
            self.lost += changes.len();
            return;
        };
        self.lost += write_all(&mut routes.ipv4, changes, network);
        self.fib
            .forget_shortcuts_on(changes.iter().map(|(net, _)| footing(net)));
    }
}

impl RouteSink<V6> for FibSink<'_> {
    fn write_routes(&mut self, table: u16, changes: &[(Net<V6>, NextHopId)]) {
        let network = |net: &Net<V6>| Network::new(V6::bits(net.first()), net.len());
        let Ok(routes) = self.fib.table(table) else {
            self.lost += changes.len();
            return;
        };
        self.lost += write_all(&mut routes.ipv6, changes, network);
        self.fib
            .forget_shortcuts_on(changes.iter().map(|(net, _)| footing(net)));
    }
}

/// Returns the dependency that invalidates the shortcuts of a route.
fn footing<F: Family>(net: &Net<F>) -> Dependency {
    Dependency::Network {
        first: F::bits(net.first()),
        len: net.len(),
        ipv6: F::IPV6,
    }
}

/// Writes all changes; returns the number of changes without room.
fn write_all<F: Family, A: Address>(
    routes: &mut Routes<A>,
    changes: &[(Net<F>, NextHopId)],
    network: impl Fn(&Net<F>) -> Network<A>,
) -> usize {
    let all = || changes.iter().map(|(net, hop)| (network(net), *hop));
    if routes.change(all()).is_ok() {
        return 0;
    }
    // The table does not report which changes failed: retry one by one, so that every change with room is written.
    all()
        .filter(|(network, hop)| routes.insert(*network, *hop).is_err())
        .count()
}
