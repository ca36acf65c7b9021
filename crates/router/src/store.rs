//! The configuration on disk: a redb database in the state folder, with one database transaction per store transaction,
//! synced before the command is acknowledged.
//!
//! Items are kept as strings, by menu path and id, so that a later version can read the items that it knows and report
//! the others. The database also contains the log of transactions, which is the source of the history, and the state
//! before safe mode. Log and state are updated within the same database transaction.
//!
//! All values are encrypted under the machine's key ([`Key`]). A ledger of all acknowledged writes and a snapshot of
//! the whole state lie beside the database, for recovery from a bad disk ([`opening`]).
//!
//! A command costs one sync, that of the database. The ledger is written behind it without a sync, and the snapshot
//! some seconds after the last change ([`Journal::rest`]) and when the router stops ([`Journal::settle`]).

pub(crate) mod aead;
#[cfg(test)]
mod bad_disk;
mod beside;
pub(crate) mod code;
#[cfg(test)]
mod disk;
mod files;
mod group;
pub mod leases;
mod ledger;
mod loaded;
mod machine_key;
mod opening;
mod program;
mod record;
mod records;
mod recovery;
mod reserve;
mod sealed;
mod snapshot;
mod tables;
#[cfg(test)]
mod tests;
pub(crate) mod vault;

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

use menu::{By, Changes, Clock, Journal, Policies, Saved, SavedChanges, SavedItem, Store};
use redb::{Database, ReadableDatabase as _, ReadableTable as _, StorageBackend};

pub use self::machine_key::KeyFrom;
pub use self::opening::OnDamage;
pub use self::sealed::{Secret, StateFolder};
pub use self::vault::{Key, unpredictable};

use self::beside::Beside;
use self::ledger::Entry;
use self::tables::{HELD, HOLDING, LOG, REVISION, Reader, SERIAL, Writer, table};
use self::vault::Vault;

/// Limits of the log: transactions, and bytes of all transactions.
const LOGGED: usize = 256;
const LOG_BYTES: usize = 16 << 20;

/// Number of calls of [`Journal::rest`] that skip a snapshot after a failed write.
const PATIENCE: u32 = 15;

/// The configuration database, held open by one router at a time.
pub struct Durable {
    /// `None` if reopening failed.
    database: Option<Database>,
    vault: Vault,
    /// Reopens the database.
    opener: Opener,
    /// Ledger, snapshot and reserve of a database in a file.
    beside: Option<Beside>,
    /// Number of the last write.
    serial: u64,
    /// Revision of the last write.
    revision: Option<u64>,
    /// Changes that wait for the next write ([`group`]).
    deferred: Vec<Arc<Changes>>,
    /// Whether the state before safe mode is being recorded.
    holding: bool,
    /// Revisions in the log with their sizes in bytes, oldest first.
    logged: VecDeque<(u64, usize)>,
    /// A revision that may be reverted: it stays in the log, whatever its size.
    unconfirmed: Option<u64>,
    /// The reason for which writes are refused; `None` while the store accepts writes.
    refusal: Option<Refusal>,
    /// Messages about the opening of the database.
    said: Vec<String>,
    /// The state read at opening, kept until its first use or the first change.
    loaded: Cell<Option<StoredState>>,
}

/// A reason for which the store refuses writes.
#[derive(Debug)]
enum Refusal {
    /// The disk is full or read-only: each write tries again.
    Disk(String),
    /// Files are damaged, and nobody has accepted the state that was recovered from the other files.
    Damaged(String),
}

impl Refusal {
    fn text(&self) -> &str {
        match self {
            Self::Disk(text) | Self::Damaged(text) => text,
        }
    }
}

/// A write, for the ledger.
struct What<'a> {
    /// New revision, if the write changes it.
    revision: Option<u64>,
    /// User and action.
    line: String,
    /// The content of the ledger's record ([`record`]).
    content: Vec<u8>,
    /// Whether the write needs no additional room, so that it may use the reserve of a full disk.
    frees: &'a dyn Fn() -> bool,
}

/// Opens an existing database.
type Opener = Arc<dyn Fn(OnDamage) -> Result<Durable, String> + Send + Sync>;

/// The stored state.
#[derive(Debug, Default)]
pub struct StoredState {
    /// The configuration.
    pub saved: Saved,
    /// The latest transactions, oldest first.
    pub log: Vec<SavedChanges>,
    /// State before safe mode, if it was active when the router stopped.
    pub held: Option<SafeModeState>,
    /// Notes by name.
    pub notes: BTreeMap<String, String>,
}

