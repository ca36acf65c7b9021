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

/// What differs, a line for each side of each item: `-` before what was, `+` before what is.
pub fn diff(store: &Store, list: &[Change]) -> Vec<String> {
    let mut lines = Vec::new();
    for change in list {
        let path = change.menu.export_path();
        let moved = match (&change.before, &change.after) {
            (Some(before), Some(after)) => before.same_values(after),
            _ => false,
        };
        let sides = [("-", &change.before), ("+", &change.after)];
        for (sign, item) in sides.into_iter().skip(usize::from(moved)) {
            let Some(item) = item else { continue };
            let sign = if moved { ">" } else { sign };
            lines.push(format!(
                "{sign} {path} {}",
                export::line(store, item, &compact())
            ));
        }
    }
    lines
}

fn compact() -> Options<'static> {
    Options {
        style: Style::Terse,
        ..Options::default()
    }
}
