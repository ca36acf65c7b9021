//! Bridges, `/interface/bridge` and the menus below it: ports, VLANs, hosts, spanning trees and snooping.
//!
//! ```text
//! items ──read──▶ bridges, ports ──members──▶ which interface is a port of which bridge (Effect::Slave)
//!                       │
//! layout ──links──▶ running ports, their addresses and MTUs ──publish──▶ the bridge of the workers
//! ```
//! An interface becomes a port when the layout makes it a slave of the bridge (`compile/joined.rs`). Workers bridge
//! frames by `dataplane::bridge::Bridge`; every change replaces this value as a whole.

mod dynamic;
mod hosts;
mod members;
mod own_source;
mod ports;
mod publish;
mod read;
mod show;
mod snooping;
mod tree;
mod vlans;

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::bridge::Bridge;
use dataplane::interface::InterfaceTable;
use dataplane::service::Service;
use dataplane::table::{Host, HostKey};
use frame::InterfaceId;
use machine::Instant;
use menu::{Call, Changes, Id, Item, Menu, Reason, Reply, Row, RowFilter};
use wire::Mac;

use self::members::Numbers;
use self::ports::PortIndex;
use self::read::{
    BridgeConfig, GroupConfig, HostConfig, InstanceConfig, OverrideConfig, PortConfig,
};
use self::snooping::Snooper;
use self::tree::Tree;
use self::vlans::{Lists, Vlans};
use super::hear::{ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View, concerns, each_item};

use crate::compile::LayoutEntry;
use crate::drive::timers::Timers;
use crate::intent::{Indexed, Interface, ItemId, ItemState, Name};
use crate::kind::bridge::{self, MENU};
use crate::object::DYNAMIC;
use crate::running::Running;

const PORTS: &str = "/interface/bridge/port";
const VLANS: &str = "/interface/bridge/vlan";
const HOSTS: &str = "/interface/bridge/host";
const GROUPS: &str = "/interface/bridge/mdb";
const INSTANCES: &str = "/interface/bridge/msti";
const OVERRIDES: &str = "/interface/bridge/port/mst-override";
const LISTS: &str = "/interface/list";
const MEMBERS: &str = "/interface/list/member";

/// All bridges, their ports and the items below `/interface/bridge`.
#[derive(Debug, Default)]
pub(crate) struct Bridges {
    /// Bridges by item.
    all: BTreeMap<ItemId, BridgeState>,
    /// Bridges by name.
    names: BTreeMap<Name, ItemId>,
    /// Items of `/interface/bridge/port`.
    ports: BTreeMap<ItemId, PortConfig>,
    /// Enabled port items, by the interface or list that they name.
    port_items: BTreeSet<(Name, ItemId)>,
    /// Items of `/interface/bridge/vlan`.
    vlans: Vlans,
    /// Items of `/interface/bridge/host`.
    statics: BTreeMap<ItemId, HostConfig>,
    /// Items of `/interface/bridge/mdb`.
    groups: BTreeMap<ItemId, GroupConfig>,
    /// Items of MST instances, and of ports in MST instances.
    instances: BTreeMap<ItemId, InstanceConfig>,
    overrides: BTreeMap<ItemId, OverrideConfig>,
    /// Members of the interface lists that items name.
    lists: Lists,
    /// Bridge of each port, by name.
    masters: BTreeMap<Name, Name>,
    /// Item of the bridge for the interface ids of bridges, their ports, and the VLANs and stations
    /// on them.
    ids: BTreeMap<InterfaceId, ItemId>,
    /// Deadlines of the spanning trees, by bridge.
    timers: Timers<ItemId>,
    own_sources: own_source::OwnSources,
    /// Bridges whose learned hosts are flushed once more at the next ageing step, when no worker
    /// uses the previous VLAN table.
    refiltered: BTreeSet<ItemId>,
    /// Time of the next ageing step, the table line where it starts, and the time of the last step.
    age_at: Option<Instant>,
    aged: u32,
    now: Instant,
    /// Seed of the hash tables of multicast groups, so that senders cannot predict collisions.
    seed: u64,
    /// The interface table of the workers: it holds the bridges and their hosts.
    table: Option<Arc<InterfaceTable>>,
    /// Switch port of each port whose frames a switch chip forwards, by interface name, or the
    /// reason why no chip does.
    pub(crate) switched: BTreeMap<Name, Result<board::SwitchPosition, board::Reason>>,
}

