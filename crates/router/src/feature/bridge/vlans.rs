//! VLANs of a bridge, `/interface/bridge/vlan`: the member ports of each VLAN.
//!
//! Items name members. In addition, each port is an untagged member of its own VLAN (`pvid`), as is
//! the bridge itself, and the bridge is a tagged member of each VLAN that has an interface on it.

use core::ops::ControlFlow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::bridge::{FrameTypes, Member, VlanTable};
use menu::{Id, Row, RowFilter, Value};

use super::read::VlanConfig;
use super::{BridgeState, Bridges};
use crate::intent::{ItemId, Name};
use crate::live::{give, number};
use crate::object::DYNAMIC;

/// Members of interface lists, by list name.
pub(super) type Lists = BTreeMap<Name, BTreeSet<Name>>;
/// Items of `/interface/bridge/vlan`.
pub(super) type Vlans = BTreeMap<ItemId, VlanConfig>;

/// Cause of a dynamic row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// The `pvid` of a port.
    Pvid,
    /// A VLAN interface on the bridge.
    Interface,
}

impl BridgeState {
    /// Returns the slots of the active ports and of the bridge in the VLAN table.
    fn places(&self) -> BTreeMap<&Name, usize> {
        let ports: Vec<_> = self.active_ports().map(|(name, _)| name).collect();
        let bridge = (&self.config.interface.name, ports.len());
        ports.into_iter().zip(0..).chain([bridge]).collect()
    }

    /// Returns the VLAN table of the workers, or `None` without VLAN filtering.
    pub(super) fn vlan_table(&self, vlans: &Vlans, lists: &Lists) -> Option<Arc<VlanTable>> {
        if !self.config.vlan_filtering {
            return None;
        }
        let places = self.places();
        let mut table = VlanTable::new(places.len() - 1);
        let rows: Vec<_> = self.rows_of(vlans).map(|(_, row)| row).collect();
        for (kind, named) in [(Member::Tagged, true), (Member::Untagged, false)] {
            for row in &rows {
                let names = if named { &row.tagged } else { &row.untagged };
                for place in resolved(names, lists).filter_map(|name| places.get(name)) {
                    row.each_vid(|vid| table.set(vid, *place, kind));
                }
            }
        }
        for (name, vid, _) in self.own_vlans() {
            if let Some(place) = places.get(name)
                && table.member(vid, *place) == Member::No
            {
                table.set(vid, *place, Member::Untagged);
            }
        }
        for vid in &self.vlans_above {
            if table.member(*vid, places.len() - 1) == Member::No {
                table.set(*vid, places.len() - 1, Member::Tagged);
            }
        }
        for (number, instance) in self.config.tree.instances.iter().rev() {
            for vid in instance
                .vlans
                .iter()
                .flat_map(|(first, last)| *first..=*last)
            {
                table.set_instance(vid, *number as u8);
            }
        }
        Some(Arc::new(table))
    }

    /// Returns the enabled items of this bridge.
    fn rows_of<'a>(&'a self, vlans: &'a Vlans) -> impl Iterator<Item = (ItemId, &'a VlanConfig)> {
        let name = &self.config.interface.name;
        let rows = vlans.iter();
        let rows = rows.filter(move |(_, row)| !row.disabled && row.bridge == *name);
        rows.map(|(item, row)| (*item, row))
    }

    /// Returns the ports that accept untagged frames, the bridge included, with their `pvid` and
    /// `frame-types`.
    fn own_vlans(&self) -> impl Iterator<Item = (&Name, u16, FrameTypes)> {
        let config = &self.config;
        let bridge = (&config.interface.name, config.pvid, config.frame_types);
        let ports = self.active_ports();
        let ports = ports.map(|(name, port)| (name, port.config.pvid, port.config.frame_types));
        let all = ports.chain([bridge]);
        all.filter(|(_, _, types)| *types != FrameTypes::Tagged)
    }

    /// Returns the members that no item names, by VLAN and cause.
    fn dynamic(&self, vlans: &Vlans, lists: &Lists) -> BTreeMap<(u16, Cause), Vec<Name>> {
        let mut found: BTreeMap<_, Vec<Name>> = BTreeMap::new();
        if !self.config.vlan_filtering {
            return found;
        }
        let is_named = |name: &Name, vid: u16| {
            let mut rows = self.rows_of(vlans).filter(|(_, row)| row.has(vid));
            rows.any(|(_, row)| {
                resolved(&row.tagged, lists).any(|one| one == name)
                    || resolved(&row.untagged, lists).any(|one| one == name)
            })
        };
        for (name, vid, _) in self.own_vlans() {
            if !is_named(name, vid) {
                let members = found.entry((vid, Cause::Pvid)).or_default();
                members.push(name.clone());
            }
        }
        let bridge = &self.config.interface.name;
        for vid in &self.vlans_above {
            let has_it = found.get(&(*vid, Cause::Pvid));
            let has_it = has_it.is_some_and(|members| members.contains(bridge));
            if !has_it && !is_named(bridge, *vid) {
                found.insert((*vid, Cause::Interface), vec![bridge.clone()]);
            }
        }
        found
    }

    /// Returns the item that names only this VLAN: its row shows dynamic members, too (RouterOS
    /// 7.15).
    fn single(&self, vlans: &Vlans, vid: u16) -> Option<ItemId> {
        let mut rows = self.rows_of(vlans);
        let found = rows.find(|(_, row)| row.vids == [(vid, vid)]);
        found.map(|(item, _)| item)
    }
}

