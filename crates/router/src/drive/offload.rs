//! Bridge ports that are switched below the workers: compares the configuration with the abilities of board and
//! devices, and configures the switch.
//!
//! ```text
//! bridges, ports ─▶ Asks ─┐
//! board, seats of ports ──┴─▶ plan ─▶ where each port is switched ─▶ the bridge as workers see it ─▶ the switch
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::bridge::Bridge;
use dataplane::bridge::offload::{Offloaded, Switched};
use dataplane::tap::Direction;
use frame::InterfaceId;
use menu::{Changes, Store};

use super::Control;
use board::Board;

use crate::board::Asks;
use crate::compile::PortState;
use crate::intent::Name;

/// Bytes of a frame besides the MTU: the Ethernet header and a tag.
const HEADERS: u32 = 18;

/// State of hardware offloading.
#[derive(Debug)]
pub(crate) struct Offload {
    /// The board whose ports and switch chips the router has.
    pub(crate) board: &'static Board,
    asks: Asks,
    /// Bridges, as the bridge feature publishes them.
    bridges: BTreeMap<InterfaceId, Arc<Bridge>>,
    /// Port mirroring of switch chips: source interface, direction, target interface.
    mirrors: Vec<(InterfaceId, Direction, InterfaceId)>,
    /// Number of switched ports.
    places: usize,
    /// Bridges as workers have them, and the part that the switch handles.
    published: BTreeMap<InterfaceId, (Arc<Bridge>, Offloaded)>,
}

impl Default for Offload {
    fn default() -> Self {
        Self {
            board: &Board::MACHINE,
            asks: Asks::default(),
            bridges: BTreeMap::new(),
            mirrors: Vec::new(),
            places: 0,
            published: BTreeMap::new(),
        }
    }
}

impl Control {
    /// Reads the offload requests of the configuration if they changed; all of them without `changes`. Returns whether
    /// they changed.
    pub(super) fn read_offload(&mut self, store: &Store, changes: Option<&Changes>) -> bool {
        let is_other = self.offload.asks.are_concerned(changes);
        if is_other
            && let Some(changes) = changes
            && let Some(ports) = self.offload.asks.change_software(store, changes)
        {
            let switched = &mut self.features.bridges.switched;
            for (port, reason) in ports {
                match reason {
                    Some(reason) => switched.insert(port, Err(reason)),
                    None => switched.remove(&port),
                };
            }
            return false;
        }
        if is_other {
            self.offload.asks = Asks::of(store);
            self.plan_offload();
        }
        is_other
    }

    /// Plans the offload again, after ports or requests changed.
    pub(super) fn plan_offload(&mut self) {
        let (ports, switches) = (&self.ports, &self.features.switches);
        let lacks = |name: &str| match ports.get(name) {
            None => Some("its port is missing"),
            Some(state) if state.seat.is_none() => Some("its device is not driven by generic XDP"),
            Some(_) => switches.lacks(name),
        };
        let asks = &self.offload.asks;
        let names = asks.ports().map(|(port, _)| port.clone());
        let plan = asks.plan(self.offload.board, Some(&lacks));
        let places = plan.iter().filter(|planned| planned.is_ok()).count();
        self.features.bridges.switched = names.zip(plan).collect();
        self.offload.places = places;
    }

    /// Returns the device port of an interface.
    fn device_of(&self, id: InterfaceId) -> Option<(&Name, &PortState)> {
        let laid = self.layout.interfaces.get(&id)?;
        let state = self.ports.get(laid.port_name.as_ref()?)?;
        Some((&laid.name, state))
    }

    /// Returns the position in the switch of a bridge port, if the port is switched.
    fn switched(&self, id: InterfaceId) -> Option<Switched> {
        let (name, state) = self.device_of(id)?;
        let place = self.features.bridges.switched.get(name)?.as_ref().ok()?;
        Some(Switched {
            group: place.group,
            seat: state.seat?,
            longest: state.mtu + HEADERS,
        })
    }

