//! NAT and connection tracking.

use std::collections::BTreeSet;

use menu::Item;

use crate::config::{Config, FILTER, NAT, RAW, has, has_any, name, shown, title, words};
use crate::rule::{Rule, Severity};

/// Returns true for srcnat rules that translate the source.
fn translates(rule: &Item) -> bool {
    rule.text("chain") == "srcnat"
        && matches!(
            rule.text("action"),
            "masquerade" | "src-nat" | "netmap" | "same"
        )
}

pub(super) const MASQUERADE_IPSEC: Rule = Rule {
    name: "masquerade-ipsec",
    severity: Severity::Error,
    cause: "srcnat precedes IPsec policies: a packet with a translated source no longer matches its policy, and \
            leaves unencrypted or is lost",
    mend: "add ipsec-policy=out,none to the rule, or accept the policy's traffic before it",
    find: |config, found| {
        let policies = config.policies();
        let Some(policy) = policies.first() else {
            return;
        };
        if config
            .enabled(RAW)
            .iter()
            .any(|rule| rule.text("action") == "notrack")
        {
            return;
        }
        for rule in config.chain(NAT, "srcnat") {
            if rule.text("action") == "accept"
                && has_any(rule, &["dst-address", "dst-address-list", "ipsec-policy"])
            {
                return;
            }
            let narrow = has_any(
                rule,
                &[
                    "ipsec-policy",
                    "dst-address",
                    "dst-address-list",
                    "protocol",
                ],
            );
            if translates(rule) && !narrow {
                let fix = format!("{NAT}/set {} ipsec-policy=out,none", rule.id);
                let said = format!(
                    "{} translates traffic that IPsec should encrypt",
                    title(rule)
                );
                found.fixed(&[rule, policy], said, vec![fix]);
            }
        }
    },
};

pub(super) const MASQUERADE_STATIC_IP: Rule = Rule {
    name: "masquerade-static-ip",
    severity: Severity::Advice,
    cause: "masquerade reads the interface's address for each new connection, and removes all its connections when \
            the interface goes down; a static address needs neither",
    mend: "use action=src-nat with to-addresses= that address",
    find: |config, found| {
        // With a second uplink, connections must be dropped when the first fails: masquerade does that.
        if config.uplinks() > 1 || config.wan().len() > 1 {
            return;
        }
        let addresses = config.enabled("/ip/address");
        for rule in config
            .chain(NAT, "srcnat")
            .iter()
            .filter(|rule| rule.text("action") == "masquerade")
        {
            let Some(out) = name(rule, "out-interface") else {
                continue;
            };
            let mut own = addresses
                .iter()
                .filter(|item| item.text("interface") == out);
            let (Some(address), None) = (own.next(), own.next()) else {
                continue;
            };
            let dynamic = config
                .enabled("/ip/dhcp-client")
                .iter()
                .any(|client| client.text("interface") == out);
            if !dynamic {
                let to = shown(address, "address");
                let to = to.split('/').next().unwrap_or_default();
                let fix = format!("{NAT}/set {} action=src-nat to-addresses={to}", rule.id);
                found.fixed(
                    &[rule, address],
                    format!("{out} always has {to}"),
                    vec![fix],
                );
            }
        }
    },
};

pub(super) const MASQUERADE_EVERYTHING: Rule = Rule {
    name: "masquerade-everything",
    severity: Severity::Warning,
    cause: "masquerade without an interface also translates traffic between the networks behind this router: servers \
            see the router's address, and rules by source address match nothing",
    mend: "add the outside interface as out-interface or out-interface-list",
    find: |config, found| {
        for rule in config
            .chain(NAT, "srcnat")
            .iter()
            .filter(|rule| rule.text("action") == "masquerade")
        {
            let scopes = [
                "out-interface",
                "out-interface-list",
                "dst-address",
                "dst-address-list",
                "src-address",
                "src-address-list",
                "routing-mark",
                "connection-mark",
                "packet-mark",
                "protocol",
                "dst-address-type",
                "out-bridge-port",
                "connection-nat-state",
                "hotspot",
            ];
            if !has_any(rule, &scopes) {
                found.add(&[rule], String::from("all routed traffic is masqueraded"));
            }
        }
    },
};

/// Returns the rules that disable connection tracking.
fn untracked<'a>(config: &Config<'a>) -> Vec<&'a Item> {
    let mut rules = config.enabled(RAW);
    rules.retain(|rule| rule.text("action") == "notrack");
    rules
}

