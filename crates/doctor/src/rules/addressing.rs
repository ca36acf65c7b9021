//! Addresses, gateways and pools that do not fit each other.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use menu::Item;

use crate::config::{Config, has, shown, title, words};
use crate::routes::{Lead, Routes, network, own_networks};
use crate::rule::{Rule, Severity};

/// Menus of interfaces and clients that bring networks at run time.
const DYNAMIC: [&str; 13] = [
    "/ip/dhcp-client",
    "/interface/pppoe-client",
    "/interface/lte",
    "/interface/ppp-client",
    "/interface/l2tp-client",
    "/interface/pptp-client",
    "/interface/sstp-client",
    "/interface/ovpn-client",
    "/interface/vrrp",
    "/ppp/secret",
    "/routing/ospf/instance",
    "/routing/bgp/connection",
    "/routing/rip/instance",
];

/// Returns true if the configuration has all networks of the router.
fn knows_networks(config: &Config<'_>) -> bool {
    !own_networks(config).is_empty() && DYNAMIC.iter().all(|menu| config.enabled(menu).is_empty())
}

pub(super) const GATEWAY_UNREACHABLE: Rule = Rule {
    name: "gateway-unreachable",
    severity: Severity::Error,
    cause: "a gateway has to be a neighbour: no network of this router has the address, so the route stays inactive",
    mend: "correct the gateway, or add an address of its network to the interface towards it",
    find: |config, found| {
        if !knows_networks(config) {
            return;
        }
        let routes = Routes::of(config);
        for route in config.enabled("/ip/route") {
            let gateway = shown(route, "gateway");
            let Ok(address) = gateway.parse::<IpAddr>() else {
                continue;
            };
            // A static route to a gateway makes the route recursive; a default route does not.
            let is_reached = match routes.towards(address) {
                Some((_, Lead::Own(_))) => true,
                Some((net, Lead::Route(_))) => net.prefix_len() > 0,
                None => false,
            };
            if !is_reached && address.is_ipv4() {
                let said = format!("gateway={gateway} is in no network of this router");
                found.add(&[route], said);
            }
        }
    },
};

pub(super) const NETWORK_TWICE: Rule = Rule {
    name: "network-twice",
    severity: Severity::Error,
    cause: "two interfaces have addresses of the same network: answers leave by one of them, and hosts behind the other \
            are reached only at times",
    mend: "give each interface its own network, or bridge the interfaces and put the address on the bridge",
    find: |config, found| {
        let virtuals = config.names("/interface/vrrp");
        let vrfs = config.values("/ip/vrf", "interfaces");
        let mut known: BTreeMap<IpNet, &Item> = BTreeMap::new();
        for (item, net) in own_networks(config) {
            let on = item.text("interface");
            let is_host = net.prefix_len() + 1 >= net.max_prefix_len();
            // Another rule reports addresses on ports of bridges.
            let is_port = config.bridge_of(on).is_some();
            let skips = is_port || !has_own_prefix(item, net) || is_disabled(config, on);
            if is_host || skips || virtuals.contains(on) || !vrfs.is_empty() {
                continue;
            }
            let first = *known.entry(net).or_insert(item);
            if first.text("interface") != on {
                let said = format!("{net} is on {} and on {on}", first.text("interface"));
                found.add(&[item, first], said);
            }
        }
    },
};

/// Returns true unless each interface gets another prefix (`from-pool`), or each link has the same (link-local).
fn has_own_prefix(address: &Item, net: IpNet) -> bool {
    let is_link_local = match net.addr() {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !has(address, "from-pool") && !is_link_local
}

/// Returns true if an interface is disabled.
fn is_disabled(config: &Config<'_>, interface: &str) -> bool {
    let item = config.store().named("interface", interface);
    item.is_some_and(|item| item.is("disabled"))
}

/// Returns first and last address of a pool's ranges.
fn ranges(pool: &Item) -> Vec<[Ipv4Addr; 2]> {
    let text = shown(pool, "ranges");
    let ranges = text.split(',').filter_map(|range| {
        if let Ok(net) = range.parse::<ipnet::Ipv4Net>() {
            return Some([net.network(), net.broadcast()]);
        }
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        Some([from.parse().ok()?, to.parse().ok()?])
    });
    ranges.collect()
}

/// Returns the enabled DHCP servers with the pool that they use.
fn servers<'a>(config: &Config<'a>) -> Vec<(&'a Item, &'a Item)> {
    let pools = config.enabled("/ip/pool").into_iter();
    let pools: BTreeMap<_, _> = pools.map(|pool| (pool.text("name"), pool)).collect();
    let servers = config.enabled("/ip/dhcp-server").into_iter();
    let servers =
        servers.filter(|server| matches!(shown(server, "relay").as_str(), "" | "0.0.0.0"));
    servers
        .filter_map(|server| Some((server, *pools.get(server.text("address-pool"))?)))
        .collect()
}

