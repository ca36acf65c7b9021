//! Rows of dynamic objects in all menus: values of the object, cells of its owner, and running state.

use std::net::IpAddr;
use std::ops::ControlFlow;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use menu::{
    Gateway as GatewayValue, Id, Menu, MenuShape, Row, RowFilter, Store, Value, compare_rows,
};

use super::{give, number};
use crate::drive::Control;
use crate::intent::{Gateway, ItemId, Neighbour, Route};
use crate::object::{Object, What};
use crate::rib::{Family, Net};

impl Control {
    /// Produces the rows of a menu's dynamic objects, in the menu's order.
    pub(super) fn object_rows(
        &self,
        store: &Store,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let rows = self.objects_of(store, menu);
        let rows = rows.filter_map(|(id, object)| self.object_row(store, menu, id, object));
        if menu.sort.is_empty() {
            for row in rows {
                give(row, filter, each)?;
            }
            return ControlFlow::Continue(());
        }
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by(|a, b| compare_rows(menu.sort, a, b));
        for row in rows {
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    /// Returns the objects of a menu; a view shows the objects of several menus.
    fn objects_of(
        &self,
        store: &Store,
        menu: &'static Menu,
    ) -> impl Iterator<Item = (ItemId, &Object)> {
        let is_shown = move |path: &&'static str| match menu.shape {
            MenuShape::View => store.menu(path).is_some_and(|of| of.space == menu.space),
            _ => **path == *menu.path,
        };
        let menus = self.objects.menus().filter(is_shown);
        menus.flat_map(|path| self.objects.of(path))
    }

    fn object_row(
        &self,
        store: &Store,
        menu: &'static Menu,
        id: ItemId,
        object: &Object,
    ) -> Option<Row> {
        let mut row = Row {
            id: Some(Id(id)),
            ..Row::default()
        };
        row.flag("dynamic", true);
        match object.what {
            What::Made => self.made_row(store, id, object, &mut row)?,
            What::Connected4(key) => self.connected_row4(key, &mut row)?,
            What::Connected6(key) => self.connected_row6(key, &mut row)?,
            What::LinkLocal(on, addr) => self.link_local_row(on, addr, &mut row)?,
            What::LinkLocalNetwork(on) => self.link_local_network_row(on, &mut row),
        }
        for (name, value) in &object.cells {
            row.set(name, value.clone());
        }
        if menu.shape == MenuShape::View {
            row.cells.retain(|(name, _)| {
                menu.property(name).is_some() || menu.flags.iter().any(|flag| flag.name == *name)
            });
            row.set("type", Value::text(store.menu(object.menu)?.kind));
        }
        Some(row)
    }

    /// Builds the row of an object in the intent.
    fn made_row(&self, store: &Store, id: ItemId, object: &Object, row: &mut Row) -> Option<()> {
        let intent = &self.intent;
        match object.menu {
            "/ip/address" => {
                let own = intent.addresses4.get(&id)?;
                let net = Ipv4Net::new(own.addr, own.len).ok()?;
                row.set("address", Value::Prefix(IpNet::V4(net)));
                row.set("network", Value::Address(IpAddr::V4(own.network)));
                row.set("interface", Value::Reference((&*own.interface).into()));
                row.flag("disabled", own.disabled);
                self.annotate_address4(Id(id), row);
            }
            "/ipv6/address" => {
                let own = intent.addresses6.get(&id)?;
                let net = Ipv6Net::new(own.addr, own.len).ok()?;
                row.set("address", Value::Prefix(IpNet::V6(net)));
                row.set("interface", Value::Reference((&*own.interface).into()));
                row.set("eui-64", Value::Bool(own.eui64));
                row.set("advertise", Value::Bool(own.advertise));
                row.set("no-dad", Value::Bool(own.no_dad));
                row.flag("disabled", own.disabled);
                self.annotate_address6(Id(id), row);
            }
            "/ip/route" => {
                route_row(intent.routes4.get(&id)?, row);
                self.annotate_route4(Id(id), row);
                row.flag("static", false);
            }
            "/ipv6/route" => {
                route_row(intent.routes6.get(&id)?, row);
                self.annotate_route6(Id(id), row);
                row.flag("static", false);
            }
            "/interface/bridge/port" => {
                self.features.bridges.annotate_dynamic_port(id, row);
            }
            "/interface/list/member" => {
                let member = intent.members.get(&id)?;
                row.set("list", Value::Reference((&*member.list).into()));
                row.set("interface", Value::Reference((&*member.interface).into()));
                row.flag("disabled", member.disabled);
            }
            "/ip/arp" => self.neighbour_object(intent.neighbours4.get(&id)?, row),
            "/ipv6/neighbor" => self.neighbour_object(intent.neighbours6.get(&id)?, row),
            "/ip/firewall/address-list" | "/ipv6/firewall/address-list" => {
                let (entry, since) = self.firewall.dynamic_entry(id)?;
                row.set("list", Value::text(&*entry.list));
                row.set("address", list_address(entry.address));
                row.set("creation-time", Value::text(self.date_of(*since)));
            }
            "/queue/simple" => self.features.queues.dynamic_row(id, row)?,
            "/ip/dns/static" => self.features.dns.dynamic_row(id, row)?,
            // The cells of a rule are its properties.
            path if self.firewall.desk(path).is_some() => {
                self.annotate_rule_of(store, object.menu, Id(id), row);
            }
            _ => {
                let interface = intent.interfaces.get(&id)?;
                row.set("name", Value::text(&*interface.name));
                row.flag("disabled", interface.disabled);
                self.annotate_interface(Id(id), row);
                let menu = store.menu(object.menu)?;
                for feature in self.features.of(object.menu) {
                    feature.annotate_at(menu, Id(id), self.now, row);
                }
            }
        }
        Some(())
    }
}

impl Control {
    /// Fills in the row of a neighbour in the intent.
    fn neighbour_object<F: Family>(&self, neighbour: &Neighbour<F>, row: &mut Row) {
        row.set("address", Value::Address(address::<F>(neighbour.addr)));
        if let Some(mac) = neighbour.mac {
            row.set("mac-address", Value::Mac(mac.0));
        }
        row.set(
            "interface",
            Value::Reference((&*neighbour.interface).into()),
        );
        row.set("published", Value::Bool(neighbour.published));
        row.flag("disabled", neighbour.disabled);
        self.annotate_static(row);
    }
}

/// Converts the address of a dynamic list entry into a value, as RouterOS shows it.
pub(super) fn list_address(address: IpAddr) -> Value {
    match address {
        IpAddr::V4(_) => Value::Address(address),
        IpAddr::V6(_) => Value::Prefix(IpNet::from(address)),
    }
}

fn route_row<F: Family>(route: &Route<F>, row: &mut Row) {
    row.set("dst-address", prefix(&route.net));
    let gateways = route.gateways.iter().map(gateway).collect();
    row.set("gateway", Value::List(gateways));
    row.set("routing-table", Value::Reference((&*route.table).into()));
    row.set("distance", number(route.distance.into()));
    row.set("scope", number(route.scope.into()));
    row.set("target-scope", number(route.target_scope.into()));
    row.flag("disabled", route.disabled);
}

fn address<F: Family>(addr: F::Addr) -> IpAddr {
    match F::IPV6 {
        false => IpAddr::V4((F::bits(addr) as u32).into()),
        true => IpAddr::V6(F::bits(addr).into()),
    }
}

/// Converts a network into a value.
pub(super) fn prefix<F: Family>(net: &Net<F>) -> Value {
    let made = IpNet::new(address::<F>(net.first()), net.len());
    made.map_or_else(|_| Value::text(net.to_string()), Value::Prefix)
}

fn gateway<F: Family>(gateway: &Gateway<F>) -> Value {
    Value::Gateway(Box::new(GatewayValue {
        address: gateway.addr.map(address::<F>),
        interface: gateway.interface.as_deref().map(Into::into),
        table: gateway.table.as_deref().map(Into::into),
    }))
}
