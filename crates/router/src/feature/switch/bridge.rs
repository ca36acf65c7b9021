//! Effects of switch chips on a bridge: port isolation and VLAN filtering.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::bridge::{Bridge, BridgePort, FrameTypes, Member, PortSet, VlanMode, VlanTable};

use super::read::{Header, PortConfig};
use super::{End, Switches};
use crate::intent::Name;

/// A bridge port and its chip.
struct PortChip {
    chip: Option<usize>,
    end: End,
}

impl Switches {
    /// Applies the chips' settings to a bridge; `names` are the names of its ports by number.
    /// Returns whether the bridge changed.
    pub(crate) fn change(&self, bridge: &mut Bridge, names: &[Name]) -> bool {
        let seats = names.iter().map(|name| PortChip {
            chip: self.homes.get(name).copied(),
            end: End::Port(name.clone()),
        });
        let seats: Vec<_> = seats.collect();
        let isolates = self.isolate(bridge, &seats);
        let filters = self.filter(bridge, &seats);
        bridge.fast_forward &= !isolates && !filters;
        isolates || filters
    }

    fn isolate(&self, bridge: &mut Bridge, seats: &[PortChip]) -> bool {
        let mut isolates = false;
        let mut ports: Vec<_> = bridge.ports().to_vec();
        for (port, seat) in ports.iter_mut().zip(seats) {
            let config = seat.chip.and_then(|chip| self.port(chip, seat.end.clone()));
            let Some(only) = config.map(|config| &config.only_to) else {
                continue;
            };
            if only.is_empty() {
                continue;
            }
            // Interfaces on other chips or on no chip are reached by the port to the processor.
            let cpu = only.contains(&End::Cpu);
            let may = |other: &PortChip| match other.chip == seat.chip {
                true => only.contains(&other.end),
                false => cpu,
            };
            let numbers = seats.iter().enumerate();
            let numbers = numbers.filter(|(_, other)| may(other));
            port.only_to = Some(numbers.map(|(number, _)| number).collect());
            port.kept_down = !cpu;
            isolates = true;
        }
        if isolates {
            replace_ports(bridge, ports);
        }
        let to_cpu = self.only_to_of_router(seats);
        isolates |= to_cpu.is_some();
        bridge.only_to = to_cpu;
        isolates
    }

    /// Returns the ports that the router's own frames may leave by, as the processor ports'
    /// settings say.
    fn only_to_of_router(&self, seats: &[PortChip]) -> Option<PortSet> {
        let only = |chip: usize| self.port(chip, End::Cpu).map(|config| &config.only_to);
        let is_set = |seat: &PortChip| {
            let only = seat.chip.and_then(only);
            only.is_some_and(|only| !only.is_empty())
        };
        let may = |seat: &PortChip| !is_set(seat) || only_has(seat.chip.and_then(only), &seat.end);
        seats.iter().any(is_set).then(|| {
            let numbers = seats.iter().enumerate();
            let numbers = numbers.filter(|(_, seat)| may(seat));
            numbers.map(|(number, _)| number).collect()
        })
    }

    /// RouterOS: chips with their own VLAN table do not switch a bridge with `vlan-filtering`.
    fn filter(&self, bridge: &mut Bridge, seats: &[PortChip]) -> bool {
        let chips: BTreeSet<usize> = { seats.iter() }
            .filter_map(|seat| seat.chip)
            .filter(|chip| self.filters(*chip))
            .collect();
        let Some(first) = chips.first().copied().filter(|_| bridge.vlans.is_none()) else {
            return false;
        };
        let standard = PortConfig::default();
        let cpu = self.port(first, End::Cpu).unwrap_or(&standard);
        let mut ports = bridge.ports().to_vec();
        let mut table = VlanTable::new(seats.len());
        let rows = self.rows(&chips);
        for (number, (port, seat)) in ports.iter_mut().zip(seats).enumerate() {
            let filtering = seat.chip.filter(|chip| chips.contains(chip));
            let config = filtering.and_then(|chip| self.port(chip, seat.end.clone()));
            // Interfaces on no filtering chip are reached by the port to the processor.
            let (config, end, chip) = match filtering {
                Some(chip) => (config.unwrap_or(&standard), &seat.end, chip),
                None => (cpu, &End::Cpu, first),
            };
            set_port(port, config);
            set_members(&mut table, number, config, chip, end, &rows);
        }
        set_members(&mut table, seats.len(), cpu, first, &End::Cpu, &rows);
        replace_ports(bridge, ports);
        bridge.vlans = Some(Arc::new(table));
        bridge.ethertype = wire::EtherType::VLAN.0;
        bridge.pvid = cpu.own;
        bridge.frame_types = FrameTypes::All;
        bridge.vlan_mode = Some(cpu.mode);
        true
    }

