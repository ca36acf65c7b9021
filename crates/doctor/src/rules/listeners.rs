//! Services of the router: VPN servers, tunnels, routing protocols, and services with a client list. Rules that
//! close chain `input` have to accept them.

use menu::Item;

use crate::config::{Config, FILTER, NAT, has, shown};
use crate::packet::{Packet, Verdict, chain_verdict};

/// TCP port of the bandwidth test server.
pub(super) const BANDWIDTH_TEST_PORT: u16 = 2_000;

/// Matchers of an accept rule in chain `input`.
struct Listener {
    /// Protocol name in firewall rules.
    protocol: &'static str,
    /// Destination port; `None` for protocols without ports.
    port: Option<u16>,
    /// Source prefix or address (IPv4); empty for any.
    source: String,
}

impl Listener {
    fn any(protocol: &'static str, port: impl Into<Option<u16>>) -> Self {
        Self::from(protocol, port, String::new())
    }

    fn from(protocol: &'static str, port: impl Into<Option<u16>>, source: String) -> Self {
        Self {
            protocol,
            port: port.into(),
            source,
        }
    }

    /// Returns the command that adds the accept rule.
    fn rule(&self) -> String {
        let mut rule = format!(
            "{FILTER}/add chain=input action=accept protocol={}",
            self.protocol
        );
        if let Some(port) = self.port {
            rule.push_str(&format!(" dst-port={port}"));
        }
        if !self.source.is_empty() {
            rule.push_str(&format!(" src-address={}", self.source));
        }
        rule
    }
}

/// Returns accept rules for the end of chain `input`: for configured services that no rule of the chain decides
/// about. `ingress` is the interface to close.
pub(super) fn accepting(config: &Config<'_>, ingress: &str) -> Vec<String> {
    let mut all = vec![Listener::any("icmp", None)];
    vpn(config, &mut all);
    tunnels(config, &mut all);
    routing(config, &mut all);
    services(config, &mut all);
    all.retain(|listener| {
        let packet = Packet {
            ingress,
            protocol: listener.protocol,
            port: listener.port.unwrap_or_default(),
            is_translated: false,
            destination: None,
        };
        let decided = chain_verdict(config, FILTER, "input", packet);
        !matches!(decided, Some(Verdict::Accepted | Verdict::Dropped))
    });
    let mut rules = Vec::new();
    for rule in all.iter().map(Listener::rule) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let mut dstnat = config.chain(NAT, "dstnat").iter();
    if dstnat.any(|rule| rule.text("action") == "redirect") {
        rules.push(format!(
            "{FILTER}/add chain=input action=accept connection-nat-state=dstnat"
        ));
    }
    rules
}

/// Returns true if IKE is in use.
pub(super) fn has_ipsec(config: &Config<'_>) -> bool {
    let l2tp = config.settings("/interface/l2tp-server/server");
    let by_server = l2tp.is_some_and(|server| {
        server.is("enabled") && matches!(shown(server, "use-ipsec").as_str(), "yes" | "required")
    });
    let by_tunnel = TUNNELS
        .iter()
        .flat_map(|(path, _)| config.enabled(path))
        .any(|tunnel| has(tunnel, "ipsec-secret"));
    by_server || by_tunnel || !config.enabled("/ip/ipsec/peer").is_empty()
}

fn port(item: &Item, property: &str) -> Option<u16> {
    let port = item.number(property)?;
    u16::try_from(port).ok().filter(|port| *port != 0)
}

fn vpn(config: &Config<'_>, all: &mut Vec<Listener>) {
    let wireguard = config.enabled("/interface/wireguard").into_iter();
    let wireguard = wireguard.filter_map(|item| port(item, "listen-port"));
    all.extend(wireguard.map(|port| Listener::any("udp", port)));
    let zerotier = config.enabled("/zerotier").into_iter();
    let zerotier = zerotier
        .filter(|item| !config.enabled("/zerotier/interface").is_empty() && has(item, "port"));
    all.extend(zerotier.filter_map(|item| Some(Listener::any("udp", port(item, "port")?))));
    if has_ipsec(config) {
        all.push(Listener::any("udp", 500));
        all.push(Listener::any("udp", 4_500));
        all.push(Listener::any("ipsec-esp", None));
    }
    let enabled = |path| config.settings(path).filter(|server| server.is("enabled"));
    if enabled("/interface/l2tp-server/server").is_some() {
        all.push(Listener::any("udp", 1_701));
    }
    if enabled("/interface/pptp-server/server").is_some() {
        all.push(Listener::any("tcp", 1_723));
        all.push(Listener::any("gre", None));
    }
    let sstp = enabled("/interface/sstp-server/server");
    all.extend(sstp.map(|server| Listener::any("tcp", port(server, "port").unwrap_or(443))));
    for server in config.enabled("/interface/ovpn-server/server") {
        let protocol = if server.text("protocol") == "udp" {
            "udp"
        } else {
            "tcp"
        };
        all.push(Listener::any(
            protocol,
            port(server, "port").unwrap_or(1_194),
        ));
    }
}

