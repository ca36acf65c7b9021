//! The bridge as workers see it.

use std::sync::Arc;

use dataplane::bridge::{Bridge, BridgePort};
use dataplane::interface::InterfaceTable;
use frame::InterfaceId;

use super::vlans::{Lists, Vlans};
use super::{One, Port};
use crate::feature::{Effect, Effects};

impl One {
    /// Tells workers what the bridge is, if that is other than before.
    pub(super) fn publish(&mut self, vlans: &Vlans, lists: &Lists, out: &mut Effects) {
        let now = self.id.filter(|_| !self.config.interface.disabled);
        let now = now.map(|id| (id, Arc::new(self.compile(id, vlans, lists))));
        if now == self.published {
            return;
        }
        let before = core::mem::replace(&mut self.published, now);
        if let Some((id, _)) = before
            && self.published.as_ref().map(|(id, _)| *id) != Some(id)
        {
            out.push(Effect::Bridge(id, None));
        }
        if let Some((id, bridge)) = &self.published {
            out.push(Effect::Bridge(*id, Some(Arc::clone(bridge))));
        }
    }

    fn compile(&self, id: InterfaceId, vlans: &Vlans, lists: &Lists) -> Bridge {
        let running = self.active_ports();
        let running = running.filter_map(|(_, port)| self.bridge_port(port));
        let mut bridge = Bridge::new(id, running);
        bridge.vlans = self.vlan_table(vlans, lists);
        bridge.ethertype = self.config.ethertype;
        bridge.pvid = self.config.pvid;
        bridge.frame_types = self.config.frame_types;
        bridge.ingress_filtering = self.config.ingress_filtering;
        bridge.forward_reserved = self.config.forward_reserved;
        bridge.ageing_seconds = self.config.ageing_seconds;
        bridge.max_learned = self.config.max_learned;
        bridge.fast_forward = self.may_fast_forward(&bridge);
        bridge
    }

    /// Whether `fast-forward` holds (RouterOS): two ports run, which flood all and have no horizon, and the bridge's
    /// address is that of one of them.
    pub(super) fn may_fast_forward(&self, bridge: &Bridge) -> bool {
        let floods = |port: &BridgePort| {
            port.unknown_unicast_flood
                && port.unknown_multicast_flood
                && port.broadcast_flood
                && port.horizon.is_none()
        };
        let mac = self.mac();
        let is_one_of_them = |port: &Port| port.link.running && Some(port.link.mac) == mac;
        self.config.fast_forward
            && !self.config.vlan_filtering
            && bridge.ports().len() == 2
            && bridge.ports().iter().all(floods)
            && self.ports.values().any(is_one_of_them)
    }
}

impl One {
    fn bridge_port(&self, port: &Port) -> Option<BridgePort> {
        let config = &port.config;
        let (learning, forwarding) = self.tree.states(port.number);
        Some(BridgePort {
            interface: port.link.id?,
            learning,
            forwarding,
            pvid: config.pvid,
            frame_types: config.frame_types,
            ingress_filtering: config.ingress_filtering,
            tag_stacking: config.tag_stacking,
            horizon: config.horizon,
            learn: config.learn != Some(false),
            unknown_unicast_flood: config.unknown_unicast_flood,
            unknown_multicast_flood: config.unknown_multicast_flood,
            broadcast_flood: config.broadcast_flood,
            ..BridgePort::default()
        })
    }
}

impl Port {
    /// Forgets the hosts that were learned behind it.
    pub(super) fn forget_hosts(&self, table: Option<&InterfaceTable>) {
        if let Some((table, id)) = table.zip(self.link.id) {
            table.bridges().hosts().flush(id, |_| true);
        }
    }
}
