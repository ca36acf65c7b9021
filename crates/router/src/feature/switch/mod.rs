//! Switch chips, `/interface/ethernet/switch` and the menus below it.
//!
//! ```text
//! items, board ──read──▶ chips, their ports, VLANs ─┬─bridge──▶ the bridge of the workers, changed by its chips
//!                                                   ├─mirror──▶ mirrored interfaces and mirror targets
//!                                                   └─lacks───▶ ports that the kernel therefore cannot switch
//! ```
//! The bridge of a port emulates the port's chip. The board says which ports are on which chip, and which functions
//! the chip has. A machine without a known board has one chip with all its ports.

mod bridge;
mod mirror;
mod read;
mod show;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use menu::{Changes, Id, Menu, Row, Store};

use self::read::{ChipConfig, PortConfig, VlanConfig};
use super::{Effects, Feature, View, concerns};
use crate::intent::{ItemId, Name};
use board::{Board, Chip};

pub(crate) use self::mirror::Copied;

const MENU: &str = "/interface/ethernet/switch";
const PORTS: &str = "/interface/ethernet/switch/port";
const ISOLATION: &str = "/interface/ethernet/switch/port-isolation";
const VLANS: &str = "/interface/ethernet/switch/vlan";
const RULES: &str = "/interface/ethernet/switch/rule";
const ETHERNET: &str = "/interface/ethernet";
const OTHERS: &str = "/interface/port";

/// Menus that configure switch chips.
pub(crate) const MENUS: &[&str] = &[MENU, PORTS, ISOLATION, VLANS, RULES, ETHERNET, OTHERS];

/// A port of a chip.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// The port of this interface.
    Port(Name),
    /// The port to the processor.
    Cpu,
}

/// The switch chips of the board, with their ports, VLANs and rules.
#[derive(Debug)]
pub(crate) struct Switches {
    /// The board, which says which chips and ports exist.
    pub(crate) board: &'static Board,
    /// Chips by their index on the board.
    chips: BTreeMap<usize, ChipConfig>,
    /// Chip of each interface.
    homes: BTreeMap<Name, usize>,
    /// Interfaces by the default names of their ports.
    own_names: BTreeMap<Name, Name>,
    /// Settings of the chips' ports.
    ports: BTreeMap<(usize, End), PortConfig>,
    /// Ports of the items in both port menus.
    items: BTreeMap<(&'static str, ItemId), (Option<usize>, End)>,
    vlans: BTreeMap<ItemId, VlanConfig>,
    /// Chip and ports of each active rule; an empty set means all ports.
    rules: Vec<(usize, BTreeSet<End>)>,
    /// Warnings that were logged.
    told: Vec<String>,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            board: &Board::MACHINE,
            chips: BTreeMap::new(),
            homes: BTreeMap::new(),
            own_names: BTreeMap::new(),
            ports: BTreeMap::new(),
            items: BTreeMap::new(),
            vlans: BTreeMap::new(),
            rules: Vec::new(),
            told: Vec::new(),
        }
    }
}

impl Feature for Switches {
    fn menus(&self) -> &'static [&'static str] {
        MENUS
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        if !concerns(MENUS, changes) {
            return;
        }
        self.read(view.store);
        let beyond = self.beyond();
        for said in beyond.iter().filter(|said| !self.told.contains(said)) {
            out.log("switch,warning", said.clone());
        }
        self.told = beyond;
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        match menu.path {
            MENU => self.annotate_chip(id.0, row),
            PORTS | ISOLATION => self.annotate_port(menu.path, id.0, row),
            VLANS => self.annotate_vlan(id.0, row),
            _ => {}
        }
    }
}

/// Returns a sentence for each setting that the board's switch chips do not support.
pub fn beyond(store: &Store, board: &'static Board) -> Vec<String> {
    let mut switches = Switches {
        board,
        ..Switches::default()
    };
    switches.read(store);
    switches.beyond()
}

impl Switches {
    /// Whether no setting affects bridges.
    pub(crate) fn is_idle(&self) -> bool {
        let is_set = |port: &PortConfig| bridge::is_on(port) || !port.only_to.is_empty();
        !self.ports.values().any(is_set)
    }

    /// Returns the chip with this number.
    fn chip(&self, number: usize) -> Option<&'static Chip> {
        self.board.chips.get(number).map(|on| on.chip)
    }

    fn port(&self, chip: usize, end: End) -> Option<&PortConfig> {
        self.ports.get(&(chip, end))
    }

    /// Whether a chip filters by the VLANs of this menu, because a port of the chip has a
    /// `vlan-mode`.
    fn filters(&self, chip: usize) -> bool {
        let has_menu = self.chip(chip).is_some_and(|chip| chip.vlan_menu);
        let all = (chip, End::Port("".into()))..;
        let mut ports = self.ports.range(all).take_while(|((on, _), _)| *on == chip);
        has_menu && ports.any(|(_, port)| port.mode != dataplane::bridge::VlanMode::Disabled)
    }

    /// Returns why the kernel cannot switch the port with this default name.
    pub(crate) fn lacks(&self, port: &str) -> Option<&'static str> {
        let name = self.own_names.get(port)?;
        let chip = *self.homes.get(name)?;
        if self.filters(chip) {
            return Some("its switch chip filters by vlan-mode, which the workers do");
        }
        let end = End::Port(name.clone());
        let concerns = |(on, ends): &(usize, BTreeSet<End>)| {
            *on == chip && (ends.is_empty() || ends.contains(&end))
        };
        if self.rules.iter().any(concerns) {
            return Some("the rules of its switch chip are kept by the workers");
        }
        let port = self.port(chip, end)?;
        if !port.only_to.is_empty() {
            return Some("its forwarding-override is kept by the workers");
        }
        let of_mirrors = |copied: &Copied| copied.of == *name || copied.to == *name;
        let mut copied = self.copied().into_iter();
        copied
            .any(|copied| of_mirrors(&copied))
            .then_some("its frames are mirrored by the workers")
    }
}
