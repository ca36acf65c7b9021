//! Selects the candidates that forward, and writes them into the FIB.

use std::collections::BTreeSet;

use dataplane::table::NextHopId;
use frame::InterfaceId;

use super::family::{Family, Net};
use super::line::Target;
use super::route::NIL;
use super::{MAIN, Rib, RouteSink};

impl<F: Family> Rib<F> {
    /// Applies all pending changes and their consequences. Writes lines first, then the routes that refer to them.
    pub fn settle(&mut self, sink: &mut impl RouteSink<F>) {
        let mut changed = BTreeSet::new();
        loop {
            if let Some(hop) = self.dirty_hops.pop_first() {
                self.refresh_hop(hop);
            } else if let Some((table, net)) = self.dirty_nets.pop_first() {
                self.select(table, net, &mut changed);
            } else {
                break;
            }
        }
        let of_main = changed.iter().filter(|(table, _)| *table == MAIN);
        self.moved.nets.extend(of_main.map(|(_, net)| *net));
        for hop in core::mem::take(&mut self.flipped) {
            if let Some(hop) = self.hops.hop_mut(hop) {
                hop.flips = 0;
                self.moved.sets.extend(&hop.sets);
            }
        }
        let mut released = Vec::new();
        for addr in core::mem::take(&mut self.dirty_hosts) {
            if self.select_host(addr, &mut released) {
                changed.insert((MAIN, Net::host(addr)));
            }
        }
        self.lines.flush(sink);
        self.publish_all(changed, sink);
        // Releases the lines only now that no route refers to them.
        for target in released {
            self.lines.unshare(target);
        }
        for set in core::mem::take(&mut self.released_sets) {
            self.release_set(set);
        }
        self.lines.return_numbers(sink);
        for len in core::mem::take(&mut self.released_lengths) {
            if let Some(count) = self.connected_lengths.get_mut(&len) {
                *count -= 1;
                if *count == 0 {
                    self.connected_lengths.remove(&len);
                }
            }
        }
    }

    fn select(&mut self, table: u16, net: Net<F>, changed: &mut BTreeSet<(u16, Net<F>)>) {
        let Some(entry) = self.tables.get(&table).and_then(|t| t.entries.get(&net)) else {
            return;
        };
        let (head, set_before, scope_before) = (entry.head, entry.set, entry.scope);
        let winners = self.winners(head);
        let scope = self.mark_winners(head, &winners);
        let set = match &winners[..] {
            [] => NIL,
            [one] => {
                let set = self.routes[*one as usize].as_ref().map_or(NIL, |r| r.set);
                if let Some(set) = self.hops.set_mut(set) {
                    set.users += 1;
                }
                set
            }
            many => self.merge(many),
        };
        if let Some(entry) = self
            .tables
            .get_mut(&table)
            .and_then(|t| t.entries.get_mut(&net))
        {
            entry.set = set;
            entry.scope = scope;
        }
        if set_before != NIL {
            self.released_sets.push(set_before);
        }
        changed.insert((table, net));
        if set != set_before || scope != scope_before {
            self.touch_hops(table, net);
            self.touch_hosts(table, net);
        }
    }

    /// Returns the usable candidates with the least distance, the best origin and the least scope, ordered by owner.
    /// (All routes that forward have one scope, so that the resolution of gateways behind them is unambiguous.)
    fn winners(&self, head: u32) -> Vec<u32> {
        let mut best = None;
        let mut winners = Vec::new();
        let mut at = head;
        while let Some(Some(route)) = self.routes.get(at as usize) {
            let usable = self.hops.set(route.set).is_some_and(|set| set.usable);
            let rank = (route.distance, route.protocol, route.scope);
            if usable && best.is_none_or(|best| rank <= best) {
                if best != Some(rank) {
                    winners.clear();
                    best = Some(rank);
                }
                winners.push(at);
            }
            at = route.next;
        }
        winners.sort_by_key(|id| self.routes[*id as usize].as_ref().map(|r| r.owner));
        winners
    }

    /// Sets the flags of all candidates; returns the least scope of the winners.
    fn mark_winners(&mut self, head: u32, winners: &[u32]) -> u8 {
        let mut scope = u8::MAX;
        let mut at = head;
        while let Some(Some(route)) = self.routes.get_mut(at as usize) {
            route.active = winners.contains(&at);
            if route.active {
                scope = scope.min(route.scope);
            }
            let several = self
                .hops
                .set(route.set)
                .is_some_and(|set| set.hops.len() > 1);
            route.ecmp = several || (route.active && winners.len() > 1);
            at = route.next;
        }
        scope
    }

