//! Which ports of bridges are switched, and why another is not: a pure function of what bridges and ports ask and
//! what the board's chips do (RouterOS, "Bridge Hardware Offloading").
//!
//! A port is switched if it asks for it, is on a chip that switches, and nothing that its bridge or itself wants is
//! beyond that chip. A chip switches for so many bridges, the first ones that have such ports. Ports of one bridge on
//! one chip are a group; between groups, and to all other ports, frames go by the workers.

use core::fmt;
use std::collections::BTreeMap;

use frame::switch::{Group, SwitchPort};

use super::chip::{Chip, Needs};
use super::{Board, switch_name};

/// `protocol-mode`, as far as chips tell the difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpanningTree {
    /// None.
    None,
    /// One tree: STP or RSTP.
    #[default]
    One,
    /// MSTP.
    Many,
}

/// The EtherType of the tags that a bridge filters by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagType {
    /// 0x8100.
    #[default]
    Customer,
    /// Another one.
    Other,
}

/// What a bridge asks of a chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BridgeAsks<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its spanning tree.
    pub tree: SpanningTree,
    /// Its VLANs, if it filters them.
    pub vlans: Option<TagType>,
    /// What else it wants.
    pub wants: Needs,
}

impl BridgeAsks<'_> {
    fn needs(&self) -> Needs {
        let tree = match self.tree {
            SpanningTree::None => Needs::default(),
            SpanningTree::One => Needs::STP,
            SpanningTree::Many => Needs::MSTP,
        };
        let vlans = match self.vlans {
            None => Needs::default(),
            Some(TagType::Customer) => Needs::VLAN_FILTERING,
            Some(TagType::Other) => Needs::VLAN_FILTERING.and(Needs::OTHER_TAGS),
        };
        tree.and(vlans).and(self.wants)
    }
}

/// `mode` of a bond, as far as chips tell the difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BondMode {
    /// `802.3ad`, `balance-xor` and `active-backup`.
    Plain,
    /// All others.
    Other,
}

/// What carries a port's frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier<'a> {
    /// A port of the router, by the name that it has by itself.
    Port(&'a str),
    /// A bond of such ports.
    Bond(BondMode, Vec<&'a str>),
    /// Nothing that a chip knows: a tunnel, a radio.
    Software,
}

/// What a port of a bridge asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortAsks<'a> {
    /// Its bridge, by its place among those that ask.
    pub bridge: usize,
    /// What carries its frames.
    pub carrier: Carrier<'a>,
    /// `hw`.
    pub hw: bool,
    /// `horizon`, `tag-stacking`.
    pub wants: Needs,
    /// Why what is below cannot switch it, whatever the board; none where it can.
    pub lacks: Option<&'static str>,
}

/// Where a port is switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The chip, by its number.
    pub chip: usize,
    /// With whom.
    pub group: Group,
}

/// Why a port is not switched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It says `hw=no`.
    NotAsked,
    /// No chip knows what carries its frames.
    Software,
    /// The board has no chip that it is on.
    OffChip,
    /// The ports of a bond are on several chips, or on none.
    BondAcross,
    /// The chip switches nothing.
    NoSwitch(&'static str),
    /// The chip does not do this.
    Beyond(&'static str, Needs),
    /// What is below cannot switch it.
    Lacks(&'static str),
    /// The chip with this number switches for another bridge.
    Taken(usize, Box<str>),
    /// There are as many groups or ports as there can be.
    Full,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => f.write_str("hw=no"),
            Self::Software => f.write_str("not a port of a switch chip"),
            Self::OffChip => f.write_str("not on a switch chip of this board"),
            Self::BondAcross => f.write_str("the ports of the bond are not on one switch chip"),
            Self::NoSwitch(chip) => write!(f, "{chip} does not switch"),
            Self::Beyond(chip, needs) => write!(f, "{chip} cannot do {}", needs.words()),
            Self::Lacks(what) => f.write_str(what),
            Self::Taken(chip, by) => write!(f, "{} switches for {by}", switch_name(*chip)),
            Self::Full => f.write_str("no place is left for it"),
        }
    }
}

