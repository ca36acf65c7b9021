//! Offload requests of a configuration to switch chips: bridges and their ports, with lists expanded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use board::{
    Board, BondMode, BridgeRequest, Carrier, Needs, Plan, PortRequest, Reason, SpanningTree,
    TagType, plan,
};
use menu::{Change, Changes, Id, Item, Store, Value};

use crate::feature::concerns;
use crate::firewall::is_in;
use crate::intent::{InterfaceList, Name};
use crate::lists::MENUS as LISTS;
use crate::read;

/// Menus with offload requests, besides interface lists.
const MENUS: &[&str] = &[
    "/interface/bridge",
    PORTS,
    "/interface/bonding",
    "/interface/ethernet",
    "/interface/port",
];

const PORTS: &str = "/interface/bridge/port";

/// Returns why the kernel cannot switch a port, given by its device name.
pub type Lacks<'a> = dyn Fn(&str) -> Option<&'static str> + 'a;

/// All offload requests, by interface name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    /// Enabled bridges.
    bridges: Vec<Bridge>,
    /// Enabled ports that a chip may switch.
    ports: Vec<Port>,
    /// All other ports, by interface, with the items that name them, in order. The first item counts.
    software: BTreeMap<Name, BTreeMap<(u64, Id), SoftwarePort>>,
    /// True if an item names an interface list, so that its ports are the members of the list.
    has_lists: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Bridge {
    name: Name,
    tree: SpanningTree,
    vlans: Option<TagType>,
    wants: Needs,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Port {
    bridge: usize,
    interface: Name,
    carrier: Carries,
    hw: bool,
    wants: Needs,
}

/// A port that no chip can switch, independently of other ports.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SoftwarePort {
    bridge: Name,
    hw: bool,
}

impl SoftwarePort {
    /// Returns why it is not switched.
    const fn reason(&self) -> Reason {
        match self.hw {
            true => Reason::Software,
            false => Reason::NotAsked,
        }
    }
}

/// [`Carrier`] with owned names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Carries {
    Port(Name),
    Bond(BondMode, Vec<Name>),
    Software,
}

impl Asks {
    /// Reads a configuration.
    pub fn of(store: &Store) -> Self {
        let bridges: Vec<_> = { store.items("/interface/bridge") }
            .filter(|item| !item.is("disabled"))
            .filter_map(|item| bridge(item))
            .collect();
        let places: BTreeMap<_, _> = bridges.iter().map(|is| is.name.clone()).zip(0..).collect();
        let (mut ports, mut software) = (Vec::new(), BTreeMap::<_, BTreeMap<_, _>>::new());
        let mut taken = BTreeSet::new();
        let is_list = |item: &Item| {
            let name = item.text("interface");
            store.named("interface", name).is_none()
        };
        let mut lists = None;
        let items = { store.items("/interface/bridge/port") }.filter(|item| !item.is("disabled"));
        for item in items {
            let Some(bridge) = places.get(item.text("bridge")) else {
                continue;
            };
            // RouterOS: an interface is a port once; the first item with the interface counts.
            let new = match is_list(item) {
                true => lists
                    .get_or_insert_with(|| Lists::of(store))
                    .interfaces(item.text("interface")),
                false => vec![item.text("interface").into()],
            };
            for interface in new {
                let port = port(store, item, *bridge, interface.clone());
                if port.carrier == Carries::Software {
                    let of_interface = software.entry(interface).or_default();
                    of_interface.insert((item.position(), item.id), port.in_software(&bridges));
                } else if taken.insert(interface) {
                    ports.push(port);
                }
            }
        }
        Self {
            bridges,
            ports,
            software,
            has_lists: lists.is_some(),
        }
    }

    /// Whether a transaction changed offload requests; true without `changes`. Lists count while ports are named by
    /// lists.
    pub fn are_concerned(&self, changes: Option<&Changes>) -> bool {
        match self.has_lists {
            true => concerns(MENUS, changes) || concerns(&LISTS, changes),
            false => concerns(MENUS, changes),
        }
    }

