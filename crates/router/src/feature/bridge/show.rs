//! Rows and monitors of bridges and ports.

use core::ops::ControlFlow;

use machine::Instant;
use menu::time::SECOND;
use menu::{Id, Reply, Row, RowFilter, Value};
use service::stp::{PortView, Role, State};
use wire::bpdu::BridgeId;

use super::{BridgeState, Bridges, Port};
use crate::intent::{ItemId, Name};
use crate::live::{give, number};
use crate::object::DYNAMIC;
use board::switch_name;

impl Bridges {
    pub(super) fn annotate_bridge(&self, item: ItemId, row: &mut Row) {
        let Some(one) = self.all.get(&item) else {
            return;
        };
        row.set("actual-mtu", number(one.config.interface.mtu.into()));
        row.set("l2mtu", number(one.l2mtu().into()));
    }

    pub(super) fn annotate_port(&self, item: ItemId, row: &mut Row) {
        let Some(config) = self.ports.get(&item) else {
            return;
        };
        let mut own = self.ports_of(item).into_iter();
        let is_active = own.any(|(_, _, port)| port.is_active());
        row.flag("inactive", !config.disabled && !is_active);
        let name = row.get("interface").and_then(|name| name.as_str());
        if let Some(name) = name.map(Name::from) {
            self.show_switched(&name, row);
        }
    }

    /// Adds whether a switch chip forwards for the port, or the reason why not.
    fn show_switched(&self, name: &Name, row: &mut Row) {
        match self.switched.get(name) {
            Some(Ok(place)) => {
                row.flag("hw-offload", true);
                row.set("hw-offload-group", Value::text(switch_name(place.chip)));
            }
            Some(Err(reason)) => {
                row.set("hw-offload-reason", Value::text(reason.to_string()));
            }
            None => {}
        }
    }

    /// Returns the ports of a port item.
    fn ports_of(&self, item: ItemId) -> Vec<(&BridgeState, &Name, &Port)> {
        let config = self.ports.get(&item);
        let one = config.and_then(|config| self.names.get(&config.bridge));
        let Some(one) = one.and_then(|id| self.all.get(id)) else {
            return Vec::new();
        };
        let ports = one.ports.iter().filter(|(_, port)| port.item == item);
        ports.map(|(name, port)| (one, name, port)).collect()
    }

