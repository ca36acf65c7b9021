//! The menus of this router and the further ones in RouterOS's own tree of menus.
//!
//! With all of them, remaining differences from RouterOS come from the language and not from missing menus.

use std::path::Path;

use menu::{Argument, Command, Effect, Kind, Menu, MenuShape, Property};
use serde_json::Value;

/// Arguments that have no value.
const FLAGS: [&str; 4] = ["as-value", "as-string", "once", "as-array"];

/// The declared menus, and the others with the names from a tree of menus.
pub(crate) fn menus(declared: &[&'static Menu], tree: &Path) -> &'static [&'static Menu] {
    let text = std::fs::read_to_string(tree).expect("the tree is readable");
    let tree: Value = serde_json::from_str(&text).expect("the tree is JSON");
    let mut all: Vec<&'static Menu> = declared.to_vec();
    walk("", &tree, &mut all);
    all.leak()
}

fn walk(path: &str, node: &Value, all: &mut Vec<&'static Menu>) {
    let Some(entries) = node.as_object() else {
        return;
    };
    if !path.is_empty()
        && !all.iter().any(|menu| {
            menu.path == path && (menu.shape != MenuShape::Folder || !menu.commands.is_empty())
        })
    {
        all.retain(|menu| menu.path != path);
        all.push(menu_of(path, node));
    }
    for (name, below) in entries {
        if matches!(kind(below), "dir" | "path") {
            walk(&format!("{path}/{name}"), below, all);
        }
    }
}

fn kind(node: &Value) -> &str {
    node.get("_type")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn names<'v>(node: &'v Value, of: &'static str) -> impl Iterator<Item = (&'static str, &'v Value)> {
    let entries = node.as_object().into_iter().flatten();
    let of_kind = entries.filter(move |(_, below)| kind(below) == of);
    of_kind.map(|(name, below)| (&*name.clone().leak(), below))
}

fn menu_of(path: &str, node: &Value) -> &'static Menu {
    let command = |name: &str| node.get(name).filter(|below| kind(below) == "cmd");
    let has = |name: &str, argument: &str| command(name).is_some_and(|c| c.get(argument).is_some());
    let shape = if command("add").is_some() && command("move").is_some() {
        MenuShape::Ordered
    } else if command("add").is_some() {
        MenuShape::List
    } else if has("set", "numbers") {
        MenuShape::Fixed
    } else if command("find").is_some() {
        MenuShape::Rows
    } else if command("set").is_some() {
        MenuShape::Settings
    } else if command("print").is_some() {
        MenuShape::Status
    } else {
        MenuShape::Folder
    };
    let set = ["add", "set"].into_iter().filter_map(command);
    let mut properties: Vec<Property> = Vec::new();
    for (name, _) in set.flat_map(|command| names(command, "arg")) {
        let own = ["numbers", "copy-from", "place-before"].contains(&name);
        if !own && properties.iter().all(|property| property.name != name) {
            properties.push(Property::new(name, Kind::Text, ""));
        }
    }
    let properties: &'static [Property] = properties.leak();
    let menu = Menu::new(path.to_owned().leak(), shape, "");
    let mut menu = Menu {
        properties: vec![properties].leak(),
        ..menu
    };
    let standard = menu.all_commands();
    let own = names(node, "cmd").filter(|(name, _)| !standard.iter().any(|(s, _)| s == name));
    let own: Vec<_> = own.map(|(name, below)| command_of(name, below)).collect();
    menu.commands = own.leak();
    if shape == MenuShape::Folder && !menu.commands.is_empty() {
        menu.shape = MenuShape::Status;
    }
    Box::leak(Box::new(menu))
}

fn command_of(name: &'static str, node: &Value) -> Command {
    let first = ["numbers", "number", "message", "style", "script", "address"];
    let argument = |(name, _): (&'static str, &Value)| Argument {
        name,
        kind: if FLAGS.contains(&name) {
            Kind::Presence
        } else {
            Kind::Text
        },
        help: "",
        required: first.contains(&name),
        unnamed: false,
    };
    let arguments: Vec<_> = names(node, "arg").map(argument).collect();
    Command {
        name,
        help: "",
        arguments: arguments.leak(),
        effect: Effect::None,
        repeats: false,
    }
}
