//! Tables of the database. Values are encrypted, each bound to its table and key. Databases of earlier versions are
//! unencrypted, and are converted once.

use std::collections::BTreeMap;
use std::sync::Arc;

use menu::{Change, Changes, SavedChanges, SavedItem};
use redb::{
    Database, ReadTransaction, ReadableDatabase as _, ReadableTable as _, Table, TableDefinition,
    TableError, WriteTransaction,
};

use super::vault::{Head, SealContext, Vault};
use super::{SafeModeState, StoredState, code};

type Bytes = &'static [u8];
type Items = TableDefinition<'static, (&'static str, u64), Bytes>;

/// Items by menu path and id, encoded by [`code::item`].
pub(super) const ITEMS: Items = TableDefinition::new("items");
/// `revision`, [`SERIAL`], and `last-id` followed by a menu's path: eight bytes each, little endian.
pub(super) const NUMBERS: TableDefinition<'static, &str, Bytes> = TableDefinition::new("counts");
/// Transactions by revision, encoded by [`code::changes`].
pub(super) const LOG: TableDefinition<'static, u64, Bytes> = TableDefinition::new("log");
/// Items before safe mode; without bytes if the item did not exist.
pub(super) const HELD: Items = TableDefinition::new("held");
/// Notes by name, including [`HOLDING`].
pub(super) const NOTES: TableDefinition<'static, &str, Bytes> = TableDefinition::new("words");
/// Unencrypted values: [`HEAD_NAME`].
const HEAD: TableDefinition<'static, &str, Bytes> = TableDefinition::new("head");
const HEAD_NAME: &str = "vault";
/// Numbers of unencrypted databases.
const OLD_NUMBERS: TableDefinition<'static, &str, u64> = TableDefinition::new("numbers");
const OLD_NOTES: TableDefinition<'static, &str, &str> = TableDefinition::new("notes");

pub(super) const REVISION: &str = "revision";
/// Name of the number of the last write.
pub(super) const SERIAL: &str = "serial";
pub(super) const LAST_ID: &str = "last-id";
/// Note that safe mode is active: the revision before it.
pub(super) const HOLDING: &str = "holding";

type Done<T> = Result<T, redb::Error>;

/// Returns a table; `None` if it was never created.
pub(super) fn table<T>(opened: Result<T, TableError>) -> Done<Option<T>> {
    match opened {
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        opened => Ok(Some(opened?)),
    }
}

fn damaged(what: impl Into<String>) -> redb::Error {
    redb::Error::Corrupted(what.into())
}

/// Returns the head of a database; `None` for an earlier version.
pub(super) fn head(database: &Database) -> Done<Option<Head>> {
    let transaction = database.begin_read()?;
    let Some(table) = table(transaction.open_table(HEAD))? else {
        return Ok(None);
    };
    let bytes = table.get(HEAD_NAME)?;
    let head = bytes.and_then(|bytes| Head::read(bytes.value()));
    head.map(Some).ok_or_else(|| damaged("the head"))
}

/// Writes the head of a new database.
pub(super) fn write_head(transaction: &WriteTransaction, head: &Head) -> Done<()> {
    let mut table = transaction.open_table(HEAD)?;
    table.insert(HEAD_NAME, &head.bytes()[..])?;
    Ok(())
}

/// Reads values: encrypted ones, or those of an earlier version.
pub(super) struct Reader<'a> {
    pub(super) transaction: &'a ReadTransaction,
    pub(super) vault: Option<&'a Vault>,
}