    /// Applies a transaction that only changed ports that no chip can switch. Returns the changed interfaces, each with
    /// the reason why it is not switched, or `None` if it is no longer a port. Returns `None` for any other
    /// transaction.
    pub fn change_software(
        &mut self,
        store: &Store,
        changes: &Changes,
    ) -> Option<Vec<(Name, Option<Reason>)>> {
        let is_port = |change: &Change| change.menu.path == PORTS;
        let others = |change: &Change| !is_port(change) && MENUS.contains(&change.menu.path);
        let both = |change: &Change| [change.before.clone(), change.after.clone()];
        let mut items = changes.of(PORTS).flat_map(both).flatten();
        let in_software = |item: Arc<Item>| {
            let name = item.text("interface");
            let of_itself = store.named("interface", name);
            of_itself.is_some() && carrier(store, name) == Carries::Software
        };
        if self.has_lists || changes.list.iter().any(others) || !items.all(in_software) {
            return None;
        }
        let names: BTreeSet<_> = changes
            .of(PORTS)
            .flat_map(|change| self.change_port(change))
            .collect();
        let reason = |name: &Name| Some(self.software.get(name)?.values().next()?.reason());
        Some(
            names
                .into_iter()
                .map(|name| (name.clone(), reason(&name)))
                .collect(),
        )
    }

    /// Applies the change of a port that no chip can switch. Returns its interfaces.
    fn change_port(&mut self, change: &Change) -> Vec<Name> {
        let mut names = Vec::new();
        if let Some(before) = &change.before {
            let name = Name::from(before.text("interface"));
            if let Some(of_interface) = self.software.get_mut(&name) {
                of_interface.remove(&(before.position(), before.id));
                if of_interface.is_empty() {
                    self.software.remove(&name);
                }
            }
            names.push(name);
        }
        let after = change.after.as_ref().filter(|item| !item.is("disabled"));
        let is_there = |item: &&Arc<Item>| {
            self.bridges
                .iter()
                .any(|of| *of.name == *item.text("bridge"))
        };
        if let Some(after) = after.filter(is_there) {
            let name = Name::from(after.text("interface"));
            let port = SoftwarePort {
                bridge: after.text("bridge").into(),
                hw: after.is("hw"),
            };
            let of_interface = self.software.entry(name.clone()).or_default();
            of_interface.insert((after.position(), after.id), port);
            names.push(name);
        }
        names
    }

    /// Returns the ports: name of the port, and of its bridge.
    pub fn ports(&self) -> impl Iterator<Item = (&Name, &Name)> {
        let bridge = |port: &Port| &self.bridges[port.bridge].name;
        let known = { self.ports.iter() }.map(move |port| (&port.interface, bridge(port)));
        let software = self
            .software_ports()
            .map(|(name, port)| (name, &port.bridge));
        known.chain(software)
    }

    fn software_ports(&self) -> impl Iterator<Item = (&Name, &SoftwarePort)> {
        let all = self.software.iter();
        all.filter_map(|(name, ports)| Some((name, ports.values().next()?)))
    }

    /// Plans the offload on a board, for each of [`Self::ports`]. `lacks` returns why the kernel cannot switch a
    /// device; without `lacks`, only the chips decide.
    pub fn plan(&self, board: &Board, lacks: Option<&Lacks<'_>>) -> Plan {
        let bridges: Vec<_> = { self.bridges.iter() }
            .map(|bridge| BridgeRequest {
                name: &bridge.name,
                tree: bridge.tree,
                vlans: bridge.vlans,
                wants: bridge.wants,
            })
            .collect();
        let ports: Vec<_> = { self.ports.iter() }
            .map(|port| PortRequest {
                bridge: port.bridge,
                hw: port.hw,
                wants: port.wants,
                lacks: lacks.and_then(|lacks| port.carrier.lacks(lacks)),
                carrier: port.carrier.as_asked(),
            })
            .collect();
        let mut plan = plan(board, &bridges, &ports);
        plan.extend(self.software_ports().map(|(_, port)| Err(port.reason())));
        plan
    }

