//! The RIB: all offered routes, and the selection of those that forward.
//!
//! For each table and prefix, the usable candidates with the least distance forward; candidates with equal distance and
//! origin share the flows. A gateway is usable when it is resolved: through an active route of its table whose scope is
//! not above the route's target-scope, down to a neighbour on an interface that runs (RouterOS: "Nexthop lookup"), and
//! when its check says that it answers.
//!
//! The cost of a change depends on the change: `settle` follows the dependencies from prefixes to the gateways in them,
//! and from gateways to the routes that use them. A change of a shared gateway, neighbour or link rewrites its next-hop
//! line only: a million routes that use it stay unchanged.

pub mod family;
mod hop;
pub mod line;
mod resolve;
pub mod route;
mod select;
#[cfg(test)]
mod tests;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use dataplane::table::NextHopId;
use frame::InterfaceId;
use wire::Mac;

pub use family::{Family, Net, V4, V6};
pub use line::{LineSink, Lines, Link, Target};
pub use route::{Check, Gateway, Offer, Protocol, RouteId};
pub use view::{GatewayView, LocalRoute, RouteView};

use hop::{HopKey, Hops};
use line::LineId;
use route::{NIL, Route};

/// The default table.
pub const MAIN: u16 = 0;

/// Destination of selected routes: the FIB, or a model of it.
pub trait RouteSink<F: Family>: LineSink {
    /// Replaces the routes of these prefixes in a table; [`NextHopId::NO_ROUTE`] removes the prefix. `changes` is
    /// sorted by prefix, without duplicates.
    fn write_routes(&mut self, table: u16, changes: &[(Net<F>, NextHopId)]);
}

/// Changes of the main table: enough to find the addresses whose packets may take other paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved<F: Family> {
    /// Prefixes whose routes were selected again.
    pub nets: Vec<Net<F>>,
    /// Gateway sets with changed paths, as in [`LocalRoute::set`].
    pub sets: BTreeSet<u32>,
}

impl<F: Family> Moved<F> {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.nets.is_empty() && self.sets.is_empty()
    }
}

/// A prefix of a table.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// First candidate.
    head: u32,
    /// Gateway set that forwards; `NIL` if no candidate is usable.
    set: u32,
    /// Next hop in the FIB; [`NextHopId::NO_ROUTE`] for none.
    line: NextHopId,
    /// Least scope of the routes that forward.
    scope: u8,
}

#[derive(Debug)]
struct Table<F: Family> {
    entries: BTreeMap<Net<F>, Entry>,
    /// Number of prefixes by length: a lookup tries only existing lengths.
    lengths: Vec<u32>,
}

impl<F: Family> Default for Table<F> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            lengths: vec![0; usize::from(F::BITS) + 1],
        }
    }
}

impl<F: Family> Table<F> {
    /// Returns the entries that contain `addr`, the longest prefix first.
    fn covering(&self, addr: F::Addr) -> impl Iterator<Item = (Net<F>, &Entry)> {
        (0..=F::BITS)
            .rev()
            .filter(|len| self.lengths[usize::from(*len)] > 0)
            .filter_map(move |len| {
                let net = Net::new(addr, len);
                self.entries.get(&net).map(|entry| (net, entry))
            })
    }
}

/// All routes of one address family.
#[derive(Debug)]
pub struct Rib<F: Family> {
    tables: BTreeMap<u16, Table<F>>,
    routes: Vec<Option<Route<F>>>,
    free_routes: Vec<u32>,
    pref_src: BTreeMap<u32, F::Addr>,
    hops: Hops<F>,
    lines: Lines<F>,
    /// Resolved neighbours, the candidates of host routes.
    neighbours: BTreeMap<F::Addr, BTreeSet<InterfaceId>>,
    /// Host routes in the FIB of the main table: interface and line of the neighbour.
    hosts: BTreeMap<F::Addr, (InterfaceId, LineId)>,
    /// Number of connected networks by prefix length.
    connected_lengths: BTreeMap<u8, u32>,
    /// Gateways whose check failed.
    dead: BTreeSet<(Gateway<F>, Check)>,
    /// Checked gateways that became reachable since the last [`Self::take_found`].
    found: Vec<(Gateway<F>, Check)>,
    /// Changes since the last [`Self::take_moved`].
    moved: Moved<F>,
    released_lengths: Vec<u8>,
    /// Sets without users, kept until the FIB no longer refers to their lines.
    released_sets: Vec<u32>,
    /// Gateways that changed during this settlement.
    flipped: Vec<u32>,
    dirty_nets: BTreeSet<(u16, Net<F>)>,
    dirty_hops: BTreeSet<u32>,
    dirty_hosts: BTreeSet<F::Addr>,
    on_interface: BTreeMap<InterfaceId, BTreeSet<u32>>,
}