impl Reader<'_> {
    fn open(&self, place: &SealContext<'_>, bytes: &[u8]) -> Done<Vec<u8>> {
        let opened = match self.vault {
            Some(vault) => vault.open(place, bytes),
            None => Some(bytes.to_vec()),
        };
        let SealContext(table, name, number) = place;
        opened.ok_or_else(|| damaged(format!("{table} {name} *{number:X}")))
    }

    pub(super) fn numbers(&self) -> Done<Option<BTreeMap<String, u64>>> {
        let mut numbers = BTreeMap::new();
        if self.vault.is_none() {
            let Some(table) = table(self.transaction.open_table(OLD_NUMBERS))? else {
                return Ok(None);
            };
            for entry in table.iter()? {
                let (name, number) = entry?;
                numbers.insert(name.value().to_owned(), number.value());
            }
            return Ok(Some(numbers));
        }
        let Some(table) = table(self.transaction.open_table(NUMBERS))? else {
            return Ok(None);
        };
        for entry in table.iter()? {
            let (name, bytes) = entry?;
            let name = name.value();
            let bytes = self.open(&SealContext("counts", name, 0), bytes.value())?;
            let bytes = bytes.try_into().map_err(|_| damaged(name))?;
            numbers.insert(name.to_owned(), u64::from_le_bytes(bytes));
        }
        Ok(Some(numbers))
    }

    pub(super) fn notes(&self) -> Done<BTreeMap<String, String>> {
        let mut notes = BTreeMap::new();
        if self.vault.is_none() {
            if let Some(table) = table(self.transaction.open_table(OLD_NOTES))? {
                for entry in table.iter()? {
                    let (name, text) = entry?;
                    notes.insert(name.value().to_owned(), text.value().to_owned());
                }
            }
            return Ok(notes);
        }
        if let Some(table) = table(self.transaction.open_table(NOTES))? {
            for entry in table.iter()? {
                let (name, bytes) = entry?;
                let name = name.value();
                let bytes = self.open(&SealContext("words", name, 0), bytes.value())?;
                let text = String::from_utf8(bytes).map_err(|_| damaged(name))?;
                notes.insert(name.to_owned(), text);
            }
        }
        Ok(notes)
    }

    pub(super) fn items(&self) -> Done<Vec<SavedItem>> {
        let mut items = Vec::new();
        let mut last_path = code::LastPath::default();
        if let Some(table) = table(self.transaction.open_table(ITEMS))? {
            for entry in table.iter()? {
                let (key, bytes) = entry?;
                let (path, id) = key.value();
                let path = last_path.share(path);
                items.push(self.item("items", path, id, bytes.value())?);
            }
        }
        Ok(items)
    }

    fn item(&self, table: &str, path: Arc<str>, id: u64, bytes: &[u8]) -> Done<SavedItem> {
        let bytes = self.open(&SealContext(table, &path, id), bytes)?;
        let item = code::read_item(Arc::clone(&path), id, &bytes);
        item.ok_or_else(|| damaged(format!("{table} {path} *{id:X}")))
    }

    pub(super) fn held(&self, since: u64) -> Done<SafeModeState> {
        let items = Vec::new();
        let mut held = SafeModeState { since, items };
        if let Some(table) = table(self.transaction.open_table(HELD))? {
            for entry in table.iter()? {
                let (key, bytes) = entry?;
                let ((path, id), bytes) = (key.value(), bytes.value());
                let place = SealContext("held", path, id);
                let item = match self.open(&place, bytes)?.is_empty() {
                    true => None,
                    false => Some(self.item("held", path.into(), id, bytes)?),
                };
                held.items.push((path.to_owned(), id, item));
            }
        }
        Ok(held)
    }

    pub(super) fn log(&self) -> Done<Vec<SavedChanges>> {
        let mut log = Vec::new();
        if let Some(table) = table(self.transaction.open_table(LOG))? {
            for entry in table.iter()? {
                let (revision, bytes) = entry?;
                let revision = revision.value();
                let bytes = self.open(&SealContext("log", "", revision), bytes.value())?;
                let changes = code::read_changes(revision, &bytes);
                log.push(changes.ok_or_else(|| damaged(format!("revision {revision}")))?);
            }
        }
        Ok(log)
    }

    /// Returns the whole state, and the number of the last write; `None` if nothing was ever written.
    pub(super) fn everything(&self) -> Done<Option<(u64, StoredState)>> {
        let Some(numbers) = self.numbers()? else {
            return Ok(None);
        };
        let mut kept = StoredState::default();
        let mut serial = 0;
        for (name, value) in numbers {
            match name.strip_prefix(LAST_ID) {
                Some(path) => kept.saved.last_ids.push((path.to_owned(), value)),
                None if name == SERIAL => serial = value,
                None => kept.saved.revision = value,
            }
        }
        kept.saved.items = self.items()?;
        kept.notes = self.notes()?;
        let since = kept.notes.get(HOLDING).and_then(|text| text.parse().ok());
        kept.held = since.map(|since| self.held(since)).transpose()?;
        kept.log = self.log()?;
        Ok(Some((serial, kept)))
    }
}

/// Writes encrypted values.
pub(super) struct Writer<'a> {
    pub(super) transaction: &'a WriteTransaction,
    pub(super) vault: &'a Vault,
}