    /// Passes the rows of ports that are members of lists to `each`.
    pub(super) fn port_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for one in self.all.values() {
            for (name, port) in one.ports.iter().filter(|(_, port)| port.of_list) {
                let mut row = port_row(one, name, port);
                self.show_switched(name, &mut row);
                give(row, filter, each)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns one page of the bridge monitor.
    pub(super) fn monitor_bridges(&self, items: &[Id]) -> Reply {
        let bridges = items.iter().filter_map(|id| self.all.get(&id.0));
        Reply {
            rows: bridges.map(|one| self.monitor_bridge(one)).collect(),
            made: None,
        }
    }

    fn monitor_bridge(&self, one: &BridgeState) -> Row {
        let mut row = one.monitor();
        let is_switched = |name: &Name| self.switched.get(name).is_some_and(Result::is_ok);
        if one.ports.keys().any(is_switched) {
            // RouterOS: `fast-forward` is off where a chip switches.
            row.set("fast-forward", yes_no(false));
        }
        row
    }

    /// Returns one page of the port monitor. An item that names a list gives a row for each of its
    /// ports.
    pub(super) fn monitor_ports(&self, items: &[Id], now: Instant) -> Reply {
        let mut rows = Vec::new();
        for id in items {
            let mut found = self.ports_of(id.0);
            if found.is_empty() {
                found.extend(self.port_of_row(*id));
            }
            let inactive = || {
                let mut row = Row::default();
                row.set("status", Value::Word("inactive"));
                row
            };
            match found.is_empty() {
                true => rows.push(inactive()),
                false => rows.extend(found.into_iter().map(|(one, name, port)| {
                    let mut row = one.monitor_port(name, port, now);
                    row.set("hw-offload", yes_no(false));
                    if port.is_active() {
                        self.show_switched(name, &mut row);
                    }
                    row
                })),
            }
        }
        Reply { rows, made: None }
    }

    /// Returns the port of a dynamic row.
    fn port_of_row(&self, id: Id) -> Option<(&BridgeState, &Name, &Port)> {
        self.all.values().find_map(|one| {
            let mut ports = one.ports.iter();
            let (name, port) = ports.find(|(_, port)| port.of_list && row_id(port) == id)?;
            Some((one, name, port))
        })
    }
}

/// Returns the row id of a port that is a list member.
fn row_id(port: &Port) -> Id {
    let interface = port.link.id.map_or(0, |id| id.0);
    Id(DYNAMIC | port.item << 32 & !DYNAMIC | u64::from(interface))
}

fn port_row(one: &BridgeState, name: &Name, port: &Port) -> Row {
    let mut row = Row {
        id: Some(row_id(port)),
        ..Row::default()
    };
    let (config, tree) = (&port.config, &port.config.tree);
    let bridge = &one.config.interface.name;
    let yes = Value::Bool;
    let auto = |cost: Option<u32>| cost.map_or(Value::Word("auto"), |cost| number(cost.into()));
    let horizon = config.horizon.map(|horizon| number(horizon.into()));
    for (cell, value) in [
        ("interface", Value::Reference((&**name).into())),
        ("bridge", Value::Reference((&**bridge).into())),
        ("priority", Value::Hex(tree.priority.into())),
        ("path-cost", auto(tree.path_cost)),
        ("internal-path-cost", auto(tree.internal_path_cost)),
        ("horizon", horizon.unwrap_or(Value::Word("none"))),
        ("pvid", number(config.pvid.into())),
        ("ingress-filtering", yes(config.ingress_filtering)),
        ("tag-stacking", yes(config.tag_stacking)),
        ("unknown-unicast-flood", yes(config.unknown_unicast_flood)),
        (
            "unknown-multicast-flood",
            yes(config.unknown_multicast_flood),
        ),
        ("broadcast-flood", yes(config.broadcast_flood)),
        ("bpdu-guard", yes(tree.bpdu_guard)),
        ("restricted-role", yes(tree.restricted_role)),
        ("restricted-tcn", yes(tree.restricted_tcn)),
    ] {
        row.set(cell, value);
    }
    row.flag("dynamic", true);
    row.flag("inactive", !port.is_active());
    row
}

impl BridgeState {
    /// Returns the lowest L2 MTU of the ports, in bytes behind the Ethernet header (RouterOS: 65535
    /// without ports).
    fn l2mtu(&self) -> u32 {
        let ports = self.ports.values().filter(|port| port.link.is_slave);
        ports.map(|port| port.link.mtu).min().unwrap_or(65_535)
    }

    fn monitor(&self) -> Row {
        let mut row = Row::default();
        let is_enabled = !self.config.interface.disabled;
        let state = if is_enabled { "enabled" } else { "disabled" };
        row.set("state", Value::Word(state));
        row.set(
            "current-mac-address",
            Value::Mac(self.mac().unwrap_or_default().0),
        );
        let machine = self.tree.machine();
        let views: Vec<_> = { self.active_ports() }
            .filter_map(|(_, port)| machine.port(port.number, 0))
            .collect();
        if self.tree.is_on()
            && let Some(tree) = machine.tree(0)
        {
            let is_root = tree.root_port.is_none() && tree.root.root == tree.bridge;
            let root_port = tree.root_port.map_or("none", |port| self.name_of(port));
            row.set("root-bridge", yes_no(is_root));
            row.set("root-bridge-id", bridge_id(tree.root.root));
            if tree.root.regional_root != tree.root.root {
                row.set(
                    "regional-root-bridge-id",
                    bridge_id(tree.root.regional_root),
                );
            }
            let cost = tree
                .root
                .external_cost
                .saturating_add(tree.root.internal_cost);
            row.set("root-path-cost", number(cost.into()));
            row.set("root-port", Value::text(root_port));
        }
        row.set("port-count", number(views.len() as u64));
        let designated = views.iter().filter(|view| view.role == Role::Designated);
        row.set("designated-port-count", number(designated.count() as u64));
        let fast = self
            .published
            .as_ref()
            .is_some_and(|(_, bridge)| bridge.fast_forward);
        row.set("fast-forward", yes_no(fast));
        // RouterOS shows only other queriers, not the bridge itself.
        if self.snooper.is_some() {
            for (name, ipv6) in [("igmp-querier", false), ("mld-querier", true)] {
                let other = self.other_querier(ipv6).map(|from| from.to_string());
                row.set(
                    name,
                    Value::text(other.unwrap_or_else(|| "none".to_owned())),
                );
            }
        }
        row
    }

    fn monitor_port(&self, name: &Name, port: &Port, now: Instant) -> Row {
        let mut row = Row::default();
        row.set("interface", Value::Reference((&**name).into()));
        if !port.is_active() {
            row.set("status", Value::Word("inactive"));
            return row;
        }
        row.set("status", Value::Word("in-bridge"));
        let machine = self.tree.machine();
        if let Some(view) = machine.port(port.number, 0) {
            show_state(&view, &mut row);
            if self.tree.is_on() {
                self.show_tree(&view, now, &mut row);
            }
        }
        if self.snooper.is_some() {
            let leads = port.link.id.is_some_and(|id| self.leads_to_router(id));
            row.set("multicast-router", yes_no(leads));
        }
        row
    }

    /// Adds the spanning tree state of a port.
    fn show_tree(&self, view: &PortView, now: Instant, row: &mut Row) {
        let (changes, at) = self.tree.machine().topology_changes();
        let counters = view.counters;
        let designated = view.designated;
        row.set("actual-path-cost", number(view.cost.into()));
        row.set("root-path-cost", number(designated.external_cost.into()));
        row.set(
            "internal-root-path-cost",
            number(designated.internal_cost.into()),
        );
        row.set("designated-bridge-id", bridge_id(designated.bridge));
        row.set("designated-cost", number(designated.external_cost.into()));
        row.set("designated-port-id", port_id(designated.port.0));
        row.set("tx-rx-bpdu", pair(counters.sent, counters.received));
        row.set("discard-transitions", number(counters.discarded));
        row.set("forward-transitions", number(counters.forwarded));
        row.set(
            "tx-rx-tc",
            pair(counters.changes_sent, counters.changes_received),
        );
        row.set("topology-changes", number(changes));
        if let Some(at) = at {
            // RouterOS shows whole seconds.
            let ago = i64::try_from(now.saturating_since(at).as_secs()).unwrap_or(i64::MAX);
            row.set(
                "last-topology-change",
                Value::Time(ago.saturating_mul(SECOND)),
            );
        }
    }
}

fn show_state(view: &PortView, row: &mut Row) {
    row.set("port-id", port_id(view.id.0));
    row.set("role", Value::Word(role(view)));
    row.set("edge-port", yes_no(view.edge));
    row.set("point-to-point-port", yes_no(view.point_to_point));
    row.set("external-fdb", yes_no(false));
    row.set("sending-rstp", yes_no(view.sends_rstp));
    row.set("learning", yes_no(view.state != State::Discarding));
    row.set("forwarding", yes_no(view.state == State::Forwarding));
}

const fn role(view: &PortView) -> &'static str {
    match view.role {
        Role::Disabled => "disabled-port",
        Role::Root => "root-port",
        Role::Designated => "designated-port",
        Role::Alternate => "alternate-port",
        Role::Backup => "backup-port",
        Role::Master => "master-port",
    }
}

fn yes_no(is: bool) -> Value {
    Value::Word(if is { "yes" } else { "no" })
}

/// Formats a bridge id as RouterOS does: `0x8000.D4:CA:6D:01:02:03`.
fn bridge_id(id: BridgeId) -> Value {
    let priority = (id.0 >> 48) as u16;
    Value::text(format!("{priority:#06x}.{}", id.address()))
}

/// Formats a port id as RouterOS does: `80.1`.
fn port_id(id: u16) -> Value {
    Value::text(format!("{:x}.{}", id >> 8 & 0xf0, id & 0xfff))
}

fn pair(sent: u64, received: u64) -> Value {
    Value::text(format!("{sent}/{received}"))
}

impl Port {
    /// Whether the port forwards frames: it is a slave and its link runs.
    pub(super) const fn is_active(&self) -> bool {
        self.link.is_slave && self.link.running
    }
}
