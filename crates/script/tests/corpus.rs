//! Real configurations: no crash, and the commands of the menus that are declared are accepted.
//!
//! The files are not part of the project; without them the test says so and passes.

use std::path::{Path, PathBuf};

/// The folder of real configurations beside the repository, if it is there.
fn corpus() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = ["../shared/corpus", "../../shared/corpus"];
    let found = places
        .iter()
        .map(|place| root.join(place))
        .find(|path| path.is_dir());
    if found.is_none() {
        eprintln!("skipped: no ../shared/corpus beside the repository");
    }
    found
}

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
fn commands_of_declared_menus_are_accepted() {
    let Some(corpus) = corpus() else { return };
    let (mut known, mut refused) = (0, Vec::new());
    for (file, text) in indexed(&corpus)
        .iter()
        .filter(|(file, _)| file.starts_with("exports"))
    {
        let report = script::check(&mut schema::store(), text);
        // What cannot be read at all is of no menu.
        let unknown = |reason: &str| {
            reason.starts_with("bad command name") || reason.starts_with("syntax error")
        };
        let bad = report.refused.iter().filter(|r| !unknown(&r.reason));
        refused.extend(bad.map(|r| {
            format!(
                "{file}:{}:{}: {} [{}]",
                r.line, r.column, r.reason, r.command
            )
        }));
        known += report.accepted;
    }
    known += refused.len();
    let share = (known - refused.len()) * 1_000 / known.max(1);
    assert!(
        share >= 980,
        "{share} of 1000 accepted:\n{}",
        refused.join("\n")
    );
    eprintln!(
        "{} of {known} accepted; refused:\n{}",
        known - refused.len(),
        refused.join("\n")
    );
}
#[test]
fn commands_are_counted_as_the_index_counts_them() {
    let Some(corpus) = corpus() else { return };
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