    /// Returns the gateway set that combines the gateways of several routes.
    fn merge(&mut self, routes: &[u32]) -> u32 {
        let hops = routes
            .iter()
            .filter_map(|id| self.routes[*id as usize].as_ref())
            .filter_map(|route| self.hops.set(route.set))
            .flat_map(|set| set.hops.iter().copied())
            .collect();
        self.intern_set(hops)
    }

    /// Writes the routes of the changed prefixes, table by table.
    fn publish_all(&mut self, changed: BTreeSet<(u16, Net<F>)>, sink: &mut impl RouteSink<F>) {
        let mut of_table = Vec::new();
        let mut table = MAIN;
        for (next, net) in changed {
            if next != table {
                flush_routes(table, &mut of_table, sink);
                table = next;
            }
            if let Some(line) = self.publish(table, net) {
                of_table.push((net, line));
            }
        }
        flush_routes(table, &mut of_table, sink);
    }

    /// Returns the new FIB entry of a prefix; `None` if it is unchanged. Removes a prefix without candidates.
    fn publish(&mut self, table: u16, net: Net<F>) -> Option<NextHopId> {
        let host = (table == MAIN && net.len() == F::BITS)
            .then(|| self.hosts.get(&net.first()))
            .flatten()
            .map(|(_, line)| self.lines.number(*line));
        let at = self.tables.get_mut(&table)?;
        let Some(entry) = at.entries.get_mut(&net) else {
            return Some(host.unwrap_or(NextHopId::NO_ROUTE));
        };
        let set = || Some(self.lines.number(self.hops.set(entry.set)?.line));
        let wanted = host.or_else(set).unwrap_or(NextHopId::NO_ROUTE);
        let before = core::mem::replace(&mut entry.line, wanted);
        if entry.head == NIL {
            at.entries.remove(&net);
            at.lengths[usize::from(net.len())] -= 1;
        }
        (wanted != before).then_some(wanted)
    }

    /// Marks the neighbours whose host route may change with this prefix.
    fn touch_hosts(&mut self, table: u16, net: Net<F>) {
        // A network wider than every connected network affects no host route.
        let narrowest = self.connected_lengths.keys().next().copied();
        if table != MAIN || narrowest.is_none_or(|narrowest| net.len() < narrowest) {
            return;
        }
        let within = self.neighbours.range(net.first()..=net.last());
        self.dirty_hosts.extend(within.map(|(addr, _)| *addr));
        let within = self.hosts.range(net.first()..=net.last());
        self.dirty_hosts.extend(within.map(|(addr, _)| *addr));
    }

    /// Adds or removes the host route of a resolved neighbour; returns whether anything changed.
    fn select_host(&mut self, addr: F::Addr, released: &mut Vec<Target<F>>) -> bool {
        let wanted = self.host_interface(addr);
        let before = self.hosts.get(&addr).map(|(interface, _)| *interface);
        if wanted == before {
            return false;
        }
        if let Some((interface, _)) = self.hosts.remove(&addr) {
            released.push(Target::Neighbour(interface, addr));
        }
        if let Some(interface) = wanted {
            let line = self.lines.share(Target::Neighbour(interface, addr));
            self.hosts.insert(addr, (interface, line));
        }
        true
    }

    /// Returns the interface on which `addr` is a resolved neighbour, if the best route leads to that interface.
    fn host_interface(&self, addr: F::Addr) -> Option<InterfaceId> {
        let interfaces = self.neighbours.get(&addr)?;
        let (_, entry) = self
            .tables
            .get(&MAIN)?
            .covering(addr)
            .find(|(_, entry)| entry.set != NIL)?;
        let hops = &self.hops.set(entry.set)?.hops;
        let [hop] = &hops[..] else {
            return None;
        };
        match &self.hops.hop(*hop)?.paths[..] {
            [Target::Connected(interface)] if interfaces.contains(interface) => Some(*interface),
            _ => None,
        }
    }
}

fn flush_routes<F: Family>(
    table: u16,
    changes: &mut Vec<(Net<F>, NextHopId)>,
    sink: &mut impl RouteSink<F>,
) {
    if !changes.is_empty() {
        sink.write_routes(table, changes);
        changes.clear();
    }
}
