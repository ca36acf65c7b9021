//! Paths to remote addresses, for tunnels and IPsec: the local address, the egress interface and its MTU.
//!
//! ```text
//! prefix of a route ─┐
//! gateways in use ───┼─▶ stale remote addresses ─▶ look_up ─▶ remote addresses with another path
//! egress interface ──┘
//! ```
//! A change marks the paths that depend on it, and a lookup costs nothing for the others.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use frame::InterfaceId;

use crate::intent::Name;
use crate::rib::{Family, MAIN, Moved, Rib, Target};
use crate::running::Running;

/// The route to a remote address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// The local address of packets to the remote address; `None` if the router has no usable one.
    pub(crate) source: Option<IpAddr>,
    /// The egress interface; `None` if the route leads to no interface.
    pub(crate) egress: Option<Egress>,
}

/// The interface that a path leaves by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Egress {
    pub(crate) interface: Name,
    pub(crate) mtu: u32,
}

/// A path, and the objects that determine it.
#[derive(Debug, Default)]
struct Lookup {
    /// `None` without a route.
    path: Option<Path>,
    egress: Option<InterfaceId>,
    /// Gateway set of the route.
    gateways: Option<u32>,
    /// True if the local address lies on another interface than the egress: the path depends on the addresses of all
    /// interfaces.
    borrows: bool,
}

impl Lookup {
    fn new(running: &Running<'_>, remote: IpAddr) -> Self {
        let route = match remote {
            IpAddr::V4(remote) => route(running.rib4, remote),
            IpAddr::V6(remote) => route(running.rib6, remote),
        };
        let Some((gateways, egress)) = route else {
            return Self::default();
        };
        let source = running.source(remote);
        let laid = egress.and_then(|id| running.layout.interfaces.get(&id));
        let has = |id: InterfaceId| match source {
            Some(IpAddr::V4(source)) => running.addresses.of4(id).any(|(own, _)| own == source),
            Some(IpAddr::V6(source)) => running.addresses.of6(id).any(|(own, _)| own == source),
            None => false,
        };
        Self {
            path: Some(Path {
                source,
                egress: laid.map(|laid| Egress {
                    interface: laid.name.clone(),
                    mtu: laid.link.mtu,
                }),
            }),
            egress,
            gateways: Some(gateways),
            borrows: !egress.is_some_and(has),
        }
    }
}

/// Returns the gateway set of the route to an address, and the interface of the first gateway.
fn route<F: Family>(rib: &Rib<F>, to: F::Addr) -> Option<(u32, Option<InterfaceId>)> {
    let found = rib.lookup(MAIN, to)?;
    Some((found.set, found.paths.first().and_then(Target::interface)))
}

/// Paths to the remote addresses that a feature follows.
#[derive(Debug, Default)]
pub(crate) struct PathTable {
    remotes: BTreeMap<IpAddr, Remote>,
    by_egress: BTreeSet<(InterfaceId, IpAddr)>,
    /// By address family (IPv6 is `true`) and set of gateways.
    by_gateways: BTreeSet<(bool, u32, IpAddr)>,
    borrowing: BTreeSet<IpAddr>,
    /// Remote addresses whose paths are to be looked up.
    stale: BTreeSet<IpAddr>,
}

/// A remote address.
#[derive(Debug, Default)]
struct Remote {
    /// Number of users.
    users: usize,
    lookup: Lookup,
}

impl PathTable {
    /// Adds a user of a remote address. The next [`Self::look_up`] looks up its path.
    pub(crate) fn follow(&mut self, remote: IpAddr) {
        let entry = self.remotes.entry(remote).or_default();
        entry.users += 1;
        if entry.users == 1 {
            self.stale.insert(remote);
        }
    }

    /// Removes a user that [`Self::follow`] added.
    pub(crate) fn release(&mut self, remote: IpAddr) {
        let Some(entry) = self.remotes.get_mut(&remote) else {
            return;
        };
        entry.users -= 1;
        if entry.users == 0 {
            self.set(remote, Lookup::default());
            self.remotes.remove(&remote);
            self.stale.remove(&remote);
        }
    }

    /// Returns the path of the latest lookup; `None` without a route.
    pub(crate) fn get(&self, remote: IpAddr) -> Option<&Path> {
        self.remotes.get(&remote)?.lookup.path.as_ref()
    }

    /// Whether [`Self::look_up`] has work.
    pub(crate) fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Marks the paths that depend on changed routes.
    pub(crate) fn routes_changed<F: Family>(&mut self, moved: &Moved<F>)
    where
        F::Addr: Into<IpAddr>,
    {
        if self.remotes.is_empty() {
            return;
        }
        for net in &moved.nets {
            let (first, last): (IpAddr, IpAddr) = (net.first().into(), net.last().into());
            let covered = self.remotes.range(first..=last);
            self.stale.extend(covered.map(|(remote, _)| *remote));
        }
        for set in &moved.sets {
            let of_set = self.by_gateways.range((F::IPV6, *set, FIRST)..);
            let of_set = of_set.take_while(|(ipv6, of, _)| (*ipv6, of) == (F::IPV6, set));
            self.stale.extend(of_set.map(|(_, _, remote)| *remote));
        }
    }

    /// Marks the paths that depend on changed interfaces or addresses.
    pub(crate) fn interfaces_changed(&mut self, interfaces: &BTreeSet<InterfaceId>) {
        if self.remotes.is_empty() {
            return;
        }
        for id in interfaces {
            let on = self.by_egress.range((*id, FIRST)..);
            let on = on.take_while(|(egress, _)| egress == id);
            self.stale.extend(on.map(|(_, remote)| *remote));
        }
        self.stale.extend(&self.borrowing);
    }

    /// Looks up the marked paths. Returns the remote addresses whose path changed.
    pub(crate) fn look_up(&mut self, running: &Running<'_>) -> Vec<IpAddr> {
        let stale = core::mem::take(&mut self.stale);
        let other = stale
            .into_iter()
            .filter(|remote| self.set(*remote, Lookup::new(running, *remote)));
        other.collect()
    }

    /// Stores a lookup. Returns whether the path changed.
    fn set(&mut self, remote: IpAddr, lookup: Lookup) -> bool {
        let Some(entry) = self.remotes.get_mut(&remote) else {
            return false;
        };
        let ipv6 = remote.is_ipv6();
        if let Some(egress) = entry.lookup.egress {
            self.by_egress.remove(&(egress, remote));
        }
        if let Some(gateways) = entry.lookup.gateways {
            self.by_gateways.remove(&(ipv6, gateways, remote));
        }
        self.by_egress
            .extend(lookup.egress.map(|egress| (egress, remote)));
        self.by_gateways
            .extend(lookup.gateways.map(|gateways| (ipv6, gateways, remote)));
        match lookup.borrows {
            true => self.borrowing.insert(remote),
            false => self.borrowing.remove(&remote),
        };
        core::mem::replace(&mut entry.lookup, lookup).path != self.get(remote).cloned()
    }
}

/// The lowest address.
const FIRST: IpAddr = IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED);