/// The state before safe mode, as the previous values of changed items.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SafeModeState {
    /// Revision before safe mode.
    pub since: u64,
    /// Menu, id and previous item; `None` if the item did not exist.
    pub items: Vec<(String, u64, Option<SavedItem>)>,
}

impl Durable {
    /// Opens or creates the configuration in a storage other than a file.
    ///
    /// # Errors
    /// The storage's error.
    pub fn on(storage: impl StorageBackend + Clone, key: &Key) -> Result<Self, String> {
        let opener: Opener = Arc::new({
            let (storage, key) = (storage.clone(), key.clone());
            move |_| Self::on(storage.clone(), &key)
        });
        let open = || {
            let database = Database::builder().create_with_backend(storage)?;
            let vault = match tables::head(&database)? {
                Some(head) => Vault::of(key, head),
                None => {
                    let vault = Vault::new(key)?;
                    let transaction = database.begin_write()?;
                    tables::write_head(&transaction, &vault.head)?;
                    transaction.commit()?;
                    vault
                }
            };
            Self::of(database, vault, opener)
        };
        open().map_err(|error: redb::Error| error.to_string())
    }

    fn of(database: Database, vault: Vault, opener: Opener) -> Result<Self, redb::Error> {
        let transaction = database.begin_read()?;
        let reader = Reader {
            transaction: &transaction,
            vault: Some(&vault),
        };
        let mut logged = VecDeque::new();
        if let Some(log) = table(transaction.open_table(LOG))? {
            for entry in log.iter()? {
                let (revision, bytes) = entry?;
                logged.push_back((revision.value(), bytes.value().len()));
            }
        }
        let numbers = reader.numbers()?.unwrap_or_default();
        let holding = reader.notes()?.contains_key(HOLDING);
        Ok(Self {
            serial: numbers.get(SERIAL).copied().unwrap_or_default(),
            revision: numbers.get(REVISION).copied(),
            deferred: Vec::new(),
            holding,
            logged,
            unconfirmed: None,
            database: Some(database),
            vault,
            opener,
            beside: None,
            refusal: None,
            said: Vec::new(),
            loaded: Cell::default(),
        })
    }

    fn database(&self) -> Result<&Database, redb::Error> {
        self.database.as_ref().ok_or(redb::Error::PreviousIo)
    }

