//! Ports of a bridge: lookup by number and interface, and the state of their interfaces.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::interface::{Above, InterfaceTable};
use frame::InterfaceId;
use wire::Mac;

use super::{BridgeState, Bridges, Link};
use crate::intent::{Class, ItemId, Name};
use crate::running::Running;

/// Index of ports by number and by interface, and the set of changed ports.
#[derive(Debug, Default)]
pub(super) struct PortIndex {
    by_number: BTreeMap<u16, Name>,
    by_interface: BTreeMap<InterfaceId, Name>,
    /// Numbers of ports whose configuration or link the spanning tree does not know yet.
    pub(super) changed: BTreeSet<u16>,
}

impl PortIndex {
    /// Adds a port, or marks it as changed.
    pub(super) fn set(&mut self, name: &Name, number: u16) {
        self.by_number.insert(number, name.clone());
        self.changed.insert(number);
    }

    /// Removes a port.
    pub(super) fn remove(&mut self, number: u16, interface: Option<InterfaceId>) {
        self.by_number.remove(&number);
        if let Some(interface) = interface {
            self.by_interface.remove(&interface);
        }
        self.changed.insert(number);
    }

    /// Returns the name of the port with this number.
    pub(super) fn name(&self, number: u16) -> Option<&Name> {
        self.by_number.get(&number)
    }

    /// Marks all ports as changed.
    pub(super) fn change_all(&mut self) {
        self.changed.extend(self.by_number.keys());
    }
}

impl BridgeState {
    /// Returns the interface of the port with this number.
    pub(super) fn port_numbered(&self, number: u16) -> Option<InterfaceId> {
        let name = self.port_index.name(number)?;
        self.ports.get(name)?.link.id
    }

    /// Returns the name of the port with this number; empty without such a port.
    pub(super) fn name_of(&self, number: u16) -> &str {
        self.port_index.name(number).map_or("", |name| name)
    }

    /// Returns the number of the port on this interface.
    pub(super) fn number_of(&self, interface: InterfaceId) -> Option<u16> {
        let name = self.port_index.by_interface.get(&interface)?;
        self.ports.get(name).map(|port| port.number)
    }

    /// Updates the link state of a port from the layout. Returns its interface id.
    fn look_at_link(
        &mut self,
        name: &Name,
        table: Option<&InterfaceTable>,
        running: &Running<'_>,
    ) -> Option<InterfaceId> {
        let port = self.ports.get_mut(name)?;
        let bridge = self.id;
        let before = port.link;
        port.link = match running.layout.named(name) {
            Some((id, laid)) => Link {
                id: Some(id),
                is_slave: laid.above.is_some_and(|(above, master)| {
                    above == Above::Bridge && Some(master) == bridge
                }),
                running: laid.link.running,
                mac: laid.link.mac,
                mtu: laid.link.mtu,
                speed_mbps: laid.speed_mbps,
                half_duplex: laid.half_duplex,
                is_ethernet: { running.intent.interfaces.get(&laid.item) }
                    .is_some_and(|interface| interface.class == Class::Ethernet),
            },
            None => Link::default(),
        };
        // A port without a device keeps its address, since the bridge may use it.
        if port.link.mac == Mac::ZERO {
            port.link.mac = before.mac;
        }
        // Hosts behind a link that went down may have moved (as Linux assumes).
        if before.running && !port.link.running {
            port.forget_hosts(table);
        }
        if port.link != before {
            self.port_index.changed.insert(port.number);
        }
        if port.link.id != before.id {
            let by_interface = &mut self.port_index.by_interface;
            if let Some(before) = before.id
                && by_interface.get(&before) == Some(name)
            {
                by_interface.remove(&before);
            }
            by_interface.extend(port.link.id.map(|id| (id, name.clone())));
        }
        port.link.id
    }

    /// Returns the ports that changes of these interfaces concern.
    fn ports_on(
        &self,
        interfaces: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
    ) -> BTreeSet<Name> {
        let before = { interfaces.iter() }.filter_map(|id| self.port_index.by_interface.get(id));
        let laid = { interfaces.iter() }.filter_map(|id| running.layout.interfaces.get(id));
        let now = laid
            .map(|laid| &laid.name)
            .filter(|name| self.ports.contains_key(*name));
        before.chain(now).cloned().collect()
    }
}

impl Bridges {
    /// Updates the bridge's id and the links of its ports on these interfaces.
    pub(super) fn look_at_links(
        &mut self,
        item: ItemId,
        interfaces: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
    ) {
        let Some(one) = self.all.get_mut(&item) else {
            return;
        };
        let named = running.layout.named(&one.config.interface.name);
        let before = one.id;
        one.id = named
            .filter(|(_, laid)| laid.item == item)
            .map(|(id, _)| id);
        self.ids.extend(one.id.map(|id| (id, item)));
        one.source4 = one.id.and_then(|id| running.first4(id));
        one.source6 = one.id.and_then(|id| running.link_local(id));
        let mut devices = running.layout.interfaces.values();
        let first = devices.find(|laid| laid.port_name.is_some() && laid.link.mac != Mac::ZERO);
        one.of_machine = first.map_or(one.of_machine, |laid| laid.link.mac);
        let ports = match one.id == before {
            true => one.ports_on(interfaces, running),
            // Whether a port is a slave of the bridge depends on the bridge's id.
            false => one.ports.keys().cloned().collect(),
        };
        for name in ports {
            let id = one.look_at_link(&name, self.table.as_deref(), running);
            self.ids.extend(id.map(|id| (id, item)));
        }
        let above = one.look_above(running);
        self.ids.extend(above.into_iter().map(|id| (id, item)));
    }
}
