//! Real configurations: no crash, commands of declared menus are accepted, and importing an export gives the
//! same items and the same export.
//!
//! The files are not part of the project; without them the test says so and passes.

mod beside;

use std::collections::BTreeMap;
use std::path::Path;

use menu::export::{Options, Style, export};
use menu::{MenuShape, Store};

use beside::shared;

/// The files of the index as texts.
fn indexed(corpus: &Path) -> Vec<(String, String)> {
    let index = std::fs::read_to_string(corpus.join("INDEX.tsv")).expect("the index is readable");
    let rows = index.lines().skip(1).filter_map(|line| {
        let file = line.split('\t').next()?.to_owned();
        let bytes = std::fs::read(corpus.join(&file)).ok()?;
        Some((file, menu::bytes::from_bytes(&bytes)))
    });
    rows.collect()
}

#[test]
fn real_configurations_are_accepted() {
    let Some(corpus) = shared("real_configurations_are_accepted", "corpus") else {
        return;
    };
    let (mut all, mut refused) = (0, Vec::new());
    for (file, text) in exports(&corpus) {
        let report = script::check(&mut schema::store(), &text);
        all += report.commands;
        let line = |r: &script::Refused| {
            let (line, column) = (r.line, r.column);
            format!("{file}:{line}:{column}: {} [{}]", r.reason, r.command)
        };
        refused.extend(report.refused.iter().map(line));
    }
    let accepted = all - refused.len();
    let list = refused.join("\n");
    assert!(
        accepted * 1_000 >= all * 980,
        "{accepted} of {all}:\n{list}"
    );
    eprintln!("{accepted} of {all} accepted; refused:\n{list}");
}