    /// Returns the devices that are switched in a plan.
    pub fn switched<'a>(&'a self, plan: &Plan) -> BTreeSet<&'a str> {
        let planned = self.ports.iter().zip(plan);
        let switched = planned.filter(|(_, planned)| planned.is_ok());
        switched
            .flat_map(|(port, _)| port.carrier.ports())
            .collect()
    }
}

impl Port {
    fn in_software(&self, bridges: &[Bridge]) -> SoftwarePort {
        SoftwarePort {
            bridge: bridges[self.bridge].name.clone(),
            hw: self.hw,
        }
    }
}

impl Carries {
    fn ports(&self) -> impl Iterator<Item = &str> {
        let names: &[Name] = match self {
            Self::Port(name) => std::slice::from_ref(name),
            Self::Bond(_, names) => names,
            Self::Software => &[],
        };
        names.iter().map(|name| &**name)
    }

    /// Returns why the kernel cannot switch it.
    fn lacks(&self, lacks: &Lacks<'_>) -> Option<&'static str> {
        match self {
            Self::Port(name) => lacks(name),
            Self::Bond(..) => Some("the kernel switches no bonds here"),
            Self::Software => None,
        }
    }

    fn as_asked(&self) -> Carrier<'_> {
        match self {
            Self::Port(name) => Carrier::Port(name),
            Self::Bond(mode, names) => {
                Carrier::Bond(*mode, names.iter().map(|name| &**name).collect())
            }
            Self::Software => Carrier::Software,
        }
    }
}

fn bridge(item: &Item) -> Option<Bridge> {
    let wants = [
        ("igmp-snooping", Needs::IGMP_SNOOPING),
        ("dhcp-snooping", Needs::DHCP_SNOOPING),
        ("dhcpv6-snooping", Needs::DHCPV6_SNOOPING),
        ("arp-inspection", Needs::ARP_INSPECTION),
        ("ip-source-guard", Needs::IP_SOURCE_GUARD),
        ("ra-guard", Needs::RA_GUARD),
    ];
    let wants = { wants.into_iter() }.filter(|(property, _)| item.is(property));
    let mlag = match item.text("mlag-peer-port") {
        "" | "none" => Needs::default(),
        _ => Needs::MLAG,
    };
    let vlans = item
        .is("vlan-filtering")
        .then(|| match item.text("ether-type") {
            "0x8100" => TagType::Customer,
            _ => TagType::Other,
        });
    Some(Bridge {
        name: Arc::from(item.name()?),
        tree: match item.text("protocol-mode") {
            "none" => SpanningTree::None,
            "mstp" => SpanningTree::Many,
            _ => SpanningTree::One,
        },
        vlans,
        wants: wants.fold(mlag, |all, (_, wants)| all.and(wants)),
    })
}

fn port(store: &Store, item: &Item, bridge: usize, interface: Name) -> Port {
    let horizon = match item.get("horizon") {
        Some(Value::Number(_)) => Needs::HORIZON,
        _ => Needs::default(),
    };
    let stacking = match item.is("tag-stacking") {
        true => Needs::TAG_STACKING,
        false => Needs::default(),
    };
    Port {
        bridge,
        carrier: carrier(store, &interface),
        interface,
        hw: item.is("hw"),
        wants: horizon.and(stacking),
    }
}

