//! Opens the store. A copy of the database in memory is checked first, every page and every value, and compared with
//! the ledger. An intact database with all acknowledged writes is opened. Otherwise the router runs the last good state
//! that the other files give ([`super::recovery`]), writes no file and refuses changes, until somebody accepts that
//! state: then the state is written anew, and the damaged files are renamed.

use std::fs::File;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use redb::{Builder, Database, ReadableDatabase as _};

use super::files::{self, private_file, put_in_place, with_suffix};
use super::ledger::{self, Ledger};
use super::loaded::Loaded;
use super::records::Records;
use super::recovery::{Candidate, Recovered, recover};
use super::reserve::Reserve;
use super::tables::{self, Reader, SERIAL, Writer};
use super::vault::{Head, Key, Vault};
use super::{Beside, Durable, Opener, Refusal, StoredState, is_full, record, snapshot};
use crate::private::close_to_others;

/// Maximum time to wait for a killed router to end, and interval of the checks.
const ENDING: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// File name of the database in the state folder.
pub(super) const FILE: &str = "configuration.redb";
const SNAPSHOT: &str = "configuration.snapshot";
const SNAPSHOT_BEFORE: &str = "configuration.snapshot.before";

/// Message that says how to accept a damaged state.
const ACCEPTANCE: &str =
    "`/system/configuration/accept`, or a start with `ferroute run --recover`,";

/// Treatment of a damaged store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDamage {
    /// Run the last good state, refuse changes, and leave the files as they are.
    Refuse,
    /// Accept the last good state: rewrite it, and rename the damaged files.
    Recover,
}

pub(super) fn snapshot_of(path: &Path) -> PathBuf {
    path.with_extension("snapshot")
}

fn ledger_of(path: &Path) -> PathBuf {
    path.with_extension("ledger")
}

impl Durable {
    /// Opens the configuration in this folder; creates folder and configuration if they do not exist. Waits for a
    /// router that is just ending: the kernel closes the files of a killed process after releasing its memory, which
    /// takes a second or two with rings of devices.
    ///
    /// # Errors
    /// The problem, with the file's name: another router has it open, the key is another one, or no acknowledged write
    /// can be read.
    #[expect(clippy::disallowed_methods, reason = "a start has no other clock yet")]
    pub fn open(folder: &Path, key: &Key, on_damage: OnDamage) -> Result<Self, String> {
        let until = Instant::now() + ENDING;
        Self::open_patiently(folder, key, on_damage, || {
            std::thread::park_timeout(LOOK_AGAIN);
            Instant::now() < until
        })
    }

    /// Opens the configuration as [`Self::open`] does; while another router has it open, `again` decides whether to try
    /// once more.
    pub(super) fn open_patiently(
        folder: &Path,
        key: &Key,
        on_damage: OnDamage,
        mut again: impl FnMut() -> bool,
    ) -> Result<Self, String> {
        let path = folder.join(FILE);
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        // A configuration contains secrets: only the owner may read the folder.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(failed)?;
        let (ledger, snapshot) = (ledger_of(&path), snapshot_of(&path));
        let before = [ledger::before(&ledger), snapshot::before(&snapshot)];
        for file in [path.clone(), ledger, snapshot].iter().chain(&before) {
            close_to_others(file)?;
        }
        let lock = File::open(folder).map_err(failed)?;
        while let Err(error) = lock.try_lock() {
            match error {
                std::fs::TryLockError::WouldBlock if again() => {}
                std::fs::TryLockError::WouldBlock => {
                    let path = path.display();
                    return Err(format!("{path}: another router is using it"));
                }
                std::fs::TryLockError::Error(error) => return Err(failed(error)),
            }
        }
        let place = Opening {
            path,
            key: key.clone(),
            _lock: Arc::new(lock),
        };
        let mut durable = place.open(on_damage)?;
        durable.said.extend(key.complaint().map(str::to_owned));
        // Not when a full disk causes the reopening: a change may need the room that was just released.
        if let Some(beside) = &durable.beside {
            beside.reserve.take();
        }
        Ok(durable)
    }
}

