//! The configuration on disk: a redb database in the state folder, one transaction of it for each
//! of the store's, synced before the command is acknowledged.
//!
//! Items are kept as strings, by menu path and id, so that a later version reads what it knows and
//! names what it does not. Beside the items stand the log of transactions, which the history comes
//! from, and what safe mode holds: both are written with the transaction that they are of.

pub(crate) mod code;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::fs::Permissions;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use menu::{By, Changes, Clock, Journal, Origin, Saved, SavedChanges, SavedItem, Store};
use redb::{
    Database, ReadTransaction, ReadableDatabase as _, ReadableTable as _, StorageBackend,
    TableDefinition, TableError, WriteTransaction,
};

use crate::private::close_to_others;

/// How long a router takes at most to end that was killed, and how often is looked.
const ENDING: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// By menu path and id: see [`code::item`].
const ITEMS: TableDefinition<'_, (&str, u64), &[u8]> = TableDefinition::new("items");
/// `revision`, and `last-id` followed by a menu's path.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
/// Transactions by revision: see [`code::changes`].
const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
/// Items as they were when they began to be held; without bytes if they were not there.
const HELD: TableDefinition<'_, (&str, u64), &[u8]> = TableDefinition::new("held");
/// Words by name; [`HOLDING`] is one.
const NOTES: TableDefinition<'_, &str, &str> = TableDefinition::new("notes");
const REVISION: &str = "revision";
const LAST_ID: &str = "last-id";
/// The note that there is something in [`HELD`]: the revision that is held.
const HOLDING: &str = "holding";
/// The database's file in the state folder.
const FILE: &str = "configuration.redb";

/// Transactions in the log, and bytes of all of them.
const LOGGED: usize = 256;
const LOG_BYTES: usize = 16 << 20;

/// The configuration's file, held open by one router at a time.
pub struct Durable {
    /// None when it could not be opened anew.
    database: Option<Database>,
    /// Opens it anew.
    again: Again,
    /// The last revision that was written.
    revision: Option<u64>,
    /// Whether first states are being kept.
    holding: bool,
    /// The revisions in the log with their bytes, oldest first.
    logged: VecDeque<(u64, usize)>,
    /// The revision that may have to be taken back: the log keeps it, however large.
    unconfirmed: Option<u64>,
}

/// How a database is opened that there is.
type Again = Arc<dyn Fn() -> Result<Database, redb::DatabaseError> + Send + Sync>;

/// What was kept.
#[derive(Debug, Default)]
pub struct Kept {
    /// The configuration.
    pub saved: Saved,
    /// The last transactions, oldest first.
    pub log: Vec<SavedChanges>,
    /// What was held when the router stopped.
    pub held: Option<Held>,
    /// Words by name.
    pub notes: BTreeMap<String, String>,
}

/// A configuration that is held: what changed since, as it was.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Its revision.
    pub since: u64,
    /// By menu and id the item as it was, `None` if it was not there.
    pub items: Vec<(String, u64, Option<SavedItem>)>,
}

impl Durable {
    /// Opens the configuration in this folder, and makes both if they are not there. Waits for a router
    /// that is just ending: one that was killed has its files until the kernel has taken its memory apart,
    /// which takes a second or two where that has rings of devices.
    ///
    /// # Errors
    /// What is wrong, with the file's name; among it that another router has it open.
    pub fn open(folder: &Path) -> Result<Self, String> {
        let until = Instant::now() + ENDING;
        Self::open_patiently(folder, || {
            std::thread::park_timeout(LOOK_AGAIN);
            Instant::now() < until
        })
    }

    /// As [`Self::open`]; where another router has it open, `again` says whether to look once more.
    fn open_patiently(folder: &Path, mut again: impl FnMut() -> bool) -> Result<Self, String> {
        let path = folder.join(FILE);
        let failed = |error: String| format!("{}: {error}", path.display());
        // There are secrets in a configuration: the folder is for its owner alone.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| failed(error.to_string()))?;
        close_to_others(&path)?;
        let database = loop {
            let database = match path.exists() {
                true => Database::open(&path),
                false => make(&path),
            };
            match database {
                Err(redb::DatabaseError::DatabaseAlreadyOpen) if again() => {}
                opened => break opened,
            }
        };
        let database = database.map_err(|error| match error {
            redb::DatabaseError::DatabaseAlreadyOpen => {
                failed(String::from("another router is using it"))
            }
            error => failed(error.to_string()),
        })?;
        let again: Again = Arc::new({
            let path = path.clone();
            move || Database::open(&path)
        });
        Self::of(database, again).map_err(|error| failed(error.to_string()))
    }

