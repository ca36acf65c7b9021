//! Encoding of items and transactions as bytes, for the database and backups.
//!
//! Numbers are little endian; a length in four bytes precedes each text. Reading damaged bytes returns `None`, and
//! never panics.

use std::sync::Arc;

use super::{SafeModeState, StoredState};
use menu::{By, Clock, Origin, Saved, SavedChange, SavedChanges, SavedItem, SavedValues};

/// Encodes an item: `position`, `builtin + 1` or 0, then each name and value.
pub(crate) fn item(item: &SavedItem) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&item.position.to_le_bytes());
    out.extend_from_slice(&item.builtin.map_or(0, |number| number + 1).to_le_bytes());
    out.extend_from_slice(item.values.bytes());
    out
}

/// Decodes an item of this menu and number from the bytes of [`item`].
pub(crate) fn read_item(path: Arc<str>, id: u64, bytes: &[u8]) -> Option<SavedItem> {
    let mut reader = Reader(bytes);
    let (position, builtin) = (reader.number()?, reader.number()?);
    Some(SavedItem {
        path,
        id,
        position,
        builtin: builtin.checked_sub(1),
        values: SavedValues::read(reader.0)?,
    })
}

/// Lets consecutive items of a menu share the memory of its path. Stores list items menu by menu.
#[derive(Default)]
pub(super) struct LastPath(Option<Arc<str>>);

impl LastPath {
    /// The path in shared memory: that of the previous call, if both paths are equal.
    pub(super) fn share(&mut self, path: &str) -> Arc<str> {
        let last = self.0.take().filter(|last| &**last == path);
        let path = last.unwrap_or_else(|| path.into());
        self.0.insert(path).clone()
    }
}

/// Encodes a transaction without its revision, which is its key.
pub(crate) fn changes(changes: &SavedChanges) -> Vec<u8> {
    let mut out = Vec::new();
    text(&changes.by.user, &mut out);
    text(&changes.by.action, &mut out);
    // A transaction without a time gets the beginning of 1970.
    let clock = changes.by.clock.unwrap_or(Clock::utc(0));
    out.extend_from_slice(&clock.unix_seconds.to_le_bytes());
    out.extend_from_slice(&clock.nanos.to_le_bytes());
    out.extend_from_slice(&clock.offset_seconds.to_le_bytes());
    let (kind, of) = match changes.origin {
        Origin::Router => (0u8, 0),
        Origin::User => (1, 0),
        Origin::Undo(revision) => (2, revision),
        Origin::Redo(revision) => (3, revision),
        Origin::Unroll(revision) => (4, revision),
    };
    out.push(kind);
    out.extend_from_slice(&of.to_le_bytes());
    for change in &changes.list {
        let either = change.before.as_ref().or(change.after.as_ref());
        let Some(either) = either else { continue };
        text(&either.path, &mut out);
        out.extend_from_slice(&either.id.to_le_bytes());
        for side in [&change.before, &change.after] {
            let bytes = side.as_ref().map(item).unwrap_or_default();
            blob(&bytes, &mut out);
        }
    }
    out
}

/// Decodes the bytes of [`changes`].
pub(crate) fn read_changes(revision: u64, bytes: &[u8]) -> Option<SavedChanges> {
    let mut reader = Reader(bytes);
    let (user, action) = (reader.text()?, reader.text()?);
    let clock = Clock {
        unix_seconds: i64::from_le_bytes(reader.take()?),
        nanos: u32::from_le_bytes(reader.take()?),
        offset_seconds: i32::from_le_bytes(reader.take()?),
        ..Clock::utc(0)
    };
    let clock = (clock != Clock::utc(0)).then_some(clock);
    let [kind] = reader.take()?;
    let of = reader.number()?;
    let origin = match kind {
        0 => Origin::Router,
        1 => Origin::User,
        2 => Origin::Undo(of),
        3 => Origin::Redo(of),
        4 => Origin::Unroll(of),
        _ => return None,
    };
    let mut list = Vec::new();
    while !reader.0.is_empty() {
        let (path, id) = (Arc::from(reader.text()?), reader.number()?);
        let mut side = || match reader.blob()? {
            [] => Some(None),
            bytes => read_item(Arc::clone(&path), id, bytes).map(Some),
        };
        let (before, after) = (side()?, side()?);
        list.push(SavedChange { before, after });
    }
    let by = By {
        user,
        clock,
        action,
    };
    Some(SavedChanges {
        revision,
        by,
        origin,
        list,
    })
}

/// Encodes a whole configuration.
pub(crate) fn saved(saved: &Saved) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&saved.revision.to_le_bytes());
    out.extend_from_slice(&(saved.last_ids.len() as u64).to_le_bytes());
    for (path, last) in &saved.last_ids {
        text(path, &mut out);
        out.extend_from_slice(&last.to_le_bytes());
    }
    for one in &saved.items {
        text(&one.path, &mut out);
        out.extend_from_slice(&one.id.to_le_bytes());
        blob(&item(one), &mut out);
    }
    out
}

/// Decodes the bytes of [`saved`].
pub(crate) fn read_saved(bytes: &[u8]) -> Option<Saved> {
    let mut reader = Reader(bytes);
    let mut saved = Saved {
        revision: reader.number()?,
        ..Saved::default()
    };
    for _ in 0..reader.number()? {
        saved.last_ids.push((reader.text()?, reader.number()?));
    }
    let mut last_path = LastPath::default();
    while !reader.0.is_empty() {
        let path = last_path.share(&reader.text()?);
        let id = reader.number()?;
        saved.items.push(read_item(path, id, reader.blob()?)?);
    }
    Some(saved)
}

