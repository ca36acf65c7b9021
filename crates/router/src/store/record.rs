//! Contents of ledger records, and their application to a state.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use menu::{Origin, Saved, SavedChanges, SavedItem};

use super::code::{self, Reader};
use super::tables::HOLDING;
use super::{LOG_BYTES, LOGGED, SafeModeState, StoredState, UNCONFIRMED};

const CHANGES: u8 = 1;
const HOLD: u8 = 2;
const RELEASE: u8 = 3;
const NOTE: u8 = 4;
const ALL: u8 = 5;

/// Builds the content of a transaction from the bytes of [`code::changes`].
pub(super) fn of_changes(changes: &[u8]) -> Vec<u8> {
    [&[CHANGES], changes].concat()
}

/// Builds the content of the write that starts safe mode.
pub(super) fn of_hold() -> Vec<u8> {
    vec![HOLD]
}

/// Builds the content of the write that ends safe mode.
pub(super) fn of_release() -> Vec<u8> {
    vec![RELEASE]
}

/// Builds the content of a write that sets or removes a note.
pub(super) fn of_note(name: &str, text: Option<&str>) -> Vec<u8> {
    let mut out = vec![NOTE];
    code::text(name, &mut out);
    if let Some(text) = text {
        code::text(text, &mut out);
    }
    out
}

/// Builds the content of a write that replaces the whole configuration.
pub(super) fn of_saved(saved: &Saved) -> Vec<u8> {
    [&[ALL], &*code::saved(saved)].concat()
}

/// Whether the content replaces the whole configuration: it needs no earlier state.
pub(super) fn is_saved(content: &[u8]) -> bool {
    content.first() == Some(&ALL)
}

/// Whether the content sets or removes a note, and leaves the configuration unchanged.
pub(super) fn is_note(content: &[u8]) -> bool {
    content.first() == Some(&NOTE)
}

/// Items by menu and id.
type Items<T> = BTreeMap<(Arc<str>, u64), T>;

/// A state to which records are applied in the order of their numbers.
pub(super) struct Replay {
    revision: u64,
    last_ids: BTreeMap<String, u64>,
    items: Items<SavedItem>,
    notes: BTreeMap<String, String>,
    held: Items<Option<SavedItem>>,
    /// The log with the size of each transaction; `None` for a transaction that is too large to keep.
    log: VecDeque<(u64, usize, Option<SavedChanges>)>,
}

impl Replay {
    pub(super) fn new(kept: StoredState) -> Self {
        let items = kept.saved.items.into_iter();
        let held = kept.held.into_iter().flat_map(|held| held.items);
        let log = kept.log.into_iter().map(|changes| {
            let bytes = code::changes(&changes).len();
            (changes.revision, bytes, Some(changes))
        });
        Self {
            revision: kept.saved.revision,
            last_ids: kept.saved.last_ids.into_iter().collect(),
            items: items
                .map(|item| ((item.path.clone(), item.id), item))
                .collect(),
            notes: kept.notes,
            held: held
                .map(|(path, id, before)| ((path.into(), id), before))
                .collect(),
            log: log.collect(),
        }
    }

    /// Applies the content of a record with this revision. Returns `None`, and changes nothing, if a later version
    /// wrote it in an unknown format.
    pub(super) fn apply(&mut self, revision: u64, content: &[u8]) -> Option<()> {
        let (kind, rest) = content.split_first()?;
        match *kind {
            CHANGES => self.change(code::read_changes(revision, rest)?, rest.len()),
            HOLD => {
                self.held.clear();
                self.notes
                    .insert(HOLDING.to_owned(), self.revision.to_string());
            }
            RELEASE => {
                self.held.clear();
                self.notes.remove(HOLDING);
            }
            NOTE => {
                let mut reader = Reader(rest);
                let name = reader.text()?;
                match reader.0.is_empty() {
                    true => drop(self.notes.remove(&name)),
                    false => drop(self.notes.insert(name, reader.text()?)),
                }
            }
            ALL => {
                let saved = code::read_saved(rest)?;
                self.revision = saved.revision;
                self.last_ids = saved.last_ids.into_iter().collect();
                let items = saved.items.into_iter();
                self.items = items
                    .map(|item| ((item.path.clone(), item.id), item))
                    .collect();
            }
            _ => return None,
        }
        Some(())
    }

    fn change(&mut self, changes: SavedChanges, bytes: usize) {
        self.revision = changes.revision;
        let is_held = self.notes.contains_key(HOLDING) && changes.origin != Origin::Router;
        for change in &changes.list {
            let Some(either) = change.after.as_ref().or(change.before.as_ref()) else {
                continue;
            };
            let key = (either.path.clone(), either.id);
            // The schema numbers builtin items.
            let last = self.last_ids.get(&*either.path).copied();
            if either.builtin.is_none() && either.id > last.unwrap_or_default() {
                self.last_ids.insert(either.path.to_string(), either.id);
            }
            if is_held {
                let before = || change.before.clone();
                self.held.entry(key.clone()).or_insert_with(before);
            }
            match &change.after {
                Some(after) => drop(self.items.insert(key, after.clone())),
                None => drop(self.items.remove(&key)),
            }
        }
        self.append_to_log(changes, bytes);
    }

    /// Appends to the log and shortens it, like the database's log ([`super::Durable::write_log`]).
    fn append_to_log(&mut self, changes: SavedChanges, bytes: usize) {
        let unconfirmed = self.notes.get(UNCONFIRMED);
        let unconfirmed: Option<u64> = unconfirmed.and_then(|text| text.parse().ok());
        let revision = changes.revision;
        let is_kept = bytes <= LOG_BYTES || unconfirmed == Some(revision);
        self.log
            .push_back((revision, bytes, is_kept.then_some(changes)));
        let mut sum: usize = self.log.iter().map(|(_, bytes, _)| bytes).sum();
        while sum > LOG_BYTES || self.log.len() > LOGGED {
            match self.log.front() {
                Some((first, bytes, _)) if Some(*first) != unconfirmed => sum -= bytes,
                _ => break,
            }
            self.log.pop_front();
        }
    }

    /// Returns the state.
    pub(super) fn into_kept(self) -> StoredState {
        let since = self.notes.get(HOLDING).and_then(|text| text.parse().ok());
        let held = self.held.into_iter();
        let held = held.map(|((path, id), before)| (path.to_string(), id, before));
        StoredState {
            held: since.map(|since| SafeModeState {
                since,
                items: held.collect(),
            }),
            saved: Saved {
                revision: self.revision,
                last_ids: self.last_ids.into_iter().collect(),
                items: self.items.into_values().collect(),
            },
            log: self.log.into_iter().filter_map(|(.., c)| c).collect(),
            notes: self.notes,
        }
    }
}
