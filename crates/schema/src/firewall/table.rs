//! Menu declarations shared by rule tables: columns, commands, properties of older versions, default action.

use menu::{Command, Draft, Menu, MenuShape, OldProperty, Value};

use super::check::check;
use crate::declare::{RULE_FLAGS, on_items};

/// A rule table that the data plane evaluates.
pub(crate) const fn table(path: &'static str, help: &'static str) -> Menu {
    Menu {
        flags: RULE_FLAGS,
        stats: HITS,
        commands: COMMANDS,
        derive: Some(complete),
        check: Some(check),
        dynamic_first: true,
        ..Menu::new(path, MenuShape::Ordered, help)
    }
}

/// Columns of a rule table.
pub(crate) const STATS: &[&str] = &["chain", "action", "bytes", "packets"];

/// Columns of a rule table that records the last match.
pub(crate) const HITS: &[&str] = &["chain", "action", "bytes", "packets", "last-hit"];

/// Commands of a rule table.
pub(crate) const COMMANDS: &[Command] = &[
    on_items("reset-counters", "Reset statistics for rules"),
    crate::declare::command("reset-counters-all", "Reset statistics for all rules", &[]),
];

/// RouterOS 6: a routing mark created its table implicitly, and rules could match the table itself.
pub(crate) const OLD: &[OldProperty] = &[OLD_MARK, OLD_TABLE];

/// Older properties of a table that sets marks.
pub(crate) const OLD_MARKS: &[OldProperty] = &[
    mark("new-routing-mark", "new-routing-mark"),
    OLD_MARK,
    OLD_TABLE,
];

/// Older properties of a table without stream inspection.
pub(crate) const OLD_NAT: &[OldProperty] = &[OLD_MARK, OLD_TABLE, OldProperty::never("tls-host")];

const OLD_MARK: OldProperty = mark("routing-mark", "routing-mark");
const OLD_TABLE: OldProperty = mark("routing-table", "routing-mark");

const fn mark(name: &'static str, becomes: &'static str) -> OldProperty {
    OldProperty {
        name,
        value: None,
        becomes,
        with: None,
        makes: Some(&[("fib", "yes")]),
    }
}

/// Sets the default action, and values that the action requires.
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
