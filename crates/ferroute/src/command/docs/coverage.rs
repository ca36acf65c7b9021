//! Coverage of another router's menu tree: menus, commands and properties that are supported, accepted without
//! effect, or unknown.
//!
//! The tree is JSON: nested objects by name, each with a `_type`: `dir` and `path` are menus, `cmd` commands,
//! `arg` arguments. The arguments of `add` and `set` are a menu's properties.

use std::collections::{BTreeMap, BTreeSet};

use menu::{Effect, Menu};
use serde_json::{Map, Value, json};

/// Arguments of `add` and `set` that are no properties.
const SELECTORS: [&str; 4] = ["copy-from", "numbers", "place-before", "where"];

/// Support of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Supported,
    NoEffect,
    Unknown,
}

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Menus,
    Commands,
    Properties,
}

const STATES: [(State, &str); 3] = [
    (State::Supported, "supported"),
    (State::NoEffect, "no_effect"),
    (State::Unknown, "unknown"),
];
const WHATS: [(What, &str); 3] = [
    (What::Menus, "menus"),
    (What::Commands, "commands"),
    (What::Properties, "properties"),
];

/// Number of entries by kind and support.
type Counts = BTreeMap<(What, State), usize>;

/// The coverage report.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    /// Entries of the tree: kind, support, path of the menu, name.
    found: BTreeSet<(What, State, String, String)>,
    /// Entries missing in the tree: kind, path of the menu, name.
    beyond: BTreeSet<(What, String, String)>,
}

impl Coverage {
    /// Compares a tree with the declared menus.
    pub(super) fn of(tree: &str) -> Result<Self, String> {
        let tree: Value = serde_json::from_str(tree).map_err(|error| error.to_string())?;
        let Value::Object(root) = tree else {
            return Err("the tree is no JSON object".to_owned());
        };
        let mut coverage = Self::default();
        for name in children(&root, "cmd") {
            let known = script::builtin::offered().any(|own| own.name == name);
            let state = if known {
                State::Supported
            } else {
                State::Unknown
            };
            coverage.put(What::Commands, state, "/", name);
        }
        coverage.menus(&root, "");
        coverage.surplus();
        Ok(coverage)
    }

    fn put(&mut self, what: What, state: State, path: &str, name: &str) {
        self.found
            .insert((what, state, path.to_owned(), name.to_owned()));
    }

    /// Visits the menus below a node.
    fn menus(&mut self, place: &Map<String, Value>, path: &str) {
        for kind in ["dir", "path"] {
            for name in children(place, kind) {
                let Some(Value::Object(below)) = place.get(name) else {
                    continue;
                };
                let path = format!("{path}/{name}");
                self.menu(below, &path);
                self.menus(below, &path);
            }
        }
    }

