//! Tunnels and PPPoE.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use menu::{Item, Store, Value, quote};

use crate::config::{Config, FILTER, MANGLE, NAT, has, has_any, name, shown, title};
use crate::packet::{Packet, Verdict, chain_verdict};
use crate::routes::{Lead, Routes};
use crate::rule::{Rule, RuleFindings, Severity};

const CLIENT: &str = "/interface/pppoe-client";
const SERVER: &str = "/interface/pppoe-server/server";
const L2TP_SERVER: &str = "/interface/l2tp-server/server";
const PPTP_SERVER: &str = "/interface/pptp-server/server";
const SSTP_SERVER: &str = "/interface/sstp-server/server";
const OVPN_SERVER: &str = "/interface/ovpn-server/server";
/// Bytes of the PPPoE header and the PPP protocol in front of each packet (RFC 2516).
const HEADERS: i64 = 8;
/// MTU of Ethernet in bytes.
const ETHERNET_MTU: i64 = 1500;
const FAST: &[&str] = &["/interface/eoip", "/interface/gre", "/interface/ipip"];

pub(super) const FASTPATH_TUNNEL_BYPASS: Rule = Rule {
    name: "fastpath-tunnel-bypass",
    severity: Severity::Advice,
    cause: "packets on a tunnel's FastPath bypass rules and queues for the outer packet",
    mend: "set allow-fast-path=no on the tunnel if rules should see its packets",
    find: |config, found| {
        let gre = |rule: &&Item| {
            matches!(
                shown(rule, "protocol").as_str(),
                "gre" | "ipencap" | "47" | "4"
            ) && matches!(
                rule.text("action"),
                "drop" | "reject" | "mark-packet" | "mark-connection"
            )
        };
        let rules: Vec<_> = [FILTER, MANGLE, NAT]
            .iter()
            .flat_map(|path| config.enabled(path))
            .collect();
        let Some(rule) = rules.iter().find(|rule| gre(rule)) else {
            return;
        };
        for tunnel in FAST.iter().flat_map(|path| config.enabled(path)) {
            if tunnel.is("allow-fast-path") && has(tunnel, "allow-fast-path") {
                found.add(
                    &[tunnel, rule],
                    format!("{} may bypass {}", title(tunnel), title(rule)),
                );
            }
        }
    },
};

pub(super) const PPTP_SECURITY: Rule = Rule {
    name: "pptp-security",
    severity: Severity::Warning,
    cause: "PPTP's MS-CHAPv2 and MPPE are broken: an attacker who records a login can decrypt the session",
    mend: "use WireGuard, IKEv2, or L2TP with use-ipsec=required",
    find: |config, found| {
        let server = config.settings(PPTP_SERVER);
        for server in server.into_iter().filter(|server| server.is("enabled")) {
            // No commands: the clients need another VPN server first.
            found.add(&[server], String::from("the PPTP server is enabled"));
        }
        for client in config.enabled("/interface/pptp-client") {
            found.add(&[client], format!("{} is PPTP", title(client)));
        }
    },
};

pub(super) const MPPE_SECURITY: Rule = Rule {
    name: "mppe-security",
    severity: Severity::Advice,
    cause: "MPPE encrypts PPP sessions with RC4 and keys of MS-CHAP, which are broken: an attacker who records a login \
            can decrypt the session",
    mend: "use WireGuard or IKEv2 for secret traffic; MPPE protects from casual readers only",
    find: |config, found| {
        let encrypts = |profile: &str| {
            let profiles = config.enabled("/ppp/profile");
            let mut its = profiles.iter().filter(|item| item.name() == Some(profile));
            its.any(|item| matches!(item.text("use-encryption"), "yes" | "required"))
        };
        for (menu, property) in [(CLIENT, "profile"), (SERVER, "default-profile")] {
            for item in config.enabled(menu) {
                let profile = shown(item, property);
                if encrypts(&profile) {
                    found.add(
                        &[item],
                        format!(
                            "{} encrypts by MPPE, as profile {profile} says",
                            title(item)
                        ),
                    );
                }
            }
        }
    },
};