    /// The configuration on some other storage than a file.
    ///
    /// # Errors
    /// What the storage says.
    pub fn on(storage: impl StorageBackend + Clone) -> Result<Self, String> {
        let open = move || Database::builder().create_with_backend(storage.clone());
        let database = open().map_err(|error| error.to_string())?;
        Self::of(database, Arc::new(open)).map_err(|error| error.to_string())
    }

    fn of(database: Database, again: Again) -> Result<Self, redb::Error> {
        let transaction = database.begin_read()?;
        let mut logged = VecDeque::new();
        if let Some(log) = table(transaction.open_table(LOG))? {
            for entry in log.iter()? {
                let (revision, bytes) = entry?;
                logged.push_back((revision.value(), bytes.value().len()));
            }
        }
        let notes = table(transaction.open_table(NOTES))?;
        let holding = match &notes {
            Some(notes) => notes.get(HOLDING)?.is_some(),
            None => false,
        };
        let numbers = table(transaction.open_table(NUMBERS))?;
        let revision = match &numbers {
            Some(numbers) => numbers.get(REVISION)?.map(|number| number.value()),
            None => None,
        };
        Ok(Self {
            revision,
            holding,
            logged,
            unconfirmed: None,
            database: Some(database),
            again,
        })
    }

    fn database(&self) -> Result<&Database, redb::Error> {
        self.database.as_ref().ok_or(redb::Error::PreviousIo)
    }

    /// Writes something. A database whose disk refused something once, because it was full, takes no more until it
    /// is opened anew.
    fn written<T>(
        &mut self,
        write: impl Fn(&mut Self) -> Result<T, redb::Error>,
    ) -> Result<T, String> {
        match write(self) {
            Err(redb::Error::PreviousIo) => {
                self.open_again()?;
                write(self)
            }
            first => first,
        }
        .map_err(|error| error.to_string())
    }

    fn open_again(&mut self) -> Result<(), String> {
        // Only one at a time may have the file open.
        self.database = None;
        let database = (self.again)().map_err(|error| error.to_string())?;
        let found = Self::of(database, Arc::clone(&self.again));
        let found = found.map_err(|error| error.to_string())?;
        if (found.revision, found.holding) != (self.revision, self.holding) {
            // What failed in its very last step may be there all the same, and nobody was told so.
            return Err(String::from(
                "the disk has what it refused; the router has to be started anew",
            ));
        }
        *self = Self {
            unconfirmed: self.unconfirmed,
            ..found
        };
        Ok(())
    }