/// A store during its opening.
#[derive(Clone)]
struct Opening {
    path: PathBuf,
    key: Key,
    /// Lock of the folder: one router at a time.
    _lock: Arc<File>,
}

/// An intact copy of the database, and its contents.
struct Copy {
    database: Database,
    /// `None` in an unencrypted database of an earlier version.
    vault: Option<Vault>,
    state: Option<(u64, StoredState)>,
}

/// Reason why the database cannot be used.
enum Fault {
    Missing,
    Damaged(String),
    OtherKey,
}

/// Files beside the database.
struct Others {
    records: Records,
    snapshot: Option<snapshot::Reading>,
    /// Read only if the database cannot be used.
    snapshot_before: Option<snapshot::Reading>,
}

impl Others {
    fn heads(&self) -> impl Iterator<Item = Head> {
        let snapshots = self.snapshot.iter().chain(&self.snapshot_before);
        let heads = snapshots.filter_map(|reading| reading.head);
        self.records.heads().chain(heads)
    }

    /// Whether these files give the state after this write without the database.
    fn are_complete(&self, serial: u64) -> bool {
        let known = self.records.by_serial();
        let is_there = |number| known.get(&number).is_some_and(|own| own.content.is_some());
        let snapshot = self.snapshot.as_ref().and_then(snapshot::Reading::serial);
        snapshot.is_some_and(|snapshot| (snapshot + 1..=serial).all(is_there))
    }

    /// Whether writes after the snapshot, up to this one, changed more than notes.
    fn changed_behind_snapshot(&self, serial: u64) -> bool {
        let known = self.records.by_serial();
        let is_note = |number| {
            let content = known.get(&number).and_then(|own| own.content.as_deref());
            content.is_some_and(record::is_note)
        };
        let snapshot = self.snapshot.as_ref().and_then(snapshot::Reading::serial);
        !snapshot.is_some_and(|snapshot| (snapshot + 1..=serial).all(is_note))
    }

    /// Whether nothing was ever written.
    fn are_missing(&self) -> bool {
        let current = self.records.current.as_ref();
        let is_begun = current.is_none_or(|own| own.is_whole && own.last() == 0);
        is_begun && self.snapshot.is_none() && self.snapshot_before.is_none()
    }
}

impl Opening {
    fn failed(&self, error: impl std::fmt::Display) -> String {
        format!("{}: {error}", self.path.display())
    }

    fn open(&self, on_damage: OnDamage) -> Result<Durable, String> {
        let (copy, mut others) = self.read().map_err(|error| self.failed(error))?;
        let (copy, doubt) = match copy {
            Ok(copy) if copy.vault.is_none() => return self.take_over(copy),
            Ok(copy) => match doubt(&copy, &others.records) {
                None => return self.go_on(copy, &others),
                Some(why) => (Ok(copy), why),
            },
            Err(fault) => (Err(fault), ""),
        };
        let snapshot_before = snapshot::before(&snapshot_of(&self.path));
        let snapshot_before = snapshot::read(&snapshot_before, &self.key);
        others.snapshot_before = snapshot_before.map_err(|error| self.failed(error))?;
        let other_key = matches!(copy, Err(Fault::OtherKey));
        let (why, state) = match copy {
            Ok(copy) => (doubt.to_owned(), copy.state),
            Err(Fault::Missing) if others.are_missing() => return self.begin(),
            Err(Fault::Missing) => (String::from("the file is missing"), None),
            Err(Fault::Damaged(why)) => (format!("damaged: {why}"), None),
            Err(Fault::OtherKey) => (
                String::from("damaged: its header belongs to another file"),
                None,
            ),
        };
        // If no file is encrypted with the key, the key is wrong; if only some are, the other files are damaged.
        let heads: Vec<_> = others.heads().collect();
        let own = self.key.name();
        let is_other = heads.iter().all(|head| head.key != own);
        if is_other && (other_key || !heads.is_empty()) {
            let from = self.key.from();
            return Err(self.failed(format_args!(
                "it was written with another key than that of {from}; --store-key or --store-passphrase-file names \
                 the right one"
            )));
        }
        let why = self.failed(why);
        let found = recover(candidates(state, &others), &others.records);
        let found = found.ok_or_else(|| {
            format!(
                "{why}\nno acknowledged change can be read, neither here nor in {}: without these files and the \
                 one that ends with .ledger, a router starts with an empty configuration",
                snapshot_of(&self.path).display()
            )
        })?;
        match on_damage {
            OnDamage::Refuse => self.run_unaccepted(&why, found),
            OnDamage::Recover => self.accept(&why, found, &others),
        }
    }

