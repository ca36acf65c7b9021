//! Reads the menus of switch chips.

use std::collections::BTreeSet;

use dataplane::bridge::VlanMode;
use menu::{Item, Store, Value};

use super::{ETHERNET, End, ISOLATION, MENU, OTHERS, PORTS, RULES, Switches, VLANS};
use crate::intent::{ItemId, Name};
use crate::read;

/// Settings of a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChipConfig {
    pub(super) item: ItemId,
    /// `mirror-source`, `mirror-target`, `mirror-egress-target`.
    pub(super) source: Option<End>,
    pub(super) target: Option<End>,
    pub(super) egress_target: Option<End>,
}

/// `vlan-header`: what happens to the tags of frames on egress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Header {
    #[default]
    Leave,
    Add,
    Strip,
}

/// Settings of a chip's port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PortConfig {
    pub(super) mode: VlanMode,
    pub(super) header: Header,
    /// `default-vlan-id`; 0 means none.
    pub(super) own: u16,
    /// `forwarding-override`; empty means all ports.
    pub(super) only_to: BTreeSet<End>,
    pub(super) mirror_in: bool,
    pub(super) mirror_out: bool,
    pub(super) mirror_in_to: Option<End>,
}

impl Default for PortConfig {
    fn default() -> Self {
        Self {
            mode: VlanMode::Disabled,
            header: Header::Leave,
            own: 0,
            only_to: BTreeSet::new(),
            mirror_in: false,
            mirror_out: false,
            mirror_in_to: None,
        }
    }
}

/// An entry of a chip's VLAN table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VlanConfig {
    pub(super) chip: usize,
    pub(super) vid: u16,
    pub(super) members: BTreeSet<End>,
    pub(super) disabled: bool,
}

impl Switches {
    /// Reads the menus.
    pub(super) fn read(&mut self, store: &Store) {
        self.read_homes(store);
        self.chips.clear();
        for item in store.items(MENU) {
            let config = ChipConfig {
                item: item.id.0,
                source: end(item.get("mirror-source")),
                target: end(item.get("mirror-target")),
                egress_target: end(item.get("mirror-egress-target")),
            };
            self.chips.extend(item.builtin.map(|chip| (chip, config)));
        }
        self.ports.clear();
        self.items.clear();
        for path in [PORTS, ISOLATION] {
            for item in store.items(path) {
                let Some((home, end)) = self.place(item) else {
                    continue;
                };
                self.items.insert((path, item.id.0), (home, end.clone()));
                if let Some(chip) = home {
                    let port = self.ports.entry((chip, end)).or_default();
                    match path {
                        PORTS => port.read(item),
                        _ => port.only_to = ends(item.get("forwarding-override")),
                    }
                }
            }
        }
        let rules = store.items(RULES).filter(|item| !item.is("disabled"));
        let rules = rules.map(|item| (number(store, item.text("switch")), ends(item.get("ports"))));
        self.rules = rules.collect();
        self.vlans.clear();
        for item in store.items(VLANS) {
            let config = VlanConfig {
                chip: number(store, item.text("switch")),
                vid: vid(item.get("vlan-id")),
                members: ends(item.get("ports")),
                disabled: item.is("disabled"),
            };
            self.vlans.insert(item.id.0, config);
        }
    }

    /// Determines the chip of each interface.
    fn read_homes(&mut self, store: &Store) {
        self.homes.clear();
        self.own_names.clear();
        for item in store.items(ETHERNET).chain(store.items(OTHERS)) {
            let names = item.name().zip(read::name(item, "default-name"));
            let Some((name, own)) = names else { continue };
            let name = Name::from(name);
            if let Some(chip) = self.board.chip_of(&own) {
                self.homes.insert(name.clone(), chip);
            }
            self.own_names.insert(own, name);
        }
    }

    /// Returns the chip and the port of a port item; no chip if the port is on none.
    fn place(&self, item: &Item) -> Option<(Option<usize>, End)> {
        let end = end(item.get("name"))?;
        let chip = match &end {
            End::Port(name) => self.homes.get(name).copied(),
            End::Cpu => item.builtin.filter(|chip| *chip < self.board.chips.len()),
        };
        Some((chip, end))
    }
}

impl PortConfig {
    fn read(&mut self, item: &Item) {
        self.mode = match item.text("vlan-mode") {
            "fallback" => VlanMode::Fallback,
            "check" => VlanMode::Check,
            "secure" => VlanMode::Secure,
            _ => VlanMode::Disabled,
        };
        self.header = match item.text("vlan-header") {
            "add-if-missing" => Header::Add,
            "always-strip" => Header::Strip,
            _ => Header::Leave,
        };
        self.own = vid(item.get("default-vlan-id"));
        self.mirror_in = item.is("mirror-ingress");
        self.mirror_out = item.is("mirror-egress");
        self.mirror_in_to = end(item.get("mirror-ingress-target"));
    }
}

/// Returns a port of a chip, or `None` for `none`.
fn end(value: Option<&Value>) -> Option<End> {
    match value?.as_str()? {
        "" | "none" => None,
        "switch1-cpu" | "switch2-cpu" | "switch-cpu" => Some(End::Cpu),
        name => Some(End::Port(name.into())),
    }
}

fn ends(value: Option<&Value>) -> BTreeSet<End> {
    let values = value.map(Value::as_list).unwrap_or_default();
    values.iter().filter_map(|value| end(Some(value))).collect()
}

/// Returns a VLAN id; 0 for `auto`.
fn vid(value: Option<&Value>) -> u16 {
    match value {
        Some(Value::Number(vid)) => u16::try_from(*vid).unwrap_or_default(),
        _ => 0,
    }
}

/// Returns the number of the chip with this name.
fn number(store: &Store, name: &str) -> usize {
    let item = store.named("switch", name);
    item.and_then(|item| item.builtin).unwrap_or_default()
}
