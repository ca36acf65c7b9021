//! Bridges, `/interface/bridge` and the menus below it: interfaces that join others into one network.
//!
//! ```text
//! items ──read──▶ bridges, ports ──members──▶ which interface is a port of which bridge (Effect::Slave)
//!                       │
//! layout ──links──▶ what ports run, their addresses and MTUs ──publish──▶ the bridge as workers see it
//! ```
//! An interface becomes a port by being laid out as the slave of the bridge (`compile/joined.rs`). Workers bridge
//! frames by `dataplane::bridge::Bridge`, a value that is replaced as a whole.

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
use super::hear::{Heard, Hearing};
use super::{Effect, Effects, Feature, View, concerns, each_item};
use crate::board;
use crate::compile::Laid;
use crate::drive::timers::Timers;
use crate::intent::{Indexed, Interface, ItemId, Name, Wanted};
use crate::kind::bridge::{self, MENU};
use crate::running::Running;

const PORTS: &str = "/interface/bridge/port";
const VLANS: &str = "/interface/bridge/vlan";
const HOSTS: &str = "/interface/bridge/host";
const GROUPS: &str = "/interface/bridge/mdb";
const INSTANCES: &str = "/interface/bridge/msti";
const OVERRIDES: &str = "/interface/bridge/port/mst-override";
const LISTS: &str = "/interface/list";
const MEMBERS: &str = "/interface/list/member";

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Bridges {
    /// By item.
    all: BTreeMap<ItemId, One>,
    /// By name.
    names: BTreeMap<Name, ItemId>,
    /// The items of ports.
    ports: BTreeMap<ItemId, PortConfig>,
    /// The enabled ones by the interface or list that they name.
    port_items: BTreeSet<(Name, ItemId)>,
    /// The items of VLANs.
    vlans: Vlans,
    /// The items of hosts.
    statics: BTreeMap<ItemId, HostConfig>,
    /// The items of multicast groups.
    groups: BTreeMap<ItemId, GroupConfig>,
    /// The items of instances of spanning trees, and of ports in them.
    instances: BTreeMap<ItemId, InstanceConfig>,
    overrides: BTreeMap<ItemId, OverrideConfig>,
    /// The members of the lists that items name.
    lists: Lists,
    /// The bridge that each interface is a port of, by the names of both.
    masters: BTreeMap<Name, Name>,
    /// What interfaces are, by id: the bridge that it is, or the one that it is a port of.
    ids: BTreeMap<InterfaceId, ItemId>,
    /// When spanning trees tick, by bridge.
    timers: Timers<ItemId>,
    own_sources: own_source::OwnSources,
    /// Bridges whose hosts of other VLANs are forgotten once more, when no worker has the bridge as it was before.
    refiltered: BTreeSet<ItemId>,
    /// When hosts are looked at next, how far the last look came, and when it was.
    age_at: Option<Instant>,
    aged: u32,
    now: Instant,
    /// What makes the places of groups hard to foresee.
    seed: u64,
    /// Hosts and bridges, as workers see them.
    table: Option<Arc<InterfaceTable>>,
    /// Which ports are switched below the workers, by their interfaces' names, and why others are not.
    pub(crate) switched: BTreeMap<Name, Result<board::Place, board::Reason>>,
}

/// A bridge.
#[derive(Debug)]
struct One {
    config: BridgeConfig,
    id: Option<InterfaceId>,
    /// The address of a port of the machine: where no port has one, the bridge's is made of it.
    of_machine: Mac,
    /// By the names of their interfaces.
    ports: BTreeMap<Name, Port>,
    numbers: Numbers,
    port_index: PortIndex,
    tree: Tree,
    /// The interfaces that lie on it, and on the VLANs on it, as they were when it last looked.
    above: BTreeMap<InterfaceId, OnBridge>,
    /// The VLANs whose interfaces lie on it.
    vlans_above: BTreeSet<u16>,
    /// The addresses of stations on its link, and on those VLANs.
    stations: BTreeSet<Mac>,
    /// What control has in the table of hosts.
    fixed: BTreeMap<HostKey, Host>,
    /// What it knows of multicast, where it snoops, and the addresses that its queries come from.
    snooper: Option<Snooper>,
    source4: Option<Ipv4Addr>,
    source6: Option<Ipv6Addr>,
    /// What workers were told.
    published: Option<(InterfaceId, Arc<Bridge>)>,
}

