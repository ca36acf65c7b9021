//! Reporting of skipped tests that need more of a machine than every machine offers.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;

/// Reports that a test was skipped, and why.
///
/// `cargo test` hides output of passing tests, so the line also goes to the file that `FERROUTE_SKIPS` names:
/// `make test` prints it at the end, and CI compares it with `.ci/allowed-skips`.
pub fn skip(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {}\n", reason.replace('\n', " "));
    eprint!("{line}");
    if let Some(path) = env::var_os("FERROUTE_SKIPS") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        // A single write, so that lines of several tests do not mix.
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        assert!(written.is_ok(), "a skip must not go unnoticed: {written:?}");
    }
}
