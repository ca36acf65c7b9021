//! Firewall verdicts for packets from the Internet, as far as the configuration alone determines them.

use std::net::IpAddr;

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
    /// Destination, after translation; `None` if unknown.
    pub(crate) destination: Option<IpAddr>,
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
    deciding_rule(config, path, chain, packet).0
}

/// Returns the verdict of a chain, and the rule of this chain that gives a certain verdict.
pub(crate) fn deciding_rule<'a>(
    config: &Config<'a>,
    path: &str,
    chain: &str,
    packet: Packet<'_>,
) -> (Option<Verdict>, Option<&'a Item>) {
    let mut walk = Walk {
        config,
        path,
        packet,
        left: MAX_RULES,
        may_accept: false,
        may_drop: false,
    };
    let decision = walk.follow(chain, MAX_DEPTH);
    let verdict = decision.map(|(verdict, _)| verdict);
    match (verdict, walk.may_accept, walk.may_drop) {
        (None, false, false) => (None, None),
        // Undecided rules with the same verdict change nothing.
        (Some(Verdict::Accepted), _, false) | (Some(Verdict::Dropped), false, _) => {
            (verdict, decision.map(|(_, rule)| rule))
        }
        _ => (Some(Verdict::Unknown), None),
    }
}

/// Evaluation of a packet by chains that jump to each other.
struct Walk<'c, 'a, 'p> {
    config: &'c Config<'a>,
    path: &'p str,
    packet: Packet<'p>,
    /// Rules that may still be evaluated.
    left: usize,
    /// True if an undecided rule accepts the packet in case it matches.
    may_accept: bool,
    may_drop: bool,
}

impl<'a> Walk<'_, 'a, '_> {
    /// Returns the certain verdict of a chain with its rule, and notes the verdicts of undecided rules.
    fn follow(&mut self, chain: &str, depth: usize) -> Option<(Verdict, &'a Item)> {
        // False after an undecided rule that leaves the chain.
        let mut is_inside = true;
        let config = self.config;
        for rule in config.chain(self.path, chain).iter().copied() {
            let Some(left) = self.left.checked_sub(1) else {
                (self.may_accept, self.may_drop) = (true, true);
                return None;
            };
            self.left = left;
            let matches = rule_matches(config, rule, self.packet);
            if matches == Some(false) {
                continue;
            }
            let is_sure = matches == Some(true);
            let verdict = match rule.text("action") {
                "accept" | "" => Some(Verdict::Accepted),
                "drop" | "reject" | "tarpit" => Some(Verdict::Dropped),
                "return" if is_sure => return None,
                "return" => {
                    is_inside = false;
                    None
                }
                "jump" if depth > 0 => {
                    let decision = self.follow(rule.text("jump-target"), depth - 1);
                    decision.map(|(verdict, _)| verdict)
                }
                "jump" => {
                    (self.may_accept, self.may_drop) = (true, true);
                    None
                }
                _ => None,
            };
            let Some(verdict) = verdict else {
                continue;
            };
            if is_sure && is_inside {
                return Some((verdict, rule));
            }
            self.may_accept |= verdict == Verdict::Accepted;
            self.may_drop |= verdict == Verdict::Dropped;
            if is_sure {
                return None;
            }
        }
        None
    }
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
        "dst-address" => {
            let net = value.as_prefix()?;
            // No packet from another host has a loopback address.
            let is_loopback = net.addr().is_loopback() && net.prefix_len() >= 8;
            match packet.destination {
                Some(destination) => Some(net.contains(&destination)),
                None => is_loopback.then_some(false),
            }
        }
        // A packet in clear; `in,ipsec` matches decrypted ones.
        "ipsec-policy" => match value.to_string().as_str() {
            "in,ipsec" => Some(false),
            "in,none" => Some(true),
            "out,ipsec" | "out,none" => {
                let is_encrypted = may_be_encrypted(config, packet.destination);
                (!is_encrypted).then(|| value.to_string() == "out,none")
            }
            _ => None,
        },
        "dst-address-type" if has("local") => Some(!packet.is_translated),
        _ => None,
    }
}

/// Returns true unless no IPsec policy encrypts packets to a destination.
fn may_be_encrypted(config: &Config<'_>, destination: Option<IpAddr>) -> bool {
    // A template takes any addresses.
    let mut policies = config.enabled("/ip/ipsec/policy").into_iter();
    policies.any(|policy| {
        let is_used = !policy.is("template") || !config.enabled("/ip/ipsec/identity").is_empty();
        let net = policy.get("dst-address").and_then(Value::as_prefix);
        let covers = match (net, destination) {
            (Some(net), Some(address)) => net.contains(&address),
            _ => true,
        };
        is_used && covers
    })
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
