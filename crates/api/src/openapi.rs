//! Generates the OpenAPI 3 description of the REST API from the menu declarations.

use std::collections::BTreeMap;

use menu::{Effect, Kind, Menu, MenuShape, Property};
use serde_json::{Map, Value, json};

/// Returns the description of all current menus as JSON.
pub fn describe(menus: &'static [&'static Menu], version: &str) -> String {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    schemas.insert(String::from("error"), error());
    for menu in menus.iter().filter(|menu| !menu.hidden && !menu.older) {
        if menu.shape != MenuShape::Folder {
            schemas.insert(name(menu), row(menu));
            describe_rows(menu, &mut paths);
        }
        describe_commands(menu, &mut paths);
    }
    let document = json!({
        "openapi": "3.0.3",
        "info": {
            "title": "ferroute",
            "version": version,
            "description": "Every menu of the configuration. Values are strings in both directions.",
        },
        "servers": [{ "url": "/rest" }],
        "security": [{ "basic": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "basic": { "type": "http", "scheme": "basic" } },
            "schemas": schemas,
        },
    });
    document.to_string()
}

/// Returns the schema name of a menu's rows: `ip.address`.
fn name(menu: &Menu) -> String {
    menu.path.trim_start_matches('/').replace('/', ".")
}

fn reference(menu: &Menu) -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", name(menu)) })
}

