//! Ports of bridges: interfaces that port items name, and the members of lists that port items
//! name.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::interface::Above;
use menu::{Changes, Item, Store, Value};

use super::read::PortConfig;
use super::vlans::Lists;
use super::{Bridges, LISTS, Link, MEMBERS, Port};
use crate::feature::{Effect, Effects, concerns};
use crate::intent::{ItemId, Name};

/// Maximum nesting of interface lists.
const DEPTH: usize = 32;

/// The bridge and port item of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Membership {
    bridge: Name,
    item: ItemId,
    of_list: bool,
}

impl Bridges {
    /// Determines which interfaces are ports and reports the slaves. Returns the bridges whose
    /// ports changed.
    pub(super) fn find_ports(&mut self, store: &Store, out: &mut Effects) -> BTreeSet<ItemId> {
        let wanted = memberships(&self.ports, &self.lists, store);
        let mut others = BTreeSet::new();
        let names: BTreeSet<_> = { wanted.keys() }
            .chain(self.masters.keys())
            .cloned()
            .collect();
        for name in names {
            others.extend(self.enslave(&name, wanted.get(&name), out));
        }
        others
    }

    /// Updates the ports of these interfaces only; requires that no item names a list. Returns the
    /// bridges whose ports changed.
    pub(super) fn find_named_ports(
        &mut self,
        names: BTreeSet<Name>,
        out: &mut Effects,
    ) -> BTreeSet<ItemId> {
        let mut others = BTreeSet::new();
        for name in names {
            let mut items = self.port_items.range((name.clone(), ItemId::MIN)..);
            let item = items.next().filter(|(of, _)| *of == name);
            let port = item.and_then(|(_, item)| Some((*item, self.ports.get(item)?)));
            let now = port.map(|(item, port)| Membership {
                bridge: port.bridge.clone(),
                item,
                of_list: false,
            });
            others.extend(self.enslave(&name, now.as_ref(), out));
        }
        others
    }

    /// Makes an interface a port, or removes it. Returns the bridges that changed.
    fn enslave(&mut self, name: &Name, now: Option<&Membership>, out: &mut Effects) -> Vec<ItemId> {
        let master = now.map(|now| now.bridge.clone());
        let before = match master.clone() {
            Some(master) => self.masters.insert(name.clone(), master),
            None => self.masters.remove(name),
        };
        if before != master {
            out.push(Effect::Slave {
                slave: name.clone(),
                above: Above::Bridge,
                master,
            });
        }
        self.move_port(name, before.as_ref(), now)
    }

    /// Moves a port to its bridge. Returns the bridges that changed.
    fn move_port(
        &mut self,
        name: &Name,
        before: Option<&Name>,
        now: Option<&Membership>,
    ) -> Vec<ItemId> {
        let mut others = Vec::new();
        let was = before.filter(|before| now.is_none_or(|now| now.bridge != **before));
        if let Some(item) = was.and_then(|was| self.names.get(was))
            && let Some(one) = self.all.get_mut(item)
            && let Some(gone) = one.ports.remove(name)
        {
            gone.forget_hosts(self.table.as_deref());
            one.numbers.release(gone.number);
            one.port_index.remove(gone.number, gone.link.id);
            others.push(*item);
        }
        if let Some(now) = now
            && let Some(item) = self.names.get(&now.bridge)
            && let Some(one) = self.all.get_mut(item)
        {
            let Some(mut config) = self.ports.get(&now.item).cloned() else {
                return others;
            };
            let named = self.overrides.values().filter(|of| !of.disabled);
            let own = named.filter(|of| match self.lists.get(&of.of) {
                Some(members) => members.contains(name),
                None => of.of == *name,
            });
            let own = own.map(|of| (of.number, (Some(of.priority), of.cost)));
            config.tree.overrides = own.collect();
            // A new port has no effect on its bridge before its interface is laid out as a slave of
            // the bridge.
            let is_new = !one.ports.contains_key(name);
            let number = match one.ports.get(name) {
                Some(port) => port.number,
                None => one.numbers.take(),
            };
            let port = one.ports.entry(name.clone()).or_insert_with(|| Port {
                number,
                config: config.clone(),
                item: now.item,
                of_list: now.of_list,
                link: Link::default(),
            });
            let is_same = (port.item, port.of_list) == (now.item, now.of_list)
                && port.config == config
                && was.is_none()
                && before.is_some();
            (port.item, port.of_list, port.config) = (now.item, now.of_list, config);
            let waits = is_new && before != Some(&now.bridge);
            if !is_same {
                one.port_index.set(name, number);
                others.extend((!waits).then_some(*item));
            }
        }
        others
    }
}

