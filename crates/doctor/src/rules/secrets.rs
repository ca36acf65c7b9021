//! Secrets that are guessed, and what depends on secrets and time.

use menu::Item;

use crate::config::{Config, FILTER, FILTER6, has, shown, title};
use crate::rule::{Rule, Severity};

/// Menus and properties of secrets that both ends of a connection share.
const SECRETS: [(&str, &str); 9] = [
    ("/ip/ipsec/identity", "secret"),
    ("/ppp/secret", "password"),
    ("/ppp/l2tp-secret", "secret"),
    ("/interface/l2tp-server/server", "ipsec-secret"),
    ("/interface/l2tp-client", "ipsec-secret"),
    ("/interface/eoip", "ipsec-secret"),
    ("/interface/gre", "ipsec-secret"),
    ("/interface/ipip", "ipsec-secret"),
    ("/radius", "secret"),
];
/// The fewest characters of a secret.
const LENGTH: usize = 8;
/// Secrets that every list of guesses begins with.
const COMMON: [&str; 16] = [
    "12345678",
    "123456789",
    "1234567890",
    "password",
    "password1",
    "passw0rd",
    "changeme",
    "mikrotik",
    "routeros",
    "ferroute",
    "qwertyui",
    "qwertyuiop",
    "11111111",
    "00000000",
    "secretsecret",
    "adminadmin",
];

pub(super) const WEAK_SECRET: Rule = Rule {
    name: "weak-secret",
    severity: Severity::Warning,
    cause: "programs that guess try short and common secrets first: a pre-shared key can be guessed without asking the \
            router again",
    mend: "use a random secret of at least 16 characters, or certificates",
    find: |config, found| {
        for (menu, property) in SECRETS {
            let settings = config.settings(menu).into_iter();
            for item in config.enabled(menu).into_iter().chain(settings) {
                if let Some(why) = weakness(item, property) {
                    found.add(&[item], format!("{property} of {} {why}", title(item)));
                }
            }
        }
    },
};

/// Returns why a secret is weak. The text does not contain the secret.
fn weakness(item: &Item, property: &str) -> Option<&'static str> {
    let secret = item.get(property)?.to_string();
    let is = |other: &str| has(item, other) && shown(item, other) == secret;
    if secret.is_empty() {
        return None;
    }
    if secret.chars().count() < LENGTH {
        return Some("has fewer than 8 characters");
    }
    if COMMON.contains(&secret.to_lowercase().as_str()) {
        return Some("is one of the most common");
    }
    (is("name") || is("peer")).then_some("is its name")
}

pub(super) const SNMP_PUBLIC: Rule = Rule {
    name: "snmp-public",
    severity: Severity::Warning,
    cause: "everybody asks for the community public first: it shows interfaces, addresses and neighbours to every host \
            that reaches the router",
    mend: "restrict addresses=, name the community differently, or use version 3 with security=private",
    find: |config, found| {
        if !config
            .settings("/snmp")
            .is_some_and(|snmp| snmp.is("enabled"))
        {
            return;
        }
        for community in config.enabled("/snmp/community") {
            let to = shown(community, "addresses");
            let is_open = to.is_empty() || to.contains("0.0.0.0/0") || to.contains("::/0");
            let is_plain = matches!(shown(community, "security").as_str(), "" | "none");
            if community.text("name") == "public" && is_open && is_plain {
                found.add(
                    &[community],
                    "the community public is open to all".to_owned(),
                );
            }
        }
    },
};

/// Menus whose certificates are checked against the clock.
const CERTIFIED: [(&str, &str); 6] = [
    ("/ip/ipsec/identity", "certificate"),
    ("/interface/sstp-server/server", "certificate"),
    ("/interface/sstp-client", "certificate"),
    ("/interface/ovpn-server/server", "certificate"),
    ("/interface/ovpn-client", "certificate"),
    ("/interface/wireless/security-profiles", "tls-certificate"),
];

pub(super) const CLOCK_NOT_SET: Rule = Rule {
    name: "clock-not-set",
    severity: Severity::Advice,
    cause: "certificates are valid for a time, and a router without a clock of its own begins in the past: after a \
            power failure every certificate looks not yet valid",
    mend: "enable /system/ntp/client with a server, or /ip/cloud with update-time=yes",
    find: |config, found| {
        let ntp = config.settings("/system/ntp/client");
        let cloud = config.settings("/ip/cloud");
        let is_set = ntp.is_some_and(|ntp| ntp.is("enabled"))
            || cloud.is_some_and(|cloud| cloud.is("update-time"));
        if is_set {
            return;
        }
        let certified = CERTIFIED.iter().flat_map(|(menu, property)| {
            let settings = config.settings(menu).into_iter();
            let items = config.enabled(menu).into_iter().chain(settings);
            items.filter(move |item| !matches!(shown(item, property).as_str(), "" | "none"))
        });
        if let Some(item) = certified.into_iter().next() {
            let said = format!(
                "{} has a certificate, and nothing sets the clock",
                title(item)
            );
            found.add(&[item], said);
        }
    },
};

pub(super) const IPV6_UNFILTERED: Rule = Rule {
    name: "ipv6-unfiltered",
    severity: Severity::Warning,
    cause: "IPv6 has rules of its own: the rules of /ip/firewall do not see its packets, and hosts with IPv6 addresses \
            are open to the internet without any translation",
    mend: "add rules to /ipv6/firewall/filter: accept established and ICMPv6, drop what comes from outside",
    find: |config, found| {
        let is_off = { config.settings("/ipv6/settings") }
            .is_some_and(|settings| settings.is("disable-ipv6"));
        let drops = |table: &str, chain: &str| {
            let mut rules = config.chain(table, chain).iter();
            rules.any(|rule| matches!(rule.text("action"), "drop" | "reject"))
        };
        let is_filtered = |table: &str| drops(table, "input") || drops(table, "forward");
        if is_off || !is_filtered(FILTER) || is_filtered(FILTER6) {
            return;
        }
        if let Some((item, what)) = global_ipv6(config) {
            found.add(
                &[item],
                format!("{what}, and /ipv6/firewall/filter drops nothing"),
            );
        }
    },
};

/// Returns an item that gives the router or its hosts global IPv6 addresses.
fn global_ipv6<'a>(config: &Config<'a>) -> Option<(&'a Item, String)> {
    if let Some(client) = config.enabled("/ipv6/dhcp-client").first() {
        return Some((client, "a provider gives IPv6 addresses".to_owned()));
    }
    let addresses = config.enabled("/ipv6/address");
    let is_global = |item: &&&Item| shown(item, "address").starts_with(['2', '3']);
    let item = addresses.iter().find(is_global)?;
    Some((item, format!("{} is global", shown(item, "address"))))
}