/// Encodes the whole stored state.
pub(super) fn kept(kept: &StoredState) -> Vec<u8> {
    let mut out = Vec::new();
    blob(&saved(&kept.saved), &mut out);
    out.extend_from_slice(&(kept.notes.len() as u64).to_le_bytes());
    for (name, words) in &kept.notes {
        text(name, &mut out);
        text(words, &mut out);
    }
    out.extend_from_slice(&(kept.log.len() as u64).to_le_bytes());
    for one in &kept.log {
        out.extend_from_slice(&one.revision.to_le_bytes());
        blob(&changes(one), &mut out);
    }
    if let Some(held) = &kept.held {
        out.extend_from_slice(&held.since.to_le_bytes());
        for (path, id, before) in &held.items {
            text(path, &mut out);
            out.extend_from_slice(&id.to_le_bytes());
            blob(&before.as_ref().map(item).unwrap_or_default(), &mut out);
        }
    }
    out
}

/// Decodes the bytes of [`kept`].
pub(super) fn read_kept(bytes: &[u8]) -> Option<StoredState> {
    let mut reader = Reader(bytes);
    let mut kept = StoredState {
        saved: read_saved(reader.blob()?)?,
        ..StoredState::default()
    };
    for _ in 0..reader.number()? {
        kept.notes.insert(reader.text()?, reader.text()?);
    }
    for _ in 0..reader.number()? {
        let revision = reader.number()?;
        kept.log.push(read_changes(revision, reader.blob()?)?);
    }
    if reader.0.is_empty() {
        return Some(kept);
    }
    let mut held = SafeModeState {
        since: reader.number()?,
        items: Vec::new(),
    };
    while !reader.0.is_empty() {
        let (path, id) = (reader.text()?, reader.number()?);
        let before = match reader.blob()? {
            [] => None,
            bytes => Some(read_item(path.as_str().into(), id, bytes)?),
        };
        held.items.push((path, id, before));
    }
    kept.held = Some(held);
    Some(kept)
}

/// Appends a text with its length.
pub(super) fn text(text: &str, out: &mut Vec<u8>) {
    blob(text.as_bytes(), out);
}

fn blob(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The bytes left to read.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn blob(&mut self) -> Option<&'a [u8]> {
        let len = u32::from_le_bytes(self.take()?);
        let (head, rest) = self.0.split_at_checked(len as usize)?;
        self.0 = rest;
        Some(head)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.blob()?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_item() -> SavedItem {
        SavedItem {
            path: "/x".into(),
            id: 7,
            position: 2,
            builtin: Some(0),
            values: [("a", "b")].into_iter().collect(),
        }
    }

    #[test]
    fn damaged_items_are_noticed() {
        let one = some_item();
        let bytes = item(&one);

        assert_eq!(read_item("/x".into(), 7, &bytes), Some(one));
        for len in 0..bytes.len() {
            let read = read_item("/x".into(), 7, &bytes[..len]);
            assert!(read.is_none_or(|i| i.values.is_empty()), "{len}");
        }
    }

    #[test]
    fn a_transaction_is_read_as_written_and_never_from_a_part() {
        let by = By {
            user: String::from("admin"),
            clock: Some(Clock {
                unix_seconds: 5,
                nanos: 6,
                offset_seconds: -7,
                ..Clock::utc(0)
            }),
            action: String::from("x added"),
        };
        let list = vec![
            SavedChange {
                before: None,
                after: Some(some_item()),
            },
            SavedChange {
                before: Some(some_item()),
                after: None,
            },
        ];
        let one = SavedChanges {
            revision: 9,
            by,
            origin: Origin::Undo(4),
            list,
        };
        let bytes = changes(&one);

        assert_eq!(read_changes(9, &bytes), Some(one.clone()));
        for len in 0..bytes.len() {
            assert_ne!(read_changes(9, &bytes[..len]), Some(one.clone()), "{len}");
        }
    }

    #[test]
    fn all_kept_data_is_read_as_written() {
        let held = SafeModeState {
            since: 2,
            items: vec![
                (String::from("/x"), 7, Some(some_item())),
                (String::from("/y"), 8, None),
            ],
        };
        let one = StoredState {
            saved: Saved {
                revision: 3,
                last_ids: vec![(String::from("/x"), 9)],
                items: vec![some_item()],
            },
            notes: [(String::from("a"), String::from("b"))].into(),
            held: Some(held),
            log: Vec::new(),
        };
        let bytes = kept(&one);

        let read = read_kept(&bytes).expect("it was written");
        assert_eq!((read.saved, read.notes), (one.saved, one.notes));
        assert_eq!(read.held, one.held);
    }

    #[test]
    fn a_configuration_is_read_as_written() {
        let one = Saved {
            revision: 3,
            last_ids: vec![(String::from("/x"), 9)],
            items: vec![some_item()],
        };
        let bytes = saved(&one);

        assert_eq!(read_saved(&bytes), Some(one.clone()));
        for len in 0..bytes.len() {
            assert_ne!(read_saved(&bytes[..len]), Some(one.clone()), "{len}");
        }
    }
}
