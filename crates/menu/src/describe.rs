//! Describes changes: the commands that redo and undo them, and their differences.

use std::fmt::Write as _;

use crate::export::{self, Options, Style};
use crate::{Change, Changes, Item, Kind, MenuShape, Property, Store, Value, quote};

/// Maximum number of items per transaction whose commands are listed.
const MAX_LISTED_ITEMS: usize = 16;

/// Returns the commands that redo a transaction.
pub fn redo(store: &Store, changes: &Changes) -> String {
    spelled(changes.list.iter().map(|change| command(store, change)))
}

/// Returns the commands that undo a transaction.
pub fn undo(store: &Store, changes: &Changes) -> String {
    let back = changes.list.iter().rev();
    spelled(back.map(|change| command(store, &change.inverse())))
}

fn spelled(commands: impl ExactSizeIterator<Item = String>) -> String {
    let more = commands.len().saturating_sub(MAX_LISTED_ITEMS);
    let first: Vec<_> = commands.take(MAX_LISTED_ITEMS).collect();
    let mut text = first.join("; ");
    if more > 0 {
        let _ = write!(text, "; and {more} more");
    }
    text
}

/// Returns the command for one change, without secrets.
fn command(store: &Store, change: &Change) -> String {
    let (path, id) = (change.menu.path, change.id);
    match (&change.before, &change.after) {
        (_, None) => format!("{path}/remove {id}"),
        (None, Some(item)) => format!("{path}/{}", export::line(store, item, &compact())),
        (Some(before), Some(after)) if before.same_values(after) => format!("{path}/move {id}"),
        (Some(before), Some(after)) => {
            let number = match change.menu.shape {
                MenuShape::Settings => String::new(),
                _ => format!(" {id}"),
            };
            format!("{path}/set{number}{}", settings(before, after))
        }
    }
}

/// Returns the arguments of the `set` command for a change.
fn settings(before: &Item, after: &Item) -> String {
    let mut text = String::new();
    let pairs = before.values.iter().zip(&after.values);
    for (property, (before, after)) in before.menu.properties().zip(pairs) {
        if before != after && !property.read_only && !property.sensitive {
            text.push_str(&setting(property, after.as_ref()));
        }
    }
    text
}

fn setting(property: &Property, value: Option<&Value>) -> String {
    match value {
        None => format!(" !{}", property.name),
        Some(_) if property.kind == Kind::Presence => format!(" {}", property.name),
        Some(value) => format!(" {}={}", property.name, quote(&value.to_string())),
    }
}

/// Returns the differences as lines: `-` before the old state of an item, `+` before the new state, `>` before
/// an item that moved, `~` before an item whose hidden values differ.
pub fn diff(store: &Store, list: &[Change]) -> Vec<String> {
    list.iter()
        .flat_map(|change| sides(store, change))
        .collect()
}

fn sides(store: &Store, change: &Change) -> Vec<String> {
    let path = change.menu.export_path();
    let line = |item: &Item| export::line(store, item, &compact());
    match (&change.before, &change.after) {
        (Some(before), Some(after)) if before.same_values(after) => {
            vec![format!("> {path} {}", line(after))]
        }
        (Some(before), Some(after)) => {
            let (was, is) = match change.menu.shape {
                // For settings, which have many properties, show only the differences, even where a value
                // equals its default.
                MenuShape::Settings => (
                    format!("set{}", settings(after, before)),
                    format!("set{}", settings(before, after)),
                ),
                _ => (line(before), line(after)),
            };
            match was == is {
                true => vec![format!("~ {path} {is} ({})", differing(before, after))],
                false => vec![format!("- {path} {was}"), format!("+ {path} {is}")],
            }
        }
        (before, after) => {
            let side = |sign: &str, item: &Item| format!("{sign} {path} {}", line(item));
            let was = before.iter().map(|item| side("-", item));
            was.chain(after.iter().map(|item| side("+", item)))
                .collect()
        }
    }
}

/// Lists the properties that differ between two states of an item.
fn differing(before: &Item, after: &Item) -> String {
    let values = before.values.iter().zip(&after.values);
    let properties = before.menu.properties().zip(values);
    let names: Vec<_> = properties
        .filter(|(_, (before, after))| before != after)
        .map(|(property, _)| property.name)
        .collect();
    format!("another {}", names.join(", "))
}

fn compact() -> Options<'static> {
    Options {
        style: Style::Terse,
        ..Options::default()
    }
}
