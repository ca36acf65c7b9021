//! `ferroute test`: compares expectations about packets with a configuration. The router's own forwarding code
//! answers, by `/tool/trace`, without a running router and without privileges.

mod line;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use self::line::Expectation;
use crate::cli::Test;
use crate::cli::output;
use crate::command::assumption::Assumption;
use crate::command::trace::{OfflineRouter, to_text};

/// Exit code of failed expectations.
const EXIT_FAILED: u8 = 4;

/// Result of one expectation.
struct Outcome {
    /// File and line.
    place: String,
    /// Text of the expectation.
    text: String,
    /// Reasons of the failure; empty on success.
    why: Vec<String>,
    steps: Vec<Value>,
}

/// Runs `ferroute test`; returns the exit code.
pub(crate) fn test(test: &Test) -> Result<u8, String> {
    let mut outcomes = Vec::new();
    for file in &test.files {
        let before = outcomes.len();
        outcomes.extend(outcomes_of(file, &test.assume)?);
        if outcomes.len() == before {
            return Err(format!(
                "{}: no expectations found: write `# expect accept in=… src=… dst=…` into it, or into {}",
                file.display(),
                beside(file).display()
            ));
        }
    }
    output::text(match test.json {
        true => format!("{}\n", to_json(&outcomes)),
        false => shown(&outcomes),
    })?;
    let failed = outcomes.iter().any(|outcome| !outcome.why.is_empty());
    Ok(if failed { EXIT_FAILED } else { 0 })
}

/// Returns the expectation file of a configuration.
fn beside(file: &Path) -> std::path::PathBuf {
    file.with_extension("expect")
}

fn outcomes_of(file: &Path, assumed: &[Assumption]) -> Result<Vec<Outcome>, String> {
    let read = |file: &Path| {
        let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let mut lines = Expectations::default();
    lines.read(file, &read(file)?, true)?;
    let beside = beside(file);
    if beside.exists() {
        lines.read(&beside, &read(&beside)?, false)?;
    }
    let mut store = schema::store();
    crate::run::config::import_file(&mut store, file)?;
    let assumed = [&lines.assumed[..], assumed].concat();
    let mut router = OfflineRouter::new(store, &assumed)?;
    let outcomes = lines.expected.into_iter().map(|expected| {
        let Expected {
            place,
            text,
            expectation,
        } = expected;
        let steps = router.trace(&expectation.command());
        let steps = steps.map_err(|why| format!("{place}: {why}"))?;
        let why = expectation.failures(&steps);
        Ok(Outcome {
            place,
            text,
            why,
            steps,
        })
    });
    outcomes.collect()
}

/// An expectation with its position and text.
struct Expected {
    place: String,
    text: String,
    expectation: Expectation,
}

/// Expectations about one configuration.
#[derive(Default)]
struct Expectations {
    expected: Vec<Expected>,
    /// Assumed dynamic addresses.
    assumed: Vec<Assumption>,
}

impl Expectations {
    /// Reads the lines of a file: comments only, or all lines.
    fn read(&mut self, file: &Path, text: &str, in_comments: bool) -> Result<(), String> {
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            let said = match (in_comments, line.strip_prefix('#')) {
                (true, Some(comment)) => comment.trim_start(),
                (true, None) | (false, Some(_)) => continue,
                (false, None) => line,
            };
            let place = format!("{}:{number}", file.display());
            let wrong = |why: String| format!("{place}: {why}");
            if let Some(rest) = said.strip_prefix("expect ") {
                let expectation = Expectation::read(rest).map_err(wrong)?;
                self.expected.push(Expected {
                    place,
                    text: said.to_owned(),
                    expectation,
                });
            } else if let Some(rest) = said
                .strip_prefix("assume ")
                .filter(|rest| is_assumption(rest))
            {
                self.assumed.push(rest.trim().parse().map_err(wrong)?);
            } else if !in_comments && !said.is_empty() {
                return Err(wrong(
                    "a line must begin with `expect`, `assume` or #".to_owned(),
                ));
            }
        }
        Ok(())
    }
}

/// Returns true if the text after `assume` is an assumption, and no sentence of a comment.
fn is_assumption(rest: &str) -> bool {
    let rest = rest.trim();
    rest.contains('=') && !rest.contains(char::is_whitespace)
}

fn shown(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        let word = if outcome.why.is_empty() {
            "ok  "
        } else {
            "FAIL"
        };
        let _ = writeln!(text, "{word} {}: {}", outcome.place, outcome.text);
        for why in &outcome.why {
            let _ = writeln!(text, "     {why}");
        }
        if !outcome.why.is_empty() {
            for line in to_text(&outcome.steps).lines() {
                let _ = writeln!(text, "     | {line}");
            }
        }
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.why.is_empty());
    let (failed, all) = (failed.count(), outcomes.len());
    let _ = writeln!(text, "{} hold, {failed} do not", all - failed);
    text
}

fn to_json(outcomes: &[Outcome]) -> Value {
    let each = outcomes.iter().map(|outcome| {
        json!({
            "place": outcome.place,
            "expectation": outcome.text,
            "holds": outcome.why.is_empty(),
            "why": outcome.why,
            "trace": outcome.steps,
        })
    });
    each.collect()
}
