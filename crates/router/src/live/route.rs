//! Routes: those that come with addresses, and what became of those that are configured.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::ControlFlow;

use frame::InterfaceId;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use menu::{Gateway as GatewayValue, Id, Row, RowFilter, Store, Value};

use super::{DYNAMIC, give, number};
use crate::compile::address::OfferKey;
use crate::drive::Control;
use crate::rib::{Family, Net, RouteView, Target, V4, V6};

/// Ids of dynamic routes, apart from those of other dynamic rows.
const ROUTE: u64 = DYNAMIC | 1 << 62;

/// Of ids of `/routing/route`: the row is one that the router made in IPv6.
const OF_IPV6: u64 = 1 << 60;

impl Control {
    /// The routes of both families, as one menu shows them.
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

    pub(super) fn route_rows4(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let connected = |key: &OfferKey<V4>| matches!(key, OfferKey::Connected(..));
        let mut shown: Vec<_> = self
            .v4
            .dynamic
            .iter()
            .filter(|(key, _)| connected(key))
            .filter_map(|(_, (_, route))| self.v4.rib.get(*route))
            .collect();
        shown.sort_by_key(|view| view.net);
        for view in shown {
            let net = Ipv4Net::new(view.net.first(), view.net.len());
            let Ok(net) = net else { continue };
            let active = view.active || self.v4.rib.local(view.net.first()).is_some();
            let row = self.dynamic_row(&view, Value::Prefix(IpNet::V4(net)), active);
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn route_rows6(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Every link has this network, and no table tells them apart.
        for (id, laid) in &self.layout.interfaces {
            let own = self.addresses.of6(*id).map(|(addr, _)| addr);
            if laid.link.running && own.into_iter().any(|addr| addr.is_unicast_link_local()) {
                let row = self.link_local_row(*id);
                give(row, filter, each)?;
            }
        }
        let connected = |key: &OfferKey<V6>| matches!(key, OfferKey::Connected(..));
        let mut shown: Vec<_> = self
            .v6
            .dynamic
            .iter()
            .filter(|(key, _)| connected(key))
            .filter_map(|(_, (_, route))| self.v6.rib.get(*route))
            .collect();
        shown.sort_by_key(|view| view.net);
        for view in shown {
            let net = Ipv6Net::new(view.net.first(), view.net.len());
            let Ok(net) = net else { continue };
            // Of a single address the route to this router itself is the better one.
            let is_own = view.net.len() == 128 && self.v6.rib.local(view.net.first()).is_some();
            let active = view.active || is_own;
            let row = self.dynamic_row(&view, Value::Prefix(IpNet::V6(net)), active);
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    fn link_local_row(&self, id: InterfaceId) -> Row {
        let name = self.layout.name(id);
        let mut row = Row {
            id: Some(Id(ROUTE | 1 << 61 | u64::from(id.0))),
            ..Row::default()
        };
        row.set("dst-address", Value::text(format!("fe80::%{name}/64")));
        row.set("gateway", interface_gateway(name));
        self.finish_dynamic(&mut row, name, 10);
        row.flag("active", true);
        row
    }

    fn dynamic_row<F: Family>(&self, view: &RouteView<F>, net: Value, active: bool) -> Row {
        let name = self.layout.name(InterfaceId(view.owner));
        let mut row = Row {
            id: Some(Id(ROUTE | u64::from(view.id.number()))),
            ..Row::default()
        };
        row.set("dst-address", net);
        row.set("gateway", interface_gateway(name));
        self.finish_dynamic(&mut row, name, view.scope);
        row.flag("active", active);
        row.flag("inactive", !active);
        row.flag("ecmp", view.ecmp);
        row
    }

    fn finish_dynamic(&self, row: &mut Row, name: &str, scope: u8) {
        row.set("routing-table", Value::Reference("main".into()));
        row.set("immediate-gw", Value::Reference(name.into()));
        row.set("distance", number(0));
        row.set("scope", number(scope.into()));
        row.set("target-scope", number(5));
        row.flag("dynamic", true);
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

    /// A path as the console writes it: `10.0.0.1%ether1`.
    pub(super) fn immediate<F: Family>(&self, path: &Target<F>) -> Option<String> {
        match path {
            Target::Neighbour(id, addr) => Some(format!("{addr}%{}", self.layout.name(*id))),
            Target::Connected(id) | Target::Local(id) | Target::Broadcast(id) => {
                Some(self.layout.name(*id).to_owned())
            }
            Target::Blackhole | Target::Unreachable | Target::Prohibit => None,
        }
    }

    /// Whether a rule is compiled into the walk.
    pub(super) fn annotate_rule(&self, store: &Store, item: Id, row: &mut Row) {
        let missing = self.inactive_rules.get(&item.0);
        let missing = missing.filter(|_| !row.is("disabled"));
        row.flag("inactive", missing.is_some());
        if let Some(missing) = missing {
            row.set(Row::ABOUT, Value::text(missing.why(&self.intent, store)));
        }
    }

    /// `/ip/route/check`: the route that a packet would take.
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

/// A gateway that is an interface.
/// A route of one family as a row of the menu that has both.
fn of_any_family(mut row: Row, ipv6: bool) -> Row {
    let maker = if row.is("connect") {
        "connected"
    } else {
        "static"
    };
    row.set("afi", Value::Word(if ipv6 { "ip6" } else { "ip4" }));
    row.set("belongs-to", Value::Word(maker));
    if ipv6 && row.is("dynamic") {
        row.id = row.id.map(|Id(id)| Id(id | OF_IPV6));
    }
    row
}

fn interface_gateway(name: &str) -> Value {
    Value::List(vec![Value::Gateway(Box::new(GatewayValue {
        address: None,
        interface: Some(name.into()),
        table: None,
    }))])
}
