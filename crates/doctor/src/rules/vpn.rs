//! IPsec policies and peers, WireGuard peers, ends of tunnels.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use menu::{Item, Value};

use super::tunnels::{accept, is_dropped_by_input, report_blocked};
use crate::config::{Config, has, shown, title};
use crate::routes::{Lead, Routes, address, network, own_networks};
use crate::rule::{Rule, Severity};

const POLICY: &str = "/ip/ipsec/policy";
const PEER: &str = "/ip/ipsec/peer";
const IDENTITY: &str = "/ip/ipsec/identity";
const WIREGUARD: &str = "/interface/wireguard";
const WIREGUARD_PEER: &str = "/interface/wireguard/peers";
/// Tunnels between two addresses.
const TUNNELS: [&str; 4] = [
    "/interface/eoip",
    "/interface/gre",
    "/interface/ipip",
    "/interface/6to4",
];

/// Protocol, source port and destination port of a selector; empty for any.
type Services = [String; 3];

/// The selector of an IPsec policy.
struct Selector {
    source: IpNet,
    destination: IpNet,
    services: Services,
}

impl Selector {
    fn of(policy: &Item) -> Option<Self> {
        Some(Self {
            source: network(policy, "src-address")?,
            destination: network(policy, "dst-address")?,
            services: ["protocol", "src-port", "dst-port"].map(|property| {
                match shown(policy, property).as_str() {
                    "" | "all" | "any" | "255" => String::new(),
                    word => word.to_owned(),
                }
            }),
        })
    }

    /// Returns true if this selector matches all packets of another.
    fn covers(&self, other: &Self) -> bool {
        self.source.contains(&other.source)
            && self.destination.contains(&other.destination)
            && cover(&self.services, &other.services)
    }
}

/// Returns true if services match all packets of others.
fn cover(own: &Services, other: &Services) -> bool {
    let mut both = own.iter().zip(other);
    both.all(|(own, other)| own.is_empty() || own == other)
}

/// Returns the enabled policies that are no templates, with their selectors, in order.
fn policies<'a>(config: &Config<'a>) -> Vec<(&'a Item, Selector)> {
    let policies = config.enabled(POLICY).into_iter();
    let policies = policies.filter(|policy| !policy.is("template"));
    let policies = policies.filter_map(|policy| Some((policy, Selector::of(policy)?)));
    policies.collect()
}

pub(super) const IPSEC_POLICY_SHADOWED: Rule = Rule {
    name: "ipsec-policy-shadowed",
    severity: Severity::Error,
    cause: "the first policy that matches a packet decides: a policy before this one matches all its packets",
    mend: "move the narrower policy before the wider one, or remove one of them",
    find: |config, found| {
        let mut earlier = Earlier::default();
        for (policy, selector) in policies(config) {
            let wider = earlier.covering(&selector);
            earlier.add(policy, &selector);
            let Some(wider) = wider else {
                continue;
            };
            let (source, destination) = (selector.source, selector.destination);
            let said = format!(
                "the policy {source} to {destination} comes after {} to {}",
                shown(wider, "src-address"),
                shown(wider, "dst-address"),
            );
            let is_wider = Selector::of(wider).is_some_and(|wider| !selector.covers(&wider));
            let moves = format!("{POLICY}/move {} destination={}", policy.id, wider.id);
            let fix = is_wider.then_some(moves).into_iter().collect();
            found.fixed(&[policy, wider], said, fix);
        }
    },
};

/// A policy and what its selector matches beside the prefixes.
type EarlierPolicy<'a> = (&'a Item, Services);

/// Policies by the prefixes of their selectors: a search costs one look-up for each pair of prefix lengths in use.
#[derive(Default)]
struct Earlier<'a> {
    lengths: BTreeSet<(u8, u8)>,
    policies: BTreeMap<(IpNet, IpNet), Vec<EarlierPolicy<'a>>>,
}