/// A bridge.
#[derive(Debug)]
struct BridgeState {
    config: BridgeConfig,
    id: Option<InterfaceId>,
    /// Address of an Ethernet port of the machine. A bridge without ports derives its address from
    /// it.
    of_machine: Mac,
    /// Ports by interface name.
    ports: BTreeMap<Name, Port>,
    numbers: Numbers,
    port_index: PortIndex,
    tree: Tree,
    /// VLAN and station interfaces stacked on the bridge, as of the last layout.
    above: BTreeMap<InterfaceId, OnBridge>,
    /// VLANs that have an interface on the bridge.
    vlans_above: BTreeSet<u16>,
    /// Addresses of stations on the bridge and on its VLANs.
    stations: BTreeSet<Mac>,
    /// Entries of the host table that control added.
    fixed: BTreeMap<HostKey, Host>,
    /// State of IGMP and MLD snooping, if enabled, and the source addresses of queries.
    snooper: Option<Snooper>,
    source4: Option<Ipv4Addr>,
    source6: Option<Ipv6Addr>,
    /// The bridge as published to the workers.
    published: Option<(InterfaceId, Arc<Bridge>)>,
}

/// An interface stacked on a bridge, or on a VLAN of a bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OnBridge {
    name: Name,
    /// Name of the interface below.
    on: Option<Name>,
    /// VLAN id, if the tag's EtherType is the EtherType of the bridge.
    vlan: Option<u16>,
    /// Address of the station.
    station: Option<Mac>,
}

impl OnBridge {
    /// Describes an interface; `ethertype` is the EtherType of the bridge's tags.
    fn new(interface: &Interface, laid: &LayoutEntry, ethertype: u16) -> Self {
        let is_up = !(laid.disabled || laid.invalid);
        let tag = laid.parent.map(|(_, tag)| tag).filter(|_| is_up);
        let vlan = tag.filter(|tag| tag.0 == ethertype).map(|tag| tag.1);
        let is_station = is_up && laid.station.is_some();
        let station = is_station.then_some(laid.link.mac);
        Self {
            name: interface.name.clone(),
            on: interface.stands_on().cloned(),
            vlan,
            station,
        }
    }
}

/// A port of a bridge.
#[derive(Clone, Debug)]
struct Port {
    /// Port number: the lowest free one when the port joined.
    number: u16,
    config: PortConfig,
    /// Its item, which may name an interface list.
    item: ItemId,
    /// The port joined as a member of an interface list.
    of_list: bool,
    /// State of its interface.
    link: Link,
}

/// State of the interface of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Link {
    id: Option<InterfaceId>,
    /// The bridge receives the frames of the interface.
    is_slave: bool,
    running: bool,
    mac: Mac,
    mtu: u32,
    speed_mbps: u32,
    half_duplex: bool,
    is_ethernet: bool,
}

