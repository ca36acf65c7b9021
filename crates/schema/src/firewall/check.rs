//! Checks of a firewall rule as a whole.

use menu::{Draft, Reason, Store, Value};

/// Checks a rule as a whole. Refuses rules that could never be applied to a packet. A rule with a missing mark
/// or target is stored and shown invalid, because scripts may set it later.
pub(super) fn check(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let protocol = Protocols::of(draft);
    asks_for_ports(draft, &protocol)?;
    is_of_its_protocol(draft, &protocol)?;
    is_in_place(draft)?;
    rates(draft)?;
    counts(draft)
}

/// The protocols that a rule may match.
enum Protocols {
    /// All protocols.
    Any,
    /// One protocol.
    One(i64),
    /// All protocols except one.
    NotOne(i64),
}

impl Protocols {
    fn of(draft: &Draft<'_>) -> Self {
        let number = |value: &Value| match value {
            Value::Number(number) => Some(*number),
            value => {
                let word = value.as_str()?;
                let mut known = KNOWN.iter();
                let found = known.find(|(name, _)| *name == word);
                // Other protocols need no number here.
                Some(found.map_or(-1, |(_, number)| *number))
            }
        };
        match draft.get("protocol") {
            Some(Value::Not(inner)) => number(inner).map_or(Self::Any, Self::NotOne),
            Some(value) => number(value).map_or(Self::Any, Self::One),
            None => Self::Any,
        }
    }

    /// True if the rule matches only this protocol.
    const fn is(&self, number: i64) -> bool {
        matches!(self, Self::One(own) if *own == number)
    }

    /// True if the rule cannot match this protocol.
    const fn is_without(&self, number: i64) -> bool {
        match self {
            Self::Any => false,
            Self::One(own) => *own != number,
            Self::NotOne(other) => *other == number,
        }
    }
}

/// RouterOS: a rule that matches ports must match a protocol with ports. A rule with `to-ports` need not match
/// a protocol, but must not match one without ports. A negated protocol (`!icmp`) is accepted.
fn asks_for_ports(draft: &Draft<'_>, protocol: &Protocols) -> Result<(), Reason> {
    let any = |names: &[&str]| names.iter().any(|name| draft.get(name).is_some());
    let asks = any(&["src-port", "dst-port", "port"]);
    let fits = match protocol {
        Protocols::Any => !asks,
        Protocols::One(own) => WITH_PORTS.iter().any(|(_, number)| number == own),
        Protocols::NotOne(_) => true,
    };
    if fits || !asks && !any(&["to-ports"]) {
        return Ok(());
    }
    let names = WITH_PORTS.map(|(name, _)| name).join(",");
    Err(Reason::failure(format!(
        "ports can be specified if proto is {names}"
    )))
}

/// Refuses matchers and actions that apply to packets of another protocol only.
///
/// RouterOS's kernel accepts these actions for TCP only. The rule is refused rather than shown invalid, because
/// an invalid rule would let packets pass that the user wants to stop.
fn is_of_its_protocol(draft: &Draft<'_>, protocol: &Protocols) -> Result<(), Reason> {
    let word = |name: &str| draft.get(name).and_then(Value::as_str);
    let action = word("action").unwrap_or_default();
    let resets = action == "reject" && word("reject-with") == Some("tcp-reset");
    let of_tcp = resets || ["tarpit", "change-mss"].contains(&action);
    if of_tcp && !protocol.is(TCP) {
        let what = if resets { "tcp-reset" } else { action };
        return Err(Reason::failure(format!("{what} requires protocol=tcp")));
    }
    let has = |name: &&str| draft.get(name).is_some();
    if let Some(name) = ["tcp-flags", "tcp-mss"].iter().find(|name| has(name))
        && protocol.is_without(TCP)
    {
        return Err(Reason::failure(format!(
            "{name} can be specified if proto is tcp"
        )));
    }
    // In IPv6 tables the options are those of ICMPv6.
    if has(&"icmp-options") && protocol.is_without(ICMP) && protocol.is_without(ICMPV6) {
        return Err(Reason::failure(
            "icmp-options can be specified if proto is icmp",
        ));
    }
    Ok(())
}

