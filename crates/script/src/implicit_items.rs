//! Finds items that a checked file adds implicitly, as older RouterOS versions did.

use menu::{Kind, Property, Store};

use crate::ast::{Expr, Node, Statement, StatementKind, Target};

/// A name for which a command may implicitly add an item.
#[derive(Clone, Debug)]
pub(crate) struct ImplicitName {
    space: &'static str,
    name: String,
    /// Line of the command.
    line: u32,
}

/// Returns the names in commands that refer to no item yet, in properties for which older versions added the
/// item.
pub(crate) fn unmade(store: &Store, commands: &[Statement]) -> Vec<ImplicitName> {
    let mut all = Vec::new();
    for statement in commands {
        let StatementKind::Run(command) = &statement.what else {
            continue;
        };
        let Target::Menu(menu, "add" | "set") = command.target else {
            continue;
        };
        for argument in &command.arguments {
            let mut old = menu.old.iter().filter(|old| old.makes.is_some());
            let Some(old) = old.find(|old| old.name == argument.name) else {
                continue;
            };
            let Some(property) = menu.property(old.becomes) else {
                continue;
            };
            let text = argument.value.as_ref().and_then(word);
            let (Some(space), Some(text)) = (property.kind.space(), text) else {
                continue;
            };
            let name = name(property, text);
            if store.named(space, name).is_none() {
                all.push(ImplicitName {
                    space,
                    name: name.to_owned(),
                    line: statement.at.line,
                });
            }
        }
    }
    all
}

/// Returns the names that exist by now: the line of the command, and the menu and name of the item.
pub(crate) fn made(
    store: &Store,
    unmade: Vec<ImplicitName>,
) -> impl Iterator<Item = (u32, String)> {
    unmade.into_iter().filter_map(|named| {
        let item = store.named(named.space, &named.name)?;
        Some((named.line, format!("{} {}", item.menu.path, named.name)))
    })
}

/// Returns the name in a value, without the `!` of a negation.
pub(crate) fn name<'a>(property: &Property, text: &'a str) -> &'a str {
    match property.kind {
        Kind::Not(_) => text.strip_prefix('!').unwrap_or(text),
        _ => text,
    }
}

fn word(value: &Expr) -> Option<&str> {
    match &value.node {
        Node::Word(word) | Node::Text(word) => Some(word),
        _ => None,
    }
}
