//! Describes the tools for the web page: the menu commands that repeat until a user stops them.

use menu::{Command, Menu, Policies};
use serde_json::{Map, Value, json};

use crate::describe::{kind, mark};

/// Arguments that select the output of a console or a script; the page has its own output.
const CONSOLE_ARGUMENTS: [&str; 9] = [
    "append",
    "as-value",
    "do",
    "file",
    "freeze-frame-interval",
    "once",
    "proplist",
    "without-paging",
    "numbers",
];

/// Returns the description of all commands that go on, as a JSON array: path, help, arguments, required policies,
/// and form of the rows: `lines` (each update appends rows), `table` (each replaces them) or `page` (each replaces one
/// row with many values). Commands without effect are left out.
pub fn describe_tools(menus: &'static [&'static Menu]) -> String {
    let shown = menus.iter().filter(|menu| !menu.hidden && !menu.older);
    let commands = shown.flat_map(|menu| {
        let own = menu.commands.iter().filter(|command| command.repeats);
        let own = own.filter(|command| !menu.is_idle(command.name));
        own.filter_map(|command| one(menu, command))
    });
    commands.collect::<Value>().to_string()
}

fn one(menu: &'static Menu, command: &'static Command) -> Option<Value> {
    let form = tool::of(menu, command.name)?.form();
    let (form, columns) = match form {
        tool::Form::Lines(columns) => ("lines", columns),
        tool::Form::Table(columns) => ("table", columns),
        tool::Form::Page => ("page", &[][..]),
    };
    let arguments = command.arguments.iter();
    let arguments = arguments.filter(|argument| !CONSOLE_ARGUMENTS.contains(&argument.name));
    let arguments = arguments.map(|argument| {
        let mut said = kind(argument.name, argument.kind, argument.help);
        mark(&mut said, "required", argument.required);
        mark(&mut said, "unnamed", argument.unnamed);
        Value::Object(said)
    });
    let needs = Policies::needed(menu, command.name).to_string();
    let needs = needs.split(',').filter(|policy| !policy.is_empty());
    let columns = columns.iter().map(|column| column.name);
    let mut said = Map::new();
    said.insert(
        "path".into(),
        json!(format!("{}/{}", menu.path, command.name)),
    );
    said.insert("help".into(), json!(command.help));
    said.insert("form".into(), json!(form));
    let columns = columns.filter(|name| !name.is_empty());
    said.insert("columns".into(), columns.collect::<Vec<_>>().into());
    said.insert("needs".into(), needs.collect::<Vec<_>>().into());
    said.insert("arguments".into(), arguments.collect());
    if command.arguments.iter().any(|own| own.name == "numbers") {
        said.insert("rows".into(), json!(menu.path));
    }
    Some(Value::Object(said))
}
