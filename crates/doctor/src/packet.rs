//! Whether rules let a packet of strangers in: what is sure of that, without asking a running router.

use menu::{Item, Value};

use crate::config::Config;

/// A new connection's first packet that comes in by an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    pub(crate) ingress: &'a str,
    pub(crate) protocol: &'a str,
    pub(crate) port: u16,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Accepted,
    Dropped,
    /// It depends on what only the packet knows.
    Unknown,
}

/// Whether a rule takes the packet; none: that cannot be said.
type Sure = Option<bool>;

/// Properties that match nothing.
const NOT_ASKED: &[&str] = &[
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
/// How far chains are followed, and how many rules are asked: chains may jump to each other many times.
const DEEP: usize = 8;
const RULES: usize = 20_000;

/// What becomes of the packet in a chain; nothing if it comes out at its end.
pub(crate) fn through(
    config: &Config<'_>,
    path: &str,
    chain: &str,
    packet: Packet<'_>,
) -> Option<Fate> {
    let mut left = RULES;
    follow(config, (path, chain), packet, (DEEP, &mut left))
}

fn follow(
    config: &Config<'_>,
    (path, chain): (&str, &str),
    packet: Packet<'_>,
    (deep, left): (usize, &mut usize),
) -> Option<Fate> {
    let mut unsure = false;
    for rule in config.chain(path, chain) {
        let Some(less) = left.checked_sub(1) else {
            return Some(Fate::Unknown);
        };
        *left = less;
        let sure = meets(config, rule, packet);
        if sure == Some(false) {
            continue;
        }
        let fate = match rule.text("action") {
            "accept" | "" => Some(Fate::Accepted),
            "drop" | "reject" | "tarpit" => Some(Fate::Dropped),
            "return" if sure == Some(true) => return unsure.then_some(Fate::Unknown),
            "return" => Some(Fate::Unknown),
            "jump" if deep > 0 => {
                let target = (path, rule.text("jump-target"));
                follow(config, target, packet, (deep - 1, left))
            }
            _ => None,
        };
        match (fate, sure) {
            (Some(Fate::Unknown), _) | (Some(_), None) => unsure = true,
            (Some(Fate::Accepted), _) if unsure => return Some(Fate::Unknown),
            (Some(fate), _) => return Some(fate),
            (None, _) => {}
        }
    }
    unsure.then_some(Fate::Unknown)
}

/// Whether a rule takes the packet.
fn meets(config: &Config<'_>, rule: &Item, packet: Packet<'_>) -> Sure {
    let mut all = Some(true);
    for (property, value) in rule.values() {
        if NOT_ASKED.contains(&property.name) || property.read_only || value.is_empty() {
            continue;
        }
        let (value, negated) = match value {
            Value::Not(value) => (&**value, true),
            value => (value, false),
        };
        match asks(config, property.name, value, packet).map(|meets| meets != negated) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => all = None,
        }
    }
    all
}

fn asks(config: &Config<'_>, property: &str, value: &Value, packet: Packet<'_>) -> Sure {
    let has = |word: &str| match value {
        Value::List(list) => list.iter().any(|one| one.as_str() == Some(word)),
        one => one.as_str() == Some(word),
    };
    match property {
        "in-interface" => Some(has(packet.ingress)),
        "in-interface-list" => Some(config.is_in(packet.ingress, value.as_str()?)),
        "protocol" => Some(has(packet.protocol)),
        "dst-port" | "port" => Some(names_port(&value.to_string(), packet.port)),
        "connection-state" => Some(has("new")),
        // Nobody translates to what listens here.
        "connection-nat-state" => Some(false),
        "dst-address-type" if has("local") => Some(true),
        _ => None,
    }
}

/// Whether a list of ports and ranges has a port.
pub(crate) fn names_port(list: &str, port: u16) -> bool {
    ranges(list).any(|(from, to)| (from..=to).contains(&port))
}

/// The ranges of a list of numbers; what is none is left out.
pub(crate) fn ranges(list: &str) -> impl Iterator<Item = (u16, u16)> {
    list.split(',').filter_map(|range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        Some((from.trim().parse().ok()?, to.trim().parse().ok()?))
    })
}
