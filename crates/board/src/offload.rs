//! Plans which ports of bridges are switched, and gives the reason for all other ports: a pure function of the requests
//! and the abilities of the board's chips (RouterOS, "Bridge Hardware Offloading").
//!
//! A port is switched if `hw` is set, it is on a switch chip, and the chip supports all features that the port and its
//! bridge need. A chip switches for a limited number of bridges: the first ones with such ports. Ports of one bridge on
//! one chip are a group; workers forward frames between groups, and to all other ports.

use core::fmt;
use std::collections::BTreeMap;

use frame::switch::{Group, SwitchPort};

use crate::chip::{Chip, Needs};
use crate::model::Board;
use crate::names::switch_name;

/// `protocol-mode`, as far as it matters to chips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpanningTree {
    /// None.
    None,
    /// A single tree: STP or RSTP.
    #[default]
    One,
    /// MSTP.
    Many,
}

/// EtherType of the tags that a VLAN-filtering bridge uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagType {
    /// 0x8100.
    #[default]
    Customer,
    /// Any other EtherType.
    Other,
}

/// Requests of a bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BridgeRequest<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its spanning tree protocol.
    pub tree: SpanningTree,
    /// EtherType of its VLAN filtering; `None` without filtering.
    pub vlans: Option<TagType>,
    /// Further features that it needs.
    pub wants: Needs,
}

impl BridgeRequest<'_> {
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

/// `mode` of a bond, as far as it matters to chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BondMode {
    /// `802.3ad`, `balance-xor` and `active-backup`.
    Plain,
    /// All others.
    Other,
}

/// Carrier of a port's frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier<'a> {
    /// A device of the router, by name.
    Port(&'a str),
    /// A bond of such devices.
    Bond(BondMode, Vec<&'a str>),
    /// A carrier that no chip switches, such as a tunnel or a radio.
    Software,
}

/// Requests of a bridge port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortRequest<'a> {
    /// Index of its bridge in the requests.
    pub bridge: usize,
    /// Carrier of its frames.
    pub carrier: Carrier<'a>,
    /// `hw`.
    pub hw: bool,
    /// `horizon`, `tag-stacking`.
    pub wants: Needs,
    /// Reason why the layer below cannot switch it, on any board; `None` if it can.
    pub lacks: Option<&'static str>,
}

/// Position of a switched port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchPosition {
    /// Number of the chip.
    pub chip: usize,
    /// Group of ports that switch among each other.
    pub group: Group,
}

/// Reason why a port is not switched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The item has `hw=no`.
    NotAsked,
    /// No chip switches its carrier.
    Software,
    /// The port is on no chip of the board.
    OffChip,
    /// The ports of a bond are spread over several chips, or a port is on no chip.
    BondAcross,
    /// The chip does not switch.
    NoSwitch(&'static str),
    /// The chip does not support this feature.
    Beyond(&'static str, Needs),
    /// The layer below cannot switch it.
    Lacks(&'static str),
    /// The chip with this number already switches for another bridge.
    Taken(usize, Box<str>),
    /// The maximum number of groups or ports is reached.
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
            Self::Full => f.write_str("the maximum number of switched ports or groups is reached"),
        }
    }
}

/// Result for each requested port, in order: its position, or the reason why it is not switched.
pub type Plan = Vec<Result<SwitchPosition, Reason>>;

/// Computes the switched ports. `bridges` and `ports` are in the order of the configuration.
pub fn plan(board: &Board, bridges: &[BridgeRequest<'_>], ports: &[PortRequest<'_>]) -> Plan {
    let mut groups = Groups::default();
    let mut plan = Vec::with_capacity(ports.len());
    // The chip belongs to the first bridge with a suitable port, in the order of bridges, not of ports.
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

/// Returns the chip that can switch a port.
fn suits(
    board: &Board,
    bridge: &BridgeRequest<'_>,
    port: &PortRequest<'_>,
) -> Result<usize, Reason> {
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

/// Assignment of groups.
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
        bridges: &[BridgeRequest<'_>],
    ) -> Result<SwitchPosition, Reason> {
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
        Ok(SwitchPosition { chip, group })
    }
}

#[cfg(test)]
mod tests;