/// What a bridge knows of an interface that lies on it, or on a VLAN on it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OnBridge {
    name: Name,
    /// The interface below, by its name.
    on: Option<Name>,
    /// The VLAN, if it is one that the bridge's tags tell.
    vlan: Option<u16>,
    /// The address of a station.
    station: Option<Mac>,
}

impl OnBridge {
    /// Describes an interface; `ethertype` is that of the bridge's tags.
    fn new(interface: &Interface, laid: &Laid, ethertype: u16) -> Self {
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
    /// Its number: the lowest that was free when it came.
    number: u16,
    config: PortConfig,
    /// Its item, which may be of a list.
    item: ItemId,
    /// It is here as a member of a list.
    of_list: bool,
    /// What is true of its interface.
    link: Link,
}

/// What is true of the interface of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Link {
    id: Option<InterfaceId>,
    /// The bridge takes its frames.
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
            // Lists that no item names have changed.
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
        // Without lists an item of a port is about the interface that it names, and no other.
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

    fn hear(&mut self, heard: &Heard<'_>, running: &Running<'_>, out: &mut Effects) -> Hearing {
        match heard.service {
            snooping::SERVICE => {
                self.hear_snooped(heard, running.now, out);
                Hearing::Taken
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
    /// Takes what workers read of interfaces: it has the hosts of bridges. `seed` is random.
    pub(crate) fn set_table(&mut self, table: Arc<InterfaceTable>, seed: u64) {
        // Without that much address space the table has room for fewer.
        let _ = table.bridges().make_room(hosts::ROOM, seed);
        self.seed = seed;
        self.table = Some(table);
    }

    /// What workers know of bridges.
    #[cfg(test)]
    pub(crate) fn published(&self) -> impl Iterator<Item = &Bridge> {
        let published = self.all.values().filter_map(|one| one.published.as_ref());
        published.map(|(_, bridge)| &**bridge)
    }

    /// Forgets what a load does not have any more.
    fn forget_gone(&mut self, view: &View<'_>, out: &mut Effects) {
        let gone: Vec<_> = { self.all.keys() }
            .filter(|id| view.store.item(MENU, Id(**id)).is_none())
            .copied()
            .collect();
        for id in gone {
            self.put(id, None, out);
        }
        self.ports.clear();
        self.port_items.clear();
        self.vlans.clear();
        self.statics.clear();
        self.groups.clear();
        self.instances.clear();
        self.overrides.clear();
        // A load begins with no slaves at all.
        self.masters.clear();
    }

    /// Makes or changes a bridge, or takes it away.
    fn put(&mut self, id: ItemId, item: Option<&Item>, out: &mut Effects) {
        if let Some(before) = self.all.get(&id) {
            self.names.remove(&before.config.interface.name);
        }
        let Some(config) = item.and_then(read::bridge) else {
            self.timers.set(id, None);
            if let Some(gone) = self.all.remove(&id) {
                self.take_away(gone, out);
            }
            out.push(Effect::Item(id, Wanted::Interface(None)));
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
                let one = One {
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
        let wanted = self.all.get(&id).map(One::interface);
        out.push(Effect::Item(id, Wanted::Interface(wanted)));
    }

    /// Sees to what workers have of a bridge that is gone.
    fn take_away(&mut self, gone: One, out: &mut Effects) {
        self.ids.retain(|_, item| self.all.contains_key(item));
        if let Some((id, _)) = gone.published {
            out.push(Effect::Bridge(id, None));
            if let Some(table) = &self.table {
                table.bridges().hosts().forget(id);
            }
        }
    }

    /// The bridges that an interface has to do with.
    fn concerned(&self, id: InterfaceId, running: &Running<'_>) -> BTreeSet<ItemId> {
        let mut items = BTreeSet::new();
        items.extend(self.ids.get(&id));
        if let Some(laid) = running.layout.interfaces.get(&id) {
            items.extend(self.names.get(&laid.name));
            let master = self.masters.get(&laid.name);
            items.extend(master.and_then(|name| self.names.get(name)));
            // A VLAN or a station on it, or a station on such a VLAN.
            let on = |laid: &Laid| {
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

    /// Tells what has become of a bridge: it as an interface, and what workers have of it.
    fn bring_up_to_date(&mut self, item: ItemId, now: Instant, out: &mut Effects) {
        self.set_instances(item);
        let Some(one) = self.all.get_mut(&item) else {
            return;
        };
        let before = one.config.interface.clone();
        one.choose(item);
        if one.config.interface != before {
            let wanted = Wanted::Interface(Some(one.interface()));
            out.push(Effect::Item(item, wanted));
        }
        let actions = one.follow_tree(now);
        one.begin_to_snoop(self.seed);
        // Ports that do something else now are published with that.
        if !actions.iter().any(tree::becomes) {
            one.publish(&self.vlans, &self.lists, out);
        }
        self.do_(item, actions, now, out);
        if let Some(one) = self.all.get_mut(&item) {
            one.follow_snooping(&self.groups, now, out);
        }
        self.follow_hosts(item);
    }

    /// Follows what is said of VLANs, hosts and instances; `others` gets the bridges that they are about.
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

    /// Gives a bridge's spanning tree its instances.
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

/// Puts an item in, or takes it out. Gives what it was.
fn swap<T>(items: &mut BTreeMap<ItemId, T>, id: ItemId, now: Option<T>) -> Option<T> {
    match now {
        Some(now) => items.insert(id, now),
        None => items.remove(&id),
    }
}

impl One {
    fn interface(&self) -> Interface {
        self.config.interface.clone()
    }

    /// Its link address, as far as it has one.
    fn mac(&self) -> Option<Mac> {
        self.config.interface.kind.downcast::<bridge::Bridge>()?.mac
    }

    /// The ports that frames come and go by, in the order of their places.
    fn active_ports(&self) -> impl Iterator<Item = (&Name, &Port)> {
        self.ports.iter().filter(|(_, port)| port.is_active())
    }

    /// Looks at the VLANs and stations that lie on it. Gives their interfaces.
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

    /// Whether an interface lies on the bridge as it did when the bridge last looked: then nothing of the bridge
    /// follows from what else is other of the interface, such as its addresses.
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

    /// Chooses address and MTU as its ports are.
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

    /// The address of the port that came first, of Ethernet ports before others (RouterOS: `auto-mac`). So it is the
    /// same after a restart, and stays where it is when another port comes.
    fn mac_of_a_port(&self) -> Option<Mac> {
        let ports = self.ports.iter();
        let known = ports.filter(|(_, port)| port.link.mac != Mac::ZERO);
        let first = known.min_by_key(|(name, port)| (!port.link.is_ethernet, port.item, *name));
        first.map(|(_, port)| port.link.mac)
    }
}

/// The address of a bridge that has no port to take one from: of a port of the machine and its own item, so that it is
/// the same after a restart, and marked as nobody's product (IEEE 802, 8.4: local).
fn made_mac(of: Mac, item: ItemId) -> Mac {
    let [.., e, f] = item.to_be_bytes();
    let [a, b, c, d, g, h] = of.0;
    Mac([(a | 2) ^ 8, b, c, d, g ^ e, h ^ f])
}

#[cfg(test)]
mod tests;
