//! Offers configured routes to the RIB, item by item.

use super::Control;
use super::half::{Half, Side};
use crate::compile::Layout;
use crate::intent::{self, ItemId, Name, Refuse};
use crate::plan::Step;
use crate::rib::{Family, Gateway, MAIN, Offer, Protocol};
use std::collections::{BTreeMap, BTreeSet};

/// Looks up tables and interfaces by name.
pub(super) struct Names<'a> {
    pub(super) layout: &'a Layout,
    pub(super) tables: &'a BTreeMap<Name, u16>,
}

impl Control {
    /// Changes one configured IPv4 route. The caller runs `settle` afterwards.
    pub(crate) fn change_route4(&mut self, step: Step<'_, ItemId, intent::Route<crate::rib::V4>>) {
        let names = Names {
            layout: &self.layout,
            tables: &self.tables,
        };
        change_route(&mut self.v4, step, &names);
    }

    /// Changes one configured IPv6 route. The caller runs `settle` afterwards.
    pub(crate) fn change_route6(&mut self, step: Step<'_, ItemId, intent::Route<crate::rib::V6>>) {
        let names = Names {
            layout: &self.layout,
            tables: &self.tables,
        };
        change_route(&mut self.v6, step, &names);
    }

    /// Offers the routes again that name one of these interfaces; if tables changed, also those that name a table.
    pub(super) fn offer_named(&mut self, interfaces: &BTreeSet<Name>, tables: bool) {
        let names = Names {
            layout: &self.layout,
            tables: &self.tables,
        };
        for item in self.v4.named.concerned(interfaces, tables) {
            if let Some(route) = self.intent.routes4.get(&item) {
                change_route(&mut self.v4, Step::Change(&item, route, route), &names);
            }
        }
        for item in self.v6.named.concerned(interfaces, tables) {
            if let Some(route) = self.intent.routes6.get(&item) {
                change_route(&mut self.v6, Step::Change(&item, route, route), &names);
            }
        }
    }
}

/// Index of routes by the interfaces and tables that they name.
#[derive(Debug, Default)]
pub(super) struct Named {
    interfaces: BTreeSet<(Name, ItemId)>,
    tables: BTreeSet<ItemId>,
}

impl Named {
    fn set<F: Family>(&mut self, item: ItemId, route: &intent::Route<F>, comes: bool) {
        let mut note = |name: &Name| match comes {
            true => _ = self.interfaces.insert((name.clone(), item)),
            false => _ = self.interfaces.remove(&(name.clone(), item)),
        };
        let gateways = route.gateways.iter();
        gateways
            .filter_map(|gateway| gateway.interface.as_ref())
            .for_each(&mut note);
        let mut tables = route.gateways.iter().map(|gateway| &gateway.table);
        let names_table = &*route.table != "main" || tables.any(Option::is_some);
        match comes && names_table {
            true => _ = self.tables.insert(item),
            false => _ = self.tables.remove(&item),
        }
    }

    fn concerned(&self, interfaces: &BTreeSet<Name>, tables: bool) -> BTreeSet<ItemId> {
        let mut items = BTreeSet::new();
        for name in interfaces {
            let from = self.interfaces.range((name.clone(), 0)..);
            let of_it = from.take_while(|(of, _)| of == name);
            items.extend(of_it.map(|(_, item)| *item));
        }
        if tables {
            items.extend(&self.tables);
        }
        items
    }
}

fn change_route<S: Side>(
    half: &mut Half<S>,
    step: Step<'_, ItemId, intent::Route<S::Net>>,
    names: &Names<'_>,
) {
    let (Step::Remove(item, _) | Step::Add(item, _) | Step::Change(item, ..)) = step;
    if let Some(route) = half.routes.remove(item) {
        half.rib.remove(route);
    }
    if let Step::Remove(_, before) | Step::Change(_, before, _) = step {
        half.named.set(*item, before, false);
    }
    let (Step::Add(_, route) | Step::Change(_, _, route)) = step else {
        return;
    };
    half.named.set(*item, route, true);
    if let Some(offer) = offer_of(*item, route, names) {
        half.routes.insert(*item, half.rib.add(&offer));
    }
}

/// Builds the offer of a configured route; `None` if the route is disabled or its table does not forward.
fn offer_of<F: Family>(
    item: ItemId,
    route: &intent::Route<F>,
    names: &Names<'_>,
) -> Option<Offer<F>> {
    if route.disabled {
        return None;
    }
    let gateways = match route.refuse {
        Some(Refuse::Blackhole) => vec![Gateway::Blackhole],
        Some(Refuse::Unreachable) => vec![Gateway::Unreachable],
        Some(Refuse::Prohibit) => vec![Gateway::Prohibit],
        None if route.gateways.is_empty() => vec![Gateway::Unknown],
        None => route
            .gateways
            .iter()
            .map(|gateway| gateway_of(gateway, names))
            .collect(),
    };
    Some(Offer {
        table: *names.tables.get(&route.table)?,
        net: route.net,
        gateways,
        distance: route.distance,
        scope: route.scope,
        target_scope: route.target_scope,
        check: route.check,
        protocol: Protocol::Static,
        pref_src: route.pref_src,
        owner: item as u32,
    })
}

fn gateway_of<F: Family>(gateway: &intent::Gateway<F>, names: &Names<'_>) -> Gateway<F> {
    let interface = gateway
        .interface
        .as_ref()
        .map(|name| names.layout.by_name.get(name));
    match (gateway.addr, interface) {
        (Some(addr), Some(Some(interface))) => Gateway::On(addr, *interface),
        (None, Some(Some(interface))) => Gateway::Interface(*interface),
        (_, Some(None)) | (None, None) => Gateway::Unknown,
        (Some(addr), None) => {
            let table = match &gateway.table {
                None => Some(MAIN),
                Some(name) => names.tables.get(name).copied(),
            };
            table.map_or(Gateway::Unknown, |table| Gateway::Address { addr, table })
        }
    }
}
