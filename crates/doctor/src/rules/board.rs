//! Mistakes that depend on the board: lanes to the processor, switching, engines, management ports.

use std::collections::{BTreeMap, BTreeSet};

use board::{Board, Purpose};
use menu::Item;

use crate::config::{Config, shown};
use crate::rule::{Rule, Severity};

const ADDRESS: &str = "/ip/address";
const PORT: &str = "/interface/bridge/port";

/// Rules for a known board.
pub const BOARD_RULES: &[Rule] = &[
    SHARED_LANE,
    SWITCHED_LANE,
    IPSEC_WITHOUT_ENGINE,
    MANAGEMENT_PORT_TRAFFIC,
];

const SHARED_LANE: Rule = Rule {
    name: "shared-lane",
    severity: Severity::Advice,
    cause: "ports between which the router routes share a connection to the processor, which is slower than these \
            ports together: the processor is idle while packets are lost",
    mend: "use a port of another connection for one of them: `ferroute plan` computes the load",
    find: |config, found| {
        let Some(on) = config.board() else { return };
        let routed = routed(config);
        let mut lanes: BTreeMap<usize, Vec<(&str, &Item)>> = BTreeMap::new();
        for (device, item) in &routed {
            if let Some(lane) = on.board.lane_of(device, on.switched) {
                lanes.entry(lane).or_default().push((device, item));
            }
        }
        for (lane, ports) in &lanes {
            let Some(free) = free_port(config, *lane) else {
                continue;
            };
            let Some(rate) = on.board.lanes.get(*lane).and_then(|lane| lane.mbps) else {
                continue;
            };
            let sum: u32 = { ports.iter() }
                .filter_map(|(device, _)| speed(on.board, device))
                .sum();
            if ports.len() < 2 || sum <= rate {
                continue;
            }
            let names: Vec<_> = ports.iter().map(|(device, _)| *device).collect();
            let items: Vec<_> = ports.iter().rev().map(|(_, item)| *item).collect();
            let said = format!(
                "{} share {rate} Mbps to the processor of {}; {free} has another connection and is free",
                names.join(" and "),
                on.board.name
            );
            found.add(&items, said);
        }
    },
};

const SWITCHED_LANE: Rule = Rule {
    name: "switched-lane",
    severity: Severity::Warning,
    cause: "the switch chip moves all ports that it switches to one connection to the processor, and all other ports \
            to the second one: traffic between both groups is limited to the rate of one",
    mend: "set hw=no on the ports of the bridge: the processor forwards between them, and each keeps its connection",
    find: |config, found| {
        let Some(on) = config.board() else { return };
        if !on.board.moves_switched || on.switched.len() < 2 {
            return;
        }
        let others: BTreeSet<_> = { routed(config).into_keys() }
            .chain(config.wan())
            .map(|name| config.device(name))
            .filter(|device| !on.switched.contains(device) && is_port(on.board, device))
            .collect();
        if others.len() < 2 {
            return;
        }
        let items: Vec<_> = { config.ports() }
            .filter(|(name, ..)| on.switched.contains(config.device(name)))
            .map(|(.., item)| item)
            .collect();
        let ports: Vec<_> = on.switched.iter().copied().collect();
        let others: Vec<_> = others.into_iter().collect();
        let said = format!(
            "{} are switched and share one connection to the processor, {} the other one{}",
            ports.join(" and "),
            others.join(" and "),
            software_cost(on.board)
        );
        let fix = items
            .iter()
            .map(|item| format!("{PORT}/set {} hw=no", item.id));
        found.fixed(&items, said, fix.collect());
    },
};

const IPSEC_WITHOUT_ENGINE: Rule = Rule {
    name: "ipsec-without-engine",
    severity: Severity::Warning,
    cause: "the board has no engine for IPsec: its processor encrypts, and is busy at a fraction of the rate that a \
            board with an engine carries",
    mend: "use a board with an engine: `ferroute plan --flow …,ipsec` names those that carry the traffic",
    find: |config, found| {
        let Some(on) = config.board() else { return };
        let hardware = on.board.hardware();
        let encryption = hardware.map(|hardware| hardware.encryption);
        let Some(encryption) = encryption.filter(|encryption| encryption.engine == Some(false))
        else {
            return;
        };
        let mut items = config.policies();
        for menu in ["/interface/eoip", "/interface/gre", "/interface/ipip"] {
            let mut tunnels = config.enabled(menu);
            tunnels.retain(|tunnel| !tunnel.text("ipsec-secret").is_empty());
            items.extend(tunnels);
        }
        items.extend(
            config
                .enabled("/interface/l2tp-client")
                .into_iter()
                .filter(|item| item.is("use-ipsec")),
        );
        let servers = config.settings("/interface/l2tp-server/server");
        let server = servers.filter(|server| {
            server.is("enabled") && matches!(server.text("use-ipsec"), "yes" | "required")
        });
        items.extend(server);
        let Some(first) = items.first() else { return };
        let mut rates = encryption.software.iter();
        let measured = rates.find(|rate| rate.tunnel.starts_with("IPsec"));
        let rate = match measured {
            Some(rate) => format!(
                "{} carried {} Mbps there, with the processor at {} %",
                rate.tunnel, rate.mbps, rate.processor_percent
            ),
            None => String::from("the rate of its processor is not published"),
        };
        let said = format!("{} encrypts without an engine: {rate}", on.board.name);
        found.add(&[*first], said);
    },
};

