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
