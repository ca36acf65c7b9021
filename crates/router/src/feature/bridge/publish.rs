//! Compiles a bridge to the form that workers use.

use std::sync::Arc;

use dataplane::bridge::{Bridge, BridgePort, Trust};
use dataplane::interface::InterfaceTable;
use frame::InterfaceId;
use wire::dhcp;

use super::read::PortConfig;
use super::vlans::{Lists, Vlans};
use super::{BridgeState, Port};
use crate::feature::{Effect, Effects};

impl BridgeState {
    /// Publishes the bridge to the workers if it changed.
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
        let running = running.filter_map(|(name, port)| self.bridge_port(name, port));
        let mut bridge = Bridge::new(id, running);
        bridge.vlans = self.vlan_table(vlans, lists);
        bridge.ethertype = self.config.ethertype;
        bridge.pvid = self.config.pvid;
        bridge.frame_types = self.config.frame_types;
        bridge.ingress_filtering = self.config.ingress_filtering;
        bridge.forward_reserved = self.config.forward_reserved;
        bridge.ageing_seconds = self.config.ageing_seconds;
        bridge.max_learned = self.config.max_learned;
        bridge.groups = self.snooper.as_ref().map(|of| Arc::clone(of.groups()));
        bridge.guards = self.config.guards;
        let slaves = self.ports.values().filter(|port| port.link.is_slave);
        bridge.set_addresses(slaves.map(|port| port.link.mac));
        bridge.fast_forward = self.may_fast_forward(&bridge);
        bridge
    }

    /// Whether `fast-forward` applies (RouterOS): exactly two ports run, both flood all traffic and
    /// have no horizon, and the bridge uses the address of one of them.
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
            && self.config.guards.are_off()
            && bridge.ports().len() == 2
            && bridge.ports().iter().all(floods)
            && self.ports.values().any(is_one_of_them)
    }
}

impl BridgeState {
    fn bridge_port(&self, name: &str, port: &Port) -> Option<BridgePort> {
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
            trust: self.trust(name, config),
            ..BridgePort::default()
        })
    }

    /// Returns the guards' settings of a port: trust, and the relay agent information for DHCP
    /// requests.
    fn trust(&self, name: &str, config: &PortConfig) -> Trust {
        if self.config.guards.are_off() {
            return Trust::default();
        }
        let agent = self.config.agent.as_ref();
        let agent = agent.filter(|_| self.config.guards.dhcp && !config.trusted);
        let agent = agent.and_then(|(circuit, remote)| {
            let mac = self.mac().unwrap_or_default().to_string();
            let or = |said: &str, usual: &str| match said {
                "" => usual.to_owned(),
                said => said.to_owned(),
            };
            let (circuit, remote) = (or(circuit, name), or(remote, &mac));
            dhcp::agent_information(circuit.as_bytes(), remote.as_bytes())
        });
        Trust {
            dhcp: config.trusted,
            dhcp6: config.trusted_dhcp6,
            advertisements: config.trusted_ra,
            agent: agent.map(Into::into),
        }
    }
}

impl Port {
    /// Removes the hosts learned on this port.
    pub(super) fn forget_hosts(&self, table: Option<&InterfaceTable>) {
        if let Some((table, id)) = table.zip(self.link.id) {
            table.bridges().flush(id, |_| true);
        }
    }
}