impl Feature for Bridges {
    fn menus(&self) -> &'static [&'static str] {
        &[
            MENU, PORTS, VLANS, HOSTS, GROUPS, INSTANCES, OVERRIDES, LISTS, MEMBERS,
        ]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        if changes.is_none() {
            self.forget_gone(view, out);
        }
        let followed = [MENU, PORTS, VLANS, HOSTS, GROUPS, INSTANCES, OVERRIDES];
        if !concerns(&followed, changes) && self.lists.is_empty() && !self.names_lists(view.store) {
            // No item names one of the changed lists.
            return;
        }
        let (mut others, mut named) = (BTreeSet::new(), BTreeSet::new());
        each_item(view, MENU, changes, |id, item| {
            others.insert(id);
            self.put(id, item, out);
        });
        each_item(view, PORTS, changes, |id, item| {
            let before = match item.and_then(read::port) {
                Some(port) => self.ports.insert(id, port),
                None => self.ports.remove(&id),
            };
            if let Some(before) = before {
                self.port_items.remove(&(before.of.clone(), id));
                named.insert(before.of);
            }
            if let Some(now) = self.ports.get(&id) {
                named.insert(now.of.clone());
                if !now.disabled {
                    self.port_items.insert((now.of.clone(), id));
                }
            }
        });
        // While no item names a list, a port item only concerns the interface that it names.
        let are_single = changes.is_some()
            && self.lists.is_empty()
            && !concerns(&[MENU, VLANS, OVERRIDES, LISTS, MEMBERS], changes)
            && { named.iter() }.all(|name| view.store.named("interface-list", name).is_none());
        self.follow_details(view, changes, !are_single, &mut others);
        if are_single {
            others.extend(self.find_named_ports(named, out));
        } else if concerns(&[MENU, PORTS, OVERRIDES, LISTS, MEMBERS], changes) {
            others.extend(self.find_ports(view.store, out));
        }
        if !self.all.is_empty() {
            self.age_at.get_or_insert(view.now);
        }
        for id in others {
            self.bring_up_to_date(id, view.now, out);
        }
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        match menu.path {
            PORTS => self.annotate_port(id.0, row),
            MENU => self.annotate_bridge(id.0, row),
            VLANS => self.annotate_vlan(id.0, row),
            HOSTS => self.annotate_host(id.0, row),
            GROUPS => self.annotate_group(id.0, row),
            _ => {}
        }
    }

    fn rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> core::ops::ControlFlow<()>,
    ) -> core::ops::ControlFlow<()> {
        match menu.path {
            PORTS => self.port_rows(filter, each),
            VLANS => self.vlan_rows(filter, each),
            HOSTS => self.host_rows(filter, each),
            GROUPS => self.group_rows(filter, each),
            _ => core::ops::ControlFlow::Continue(()),
        }
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        match (call.menu.path, call.command) {
            (MENU, "monitor") => Some(Ok(self.monitor_bridges(call.items))),
            (PORTS, "monitor") => Some(Ok(self.monitor_ports(call.items, view.now))),
            (HOSTS, "remove") => Some(self.forget_hosts(call.items)),
            _ => None,
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        self.tick_trees(now, out);
        self.tick_snooping(now, out);
        self.age(now);
    }

    fn deadline(&self) -> Option<Instant> {
        let trees = self.timers.deadline().into_iter();
        let snooping = self.deadline_of_snooping();
        trees.chain(self.age_at).chain(snooping).min()
    }

    fn services(&self) -> Vec<Service> {
        let mut services = self.services_of_trees();
        services.extend(self.services_of_snooping());
        services
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        match heard.service {
            snooping::SERVICE => {
                self.hear_snooped(heard, running.now, out);
                ReceiveOutcome::Taken
            }
            _ => self.hear_bpdu(heard, running.now, out),
        }
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        if self.all.is_empty() {
            return;
        }
        let mut concerned = BTreeSet::new();
        for id in others {
            let items = self.concerned(*id, running).into_iter();
            concerned.extend(items.filter(|item| {
                let one = self.all.get(item);
                !one.is_some_and(|one| one.is_as_before(*id, running))
            }));
        }
        for item in concerned {
            self.look_at_links(item, others, running);
            self.bring_up_to_date(item, running.now, out);
        }
    }
}

impl Bridges {
    /// Sets the interface table of the workers, which holds the hosts of bridges. `seed` is random.
    pub(crate) fn set_table(&mut self, table: Arc<InterfaceTable>, seed: u64) {
        // With less address space the table holds fewer hosts.
        let _ = table.bridges().make_room(hosts::ROOM, seed);
        self.seed = seed;
        self.table = Some(table);
    }

    /// The bridges published to the workers.
    #[cfg(test)]
    pub(crate) fn published(&self) -> impl Iterator<Item = &Bridge> {
        let published = self.all.values().filter_map(|one| one.published.as_ref());
        published.map(|(_, bridge)| &**bridge)
    }

    /// Removes the items that a load no longer contains.
    fn forget_gone(&mut self, view: &View<'_>, out: &mut Effects) {
        let gone: Vec<_> = { self.all.keys() }
            .filter(|id| view.store.item(MENU, Id(**id)).is_none())
            .copied()
            .collect();
        for id in gone {
            self.put(id, None, out);
        }
        // Ports of sessions outlive a load.
        self.ports.retain(|id, _| id & DYNAMIC != 0);
        self.port_items.retain(|(_, id)| id & DYNAMIC != 0);
        self.vlans.clear();
        self.statics.clear();
        self.groups.clear();
        self.instances.clear();
        self.overrides.clear();
        // A load starts without slaves.
        self.masters.clear();
    }

    /// Adds, changes or removes a bridge.
    fn put(&mut self, id: ItemId, item: Option<&Item>, out: &mut Effects) {
        if let Some(before) = self.all.get(&id) {
            self.names.remove(&before.config.interface.name);
        }
        let Some(config) = item.and_then(read::bridge) else {
            self.timers.set(id, None);
            if let Some(gone) = self.all.remove(&id) {
                self.take_away(gone, out);
            }
            out.push(Effect::Item(id, ItemState::Interface(None)));
            return;
        };
        self.names.insert(config.interface.name.clone(), id);
        match self.all.get_mut(&id) {
            Some(one) => {
                if one.config.vlan_filtering != config.vlan_filtering {
                    self.refiltered.insert(id);
                }
                one.config = config;
            }
            None => {
                let one = BridgeState {
                    tree: Tree::new(config.tree.clone()),
                    config,
                    id: None,
                    of_machine: Mac::ZERO,
                    ports: BTreeMap::new(),
                    above: BTreeMap::new(),
                    numbers: Numbers::default(),
                    port_index: PortIndex::default(),
                    vlans_above: BTreeSet::new(),
                    stations: BTreeSet::new(),
                    fixed: BTreeMap::new(),
                    snooper: None,
                    source4: None,
                    source6: None,
                    published: None,
                };
                self.all.insert(id, one);
            }
        }
        let wanted = self.all.get(&id).map(BridgeState::interface);
        out.push(Effect::Item(id, ItemState::Interface(wanted)));
    }

