//! Real configurations: no crash, and the commands of the menus that are declared are accepted.
//!
//! The files are not part of the project; without them the test says so and passes.

mod beside;

use std::path::Path;

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
fn what_is_exported_is_imported_as_the_same_items() {
    let Some(corpus) = shared("what_is_exported_is_imported_as_the_same_items", "corpus") else {
        return;
    };
    let mut wrong = Vec::new();
    for (file, text) in exports(&corpus) {
        let mut first = schema::store();
        let report = script::check(&mut first, &text);
        let mut export = exported(&first);
        // What a refused command would have made is there by its name only.
        let made: Vec<_> = report
            .refused
            .iter()
            .filter_map(|r| made(&r.command))
            .collect();
        let is = loop {
            let (at, why) = match imported(&export) {
                Ok(store) => break exported(&store),
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

/// The store that an export makes.
fn imported(export: &str) -> Result<menu::Store, menu::Refusal> {
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

/// The name that a command gives.
fn made(command: &str) -> Option<String> {
    let (_, rest) = command.split_once("name=")?;
    Some(rest.split(' ').next()?.trim_matches('"').to_owned()).filter(|name| !name.is_empty())
}

/// The name in a line about an interface that is but supposed.
fn supposed(line: &str) -> Option<&str> {
    let (name, same) = line.strip_prefix("/interface set ")?.split_once(" name=")?;
    (name == same).then_some(name.trim_matches('"'))
}

/// All that is configured, as a terse export: a line an item.
fn exported(store: &menu::Store) -> String {
    let options = menu::export::Options {
        style: menu::export::Style::Terse,
        sensitive: true,
        ..menu::export::Options::default()
    };
    let mut out = String::new();
    let _ = menu::export::export(store, &options, &mut out);
    out
}

/// The exports and configurations as texts.
fn exports(corpus: &Path) -> impl Iterator<Item = (String, String)> {
    let files = indexed(corpus).into_iter();
    files.filter(|(file, _)| file.starts_with("exports"))
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

/// The files with the number of commands that each is said to have.
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
