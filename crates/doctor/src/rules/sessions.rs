//! Users, servers and links of tunnels: mistakes of PPP, OpenVPN and their MTU.

use std::collections::BTreeMap;

use menu::Item;

use crate::config::{Config, has, shown, title, words};
use crate::rule::{Rule, Severity};

/// Servers of PPP sessions whose settings have `enabled`.
const SERVERS: [&str; 3] = [
    "/interface/l2tp-server/server",
    "/interface/pptp-server/server",
    "/interface/sstp-server/server",
];
/// Servers of PPP sessions that are items.
const LISTED_SERVERS: [&str; 2] = [
    "/interface/pppoe-server/server",
    "/interface/ovpn-server/server",
];

/// Returns true if a server of PPP sessions is enabled.
fn serves(config: &Config<'_>) -> bool {
    let settings = SERVERS.iter().filter_map(|menu| config.settings(menu));
    let mut settings = settings.into_iter();
    settings.any(|server| server.is("enabled"))
        || LISTED_SERVERS
            .iter()
            .any(|menu| !config.enabled(menu).is_empty())
}

pub(super) const PPP_NO_ADDRESS: Rule = Rule {
    name: "ppp-no-address",
    severity: Severity::Error,
    cause: "neither the user nor its profile has an address for the client: the session ends after authentication",
    mend: "set remote-address= (an address or a pool) and local-address= in the profile or in the secret",
    find: |config, found| {
        let aaa = config.settings("/ppp/aaa");
        if !serves(config) || aaa.is_some_and(|aaa| aaa.is("use-radius")) {
            return;
        }
        let profiles = config.enabled("/ppp/profile").into_iter();
        let profiles: BTreeMap<_, _> = profiles.map(|item| (item.text("name"), item)).collect();
        for secret in config.enabled("/ppp/secret") {
            let profile = profiles.get(secret.text("profile")).copied();
            let mut items = [Some(secret), profile].into_iter().flatten();
            // A session of a bridge (BCP) carries frames.
            let has_address = items.any(|item| has(item, "remote-address") || has(item, "bridge"));
            if !has_address {
                let said = format!("{} gets no address", title(secret));
                found.add(&[secret], said);
            }
        }
    },
};

pub(super) const PPP_ADDRESS_TWICE: Rule = Rule {
    name: "ppp-address-twice",
    severity: Severity::Warning,
    cause: "two users have the same remote-address: if both are connected, packets reach only one of them",
    mend: "give each user its own remote-address, or a pool in the profile",
    find: |config, found| {
        let mut known: BTreeMap<String, &Item> = BTreeMap::new();
        for secret in config.enabled("/ppp/secret") {
            let address = shown(secret, "remote-address");
            if address.is_empty() {
                continue;
            }
            let first = *known.entry(address.clone()).or_insert(secret);
            let is_same_user = first.text("name") == secret.text("name");
            if first.id != secret.id && !is_same_user {
                let said = format!("{} and {} both have {address}", title(first), title(secret));
                found.add(&[secret, first], said);
            }
        }
    },
};

pub(super) const OVPN_SERVER_NO_CERTIFICATE: Rule = Rule {
    name: "ovpn-server-no-certificate",
    severity: Severity::Error,
    cause: "OpenVPN proves the server by its certificate: without one no client connects",
    mend: "create a certificate, sign it, and set certificate= of the server",
    find: |config, found| {
        for server in config.enabled("/interface/ovpn-server/server") {
            if matches!(shown(server, "certificate").as_str(), "" | "none") {
                found.add(&[server], format!("{} has no certificate", title(server)));
            }
        }
    },
};

/// Tunnels with the bytes that they add to a packet, over IPv4.
const OVERHEADS: [(&str, i64); 5] = [
    ("/interface/eoip", 42),
    ("/interface/gre", 24),
    ("/interface/ipip", 20),
    ("/interface/vxlan", 50),
    ("/interface/wireguard", 60),
];
/// MTU of Ethernet in bytes, and of a PPPoE session on it.
const ETHERNET_MTU: i64 = 1500;
const PPPOE_MTU: i64 = 1492;

