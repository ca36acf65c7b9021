//! What a checked file makes without saying so: items that older versions made by themselves.

use menu::{Kind, Property, Store};

use crate::ast::{Expr, Node, Statement, Target, What};

/// A name that a command may make an item of.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    space: &'static str,
    name: String,
    /// The command's place.
    line: u32,
}

/// The names among the values of commands that nothing has yet, where older versions made what has them.
pub(crate) fn unmade(store: &Store, commands: &[Statement]) -> Vec<Named> {
    let mut all = Vec::new();
    for statement in commands {
        let What::Run(command) = &statement.what else {
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
                all.push(Named {
                    space,
                    name: name.to_owned(),
                    line: statement.at.line,
                });
            }
        }
    }
    all
}

/// Those of them that have been made: the line of who asked for each, and the item's menu and name.
pub(crate) fn made(store: &Store, unmade: Vec<Named>) -> impl Iterator<Item = (u32, String)> {
    unmade.into_iter().filter_map(|named| {
        let item = store.named(named.space, &named.name)?;
        Some((named.line, format!("{} {}", item.menu.path, named.name)))
    })
}

/// What a value names: `!main` says that it is not `main`.
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