#[test]
fn exported_items_import_unchanged() {
    let Some(corpus) = shared("exported_items_import_unchanged", "corpus") else {
        return;
    };
    let mut wrong = Vec::new();
    for (file, text) in exports(&corpus) {
        let mut first = schema::store();
        let report = script::check(&mut first, &text);
        let mut export = exported(&first, Style::Terse);
        // An item that a refused command would have added exists only by its name.
        let made: Vec<_> = report
            .refused
            .iter()
            .filter_map(|r| made(&r.command))
            .collect();
        let is = loop {
            let (at, why) = match imported(&export) {
                Ok(store) => break exported(&store, Style::Terse),
                Err(refusal) => (refusal.at.map_or(0, |at| at.line), refusal.to_string()),
            };
            let lines = || export.lines().zip(1..).filter(|(_, number)| *number == at);
            let line = lines().map(|(line, _)| line).collect::<String>();
            if line.is_empty() || !made.iter().any(|name| line.contains(name)) {
                wrong.push(format!("{file}: {why}: {line}"));
                break export.clone();
            }
            export = export.replacen(&format!("{line}\n"), "", 1);
        };
        let other = export.lines().zip(is.lines()).find(|(was, is)| was != is);
        if let Some((was, is)) = other {
            wrong.push(format!("{file}:\n  {was}\n  {is}"));
        } else if export != is {
            wrong.push(format!("{file}: longer or shorter"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The store after importing an export.
fn imported(export: &str) -> Result<Store, menu::Refusal> {
    let mut store = schema::store();
    let supposed = export.lines().filter_map(supposed);
    supposed.for_each(|name| store.suppose("interface", name));
    let mut session = script::Session::new("admin");
    let mut out = String::new();
    script::import(
        &mut store,
        &mut menu::Offline,
        &mut session,
        export,
        &mut out,
    )?;
    Ok(store)
}

/// The name in a command.
fn made(command: &str) -> Option<String> {
    let (_, rest) = command.split_once("name=")?;
    Some(rest.split(' ').next()?.trim_matches('"').to_owned()).filter(|name| !name.is_empty())
}

/// The name in a line about an interface that is only assumed to exist.
fn supposed(line: &str) -> Option<&str> {
    let (name, same) = line.strip_prefix("/interface set ")?.split_once(" name=")?;
    (name == same).then_some(name.trim_matches('"'))
}

/// The export of the whole configuration; a terse one has one line per item.
fn exported(store: &Store, style: Style) -> String {
    let options = Options {
        style,
        sensitive: true,
        ..Options::default()
    };
    let mut out = String::new();
    let _ = export(store, &options, &mut out);
    out
}

/// The exports and configurations as texts.
fn exports(corpus: &Path) -> impl Iterator<Item = (String, String)> {
    let files = indexed(corpus).into_iter();
    files.filter(|(file, _)| file.starts_with("exports"))
}

#[test]
fn an_export_recreates_the_items() {
    let Some(corpus) = shared("an_export_recreates_the_items", "corpus") else {
        return;
    };
    let (mut wrong, mut compared, mut all) = (Vec::new(), 0, 0);
    for (file, text) in exports(&corpus) {
        all += 1;
        if let Some(found) = differences(&text) {
            compared += 1;
            wrong.extend(found.into_iter().map(|line| format!("{file}: {line}")));
        }
    }
    eprintln!("{compared} of {all} files are without errors");
    assert!(compared * 2 > all, "{compared}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The differences between the items of a file and those of its export, imported again. `None` if the file has
/// errors, because a check then assumes items that do not exist.
fn differences(text: &str) -> Option<Vec<String>> {
    let mut first = schema::store();
    if !script::check(&mut first, text).refused.is_empty() {
        return None;
    }
    let once = exported(&first, Style::Compact);
    let mut second = schema::store();
    // An export does not contain ports with default settings.
    let ports: Vec<_> = first.members("interface").filter(|i| i.is_port()).collect();
    for port in ports {
        let _ = second.ensure_port(port.text("default-name"), None);
    }
    let bytes = menu::bytes::to_bytes(&once);
    let report = script::check(&mut second, &menu::bytes::from_bytes(&bytes));
    let refused = report.refused.iter();
    let mut wrong: Vec<_> = refused
        .map(|r| format!("{}: {}", r.reason, r.command))
        .collect();
    let (first, again) = (items(&first), items(&second));
    for (path, items) in &first {
        let others = again.get(path).map(Vec::as_slice).unwrap_or_default();
        let gone = items.iter().filter(|item| !others.contains(item));
        let new = others.iter().filter(|item| !items.contains(item));
        wrong.extend(gone.map(|item| format!("- {path} {item}")));
        wrong.extend(new.map(|item| format!("+ {path} {item}")));
        if wrong.is_empty() && items != others {
            wrong.push(format!("{path}: another order"));
        }
    }
    if wrong.is_empty() && exported(&second, Style::Compact) != once {
        wrong.push(String::from("the second export is another text"));
    }
    Some(wrong)
}

/// The items of all menus as texts; those of ordered menus with their positions. Passwords of users are not
/// exported, and the hardware of the machine is not part of the configuration.
fn items(store: &Store) -> BTreeMap<&'static str, Vec<String>> {
    let mut all = BTreeMap::new();
    let menus = store.menus().iter();
    for menu in menus.filter(|menu| menu.is_configuration() && menu.parts == 0) {
        let mut texts: Vec<String> = store
            .items(menu.path)
            .map(|item| {
                let values = item.values().filter(|(property, _)| {
                    !property.read_only && (menu.path, property.name) != ("/user", "password")
                });
                values
                    .map(|(p, value)| format!("{}={value} ", p.name))
                    .collect()
            })
            .collect();
        if menu.shape != MenuShape::Ordered {
            texts.sort();
        }
        all.insert(menu.path, texts);
    }
    all
}

#[test]
fn commands_are_counted_as_the_index_counts_them() {
    let Some(corpus) = shared("commands_are_counted_as_the_index_counts_them", "corpus") else {
        return;
    };
    let (mut wrong, mut off, mut all) = (Vec::new(), 0, 0);
    for (file, text, commands) in counted(&corpus) {
        let report = script::check(&mut schema::store(), &text);
        let sum = report.applied + report.no_effect.len() + report.refused.len();
        assert_eq!(
            sum, report.commands,
            "{file}: each command is one of the three"
        );
        all += commands;
        off += commands.abs_diff(report.commands);
        if report.commands != commands {
            wrong.push(format!("{file}: {} for {commands}", report.commands));
        }
    }
    assert!(wrong.is_empty(), "{off} of {all}:\n{}", wrong.join("\n"));
}

/// The files with the number of commands that the index has for each.
fn counted(corpus: &Path) -> Vec<(String, String, usize)> {
    let index = std::fs::read_to_string(corpus.join("INDEX.tsv")).expect("the index is readable");
    let count = |file: &str| {
        let line = index.lines().find(|line| line.starts_with(file))?;
        line.rsplit('\t').next()?.parse().ok()
    };
    let files = indexed(corpus).into_iter();
    files
        .filter_map(|(file, text)| count(&file).map(|n| (file, text, n)))
        .collect()
}