const MANAGEMENT_PORT_TRAFFIC: Rule = Rule {
    name: "management-port-traffic",
    severity: Severity::Warning,
    cause: "the port is meant for management or emergency bypass: its controller is slow, and its packets never take \
            FastPath",
    mend: "move traffic of users to the other ports",
    find: |config, found| {
        let Some(on) = config.board() else { return };
        let is_management = |device: &str| {
            let group = on.board.hardware().and_then(|facts| facts.group_of(device));
            group.is_some_and(|group| group.purpose == Purpose::Management)
        };
        let routed = routed(config);
        let managed = routed.iter().filter(|(device, _)| is_management(device));
        let managed: Vec<(&str, &Item)> = managed.map(|(device, item)| (*device, *item)).collect();
        let wan = config.wan();
        let serves: BTreeSet<_> = config.values("/ip/dhcp-server", "interface");
        let mut carries: Vec<(&str, &Item)> = { managed.iter() }
            .filter(|(device, item)| {
                let name = item.text("interface");
                managed.len() > 1
                    || wan.contains(name)
                    || serves.contains(name)
                    || is_uplink(config, item, device)
            })
            .copied()
            .collect();
        for (name, _, item) in config.ports() {
            let device = config.device(name);
            if is_management(device) {
                carries.push((device, item));
            }
        }
        for client in config.enabled("/ip/dhcp-client") {
            let device = config.device(client.text("interface"));
            if is_management(device) && !client.text("add-default-route").eq("no") {
                carries.push((device, client));
            }
        }
        for (device, item) in carries {
            let said = format!("{device} of {} carries traffic of users", on.board.name);
            found.add(&[item], said);
        }
    },
};

/// Returns true if a default route leads through the network of an address.
fn is_uplink(config: &Config<'_>, address: &Item, device: &str) -> bool {
    let net = address.get("address").and_then(menu::Value::as_prefix);
    let mut routes = config.enabled("/ip/route").into_iter();
    routes.any(|route| {
        let gateway = shown(route, "gateway");
        gateway == device
            || gateway
                .parse::<std::net::IpAddr>()
                .is_ok_and(|gateway| net.as_ref().is_some_and(|net| net.contains(&gateway)))
    })
}

/// Returns the devices with IPv4 addresses, each with its first address.
fn routed<'a>(config: &Config<'a>) -> BTreeMap<&'a str, &'a Item> {
    let mut routed = BTreeMap::new();
    for address in config.enabled(ADDRESS) {
        let name = address.text("interface");
        if config.is_ethernet(name) && config.bridge_of(name).is_none() {
            routed.entry(config.device(name)).or_insert(address);
        }
    }
    routed
}

/// Returns a port on another lane that the configuration does not use.
fn free_port<'a>(config: &Config<'a>, lane: usize) -> Option<&'static str> {
    let on = config.board()?;
    let used: BTreeSet<&str> = { config.enabled(ADDRESS) }
        .into_iter()
        .map(|item| item.text("interface"))
        .chain(config.ports().map(|(name, ..)| name))
        .chain(config.wan())
        .map(|name| config.device(name))
        .collect();
    let hardware = on.board.hardware()?;
    let mut ports = hardware.port_names().filter(|port| {
        let group = hardware.group_of(port);
        group.is_some_and(|group| group.purpose == Purpose::Traffic) && !used.contains(port)
    });
    ports.find(|port| {
        let other = on.board.lane_of(port, on.switched);
        other.is_some_and(|other| other != lane)
    })
}

fn is_port(board: &Board, device: &str) -> bool {
    let facts = board.hardware();
    facts.is_some_and(|facts| facts.group_of(device).is_some())
}

fn speed(board: &Board, device: &str) -> Option<u32> {
    board.hardware()?.group_of(device)?.mbps
}

/// Returns what software forwarding of 1 Gbps costs, as a clause; empty if it is unknown.
fn software_cost(board: &Board) -> String {
    let rates = board.hardware().and_then(|facts| facts.forwarding);
    rates.map_or_else(String::new, |rates| {
        let frames = 1e6 / (8.0 * f64::from(board::FRAME_LENGTHS[0]));
        let share = frames / rates.bridging[0] * 100.0;
        format!(
            "; with hw=no, 1 Gbps of long frames between bridge ports costs {share:.0} % of the processor"
        )
    })
}
