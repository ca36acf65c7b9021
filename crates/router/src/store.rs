//! The configuration on disk: a redb database in the state folder, one transaction of it for each
//! of the store's, synced before the command is acknowledged.
//!
//! Items are kept as strings, by menu path and id, so that a later version reads what it knows and
//! names what it does not. Beside the items stand the log of transactions, which the history comes
//! from, and what safe mode holds: both are written with the transaction that they are of.
//!
//! All of it is encrypted under the machine's key ([`Key`]). Beside the database stand a ledger with all that was
//! acknowledged and a snapshot of the whole state, for the day when the disk is bad: see [`opening`].
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

/// Transactions in the log, and bytes of all of them.
const LOGGED: usize = 256;
const LOG_BYTES: usize = 16 << 20;

/// How many times [`Journal::rest`] leaves a snapshot alone that could not be written.
const PATIENCE: u32 = 15;

/// The configuration's file, held open by one router at a time.
pub struct Durable {
    /// None when it could not be opened anew.
    database: Option<Database>,
    vault: Vault,
    /// Opens it anew.
    opener: Opener,
    /// What stands beside a database that is a file.
    beside: Option<Beside>,
    /// Counts the writes.
    serial: u64,
    /// The last revision that was written.
    revision: Option<u64>,
    /// Changes that wait for the next write ([`group`]).
    deferred: Vec<Arc<Changes>>,
    /// Whether first states are being kept.
    holding: bool,
    /// The revisions in the log with their bytes, oldest first.
    logged: VecDeque<(u64, usize)>,
    /// The revision that may have to be taken back: the log keeps it, however large.
    unconfirmed: Option<u64>,
    /// The reason for which writes are refused; `None` while the store accepts writes.
    refusal: Option<Refusal>,
    /// What there is to say about how it was opened.
    said: Vec<String>,
    /// The state read at opening, kept until its first use or the first change.
    loaded: Cell<Option<Kept>>,
}

/// A reason for which the store refuses writes.
#[derive(Debug)]
enum Refusal {
    /// The disk is full, or only read: it is tried again with each write.
    Disk(String),
    /// Files are damaged, and nobody has accepted the state that was put together from the others.
    Damaged(String),
}

impl Refusal {
    fn text(&self) -> &str {
        match self {
            Self::Disk(text) | Self::Damaged(text) => text,
        }
    }
}

/// What is written, for the ledger.
struct What<'a> {
    /// The revision that it leaves, if that is another.
    revision: Option<u64>,
    /// Who does what.
    line: String,
    /// The content of the ledger's record ([`record`]).
    content: Vec<u8>,
    /// Whether it takes no room that was free before, so that it may use the reserve of a full disk.
    frees: &'a dyn Fn() -> bool,
}

