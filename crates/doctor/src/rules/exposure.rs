//! Servers behind this router, administrators, and passwords in scripts.

use std::collections::BTreeSet;
use std::net::IpAddr;

use menu::Item;

use super::input::open;
use crate::config::{Config, FILTER, NAT, name, shown, title};
use crate::packet::{Packet, Verdict, deciding_rule};
use crate::rule::{Rule, Severity};

pub(super) const DSTNAT_BLOCKED: Rule = Rule {
    name: "dstnat-blocked",
    severity: Severity::Error,
    cause: "forward drops the translated packets: clients from outside do not reach the server",
    mend: "accept connection-nat-state=dstnat with the server's port in forward, before the rule that drops",
    find: |config, found| {
        let wan = config.wan();
        let own = addresses(config);
        for rule in config.chain(NAT, "dstnat") {
            let Some((protocol, port)) = service(rule) else {
                continue;
            };
            let destination = shown(rule, "to-addresses").parse::<IpAddr>().ok();
            // Packets to the router itself pass input.
            if destination.is_some_and(|address| own.contains(&address)) {
                continue;
            }
            let outside = wan.iter().copied().filter(|wan| arrives(config, rule, wan));
            let mut dropped = outside.filter_map(|ingress| {
                let packet = Packet {
                    ingress,
                    protocol: &protocol,
                    port,
                    is_translated: true,
                    destination,
                };
                match deciding_rule(config, FILTER, "forward", packet) {
                    (Some(Verdict::Dropped), Some(drop)) => Some((ingress, drop)),
                    _ => None,
                }
            });
            let Some((ingress, drop)) = dropped.next() else {
                continue;
            };
            let said = format!("forward drops {protocol} port {port} from {ingress}");
            // Other servers may be restricted to some clients: the rule accepts packets to this one.
            let to = destination.map(|address| format!(" dst-address={address}"));
            let fix = format!(
                "{FILTER}/add chain=forward action=accept connection-nat-state=dstnat protocol={protocol} \
                 dst-port={port}{} place-before={}",
                to.unwrap_or_default(),
                drop.id
            );
            found.fixed(&[rule, drop], said, vec![fix]);
        }
    },
};

/// Returns the IPv4 addresses of the router.
fn addresses(config: &Config<'_>) -> BTreeSet<IpAddr> {
    let items = config.enabled("/ip/address").into_iter();
    let nets = items.filter_map(|item| item.get("address")?.as_prefix());
    nets.map(|net| net.addr()).collect()
}

/// Returns protocol and port of translated packets; `None` if the rule names several or none.
fn service(rule: &Item) -> Option<(String, u16)> {
    let protocol = name(rule, "protocol")?.to_owned();
    let is_forwarded = rule.text("action") == "dst-nat";
    let port = ["to-ports", "dst-port"].map(|property| shown(rule, property));
    let port = port.iter().find(|port| !port.is_empty())?;
    Some((protocol, port.parse().ok()?)).filter(|_| is_forwarded)
}

/// Returns true if packets from an interface may match a rule.
fn arrives(config: &Config<'_>, rule: &Item, ingress: &str) -> bool {
    let on = name(rule, "in-interface");
    let list = name(rule, "in-interface-list");
    on.is_none_or(|on| on == ingress) && list.is_none_or(|list| config.is_in(ingress, list))
}

/// Returns the ports of enabled services by which an administrator logs in, from every address.
fn login_ports(config: &Config<'_>) -> Vec<u16> {
    let services = config.enabled("/ip/service").into_iter();
    let services = services.filter(|service| shown(service, "address").is_empty());
    let ports = services.filter_map(|service| u16::try_from(service.number("port")?).ok());
    ports.collect()
}

pub(super) const ADMIN_FROM_EVERYWHERE: Rule = Rule {
    name: "admin-from-everywhere",
    severity: Severity::Warning,
    cause: "a login port is open to the internet, and the user admin, whose name every guessing program tries first, \
            may log in from every address",
    mend: "set address= of the user to the networks of administrators, or add users with other names and disable admin",
    find: |config, found| {
        let users = config.enabled("/user").into_iter();
        let mut users =
            users.filter(|user| user.text("name") == "admin" && user.text("group") == "full");
        let Some(admin) = users.find(|user| shown(user, "address").is_empty()) else {
            return;
        };
        let opened = login_ports(config)
            .into_iter()
            .find_map(|port| Some((port, open(config, "tcp", port).accepted.first().copied()?)));
        if let Some((port, wan)) = opened {
            let said = format!("clients on {wan} reach port {port}, and admin has no address=");
            found.add(&[admin], said);
        }
    },
};

/// Menus and properties with scripts.
const SCRIPTS: [(&str, &str); 5] = [
    ("/system/script", "source"),
    ("/system/scheduler", "on-event"),
    ("/tool/netwatch", "up-script"),
    ("/tool/netwatch", "down-script"),
    ("/ip/dhcp-client", "script"),
];

pub(super) const PASSWORD_IN_SCRIPT: Rule = Rule {
    name: "password-in-script",
    severity: Severity::Advice,
    cause: "every user who may read scripts, every export and every backup shows the password",
    mend: "store it where the router hides it (/tool/e-mail, /ppp/secret, /user), or read it from a file",
    find: |config, found| {
        for (menu, property) in SCRIPTS {
            for item in config.enabled(menu) {
                if let Some(word) = literal_password(item.text(property)) {
                    let said = format!("{} has {word} with its value", title(item));
                    found.add(&[item], said);
                }
            }
        }
    },
};

/// Returns the property to which a script gives a password as literal text.
fn literal_password(script: &str) -> Option<&'static str> {
    let properties = ["password=", "secret=", "passphrase="];
    properties.into_iter().find(|property| {
        let mut values = script.split(property).skip(1);
        values.any(|value| {
            let value = value.trim_start_matches(['"', '\\']);
            value.starts_with(|c: char| c.is_ascii_alphanumeric())
        })
    })
}

pub(super) const SPEED_TEST_ON_ROUTER: Rule = Rule {
    name: "speed-test-on-router",
    severity: Severity::Advice,
    cause: "the router that sends test traffic spends its processor on it: the test shows its own cost, and takes the \
            uplink from users",
    mend: "test through the router, between two hosts, and on demand",
    find: |config, found| {
        let scripts = config.enabled("/system/script");
        for event in config.enabled("/system/scheduler") {
            let named = scripts
                .iter()
                .find(|script| script.text("name") == event.text("on-event"));
            let texts = [
                Some(event.text("on-event")),
                named.map(|script| script.text("source")),
            ];
            let mut texts = texts.into_iter().flatten();
            if texts.any(|text| text.contains("bandwidth-test") || text.contains("speed-test")) {
                let said = format!("{} starts a test regularly", title(event));
                found.add(&[event], said);
            }
        }
    },
};