impl<'a> Earlier<'a> {
    fn add(&mut self, policy: &'a Item, selector: &Selector) {
        let (source, destination) = (selector.source, selector.destination);
        self.lengths
            .insert((source.prefix_len(), destination.prefix_len()));
        let alike = self.policies.entry((source, destination)).or_default();
        // A policy behind one with the same selector decides nothing.
        if !alike
            .iter()
            .any(|(_, services)| *services == selector.services)
        {
            alike.push((policy, selector.services.clone()));
        }
    }

    /// Returns a policy that matches all packets of a selector.
    fn covering(&self, selector: &Selector) -> Option<&'a Item> {
        let wider = |net: &IpNet, len: u8| {
            let net = (len <= net.prefix_len()).then(|| IpNet::new(net.addr(), len).ok())??;
            Some(net.trunc())
        };
        let candidates = self.lengths.iter().filter_map(|(source, destination)| {
            let source = wider(&selector.source, *source)?;
            let destination = wider(&selector.destination, *destination)?;
            self.policies.get(&(source, destination))
        });
        let mut all = candidates.flatten();
        let found = all.find(|(_, services)| cover(services, &selector.services));
        found.map(|(policy, _)| *policy)
    }
}

pub(super) const IPSEC_POLICY_COVERS_LAN: Rule = Rule {
    name: "ipsec-policy-covers-lan",
    severity: Severity::Error,
    cause: "the policy also matches packets between the router and its own network: they go into the tunnel, and the \
            network cannot reach the router any more",
    mend: "add a policy with action=none from the own network to itself before it, or narrow dst-address",
    find: |config, found| {
        let policies = policies(config);
        let networks = own_networks(config);
        for (at, (policy, selector)) in policies.iter().enumerate() {
            let action = policy.text("action");
            let (source, destination) = (&selector.source, &selector.destination);
            let overlaps = source.contains(destination) || destination.contains(source);
            if matches!(action, "none" | "discard") || !policy.is("tunnel") || !overlaps {
                continue;
            }
            for (item, network) in &networks {
                let inside = Selector {
                    source: *network,
                    destination: *network,
                    services: Services::default(),
                };
                let is_host = network.prefix_len() == network.max_prefix_len();
                let mut earlier = policies.iter().take(at);
                let mut is_excepted = || {
                    earlier.any(|(earlier, has)| {
                        earlier.text("action") == "none" && has.covers(&inside)
                    })
                };
                if !is_host && selector.covers(&inside) && !is_excepted() {
                    let said = format!("the policy to {} has {network} too", selector.destination);
                    let fix = format!(
                        "{POLICY}/add action=none src-address={network} dst-address={network} place-before={}",
                        policy.id
                    );
                    found.fixed(&[policy, item], said, vec![fix]);
                }
            }
        }
    },
};

pub(super) const IPSEC_TRANSPORT_NETWORKS: Rule = Rule {
    name: "ipsec-transport-networks",
    severity: Severity::Error,
    cause: "without tunnel=yes IPsec protects packets between the two routers only: packets of the networks behind \
            them are not encapsulated",
    mend: "set tunnel=yes for networks; tunnel=no fits a policy between two addresses, such as one below GRE or EoIP",
    find: |config, found| {
        for (policy, selector) in policies(config) {
            let ends = [selector.source, selector.destination];
            // A prefix of all addresses stands for the router's own address.
            let is_net = |net: &IpNet| (1..net.max_prefix_len()).contains(&net.prefix_len());
            let protects = !matches!(policy.text("action"), "none" | "discard");
            if protects && !policy.is("tunnel") && has(policy, "peer") && ends.iter().all(is_net) {
                let said = format!(
                    "the policy {} to {} has tunnel=no",
                    selector.source, selector.destination
                );
                let fix = format!("{POLICY}/set {} tunnel=yes", policy.id);
                found.fixed(&[policy], said, vec![fix]);
            }
        }
    },
};