    fn menu(&mut self, place: &Map<String, Value>, path: &str) {
        let menu = schema::ALL.iter().find(|menu| menu.path == path).copied();
        let folder = schema::ALL.iter().any(|menu| {
            menu.path
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with('/'))
        });
        let state = match menu {
            Some(menu) => state(menu.effect),
            None if folder => State::Supported,
            None => State::Unknown,
        };
        self.put(What::Menus, state, path, "");
        let mut properties = BTreeSet::new();
        for name in children(place, "cmd") {
            let state = match menu {
                Some(menu) => command(menu, name),
                None if folder && name == "export" => State::Supported,
                None => State::Unknown,
            };
            self.put(What::Commands, state, path, name);
            if let (true, Some(Value::Object(command))) =
                (matches!(name, "add" | "set"), place.get(name))
            {
                properties.extend(children(command, "arg"));
            }
        }
        for name in properties {
            if !SELECTORS.contains(&name) {
                let state = menu.map_or(State::Unknown, |menu| property(menu, name));
                self.put(What::Properties, state, path, name);
            }
        }
    }

    /// Adds declared entries that the tree lacks.
    fn surplus(&mut self) {
        let found = |what: What, path: &str, name: &str| {
            STATES.iter().any(|(state, _)| {
                let key = (what, *state, path.to_owned(), name.to_owned());
                self.found.contains(&key)
            })
        };
        let mut beyond = BTreeSet::new();
        for menu in schema::ALL.iter().filter(|menu| !menu.hidden) {
            let path = menu.path;
            if !found(What::Menus, path, "") {
                beyond.insert((What::Menus, path.to_owned(), String::new()));
                continue;
            }
            let own = menu.commands.iter().map(|own| (What::Commands, own.name));
            let set = menu.properties().filter(|property| !property.read_only);
            let set = set.map(|property| (What::Properties, property.name));
            for (what, name) in own.chain(set) {
                if !found(what, path, name) {
                    beyond.insert((what, path.to_owned(), name.to_owned()));
                }
            }
        }
        self.beyond = beyond;
    }

    /// Returns the numbers by top-level menu.
    fn counts(&self) -> BTreeMap<String, Counts> {
        let mut tops: BTreeMap<String, Counts> = BTreeMap::new();
        for (what, state, path, _) in &self.found {
            let top = path.split('/').nth(1).unwrap_or_default();
            let counts = tops.entry(format!("/{top}")).or_default();
            *counts.entry((*what, *state)).or_default() += 1;
        }
        tops
    }

    /// Returns the numbers of all menus.
    fn total(&self) -> Counts {
        let mut total = Counts::new();
        for (what, state, ..) in &self.found {
            *total.entry((*what, *state)).or_default() += 1;
        }
        total
    }

    /// Returns the report as text: numbers by top-level menu, then incomplete entries.
    pub(super) fn text(&self) -> String {
        let mut text = String::from("supported / without effect / unknown\n\n");
        text.push_str(&format!("{:<16}", ""));
        for (_, name) in WHATS {
            text.push_str(&format!("{name:>20}"));
        }
        text.push('\n');
        let total = ("all".to_owned(), self.total());
        for (top, counts) in self.counts().into_iter().chain([total]) {
            text.push_str(&format!("{top:<16}"));
            for (what, _) in WHATS {
                let count = |state| counts.get(&(what, state)).copied().unwrap_or(0);
                let cell = STATES
                    .map(|(state, _)| count(state).to_string())
                    .join(" / ");
                text.push_str(&format!("{cell:>20}"));
            }
            text.push('\n');
        }
        for state in [State::NoEffect, State::Unknown] {
            for (what, title) in WHATS {
                let label = if state == State::NoEffect {
                    "without effect"
                } else {
                    "unknown"
                };
                self.list(&mut text, what, state, &format!("{title} {label}"));
            }
        }
        let beyond = self.beyond.iter();
        let beyond: Vec<_> = beyond
            .map(|(_, path, name)| (path.as_str(), name.as_str()))
            .collect();
        lines(&mut text, "declared here and not in the tree", &beyond);
        text
    }

    /// Lists the entries with one kind of support, a line per menu. Entries of a listed menu are omitted.
    fn list(&self, text: &mut String, what: What, state: State, title: &str) {
        let whole = |path: &str| {
            let key = (What::Menus, state, path.to_owned(), String::new());
            what != What::Menus && self.found.contains(&key)
        };
        let all = self.found.iter();
        let these = all.filter(|(w, s, path, _)| *w == what && *s == state && !whole(path));
        let these: Vec<_> = these
            .map(|(_, _, path, name)| (path.as_str(), name.as_str()))
            .collect();
        lines(text, title, &these);
    }

    /// Returns the report as JSON.
    pub(super) fn json(&self) -> String {
        let numbers = |counts: &Counts| {
            let of = |what| {
                let count = |state| counts.get(&(what, state)).copied().unwrap_or(0);
                STATES.map(|(state, name)| (name.to_owned(), json!(count(state))))
            };
            let all = WHATS.map(|(what, name)| (name.to_owned(), object(of(what))));
            object(all)
        };
        let mut out = Map::new();
        out.insert("version".to_owned(), json!(schema::VERSION));
        out.insert("total".to_owned(), numbers(&self.total()));
        let tops = self
            .counts()
            .into_iter()
            .map(|(top, counts)| (top, numbers(&counts)));
        out.insert("by_menu".to_owned(), Value::Object(tops.collect()));
        for (what, name) in WHATS {
            let of = |state| {
                let these = self
                    .found
                    .iter()
                    .filter(|(w, s, ..)| *w == what && *s == state);
                Value::Array(
                    these
                        .map(|(_, _, path, name)| entry(what, path, name))
                        .collect(),
                )
            };
            let lists = STATES.map(|(state, name)| (name.to_owned(), of(state)));
            out.insert(name.to_owned(), object(lists));
        }
        let beyond = self.beyond.iter();
        let beyond = beyond
            .map(|(what, path, name)| entry(*what, path, name))
            .collect();
        out.insert("beyond_tree".to_owned(), Value::Array(beyond));
        format!("{}\n", Value::Object(out))
    }
}