    /// Returns the reason for which writes are refused: a full or read-only disk, or damaged files.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_ref().map(Refusal::text)
    }

    /// Returns the messages about the opening: lost writes, and new names of damaged files.
    pub fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// Performs a write. After an error such as a full disk the database accepts no write until it is reopened. A write
    /// that frees room may use the reserve.
    ///
    /// Each part of `whats` has a number and a record in the ledger.
    fn written<T>(
        &mut self,
        whats: &[What<'_>],
        write: impl Fn(&Self, &Writer<'_>) -> Result<T, redb::Error>,
    ) -> Result<T, String> {
        match &self.refusal {
            Some(Refusal::Damaged(why)) => return Err(why.clone()),
            Some(Refusal::Disk(_)) => self.open_again()?,
            None => {}
        }
        let mut result = self.write(whats, &write);
        if matches!(result, Err(redb::Error::PreviousIo)) {
            self.open_again()?;
            result = self.write(whats, &write);
        }
        let frees = || whats.iter().all(|what| (what.frees)());
        if result.as_ref().is_err_and(is_full) && frees() && self.release_reserve() {
            self.open_again()?;
            result = self.write(whats, &write);
            if let Some(beside) = &self.beside {
                beside.reserve.take();
            }
        }
        let written = result.map_err(|error| self.in_words(&error))?;
        if let Some(beside) = &mut self.beside {
            beside.changed |= whats.iter().any(|what| !record::is_note(&what.content));
        }
        Ok(written)
    }

    fn release_reserve(&self) -> bool {
        self.beside
            .as_ref()
            .is_some_and(|beside| beside.reserve.release())
    }

    /// Formats an error with the file's name; remembers a full disk.
    fn in_words(&mut self, error: &redb::Error) -> String {
        let path = self.beside.as_ref().map(|beside| &beside.path);
        let text = match path {
            Some(path) => format!("{}: {error}", path.display()),
            None => error.to_string(),
        };
        if is_full(error) {
            self.refusal = Some(Refusal::Disk(text.clone()));
        }
        text
    }

    fn write<T>(
        &mut self,
        whats: &[What<'_>],
        write: impl Fn(&Self, &Writer<'_>) -> Result<T, redb::Error>,
    ) -> Result<T, redb::Error> {
        // Reserve room in the ledger first: without room it could not record a committed write.
        if let Some(beside) = &mut self.beside {
            let contents = whats.iter().map(|what| what.content.len());
            beside.ledger.make_room(contents)?;
        }
        let first = self.serial + 1;
        let serial = self.serial + whats.len() as u64;
        // A commit is synced to disk before it returns (redb's default durability).
        let transaction = self.database()?.begin_write()?;
        let writer = Writer {
            transaction: &transaction,
            vault: &self.vault,
        };
        let result = write(self, &writer)?;
        writer.number(SERIAL, serial)?;
        transaction.commit()?;
        self.serial = serial;
        self.loaded.set(None);
        for (serial, what) in (first..).zip(whats) {
            self.revision = what.revision.or(self.revision);
            let Some(beside) = &mut self.beside else {
                continue;
            };
            let entry = Entry {
                serial,
                revision: self.revision.unwrap_or_default(),
                line: what.line.clone(),
            };
            if let Err(error) = beside.ledger.append(&entry, &what.content) {
                // The commit is durable: the write counts as done. The next write creates a new ledger, or reports why
                // it cannot.
                self.refusal = Some(Refusal::Disk(format!("{}: {error}", beside.path.display())));
            }
        }
        Ok(result)
    }

    fn open_again(&mut self) -> Result<(), String> {
        // The file can be open only once.
        self.database = None;
        let found = (self.opener)(OnDamage::Refuse)?;
        if let Some(refusal) = found.refusal() {
            return Err(refusal.to_owned());
        }
        let state = |durable: &Self| (durable.serial, durable.revision, durable.holding);
        if state(&found) != state(self) {
            // A commit that failed in its last step may be on disk although its caller was told of a failure.
            return Err(String::from(
                "the disk contains a change that it had refused; the router has to be restarted",
            ));
        }
        *self = Self {
            unconfirmed: self.unconfirmed,
            deferred: std::mem::take(&mut self.deferred),
            ..found
        };
        Ok(())
    }

    /// Returns the stored state; `None` if nothing was ever written.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn load(&self) -> Result<Option<StoredState>, String> {
        if let Some(kept) = self.loaded.take() {
            return Ok(Some(kept));
        }
        let read = || {
            let transaction = self.database()?.begin_read()?;
            let reader = Reader {
                transaction: &transaction,
                vault: Some(&self.vault),
            };
            reader.everything()
        };
        let kept = read().map_err(|error: redb::Error| error.to_string())?;
        Ok(kept.map(|(_, kept)| kept))
    }

    /// Replaces the stored configuration, but keeps the log.
    ///
    /// # Errors
    /// The write fails; the stored configuration stays.
    pub fn replace(&mut self, saved: &Saved) -> Result<(), String> {
        let what = What {
            revision: Some(saved.revision),
            line: String::from("the configuration as this version reads it"),
            content: record::of_saved(saved),
            frees: &|| false,
        };
        self.written(&[what], |_, writer| writer.saved(saved))
    }

    /// Writes a snapshot of the stored state.
    pub fn keep_state(&mut self) {
        if self.beside.is_some() {
            let kept = self.load().ok().flatten();
            self.write_snapshot(kept.as_ref());
        }
    }

    /// Writes a snapshot, and starts a new ledger if the present one is long. A failed write is repeated later; until
    /// then the last snapshot and the ledger hold all changes.
    fn write_snapshot(&mut self, kept: Option<&StoredState>) {
        let (Some(beside), Some(kept)) = (&mut self.beside, kept) else {
            return;
        };
        let path = opening::snapshot_of(&beside.path);
        let is_last_whole = beside.snapshot.is_some();
        let written = snapshot::write(&path, &beside.key, self.serial, kept, is_last_whole);
        if written.is_err() {
            beside.patience = PATIENCE;
            return;
        }
        (beside.snapshot, beside.changed) = (Some(self.serial), false);
        beside.snapshot_bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
        if beside.ledger.is_long(0) {
            // If the new ledger cannot be created, the long one continues.
            let _ = beside.ledger.renew(&beside.key, self.serial);
        }
    }

    /// Appends a transaction to the log, drops the oldest ones over the limits, and returns the revisions in it.
    fn write_log(
        &self,
        mut logged: VecDeque<(u64, usize)>,
        writer: &Writer<'_>,
        revision: u64,
        bytes: &[u8],
    ) -> Result<VecDeque<(u64, usize)>, redb::Error> {
        logged.push_back((revision, bytes.len()));
        let mut sum: usize = logged.iter().map(|(_, bytes)| bytes).sum();
        if bytes.len() <= LOG_BYTES || self.unconfirmed == Some(revision) {
            writer.logged(revision, bytes)?;
        }
        let mut log = writer.transaction.open_table(LOG)?;
        // A transaction that is too large for the log empties it: older transactions would be behind a gap.
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
}

/// Whether an error means a full or read-only disk.
fn is_full(error: &redb::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let kinds = [FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull];
    matches!(error, redb::Error::Io(error) if kinds.contains(&error.kind()))
}

impl Journal for Durable {
    fn commit(&mut self, changes: &Changes) -> Result<(), String> {
        self.commit_while(changes, &mut || {})
    }

    fn commit_while(
        &mut self,
        changes: &Changes,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), String> {
        self.store_deferred()?;
        self.store_changes(&[changes], meanwhile)
    }

    fn defer(&mut self, changes: &Arc<Changes>) -> Result<(), String> {
        self.defer_changes(changes)
    }

    fn sync(&mut self) -> Result<(), String> {
        self.store_deferred()
    }

    fn take_deferred(&mut self) -> Vec<Arc<Changes>> {
        std::mem::take(&mut self.deferred)
    }

    fn hold(&mut self) -> Result<(), String> {
        self.store_deferred()?;
        let what = What {
            revision: None,
            line: String::from("safe mode taken"),
            content: record::of_hold(),
            frees: &|| false,
        };
        self.written(&[what], |durable, writer| {
            writer.transaction.delete_table(HELD)?;
            let revision = durable.revision.unwrap_or_default();
            writer.note(HOLDING, Some(&revision.to_string()))
        })?;
        self.holding = true;
        Ok(())
    }

    fn release(&mut self) -> Result<(), String> {
        self.store_deferred()?;
        let what = What {
            revision: None,
            line: String::from("safe mode released"),
            content: record::of_release(),
            frees: &|| true,
        };
        self.written(&[what], |_, writer| {
            writer.transaction.delete_table(HELD)?;
            writer.note(HOLDING, None)
        })?;
        self.holding = false;
        Ok(())
    }

    fn note(&mut self, name: &str, text: Option<&str>) -> Result<(), String> {
        self.store_deferred()?;
        let what = What {
            revision: None,
            // Other notes belong to the router itself: the ledger names no user.
            line: String::from(match (name == UNCONFIRMED, text) {
                (true, Some(_)) => "an applied configuration waits to be confirmed",
                (true, None) => "nothing waits to be confirmed",
                (false, _) => "",
            }),
            content: record::of_note(name, text),
            frees: &|| text.is_none(),
        };
        self.written(&[what], |_, writer| writer.note(name, text))?;
        if name == UNCONFIRMED {
            self.unconfirmed = text.and_then(|text| text.parse().ok());
        }
        Ok(())
    }

    fn rest(&mut self) -> bool {
        // If the write fails, the changes stay deferred, and `fault` returns the reason.
        let _ = self.store_deferred();
        let serial = self.serial;
        let Some(beside) = &mut self.beside else {
            return false;
        };
        let has_room = beside.reserve.take();
        beside.patience = beside.patience.saturating_sub(1);
        // Under continuous changes the length of the ledger decides.
        let is_quiet = beside.rested == serial || beside.ledger.is_long(beside.snapshot_bytes);
        beside.rested = serial;
        let is_due = is_quiet && beside.patience == 0 && beside.is_snapshot_due();
        if is_due {
            self.keep_state();
        }
        if has_room && matches!(self.refusal, Some(Refusal::Disk(_))) {
            // The disk has room again. If it still accepts no writes, the next write reports the reason.
            let _ = self.open_again();
        }
        is_due
    }

    fn settle(&mut self) {
        // The router stops: an error cannot be reported any more.
        let _ = self.store_deferred();
        let beside = self.beside.as_ref();
        if beside.is_some_and(Beside::is_snapshot_due) {
            self.keep_state();
        }
    }

    fn fault(&self) -> Option<&str> {
        self.refusal()
    }

    fn accept(&mut self, running: &Saved) -> Result<Vec<String>, String> {
        if !matches!(self.refusal, Some(Refusal::Damaged(_))) {
            return Err(String::from("there is no damaged state to accept"));
        }
        let mut found = (self.opener)(OnDamage::Recover)?;
        if let Some(refusal) = found.refusal() {
            return Err(refusal.to_owned());
        }
        let kept = found.load()?.unwrap_or_default();
        if *running != kept.saved {
            found.replace(running)?;
        }
        found.unconfirmed = self.unconfirmed;
        *self = found;
        Ok(self.said())
    }
}

/// Restores the stored configuration and its history, and reverts changes that were not kept before the router stopped.
/// Returns messages.
///
/// # Errors
/// The result cannot be written.
pub fn take_up(
    store: &mut Store,
    mut durable: Durable,
    kept: &StoredState,
    clock: Clock,
) -> Result<Vec<String>, String> {
    let lost = store.load(&kept.saved).into_iter();
    let mut said: Vec<_> = lost
        .map(|lost| format!("this version cannot take what was configured: {lost}"))
        .collect();
    let log: Vec<_> = kept.log.iter().map(|c| store.changes_of(c)).collect();
    // The history ends at a transaction that this version cannot read.
    let readable = log
        .iter()
        .rposition(Option::is_none)
        .map_or(0, |gap| gap + 1);
    store.load_history(log.into_iter().skip(readable).flatten());
    let identity = program::identity();
    let is_known = identity.is_some() && kept.notes.get(program::NOTE) == identity.as_ref();
    let difference = match is_known {
        // The program that wrote the state reads it unchanged.
        true => None,
        false => store.difference_to(&kept.saved),
    };
    if let Some(difference) = difference {
        said.push(format!(
            "the configuration is written as this version reads it: {difference} differs"
        ));
        let replaced = durable.replace(&store.save());
        if durable.refusal().is_none() {
            replaced?;
        }
    }
    said.extend(durable.said());
    if let Some(Refusal::Disk(why)) = &durable.refusal {
        said.push(format!("the configuration is only read: {why}"));
    }
    let is_only_read = durable.refusal().is_some();
    store.set_journal(Box::new(durable));
    if !is_known && !is_only_read {
        // If the note cannot be written, the next start compares again.
        let _ = store.note(program::NOTE, identity.as_deref());
    }
    hold_again(store, kept);
    let given_back = give_back(store, kept, clock, &mut said);
    match given_back.and_then(|()| forget_passing(store)) {
        // If the write fails, the next start reverts the changes.
        Err(reason) if is_only_read => said.push(format!("changes are not reverted: {reason}")),
        done => done.map_err(|reason| reason.to_string())?,
    }
    Ok(said)
}

/// Reverts changes that were not kept before the router stopped.
fn give_back(
    store: &mut Store,
    kept: &StoredState,
    clock: Clock,
    said: &mut Vec<String>,
) -> Result<(), menu::Reason> {
    if store.held_since().is_some() {
        store.unroll(By::user("", clock).doing(UNROLLED), Policies::ALL)?;
        said.push(UNROLLED.to_owned());
    }
    if let Some(revision) = kept.notes.get(UNCONFIRMED) {
        // The note precedes the change, which may not have happened.
        let applied = store
            .history()
            .find(|c| c.revision.to_string() == *revision);
        if let Some(applied) = applied.cloned() {
            let by = By::user("", clock).doing(TAKEN_BACK);
            match store.take_back(&applied, by) {
                Ok(_) => said.push(TAKEN_BACK.to_owned()),
                Err(reason) => said.push(format!(
                    "the unconfirmed configuration is not reverted: {reason}"
                )),
            }
        }
        store.note(UNCONFIRMED, None)?;
    }
    Ok(())
}

/// RouterOS: temporary items do not survive a restart.
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

/// Name of the note with the revision of an unconfirmed `apply`.
pub(crate) const UNCONFIRMED: &str = "unconfirmed";
const UNROLLED: &str = "safe mode unrolled after a stop";
const TAKEN_BACK: &str = "unconfirmed configuration reverted after a stop";

/// Restores the state before safe mode, so that it can be reverted to.
fn hold_again(store: &mut Store, kept: &StoredState) {
    let Some(held) = &kept.held else { return };
    let mut base = Vec::new();
    for (path, id, item) in &held.items {
        let Some(menu) = store.menu(path) else {
            continue;
        };
        match item {
            None => base.push((menu, menu::Id(*id), None)),
            // Items that this version cannot read stay unchanged.
            Some(item) => {
                let item = store.item_of(item);
                base.extend(item.map(|item| (menu, menu::Id(*id), Some(item))));
            }
        }
    }
    store.hold_again(held.since, base);
}
