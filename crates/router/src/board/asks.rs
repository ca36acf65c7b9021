//! What a configuration asks of switch chips: the bridges, and their ports with those of lists one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use menu::{Changes, Item, Store, Value};

use super::{
    Board, BondMode, BridgeAsks, Carrier, Needs, Plan, PortAsks, SpanningTree, TagType, plan,
};
use crate::feature::concerns;
use crate::firewall::is_in;
use crate::intent::{InterfaceList, Name};
use crate::lists::MENUS as LISTS;
use crate::read;

/// The menus that say so, besides those of lists.
const MENUS: &[&str] = &[
    "/interface/bridge",
    "/interface/bridge/port",
    "/interface/bonding",
    "/interface/ethernet",
    "/interface/port",
];

/// Why the kernel cannot switch a port, by the name that it has by itself.
pub type Lacks<'a> = dyn Fn(&str) -> Option<&'static str> + 'a;

/// All that is asked, of interfaces by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    /// Bridges that are not disabled.
    bridges: Vec<Bridge>,
    /// Their ports that are not disabled.
    ports: Vec<Port>,
    /// Some item names no interface, and so its ports are the members of a list.
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

/// [`Carrier`] with names of its own.
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
        let mut ports = Vec::new();
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
            // RouterOS: an interface is a port once; the first item that has it counts.
            let new = match is_list(item) {
                true => lists
                    .get_or_insert_with(|| Lists::of(store))
                    .interfaces(item.text("interface")),
                false => vec![item.text("interface").into()],
            };
            for interface in new.into_iter().filter(|name| taken.insert(name.clone())) {
                ports.push(port(store, item, (*bridge, interface)));
            }
        }
        Self {
            bridges,
            ports,
            has_lists: lists.is_some(),
        }
    }

    /// Whether a transaction changed something of what is asked; without `changes` everything is new. Lists count as
    /// long as ports are named by them.
    pub fn are_concerned(&self, changes: Option<&Changes>) -> bool {
        match self.has_lists {
            true => concerns(MENUS, changes) || concerns(&LISTS, changes),
            false => concerns(MENUS, changes),
        }
    }

    /// The ports: the name of each, and of its bridge.
    pub fn ports(&self) -> impl Iterator<Item = (&Name, &Name)> {
        let bridge = |port: &Port| &self.bridges[port.bridge].name;
        self.ports
            .iter()
            .map(move |port| (&port.interface, bridge(port)))
    }

    /// What a board does of it, for each of [`Self::ports`]. `lacks` says of a port, by the name that it has by
    /// itself, why the kernel cannot switch it in the chip's place; without it only the chip counts.
    pub fn plan(&self, board: &Board, lacks: Option<&Lacks<'_>>) -> Plan {
        let bridges: Vec<_> = { self.bridges.iter() }
            .map(|bridge| BridgeAsks {
                name: &bridge.name,
                tree: bridge.tree,
                vlans: bridge.vlans,
                wants: bridge.wants,
            })
            .collect();
        let ports: Vec<_> = { self.ports.iter() }
            .map(|port| PortAsks {
                bridge: port.bridge,
                hw: port.hw,
                wants: port.wants,
                lacks: lacks.and_then(|lacks| port.carrier.lacks(lacks)),
                carrier: port.carrier.as_asked(),
            })
            .collect();
        plan(board, &bridges, &ports)
    }

    /// The ports by themselves that are switched in a plan.
    pub fn switched<'a>(&'a self, plan: &Plan) -> BTreeSet<&'a str> {
        let planned = self.ports.iter().zip(plan);
        let switched = planned.filter(|(_, planned)| planned.is_ok());
        switched
            .flat_map(|(port, _)| port.carrier.ports())
            .collect()
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

    /// Why the kernel cannot switch it.
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

fn port(store: &Store, item: &Item, (bridge, interface): (usize, Name)) -> Port {
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
        // What is no port of the machine is on no chip.
        item.and_then(|item| of_itself(item))
            .unwrap_or_else(|| Arc::from(""))
    });
    Carries::Bond(mode, slaves.collect())
}

/// The lists of interfaces, to be looked up.
#[derive(Debug)]
struct Lists<'a> {
    store: &'a Store,
    lists: BTreeMap<Name, InterfaceList>,
    /// The lists that an interface is a member of by itself.
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

    /// The interfaces of a list.
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
        is_in(&self.lists, list, (&own, false), 0)
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
