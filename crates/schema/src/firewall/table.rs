//! What the tables of rules have in common as menus: columns, commands, words of older versions, and what
//! must hold of a rule as a whole.

use menu::{Command, Draft, Menu, Old, Reason, Shape, Store, Value};

use crate::brief::{RULE_FLAGS, on_items};

/// A table of rules whose packets the data plane asks about.
pub(crate) const fn table(path: &'static str, help: &'static str) -> Menu {
    Menu {
        flags: RULE_FLAGS,
        stats: HITS,
        commands: COMMANDS,
        derive: Some(complete),
        check: Some(check),
        dynamic_first: true,
        ..Menu::new(path, Shape::Ordered, help)
    }
}

/// The columns of a table of rules.
pub(crate) const STATS: &[&str] = &["chain", "action", "bytes", "packets"];

/// The same of a table that says when a rule matched last.
pub(crate) const HITS: &[&str] = &["chain", "action", "bytes", "packets", "last-hit"];

/// The commands of a table of rules.
pub(crate) const COMMANDS: &[Command] = &[
    on_items("reset-counters", "Reset statistics for rules"),
    crate::brief::command("reset-counters-all", "Reset statistics for all rules", &[]),
];

/// Version 6 made the table of a mark by itself, and could ask for the table as such.
pub(crate) const OLD: &[Old] = &[OLD_MARK, OLD_TABLE];

/// The same for a table that sets marks.
pub(crate) const OLD_MARKS: &[Old] = &[
    mark("new-routing-mark", "new-routing-mark"),
    OLD_MARK,
    OLD_TABLE,
];

/// The same for a table that looks into no stream.
pub(crate) const OLD_NAT: &[Old] = &[OLD_MARK, OLD_TABLE, Old::gone("tls-host")];

const OLD_MARK: Old = mark("routing-mark", "routing-mark");
const OLD_TABLE: Old = mark("routing-table", "routing-mark");

const fn mark(name: &'static str, becomes: &'static str) -> Old {
    Old {
        name,
        value: None,
        becomes,
        with: None,
        makes: Some(&[("fib", "yes")]),
    }
}

/// What a rule has that is not given: an action, and what the action needs.
fn complete(draft: &mut Draft<'_>) {
    if draft.get("action").is_none() {
        draft.set("action", Some(Value::Word("accept")));
    }
    let action = draft
        .get("action")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let marks = action.starts_with("mark-")
        || action.starts_with("change-")
        || ["set-priority", "strip-ipv4-options", "clear-df"].contains(&action);
    let adds = action.starts_with("add-");
    let same = action == "same";
    let mut imply = |needed: bool, name: &str, value: Value| {
        if needed && draft.get(name).is_none() {
            draft.set(name, Some(value));
        }
    };
    imply(marks, "passthrough", Value::Bool(true));
    imply(adds, "address-list-timeout", Value::Word("none-dynamic"));
    imply(same, "same-not-by-dst", Value::Bool(false));
}

/// RouterOS: a rule that asks for ports has to say a protocol that has some; `to-ports` does not ask.
/// One that is turned around (`!icmp`) leaves protocols with ports and without: the packet decides.
fn check(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let asks = ["src-port", "dst-port", "port"]
        .iter()
        .any(|name| draft.get(name).is_some());
    let has_ports = match draft.get("protocol") {
        Some(Value::Word(word)) => WITH_PORTS.iter().any(|(name, _)| name == word),
        Some(Value::Number(number)) => WITH_PORTS.iter().any(|(_, known)| known == number),
        Some(_) => true,
        None => false,
    };
    if asks && !has_ports {
        let names = WITH_PORTS.map(|(name, _)| name).join(",");
        return Err(Reason::failure(format!(
            "ports can be specified if proto is {names}"
        )));
    }
    is_in_place(draft)
}

/// RouterOS: refuses interfaces that a chain's packets do not have, or not yet, and marks for routing
/// where that is over.
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
        _ => return Ok(()),
    };
    Err(Reason::failure(said))
}

/// The protocols that have ports, in the order in which RouterOS says them.
const WITH_PORTS: [(&str, i64); 5] = [
    ("tcp", 6),
    ("udp", 17),
    ("udp-lite", 136),
    ("dccp", 33),
    ("sctp", 132),
];