impl Writer<'_> {
    /// Writes a number.
    pub(super) fn number(&self, name: &str, value: u64) -> Done<()> {
        let mut numbers = self.transaction.open_table(NUMBERS)?;
        self.insert_number(&mut numbers, name, value)
    }

    fn insert_number(
        &self,
        numbers: &mut Table<'_, &str, Bytes>,
        name: &str,
        value: u64,
    ) -> Done<()> {
        let place = SealContext("counts", name, 0);
        let sealed = self.vault.seal(&place, &value.to_le_bytes())?;
        numbers.insert(name, sealed.as_slice())?;
        Ok(())
    }

    /// Writes a note, or removes it.
    pub(super) fn note(&self, name: &str, text: Option<&str>) -> Done<()> {
        let mut notes = self.transaction.open_table(NOTES)?;
        match text {
            Some(text) => {
                let sealed = self
                    .vault
                    .seal(&SealContext("words", name, 0), text.as_bytes())?;
                notes.insert(name, sealed.as_slice())?;
            }
            None => drop(notes.remove(name)?),
        }
        Ok(())
    }

    /// Replaces the whole configuration, but keeps the number of the last write.
    pub(super) fn saved(&self, saved: &menu::Saved) -> Done<()> {
        self.transaction.delete_table(ITEMS)?;
        self.transaction.delete_table(NUMBERS)?;
        let mut items = self.transaction.open_table(ITEMS)?;
        for item in &saved.items {
            self.insert_item(&mut items, item)?;
        }
        self.number(REVISION, saved.revision)?;
        for (path, last) in &saved.last_ids {
            self.number(&format!("{LAST_ID}{path}"), *last)?;
        }
        Ok(())
    }

    fn insert_item(&self, items: &mut Table<'_, (&str, u64), Bytes>, item: &SavedItem) -> Done<()> {
        let place = SealContext("items", &item.path, item.id);
        let sealed = self.vault.seal(&place, &code::item(item))?;
        items.insert((&*item.path, item.id), sealed.as_slice())?;
        Ok(())
    }

    /// Writes the items that a transaction changed.
    pub(super) fn changes(&self, changes: &Changes, meanwhile: &mut dyn FnMut()) -> Done<()> {
        let mut items = self.transaction.open_table(ITEMS)?;
        let mut numbers = self.transaction.open_table(NUMBERS)?;
        self.insert_number(&mut numbers, REVISION, changes.revision)?;
        // Ids are never reused, so the highest id is kept even if its item is removed.
        let mut last_ids = BTreeMap::<_, u64>::new();
        for change in &changes.list {
            meanwhile();
            match SavedItem::after(change) {
                Ok(item) => self.insert_item(&mut items, &item)?,
                Err((path, id)) => drop(items.remove((path, id))?),
            }
            // The schema numbers builtin items.
            let either = change.after.as_ref().or(change.before.as_ref());
            if either.is_none_or(|item| item.builtin.is_none()) {
                let last = last_ids.entry(change.menu.path).or_default();
                *last = change.id.0.max(*last);
            }
        }
        for (path, last) in last_ids {
            let counter = format!("{LAST_ID}{path}");
            let known = match numbers.get(counter.as_str())? {
                Some(bytes) => self
                    .vault
                    .open(&SealContext("counts", &counter, 0), bytes.value()),
                None => Some(vec![0; 8]),
            };
            let known = known.and_then(|bytes| bytes.try_into().ok());
            let known = known.ok_or_else(|| damaged(counter.as_str()))?;
            if last > u64::from_le_bytes(known) {
                self.insert_number(&mut numbers, &counter, last)?;
            }
        }
        Ok(())
    }

    /// Writes the previous values of items that change for the first time.
    pub(super) fn held(&self, changes: &[Change]) -> Done<()> {
        let mut held = self.transaction.open_table(HELD)?;
        for change in changes {
            let key = (change.menu.path, change.id.0);
            if held.get(key)?.is_some() {
                continue;
            }
            let before = change.before.as_deref().map(SavedItem::of);
            self.insert_held(&mut held, key.0, key.1, before.as_ref())?;
        }
        Ok(())
    }

    fn insert_held(
        &self,
        held: &mut Table<'_, (&str, u64), Bytes>,
        path: &str,
        id: u64,
        before: Option<&SavedItem>,
    ) -> Done<()> {
        let bytes = before.map(code::item).unwrap_or_default();
        let sealed = self.vault.seal(&SealContext("held", path, id), &bytes)?;
        held.insert((path, id), sealed.as_slice())?;
        Ok(())
    }

    /// Appends a transaction to the log.
    pub(super) fn logged(&self, revision: u64, changes: &[u8]) -> Done<()> {
        let mut log = self.transaction.open_table(LOG)?;
        let sealed = self
            .vault
            .seal(&SealContext("log", "", revision), changes)?;
        log.insert(revision, sealed.as_slice())?;
        Ok(())
    }

    /// Writes the whole state of another database or of a snapshot.
    pub(super) fn everything(&self, kept: &StoredState) -> Done<()> {
        self.saved(&kept.saved)?;
        for (name, text) in &kept.notes {
            self.note(name, Some(text))?;
        }
        for changes in &kept.log {
            self.logged(changes.revision, &code::changes(changes))?;
        }
        let mut held = self.transaction.open_table(HELD)?;
        for (path, id, before) in kept.held.iter().flat_map(|held| &held.items) {
            self.insert_held(&mut held, path, *id, before.as_ref())?;
        }
        Ok(())
    }
}

/// Creates an unencrypted database, like earlier versions.
#[cfg(test)]
pub(super) fn write_in_the_clear(path: &std::path::Path, saved: &menu::Saved) {
    let write = || -> Done<()> {
        let database = Database::create(path)?;
        let transaction = database.begin_write()?;
        {
            let mut items = transaction.open_table(ITEMS)?;
            for item in &saved.items {
                let bytes = code::item(item);
                items.insert((&*item.path, item.id), bytes.as_slice())?;
            }
            let mut numbers = transaction.open_table(OLD_NUMBERS)?;
            numbers.insert(REVISION, saved.revision)?;
            for (path, last) in &saved.last_ids {
                numbers.insert(format!("{LAST_ID}{path}").as_str(), *last)?;
            }
            transaction.open_table(OLD_NOTES)?.insert("a", "note")?;
        }
        Ok(transaction.commit()?)
    };
    write().expect("an empty folder");
}