impl<F: Family> Default for Rib<F> {
    fn default() -> Self {
        Self {
            tables: BTreeMap::new(),
            routes: Vec::new(),
            free_routes: Vec::new(),
            pref_src: BTreeMap::new(),
            hops: Hops::default(),
            lines: Lines::default(),
            neighbours: BTreeMap::new(),
            hosts: BTreeMap::new(),
            connected_lengths: BTreeMap::new(),
            dead: BTreeSet::new(),
            found: Vec::new(),
            moved: Moved::default(),
            released_lengths: Vec::new(),
            released_sets: Vec::new(),
            flipped: Vec::new(),
            dirty_nets: BTreeSet::new(),
            dirty_hops: BTreeSet::new(),
            dirty_hosts: BTreeSet::new(),
            on_interface: BTreeMap::new(),
        }
    }
}

impl<F: Family> Rib<F> {
    /// Adds a candidate. The next `settle` applies the consequences.
    pub fn add(&mut self, offer: &Offer<F>) -> RouteId {
        let set = self.set_of(offer);
        let table = self.tables.entry(offer.table).or_default();
        let entry = table.entries.entry(offer.net).or_insert_with(|| {
            table.lengths[usize::from(offer.net.len())] += 1;
            Entry {
                head: NIL,
                set: NIL,
                line: NextHopId::NO_ROUTE,
                scope: u8::MAX,
            }
        });
        let route = Route {
            net: offer.net,
            distance: offer.distance,
            scope: offer.scope,
            protocol: offer.protocol,
            active: false,
            ecmp: false,
            table: offer.table,
            set,
            owner: offer.owner,
            next: entry.head,
            set_before: NIL,
            set_after: NIL,
        };
        let id = match self.free_routes.pop() {
            Some(id) => {
                self.routes[id as usize] = Some(route);
                id
            }
            None => {
                self.routes.push(Some(route));
                (self.routes.len() - 1) as u32
            }
        };
        entry.head = id;
        if let Some(source) = offer.pref_src {
            self.pref_src.insert(id, source);
        }
        self.link_to_set(id, set);
        if offer.protocol == Protocol::Connected {
            *self.connected_lengths.entry(offer.net.len()).or_insert(0) += 1;
        }
        self.dirty_nets.insert((offer.table, offer.net));
        RouteId(id)
    }

    /// Removes a candidate. The next `settle` applies the consequences.
    pub fn remove(&mut self, id: RouteId) {
        let Some(route) = self.routes.get_mut(id.0 as usize).and_then(Option::take) else {
            return;
        };
        self.pref_src.remove(&id.0);
        self.unlink_from_set(&route);
        if route.protocol == Protocol::Connected {
            // Counted until `settle`: the removal of a network must still uncover the neighbours in it.
            self.released_lengths.push(route.net.len());
        }
        if let Some(entry) = self
            .tables
            .get_mut(&route.table)
            .and_then(|table| table.entries.get_mut(&route.net))
        {
            if entry.head == id.0 {
                entry.head = route.next;
            } else {
                let mut at = entry.head;
                while let Some(candidate) = slot_mut(&mut self.routes, at) {
                    if candidate.next == id.0 {
                        candidate.next = route.next;
                        break;
                    }
                    at = candidate.next;
                }
            }
        }
        self.free_routes.push(id.0);
        self.dirty_nets.insert((route.table, route.net));
        self.release_set(route.set);
    }

    /// Sets or removes the link of an interface.
    pub fn set_link(&mut self, interface: InterfaceId, link: Option<Link>) {
        if !self.lines.set_link(interface, link) {
            return;
        }
        if let Some(hops) = self.on_interface.get(&interface) {
            self.dirty_hops.extend(hops.iter().copied());
        }
    }