fn carrier(store: &Store, interface: &str) -> Carries {
    let Some(item) = store.named("interface", interface) else {
        return Carries::Software;
    };
    let of_itself = |item: &Item| match item.menu.path {
        "/interface/ethernet" | "/interface/port" => read::name(item, "default-name"),
        _ => None,
    };
    if item.menu.path != "/interface/bonding" {
        return of_itself(item).map_or(Carries::Software, Carries::Port);
    }
    let mode = match item.text("mode") {
        "802.3ad" | "balance-xor" | "active-backup" => BondMode::Plain,
        _ => BondMode::Other,
    };
    let slaves = item.get("slaves").map(Value::as_list).unwrap_or_default();
    let slaves = slaves.iter().filter_map(Value::as_str);
    let slaves = slaves.map(|slave| {
        let item = store.named("interface", slave);
        // An interface without a device is on no chip.
        item.and_then(|item| of_itself(item))
            .unwrap_or_else(|| Arc::from(""))
    });
    Carries::Bond(mode, slaves.collect())
}

/// Lists of interfaces, for lookups.
#[derive(Debug)]
struct Lists<'a> {
    store: &'a Store,
    lists: BTreeMap<Name, InterfaceList>,
    /// By interface: the lists with the interface as a direct member.
    of: BTreeMap<Name, BTreeSet<Name>>,
}

impl<'a> Lists<'a> {
    fn of(store: &'a Store) -> Self {
        let lists = store.items("/interface/list");
        let lists = lists.filter_map(|item| Some((Arc::from(item.name()?), read::list(item))));
        let mut of = BTreeMap::<_, BTreeSet<_>>::new();
        let members = { store.items("/interface/list/member") }
            .filter_map(|item| read::member(item))
            .filter(|member| !member.disabled);
        for member in members {
            of.entry(member.interface).or_default().insert(member.list);
        }
        Self {
            store,
            lists: lists.collect(),
            of,
        }
    }

    /// Returns the interfaces of a list.
    fn interfaces(&self, name: &str) -> Vec<Name> {
        let members = self.store.members("interface");
        let names = members.filter_map(|item| Some(Name::from(item.name()?)));
        names
            .filter(|interface| self.has(name, interface))
            .collect()
    }

    fn has(&self, list: &str, interface: &str) -> bool {
        let of = self.of.get(interface);
        let own = |list: &str| of.is_some_and(|of| of.contains(list));
        is_in(&self.lists, list, &own, false, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(config: &str, board: &str) -> Vec<String> {
        let mut store = schema::store();
        let report = script::check(&mut store, config);
        assert!(report.refused.is_empty(), "{:?}", report.refused);
        let asks = Asks::of(&store);
        let board = Board::named(board).expect("it is there");
        let plan = asks.plan(board, None);
        let ports = asks.ports().zip(plan);
        let told = ports.map(|((port, bridge), planned)| match planned {
            Ok(place) => format!("{port} of {bridge}: {}", place.group.number()),
            Err(reason) => format!("{port} of {bridge}: {reason}"),
        });
        told.collect()
    }

    #[test]
    fn a_configuration_is_judged_for_a_board() {
        let config = "/interface/bridge add name=lan
/interface/bridge add name=guests dhcp-snooping=yes
/interface/ethernet set [find default-name=ether2] name=office
/interface/list add name=rest
/interface/list/member add list=rest interface=ether3
/interface/list/member add list=rest interface=ether4
/interface/bonding add name=bond1 slaves=ether9,ether10 mode=802.3ad
/interface/bridge/port add bridge=lan interface=office
/interface/bridge/port add bridge=lan interface=ether4 hw=no
/interface/bridge/port add bridge=lan interface=rest
/interface/bridge/port add bridge=lan interface=bond1
/interface/bridge/port add bridge=guests interface=ether6 horizon=1
/interface/bridge/port add bridge=guests interface=ether7 disabled=yes
";
        assert_eq!(
            told(config, "RB3011"),
            [
                "office of lan: 1",
                "ether4 of lan: hw=no",
                "ether3 of lan: 1",
                "bond1 of lan: QCA-8337 cannot do bonding",
                "ether6 of guests: QCA-8337 cannot do horizon",
            ]
        );
    }
}
