//! Resolves gateways: down to neighbours on running interfaces.

use core::ops::Bound;

use dataplane::table::adjacency::GROUP_MEMBERS;

use super::family::{Family, Net};
use super::hop::HopKey;
use super::line::Target;
use super::route::{Check, Gateway, NIL};
use super::{Rib, Table};

/// Number of changes of a gateway while the table settles from which on it counts as part of a loop.
const MOST_FLIPS: u8 = 16;

/// Targets of a gateway, and the gateway set that resolved it.
struct Resolution<F: Family> {
    paths: Vec<Target<F>>,
    via: u32,
    via_len: u8,
}

impl<F: Family> Resolution<F> {
    fn directly(paths: Vec<Target<F>>) -> Self {
        Self {
            paths,
            via: NIL,
            via_len: 0,
        }
    }
}

impl<F: Family> Rib<F> {
    /// Resolves a gateway again, and marks its dependants if it changed.
    pub(super) fn refresh_hop(&mut self, id: u32) {
        let Some(mut found) = self.resolve(id) else {
            return;
        };
        self.hops.set_via(id, found.via, found.via_len);
        let Some(hop) = self.hops.hop_mut(id) else {
            return;
        };
        if hop.flips >= MOST_FLIPS {
            found.paths.clear();
        }
        let (alive, check) = (hop.alive, hop.key.check);
        if check != Check::None {
            self.keep_ways(id, each_once(&found.paths));
        }
        if !alive {
            found.paths.clear();
        }
        let Some(hop) = self.hops.hop_mut(id) else {
            return;
        };
        if hop.paths == found.paths {
            return;
        }
        hop.flips = hop.flips.saturating_add(1);
        self.flipped.push(id);
        hop.paths.clone_from(&found.paths);
        let (line, sets) = (hop.line, hop.sets.clone());
        self.lines.show(line, &found.paths);
        for set in sets {
            self.refresh_set(set);
        }
    }

    /// Sets the targets of the probes of a checked gateway.
    fn keep_ways(&mut self, id: u32, ways: Vec<Target<F>>) {
        let Some(hop) = self.hops.hop_mut(id) else {
            return;
        };
        let before = core::mem::replace(&mut hop.ways, ways.clone());
        let key = hop.key;
        if ways.iter().any(|way| !before.contains(way)) {
            self.found.push((key.gateway, key.check));
        }
        if key.check == Check::Ping {
            // Shares the new targets before it releases the old ones, so that common ones stay.
            for way in &ways {
                let _ = self.lines.share(*way);
            }
            for way in before {
                self.lines.unshare(way);
            }
        }
    }

    fn resolve(&self, id: u32) -> Option<Resolution<F>> {
        let key = &self.hops.hop(id)?.key;
        let on = |interface, target| {
            Resolution::directly(if self.lines.running(interface) {
                vec![target]
            } else {
                Vec::new()
            })
        };
        Some(match key.gateway {
            Gateway::Address { addr, table } => self.resolve_address(id, key, addr, table),
            Gateway::On(addr, interface) => on(interface, Target::Neighbour(interface, addr)),
            Gateway::Interface(interface) => on(interface, Target::Connected(interface)),
            Gateway::Broadcast(interface) => on(interface, Target::Broadcast(interface)),
            // A local address stays local while its interface is down, as in Linux.
            Gateway::Local(interface) => Resolution::directly(vec![Target::Local(interface)]),
            Gateway::Blackhole => Resolution::directly(vec![Target::Blackhole]),
            Gateway::Unreachable => Resolution::directly(vec![Target::Unreachable]),
            Gateway::Prohibit => Resolution::directly(vec![Target::Prohibit]),
            Gateway::Unknown => Resolution::directly(Vec::new()),
        })
    }

    fn resolve_address(
        &self,
        id: u32,
        key: &HopKey<F>,
        addr: F::Addr,
        table: u16,
    ) -> Resolution<F> {
        let covering = self
            .tables
            .get(&table)
            .into_iter()
            .flat_map(|t: &Table<F>| t.covering(addr));
        for (net, entry) in covering {
            // A route that depends on this gateway cannot resolve it.
            if entry.set == NIL
                || entry.scope > key.target_scope
                || self.hops.leads_back(entry.set, id)
            {
                continue;
            }
            let paths = self.paths_through(entry.set, addr);
            let ours = |path: &Target<F>| matches!(path, Target::Local(_) | Target::Broadcast(_));
            // RouterOS: a gateway that is a local address is unusable.
            let paths = if paths.iter().any(ours) {
                Vec::new()
            } else {
                paths
            };
            return Resolution {
                paths,
                via: entry.set,
                via_len: net.len(),
            };
        }
        Resolution::directly(Vec::new())
    }

    /// Returns the targets for `addr` behind a gateway set.
    pub(super) fn paths_through(&self, set: u32, addr: F::Addr) -> Vec<Target<F>> {
        let hops = self.hops.set(set).map_or(&[][..], |set| &set.hops);
        hops.iter()
            .filter_map(|hop| self.hops.hop(*hop))
            .flat_map(|hop| &hop.paths)
            .map(|path| match path {
                Target::Connected(interface) => Target::Neighbour(*interface, addr),
                other => *other,
            })
            .take(GROUP_MEMBERS)
            .collect()
    }

    /// Updates a set from its gateways, and marks its dependants if it changed.
    pub(super) fn refresh_set(&mut self, id: u32) {
        let Some(set) = self.hops.set(id) else {
            return;
        };
        let paths: Vec<Target<F>> = set
            .hops
            .iter()
            .filter_map(|hop| self.hops.hop(*hop))
            .flat_map(|hop| hop.paths.iter().copied())
            .take(GROUP_MEMBERS)
            .collect();
        let usable = !paths.is_empty();
        if set.hops.len() != 1 {
            self.lines.show(set.line, &paths);
        }
        let Some(set) = self.hops.set_mut(id) else {
            return;
        };
        let turned = core::mem::replace(&mut set.usable, usable) != usable;
        self.dirty_hops.extend(set.dependants.iter().copied());
        let mut at = set.routes;
        while turned && let Some(Some(route)) = self.routes.get(at as usize) {
            self.dirty_nets.insert((route.table, route.net));
            at = route.set_after;
        }
    }

    /// Marks the gateways whose resolution may depend on this prefix.
    pub(super) fn touch_hops(&mut self, table: u16, net: Net<F>) {
        let first = HopKey {
            resolved: Some((table, net.first())),
            gateway: Gateway::Address {
                addr: F::UNSPECIFIED,
                table: 0,
            },
            target_scope: 0,
            check: Check::None,
        };
        let last = Some((table, net.last()));
        let within = self
            .hops
            .by_key
            .range((Bound::Included(first), Bound::Unbounded))
            .take_while(|(key, _)| key.resolved <= last);
        for (_, id) in within {
            let Some(hop) = self.hops.hop(*id) else {
                continue;
            };
            // A gateway that was resolved through a longer prefix does not depend on this one.
            if hop.via == NIL || hop.via_len <= net.len() {
                self.dirty_hops.insert(*id);
            }
        }
    }
}

fn each_once<F: Family>(paths: &[Target<F>]) -> Vec<Target<F>> {
    let mut ways = Vec::new();
    for path in paths {
        if !ways.contains(path) {
            ways.push(*path);
        }
    }
    ways
}