pub(super) const DHCP_POOL_OUTSIDE: Rule = Rule {
    name: "dhcp-pool-outside",
    severity: Severity::Error,
    cause: "clients get addresses that are not of the interface's network: they do not reach the router",
    mend: "correct the ranges of the pool, or add an address of their network to the interface of the DHCP server",
    find: |config, found| {
        let mut networks: BTreeMap<&str, Vec<IpNet>> = BTreeMap::new();
        for (item, net) in own_networks(config) {
            networks
                .entry(item.text("interface"))
                .or_default()
                .push(net);
        }
        let virtuals = config.names("/interface/vrrp");
        for (server, pool) in servers(config) {
            // A virtual router's address is one of the network of the interface below.
            if virtuals.contains(server.text("interface")) {
                continue;
            }
            let Some(own) = networks.get(server.text("interface")) else {
                continue;
            };
            let is_inside = |address: &Ipv4Addr| {
                let address = IpAddr::V4(*address);
                own.iter().any(|net| net.contains(&address))
            };
            let outside = ranges(pool)
                .into_iter()
                .flatten()
                .find(|address| !is_inside(address));
            if let Some(address) = outside {
                let on = server.text("interface");
                found.add(
                    &[pool, server],
                    format!("{address} is in no network of {on}"),
                );
            }
        }
    },
};

pub(super) const DHCP_NETWORK_MISSING: Rule = Rule {
    name: "dhcp-network-missing",
    severity: Severity::Warning,
    cause: "no item of /ip/dhcp-server/network has the addresses of the pool: clients get an address without gateway \
            and DNS server",
    mend: "add the network to /ip/dhcp-server/network, with gateway= and dns-server=",
    find: |config, found| {
        let networks = config.enabled("/ip/dhcp-server/network").into_iter();
        let networks: Vec<_> = networks
            .filter_map(|item| network(item, "address"))
            .collect();
        for (server, pool) in servers(config) {
            let Some([first, _]) = ranges(pool).into_iter().next() else {
                continue;
            };
            let first = IpAddr::V4(first);
            if !networks.iter().any(|net| net.contains(&first)) {
                let said = format!("{} leases {first} without a network", title(server));
                found.add(&[server, pool], said);
            }
        }
    },
};

pub(super) const QUEUE_TARGET_NOWHERE: Rule = Rule {
    name: "queue-target-nowhere",
    severity: Severity::Warning,
    cause: "no network behind this router has the target's addresses: the queue sees no packets",
    mend: "correct target=, or add the route to the network behind another router",
    find: |config, found| {
        if !knows_networks(config) {
            return;
        }
        let routes = Routes::of(config);
        for queue in config.enabled("/queue/simple") {
            let targets = shown(queue, "target");
            let nets = targets
                .split(',')
                .filter_map(|target| target.parse::<IpNet>().ok());
            let nets: Vec<_> = nets.collect();
            let is_known = |net: &IpNet| {
                let lead = routes.towards(net.addr());
                let is_towards = lead.is_some_and(|(net, _)| net.prefix_len() > 0);
                is_towards || routes.has_within(*net)
            };
            if !nets.is_empty()
                && nets.len() == words_in(&targets)
                && !nets.iter().any(is_known)
                && words(queue.get("dst")).is_empty()
            {
                let said = format!(
                    "{} is for {targets}, which is behind no interface",
                    title(queue)
                );
                found.add(&[queue], said);
            }
        }
    },
};

/// Counts the elements of a list.
fn words_in(list: &str) -> usize {
    list.split(',').count()
}
