//! Read access to the RIB, for `print` and for the router's own packets.

use core::ops::Bound;

use dataplane::table::NextHopId;
use frame::InterfaceId;

use super::Rib;
use super::family::{Family, Net};
use super::line::Target;
use super::route::{Check, Gateway, NIL, Protocol, Route, RouteId};

/// A route for `print`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteView<F: Family> {
    /// Number of the route.
    pub id: RouteId,
    /// Routing table.
    pub table: u16,
    /// Its destination.
    pub net: Net<F>,
    /// Its distance.
    pub distance: u8,
    /// Its scope.
    pub scope: u8,
    /// Origin.
    pub protocol: Protocol,
    /// True if the route forwards.
    pub active: bool,
    /// True if the route shares its flows with others, or has several gateways.
    pub ecmp: bool,
    /// Identifier that the owner chose.
    pub owner: u32,
    /// The source address of this router's own packets.
    pub pref_src: Option<F::Addr>,
    /// Its gateways, in the configured order.
    pub gateways: Vec<GatewayView<F>>,
}

/// A gateway for `print`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayView<F: Family> {
    /// The gateway, as configured.
    pub gateway: Gateway<F>,
    /// Maximum scope of the routes that resolve it.
    pub target_scope: u8,
    /// Method of its check.
    pub check: Check,
    /// Result of its check.
    pub alive: bool,
    /// Resolved targets; empty if the gateway is unusable.
    pub paths: Vec<Target<F>>,
}

/// Route of this router's own packets to an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalRoute<F: Family> {
    /// The prefix that matched.
    pub net: Net<F>,
    /// Number of the gateway set that forwards.
    pub set: u32,
    /// Preferred source address of the route.
    pub pref_src: Option<F::Addr>,
    /// The targets, at least one; for a connected network, the neighbour itself.
    pub paths: Vec<Target<F>>,
}

impl<F: Family> Rib<F> {
    /// Returns the best route of a table for `addr`.
    pub fn lookup(&self, table: u16, addr: F::Addr) -> Option<LocalRoute<F>> {
        let (net, entry) = self
            .tables
            .get(&table)?
            .covering(addr)
            .find(|(_, entry)| entry.set != NIL)?;
        let mut pref_src = None;
        let mut at = entry.head;
        while let Some(Some(route)) = self.routes.get(at as usize) {
            if route.active {
                pref_src = pref_src.or_else(|| self.pref_src.get(&at).copied());
            }
            at = route.next;
        }
        Some(LocalRoute {
            net,
            set: entry.set,
            pref_src,
            paths: self.paths_through(entry.set, addr),
        })
    }

    /// Iterates over all routes by table and prefix, without building a list.
    pub fn iter(&self) -> impl Iterator<Item = RouteView<F>> {
        self.tables.values().flat_map(move |table| {
            table
                .entries
                .values()
                .flat_map(move |entry| self.candidates(entry.head))
        })
    }

    /// Iterates over the routes of a table, starting at a prefix.
    pub fn iter_from(&self, table: u16, net: Net<F>) -> impl Iterator<Item = RouteView<F>> {
        self.tables.get(&table).into_iter().flat_map(move |t| {
            t.entries
                .range((Bound::Included(net), Bound::Unbounded))
                .flat_map(move |(_, entry)| self.candidates(entry.head))
        })
    }

    fn candidates(&self, head: u32) -> impl Iterator<Item = RouteView<F>> {
        let mut at = head;
        core::iter::from_fn(move || {
            let id = at;
            let route = self.routes.get(at as usize)?.as_ref()?;
            at = route.next;
            Some(self.show(id, route))
        })
    }

    /// Returns one route.
    pub fn get(&self, id: RouteId) -> Option<RouteView<F>> {
        let route = self.routes.get(id.0 as usize)?.as_ref()?;
        Some(self.show(id.0, route))
    }

    /// Returns the number of candidates.
    pub fn len(&self) -> usize {
        self.routes.len() - self.free_routes.len()
    }

    /// Whether there are no candidates.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the neighbour or network of a punted packet's line.
    pub fn target(&self, id: NextHopId) -> Option<Target<F>> {
        self.lines.target(id)
    }

    /// Returns the interface of a local address; `None` for other addresses.
    pub fn local(&self, addr: F::Addr) -> Option<InterfaceId> {
        let found = self.lookup(super::MAIN, addr)?;
        match found.paths[..] {
            [Target::Local(interface), ..] => Some(interface),
            _ => None,
        }
    }

    fn show(&self, id: u32, route: &Route<F>) -> RouteView<F> {
        let hops = self.hops.set(route.set).map_or(&[][..], |set| &set.hops);
        RouteView {
            id: RouteId(id),
            table: route.table,
            net: route.net,
            distance: route.distance,
            scope: route.scope,
            protocol: route.protocol,
            active: route.active,
            ecmp: route.ecmp,
            owner: route.owner,
            pref_src: self.pref_src.get(&id).copied(),
            gateways: hops
                .iter()
                .filter_map(|hop| self.hops.hop(*hop))
                .map(|hop| GatewayView {
                    gateway: hop.key.gateway,
                    target_scope: hop.key.target_scope,
                    check: hop.key.check,
                    alive: hop.alive,
                    paths: hop.paths.clone(),
                })
                .collect(),
        }
    }
}
