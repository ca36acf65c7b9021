//! Rows of chips, and settings that the chips do not support.

use menu::{Row, Value};

use super::bridge::is_on;
use super::{End, Switches};
use crate::intent::ItemId;
use board::{Chip, switch_name};

impl Switches {
    pub(super) fn annotate_chip(&self, item: ItemId, row: &mut Row) {
        let number = self.chips.iter().find(|(_, chip)| chip.item == item);
        let chip = number.and_then(|(number, _)| self.chip(*number));
        let kind = chip.map_or("none", |chip| chip.name);
        row.set("type", Value::text(kind));
    }

    pub(super) fn annotate_port(&self, menu: &'static str, item: ItemId, row: &mut Row) {
        let Some((chip, end)) = self.items.get(&(menu, item)) else {
            return;
        };
        let Some(number) = chip else {
            row.set("switch", Value::text("none"));
            row.set("status", Value::text("not on a switch chip of this board"));
            return;
        };
        row.set("switch", Value::text(switch_name(*number)));
        if let Some(chip) = self.chip(*number)
            && let Some(lack) = self.lack_of_port(*number, chip, end)
        {
            row.set(
                "status",
                Value::text(format!("{} cannot do {lack}", chip.name)),
            );
        }
    }

    /// Returns the setting of a port that its chip does not support.
    fn lack_of_port(&self, number: usize, chip: &Chip, end: &End) -> Option<&'static str> {
        let port = self.port(number, end.clone())?;
        let mirrors = port.mirror_in || port.mirror_out || port.mirror_in_to.is_some();
        if is_on(port) && !chip.vlan_menu {
            return Some("vlan-mode");
        }
        if mirrors && !chip.mirrors {
            return Some("mirroring");
        }
        (!port.only_to.is_empty() && !chip.switches).then_some("port isolation")
    }

    pub(super) fn annotate_vlan(&self, item: ItemId, row: &mut Row) {
        let Some(config) = self.vlans.get(&item) else {
            return;
        };
        row.flag("invalid", !config.disabled && !self.holds(item));
    }

    /// Returns a sentence for each setting that no chip supports.
    pub(super) fn beyond(&self) -> Vec<String> {
        let mut said = Vec::new();
        for (number, end) in self.ports.keys() {
            let Some(chip) = self.chip(*number) else {
                continue;
            };
            if let Some(lack) = self.lack_of_port(*number, chip, end) {
                let port = match end {
                    End::Port(name) => name.to_string(),
                    End::Cpu => format!("{}-cpu", switch_name(*number)),
                };
                said.push(format!("{port}: {} cannot do {lack}", chip.name));
            }
        }
        for (number, config) in &self.chips {
            let switch = switch_name(*number);
            match self.chip(*number) {
                Some(chip) if config.source.is_some() && !chip.mirrors => {
                    said.push(format!("{switch}: {} cannot do mirroring", chip.name));
                }
                Some(_) if config.source == Some(End::Cpu) || config.target == Some(End::Cpu) => {
                    said.push(format!(
                        "{switch}: frames of the processor are not mirrored"
                    ));
                }
                _ => {}
            }
        }
        for number in 0..self.board.chips.len() {
            let count = self.rules.iter().filter(|(on, _)| *on == number).count();
            if let Some(chip) = self
                .chip(number)
                .filter(|chip| count > chip.tables.acl as usize)
            {
                said.push(format!(
                    "{}: {} has room for {} rules",
                    switch_name(number),
                    chip.name,
                    chip.tables.acl
                ));
            }
        }
        for (item, config) in &self.vlans {
            if !config.disabled && !self.holds(*item) {
                let chip = self.chip(config.chip).map_or("no chip", |chip| chip.name);
                let switch = switch_name(config.chip);
                said.push(format!(
                    "{switch}: {chip} has no room for VLAN {} in a table of its own",
                    config.vid
                ));
            }
        }
        said
    }
}