/// For each port that asks, in order: where it is switched, or why not.
pub type Plan = Vec<Result<Place, Reason>>;

/// Works out who is switched. `bridges` and `ports` are in the order of the configuration.
pub fn plan(board: &Board, bridges: &[BridgeAsks<'_>], ports: &[PortAsks<'_>]) -> Plan {
    let mut groups = Groups::default();
    let mut plan = Vec::with_capacity(ports.len());
    // The first bridge with a port that can be switched has the chip, not the one with the first port.
    let mut order: Vec<_> = ports.iter().enumerate().collect();
    order.sort_by_key(|(_, port)| port.bridge);
    plan.resize(ports.len(), Err(Reason::Full));
    for (at, port) in order {
        plan[at] = bridges
            .get(port.bridge)
            .map_or(Err(Reason::Full), |bridge| {
                let chip = suits(board, bridge, port)?;
                groups.join(board, (chip, port.bridge), bridges)
            });
    }
    plan
}

/// The chip that a port can be switched by.
fn suits(board: &Board, bridge: &BridgeAsks<'_>, port: &PortAsks<'_>) -> Result<usize, Reason> {
    if !port.hw {
        return Err(Reason::NotAsked);
    }
    let number = chip_of(board, &port.carrier)?;
    let chip = board.chips[number].chip;
    if !chip.switches {
        return Err(Reason::NoSwitch(chip.name));
    }
    let bond = match &port.carrier {
        Carrier::Bond(BondMode::Plain, _) => Needs::BONDING,
        Carrier::Bond(BondMode::Other, _) => Needs::OTHER_BONDING,
        Carrier::Port(_) | Carrier::Software => Needs::default(),
    };
    let needs = bridge.needs().and(port.wants).and(bond);
    if let Some(beyond) = needs.beyond(chip.does) {
        return Err(Reason::Beyond(chip.name, beyond));
    }
    port.lacks
        .map_or(Ok(number), |what| Err(Reason::Lacks(what)))
}

fn chip_of(board: &Board, carrier: &Carrier<'_>) -> Result<usize, Reason> {
    match carrier {
        Carrier::Port(name) => board.chip_of(name).ok_or(Reason::OffChip),
        Carrier::Bond(_, names) => {
            let mut chips = names.iter().map(|name| board.chip_of(name));
            let first = chips.next().flatten().ok_or(Reason::BondAcross)?;
            match chips.all(|chip| chip == Some(first)) {
                true => Ok(first),
                false => Err(Reason::BondAcross),
            }
        }
        Carrier::Software => Err(Reason::Software),
    }
}

/// Who has which group.
#[derive(Debug, Default)]
struct Groups {
    /// By chip and bridge.
    groups: BTreeMap<(usize, usize), Group>,
    seats: usize,
}

impl Groups {
    fn join(
        &mut self,
        board: &Board,
        key @ (chip, _): (usize, usize),
        bridges: &[BridgeAsks<'_>],
    ) -> Result<Place, Reason> {
        if self.seats == SwitchPort::MOST {
            return Err(Reason::Full);
        }
        let group = match self.groups.get(&key) {
            Some(group) => *group,
            None => {
                let others = || self.groups.keys().filter(|(on, _)| *on == chip);
                let is: &Chip = board.chips[chip].chip;
                if others().count() >= is.bridges {
                    let by = others()
                        .next()
                        .map_or("", |(_, bridge)| bridges[*bridge].name);
                    return Err(Reason::Taken(chip, by.into()));
                }
                let group = Group::new(self.groups.len() + 1).ok_or(Reason::Full)?;
                self.groups.insert(key, group);
                group
            }
        };
        self.seats += 1;
        Ok(Place { chip, group })
    }
}

#[cfg(test)]
mod tests;