impl Bridges {
    /// Adds the present members to the row of an item.
    pub(super) fn annotate_vlan(&self, item: ItemId, row: &mut Row) {
        let config = self.vlans.get(&item);
        let one = config.and_then(|config| self.names.get(&config.bridge));
        let one = one.and_then(|id| self.all.get(id));
        let (mut tagged, mut untagged) = (Vec::new(), Vec::new());
        if let (Some(config), Some(one)) = (config, one)
            && one.config.vlan_filtering
            && !config.disabled
        {
            let places = one.places();
            let active = |names: &[Name]| -> Vec<Name> {
                let names = resolved(names, &self.lists);
                names
                    .filter(|name| places.contains_key(name))
                    .cloned()
                    .collect()
            };
            untagged = active(&config.untagged);
            tagged = active(&config.tagged);
            tagged.retain(|name| !untagged.contains(name));
            if let [(vid, last)] = config.vids[..]
                && vid == last
                && one.single(&self.vlans, vid) == Some(item)
            {
                let mut dynamic = one.dynamic(&self.vlans, &self.lists);
                untagged.extend(dynamic.remove(&(vid, Cause::Pvid)).unwrap_or_default());
                tagged.extend(dynamic.remove(&(vid, Cause::Interface)).unwrap_or_default());
            }
        }
        row.set("current-tagged", joined(&tagged));
        row.set("current-untagged", joined(&untagged));
    }

    /// Passes the rows of VLANs with members that no item names to `each`.
    pub(super) fn vlan_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (item, one) in &self.all {
            for ((vid, cause), members) in one.dynamic(&self.vlans, &self.lists) {
                if one.single(&self.vlans, vid).is_some() {
                    continue;
                }
                let mut row = Row {
                    id: Some(Id(DYNAMIC
                        | item << 16
                        | u64::from(vid) << 1
                        | cause as u64)),
                    ..Row::default()
                };
                let bridge = &one.config.interface.name;
                row.set("bridge", Value::Reference((&**bridge).into()));
                row.set("vlan-ids", Value::List(vec![number(vid.into())]));
                let (tagged, untagged, comment) = match cause {
                    Cause::Pvid => (&[][..], &members[..], "added by pvid"),
                    Cause::Interface => (&members[..], &[][..], "added by vlan on bridge"),
                };
                row.set("comment", Value::text(comment));
                for name in ["tagged", "untagged"] {
                    row.set(name, Value::List(Vec::new()));
                }
                row.set("current-tagged", joined(tagged));
                row.set("current-untagged", joined(untagged));
                row.flag("dynamic", true);
                give(row, filter, each)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns the bridges of all VLAN items.
    pub(super) fn bridges_of_vlans(&self) -> impl Iterator<Item = ItemId> {
        let bridges = self.vlans.values().map(|row| &row.bridge);
        bridges.filter_map(|name| self.names.get(name)).copied()
    }
}

/// Replaces lists among the names by their members.
fn resolved<'a>(names: &'a [Name], lists: &'a Lists) -> impl Iterator<Item = &'a Name> {
    names.iter().flat_map(|name| {
        let list = lists.get(name);
        let itself = Some(name).filter(|_| list.is_none());
        itself.into_iter().chain(list.into_iter().flatten())
    })
}

fn joined(names: &[Name]) -> Value {
    Value::text(names.join(","))
}