/// How a database is opened that there is.
type Opener = Arc<dyn Fn(OnDamage) -> Result<Durable, String> + Send + Sync>;

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
    /// The configuration on some other storage than a file.
    ///
    /// # Errors
    /// What the storage says.
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

    /// What there is to say about how it was opened: what was lost and where it was put.
    pub fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// Writes something. A database whose disk refused something once, because it was full, takes no more until it
    /// is opened anew. A write that frees room may use the reserve.
    ///
    /// Each part of `whats` has a number and a record in the ledger of its own.
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

    /// What went wrong, with the file's name; a full disk is remembered.
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
        // A ledger without room would refuse what the database has taken.
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
                // The database has it: it is done. The next write makes a new ledger, or says that it cannot.
                self.refusal = Some(Refusal::Disk(format!("{}: {error}", beside.path.display())));
            }
        }
        Ok(result)
    }

    fn open_again(&mut self) -> Result<(), String> {
        // Only one at a time may have the file open.
        self.database = None;
        let found = (self.opener)(OnDamage::Refuse)?;
        if let Some(refusal) = found.refusal() {
            return Err(refusal.to_owned());
        }
        let state = |durable: &Self| (durable.serial, durable.revision, durable.holding);
        if state(&found) != state(self) {
            // What failed in its very last step may be there all the same, and nobody was told so.
            return Err(String::from(
                "the disk has what it refused; the router has to be started anew",
            ));
        }
        *self = Self {
            unconfirmed: self.unconfirmed,
            deferred: std::mem::take(&mut self.deferred),
            ..found
        };
        Ok(())
    }

    /// What was kept; none if nothing ever was.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn load(&self) -> Result<Option<Kept>, String> {
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

    /// Keeps a whole configuration in place of what was kept, the log excepted.
    ///
    /// # Errors
    /// When it cannot be written; what was kept then stays.
    pub fn replace(&mut self, saved: &Saved) -> Result<(), String> {
        let what = What {
            revision: Some(saved.revision),
            line: String::from("the configuration as this version reads it"),
            content: record::of_saved(saved),
            frees: &|| false,
        };
        self.written(&[what], |_, writer| writer.saved(saved))
    }

    /// Writes a snapshot of what the database has.
    pub fn keep_state(&mut self) {
        if self.beside.is_some() {
            let kept = self.load().ok().flatten();
            self.write_snapshot(kept.as_ref());
        }
    }

    /// Writes a snapshot, and begins a new ledger if the present one is long. A failed write is
    /// repeated later; until then the last snapshot and the ledger hold all changes.
    fn write_snapshot(&mut self, kept: Option<&Kept>) {
        let (Some(beside), Some(kept)) = (&mut self.beside, kept) else {
            return;
        };
        let path = opening::snapshot_of(&beside.path);
        let is_last_whole = beside.snapshot.is_some();
        let written = snapshot::write(&path, &beside.key, (self.serial, kept), is_last_whole);
        if written.is_err() {
            beside.patience = PATIENCE;
            return;
        }
        (beside.snapshot, beside.changed) = (Some(self.serial), false);
        beside.snapshot_bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
        if beside.ledger.is_long(0) {
            // Without a new ledger the long one goes on.
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
}

/// Whether a disk has no room, or is only read.
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
            // Others are the router's own, and nobody asks for them.
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
        // Changes that cannot be stored stay deferred, and `fault` says why.
        let _ = self.store_deferred();
        let serial = self.serial;
        let Some(beside) = &mut self.beside else {
            return false;
        };
        let has_room = beside.reserve.take();
        beside.patience = beside.patience.saturating_sub(1);
        // Where changes go on and on, the length of the ledger says when it is time.
        let is_quiet = beside.rested == serial || beside.ledger.is_long(beside.snapshot_bytes);
        beside.rested = serial;
        let is_due = is_quiet && beside.patience == 0 && beside.is_snapshot_due();
        if is_due {
            self.keep_state();
        }
        if has_room && matches!(self.refusal, Some(Refusal::Disk(_))) {
            // The disk is not full any more. If it still takes nothing, the next write says why.
            let _ = self.open_again();
        }
        is_due
    }

    fn settle(&mut self) {
        // The router stops: there is nobody left to tell.
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
            return Err(String::from("there is no damage to accept"));
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
    let identity = program::identity();
    let is_known = identity.is_some() && kept.notes.get(program::NOTE) == identity.as_ref();
    let difference = match is_known {
        // What this program has written it reads as it wrote it.
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
        // Where the note cannot be written, the next start compares again.
        let _ = store.note(program::NOTE, identity.as_deref());
    }
    hold_again(store, kept);
    let given_back = give_back(store, kept, clock, &mut said);
    match given_back.and_then(|()| forget_passing(store)) {
        // What cannot be written is done at the next start.
        Err(reason) if is_only_read => said.push(format!("not given back: {reason}")),
        done => done.map_err(|reason| reason.to_string())?,
    }
    Ok(said)
}

/// Gives back what nobody kept for good before the router stopped.
fn give_back(
    store: &mut Store,
    kept: &Kept,
    clock: Clock,
    said: &mut Vec<String>,
) -> Result<(), menu::Reason> {
    if store.held_since().is_some() {
        store.unroll(By::user("", clock).doing(UNROLLED), Policies::ALL)?;
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
        store.note(UNCONFIRMED, None)?;
    }
    Ok(())
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
