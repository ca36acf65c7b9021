//! Describes the menus for the web page: the data that it needs to draw tables and forms. The page loads the index
//! first, and the properties of a menu when a user opens the menu.

use std::collections::BTreeMap;

use menu::{Effect, Kind, Menu, MenuShape, Policies, Property};
use serde_json::{Map, Value, json};

/// Returns the index of all menus as JSON: `menus` without their properties; `spaces`, the menus that list the names
/// of each name space; and the calculators.
pub fn describe(menus: &'static [&'static Menu]) -> String {
    let mut spaces: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for menu in shown(menus) {
        let Some(space) = menu.space.filter(|_| menu.has_rows()) else {
            continue;
        };
        let paths = spaces.entry(space).or_default();
        match menu.shape {
            // A view lists all names of its name space.
            MenuShape::View => *paths = vec![menu.path],
            _ if paths.iter().any(|path| is_view(menus, path)) => {}
            _ => paths.push(menu.path),
        }
    }
    let all: Vec<_> = shown(menus).map(one).collect();
    json!({ "menus": all, "spaces": spaces, "calculators": calculators() }).to_string()
}

/// Returns the menu at a path, if the page shows it.
pub fn menu(menus: &'static [&'static Menu], path: &str) -> Option<&'static Menu> {
    shown(menus).find(|menu| menu.path == path)
}

/// Returns the properties of a menu as a JSON list.
pub fn properties(menu: &'static Menu) -> String {
    menu.properties()
        .map(property)
        .collect::<Value>()
        .to_string()
}

/// Returns the names and descriptions of all properties as JSON, for searching: `{path: [[name, help], …]}`.
pub fn searched(menus: &'static [&'static Menu]) -> String {
    let each = shown(menus).map(|menu| {
        let names = menu
            .properties()
            .map(|property| json!([property.name, property.help]));
        (menu.path.to_owned(), names.collect())
    });
    Value::Object(each.collect()).to_string()
}

fn shown(menus: &'static [&'static Menu]) -> impl Iterator<Item = &'static Menu> {
    let all = menus.iter().copied();
    all.filter(|menu| !menu.hidden && !menu.older)
}

fn calculators() -> Value {
    let each = calc::CALCULATORS.iter().map(|calculator| {
        let arguments = calculator.arguments.iter().map(|argument| {
            json!({ "name": argument.name, "help": argument.help, "default": argument.default })
        });
        json!({
            "name": calculator.name,
            "help": calculator.help,
            "arguments": arguments.collect::<Value>(),
        })
    });
    each.collect()
}

fn is_view(menus: &[&Menu], path: &str) -> bool {
    let mut menus = menus.iter();
    menus.any(|menu| menu.path == path && menu.shape == MenuShape::View)
}

fn one(menu: &'static Menu) -> Value {
    let shape = match menu.shape {
        MenuShape::List => "list",
        MenuShape::Ordered => "ordered",
        MenuShape::Fixed => "fixed",
        MenuShape::Settings => "settings",
        MenuShape::Status => "status",
        MenuShape::Rows => "rows",
        MenuShape::View => "view",
        MenuShape::Folder => "folder",
    };
    let flags = menu
        .flags
        .iter()
        .map(|flag| json!([flag.letter.to_string(), flag.name]));
    let mut said = json!({
        "path": menu.path,
        "help": menu.help,
        "shape": shape,
        "columns": menu.columns,
        "flags": flags.collect::<Value>(),
        "commands": commands(menu),
    });
    if let Some(members) = said.as_object_mut() {
        mark(members, "add", menu.takes("add"));
        mark(members, "remove", menu.takes("remove"));
        mark(members, "idle", menu.effect == Effect::None);
        if let Some(key) = menu.key {
            members.insert("key".to_owned(), json!(key));
        }
    }
    said
}

/// Returns the commands that the page shows as buttons, with the policies they require: the menu's own commands
/// that end by themselves.
fn commands(menu: &'static Menu) -> Value {
    let own = menu.commands.iter().filter(|command| !command.repeats);
    let own = own.filter(|command| !menu.is_idle(command.name));
    let each = own.map(|command| {
        let arguments = command.arguments.iter().map(|argument| {
            let mut said = kind(argument.name, argument.kind, argument.help);
            mark(&mut said, "required", argument.required);
            Value::Object(said)
        });
        let needs = Policies::needed(menu, command.name).to_string();
        let needs = needs.split(',').filter(|policy| !policy.is_empty());
        json!({
            "name": command.name,
            "help": command.help,
            "needs": needs.collect::<Vec<_>>(),
            "arguments": arguments.collect::<Value>(),
        })
    });
    each.collect()
}

fn property(property: &Property) -> Value {
    let mut said = kind(property.name, property.kind, property.help);
    mark(&mut said, "required", property.required);
    mark(&mut said, "readOnly", property.read_only);
    mark(&mut said, "unset", property.unset);
    mark(&mut said, "secret", property.sensitive || property.sealed);
    mark(&mut said, "script", property.script);
    mark(&mut said, "idle", property.effect == Effect::None);
    if let Some(default) = property.default {
        said.insert("default".to_owned(), json!(default));
    }
    if !property.unit.is_empty() {
        said.insert("unit".to_owned(), json!(property.unit));
    }
    Value::Object(said)
}

/// Describes the name, help and values of a property or an argument.
pub(crate) fn kind(name: &str, kind: Kind, help: &str) -> Map<String, Value> {
    let mut said = Map::new();
    let mut say = |name: &str, value: Value| {
        said.insert(name.to_owned(), value);
    };
    say("name", json!(name));
    say("help", json!(help));
    match kind {
        Kind::Bool | Kind::Presence => say("bool", json!(true)),
        Kind::Words(words) => {
            say("words", json!(words));
            say("closed", json!(true));
        }
        _ => {
            let words = kind.words();
            if !words.is_empty() {
                say("words", json!(words));
            }
            if let Some(space) = kind.space() {
                say("space", json!(space));
            }
            say("form", json!(kind.describe()));
        }
    }
    said
}

/// Sets a member to true if `is`.
pub(crate) fn mark(members: &mut Map<String, Value>, name: &str, is: bool) {
    if is {
        members.insert(name.to_owned(), json!(true));
    }
}