    /// Removes a bridge from the workers.
    fn take_away(&mut self, gone: BridgeState, out: &mut Effects) {
        self.ids.retain(|_, item| self.all.contains_key(item));
        if let Some((id, _)) = gone.published {
            out.push(Effect::Bridge(id, None));
            if let Some(table) = &self.table {
                table.bridges().hosts().forget(id);
            }
        }
    }

    /// Returns the bridges that an interface belongs to.
    fn concerned(&self, id: InterfaceId, running: &Running<'_>) -> BTreeSet<ItemId> {
        let mut items = BTreeSet::new();
        items.extend(self.ids.get(&id));
        if let Some(laid) = running.layout.interfaces.get(&id) {
            items.extend(self.names.get(&laid.name));
            let master = self.masters.get(&laid.name);
            items.extend(master.and_then(|name| self.names.get(name)));
            // Interfaces on the bridge: VLANs, stations, and stations on such VLANs.
            let on = |laid: &LayoutEntry| {
                let parent = laid.parent.map(|(id, _)| id);
                parent.or(laid.station.as_ref().map(|shares| shares.on))
            };
            let below = on(laid);
            let under = below.and_then(|id| on(running.layout.interfaces.get(&id)?));
            let both = below.into_iter().chain(under);
            items.extend(both.filter_map(|id| self.ids.get(&id)));
        }
        items
    }

    /// Updates a bridge: its interface, its spanning tree, its snooping, and the bridge of the
    /// workers.
    fn bring_up_to_date(&mut self, item: ItemId, now: Instant, out: &mut Effects) {
        self.set_instances(item);
        let Some(one) = self.all.get_mut(&item) else {
            return;
        };
        let before = one.config.interface.clone();
        one.choose(item);
        if one.config.interface != before {
            let wanted = ItemState::Interface(Some(one.interface()));
            out.push(Effect::Item(item, wanted));
        }
        let actions = one.follow_tree(now);
        one.begin_to_snoop(self.seed);
        // A port whose state changes is published together with the new state, by `do_`.
        if !actions.iter().any(tree::becomes) {
            one.publish(&self.vlans, &self.lists, out);
        }
        self.do_(item, actions, now, out);
        if let Some(one) = self.all.get_mut(&item) {
            one.follow_snooping(&self.groups, now, out);
        }
        self.follow_hosts(item);
    }

    /// Applies changes of VLANs, hosts and instances; adds the bridges concerned to `others`.
    fn follow_details(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        may_name_lists: bool,
        others: &mut BTreeSet<ItemId>,
    ) {
        let store = view.store;
        let names = &self.names;
        let mut concern = |bridge: Option<&Name>| {
            others.extend(bridge.and_then(|name| names.get(name)));
        };
        each_item(view, VLANS, changes, |id, item| {
            let before = swap(&mut self.vlans, id, item.and_then(read::vlan));
            concern(before.as_ref().map(|before| &before.bridge));
            concern(self.vlans.get(&id).map(|now| &now.bridge));
        });
        each_item(view, HOSTS, changes, |id, item| {
            let before = swap(&mut self.statics, id, item.and_then(read::host));
            concern(before.as_ref().map(|before| &before.bridge));
            concern(self.statics.get(&id).map(|now| &now.bridge));
        });
        each_item(view, GROUPS, changes, |id, item| {
            let before = swap(&mut self.groups, id, item.and_then(read::group));
            concern(before.as_ref().map(|before| &before.bridge));
            concern(self.groups.get(&id).map(|now| &now.bridge));
        });
        each_item(view, INSTANCES, changes, |id, item| {
            let before = swap(&mut self.instances, id, item.and_then(read::instance));
            concern(before.as_ref().map(|before| &before.bridge));
            concern(self.instances.get(&id).map(|now| &now.bridge));
        });
        each_item(view, OVERRIDES, changes, |id, item| {
            swap(
                &mut self.overrides,
                id,
                item.and_then(read::port_in_instance),
            );
        });
        if may_name_lists && concerns(&[VLANS, PORTS, OVERRIDES, LISTS, MEMBERS], changes) {
            self.find_lists(store, changes);
        }
        if concerns(&[LISTS, MEMBERS], changes) {
            others.extend(self.bridges_of_vlans());
        }
    }