pub(super) const DOUBLE_ENCAPSULATION: Rule = Rule {
    name: "double-encapsulation",
    severity: Severity::Warning,
    cause: "EoIP in a PPP tunnel adds a second header, causes twice the fragments, and over SSTP or OpenVPN carries \
            TCP in TCP",
    mend: "use EoIP to the other site's own address, with ipsec-secret= for encryption; or BCP in the PPP tunnel",
    find: |config, found| {
        let secrets = config.enabled("/ppp/secret");
        let far = secrets.iter().map(|secret| secret.get("remote-address"));
        let profiles = config.enabled("/ppp/profile");
        let near = profiles
            .iter()
            .chain(&secrets)
            .map(|item| item.get("local-address"));
        let inside: BTreeSet<_> = far.chain(near).filter_map(address).collect();
        let clients = Clients::of(config);
        for tunnel in config.enabled("/interface/eoip") {
            let Some(to) = address(tunnel.get("remote-address")) else {
                continue;
            };
            if inside.contains(&to) {
                let servers = VPNS.iter().filter_map(|vpn| config.settings(vpn.server));
                let server = servers.into_iter().find(|server| server.is("enabled"));
                found.add(&[tunnel], nested(tunnel, to, "a PPP tunnel", server));
            } else if let Some(client) = clients.towards(to) {
                let said = nested(tunnel, to, client.text("name"), Some(client));
                found.add(&[tunnel, client], said);
            }
        }
    },
};

/// Menus of a VPN of PPP sessions over the internet.
struct Vpn {
    client: &'static str,
    server: &'static str,
}

const VPNS: [Vpn; 4] = [
    Vpn {
        client: "/interface/l2tp-client",
        server: L2TP_SERVER,
    },
    Vpn {
        client: "/interface/pptp-client",
        server: "/interface/pptp-server/server",
    },
    Vpn {
        client: "/interface/sstp-client",
        server: SSTP_SERVER,
    },
    Vpn {
        client: "/interface/ovpn-client",
        server: "/interface/ovpn-server/server",
    },
];

/// Bytes that EoIP adds to a packet: IPv4, GRE and Ethernet header.
const EOIP_HEADERS: i64 = 20 + 8 + 14;

/// Describes an EoIP tunnel to `to` inside a PPP tunnel. `session` is the client or the server of the PPP tunnel.
fn nested(tunnel: &Item, to: IpAddr, inside: &str, session: Option<&Item>) -> String {
    let mut said = format!("{} runs to {to}, inside {inside}", title(tunnel));
    if let Some(unit) = session.and_then(|session| session.number("max-mtu")) {
        let carried = unit - EOIP_HEADERS;
        said += &format!(": packets of more than {carried} bytes leave in two fragments");
    }
    said
}

/// VPN clients of a configuration, and the routes that lead to them.
struct Clients<'a> {
    all: BTreeMap<&'a str, &'a Item>,
    routes: Routes<'a>,
}

impl<'a> Clients<'a> {
    fn of(config: &Config<'a>) -> Self {
        let all = VPNS.iter().flat_map(|vpn| config.enabled(vpn.client));
        Self {
            all: all.map(|client| (client.text("name"), client)).collect(),
            routes: Routes::of(config),
        }
    }

    /// Returns the VPN client by which packets to an address leave: a static route names it, or the address is private
    /// and only a PPP session can lead there.
    fn towards(&self, to: IpAddr) -> Option<&'a Item> {
        let is_private = matches!(to, IpAddr::V4(to) if to.is_private());
        match self.routes.towards(to) {
            Some((_, Lead::Own(_))) => None,
            Some((net, Lead::Route(route))) if net.prefix_len() > 0 => {
                self.all.get(shown(route, "gateway").as_str()).copied()
            }
            _ => self.all.values().next().copied().filter(|_| is_private),
        }
    }
}

fn address(value: Option<&Value>) -> Option<IpAddr> {
    match value {
        Some(Value::Address(address)) => Some(*address),
        Some(other) => other.as_str()?.parse().ok(),
        None => None,
    }
}

pub(super) const PPPOE_ON_SLAVE_INTERFACE: Rule = Rule {
    name: "pppoe-on-slave-interface",
    severity: Severity::Error,
    cause: "the bridge takes the frames of its ports: a PPPoE client or server on a bridge port receives no answer",
    mend: "move it to the bridge, or remove the port from the bridge",
    find: |config, found| {
        for path in [CLIENT, SERVER] {
            for item in config.enabled(path) {
                let port = item.text("interface");
                if let Some((bridge, _)) = config.bridge_of(port) {
                    let fix = format!("{path}/set {} interface={}", item.id, quote(bridge));
                    let said = format!("{}: {port} is a port of {bridge}", title(item));
                    found.fixed(&[item], said, vec![fix]);
                }
            }
        }
    },
};

