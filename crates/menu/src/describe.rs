//! A change in words: the commands that make it and take it back, and what differs.

use std::fmt::Write as _;

use crate::export::{self, Options, Style};
use crate::{Change, Changes, Item, Kind, Property, Shape, Store, Value, quote};

/// Items of a transaction whose commands are spelled out.
const SPELLED: usize = 16;

/// The commands that make the changes of a transaction, one after the other.
pub fn redo(store: &Store, changes: &Changes) -> String {
    spelled(changes.list.iter().map(|change| command(store, change)))
}

/// The commands that take them back.
pub fn undo(store: &Store, changes: &Changes) -> String {
    let back = changes.list.iter().rev();
    spelled(back.map(|change| command(store, &change.inverse())))
}

fn spelled(commands: impl ExactSizeIterator<Item = String>) -> String {
    let more = commands.len().saturating_sub(SPELLED);
    let first: Vec<_> = commands.take(SPELLED).collect();
    let mut text = first.join("; ");
    if more > 0 {
        let _ = write!(text, "; and {more} more");
    }
    text
}

/// The command that makes one change; secrets are left out.
fn command(store: &Store, change: &Change) -> String {
    let (path, id) = (change.menu.path, change.id);
    match (&change.before, &change.after) {
        (_, None) => format!("{path}/remove {id}"),
        (None, Some(item)) => format!("{path}/{}", export::line(store, item, &compact())),
        (Some(before), Some(after)) if before.same_values(after) => format!("{path}/move {id}"),
        (Some(before), Some(after)) => {
            let number = match change.menu.shape {
                Shape::Settings => String::new(),
                _ => format!(" {id}"),
            };
            format!("{path}/set{number}{}", settings(before, after))
        }
    }
}

/// What `set` takes to make an item another.
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

/// What differs, a line for each side of each item: `-` before what was, `+` before what is, `>` before
/// what stands elsewhere, `~` before what differs in values that are not shown.
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
                // Of settings, which are many, those that differ; also where one is what it is at first.
                Shape::Settings => (
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

/// Which values differ between two states of an item.
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
