//! Rows of dynamic routes, and the state of configured routes.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::ControlFlow;

use frame::InterfaceId;
use menu::{Gateway as GatewayValue, Id, Row, RowFilter, Store, Value};

use super::object::prefix;
use super::{give, number};
use crate::compile::address::OfferKey;
use crate::drive::Control;
use crate::rib::{Family, Net, RouteView, Target, V4, V6};

impl Control {
    /// Produces the routes of both families, in the order of a menu.
    pub(super) fn route_rows(
        &self,
        store: &Store,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (path, ipv6) in [("/ip/route", false), ("/ipv6/route", true)] {
            let Some(menu) = store.menu(path) else {
                continue;
            };
            let all = RowFilter::default();
            menu::stream_rows(store, self, menu, &all, &mut |row| {
                give(of_any_family(row, ipv6), filter, each)
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Adds the connected route of an IPv4 address to a row.
    pub(super) fn connected_row4(&self, key: OfferKey<V4>, row: &mut Row) -> Option<()> {
        let (_, route) = self.v4.dynamic.get(&key)?;
        let view = self.v4.rib.get(*route)?;
        let active = view.active || self.v4.rib.local(view.net.first()).is_some();
        self.connected_row(&view, active, row);
        Some(())
    }

    /// Adds the connected route of an IPv6 address to a row.
    pub(super) fn connected_row6(&self, key: OfferKey<V6>, row: &mut Row) -> Option<()> {
        let (_, route) = self.v6.dynamic.get(&key)?;
        let view = self.v6.rib.get(*route)?;
        // For a single address the local route is the better one.
        let is_own = view.net.len() == 128 && self.v6.rib.local(view.net.first()).is_some();
        let active = view.active || is_own;
        self.connected_row(&view, active, row);
        Some(())
    }

    /// Adds the route of an interface's link-local network to a row: all links have the same network, and tables cannot
    /// distinguish them.
    pub(super) fn link_local_network_row(&self, id: InterfaceId, row: &mut Row) {
        let name = self.layout.name(id);
        row.set("dst-address", Value::text(format!("fe80::%{name}/64")));
        row.set("gateway", interface_gateway(name));
        self.finish_dynamic(row, name, 10);
        row.flag("active", true);
    }

    fn connected_row<F: Family>(&self, view: &RouteView<F>, active: bool, row: &mut Row) {
        let name = self.layout.name(InterfaceId(view.owner));
        row.set("dst-address", prefix(&view.net));
        row.set("gateway", interface_gateway(name));
        self.finish_dynamic(row, name, view.scope);
        row.flag("active", active);
        row.flag("inactive", !active);
        row.flag("ecmp", view.ecmp);
    }

    fn finish_dynamic(&self, row: &mut Row, name: &str, scope: u8) {
        row.set("routing-table", Value::Reference("main".into()));
        row.set("immediate-gw", Value::Reference(name.into()));
        row.set("distance", number(0));
        row.set("scope", number(scope.into()));
        row.set("target-scope", number(5));
        row.flag("connect", true);
    }

    pub(super) fn annotate_route4(&self, item: Id, row: &mut Row) {
        let view = self.v4.routes.get(&item.0);
        let view = view.and_then(|route| self.v4.rib.get(*route));
        self.annotate_route(view, row);
    }

    pub(super) fn annotate_route6(&self, item: Id, row: &mut Row) {
        let view = self.v6.routes.get(&item.0);
        let view = view.and_then(|route| self.v6.rib.get(*route));
        self.annotate_route(view, row);
    }

    fn annotate_route<F: Family>(&self, view: Option<RouteView<F>>, row: &mut Row) {
        row.flag("static", true);
        let active = view.as_ref().is_some_and(|view| view.active);
        row.flag("active", active);
        row.flag("inactive", !active && !row.is("disabled"));
        let Some(view) = view else {
            return;
        };
        row.flag("ecmp", view.ecmp);
        let immediate: Vec<_> = view
            .gateways
            .iter()
            .flat_map(|gateway| &gateway.paths)
            .filter_map(|path| self.immediate(path))
            .collect();
        if !immediate.is_empty() {
            row.set("immediate-gw", Value::Reference(immediate.join(",").into()));
        }
    }

    /// Formats a path as on the console: `10.0.0.1%ether1`.
    pub(super) fn immediate<F: Family>(&self, path: &Target<F>) -> Option<String> {
        match path {
            Target::Neighbour(id, addr) => Some(format!("{addr}%{}", self.layout.name(*id))),
            Target::Connected(id) | Target::Local(id) | Target::Broadcast(id) => {
                Some(self.layout.name(*id).to_owned())
            }
            Target::Blackhole | Target::Unreachable | Target::Prohibit => None,
        }
    }

    /// Adds whether a routing rule is in effect to its row.
    pub(super) fn annotate_rule(&self, store: &Store, item: Id, row: &mut Row) {
        let missing = self.inactive_rules.get(&item.0);
        let missing = missing.filter(|_| !row.is("disabled"));
        row.flag("inactive", missing.is_some());
        if let Some(missing) = missing {
            row.set(Row::ABOUT, Value::text(missing.why(&self.intent, store)));
        }
    }

    /// `/ip/route/check`: returns the route of a packet to this address.
    pub(super) fn route_of(&self, to: IpAddr) -> Row {
        let mut row = Row::default();
        let (net, paths, protocol) = match to {
            IpAddr::V4(to) => self.found4(to),
            IpAddr::V6(to) => self.found6(to),
        };
        row.set("dst-address", Value::text(net));
        row.set("immediate-gw", Value::text(paths.join(",")));
        row.set("status", Value::Word(protocol));
        row
    }

    fn found4(&self, to: Ipv4Addr) -> (String, Vec<String>, &'static str) {
        let found = self.v4.rib.lookup(crate::rib::MAIN, to);
        self.describe(found.map(|found| (found.net, found.paths)))
    }

    fn found6(&self, to: Ipv6Addr) -> (String, Vec<String>, &'static str) {
        let found = self.v6.rib.lookup(crate::rib::MAIN, to);
        self.describe(found.map(|found| (found.net, found.paths)))
    }

    fn describe<F: Family>(
        &self,
        found: Option<(Net<F>, Vec<Target<F>>)>,
    ) -> (String, Vec<String>, &'static str) {
        let Some((net, paths)) = found else {
            return (String::new(), Vec::new(), "failed");
        };
        let shown = paths.iter().filter_map(|path| self.immediate(path));
        (net.to_string(), shown.collect(), "ok")
    }
}

/// Converts a route row of one family into a row of the combined menu.
fn of_any_family(mut row: Row, ipv6: bool) -> Row {
    let maker = if row.is("connect") {
        "connected"
    } else {
        "static"
    };
    row.set("afi", Value::Word(if ipv6 { "ip6" } else { "ip4" }));
    row.set("belongs-to", Value::Word(maker));
    row
}

/// Formats a gateway that is an interface.
fn interface_gateway(name: &str) -> Value {
    Value::List(vec![Value::Gateway(Box::new(GatewayValue {
        address: None,
        interface: Some(name.into()),
        table: None,
    }))])
}
