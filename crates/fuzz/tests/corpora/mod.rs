//! The corpora in `fuzz/corpus`, one folder per target, and runs of targets on them.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use fuzz::Target;
use machine::Rng;

/// Returns the folder of a target's corpus.
#[allow(dead_code, reason = "each test file uses its part")]
pub(crate) fn folder(target: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fuzz/corpus", target]
        .iter()
        .collect()
}

/// Returns the inputs of a target's corpus by file name.
pub(crate) fn corpus(target: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder(target)).expect("each target has a corpus");
    let input = |entry: Result<fs::DirEntry, _>| {
        let path: PathBuf = entry.expect("the folder can be read").path();
        let name = path.file_name().expect("an entry has a name");
        let bytes = fs::read(&path).expect("an input can be read");
        (name.to_string_lossy().into_owned(), bytes)
    };
    entries.map(input).collect()
}

/// Returns the stored input; with `UPDATE` in the environment stores `bytes` first.
#[allow(dead_code, reason = "each test file uses its part")]
pub(crate) fn stored(target: &str, name: &str, bytes: &[u8]) -> Vec<u8> {
    let path = folder(target).join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(folder(target)).expect("a folder");
        fs::write(&path, bytes).expect("a file");
    }
    fs::read(&path).unwrap_or_default()
}

/// Runs a target; a panic prints its input.
pub(crate) fn drive(target: Target, bytes: &[u8], what: impl FnOnce() -> String) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(bytes))) {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        eprintln!("{}: {hex}", what());
        std::panic::resume_unwind(panic);
    }
}

/// Runs a target on its corpus: whole, truncated at every byte up to a length, and with seeded mutations.
#[allow(dead_code, reason = "each test file uses its part")]
pub(crate) fn cut_and_mutated(name: &str, target: Target, longest: usize, mutations: u64) {
    for (file, bytes) in &corpus(name) {
        for len in 0..=bytes.len().min(longest) {
            drive(target, &bytes[..len], || {
                format!("{name}/{file} cut to {len}")
            });
        }
        drive(target, bytes, || format!("{name}/{file}"));
    }
    mutated(name, target, mutations);
}

/// Runs a target on seeded mutations of its corpus.
#[allow(dead_code, reason = "each test file uses its part")]
pub(crate) fn mutated(name: &str, target: Target, mutations: u64) {
    let corpus: Vec<_> = corpus(name).into_iter().collect();
    for seed in 0..mutations {
        let mut rng = Rng::seeded(seed);
        let (file, bytes) = &corpus[rng.below(corpus.len() as u64) as usize];
        let mut mutated = bytes.clone();
        fuzz::formats::mutate(&mut mutated, |bound| rng.below(bound as u64) as usize);
        drive(target, &mutated, || {
            format!("{name}/{file} with seed {seed}")
        });
    }
}