    /// Sets the link address of a neighbour, or removes the neighbour.
    pub fn set_neighbour(&mut self, interface: InterfaceId, addr: F::Addr, mac: Option<Mac>) {
        self.lines.set_mac(interface, addr, mac);
        let interfaces = self.neighbours.entry(addr).or_default();
        if mac.is_some() {
            interfaces.insert(interface);
        } else {
            interfaces.remove(&interface);
        }
        if interfaces.is_empty() {
            self.neighbours.remove(&addr);
        }
        self.dirty_hosts.insert(addr);
    }

    /// Removes the link and the neighbours of a removed interface.
    pub fn forget_interface(&mut self, interface: InterfaceId) {
        self.set_link(interface, None);
        for addr in self.lines.neighbours_on(interface) {
            self.set_neighbour(interface, addr, None);
        }
    }

    /// Sets the result of a gateway check.
    ///
    /// RouterOS: a gateway that one route checks is dead or alive for all routes that name it.
    pub fn set_alive(&mut self, gateway: Gateway<F>, check: Check, alive: bool) {
        if alive {
            self.dead.remove(&(gateway, check));
        } else {
            self.dead.insert((gateway, check));
        }
        let alive = self.is_alive(&gateway);
        let from = HopKey::new(gateway, 0, Check::None);
        let of_it = self.hops.by_key.range(from..);
        let of_it = of_it.take_while(|(key, _)| key.gateway == gateway);
        let same: Vec<u32> = of_it.map(|(_, id)| *id).collect();
        for id in same {
            if let Some(hop) = self.hops.hop_mut(id)
                && hop.alive != alive
            {
                hop.alive = alive;
                self.dirty_hops.insert(id);
            }
        }
    }

    fn is_alive(&self, gateway: &Gateway<F>) -> bool {
        let first = (*gateway, Check::None);
        let mut failed = self.dead.range(first..);
        failed.next().is_none_or(|(dead, _)| dead != gateway)
    }

    /// Returns the gateways whose need for a check may have changed since the last call, with the method, and whether
    /// a route needs the check now.
    pub fn take_check_changes(&mut self) -> Vec<(Gateway<F>, Check, bool)> {
        self.hops.take_check_changes()
    }

    /// Returns the checked gateways that became reachable since the last call, because a link came up or a route was
    /// added; possibly with duplicates.
    pub fn take_found(&mut self) -> Vec<(Gateway<F>, Check)> {
        core::mem::take(&mut self.found)
    }

    /// Returns the changes of forwarding since the last call.
    pub fn take_moved(&mut self) -> Moved<F> {
        core::mem::take(&mut self.moved)
    }

    /// Returns the targets for probes of a gateway, dead or alive: the targets of its routes, and several of them
    /// behind a multipath route. For pings, each target has the next hop that leads there.
    pub fn ways_to(
        &self,
        gateway: Gateway<F>,
        check: Check,
    ) -> impl Iterator<Item = (Target<F>, NextHopId)> {
        let from = HopKey::new(gateway, 0, Check::None);
        let of_it = self.hops.by_key.range(from..);
        let of_it = of_it.take_while(move |(key, _)| key.gateway == gateway);
        let asked = of_it.filter(move |(key, _)| key.check == check);
        let mut hops = asked.filter_map(|(_, id)| self.hops.hop(*id));
        let hop = hops.find(|hop| !hop.ways.is_empty());
        let ways = hop.into_iter().flat_map(|hop| &hop.ways);
        ways.map(|way| (*way, self.lines.shared_number(way)))
    }

    /// Returns the next-hop lines.
    pub fn lines(&self) -> &Lines<F> {
        &self.lines
    }

    fn set_of(&mut self, offer: &Offer<F>) -> u32 {
        let hops: Vec<u32> = offer
            .gateways
            .iter()
            .map(|gateway| self.hop_of(HopKey::new(*gateway, offer.target_scope, offer.check)))
            .collect();
        self.intern_set(hops)
    }