    /// Sets the MST instances of a bridge's spanning tree.
    fn set_instances(&mut self, item: ItemId) {
        let Some(one) = self.all.get_mut(&item) else {
            return;
        };
        let name = &one.config.interface.name;
        let own = self.instances.values();
        let own = own.filter(|of| !of.disabled && of.bridge == *name);
        one.config.tree.instances = own.map(|of| (of.number, of.instance.clone())).collect();
    }
}

/// Inserts or removes an item. Returns its previous value.
fn swap<T>(items: &mut BTreeMap<ItemId, T>, id: ItemId, now: Option<T>) -> Option<T> {
    match now {
        Some(now) => items.insert(id, now),
        None => items.remove(&id),
    }
}

impl BridgeState {
    fn interface(&self) -> Interface {
        self.config.interface.clone()
    }

    /// Link address of the bridge, if known.
    fn mac(&self) -> Option<Mac> {
        self.config.interface.kind.downcast::<bridge::Bridge>()?.mac
    }

    /// Ports that forward frames, in the order of their slots in the workers' port list.
    fn active_ports(&self) -> impl Iterator<Item = (&Name, &Port)> {
        self.ports.iter().filter(|(_, port)| port.is_active())
    }

    /// Finds the VLANs and stations on the bridge. Returns their interfaces.
    fn look_above(&mut self, running: &Running<'_>) -> Vec<InterfaceId> {
        self.above.clear();
        let mut look = |name: &str| {
            let mut vlans = Vec::new();
            for (_, interface) in running.intent.interfaces.on(name) {
                let Some((id, laid)) = running.layout.named(&interface.name) else {
                    continue;
                };
                let found = OnBridge::new(interface, laid, self.config.ethertype);
                vlans.extend(found.vlan.map(|vid| (interface.name.clone(), vid)));
                self.above.insert(id, found);
            }
            vlans
        };
        let vlans = look(&self.config.interface.name);
        for (name, _) in &vlans {
            look(name);
        }
        self.vlans_above = vlans.into_iter().map(|(_, vid)| vid).collect();
        self.stations = { self.above.values() }
            .filter_map(|of| of.station)
            .collect();
        self.above.keys().copied().collect()
    }

    /// Whether an interface on the bridge still matches its [`OnBridge`] of the last layout.
    /// Changes of other properties, such as addresses, do not concern the bridge.
    fn is_as_before(&self, id: InterfaceId, running: &Running<'_>) -> bool {
        let now = || {
            let laid = running.layout.interfaces.get(&id)?;
            let interface = running.intent.interfaces.get(&laid.item)?;
            let is_found = running.layout.by_name.get(&laid.name) == Some(&id);
            is_found.then(|| OnBridge::new(interface, laid, self.config.ethertype))
        };
        let before = self.above.get(&id);
        before.is_some_and(|before| !self.ports.contains_key(&before.name))
            && before == now().as_ref()
    }

    /// Chooses the address and the MTU of the bridge by its ports.
    fn choose(&mut self, item: ItemId) {
        let mac = match (self.config.auto_mac, self.config.admin_mac) {
            (false, Some(mac)) => Some(mac),
            _ => { self.mac_of_a_port() }.or(Some(made_mac(self.of_machine, item))),
        };
        let ports = self.ports.values().filter(|port| port.link.is_slave);
        let least = ports.map(|port| port.link.mtu).min();
        self.config.interface.mtu = self.config.mtu.or(least).unwrap_or(read::MTU);
        self.config.interface.kind = bridge::Bridge { mac }.into();
    }

    /// Returns the address of the oldest port, Ethernet ports before others (RouterOS: `auto-mac`).
    /// The address survives restarts and does not change when a port joins.
    fn mac_of_a_port(&self) -> Option<Mac> {
        let ports = self.ports.iter();
        let known = ports.filter(|(_, port)| port.link.mac != Mac::ZERO);
        let first = known.min_by_key(|(name, port)| (!port.link.is_ethernet, port.item, *name));
        first.map(|(_, port)| port.link.mac)
    }
}

/// Derives the address of a bridge without ports from the address of a machine port and the
/// bridge's item. The address survives restarts and is locally administered (IEEE 802, 8.4).
fn made_mac(of: Mac, item: ItemId) -> Mac {
    let [.., e, f] = item.to_be_bytes();
    let [a, b, c, d, g, h] = of.0;
    Mac([(a | 2) ^ 8, b, c, d, g ^ e, h ^ f])
}

#[cfg(test)]
mod tests;