pub(super) const PPPOE_SERVES_NOBODY: Rule = Rule {
    name: "pppoe-serves-nobody",
    severity: Severity::Error,
    cause: "a PPPoE server with accept-untagged=no serves the VLANs of pppoe-over-vlan-range alone: without a range no \
            client gets an offer",
    mend: "name the VLANs of the clients in pppoe-over-vlan-range, or set accept-untagged=yes",
    find: |config, found| {
        for server in config.enabled(SERVER) {
            if !server.is("accept-untagged") && shown(server, "pppoe-over-vlan-range").is_empty() {
                let said = format!(
                    "{} serves neither untagged clients nor a VLAN",
                    title(server)
                );
                let fix = format!("{SERVER}/set {} accept-untagged=yes", server.id);
                found.fixed(&[server], said, vec![fix]);
            }
        }
    },
};

pub(super) const PPPOE_MTU: Rule = Rule {
    name: "pppoe-mtu",
    severity: Severity::Warning,
    cause: "PPPoE adds 8 bytes to each packet: the interface below carries only packets that are 8 bytes shorter than \
            its MTU, and the session does not reach the configured max-mtu or max-mru",
    mend: "raise the MTU of the interface below (baby jumbo frames, RFC 4638), or leave max-mtu=auto",
    find: |config, found| {
        for client in [CLIENT, SERVER]
            .iter()
            .flat_map(|path| config.enabled(path))
        {
            let units = ["max-mtu", "max-mru"].map(|unit| client.number(unit).unwrap_or(0));
            let unit = units[0].max(units[1]);
            let below = client.text("interface");
            let Some((port, carried)) = mtu_of(config.store(), below) else {
                continue;
            };
            if unit + HEADERS <= carried {
                continue;
            }
            let said = format!(
                "{} wants packets of {unit} bytes, and {below} carries {}",
                title(client),
                carried - HEADERS
            );
            let needed = unit + HEADERS;
            let fix = format!("{}/set {} mtu={needed}", port.menu.path, port.id);
            found.fixed(&[client, port], said, vec![fix]);
        }
    },
};

/// Returns a port or VLAN and its MTU in bytes; `None` for interfaces that derive the MTU from others.
fn mtu_of<'a>(store: &'a Store, interface: &str) -> Option<(&'a Item, i64)> {
    let item: &Item = store.named("interface", interface)?;
    let is_plain = matches!(item.menu.path, "/interface/ethernet" | "/interface/vlan");
    is_plain.then(|| (item, item.number("mtu").unwrap_or(ETHERNET_MTU)))
}

pub(super) const PPPOE_NOT_MASQUERADED: Rule = Rule {
    name: "pppoe-not-masqueraded",
    severity: Severity::Error,
    cause: "packets leave by the PPPoE client's own interface, not by the interface below: rules for that interface \
            or for a list without the client do not match, and the provider drops the untranslated packets",
    mend: "put the PPPoE client into the interface list of the outside, or name it in the rule",
    find: |config, found| {
        let rules = config.chain(NAT, "srcnat").iter().copied();
        let rules: Vec<_> = rules.filter(|rule| translates(rule)).collect();
        for client in config.enabled(CLIENT) {
            let own = client.text("name");
            if !client.is("add-default-route") || rules.iter().any(|rule| covers(config, rule, own))
            {
                continue;
            }
            let named = |rule: &&&Item| has_any(rule, &["out-interface", "out-interface-list"]);
            let Some(rule) = rules.iter().find(named) else {
                continue;
            };
            let fix = match name(rule, "out-interface-list") {
                Some(list) => format!(
                    "/interface/list/member/add list={} interface={}",
                    quote(list),
                    quote(own)
                ),
                None => format!("{NAT}/set {} out-interface={}", rule.id, quote(own)),
            };
            let said = format!("no srcnat rule applies to packets that leave by {own}");
            found.fixed(&[client, rule], said, vec![fix]);
        }
    },
};

/// Returns true for srcnat rules that translate the source.
fn translates(rule: &Item) -> bool {
    matches!(
        rule.text("action"),
        "masquerade" | "src-nat" | "netmap" | "same"
    )
}