    /// Reads all files. The database and the other files are of similar size: two threads halve the time.
    fn read(&self) -> io::Result<(Result<Copy, Fault>, Others)> {
        std::thread::scope(|scope| {
            let others = scope.spawn(|| self.others());
            let copy = self.copy()?;
            let others = others.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            Ok((copy, others))
        })
    }

    fn others(&self) -> io::Result<Others> {
        let snapshot = snapshot_of(&self.path);
        Ok(Others {
            records: Records::read(&ledger_of(&self.path), &self.key)?,
            snapshot_before: None,
            snapshot: snapshot::read(&snapshot, &self.key)?,
        })
    }

    /// Checks a copy of the database.
    fn copy(&self) -> io::Result<Result<Copy, Fault>> {
        let bytes = match files::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Err(Fault::Missing));
            }
            bytes => bytes?,
        };
        if bytes.is_empty() {
            return Ok(Err(Fault::Damaged(String::from("the file is empty"))));
        }
        // redb may panic on damaged bytes.
        let looked = std::panic::catch_unwind(AssertUnwindSafe(|| self.look_through(bytes)));
        Ok(match looked {
            Ok(Ok(copy)) => copy,
            Ok(Err(error)) => Err(Fault::Damaged(error.to_string())),
            Err(_) => Err(Fault::Damaged(String::from("it cannot be read"))),
        })
    }

    fn look_through(&self, bytes: Vec<u8>) -> Result<Result<Copy, Fault>, redb::Error> {
        let mut builder = Builder::new();
        builder.set_check_integrity_on_open(true);
        let database = builder.create_with_backend(Loaded::new(bytes))?;
        let vault = match tables::head(&database)? {
            Some(head) if head.key != self.key.name() => return Ok(Err(Fault::OtherKey)),
            head => head.map(|head| Vault::of(&self.key, head)),
        };
        let transaction = database.begin_read()?;
        let reader = Reader {
            transaction: &transaction,
            vault: vault.as_ref(),
        };
        let state = reader.everything()?;
        drop(transaction);
        Ok(Ok(Copy {
            database,
            vault,
            state,
        }))
    }

    /// Opens the intact database itself; on a full disk, reads the copy instead.
    fn go_on(&self, copy: Copy, others: &Others) -> Result<Durable, String> {
        let Copy {
            database,
            vault,
            state,
        } = copy;
        let (serial, kept) = match state {
            Some((serial, kept)) => (serial, Some(kept)),
            None => (0, None),
        };
        let opened = || -> Result<(Database, Ledger), redb::Error> {
            let ledger = self.ledger(serial, &others.records)?;
            Ok((Database::open(&self.path)?, ledger))
        };
        let vault = vault.ok_or_else(|| self.failed("the file is not encrypted"))?;
        let reserve = Reserve::beside(&self.path);
        let mut result = opened();
        if result.as_ref().is_err_and(is_full) && reserve.release() {
            result = opened();
        }
        let (database, ledger, refusal) = match result {
            Ok((database, ledger)) => (database, Some(ledger), None),
            Err(error) if is_full(&error) => {
                (database, None, Some(Refusal::Disk(self.failed(error))))
            }
            Err(error) => return Err(self.failed(error)),
        };
        let durable = Durable::of(database, vault, self.opener());
        let mut durable = durable.map_err(|error| self.failed(error))?;
        durable.refusal = refusal;
        durable.said = self.repairs(others);
        durable.beside = ledger.map(|ledger| Beside {
            path: self.path.clone(),
            key: self.key.clone(),
            ledger,
            reserve,
            snapshot: others.snapshot.as_ref().and_then(snapshot::Reading::serial),
            changed: others.changed_behind_snapshot(serial),
            snapshot_bytes: 0,
            rested: serial,
            patience: 0,
        });
        if !others.are_complete(serial) {
            durable.write_snapshot(kept.as_ref());
        }
        durable.loaded.set(kept);
        Ok(durable)
    }

    /// Returns the ledger for writes after this one: the present ledger if it is intact and complete, else a new one.
    fn ledger(&self, serial: u64, records: &Records) -> io::Result<Ledger> {
        let path = ledger_of(&self.path);
        match &records.current {
            Some(own) if own.is_whole && own.last() == serial => match own.head {
                Some(head) => Ledger::open(&path, &self.key, head, own.end),
                None => Ledger::make(&path, &self.key, serial),
            },
            _ => Ledger::make(&path, &self.key, serial),
        }
    }

    /// Reports the damaged files beside an intact database; they are rewritten.
    fn repairs(&self, others: &Others) -> Vec<String> {
        let is_damaged = |own: &Option<snapshot::Reading>| {
            own.as_ref().is_some_and(|own| own.serial().is_none())
        };
        let mut names = Vec::new();
        let ledger = others.records.current.as_ref();
        if ledger.is_some_and(|own| !own.is_whole && !own.is_of_before) {
            names.push(ledger_of(&self.path));
        }
        if is_damaged(&others.snapshot) {
            names.push(snapshot_of(&self.path));
        }
        let lines = names.iter().map(|name| {
            let name = name.display();
            format!("{name} was damaged and is rewritten; no acknowledged change is lost")
        });
        lines.collect()
    }

    fn opener(&self) -> Opener {
        let place = self.clone();
        Arc::new(move |on_damage| place.open(on_damage))
    }

    /// Creates a new store.
    fn begin(&self) -> Result<Durable, String> {
        self.make(0, None)?;
        self.open(OnDamage::Refuse)
    }

    /// Encrypts the state of an earlier version.
    fn take_over(&self, copy: Copy) -> Result<Durable, String> {
        let kept = copy.state.map(|(_, kept)| kept);
        self.make(1, kept.as_ref())?;
        self.open(OnDamage::Refuse)
    }

    /// Creates a database and a ledger. The database is renamed to its final name when it is complete.
    fn make(&self, serial: u64, kept: Option<&StoredState>) -> Result<(), String> {
        let unfinished = self.path.with_extension("new");
        let made = || -> Result<(), redb::Error> {
            drop(private_file(&unfinished)?);
            let database = Database::create(&unfinished)?;
            fill(&database, &self.key, serial, kept)?;
            drop(database);
            Ledger::make(&ledger_of(&self.path), &self.key, serial)?;
            Ok(put_in_place(&unfinished, &self.path)?)
        };
        let made = made();
        if made.is_err() {
            let _ = files::remove(&unfinished);
        }
        made.map_err(|error| self.failed(error))
    }

    /// Runs a recovered state from memory. Changes are refused, and the files stay as they are.
    fn run_unaccepted(&self, why: &str, found: Recovered) -> Result<Durable, String> {
        let revision = found.kept.saved.revision;
        let loaded = || -> Result<Durable, redb::Error> {
            let database = Builder::new().create_with_backend(Loaded::new(Vec::new()))?;
            let vault = fill(&database, &self.key, found.last, Some(&found.kept))?;
            Durable::of(database, vault, self.opener())
        };
        let mut durable = loaded().map_err(|error| self.failed(error))?;
        durable.refusal = Some(Refusal::Damaged(format!(
            "{why}; the router runs revision {revision} from {} and refuses changes: {ACCEPTANCE} accepts it (the log \
             says what is lost)",
            found.from
        )));
        durable.said = [vec![why.to_owned()], found.losses].concat();
        durable.said.push(format!(
            "the router runs revision {revision} from {}, and refuses changes until {ACCEPTANCE} accepts it",
            found.from
        ));
        Ok(durable)
    }

    /// Rewrites a recovered state, and renames the damaged files.
    fn accept(&self, why: &str, found: Recovered, others: &Others) -> Result<Durable, String> {
        // A damaged record behind the last one may have had the next number.
        let (serial, revision) = (found.last + 2, found.kept.saved.revision);
        let is_whole = others
            .snapshot
            .as_ref()
            .is_some_and(|own| own.serial().is_some());
        let snapshot = snapshot_of(&self.path);
        // Once the snapshot is in place, a loss of power during the other steps loses nothing.
        let written = snapshot::write(&snapshot, &self.key, serial, &found.kept, is_whole);
        written.map_err(|error| format!("{}: {error}", snapshot.display()))?;
        let aside = self.put_aside().map_err(|error| self.failed(error))?;
        self.make(serial, Some(&found.kept))?;
        let mut durable = self.open(OnDamage::Refuse)?;
        durable.said = [vec![why.to_owned()], found.losses].concat();
        durable.said.push(format!(
            "recovered from {} as it was with revision {revision}; the damaged files are {aside}",
            found.from
        ));
        Ok(durable)
    }

    /// Renames the damaged database and its ledger.
    fn put_aside(&self) -> io::Result<String> {
        let name = |path: &Path, number: u32| with_suffix(path, &format!(".damaged-{number}"));
        let files = [self.path.clone(), ledger_of(&self.path)];
        let free = |number: &u32| files.iter().all(|file| !name(file, *number).exists());
        let number = (1..u32::MAX).find(free).unwrap_or(u32::MAX);
        for file in &files {
            files::set_aside(file, &name(file, number))?;
        }
        Ok(format!(
            "{}.damaged-{number} and its ledger",
            self.path.display()
        ))
    }
}

