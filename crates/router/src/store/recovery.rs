//! Recovers the last good state if the database is damaged: from the complete state that lacks the fewest acknowledged
//! writes, and the later records of the ledger.

use std::collections::BTreeMap;

use super::StoredState;
use super::ledger::Entry;
use super::record::Replay;
use super::records::{Record, Records};

/// Maximum number of lines in a list of losses.
const LISTED: usize = 12;

/// A complete state.
pub(super) struct Candidate {
    /// Name of its file.
    pub(super) file: &'static str,
    /// Number of its last write.
    pub(super) serial: u64,
    pub(super) kept: StoredState,
}

/// The recovered state, and the missing writes.
pub(super) struct Recovered {
    pub(super) kept: StoredState,
    /// Number of the last known write.
    pub(super) last: u64,
    /// Source of the state, as text.
    pub(super) from: String,
    /// Losses, one per line; a line says so if nothing is lost.
    pub(super) losses: Vec<String>,
}

/// Takes the candidate that lacks the fewest writes, and applies the later records. Returns `None` without a candidate.
pub(super) fn recover(candidates: Vec<Candidate>, records: &Records) -> Option<Recovered> {
    let known = records.by_serial();
    let newest = candidates.iter().map(|own| own.serial).max()?;
    let last = newest.max(records.last());
    let missing = |serial: u64| {
        let is_there = |number: &u64| known.get(number).is_some_and(|r| r.content.is_some());
        (last - serial)
            - known
                .range(serial + 1..)
                .map(|(n, _)| n)
                .filter(|n| is_there(n))
                .count() as u64
    };
    let rank = |own: &Candidate| (missing(own.serial), last - own.serial);
    let best = candidates.into_iter().min_by_key(rank)?;

    let mut revision = best.kept.saved.revision;
    let mut replay = Replay::new(best.kept);
    let mut lost = Vec::new();
    let mut applied = 0;
    let mut next = best.serial + 1;
    for (serial, record) in known.range(best.serial + 1..) {
        lost.extend(unnamed(next, *serial, revision));
        (next, revision) = (serial + 1, record.entry.revision);
        let content = record.content.as_deref();
        match content.and_then(|content| replay.apply(record.entry.revision, content)) {
            Some(()) => applied += 1,
            None => lost.extend(named(record)),
        }
    }
    lost.extend(unnamed(next, last + 1, revision));
    let from = match applied {
        0 => best.file.to_owned(),
        1 => format!("{} and 1 record of configuration.ledger", best.file),
        _ => format!(
            "{} and {applied} records of configuration.ledger",
            best.file
        ),
    };
    Some(Recovered {
        kept: replay.into_kept(),
        last,
        from,
        losses: in_lines(lost, records, &known),
    })
}

/// Lost writes in one line of the list.
struct Loss {
    line: String,
    writes: u64,
}

/// A lost write with its line; `None` for a note of the router itself.
fn named(record: &Record) -> Option<Loss> {
    let Entry { revision, line, .. } = &record.entry;
    (!line.is_empty()).then(|| Loss {
        line: format!("  revision {revision} {line}"),
        writes: 1,
    })
}

/// Lost writes of which only the numbers `from..to` and the previous revision are known.
fn unnamed(from: u64, to: u64, revision: u64) -> Option<Loss> {
    let writes = to.saturating_sub(from);
    let numbers = match writes {
        0 => return None,
        1 => format!("write {from}"),
        _ => format!("writes {from} to {}", to - 1),
    };
    Some(Loss {
        line: format!("  {numbers}, after revision {revision}: damaged in the ledger as well"),
        writes,
    })
}

fn in_lines(lost: Vec<Loss>, records: &Records, known: &BTreeMap<u64, &Record>) -> Vec<String> {
    let mut lines = Vec::new();
    if records.is_in_doubt() {
        let revision = known.values().next_back().map(|last| last.entry.revision);
        let behind = revision.map_or(String::new(), |n| format!(" after revision {n}"));
        lines.push(format!(
            "the ledger is damaged too: further changes{behind} may be lost"
        ));
    } else if lost.is_empty() {
        lines.push(String::from("no acknowledged change is lost"));
    }
    if lost.is_empty() {
        return lines;
    }
    let writes: u64 = lost.iter().map(|loss| loss.writes).sum();
    lines.push(format!("lost: {writes} of the acknowledged changes"));
    let skipped = lost.len().saturating_sub(LISTED);
    if skipped > 0 {
        lines.push(format!("  {skipped} more, then"));
    }
    lines.extend(lost.into_iter().skip(skipped).map(|loss| loss.line));
    lines
}
