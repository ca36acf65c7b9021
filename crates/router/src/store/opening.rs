//! How the store is opened: first a copy of the database in memory is looked through, every page and every value,
//! and held against the ledger. Only what is whole is touched. What is not is refused, with what is lost and the way
//! out, and put aside where that way is taken.

use std::fs::File;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use redb::backends::InMemoryBackend;
use redb::{Builder, Database, ReadableDatabase as _, StorageBackend as _};

use super::ledger::{self, Ledger, put_in_place};
use super::tables::{self, Reader, SERIAL, Writer};
use super::vault::{Key, Vault};
use super::{Again, Beside, Durable, Kept, is_full, snapshot};
use crate::private::close_to_others;

/// How long a router takes at most to end that was killed, and how often is looked.
const ENDING: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The database's file in the state folder.
pub(super) const FILE: &str = "configuration.redb";

/// Lines of a list of what is lost.
const LISTED: usize = 12;

/// What becomes of a store that is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDamage {
    /// It is refused, and stays as it is.
    Refuse,
    /// The best state that is found is taken, and the damaged files are put aside.
    Recover,
}

pub(super) fn snapshot_of(path: &Path) -> PathBuf {
    path.with_extension("snapshot")
}

fn ledger_of(path: &Path) -> PathBuf {
    path.with_extension("ledger")
}

impl Durable {
    /// Opens the configuration in this folder, and makes both if they are not there. Waits for a router
    /// that is just ending: one that was killed has its files until the kernel has taken its memory apart,
    /// which takes a second or two where that has rings of devices.
    ///
    /// # Errors
    /// What is wrong, with the file's name; among it that another router has it open, and that it is damaged.
    #[expect(clippy::disallowed_methods, reason = "a start has no other clock yet")]
    pub fn open(folder: &Path, key: &Key, on_damage: OnDamage) -> Result<Self, String> {
        let until = Instant::now() + ENDING;
        Self::open_patiently(folder, key, on_damage, || {
            std::thread::park_timeout(LOOK_AGAIN);
            Instant::now() < until
        })
    }

    /// As [`Self::open`]; where another router has it open, `again` says whether to look once more.
    pub(super) fn open_patiently(
        folder: &Path,
        key: &Key,
        on_damage: OnDamage,
        mut again: impl FnMut() -> bool,
    ) -> Result<Self, String> {
        let path = folder.join(FILE);
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        // There are secrets in a configuration: the folder is for its owner alone.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(failed)?;
        for file in [path.clone(), ledger_of(&path), snapshot_of(&path)] {
            close_to_others(&file)?;
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
        place.open(on_damage)
    }
}

/// A store that is being opened.
#[derive(Clone)]
struct Opening {
    path: PathBuf,
    key: Key,
    /// One router at a time has the folder.
    _lock: Arc<File>,
}

/// A copy of the database that is whole, and what is in it.
struct Copy {
    database: Database,
    /// None in one of a version before, which is not encrypted.
    vault: Option<Vault>,
    state: Option<(u64, Kept)>,
}

/// Why the database cannot be taken.
enum Fault {
    Missing,
    Damaged(String),
    OtherKey,
}

impl Opening {
    fn failed(&self, error: impl std::fmt::Display) -> String {
        format!("{}: {error}", self.path.display())
    }

    fn open(&self, on_damage: OnDamage) -> Result<Durable, String> {
        let copy = self.copy().map_err(|error| self.failed(error))?;
        let ledger = ledger::read(&ledger_of(&self.path), &self.key);
        let ledger = ledger.map_err(|error| self.failed(error))?;
        let other_key = matches!(copy, Err(Fault::OtherKey));
        let found = match (copy, &ledger) {
            (Ok(copy), _) if copy.vault.is_none() => return self.take_over(copy),
            (Ok(copy), Some(ledger)) if is_complete(&copy, ledger) => {
                return self.go_on(copy, ledger);
            }
            (Err(Fault::Missing), None) => return self.begin(),
            (Err(Fault::Missing), Some(ledger)) if ledger.whole && ledger.entries.is_empty() => {
                return self.begin();
            }
            (Ok(copy), ledger) => Found {
                why: String::from(match ledger {
                    Some(ledger) if !ledger.cut_off => "it has less than was acknowledged",
                    _ => {
                        "its ledger is damaged, so that nobody knows whether it has what was acknowledged"
                    }
                }),
                state: copy.state,
            },
            (Err(Fault::Missing), _) => Found::nothing("the file is missing"),
            (Err(Fault::Damaged(why)), _) => Found::nothing(format!("damaged: {why}")),
            (Err(Fault::OtherKey), _) => Found::nothing("damaged: its head is another file's"),
        };
        let snapshot = snapshot::read(&snapshot_of(&self.path), &self.key);
        let snapshot = snapshot.map_err(|error| self.failed(error))?;
        // A key that no file is locked with is the wrong one; where files differ, one of them is damaged.
        let heads = [
            ledger.as_ref().and_then(|ledger| ledger.head),
            snapshot.as_ref().and_then(|snapshot| snapshot.head),
        ];
        let own = self.key.name();
        let heads: Vec<_> = heads.into_iter().flatten().collect();
        let is_other = heads.iter().all(|head| head.key != own);
        if is_other && (other_key || !heads.is_empty()) {
            let from = self.key.from();
            return Err(self.failed(format_args!(
                "it was written with another key than that of {from}; --store-key or --store-passphrase-file names \
                 the right one"
            )));
        }
        let ledger = ledger.unwrap_or_default();
        let snapshot = snapshot.and_then(|snapshot| snapshot.state);
        self.damaged(found, snapshot, &ledger, on_damage)
    }