/// Returns the names of the children of one type.
fn children<'a>(place: &'a Map<String, Value>, kind: &str) -> Vec<&'a str> {
    let of_kind = |node: &Value| node.get("_type").and_then(Value::as_str) == Some(kind);
    let these = place.iter().filter(|(_, node)| of_kind(node));
    these.map(|(name, _)| name.as_str()).collect()
}

const fn state(effect: Effect) -> State {
    match effect {
        Effect::Full => State::Supported,
        Effect::None => State::NoEffect,
    }
}

fn command(menu: &Menu, name: &str) -> State {
    if !menu.all_commands().iter().any(|(own, _)| *own == name) {
        return State::Unknown;
    }
    match menu.is_idle(name) {
        true => State::NoEffect,
        false => State::Supported,
    }
}

fn property(menu: &Menu, name: &str) -> State {
    match menu.property(name) {
        _ if menu.effect == Effect::None && menu.property(name).is_some() => State::NoEffect,
        Some(property) if !property.read_only => state(property.effect),
        // Accepted and ignored.
        _ if menu.old.iter().any(|old| old.name == name) => State::NoEffect,
        _ => State::Unknown,
    }
}

fn object<const N: usize>(fields: [(String, Value); N]) -> Value {
    Value::Object(fields.into_iter().collect())
}

fn entry(what: What, path: &str, name: &str) -> Value {
    match what {
        What::Menus => json!(path),
        What::Commands | What::Properties => json!({ "menu": path, "name": name }),
    }
}

/// Appends names by menu under a title.
fn lines(text: &mut String, title: &str, these: &[(&str, &str)]) {
    if these.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}:\n"));
    let mut last = None;
    for (path, name) in these {
        if last == Some(*path) {
            text.push_str(&format!(", {name}"));
            continue;
        }
        if last.is_some() {
            text.push('\n');
        }
        text.push_str(&format!("  {path}"));
        if !name.is_empty() {
            text.push_str(&format!(": {name}"));
        }
        last = Some(*path);
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = r#"{
        "put": {"_type": "cmd"},
        "juggle": {"_type": "cmd"},
        "interface": {"_type": "path", "ethernet": {"_type": "dir",
            "blink": {"_type": "cmd"},
            "set": {"_type": "cmd", "numbers": {"_type": "arg"}, "mtu": {"_type": "arg"},
                    "l2mtu": {"_type": "arg"}, "shoe-size": {"_type": "arg"}}}},
        "moon": {"_type": "dir", "land": {"_type": "cmd", "crater": {"_type": "arg"}}}
    }"#;

    #[test]
    fn each_thing_of_the_tree_is_supported_without_effect_or_unknown() {
        let report: Value =
            serde_json::from_str(&Coverage::of(TREE).expect("the tree is sound").json())
                .expect("the report is JSON");

        let port = |name: &str| json!({"menu": "/interface/ethernet", "name": name});
        assert_eq!(
            report["menus"]["supported"],
            json!(["/interface", "/interface/ethernet"])
        );
        assert_eq!(report["menus"]["unknown"], json!(["/moon"]));
        assert_eq!(report["properties"]["supported"], json!([port("mtu")]));
        assert_eq!(report["properties"]["no_effect"], json!([port("l2mtu")]));
        assert_eq!(report["properties"]["unknown"], json!([port("shoe-size")]));
        assert_eq!(report["commands"]["no_effect"], json!([port("blink")]));
        assert_eq!(
            report["by_menu"]["/"]["commands"],
            json!({"supported": 1, "no_effect": 0, "unknown": 1})
        );
        assert_eq!(
            report["total"]["menus"],
            json!({"supported": 2, "no_effect": 0, "unknown": 1})
        );
    }

    #[test]
    fn the_lists_contain_unsupported_menus_commands_and_properties() {
        let text = Coverage::of(TREE).expect("the tree is sound").text();

        for line in [
            "\nmenus unknown:\n  /moon\n",
            "\ncommands unknown:\n  /: juggle\n",
            "\nproperties without effect:\n  /interface/ethernet: l2mtu\n",
            "\nproperties unknown:\n  /interface/ethernet: shoe-size\n",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
    }

    #[test]
    fn malformed_trees_are_refused() {
        assert!(Coverage::of("[]").is_err());
        assert!(Coverage::of("{").is_err());
    }
}