pub(super) const IPSEC_PEER_WITHOUT_IDENTITY: Rule = Rule {
    name: "ipsec-peer-without-identity",
    severity: Severity::Error,
    cause: "an identity has the secret or certificate of a peer: without one the router refuses every negotiation",
    mend: "add an identity with peer=, auth-method= and secret= or certificate=",
    find: |config, found| {
        let known = config.values(IDENTITY, "peer");
        for peer in config.enabled(PEER) {
            if !known.contains(peer.text("name")) {
                found.add(&[peer], format!("peer {} has no identity", title(peer)));
            }
        }
    },
};

pub(super) const IPSEC_PEERS_ALIKE: Rule = Rule {
    name: "ipsec-peers-alike",
    severity: Severity::Error,
    cause: "a negotiation begins with addresses alone, so of two peers with the same addresses, port and exchange-mode \
            the second is never found",
    mend: "give them different local-address= or exchange-mode=, or join them: one peer may have several identities",
    find: |config, found| {
        let properties = ["address", "local-address", "port", "exchange-mode"];
        let mut known = BTreeMap::new();
        for peer in config.enabled(PEER) {
            let key = properties.map(|property| shown(peer, property));
            let first = *known.entry(key).or_insert(peer);
            if first.id != peer.id {
                let said = format!("{} and {} wait for the same", title(first), title(peer));
                found.add(&[peer, first], said);
            }
        }
    },
};

pub(super) const EOIP_ID_TWICE: Rule = Rule {
    name: "eoip-id-twice",
    severity: Severity::Error,
    cause: "a packet names its EoIP tunnel by the far address and the tunnel-id: the second tunnel receives nothing",
    mend: "give each tunnel to the same address its own tunnel-id, the same at both ends",
    find: |config, found| {
        let mut known = BTreeMap::new();
        for tunnel in config.enabled("/interface/eoip") {
            let key = (shown(tunnel, "remote-address"), tunnel.number("tunnel-id"));
            let first = *known.entry(key).or_insert(tunnel);
            if first.id != tunnel.id {
                let (to, id) = (shown(tunnel, "remote-address"), tunnel.number("tunnel-id"));
                let id = id.unwrap_or_default();
                let said = format!(
                    "{} and {} both have tunnel-id={id} to {to}",
                    title(first),
                    title(tunnel)
                );
                found.add(&[tunnel, first], said);
            }
        }
    },
};

/// Returns the networks of `allowed-address`.
fn allowed(peer: &Item) -> Vec<IpNet> {
    let nets = match peer.get("allowed-address") {
        Some(Value::List(list)) => list.iter().filter_map(Value::as_prefix).collect(),
        Some(one) => one.as_prefix().into_iter().collect::<Vec<_>>(),
        None => Vec::new(),
    };
    nets.into_iter().map(|net| net.trunc()).collect()
}

pub(super) const WIREGUARD_ALLOWED_TWICE: Rule = Rule {
    name: "wireguard-allowed-twice",
    severity: Severity::Error,
    cause: "WireGuard sends packets to the one peer that has the longest allowed-address for them: of two peers with \
            the same prefix one gets nothing",
    mend: "give each peer its own prefix, usually the /32 of its address and the networks behind it",
    find: |config, found| {
        let mut known = BTreeMap::new();
        for peer in config.enabled(WIREGUARD_PEER) {
            let interface = peer.text("interface");
            let mut rivals = allowed(peer).into_iter().filter_map(|net| {
                let first: &Item = known.entry((interface, net)).or_insert(peer);
                (first.id != peer.id).then_some((net, first))
            });
            let rival = rivals.next();
            rivals.for_each(drop);
            if let Some((net, first)) = rival {
                let said = format!("two peers of {interface} have allowed-address={net}");
                found.add(&[peer, first], said);
            }
        }
    },
};

