//! The RIB's outcome, written into the FIB.

use dataplane::table::adjacency::Adjacency;
use dataplane::table::fib::FibWriter;
use dataplane::table::{Network, NextHopId};

use crate::rib::{Family, LineSink, Net, RouteSink, V4, V6};

/// Writes into the FIB; counts what found no room there.
#[derive(Debug)]
pub struct FibSink<'a> {
    fib: &'a mut FibWriter,
    /// Routes and next hops that are not forwarded by, because the tables are full.
    pub lost: usize,
}

impl<'a> FibSink<'a> {
    /// Writes into this FIB.
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

    fn write_line(&mut self, id: NextHopId, adjacency: &Adjacency) {
        self.fib.set_next_hop(id, adjacency);
    }

    fn return_line(&mut self, id: NextHopId) {
        self.fib.remove_next_hop(id);
    }
}

impl RouteSink<V4> for FibSink<'_> {
    fn write_route(&mut self, table: u16, net: Net<V4>, hop: NextHopId) {
        let network = Network::new(V4::bits(net.first()) as u32, net.len());
        let written = self
            .fib
            .table(table)
            .and_then(|table| table.ipv4.insert(network, hop));
        self.lost += usize::from(written.is_err());
    }

    fn erase_route(&mut self, table: u16, net: Net<V4>) {
        let network = Network::new(V4::bits(net.first()) as u32, net.len());
        let erased = self
            .fib
            .table(table)
            .and_then(|table| table.ipv4.remove(network));
        self.lost += usize::from(erased.is_err());
    }
}

impl RouteSink<V6> for FibSink<'_> {
    fn write_route(&mut self, table: u16, net: Net<V6>, hop: NextHopId) {
        let network = Network::new(V6::bits(net.first()), net.len());
        let written = self
            .fib
            .table(table)
            .and_then(|table| table.ipv6.insert(network, hop));
        self.lost += usize::from(written.is_err());
    }

    fn erase_route(&mut self, table: u16, net: Net<V6>) {
        let network = Network::new(V6::bits(net.first()), net.len());
        let erased = self
            .fib
            .table(table)
            .and_then(|table| table.ipv6.remove(network));
        self.lost += usize::from(erased.is_err());
    }
}