/// RouterOS: refuses interface matchers that packets of the chain do not have (yet), and routing marks after
/// the routing decision.
fn is_in_place(draft: &Draft<'_>) -> Result<(), Reason> {
    let word = |name: &str| draft.get(name).and_then(Value::as_str);
    let any = |names: &[&str]| names.iter().any(|name| draft.get(name).is_some());
    let chain = word("chain").unwrap_or_default();
    let said = match chain {
        "input" | "prerouting" | "dstnat" if any(&["out-interface", "out-interface-list"]) => {
            "outgoing interface matching not possible in input and prerouting chains"
        }
        "output" | "postrouting" | "srcnat" if any(&["in-interface", "in-interface-list"]) => {
            "incoming interface matching not possible in output and postrouting chains"
        }
        "input" | "forward" | "postrouting" if word("action") == Some("mark-routing") => {
            "routing-mark allowed only in output and prerouting chains"
        }
        // RouterOS: documented for prerouting only.
        "input" | "forward" | "output" | "postrouting" if word("action") == Some("route") => {
            "route allowed only in prerouting chain"
        }
        _ => return Ok(()),
    };
    Err(Reason::failure(said))
}

/// Returns the value of a matcher, without negation.
fn unturned<'a>(draft: &'a Draft<'_>, name: &str) -> Option<&'a Value> {
    match draft.get(name)? {
        Value::Not(inner) => Some(inner),
        value => Some(value),
    }
}

/// Returns a part of a matcher's value, with its separator.
fn part<'a>(draft: &'a Draft<'_>, name: &str, at: usize) -> Option<(&'a str, &'a Value)> {
    match unturned(draft, name)? {
        Value::Parts(parts) => parts.get(at).map(|(before, value)| (*before, value)),
        Value::Tuple(_, parts) => parts.get(at).map(|value| ("", value)),
        _ => None,
    }
}

fn number(draft: &Draft<'_>, name: &str, at: usize) -> Option<i64> {
    part(draft, name, at)?.1.as_number()
}

/// Refuses rates of zero, and rates above RouterOS's maximum.
fn rates(draft: &Draft<'_>) -> Result<(), Reason> {
    for name in ["limit", "dst-limit"] {
        if number(draft, name, 0).is_some_and(|rate| !(1..=RATE_MAX).contains(&rate)) {
            let said = format!("value of {name} out of range (1..{RATE_MAX})");
            return Err(Reason::BadValue(said));
        }
        let span = part(draft, name, 1).filter(|(before, _)| *before == "/");
        if span.is_some_and(|(_, span)| span.as_nanos() == Some(0)) {
            return Err(invalid(name));
        }
    }
    Ok(())
}

/// Refuses numbers that select no packet or all packets.
fn counts(draft: &Draft<'_>) -> Result<(), Reason> {
    if let Some(every) = number(draft, "nth", 0)
        && number(draft, "nth", 1).is_some_and(|packet| packet > every)
    {
        let said = format!("value of nth out of range (1..{every})");
        return Err(Reason::BadValue(said));
    }
    // As in the kernel module that implements RouterOS's port scan detection.
    let psd = [0, 2, 3].map(|at| number(draft, "psd", at));
    if psd[0] == Some(0) || psd[1..] == [Some(0); 2] {
        return Err(invalid("psd"));
    }
    match part(draft, "time", 2) {
        Some((_, days)) if days.as_list().is_empty() => Err(invalid("time")),
        _ => Ok(()),
    }
}

fn invalid(name: &str) -> Reason {
    Reason::BadValue(format!("invalid value for argument {name}"))
}

/// RouterOS: maximum rate of `limit`.
const RATE_MAX: i64 = 32_000_000_000;

const ICMP: i64 = 1;
const TCP: i64 = 6;
const UDP: i64 = 17;
const ICMPV6: i64 = 58;

/// Numbers of the protocols that rules depend on, by name.
const KNOWN: [(&str, i64); 7] = [
    WITH_PORTS[0],
    WITH_PORTS[1],
    WITH_PORTS[2],
    WITH_PORTS[3],
    WITH_PORTS[4],
    ("icmp", ICMP),
    ("icmpv6", ICMPV6),
];

/// Protocols with ports, in the order of RouterOS's error message.
const WITH_PORTS: [(&str, i64); 5] = [
    ("tcp", TCP),
    ("udp", UDP),
    ("udp-lite", 136),
    ("dccp", 33),
    ("sctp", 132),
];