pub(super) const TUNNEL_INTO_ITSELF: Rule = Rule {
    name: "tunnel-into-itself",
    severity: Severity::Error,
    cause: "the route to the far end of the tunnel leads into the tunnel: its packets never leave the router",
    mend: "add a route for the far end's address by the uplink",
    find: |config, found| {
        let ends = { TUNNELS.iter() }
            .flat_map(|menu| config.enabled(menu))
            .filter_map(|item| Some((item, item.text("name"), address(item, "remote-address")?)));
        let peers = config.enabled(WIREGUARD_PEER).into_iter();
        let peers = peers.filter_map(|item| {
            Some((
                item,
                item.text("interface"),
                address(item, "endpoint-address")?,
            ))
        });
        let routes = Routes::of(config);
        for (item, interface, end) in ends.chain(peers) {
            let Some((_, Lead::Route(route))) = routes.towards(end) else {
                continue;
            };
            if shown(route, "gateway") == interface {
                let said = format!(
                    "{interface} runs to {end}, and the route {} leads there by {interface}",
                    shown(route, "dst-address")
                );
                found.add(&[item, route], said);
            }
        }
    },
};

pub(super) const TUNNEL_LOCAL_ADDRESS: Rule = Rule {
    name: "tunnel-local-address",
    severity: Severity::Error,
    cause: "local-address= is no address of this router: answers to the tunnel's packets go elsewhere",
    mend: "remove local-address=, or set an address that the router has",
    find: |config, found| {
        // Other addresses come at run time.
        let told = [
            "/ip/dhcp-client",
            "/interface/pppoe-client",
            "/interface/lte",
            "/interface/ppp-client",
            "/interface/l2tp-client",
            "/interface/pptp-client",
            "/interface/sstp-client",
            "/interface/ovpn-client",
            "/interface/vrrp",
        ];
        let own: BTreeSet<IpAddr> = { config.all("/ip/address").into_iter() }
            .chain(config.all("/ipv6/address"))
            .filter_map(|item| item.get("address")?.as_prefix())
            .map(|net| net.addr())
            .collect();
        let is_told = told.iter().any(|menu| !config.enabled(menu).is_empty());
        if is_told || own.is_empty() {
            return;
        }
        for item in TUNNELS.iter().flat_map(|menu| config.enabled(menu)) {
            if let Some(local) = address(item, "local-address")
                && !own.contains(&local)
            {
                let said = format!("{} has local-address={local}", title(item));
                found.add(&[item], said);
            }
        }
    },
};

pub(super) const WIREGUARD_BLOCKED: Rule = Rule {
    name: "wireguard-blocked",
    severity: Severity::Error,
    cause: "input drops the packets with which a WireGuard peer begins: a peer without endpoint-address never connects",
    mend: "accept UDP to the interface's listen-port in input",
    find: |config, found| {
        let mut waiting = config.enabled(WIREGUARD_PEER);
        waiting.retain(|peer| shown(peer, "endpoint-address").is_empty());
        let waiting: BTreeSet<_> = waiting.iter().map(|peer| peer.text("interface")).collect();
        for interface in config.enabled(WIREGUARD) {
            let waits = waiting.contains(interface.text("name"));
            let port =
                { interface.number("listen-port") }.and_then(|port| u16::try_from(port).ok());
            let Some(port) = port.filter(|port| *port > 0 && waits) else {
                continue;
            };
            if is_dropped_by_input(config, "udp", port) {
                let accepts = [accept("udp", port, "")];
                report_blocked(config, found, interface, "WireGuard", &accepts);
            }
        }
    },
};

pub(super) const IPSEC_BLOCKED: Rule = Rule {
    name: "ipsec-blocked",
    severity: Severity::Error,
    cause: "input drops IKE: a peer that begins by itself never connects to this one, which waits (passive=yes, or an \
            address of many)",
    mend: "accept UDP 500 and 4500 in input, and ESP",
    find: |config, found| {
        let accepts: Vec<_> = [500, 4500]
            .into_iter()
            .filter(|port| is_dropped_by_input(config, "udp", *port))
            .map(|port| accept("udp", port, ""))
            .collect();
        for peer in config.enabled(PEER) {
            let is_wide = network(peer, "address").is_some_and(|net| net.prefix_len() == 0);
            if !peer.is("passive") && !is_wide {
                continue;
            }
            report_blocked(config, found, peer, "IPsec", &accepts);
        }
    },
};