/// Returns true if a rule applies to packets that leave by this interface, or may apply.
fn covers(config: &Config<'_>, rule: &Item, interface: &str) -> bool {
    match (rule.get("out-interface"), rule.get("out-interface-list")) {
        (Some(Value::Not(_)), _) | (_, Some(Value::Not(_))) => true,
        _ => {
            let out = name(rule, "out-interface");
            let list = name(rule, "out-interface-list");
            out.is_none_or(|out| out == interface || out == "all-ppp")
                && list.is_none_or(|list| config.is_in(interface, list))
        }
    }
}

pub(super) const DHCP_CLIENT_BELOW_PPPOE: Rule = Rule {
    name: "dhcp-client-below-pppoe",
    severity: Severity::Warning,
    cause: "a DHCP client on the interface below a PPPoE client adds a second default route with the same distance, \
            if a modem or another router answers: half of the connections leave by it",
    mend: "disable the DHCP client, or set add-default-route=no to reach only the modem's page",
    find: |config, found| {
        let clients = config.enabled(CLIENT);
        for dhcp in config.enabled("/ip/dhcp-client") {
            let on = dhcp.text("interface");
            let above = clients.iter().find(|client| client.text("interface") == on);
            if let Some(client) = above
                && client.is("add-default-route")
                && dhcp.text("add-default-route") != "no"
            {
                let said = format!("{on} has a DHCP client, and carries {}", title(client));
                let fix = format!("/ip/dhcp-client/set {} disabled=yes", dhcp.id);
                found.fixed(&[dhcp, client], said, vec![fix]);
            }
        }
    },
};

pub(super) const L2TP_SERVER_BLOCKED: Rule = Rule {
    name: "l2tp-server-blocked",
    severity: Severity::Warning,
    cause: "chain input drops the requests that the L2TP server waits for: no client from outside gets an answer",
    mend: "accept UDP port 1701 in input; with use-ipsec accept UDP ports 500 and 4500 and ESP, and port 1701 with \
           ipsec-policy=in,ipsec",
    find: |config, found| {
        let server = config.settings(L2TP_SERVER);
        let Some(server) = server.filter(|server| server.is("enabled")) else {
            return;
        };
        let is_protected = matches!(shown(server, "use-ipsec").as_str(), "required" | "yes");
        let needed: &[(&str, u16)] = match is_protected {
            true => &[("udp", 500), ("udp", 4500), ("ipsec-esp", 0), ("udp", 1701)],
            false => &[("udp", 1701)],
        };
        let dropped = needed.iter().filter(|(protocol, port)| {
            let is_decrypted = is_protected && *port == 1701;
            is_dropped_by_input(config, protocol, *port)
                && !(is_decrypted && accepts_decrypted_l2tp(config))
        });
        let policy = |port| match port {
            1701 if is_protected => " ipsec-policy=in,ipsec",
            _ => "",
        };
        let accepts: Vec<_> = dropped
            .map(|(protocol, port)| accept(protocol, *port, policy(*port)))
            .collect();
        report_blocked(config, found, server, "L2TP", &accepts);
    },
};

pub(super) const PPTP_SERVER_BLOCKED: Rule = Rule {
    name: "pptp-server-blocked",
    severity: Severity::Warning,
    cause: "chain input drops the requests that the PPTP server waits for, or the packets of its sessions: no client \
            from outside gets through",
    mend: "accept TCP port 1723 and GRE in input",
    find: |config, found| {
        let server = config.settings(PPTP_SERVER);
        let Some(server) = server.filter(|server| server.is("enabled")) else {
            return;
        };
        let needed = [("tcp", 1723), ("gre", 0)].into_iter();
        let dropped =
            needed.filter(|(protocol, port)| is_dropped_by_input(config, protocol, *port));
        let accepts: Vec<_> = dropped
            .map(|(protocol, port)| accept(protocol, port, ""))
            .collect();
        report_blocked(config, found, server, "PPTP", &accepts);
    },
};

pub(super) const SSTP_SERVER_BLOCKED: Rule = Rule {
    name: "sstp-server-blocked",
    severity: Severity::Warning,
    cause: "chain input drops the connections that the SSTP server waits for: no client from outside gets through",
    mend: "accept the server's TCP port in input: 443, unless port= says otherwise",
    find: |config, found| {
        let server = config.settings(SSTP_SERVER);
        let Some(server) = server.filter(|server| server.is("enabled")) else {
            return;
        };
        let port = server
            .number("port")
            .and_then(|port| u16::try_from(port).ok());
        let port = port.unwrap_or(443);
        let is_dropped = is_dropped_by_input(config, "tcp", port);
        let accepts: Vec<_> = is_dropped
            .then(|| accept("tcp", port, ""))
            .into_iter()
            .collect();
        report_blocked(config, found, server, "SSTP", &accepts);
    },
};

