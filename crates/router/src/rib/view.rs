//! What `print` and the router's own packets read.

use core::ops::Bound;

use dataplane::table::NextHopId;
use frame::InterfaceId;

use super::Rib;
use super::family::{Family, Net};
use super::line::Target;
use super::route::{Check, Gateway, NIL, Protocol, Route, RouteId};

/// A route as `print` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteView<F: Family> {
    /// Its number.
    pub id: RouteId,
    /// The table that it is in.
    pub table: u16,
    /// Its destination.
    pub net: Net<F>,
    /// Its distance.
    pub distance: u8,
    /// Its scope.
    pub scope: u8,
    /// Where it came from.
    pub protocol: Protocol,
    /// It forwards.
    pub active: bool,
    /// It shares the flows with others, or has several gateways.
    pub ecmp: bool,
    /// What its owner knows it by.
    pub owner: u32,
    /// The source address of this router's own packets.
    pub pref_src: Option<F::Addr>,
    /// Its gateways, in the order given.
    pub gateways: Vec<GatewayView<F>>,
}

/// A gateway as `print` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayView<F: Family> {
    /// As it was given.
    pub gateway: Gateway<F>,
    /// Through routes of which scope it is resolved.
    pub target_scope: u8,
    /// How it is watched.
    pub check: Check,
    /// Whether it answers, as far as is known.
    pub alive: bool,
    /// Where it leads; empty when it cannot be used.
    pub paths: Vec<Target<F>>,
}

/// Where this router's own packet to an address goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<F: Family> {
    /// The prefix that matched.
    pub net: Net<F>,
    /// The number of the set of gateways that forwards.
    pub set: u32,
    /// The source address that the route prefers.
    pub pref_src: Option<F::Addr>,
    /// The paths, at least one; a connected network is given as the neighbour itself.
    pub paths: Vec<Target<F>>,
}

impl<F: Family> Rib<F> {
    /// The best route of a table for `addr`.
    pub fn lookup(&self, table: u16, addr: F::Addr) -> Option<Found<F>> {
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
        Some(Found {
            net,
            set: entry.set,
            pref_src,
            paths: self.paths_through(entry.set, addr),
        })
    }

    /// All routes, by table and prefix, without building a list of them.
    pub fn iter(&self) -> impl Iterator<Item = RouteView<F>> {
        self.tables.values().flat_map(move |table| {
            table
                .entries
                .values()
                .flat_map(move |entry| self.candidates(entry.head))
        })
    }

    /// The routes of a table from a prefix on, in order.
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

    /// One route.
    pub fn get(&self, id: RouteId) -> Option<RouteView<F>> {
        let route = self.routes.get(id.0 as usize)?.as_ref()?;
        Some(self.show(id.0, route))
    }

    /// How many candidates there are.
    pub fn len(&self) -> usize {
        self.routes.len() - self.free_routes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The neighbour or network that a packet was punted for with this line.
    pub fn target(&self, id: NextHopId) -> Option<Target<F>> {
        self.lines.target(id)
    }

    /// Whether `addr` is one of this router's own, and on which interface.
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
