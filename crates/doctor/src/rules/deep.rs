//! Matchers on payload: Layer7 patterns and TLS host names.

use std::collections::BTreeSet;

use menu::Item;

use crate::config::{FILTER, MANGLE, has, has_any, name, shown, title};
use crate::packet::names_port;
use crate::rule::{Rule, Severity};

pub(super) const L7_DROP_UNSCOPED: Rule = Rule {
    name: "l7-drop-unscoped",
    severity: Severity::Warning,
    cause: "the rule drops packets by layer7-protocol in all connections: the router searches every packet for the \
            pattern, and most packets have passed before the pattern is complete",
    mend: "mark the connection once in mangle (with protocol, port and connection-mark=no-mark), and drop packets by \
           this mark",
    find: |config, found| {
        for rule in config.enabled(FILTER) {
            let drops = matches!(rule.text("action"), "drop" | "reject" | "tarpit");
            let scoped = has_any(
                rule,
                &[
                    "dst-port",
                    "port",
                    "connection-mark",
                    "packet-mark",
                    "connection-bytes",
                ],
            );
            if drops && has(rule, "layer7-protocol") && !scoped {
                let pattern = rule.text("layer7-protocol");
                found.add(
                    &[rule],
                    format!("all connections are searched for {pattern}"),
                );
            }
        }
    },
};

pub(super) const L7_ONE_DIRECTION: Rule = Rule {
    name: "l7-one-direction",
    severity: Severity::Warning,
    cause: "Layer7 collects both directions of a connection, but a rule in input or prerouting sees only one \
            direction of the router's own connections",
    mend: "use chain forward, or add the rule to output or postrouting as well",
    find: |config, found| {
        for (path, chain, twin) in [
            (FILTER, "input", "output"),
            (MANGLE, "prerouting", "postrouting"),
        ] {
            let twins = config.chain(path, twin);
            for rule in config.chain(path, chain) {
                let pattern = rule.text("layer7-protocol");
                // The first packet of a DNS query has the name, and passes this chain.
                let is_query = name(rule, "protocol") == Some("udp")
                    && matches!(&*shown(rule, "dst-port"), "53");
                if is_query {
                    continue;
                }
                let answered = twins
                    .iter()
                    .any(|twin| twin.text("layer7-protocol") == pattern);
                if !pattern.is_empty() && !answered {
                    found.add(
                        &[rule],
                        format!("{pattern} is matched in {chain}, not in {twin}"),
                    );
                }
            }
        }
    },
};

pub(super) const L7_HTTPS: Rule = Rule {
    name: "l7-https",
    severity: Severity::Warning,
    cause: "TLS encrypts the content of web pages, so a Layer7 pattern cannot find names in it",
    mend: "match tls-host=*.name with protocol=tcp dst-port=443, or block the name in DNS",
    find: |config, found| {
        for rule in [FILTER, MANGLE]
            .iter()
            .flat_map(|path| config.enabled(path))
        {
            let https =
                names_port(&shown(rule, "dst-port"), 443) && shown(rule, "dst-port") != "0-65535";
            if has(rule, "layer7-protocol") && https {
                let pattern = rule.text("layer7-protocol");
                found.add(&[rule], format!("{pattern} is matched on port 443"));
            }
        }
    },
};

/// Matchers that need more than the first packet of a connection.
const DEEP_MATCHERS: &[&str] = &["tls-host", "layer7-protocol", "content", "connection-rate"];

pub(super) const TLS_AFTER_FASTTRACK: Rule = Rule {
    name: "tls-after-fasttrack",
    severity: Severity::Error,
    cause: "packets of established connections take FastTrack or are accepted before this rule. The values that it \
            matches occur only in such packets, so its counter stays at 0",
    mend: "add connection-bytes=10000-0 to the FastTrack rule and to the following accept rule, and move this rule \
           before them",
    find: |config, found| {
        for fasttrack in config.fasttracks() {
            if has(fasttrack, "connection-bytes") {
                continue;
            }
            let chain = config.chain(FILTER, fasttrack.text("chain"));
            let behind = chain
                .iter()
                .skip_while(|rule| rule.id != fasttrack.id)
                .skip(1);
            for rule in behind.filter(|rule| has_any(rule, DEEP_MATCHERS)) {
                let what = DEEP_MATCHERS
                    .iter()
                    .find(|what| has(rule, what))
                    .unwrap_or(&"");
                let said = format!("{what}={} is matched after FastTrack", shown(rule, what));
                found.add(&[rule, fasttrack], said);
            }
        }
    },
};

fn asks_https(rule: &Item) -> bool {
    name(rule, "protocol") == Some("tcp") && has_any(rule, &["dst-port", "port"])
}

pub(super) const TLS_HOST_NOT_TCP443: Rule = Rule {
    name: "tls-host-not-tcp443",
    severity: Severity::Advice,
    cause: "a rule with tls-host but without a port searches every connection for a TLS handshake",
    mend: "add protocol=tcp dst-port=443",
    find: |config, found| {
        for rule in config.enabled(FILTER) {
            let host = shown(rule, "tls-host");
            // QUIC carries host names as well.
            let quic = name(rule, "protocol") == Some("udp");
            if !host.is_empty() && !quic && !asks_https(rule) {
                found.add(&[rule], format!("tls-host={host} is matched on all ports"));
            }
        }
    },
};

pub(super) const TLS_HOST_BARE_DOMAIN: Rule = Rule {
    name: "tls-host-bare-domain",
    severity: Severity::Advice,
    cause: "*.name does not match the name itself",
    mend: "add a rule for the name itself",
    find: |config, found| {
        let rules = config.enabled(FILTER);
        let hosts: BTreeSet<_> = rules.iter().map(|rule| shown(rule, "tls-host")).collect();
        for rule in rules {
            let host = shown(rule, "tls-host");
            let Some(bare) = host.strip_prefix("*.") else {
                continue;
            };
            let others = [bare.to_owned(), format!("*{bare}"), format!("*{bare}*")];
            if !others.iter().any(|other| hosts.contains(other)) {
                found.add(
                    &[rule],
                    format!("{} matches {host}, not {bare}", title(rule)),
                );
            }
        }
    },
};