pub(super) const OVPN_SERVER_BLOCKED: Rule = Rule {
    name: "ovpn-server-blocked",
    severity: Severity::Warning,
    cause: "chain input drops the packets that an OpenVPN server waits for: no client from outside gets through",
    mend: "accept the server's port in input, UDP or TCP as protocol= says: 1194, unless port= says otherwise",
    find: |config, found| {
        for server in config.enabled(OVPN_SERVER) {
            let port = server
                .number("port")
                .and_then(|port| u16::try_from(port).ok());
            let port = port.unwrap_or(1194);
            let protocol = match server.text("protocol") {
                "udp" => "udp",
                _ => "tcp",
            };
            let is_dropped = is_dropped_by_input(config, protocol, port);
            let accepts: Vec<_> = is_dropped
                .then(|| accept(protocol, port, ""))
                .into_iter()
                .collect();
            report_blocked(config, found, server, "OpenVPN", &accepts);
        }
    },
};

/// Returns true if the rules of input drop new packets of a protocol from a WAN; port 0 is no port.
pub(super) fn is_dropped_by_input(config: &Config<'_>, protocol: &'static str, port: u16) -> bool {
    config.wan().into_iter().any(|ingress| {
        let packet = Packet {
            ingress,
            protocol,
            port,
            is_translated: false,
            destination: None,
        };
        chain_verdict(config, FILTER, "input", packet) == Some(Verdict::Dropped)
    })
}

/// Returns the matchers of a rule that accepts a protocol; port 0 is no port.
pub(super) fn accept(protocol: &str, port: u16, policy: &str) -> String {
    match port {
        0 => format!("protocol={protocol}{policy}"),
        port => format!("protocol={protocol} dst-port={port}{policy}"),
    }
}

/// Reports a server whose requests are dropped, with rules that accept what these matchers name.
pub(super) fn report_blocked(
    config: &Config<'_>,
    found: &mut RuleFindings,
    server: &Item,
    name: &str,
    accepts: &[String],
) {
    let Some(first) = config.chain(FILTER, "input").first() else {
        return;
    };
    if accepts.is_empty() {
        return;
    }
    let rule = |matchers: &String| {
        format!(
            "{FILTER}/add chain=input action=accept {matchers} place-before={}",
            first.id
        )
    };
    let said = format!("the rules of input drop requests for the {name} server");
    found.fixed(&[server], said, accepts.iter().map(rule).collect());
}

/// Returns true if a rule of input accepts decrypted L2TP packets.
fn accepts_decrypted_l2tp(config: &Config<'_>) -> bool {
    config.chain(FILTER, "input").iter().any(|rule| {
        let ports = shown(rule, "dst-port");
        rule.text("action") == "accept"
            && shown(rule, "ipsec-policy") == "in,ipsec"
            && (ports.is_empty() || ports.contains("1701"))
    })
}

pub(super) const PPPOE_MSS: Rule = Rule {
    name: "pppoe-mss",
    severity: Severity::Warning,
    cause: "hosts behind the router announce segments for 1500 bytes, which a PPPoE session does not carry: where \
            ICMP errors are filtered, connections stall after the first packets",
    mend: "set change-tcp-mss=yes in the profile, or add a mangle rule with action=change-mss",
    find: |config, found| {
        let rules = config.enabled(MANGLE);
        if rules.iter().any(|rule| rule.text("action") == "change-mss") {
            return;
        }
        for client in config.enabled(CLIENT) {
            let profile = name(client, "profile").unwrap_or("default");
            let profile = config.store().named("ppp-profile", profile);
            let fits = client.number("max-mtu").unwrap_or(0) >= ETHERNET_MTU;
            if let Some(profile) = profile.filter(|_| !fits)
                && has(profile, "change-tcp-mss")
                && profile.text("change-tcp-mss") == "no"
            {
                let said = format!("{} does not lower the segment size", title(client));
                let fix = format!("/ppp/profile/set {} change-tcp-mss=yes", profile.id);
                found.fixed(&[profile, client], said, vec![fix]);
            }
        }
    },
};
