//! Adds items that a file expects to exist: ports, and items that older versions had by default.

use std::collections::BTreeSet;

use menu::{ExportSelector, Menu, Reason, Store};

use crate::ast::{Block, Command, Expr, Node, StatementKind, Target};
use crate::language::argument;
use crate::run::{each_statement, each_word, named_ports};

/// Maximum number of ports that a file may name by position.
const MOST_PORTS: usize = 64;

/// Adds the items that the commands of a file refer to but do not add.
///
/// # Errors
/// A port name that the board cannot have.
pub(crate) fn suppose(store: &mut Store, block: &Block) -> Result<(), Reason> {
    let added = added_names(block);
    for name in named_ports(store, block) {
        // An interface that the file adds under a port's name is no port, unless the file also refers to the
        // port by `default-name`.
        let made = added.contains(&("interface", name.clone()));
        if made && !is_default_name(block, &name) {
            continue;
        }
        match store.ensure_port(&name, None) {
            // Another interface already has the name; the file refers to that interface.
            Ok(_) | Err(Reason::Failure(_)) => {}
            Err(reason) => return Err(reason),
        }
    }
    if let Some(number) = numbered_ports(block) {
        // A position counts all ports: add the ports before it as well.
        for port in 1..=number {
            let enough = store.count("/interface/ethernet") >= number;
            if !enough {
                drop(store.ensure_port(&format!("ether{port}"), None));
            }
        }
    }
    let mut wanted = Vec::new();
    each_command(block, &mut |menu, name, command| {
        if let Some(item) = of_older_versions(menu, name, command) {
            wanted.push(ExpectedItem::Item(menu, item));
        }
        if menu.parts > 0 {
            wanted.extend(parts(command).map(|part| ExpectedItem::Part(menu, part)));
        }
        referred(menu, command, &mut |space, name| {
            if !added.contains(&(space, name.to_owned())) {
                wanted.push(ExpectedItem::Name(space, name.to_owned()));
            }
        });
    });
    for wanted in wanted {
        match wanted {
            ExpectedItem::Item(menu, name) => drop(store.ensure_supposed(menu, &name)?),
            ExpectedItem::Name(space, name) => drop(store.ensure_named(space, &name)?),
            ExpectedItem::Part(menu, part) => store.ensure_part(menu, &part)?,
        }
    }
    Ok(())
}

/// An item that a command expects to exist.
enum ExpectedItem {
    Item(&'static Menu, String),
    Name(&'static str, String),
    Part(&'static Menu, String),
}

/// Returns the hardware parts that a command selects by number or name.
fn parts(command: &Command) -> impl Iterator<Item = String> {
    let numbers = argument(command, "numbers").and_then(|a| a.value.as_ref());
    let words = match numbers.map(|numbers| &numbers.node) {
        Some(Node::Word(text) | Node::Text(text)) => text.as_str(),
        _ => "",
    };
    let words: Vec<_> = words.split(',').map(str::to_owned).collect();
    words.into_iter().filter(|word| !word.is_empty())
}

/// Returns the names of the items that the file adds, with their name spaces.
fn added_names(block: &Block) -> BTreeSet<(&'static str, String)> {
    let mut names = BTreeSet::new();
    each_command(block, &mut |menu, command_name, command| {
        let (Some(space), Some(key), "add") = (menu.space, menu.key, command_name) else {
            return;
        };
        if let Some(value) = argument(command, key).and_then(|a| a.value.as_ref()) {
            each_word(value, &mut |word| {
                names.insert((space, word.to_owned()));
            });
        }
    });
    names
}

/// Returns the name of the default item of older versions that a command changes; an empty name stands for the
/// first one.
fn of_older_versions(menu: &Menu, name: &str, command: &Command) -> Option<String> {
    if menu.supposed.is_empty() || name != "set" {
        return None;
    }
    let Some(numbers) = argument(command, "numbers").and_then(|a| a.value.as_ref()) else {
        return Some(String::new());
    };
    let mut found = None;
    each_word(numbers, &mut |word| {
        let is_first = ["yes", "0", "*0", "*1"].contains(&word);
        let mut names = menu.supposed.iter().filter_map(|s| s.values.first());
        if is_first || names.any(|(_, name)| *name == word) {
            found = Some(if is_first {
                String::new()
            } else {
                word.to_owned()
            });
        }
    });
    found
}

/// Calls `f` with each name that a command refers to, and its name space.
fn referred(menu: &Menu, command: &Command, f: &mut dyn FnMut(&'static str, &str)) {
    for argument in &command.arguments {
        let spaces = menu.property(&argument.name).map(|p| p.kind.spaces());
        if let (Some(spaces), Some(value)) = (spaces, &argument.value) {
            each_word(value, &mut |word| {
                spaces.iter().for_each(|space| f(space, word));
            });
        }
    }
}

fn each_command(block: &Block, f: &mut dyn FnMut(&'static Menu, &'static str, &Command)) {
    each_statement(block, &mut |statement| {
        if let StatementKind::Run(command) = &statement.what
            && let Target::Menu(menu, name) = command.target
        {
            f(menu, name, command);
        }
    });
}

/// Returns the number of ports that a file requires by position: `set 11 vlan-mode=secure`.
fn numbered_ports(block: &Block) -> Option<usize> {
    let mut most = None;
    each_command(block, &mut |menu, _, command| {
        let of_ports = |follow: &menu::FollowedMenu| follow.path == "/interface/ethernet";
        let numbers = argument(command, "numbers").and_then(|a| a.value.as_ref());
        let numbers = numbers.filter(|_| menu.pick == ExportSelector::Number);
        if let (true, Some(numbers)) = (menu.follows.iter().any(of_ports), numbers) {
            each_word(numbers, &mut |word| {
                let place = word.parse().ok().filter(|place| *place < MOST_PORTS);
                most = most.max(place.map(|place: usize| place + 1));
            });
        }
    });
    most
}

/// True if the file refers to a port by `default-name`.
fn is_default_name(block: &Block, name: &str) -> bool {
    let mut found = false;
    each_command(block, &mut |_, _, command| {
        for value in command.arguments.iter().filter_map(|a| a.value.as_ref()) {
            default_names(value, &mut |word| found |= word == name);
        }
    });
    found
}

/// Calls `f` for each value that a condition compares with `default-name`.
fn default_names(expr: &Expr, f: &mut dyn FnMut(&str)) {
    match &expr.node {
        Node::Binary(_, left, right) => {
            if matches!(left.node, Node::Property("default-name")) {
                each_word(right, f);
            }
            default_names(left, f);
            default_names(right, f);
        }
        Node::Unary(_, inner) => default_names(inner, f),
        Node::Brackets(block) => each_command(block, &mut |_, _, command| {
            for value in command.arguments.iter().filter_map(|a| a.value.as_ref()) {
                default_names(value, f);
            }
        }),
        _ => {}
    }
}
