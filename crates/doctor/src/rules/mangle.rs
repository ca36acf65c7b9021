//! Packet and connection marks.

use crate::config::{MANGLE, has_any, shown, words};
use crate::rule::{Rule, Severity};

/// Matchers that inspect payload or search a list for each packet.
const EXPENSIVE_MATCHERS: &[&str] = &[
    "layer7-protocol",
    "content",
    "tls-host",
    "src-address-list",
    "dst-address-list",
];

pub(super) const MANGLE_PACKET_PER_PACKET: Rule = Rule {
    name: "mangle-packet-per-packet",
    severity: Severity::Advice,
    cause: "the rule examines every packet, although the result is the same for all packets of a connection",
    mend: "mark new connections by these matchers, and packets by connection-mark",
    find: |config, found| {
        for rule in config.enabled(MANGLE) {
            let light = has_any(rule, &["connection-mark", "connection-state"]);
            let what = ["layer7-protocol", "content", "tls-host"]
                .iter()
                .find(|what| has_any(rule, &[what]));
            if let (true, false, Some(what)) = (rule.text("action") == "mark-packet", light, what) {
                found.add(
                    &[rule],
                    format!("{what}={} is checked for each packet", shown(rule, what)),
                );
            }
        }
    },
};

pub(super) const MARK_CONNECTION_NOT_NEW: Rule = Rule {
    name: "mark-connection-not-new",
    severity: Severity::Advice,
    cause: "the rule sets the connection mark again for every packet",
    mend: "add connection-mark=no-mark or connection-state=new",
    find: |config, found| {
        for rule in config
            .enabled(MANGLE)
            .into_iter()
            .filter(|rule| rule.text("action") == "mark-connection")
        {
            let once = has_any(rule, &["connection-mark"])
                || words(rule.get("connection-state")).contains(&"new");
            if !once && has_any(rule, EXPENSIVE_MATCHERS) {
                let mark = shown(rule, "new-connection-mark");
                let fix = format!("{MANGLE}/set {} connection-mark=no-mark", rule.id);
                found.fixed(
                    &[rule],
                    format!("mark {mark} is set for every packet"),
                    vec![fix],
                );
            }
        }
    },
};