pub(super) const TUNNEL_MTU_FRAGMENTS: Rule = Rule {
    name: "tunnel-mtu-fragments",
    severity: Severity::Advice,
    cause: "packets of the tunnel's MTU do not fit the link below with the tunnel's headers: each leaves in two \
            fragments, or is lost where fragments are filtered",
    mend: "set mtu= to at most what the link carries",
    find: |config, found| {
        // Larger frames below carry larger tunnels.
        let ports = config.enabled("/interface/ethernet").into_iter();
        let largest = ports
            .filter_map(|port| port.number("mtu"))
            .max()
            .unwrap_or(ETHERNET_MTU);
        let below = match config.enabled("/interface/pppoe-client").is_empty() {
            true => largest,
            false => largest.min(PPPOE_MTU),
        };
        for (menu, overhead) in OVERHEADS {
            for tunnel in config.enabled(menu) {
                let (Some(unit), carried) = (tunnel.number("mtu"), below - overhead) else {
                    continue;
                };
                // Hosts of a bridged network send frames of 1500 bytes, and do not learn a lower MTU.
                if config.bridge_of(tunnel.text("name")).is_some() {
                    continue;
                }
                let usual = tunnel
                    .menu
                    .property("mtu")
                    .and_then(|property| property.default);
                let is_usual = usual.is_some_and(|usual| usual == unit.to_string());
                if unit > carried && !is_usual {
                    let said = format!(
                        "{} has mtu={unit}, and the link carries {carried}",
                        title(tunnel)
                    );
                    let fix = format!("{menu}/set {} mtu={carried}", tunnel.id);
                    found.fixed(&[tunnel], said, vec![fix]);
                }
            }
        }
    },
};

pub(super) const MTU_ABOVE_L2MTU: Rule = Rule {
    name: "mtu-above-l2mtu",
    severity: Severity::Error,
    cause: "l2mtu is the longest frame of the port without its Ethernet header: longer packets are dropped, and a VLAN \
            tag takes 4 bytes of it",
    mend: "raise l2mtu of all ports on the way, or lower mtu",
    find: |config, found| {
        let ports = config.enabled("/interface/ethernet").into_iter();
        let limits =
            ports.filter_map(|port| Some((port.text("name"), (port, port.number("l2mtu")?))));
        let limits: BTreeMap<_, _> = limits.filter(|(_, (_, limit))| *limit > 0).collect();
        for (port, limit) in limits.values() {
            let unit = port.number("mtu").unwrap_or(ETHERNET_MTU);
            if unit > *limit {
                let said = format!("{} has mtu={unit} and l2mtu={limit}", title(port));
                found.add(&[port], said);
            }
        }
        for vlan in config.enabled("/interface/vlan") {
            let unit = vlan.number("mtu").unwrap_or(ETHERNET_MTU);
            if let Some((port, limit)) = limits.get(vlan.text("interface"))
                && unit + 4 > *limit
            {
                let said = format!(
                    "{} has mtu={unit}, and {} carries {} with its tag",
                    title(vlan),
                    title(port),
                    limit - 4
                );
                found.add(&[vlan, port], said);
            }
        }
    },
};

pub(super) const BOND_OF_TUNNELS: Rule = Rule {
    name: "bond-of-tunnels",
    severity: Severity::Warning,
    cause: "LACP and MII watch a cable: a tunnel, VLAN or wireless link stays up when the way behind it fails, and the \
            bond goes on sending into it",
    mend: "bond Ethernet ports; over tunnels use link-monitoring=arp with arp-ip-targets, or routes with check-gateway",
    find: |config, found| {
        for bond in config.enabled("/interface/bonding") {
            let watches = bond.text("link-monitoring") != "arp" || bond.text("mode") == "802.3ad";
            let slaves = words(bond.get("slaves")).into_iter();
            let mut slaves = slaves.filter_map(|slave| config.store().named("interface", slave));
            let virtual_link = slaves.find(|slave| {
                [
                    "eoip",
                    "vlan",
                    "vxlan",
                    "wireless",
                    "wifi",
                    "gre",
                    "ovpn-client",
                ]
                .iter()
                .any(|kind| slave.menu.path.starts_with(&format!("/interface/{kind}")))
            });
            if let Some(slave) = virtual_link.filter(|_| watches) {
                let said = format!("{} bonds {}", title(bond), title(slave));
                found.add(&[bond, slave], said);
            }
        }
    },
};