    fn hop_of(&mut self, key: HopKey<F>) -> u32 {
        if let Some(id) = self.hops.by_key.get(&key) {
            return *id;
        }
        let line = self.lines.take();
        let id = self.hops.insert_hop(key, line);
        let alive = self.is_alive(&key.gateway);
        if let Some(hop) = self.hops.hop_mut(id) {
            hop.alive = alive;
        }
        if let Some(interface) = interface_of(&key.gateway) {
            self.on_interface.entry(interface).or_default().insert(id);
        }
        self.dirty_hops.insert(id);
        id
    }

    /// Returns the set of these gateways, and counts the caller as a user.
    fn intern_set(&mut self, hops: Vec<u32>) -> u32 {
        let hops: Box<[u32]> = hops.into();
        let known = self.hops.by_hops.get(&hops).copied();
        let id = known.unwrap_or_else(|| {
            // A set of one gateway shows the paths of the gateway.
            let own = match &*hops {
                [one] => self.hops.hop(*one).map(|hop| hop.line),
                _ => None,
            };
            let line = own.unwrap_or_else(|| self.lines.take());
            self.hops.insert_set(hops, line)
        });
        if let Some(set) = self.hops.set_mut(id) {
            set.users += 1;
        }
        if known.is_none() {
            self.refresh_set(id);
        }
        id
    }

    /// Releases a use of a set; removes a set without users, and gateways without sets.
    fn release_set(&mut self, id: u32) {
        let Some(set) = self.hops.set_mut(id) else {
            return;
        };
        set.users -= 1;
        if set.users > 0 {
            return;
        }
        let Some(set) = self.hops.remove_set(id) else {
            return;
        };
        for dependant in &set.dependants {
            if let Some(hop) = self.hops.hop_mut(*dependant) {
                hop.via = NIL;
            }
            self.dirty_hops.insert(*dependant);
        }
        if set.hops.len() != 1 {
            self.lines.give_back(set.line);
        }
        for hop in set.hops {
            self.release_hop(hop);
        }
    }

    fn release_hop(&mut self, id: u32) {
        if self.hops.hop(id).is_none_or(|hop| !hop.sets.is_empty()) {
            return;
        }
        self.hops.set_via(id, NIL, 0);
        if let Some(hop) = self.hops.remove_hop(id) {
            if let Some(interface) = interface_of(&hop.key.gateway)
                && let Some(hops) = self.on_interface.get_mut(&interface)
            {
                hops.remove(&id);
                if hops.is_empty() {
                    self.on_interface.remove(&interface);
                }
            }
            self.lines.give_back(hop.line);
            if hop.key.check == Check::Ping {
                for way in hop.ways {
                    self.lines.unshare(way);
                }
            }
        }
        self.dirty_hops.remove(&id);
    }

    fn link_to_set(&mut self, id: u32, set: u32) {
        let Some(entry) = self.hops.set_mut(set) else {
            return;
        };
        let after = core::mem::replace(&mut entry.routes, id);
        if let Some(route) = slot_mut(&mut self.routes, after) {
            route.set_before = id;
        }
        if let Some(route) = slot_mut(&mut self.routes, id) {
            route.set_after = after;
        }
    }

    fn unlink_from_set(&mut self, route: &Route<F>) {
        let (before, after) = (route.set_before, route.set_after);
        if let Some(other) = slot_mut(&mut self.routes, after) {
            other.set_before = before;
        }
        if let Some(other) = slot_mut(&mut self.routes, before) {
            other.set_after = after;
        } else if let Some(set) = self.hops.set_mut(route.set) {
            set.routes = after;
        }
    }
}

fn slot_mut<T>(slots: &mut [Option<T>], id: u32) -> Option<&mut T> {
    slots.get_mut(id as usize)?.as_mut()
}

fn interface_of<F: Family>(gateway: &Gateway<F>) -> Option<InterfaceId> {
    match gateway {
        Gateway::On(_, interface)
        | Gateway::Interface(interface)
        | Gateway::Local(interface)
        | Gateway::Broadcast(interface) => Some(*interface),
        Gateway::Address { .. }
        | Gateway::Blackhole
        | Gateway::Unreachable
        | Gateway::Prohibit
        | Gateway::Unknown => None,
    }
}