/// Writes the head of a new database, and the state if there is one.
fn fill(
    database: &Database,
    key: &Key,
    serial: u64,
    kept: Option<&StoredState>,
) -> Result<Vault, redb::Error> {
    let vault = Vault::new(key)?;
    let transaction = database.begin_write()?;
    tables::write_head(&transaction, &vault.head)?;
    if let Some(kept) = kept {
        let writer = Writer {
            transaction: &transaction,
            vault: &vault,
        };
        writer.everything(kept)?;
        writer.number(SERIAL, serial)?;
    }
    transaction.commit()?;
    Ok(vault)
}

/// Returns the reason why an intact database may lack acknowledged writes; `None` if it has all. Each write reaches the
/// database before the ledger, so the database should be at least as recent.
fn doubt(copy: &Copy, records: &Records) -> Option<&'static str> {
    let serial = copy.state.as_ref().map_or(0, |(serial, _)| *serial);
    match &records.current {
        Some(own) if own.is_of_before => None,
        Some(own) if own.is_open && serial < records.last() => {
            Some("the file lacks acknowledged changes")
        }
        Some(own) if own.is_open && (!own.has_traces || serial > own.last()) => None,
        _ => Some("the ledger is damaged, so acknowledged changes may be missing"),
    }
}

/// Returns the complete states that a recovery can start from.
fn candidates(state: Option<(u64, StoredState)>, others: &Others) -> Vec<Candidate> {
    let kept = |own: &Option<snapshot::Reading>| own.as_ref().and_then(snapshot::Reading::kept);
    let mut states = vec![
        (state, FILE),
        (kept(&others.snapshot), SNAPSHOT),
        (kept(&others.snapshot_before), SNAPSHOT_BEFORE),
    ];
    // A ledger that reaches back to the first write needs no state before it.
    let known = others.records.by_serial();
    let first = known.get(&1).and_then(|record| record.content.as_deref());
    if first.is_some_and(record::is_saved) {
        states.push((Some((0, StoredState::default())), "the first write"));
    }
    let states = states.into_iter();
    let whole = states.filter_map(|(state, file)| {
        let (serial, kept) = state?;
        Some(Candidate { file, serial, kept })
    });
    whole.collect()
}
