//! VLANs of a bridge, `/interface/bridge/vlan`: which ports are members of which.
//!
//! Members are named by items. Besides, a port is a member of the VLAN of its own frames (`pvid`) without a tag, the
//! bridge is a port like others, and a member with a tag of the VLANs whose interfaces lie on it.

use core::ops::ControlFlow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::bridge::{FrameTypes, Member, VlanTable};
use menu::{Id, Row, RowFilter, Value};

use super::read::VlanConfig;
use super::{Bridges, One};
use crate::intent::{ItemId, Name};
use crate::live::{give, number};
use crate::object::DYNAMIC;

/// The members of lists, by the lists' names.
pub(super) type Lists = BTreeMap<Name, BTreeSet<Name>>;
/// What VLANs a bridge's items name.
pub(super) type Vlans = BTreeMap<ItemId, VlanConfig>;

/// Why a dynamic row is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// A port's own VLAN.
    Pvid,
    /// A VLAN interface lies on the bridge.
    Interface,
}

impl One {
    /// The bridge and its ports that frames come and go by, by their places.
    fn places(&self) -> BTreeMap<&Name, usize> {
        let ports: Vec<_> = self.active_ports().map(|(name, _)| name).collect();
        let bridge = (&self.config.interface.name, ports.len());
        ports.into_iter().zip(0..).chain([bridge]).collect()
    }

    /// The table that workers filter by; none where VLANs are not filtered.
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

    /// The items of this bridge that are in use.
    fn rows_of<'a>(&'a self, vlans: &'a Vlans) -> impl Iterator<Item = (ItemId, &'a VlanConfig)> {
        let name = &self.config.interface.name;
        let rows = vlans.iter();
        let rows = rows.filter(move |(_, row)| !row.disabled && row.bridge == *name);
        rows.map(|(item, row)| (*item, row))
    }

    /// Which of the bridge and its ports take frames without a tag, of which VLAN these are, and the place.
    fn own_vlans(&self) -> impl Iterator<Item = (&Name, u16, FrameTypes)> {
        let config = &self.config;
        let bridge = (&config.interface.name, config.pvid, config.frame_types);
        let ports = self.active_ports();
        let ports = ports.map(|(name, port)| (name, port.config.pvid, port.config.frame_types));
        let all = ports.chain([bridge]);
        all.filter(|(_, _, types)| *types != FrameTypes::Tagged)
    }

    /// Members that no item names, by VLAN and by why they are there.
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

    /// Whether an item is about this VLAN alone: what is a member by itself is shown there (RouterOS 7.15).
    fn single(&self, vlans: &Vlans, vid: u16) -> Option<ItemId> {
        let mut rows = self.rows_of(vlans);
        let found = rows.find(|(_, row)| row.vids == [(vid, vid)]);
        found.map(|(item, _)| item)
    }
}

impl Bridges {
    /// Shows who is a member at present.
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

    /// The VLANs that have members which no item names.
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

    /// The bridges that the items of VLANs are about.
    pub(super) fn bridges_of_vlans(&self) -> impl Iterator<Item = ItemId> {
        let bridges = self.vlans.values().map(|row| &row.bridge);
        bridges.filter_map(|name| self.names.get(name)).copied()
    }
}

/// The interfaces that are named, themselves or by lists.
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
