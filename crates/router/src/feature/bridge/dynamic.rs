//! Ports of bridges that features make, such as sessions of PPP.

use dataplane::bridge::FrameTypes;
use machine::Instant;
use menu::{Row, Value};
use service::stp;

use super::Bridges;
use super::read::{MulticastRouter, PortConfig};
use crate::feature::Effects;
use crate::intent::ItemId;
use crate::object::DynamicBridgePort;

/// Usual priority of a port.
const PRIORITY: u8 = 0x80;

impl Bridges {
    /// Adds, changes or removes a dynamic port.
    pub(crate) fn set_dynamic_port(
        &mut self,
        id: ItemId,
        port: Option<DynamicBridgePort>,
        now: Instant,
        out: &mut Effects,
    ) {
        let before = match port {
            Some(port) => self.ports.insert(id, config(&port)),
            None => self.ports.remove(&id),
        };
        let before = before.map(|before| before.of);
        if let Some(of) = &before {
            self.port_items.remove(&(of.clone(), id));
        }
        let after = self.ports.get(&id).map(|port| port.of.clone());
        self.port_items
            .extend(after.iter().map(|of| (of.clone(), id)));
        let named = before.into_iter().chain(after).collect();
        for bridge in self.find_named_ports(named, out) {
            self.bring_up_to_date(bridge, now, out);
        }
    }

    /// Adds the cells of a dynamic port to its row.
    pub(crate) fn annotate_dynamic_port(&self, id: ItemId, row: &mut Row) {
        let Some(port) = self.ports.get(&id) else {
            return;
        };
        row.set("bridge", Value::Reference((&*port.bridge).into()));
        row.set("interface", Value::Reference((&*port.of).into()));
        row.set("pvid", Value::Number(port.pvid.into()));
        row.set("priority", Value::Hex(port.tree.priority.into()));
        if let Some(cost) = port.tree.path_cost {
            row.set("path-cost", Value::Number(cost.into()));
        }
        if let Some(horizon) = port.horizon {
            row.set("horizon", Value::Number(horizon.into()));
        }
        row.set("trusted", Value::Bool(port.trusted));
        self.annotate_port(id, row);
    }
}

fn config(port: &DynamicBridgePort) -> PortConfig {
    PortConfig {
        bridge: port.bridge.clone(),
        of: port.interface.clone(),
        disabled: false,
        learn: port.learn,
        horizon: port.horizon,
        unknown_unicast_flood: true,
        unknown_multicast_flood: true,
        broadcast_flood: true,
        pvid: port.pvid.unwrap_or(1),
        frame_types: FrameTypes::All,
        ingress_filtering: true,
        tag_stacking: false,
        tree: stp::PortConfig {
            priority: port.priority.unwrap_or(PRIORITY),
            path_cost: port.path_cost,
            ..stp::PortConfig::default()
        },
        multicast_router: MulticastRouter::Temporary,
        fast_leave: false,
        trusted: port.trusted,
        trusted_dhcp6: port.trusted,
        trusted_ra: port.trusted,
    }
}
