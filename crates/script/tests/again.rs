//! What is exported makes the same configuration again, for real configurations.
//!
//! The files are not part of the project; without them the test says so and passes.

use std::path::{Path, PathBuf};

use menu::{Store, export};

/// The folder of real configurations beside the repository, if it is there.
fn corpus() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = ["../shared/corpus/exports", "../../shared/corpus/exports"];
    let found = places
        .iter()
        .map(|place| root.join(place))
        .find(|path| path.is_dir());
    if found.is_none() {
        eprintln!("skipped: no ../shared/corpus/exports beside the repository");
    }
    found
}

/// The configuration as commands, secrets and all.
fn exported(store: &Store) -> String {
    let options = export::Options {
        sensitive: true,
        ..export::Options::default()
    };
    let mut text = String::new();
    let _ = export::export(store, &options, &mut text);
    text
}

/// Lines that one text has and the other does not.
fn differences(first: &str, second: &str) -> Vec<String> {
    let only = |a: &str, b: &str, sign: &str| {
        let lines: std::collections::BTreeSet<_> = b.lines().collect();
        let missing = a.lines().filter(|line| !lines.contains(line));
        missing
            .map(|line| format!("{sign} {line}"))
            .collect::<Vec<_>>()
    };
    [only(first, second, "-"), only(second, first, "+")].concat()
}

#[test]
fn an_export_makes_the_same_configuration_again() {
    let Some(folder) = corpus() else { return };
    let mut wrong = Vec::new();
    let files = std::fs::read_dir(&folder).expect("the folder is readable");
    for file in files.filter_map(Result::ok) {
        let bytes = std::fs::read(file.path()).expect("the file is readable");
        let mut store = schema::store();
        let report = script::check(&mut store, &menu::bytes::from_bytes(&bytes));
        // What a refused command would have made is supposed to be there, and is not exported.
        if report.refused.iter().any(|r| r.command.contains(" name=")) {
            eprintln!("skipped: {:?} names what is not made", file.file_name());
            continue;
        }
        let first = exported(&store);
        let mut again = schema::store();
        let report = script::check(&mut again, &first);
        let name = file.file_name().to_string_lossy().into_owned();
        let refused = report.refused.iter();
        wrong.extend(refused.map(|r| format!("{name}: {} [{}]", r.reason, r.command)));
        let second = exported(&again);
        wrong.extend(
            differences(&first, &second)
                .iter()
                .map(|line| format!("{name}: {line}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