impl Bridges {
    /// Whether an item names something that is no interface, such as a list.
    pub(super) fn names_lists(&self, store: &Store) -> bool {
        self.named()
            .any(|name| store.named("interface", name).is_none())
    }

    /// All names of interfaces and lists in port, instance and VLAN items.
    fn named(&self) -> impl Iterator<Item = &Name> {
        let of_ports = self.ports.values().map(|port| &port.of);
        let of_instances = self.overrides.values().map(|of| &of.of);
        let of_vlans = self
            .vlans
            .values()
            .flat_map(|row| row.tagged.iter().chain(&row.untagged));
        of_ports.chain(of_instances).chain(of_vlans)
    }

    /// Finds the members of the lists that items name.
    pub(super) fn find_lists(&mut self, store: &Store, changes: Option<&Changes>) {
        let is_list = |name: &&Name| {
            store.named("interface", name).is_none()
                && store.named("interface-list", name).is_some()
        };
        let named: BTreeSet<Name> = self.named().filter(is_list).cloned().collect();
        if concerns(&[LISTS, MEMBERS], changes) {
            self.lists.clear();
        }
        self.lists.retain(|name, _| named.contains(name));
        for name in named {
            self.lists
                .entry(name)
                .or_insert_with_key(|name| list_members(name, store));
        }
    }
}

/// Port numbers of a bridge, from 1. A port takes the lowest free number.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    taken: BTreeSet<u16>,
    /// All numbers up to this one are taken.
    full_to: u16,
}

impl Numbers {
    fn take(&mut self) -> u16 {
        let number = self.full_to.saturating_add(1);
        self.taken.insert(number);
        let mut next = number;
        while next < u16::MAX && self.taken.contains(&next) {
            self.full_to = next;
            next += 1;
        }
        number
    }

    fn release(&mut self, number: u16) {
        self.taken.remove(&number);
        self.full_to = self.full_to.min(number.saturating_sub(1));
    }
}

/// Returns the membership of each port by interface name. An item that names the interface precedes
/// an item that names a list.
fn memberships(
    ports: &BTreeMap<ItemId, PortConfig>,
    lists: &Lists,
    store: &Store,
) -> BTreeMap<Name, Membership> {
    let mut found = BTreeMap::new();
    let used = ports.iter().filter(|(_, port)| !port.disabled);
    for (item, port) in used.clone() {
        if !lists.contains_key(&port.of) {
            let membership = Membership {
                bridge: port.bridge.clone(),
                item: *item,
                of_list: false,
            };
            found.entry(port.of.clone()).or_insert(membership);
        }
    }
    for (item, port) in used {
        for name in lists.get(&port.of).into_iter().flatten() {
            let is_bridge = store
                .named("interface", name)
                .is_some_and(|item| item.menu.path == super::MENU);
            if !is_bridge {
                found.entry(name.clone()).or_insert(Membership {
                    bridge: port.bridge.clone(),
                    item: *item,
                    of_list: true,
                });
            }
        }
    }
    found
}

/// Returns the interfaces of a list: its members and the members of included lists, without the
/// members of excluded lists.
fn list_members(list: &str, store: &Store) -> BTreeSet<Name> {
    members_to(list, store, DEPTH)
}

fn members_to(list: &str, store: &Store, depth: usize) -> BTreeSet<Name> {
    let Some(depth) = depth.checked_sub(1) else {
        return BTreeSet::new();
    };
    let of_list = |item: &&std::sync::Arc<Item>| item.text("list") == list && !item.is("disabled");
    let members = store.items(MEMBERS).filter(of_list);
    let mut found: BTreeSet<Name> = members.map(|item| item.text("interface").into()).collect();
    let Some(item) = store.items(LISTS).find(|item| item.name() == Some(list)) else {
        return found;
    };
    let named = |property: &str| -> Vec<Name> {
        let names = item.get(property).map(Value::as_list).unwrap_or_default();
        names
            .iter()
            .filter_map(Value::as_str)
            .map(Name::from)
            .collect()
    };
    let mut included: BTreeSet<Name> = named("include")
        .iter()
        .flat_map(|name| members_to(name, store, depth))
        .collect();
    for name in named("exclude") {
        for member in members_to(&name, store, depth) {
            included.remove(&member);
        }
    }
    found.extend(included);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_take_the_lowest_free_number() {
        let mut numbers = Numbers::default();
        assert_eq!([(); 5].map(|()| numbers.take()), [1, 2, 3, 4, 5]);
        numbers.release(4);
        numbers.release(2);
        assert_eq!([(); 3].map(|()| numbers.take()), [2, 4, 6]);
        numbers.release(1);
        assert_eq!([(); 2].map(|()| numbers.take()), [1, 7]);
    }
}