/// Menus of IPv4 tunnels without ports, with their protocols.
const TUNNELS: [(&str, &str); 4] = [
    ("/interface/eoip", "gre"),
    ("/interface/gre", "gre"),
    ("/interface/ipip", "ipencap"),
    ("/interface/6to4", "ipv6-encap"),
];

fn tunnels(config: &Config<'_>, all: &mut Vec<Listener>) {
    for (path, protocol) in TUNNELS {
        for tunnel in config.enabled(path) {
            all.push(Listener::from(
                protocol,
                None,
                source(&shown(tunnel, "remote-address")),
            ));
        }
    }
    for tunnel in config.enabled("/interface/vxlan") {
        all.push(Listener::any("udp", port(tunnel, "port").unwrap_or(8_472)));
    }
}

/// Returns an IPv4 address or prefix for `src-address`; empty for names, unset values and any source.
fn source(text: &str) -> String {
    let address = text.split('/').next().unwrap_or_default();
    let known = address
        .parse::<std::net::Ipv4Addr>()
        .is_ok_and(|address| !address.is_unspecified());
    if known {
        text.trim_end_matches("/32").to_owned()
    } else {
        String::new()
    }
}

fn routing(config: &Config<'_>, all: &mut Vec<Listener>) {
    for peer in config.enabled("/routing/bgp/connection") {
        all.push(Listener::from(
            "tcp",
            179,
            source(&shown(peer, "remote.address")),
        ));
    }
    let uses = |path| !config.enabled(path).is_empty();
    if uses("/routing/ospf/interface-template") {
        all.push(Listener::any("ospf", None));
    }
    if uses("/routing/rip/interface-template") {
        all.push(Listener::any("udp", 520));
    }
    if uses("/routing/pimsm/interface-template") {
        all.push(Listener::any("pim", None));
    }
    if uses("/routing/igmp-proxy/interface") {
        all.push(Listener::any("igmp", None));
    }
    if uses("/interface/vrrp") {
        all.push(Listener::any("vrrp", None));
    }
    if uses("/routing/bfd/configuration") {
        all.extend([3_784, 4_784].map(|port| Listener::any("udp", port)));
    }
}

/// Adds services with a client list. Services that are open to everybody are what the rules close.
fn services(config: &Config<'_>, all: &mut Vec<Listener>) {
    for service in config.enabled("/ip/service") {
        let Some(port) = port(service, "port") else {
            continue;
        };
        let from = sources(service, "address");
        all.extend(
            from.into_iter()
                .map(|from| Listener::from("tcp", port, from)),
        );
    }
    let bandwidth = config.settings("/tool/bandwidth-server");
    if let Some(server) = bandwidth.filter(|server| server.is("enabled")) {
        let from = sources(server, "allowed-addresses4").into_iter();
        all.extend(from.map(|from| Listener::from("tcp", BANDWIDTH_TEST_PORT, from)));
    }
    let snmp = config.settings("/snmp").filter(|snmp| snmp.is("enabled"));
    for community in snmp
        .into_iter()
        .flat_map(|_| config.enabled("/snmp/community"))
    {
        let from = sources(community, "addresses");
        all.extend(
            from.into_iter()
                .map(|from| Listener::from("udp", 161, from)),
        );
    }
    let radius = config
        .settings("/radius/incoming")
        .filter(|incoming| incoming.is("accept"));
    if let Some(port) = radius.and_then(|incoming| port(incoming, "port")) {
        let servers = config.enabled("/radius").into_iter();
        all.extend(
            servers.map(|server| Listener::from("udp", port, source(&shown(server, "address")))),
        );
    }
}

/// Returns the IPv4 networks of a list; empty if the list is empty or contains all addresses.
fn sources(item: &Item, property: &str) -> Vec<String> {
    let text = shown(item, property);
    let networks: Vec<_> = text.split([',', ';']).map(str::trim).collect();
    if networks.iter().any(|network| network.ends_with("/0")) {
        return Vec::new();
    }
    let sources = networks.into_iter().map(source);
    sources.filter(|source| !source.is_empty()).collect()
}