    /// What was kept; none if nothing ever was.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn load(&self) -> Result<Option<Kept>, String> {
        self.read().map_err(|error| error.to_string())
    }

    fn read(&self) -> Result<Option<Kept>, redb::Error> {
        let transaction = self.database()?.begin_read()?;
        let Some(numbers) = table(transaction.open_table(NUMBERS))? else {
            return Ok(None);
        };
        let mut saved = Saved::default();
        for number in numbers.iter()? {
            let (name, value) = number?;
            match name.value().strip_prefix(LAST_ID) {
                Some(path) => saved.last_ids.push((path.to_owned(), value.value())),
                None => saved.revision = value.value(),
            }
        }
        for item in transaction.open_table(ITEMS)?.iter()? {
            let (key, bytes) = item?;
            let (path, id) = key.value();
            saved.items.push(item_of(path, id, bytes.value())?);
        }
        let notes = read_notes(&transaction)?;
        let since = notes.get(HOLDING).and_then(|text| text.parse().ok());
        Ok(Some(Kept {
            held: since
                .map(|since| read_held(&transaction, since))
                .transpose()?,
            log: read_log(&transaction)?,
            saved,
            notes,
        }))
    }

    /// Keeps a whole configuration in place of what was kept, the log excepted.
    ///
    /// # Errors
    /// When it cannot be written; what was kept then stays.
    pub fn replace(&mut self, saved: &Saved) -> Result<(), String> {
        self.written(|durable| durable.write_all(saved))?;
        self.revision = Some(saved.revision);
        Ok(())
    }

    fn write_all(&self, saved: &Saved) -> Result<(), redb::Error> {
        let transaction = self.database()?.begin_write()?;
        transaction.delete_table(ITEMS)?;
        transaction.delete_table(NUMBERS)?;
        {
            let mut items = transaction.open_table(ITEMS)?;
            for item in &saved.items {
                items.insert((item.path.as_str(), item.id), code::item(item).as_slice())?;
            }
            let mut numbers = transaction.open_table(NUMBERS)?;
            numbers.insert(REVISION, saved.revision)?;
            for (path, last) in &saved.last_ids {
                numbers.insert(format!("{LAST_ID}{path}").as_str(), *last)?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn write(&mut self, changes: &Changes) -> Result<(), redb::Error> {
        // A commit is synced to disk before it returns (redb's default durability).
        let transaction = self.database()?.begin_write()?;
        write_items(&transaction, changes)?;
        if self.holding && changes.origin != Origin::Router {
            write_held(&transaction, changes)?;
        }
        let logged = self.write_log(&transaction, changes)?;
        transaction.commit()?;
        self.logged = logged;
        self.revision = Some(changes.revision);
        Ok(())
    }

    /// Appends to the log and takes off what is too much of it; gives what is in it then.
    fn write_log(
        &self,
        transaction: &WriteTransaction,
        changes: &Changes,
    ) -> Result<VecDeque<(u64, usize)>, redb::Error> {
        let mut log = transaction.open_table(LOG)?;
        let mut logged = self.logged.clone();
        let bytes = code::changes(&SavedChanges::of(changes));
        logged.push_back((changes.revision, bytes.len()));
        let mut sum: usize = logged.iter().map(|(_, bytes)| bytes).sum();
        if bytes.len() <= LOG_BYTES || self.unconfirmed == Some(changes.revision) {
            log.insert(changes.revision, bytes.as_slice())?;
        }
        // One that is too large for the log ends it: what was before is behind a gap.
        while sum > LOG_BYTES || logged.len() > LOGGED {
            let needed = |(revision, _): &mut (u64, usize)| Some(*revision) != self.unconfirmed;
            let Some((revision, bytes)) = logged.pop_front_if(needed) else {
                break;
            };
            log.remove(revision)?;
            sum -= bytes;
        }
        Ok(logged)
    }

    fn write_hold(&self) -> Result<(), redb::Error> {
        let transaction = self.database()?.begin_write()?;
        transaction.delete_table(HELD)?;
        {
            let numbers = transaction.open_table(NUMBERS)?;
            let revision = numbers.get(REVISION)?.map_or(0, |number| number.value());
            let mut notes = transaction.open_table(NOTES)?;
            notes.insert(HOLDING, revision.to_string().as_str())?;
        }
        Ok(transaction.commit()?)
    }

    fn write_release(&self) -> Result<(), redb::Error> {
        let transaction = self.database()?.begin_write()?;
        transaction.delete_table(HELD)?;
        transaction.open_table(NOTES)?.remove(HOLDING)?;
        Ok(transaction.commit()?)
    }

    fn write_note(&self, name: &str, text: Option<&str>) -> Result<(), redb::Error> {
        let transaction = self.database()?.begin_write()?;
        {
            let mut notes = transaction.open_table(NOTES)?;
            match text {
                Some(text) => drop(notes.insert(name, text)?),
                None => drop(notes.remove(name)?),
            }
        }
        Ok(transaction.commit()?)
    }
}

impl Journal for Durable {
    fn commit(&mut self, changes: &Changes) -> Result<(), String> {
        self.written(|durable| durable.write(changes))
    }

    fn hold(&mut self) -> Result<(), String> {
        self.written(|durable| durable.write_hold())?;
        self.holding = true;
        Ok(())
    }

    fn release(&mut self) -> Result<(), String> {
        self.written(|durable| durable.write_release())?;
        self.holding = false;
        Ok(())
    }

    fn note(&mut self, name: &str, text: Option<&str>) -> Result<(), String> {
        self.written(|durable| durable.write_note(name, text))?;
        if name == UNCONFIRMED {
            self.unconfirmed = text.and_then(|text| text.parse().ok());
        }
        Ok(())
    }
}

/// Makes a database. It has its name only when it is whole, because one that was cut off while it
/// was made cannot be opened.
fn make(path: &Path) -> Result<Database, redb::DatabaseError> {
    let unfinished = path.with_extension("new");
    match std::fs::remove_file(&unfinished) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let database = Database::create(&unfinished)?;
    // Where the folder was made by somebody else, it may be open to all.
    std::fs::set_permissions(&unfinished, Permissions::from_mode(0o600))?;
    std::fs::rename(&unfinished, path)?;
    if let Some(folder) = path.parent() {
        std::fs::File::open(folder)?.sync_all()?;
    }
    Ok(database)
}

/// A table that may not have been made yet.
fn table<T>(opened: Result<T, TableError>) -> Result<Option<T>, redb::Error> {
    match opened {
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        opened => Ok(Some(opened?)),
    }
}

fn write_items(transaction: &WriteTransaction, changes: &Changes) -> Result<(), redb::Error> {
    let mut items = transaction.open_table(ITEMS)?;
    let mut numbers = transaction.open_table(NUMBERS)?;
    numbers.insert(REVISION, changes.revision)?;
    // An id is never used twice, so the highest one is kept even when its item goes.
    let mut last_ids = BTreeMap::<_, u64>::new();
    for change in &changes.list {
        match SavedItem::after(change) {
            Ok(item) => {
                let bytes = code::item(&item);
                items.insert((item.path.as_str(), item.id), bytes.as_slice())?;
            }
            Err((path, id)) => drop(items.remove((path, id))?),
        }
        // What exists from the start is numbered by the schema.
        let either = change.after.as_ref().or(change.before.as_ref());
        if either.is_none_or(|item| item.builtin.is_none()) {
            let last = last_ids.entry(change.menu.path).or_default();
            *last = change.id.0.max(*last);
        }
    }
    for (path, last) in last_ids {
        let counter = format!("{LAST_ID}{path}");
        let known = numbers
            .get(counter.as_str())?
            .map_or(0, |last| last.value());
        if last > known {
            numbers.insert(counter.as_str(), last)?;
        }
    }
    Ok(())
}

/// Keeps what changes for the first time, as it was.
fn write_held(transaction: &WriteTransaction, changes: &Changes) -> Result<(), redb::Error> {
    let mut held = transaction.open_table(HELD)?;
    for change in &changes.list {
        let key = (change.menu.path, change.id.0);
        if held.get(key)?.is_some() {
            continue;
        }
        let before = change.before.as_deref();
        let bytes = before.map(|item| code::item(&SavedItem::of(item)));
        held.insert(key, bytes.unwrap_or_default().as_slice())?;
    }
    Ok(())
}

fn item_of(path: &str, id: u64, bytes: &[u8]) -> Result<SavedItem, redb::Error> {
    code::read_item(path, id, bytes)
        .ok_or_else(|| redb::Error::Corrupted(format!("item {path} *{id:X}")))
}

fn read_held(transaction: &ReadTransaction, since: u64) -> Result<Held, redb::Error> {
    let mut held = Held {
        since,
        items: Vec::new(),
    };
    if let Some(table) = table(transaction.open_table(HELD))? {
        for entry in table.iter()? {
            let (key, bytes) = entry?;
            let ((path, id), bytes) = (key.value(), bytes.value());
            let item = match bytes.is_empty() {
                true => None,
                false => Some(item_of(path, id, bytes)?),
            };
            held.items.push((path.to_owned(), id, item));
        }
    }
    Ok(held)
}

fn read_log(transaction: &ReadTransaction) -> Result<Vec<SavedChanges>, redb::Error> {
    let mut log = Vec::new();
    if let Some(table) = table(transaction.open_table(LOG))? {
        for entry in table.iter()? {
            let (revision, bytes) = entry?;
            let revision = revision.value();
            let changes = code::read_changes(revision, bytes.value());
            let damaged = || redb::Error::Corrupted(format!("revision {revision}"));
            log.push(changes.ok_or_else(damaged)?);
        }
    }
    Ok(log)
}

fn read_notes(transaction: &ReadTransaction) -> Result<BTreeMap<String, String>, redb::Error> {
    let mut notes = BTreeMap::new();
    if let Some(table) = table(transaction.open_table(NOTES))? {
        for entry in table.iter()? {
            let (name, text) = entry?;
            notes.insert(name.value().to_owned(), text.value().to_owned());
        }
    }
    Ok(notes)
}

/// Takes up what was kept: the configuration, its history, and what has to be given back because the
/// router stopped before anybody kept it for good. Gives what there is to say about it.
///
/// # Errors
/// When it cannot be written back.
pub fn take_up(
    store: &mut Store,
    mut durable: Durable,
    kept: &Kept,
    clock: Clock,
) -> Result<Vec<String>, String> {
    let lost = store.load(&kept.saved).into_iter();
    let mut said: Vec<_> = lost
        .map(|lost| format!("this version cannot take what was configured: {lost}"))
        .collect();
    let log: Vec<_> = kept.log.iter().map(|c| store.changes_of(c)).collect();
    // What this version cannot read ends the history.
    let readable = log
        .iter()
        .rposition(Option::is_none)
        .map_or(0, |gap| gap + 1);
    store.load_history(log.into_iter().skip(readable).flatten());
    durable.replace(&store.save())?;
    store.set_journal(Box::new(durable));
    hold_again(store, kept);
    let failed = |reason: menu::Reason| reason.to_string();
    if store.held_since().is_some() {
        store
            .unroll(By::user("", clock).doing(UNROLLED))
            .map_err(failed)?;
        said.push(UNROLLED.to_owned());
    }
    if let Some(revision) = kept.notes.get(UNCONFIRMED) {
        // The note is written before the change, which may not have happened.
        let applied = store
            .history()
            .find(|c| c.revision.to_string() == *revision);
        if let Some(applied) = applied.cloned() {
            let by = By::user("", clock).doing(TAKEN_BACK);
            match store.take_back(&applied, by) {
                Ok(_) => said.push(TAKEN_BACK.to_owned()),
                Err(reason) => said.push(format!("not taken back: {reason}")),
            }
        }
        store.note(UNCONFIRMED, None).map_err(failed)?;
    }
    forget_passing(store).map_err(failed)?;
    Ok(said)
}

/// RouterOS: what is there for a while does not outlive a restart.
fn forget_passing(store: &mut Store) -> Result<(), menu::Reason> {
    let mark = store.begin();
    for menu in store.menus() {
        let Some(passing) = menu.passing else {
            continue;
        };
        let items = store.items(menu.path);
        let gone: Vec<_> = items.filter(|item| passing(item)).map(|i| i.id).collect();
        for id in gone {
            store.remove(menu, id)?;
        }
    }
    store.commit(mark).map(|_| ())
}

/// The note with the revision that an `apply` made and that nobody has confirmed.
pub(crate) const UNCONFIRMED: &str = "unconfirmed";
const UNROLLED: &str = "safe mode given back after a stop";
const TAKEN_BACK: &str = "unconfirmed configuration taken back after a stop";

/// Takes up what was held when the router stopped, so that it can be given back.
fn hold_again(store: &mut Store, kept: &Kept) {
    let Some(held) = &kept.held else { return };
    let mut base = Vec::new();
    for (path, id, item) in &held.items {
        let Some(menu) = store.menu(path) else {
            continue;
        };
        match item {
            None => base.push((menu, menu::Id(*id), None)),
            // What this version cannot take stays as it is.
            Some(item) => {
                let item = store.item_of(item);
                base.extend(item.map(|item| (menu, menu::Id(*id), Some(item))));
            }
        }
    }
    store.hold_again(held.since, base);
}