pub(super) const NOTRACK_WITHOUT_ACCEPT: Rule = Rule {
    name: "notrack-without-accept",
    severity: Severity::Error,
    cause: "untracked packets are neither established nor related: the rule that accepts those states does not \
            match, and the final rule drops them",
    mend: "add untracked to the accepted states",
    find: |config, found| {
        let untracked = untracked(config);
        let Some(notrack) = untracked.first() else {
            return;
        };
        let forward = config.chain(FILTER, "forward");
        let drops = forward.iter().position(|rule| {
            rule.text("action") == "drop"
                && !has_any(
                    rule,
                    &[
                        "src-address",
                        "dst-address",
                        "protocol",
                        "src-address-list",
                        "dst-address-list",
                    ],
                )
                && (!has(rule, "connection-state")
                    || words(rule.get("connection-state")).contains(&"new"))
        });
        let Some(end) = drops else { return };
        let before = &forward[..end];
        let accepts = |rule: &&Item| {
            let states = words(rule.get("connection-state"));
            rule.text("action") == "accept" && (states.is_empty() || states.contains(&"untracked"))
        };
        let established = before
            .iter()
            .find(|rule| words(rule.get("connection-state")).contains(&"established"));
        if let (Some(rule), false) = (established, before.iter().any(accepts)) {
            let states = shown(rule, "connection-state");
            let fix = format!(
                "{FILTER}/set {} connection-state={states},untracked",
                rule.id
            );
            found.fixed(
                &[notrack, rule],
                String::from("untracked packets are dropped in forward"),
                vec![fix],
            );
        }
    },
};

pub(super) const NOTRACK_ONE_DIRECTION: Rule = Rule {
    name: "notrack-one-direction",
    severity: Severity::Error,
    cause: "only one direction of these connections is tracked: the tracked packets never see a reply, and become \
            invalid",
    mend: "add the rule with source and destination exchanged",
    find: |config, found| {
        let rules = untracked(config);
        let ends = |rule: &Item| (shown(rule, "src-address"), shown(rule, "dst-address"));
        let all: BTreeSet<_> = rules.iter().map(|rule| ends(rule)).collect();
        for rule in rules {
            let (from, to) = ends(rule);
            let mirrored = all.contains(&(to.clone(), from.clone()));
            if from != to && !from.is_empty() && !to.is_empty() && !mirrored {
                let chain = rule.text("chain");
                let fix = format!(
                    "{RAW}/add chain={chain} action=notrack src-address={to} dst-address={from}"
                );
                found.fixed(
                    &[rule],
                    format!("traffic from {to} to {from} is tracked"),
                    vec![fix],
                );
            }
        }
    },
};

pub(super) const NO_DROP_INVALID: Rule = Rule {
    name: "no-drop-invalid",
    severity: Severity::Advice,
    cause: "packets without a connection are not translated: they leave with private source addresses",
    mend: "drop connection-state=invalid in forward",
    find: |config, found| {
        let rules = config.chain(NAT, "srcnat");
        let Some(nat) = rules.iter().find(|rule| translates(rule)) else {
            return;
        };
        let forward = config.chain(FILTER, "forward");
        let drops = |rule: &&Item| {
            matches!(rule.text("action"), "drop" | "reject" | "jump")
                && (words(rule.get("connection-state")).contains(&"invalid")
                    || !has(rule, "connection-state"))
        };
        if !forward.is_empty() && !forward.iter().any(drops) {
            let fix = format!(
                "{FILTER}/add chain=forward action=drop connection-state=invalid place-before={}",
                forward[0].id
            );
            found.fixed(
                &[nat],
                String::from("forward lets invalid packets pass"),
                vec![fix],
            );
        }
    },
};

pub(super) const DSTNAT_IN_INTERFACE_HAIRPIN: Rule = Rule {
    name: "dstnat-in-interface-hairpin",
    severity: Severity::Advice,
    cause: "the rule matches only packets from outside: inside hosts cannot reach the server by its public address",
    mend: "match dst-address, and masquerade traffic from the inside network to the server",
    find: |config, found| {
        let srcnat = config.chain(NAT, "srcnat");
        let hairpins =
            |rule: &&Item| has_any(rule, &["src-address", "src-address-list"]) && translates(rule);
        if srcnat.iter().any(hairpins) {
            return;
        }
        for rule in config.chain(NAT, "dstnat") {
            let by_interface = has_any(rule, &["in-interface", "in-interface-list"]);
            let address = has_any(
                rule,
                &["dst-address", "dst-address-type", "dst-address-list"],
            );
            if rule.text("action") == "dst-nat" && by_interface && !address {
                let said = format!(
                    "{} matches only traffic from {}{}",
                    title(rule),
                    shown(rule, "in-interface"),
                    shown(rule, "in-interface-list")
                );
                // One finding covers all rules.
                found.add(&[rule], said);
                return;
            }
        }
    },
};