    /// Sets a bridge, or removes it.
    pub(super) fn set_bridge(&mut self, id: InterfaceId, bridge: Option<Arc<Bridge>>) {
        match bridge {
            Some(bridge) => self.offload.bridges.insert(id, bridge),
            None => self.offload.bridges.remove(&id),
        };
        self.publish_bridge(id);
    }

    /// Publishes the planned offload to workers and the switch.
    pub(super) fn publish_offload(&mut self) {
        let ids: Vec<_> = self.offload.bridges.keys().copied().collect();
        ids.into_iter().for_each(|id| self.publish_bridge(id));
        let seated = { self.ports.iter() }.filter_map(|(name, port)| Some((name, port.seat?)));
        let seats = seated.flat_map(|(name, seat)| {
            let on = self.intent.interfaces.on(name);
            let laid = on.filter_map(|(_, interface)| self.layout.named(&interface.name));
            let its = laid.filter(move |(_, laid)| laid.port_name.as_ref() == Some(name));
            its.map(move |(id, _)| (seat, id))
        });
        let seats = seats.collect();
        self.workers.set_seats(seats);
        self.publish_mirrors();
    }

    /// Applies the effects of switch chips to a bridge.
    fn change_by_chips(&self, bridge: &mut Arc<Bridge>) {
        let switches = &self.features.switches;
        if switches.is_idle() {
            return;
        }
        let laid = &self.layout.interfaces;
        let name = |id: InterfaceId| {
            laid.get(&id)
                .map_or_else(|| "".into(), |is| is.name.clone())
        };
        let names: Vec<Name> = { bridge.ports().iter() }
            .map(|port| name(port.interface))
            .collect();
        let mut changed = Bridge::clone(bridge);
        if switches.change(&mut changed, &names) {
            *bridge = Arc::new(changed);
        }
    }

    /// Publishes the port mirroring of switch chips to workers.
    fn publish_mirrors(&mut self) {
        let id = |name: &Name| self.layout.named(name).map(|(id, _)| id);
        let copied = self.features.switches.copied();
        let copied = copied.iter();
        let mirrors: Vec<_> = copied
            .filter_map(|of| Some((id(&of.of)?, of.direction, id(&of.to)?)))
            .collect();
        if self.offload.mirrors != mirrors {
            self.published.table().set_mirrors(&mirrors);
            self.fib.forget_shortcuts();
            self.offload.mirrors = mirrors;
        }
    }

    /// Publishes a bridge to workers, and then to the switch.
    fn publish_bridge(&mut self, id: InterfaceId) {
        let mut bridge = self.offload.bridges.get(&id).cloned();
        if let Some(bridge) = &mut bridge {
            self.change_by_chips(bridge);
        }
        if let Some(bridge) = &mut bridge
            && self.offload.places > 0
            && bridge
                .ports()
                .iter()
                .any(|port| self.switched(port.interface).is_some())
        {
            Arc::make_mut(bridge).switch(|port| self.switched(port));
        }
        let before = self.offload.published.remove(&id);
        if before.as_ref().map(|(before, _)| before) != bridge.as_ref() {
            let bridges = self.published.table().bridges();
            let replaced = bridges.set(id, bridge.clone());
            let filters =
                |bridge: &Option<Arc<Bridge>>| bridge.as_ref().map(|is| is.vlans.is_some());
            if replaced.is_some() && filters(&replaced) != filters(&bridge) {
                // RouterOS: changing `vlan-filtering` clears the host table, whose entries are kept per VLAN.
                bridges.flush_all(id);
            }
            self.retired.push_bridge(replaced);
        }
        let done = before.map(|(_, done)| done).unwrap_or_default();
        let now = bridge.as_deref().map(Offloaded::of).unwrap_or_default();
        let bridges = self.published.table().bridges();
        if let Some(switch) = bridges.switch() {
            now.follow(&done, switch);
        }
        if let Some(bridge) = bridge {
            self.offload.published.insert(id, (bridge, now));
        }
        let switched = self
            .offload
            .published
            .values()
            .flat_map(|(bridge, _)| bridge.ports());
        let switched = switched.filter_map(|port| Some((port.interface, port.switched?)));
        bridges.set_places(switched.collect());
    }
}