    /// Looks through a copy of the database.
    fn copy(&self) -> io::Result<Result<Copy, Fault>> {
        let bytes = match std::fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Err(Fault::Missing));
            }
            bytes => bytes?,
        };
        if bytes.is_empty() {
            return Ok(Err(Fault::Damaged(String::from("it is empty"))));
        }
        // What is no database any more may be anything to who reads it as one.
        let looked = std::panic::catch_unwind(AssertUnwindSafe(|| self.look_through(&bytes)));
        Ok(match looked {
            Ok(Ok(copy)) => copy,
            Ok(Err(error)) => Err(Fault::Damaged(error.to_string())),
            Err(_) => Err(Fault::Damaged(String::from("it cannot be read"))),
        })
    }

    fn look_through(&self, bytes: &[u8]) -> Result<Result<Copy, Fault>, redb::Error> {
        let memory = InMemoryBackend::new();
        memory.set_len(bytes.len() as u64)?;
        memory.write(0, bytes)?;
        let mut builder = Builder::new();
        builder.set_check_integrity_on_open(true);
        let database = builder.create_with_backend(memory)?;
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

    /// Opens the database itself, which is whole; where the disk is full, the copy is read in its place.
    fn go_on(&self, copy: Copy, ledger: &ledger::Reading) -> Result<Durable, String> {
        let opened = || -> Result<(Database, Ledger), redb::Error> {
            let beside = Ledger::go_on(&ledger_of(&self.path), &self.key, ledger)?;
            Ok((Database::open(&self.path)?, beside))
        };
        let Copy {
            database, vault, ..
        } = copy;
        let vault = vault.ok_or_else(|| self.failed("it is not encrypted"))?;
        let (database, ledger, full) = match opened() {
            Ok((database, ledger)) => (database, Some(ledger), None),
            Err(error) if is_full(&error) => (database, None, Some(self.failed(error))),
            Err(error) => return Err(self.failed(error)),
        };
        let durable = Durable::of(database, vault, self.again());
        let mut durable = durable.map_err(|error| self.failed(error))?;
        durable.full = full;
        durable.beside = ledger.map(|ledger| Beside {
            path: self.path.clone(),
            key: self.key.clone(),
            ledger,
            snapshot: 0,
            // The first is due at the start.
            next: 0,
        });
        Ok(durable)
    }

    fn again(&self) -> Again {
        let place = self.clone();
        Arc::new(move || place.open(OnDamage::Refuse))
    }

    /// A store of which there was nothing.
    fn begin(&self) -> Result<Durable, String> {
        self.make(0, None, &[])
    }

    /// What a version before has kept is encrypted from here on.
    fn take_over(&self, copy: Copy) -> Result<Durable, String> {
        let kept = copy.state.map(|(_, kept)| kept);
        let entry = ledger::Entry {
            serial: 1,
            revision: kept.as_ref().map_or(0, |kept| kept.saved.revision),
            line: String::from("taken over and encrypted"),
        };
        self.make(1, kept.as_ref(), &[entry])
    }

    /// Makes a database and what stands beside it. It has its name only when it is whole.
    fn make(
        &self,
        serial: u64,
        kept: Option<&Kept>,
        entries: &[ledger::Entry],
    ) -> Result<Durable, String> {
        let unfinished = self.path.with_extension("new");
        let made = || -> Result<(), redb::Error> {
            drop(ledger::private_file(&unfinished)?);
            let database = Database::create(&unfinished)?;
            let vault = Vault::new(&self.key)?;
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
            drop(database);
            Ledger::make(&ledger_of(&self.path), &self.key, entries)?;
            Ok(put_in_place(&unfinished, &self.path)?)
        };
        made().map_err(|error| self.failed(error))?;
        self.open(OnDamage::Refuse)
    }

    /// Refuses what is damaged, or takes the best that is left of it.
    fn damaged(
        &self,
        found: Found,
        snapshot: Option<(u64, Kept)>,
        ledger: &ledger::Reading,
        on_damage: OnDamage,
    ) -> Result<Durable, String> {
        let states = [(found.state, FILE), (snapshot, "configuration.snapshot")];
        let states = states
            .into_iter()
            .filter_map(|(state, file)| Some((state?, file)));
        let best = states.max_by_key(|((serial, _), _)| *serial);
        let why = self.failed(&found.why);
        let Some(((serial, kept), file)) = best else {
            return Err(format!(
                "{why}\nnothing that was acknowledged can be read, neither here nor in {}: without these files, and \
                 the one that ends with .ledger, a router begins anew",
                snapshot_of(&self.path).display()
            ));
        };
        let mut lines = lost(serial, ledger);
        let revision = kept.saved.revision;
        if on_damage == OnDamage::Refuse {
            lines.insert(0, why);
            lines.push(format!(
                "`ferroute run --recover` starts from {file} as it was with revision {revision}, and puts the damaged \
                 files aside"
            ));
            return Err(lines.join("\n"));
        }
        let aside = self.put_aside().map_err(|error| self.failed(error))?;
        let next = serial.max(ledger.last()) + 1 + ledger.unreadable;
        let entry = ledger::Entry {
            serial: next,
            revision,
            line: format!("recovered from {file} with revision {revision}"),
        };
        let mut durable = self.make(next, Some(&kept), &[entry])?;
        lines.insert(0, why);
        lines.push(format!(
            "recovered from {file} as it was with revision {revision}; the damaged files are {aside}"
        ));
        durable.said = lines;
        Ok(durable)
    }

    /// Gives the database and its ledger names that say that they are damaged. The snapshot stays until there is
    /// another.
    fn put_aside(&self) -> io::Result<String> {
        let name = |path: &Path, number: u32| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".damaged-{number}"));
            PathBuf::from(name)
        };
        let files = [self.path.clone(), ledger_of(&self.path)];
        let free = |number: &u32| files.iter().all(|file| !name(file, *number).exists());
        let number = (1..u32::MAX).find(free).unwrap_or(u32::MAX);
        for file in &files {
            match std::fs::rename(file, name(file, number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(format!(
            "{}.damaged-{number} and its ledger",
            self.path.display()
        ))
    }
}

/// Whether a database has all that was acknowledged. The last entry may not have been written wholly: it was not
/// acknowledged then, though the database has it.
fn is_complete(copy: &Copy, ledger: &ledger::Reading) -> bool {
    let serial = copy.state.as_ref().map_or(0, |(serial, _)| *serial);
    !ledger.cut_off && serial >= ledger.last() + ledger.unreadable
}

/// What is lost where a state with this number of writes is taken.
fn lost(serial: u64, ledger: &ledger::Reading) -> Vec<String> {
    let told = |entry: &&ledger::Entry| entry.serial > serial && !entry.line.is_empty();
    let lost: Vec<_> = ledger.entries.iter().filter(told).collect();
    let mut lines = Vec::new();
    if ledger.cut_off || ledger.unreadable > 0 {
        lines.push(String::from(
            "the ledger is damaged too: there may have been changes behind the last that is named here",
        ));
    } else if lost.is_empty() {
        lines.push(String::from("nothing that was acknowledged is lost"));
    }
    if !lost.is_empty() {
        lines.push(format!("lost: {} of what was acknowledged", lost.len()));
    }
    let skipped = lost.len().saturating_sub(LISTED);
    if skipped > 0 {
        lines.push(format!("  {skipped} more, then"));
    }
    let listed = lost[skipped..].iter();
    lines.extend(listed.map(|entry| format!("  revision {} {}", entry.revision, entry.line)));
    lines
}

/// A database that cannot be taken as it is.
struct Found {
    /// Why; empty where it needs another key.
    why: String,
    /// What it has all the same.
    state: Option<(u64, Kept)>,
}

impl Found {
    fn nothing(why: impl Into<String>) -> Self {
        let why = why.into();
        Self { why, state: None }
    }
}