fn content(schema: &Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

/// Builds an operation with request and response schemas.
fn operation(menu: &Menu, summary: &str, takes: Option<&Value>, gives: Option<Value>) -> Value {
    let (status, answer) = match gives {
        Some(schema) => (
            "200",
            json!({ "description": "Done", "content": content(&schema) }),
        ),
        None => ("204", json!({ "description": "Done" })),
    };
    let fault = json!({ "$ref": "#/components/schemas/error" });
    let mut operation = json!({
        "tags": [menu.path],
        "summary": summary,
        "responses": {
            status: answer,
            "default": { "description": "Refused", "content": content(&fault) },
        },
    });
    if let (Some(takes), Some(members)) = (takes, operation.as_object_mut()) {
        let body = json!({ "required": true, "content": content(takes) });
        members.insert(String::from("requestBody"), body);
    }
    operation
}

/// Describes the paths of a menu's rows and of a single row.
fn describe_rows(menu: &'static Menu, paths: &mut Map<String, Value>) {
    let one = reference(menu);
    let all = json!({ "type": "array", "items": one });
    let mut whole = Map::new();
    let print = if menu.has_rows() { &all } else { &one };
    let read = operation(menu, menu.help, None, Some(print.clone()));
    whole.insert(String::from("get"), read);
    if menu.takes("add") {
        let mut add = operation(menu, "Adds an item", Some(&one), Some(one.clone()));
        made(&mut add);
        whole.insert(String::from("put"), add);
    }
    if !menu.has_rows() && menu.is_configuration() {
        let set = operation(menu, "Changes values", Some(&one), Some(one.clone()));
        whole.insert(String::from("patch"), set);
    }
    paths.insert(menu.path.to_owned(), Value::Object(whole));
    if !menu.has_rows() {
        return;
    }
    let id = json!([{
        "name": "id",
        "in": "path",
        "required": true,
        "description": "Item id, such as *1F, or name",
        "schema": { "type": "string" },
    }]);
    let mut item = Map::from_iter([(String::from("parameters"), id)]);
    let read = operation(menu, "Reads an item", None, Some(one.clone()));
    item.insert(String::from("get"), read);
    if menu.is_configuration() || menu.shape == MenuShape::View {
        let set = operation(menu, "Changes an item", Some(&one), Some(one.clone()));
        item.insert(String::from("patch"), set);
    }
    if menu.takes("remove") {
        let remove = operation(menu, "Removes an item", None, None);
        item.insert(String::from("delete"), remove);
    }
    paths.insert(format!("{}/{{id}}", menu.path), Value::Object(item));
}

/// Changes the success status of an operation to 201.
fn made(operation: &mut Value) {
    let responses = operation
        .get_mut("responses")
        .and_then(Value::as_object_mut);
    if let Some(responses) = responses
        && let Some(done) = responses.remove("200")
    {
        responses.insert(String::from("201"), done);
    }
}

/// Describes a path for each command of a menu.
fn describe_commands(menu: &'static Menu, paths: &mut Map<String, Value>) {
    let commands = menu.all_commands();
    for (command, help) in commands.iter().filter(|(name, _)| *name != "find") {
        let takes = json!({ "type": "object", "properties": arguments(menu, command) });
        let row = match menu.shape {
            MenuShape::Folder => json!({ "type": "object" }),
            _ => reference(menu),
        };
        let gives = json!({
            "oneOf": [
                { "type": "array", "items": row },
                { "type": "object", "properties": { "ret": { "type": "string" } } },
            ],
        });
        let run = operation(menu, help, Some(&takes), Some(gives));
        paths.insert(format!("{}/{command}", menu.path), json!({ "post": run }));
    }
}

/// Returns the schemas of a command's arguments.
fn arguments(menu: &'static Menu, command: &str) -> BTreeMap<&'static str, Value> {
    let settable = || menu.properties().filter(|property| !property.read_only);
    let text = |help: &str| json!({ "type": "string", "description": help });
    let own = menu.commands.iter().find(|own| own.name == command);
    if let Some(own) = own {
        let typed = own.arguments.iter();
        return typed
            .map(|argument| (argument.name, value(argument.kind, argument.help)))
            .collect();
    }
    let mut taken = BTreeMap::new();
    if matches!(command, "add" | "set") {
        taken.extend(settable().map(|property| (property.name, cell(property))));
    }
    if command == "print" {
        taken.insert(".proplist", text("Properties to return"));
        let words = json!({ "type": "array", "items": { "type": "string" } });
        taken.insert(".query", words);
    } else if menu.has_rows() && !matches!(command, "add" | "export") {
        taken.insert(".id", text("Items, by id or name"));
    }
    taken
}

/// Returns the schema of a row.
fn row(menu: &'static Menu) -> Value {
    let mut cells: BTreeMap<_, _> = menu
        .properties()
        .map(|property| (property.name, cell(property)))
        .collect();
    for flag in menu.flags {
        cells.entry(flag.name).or_insert_with(
            || json!({ "type": "string", "enum": ["true", "false"], "readOnly": true }),
        );
    }
    if menu.has_rows() {
        let id = json!({ "type": "string", "description": "Item id", "readOnly": true });
        cells.insert(".id", id);
    }
    json!({ "type": "object", "description": menu.help, "properties": cells })
}

/// Returns the schema of a property.
fn cell(property: &Property) -> Value {
    let mut schema = value(property.kind, property.help);
    if let Some(members) = schema.as_object_mut() {
        if let Some(default) = property.default {
            // REST writes `true` where the console writes `yes`.
            let default = match (property.kind, default) {
                (Kind::Bool, "yes") => "true",
                (Kind::Bool, "no") => "false",
                (_, other) => other,
            };
            members.insert(String::from("default"), json!(default));
        }
        if property.read_only {
            members.insert(String::from("readOnly"), json!(true));
        }
        if property.effect == Effect::None {
            members.insert(String::from("x-no-effect"), json!(true));
        }
    }
    schema
}

/// Returns the schema of a value: always a string, with a description of its format.
fn value(kind: Kind, help: &str) -> Value {
    let mut schema = json!({
        "type": "string",
        "description": help,
        "x-form": kind.describe(),
    });
    let words = match kind {
        Kind::Bool => Some(&["true", "false"][..]),
        Kind::Words(words) => Some(words),
        _ => None,
    };
    if let (Some(words), Some(members)) = (words, schema.as_object_mut()) {
        members.insert(String::from("enum"), json!(words));
    }
    schema
}

fn error() -> Value {
    json!({
        "type": "object",
        "properties": {
            "error": { "type": "integer", "description": "HTTP status code" },
            "message": { "type": "string", "description": "Meaning of the status" },
            "detail": { "type": "string", "description": "Message of the router" },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|inner| references(inner, found));
            }
            Value::Array(values) => values.iter().for_each(|inner| references(inner, found)),
            _ => {}
        }
    }

    #[test]
    fn every_menu_property_and_command_is_described_and_every_reference_leads_somewhere() {
        let text = describe(schema::ALL, "7.22.1");
        let document: Value = serde_json::from_str(&text).expect("JSON");

        for menu in schema::ALL
            .iter()
            .filter(|menu| !menu.hidden && !menu.older)
        {
            for (command, _) in menu.all_commands() {
                let there = document["paths"].get(format!("{}/{command}", menu.path));
                assert_eq!(there.is_some(), command != "find", "{menu:?} {command}");
            }
            for property in menu.properties() {
                let cells = &document["components"]["schemas"][name(menu)]["properties"];
                assert!(
                    cells.get(property.name).is_some(),
                    "{menu:?} {}",
                    property.name
                );
            }
        }
        assert!(document["paths"].get("/routing/bgp/network").is_none());
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("a local reference");
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    #[test]
    fn paths_have_the_methods_of_their_menu() {
        let text = describe(schema::ALL, "7.22.1");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        let methods = |path: &str| {
            let members = document["paths"][path].as_object().expect(path);
            members.keys().cloned().collect::<Vec<_>>().join(" ")
        };

        assert_eq!(methods("/ip/address"), "get put");
        assert_eq!(methods("/ip/address/{id}"), "delete get parameters patch");
        assert_eq!(methods("/system/identity"), "get patch");
        assert_eq!(methods("/system/resource"), "get");
        assert_eq!(methods("/ip/address/remove"), "post");
    }
}
