//! Firewall verdicts for packets from the Internet, as far as the configuration alone determines them.

use menu::{Item, Value};

use crate::config::Config;

/// First packet of a new connection, with its ingress interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    pub(crate) ingress: &'a str,
    pub(crate) protocol: &'a str,
    pub(crate) port: u16,
    /// True if destination NAT translated the packet.
    pub(crate) is_translated: bool,
}

/// Verdict of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accepted,
    Dropped,
    /// Depends on unknown properties of the packet.
    Unknown,
}

/// Whether a rule matches the packet; `None` if unknown.
type MatchResult = Option<bool>;

/// Properties that are no matchers.
const NO_MATCHERS: &[&str] = &[
    "chain",
    "action",
    "comment",
    "disabled",
    "log",
    "log-prefix",
    "jump-target",
    "reject-with",
    "address-list",
    "address-list-timeout",
    "bytes",
    "packets",
    "dynamic",
    "invalid",
    "hw-offload",
];
/// Maximum depth of jumps, and maximum number of evaluated rules: chains may jump to each other many times.
const MAX_DEPTH: usize = 8;
const MAX_RULES: usize = 20_000;

/// Returns the verdict of a chain; `None` if the packet passes the end of the chain.
pub(crate) fn chain_verdict(
    config: &Config<'_>,
    path: &str,
    chain: &str,
    packet: Packet<'_>,
) -> Option<Verdict> {
    let mut left = MAX_RULES;
    follow(config, path, chain, packet, MAX_DEPTH, &mut left)
}

fn follow(
    config: &Config<'_>,
    path: &str,
    chain: &str,
    packet: Packet<'_>,
    depth: usize,
    left: &mut usize,
) -> Option<Verdict> {
    let mut unsure = false;
    for rule in config.chain(path, chain) {
        let Some(less) = left.checked_sub(1) else {
            return Some(Verdict::Unknown);
        };
        *left = less;
        let sure = rule_matches(config, rule, packet);
        if sure == Some(false) {
            continue;
        }
        let verdict = match rule.text("action") {
            "accept" | "" => Some(Verdict::Accepted),
            "drop" | "reject" | "tarpit" => Some(Verdict::Dropped),
            "return" if sure == Some(true) => return unsure.then_some(Verdict::Unknown),
            "return" => Some(Verdict::Unknown),
            "jump" if depth > 0 => {
                let target = rule.text("jump-target");
                follow(config, path, target, packet, depth - 1, left)
            }
            _ => None,
        };
        match (verdict, sure) {
            (Some(Verdict::Unknown), _) | (Some(_), None) => unsure = true,
            (Some(Verdict::Accepted), _) if unsure => return Some(Verdict::Unknown),
            (Some(verdict), _) => return Some(verdict),
            (None, _) => {}
        }
    }
    unsure.then_some(Verdict::Unknown)
}

/// Evaluates the matchers of a rule.
fn rule_matches(config: &Config<'_>, rule: &Item, packet: Packet<'_>) -> MatchResult {
    let mut all = Some(true);
    for (property, value) in rule.values() {
        if NO_MATCHERS.contains(&property.name) || property.read_only || value.is_empty() {
            continue;
        }
        let (value, negated) = match value {
            Value::Not(value) => (&**value, true),
            value => (value, false),
        };
        match matcher_result(config, property.name, value, packet).map(|meets| meets != negated) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => all = None,
        }
    }
    all
}

fn matcher_result(
    config: &Config<'_>,
    property: &str,
    value: &Value,
    packet: Packet<'_>,
) -> MatchResult {
    let has = |word: &str| match value {
        Value::List(list) => list.iter().any(|one| one.as_str() == Some(word)),
        one => one.as_str() == Some(word),
    };
    match property {
        // `all-ethernet`, `all-ppp` and others stand for many interfaces.
        "in-interface" if value.as_str().is_some_and(|name| name.starts_with("all-")) => None,
        "in-interface" => Some(has(packet.ingress)),
        "in-interface-list" => Some(config.is_in(packet.ingress, value.as_str()?)),
        "protocol" => Some(has(packet.protocol)),
        "dst-port" | "port" => Some(names_port(&value.to_string(), packet.port)),
        "connection-state" => Some(has("new")),
        "connection-nat-state" => Some(packet.is_translated && has("dstnat")),
        "dst-address-type" if has("local") => Some(true),
        _ => None,
    }
}

/// Returns true if a list of ports and ranges contains a port.
pub(crate) fn names_port(list: &str, port: u16) -> bool {
    ranges(list).any(|(from, to)| (from..=to).contains(&port))
}

/// Iterates over the ranges of a list; skips malformed ones.
pub(crate) fn ranges(list: &str) -> impl Iterator<Item = (u16, u16)> {
    list.split(',').filter_map(|range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        Some((from.trim().parse().ok()?, to.trim().parse().ok()?))
    })
}