    /// Returns the VLANs in the tables of these chips, with the members on each chip.
    fn rows(&self, chips: &BTreeSet<usize>) -> Rows {
        let mut rows = Rows::new();
        for (item, config) in &self.vlans {
            if chips.contains(&config.chip) && self.holds(*item) {
                let members = rows.entry((config.vid, config.chip)).or_default();
                members.extend(config.members.iter().cloned());
            }
        }
        rows
    }
}

/// Members of each VLAN by chip.
type Rows = BTreeMap<(u16, usize), BTreeSet<End>>;

fn only_has(only: Option<&BTreeSet<End>>, end: &End) -> bool {
    only.is_some_and(|only| only.contains(end))
}

fn set_port(port: &mut BridgePort, config: &PortConfig) {
    port.pvid = config.own;
    port.frame_types = FrameTypes::All;
    port.tag_stacking = false;
    port.vlan_mode = Some(config.mode);
}

/// Sets the membership of a port in each VLAN, and in VLAN 0 for unfiltered frames: frames of ports
/// with `vlan-mode=disabled`, and frames of unknown VLANs with `fallback`.
fn set_members(
    table: &mut VlanTable,
    number: usize,
    config: &PortConfig,
    chip: usize,
    end: &End,
    rows: &Rows,
) {
    let strips = config.header == Header::Strip;
    table.set(
        0,
        number,
        if strips {
            Member::Untagged
        } else {
            Member::AsTheyCame
        },
    );
    for (vid, on) in rows.keys().filter(|(vid, _)| *vid != 0) {
        let is_member = rows[&(*vid, *on)].contains(end);
        if *on != chip {
            // This marks the VLAN as known.
            if !rows.contains_key(&(*vid, chip)) {
                table.set(*vid, number, Member::No);
            }
            continue;
        }
        let member = match (is_member, config.header) {
            (false, _) => Member::No,
            (true, Header::Strip) => Member::Untagged,
            (true, Header::Add) => Member::Tagged,
            // RouterOS: with `leave-as-is` a port is an access port of its default VLAN.
            (true, Header::Leave) if config.own == *vid => Member::Untagged,
            (true, Header::Leave) => Member::Tagged,
        };
        table.set(*vid, number, member);
    }
}

/// Replaces the ports of a bridge.
fn replace_ports(bridge: &mut Bridge, ports: Vec<BridgePort>) {
    for (number, port) in ports.into_iter().enumerate() {
        bridge.set_port(number, port);
    }
}

impl Switches {
    /// Whether the chip's VLAN table has room for this VLAN, if the chip has such a table.
    pub(super) fn holds(&self, item: crate::intent::ItemId) -> bool {
        let Some(config) = self.vlans.get(&item).filter(|config| !config.disabled) else {
            return false;
        };
        let Some(chip) = self.chip(config.chip).filter(|chip| chip.vlan_menu) else {
            return false;
        };
        let before = self.vlans.range(..item).map(|(_, config)| config);
        let before = before.filter(|other| other.chip == config.chip && !other.disabled);
        before.count() < chip.tables.vlans as usize
    }
}

/// Whether a port filters VLANs.
pub(super) fn is_on(config: &PortConfig) -> bool {
    config.mode != VlanMode::Disabled
}
