//! The ledger beside the database: the number of each write that was acknowledged, and in a line who did what.
//!
//! It is what a database is held against that comes back from a bad disk: one that is whole and has less than the
//! ledger says has lost something. The file has all its room from the start, so that a full disk is noticed before
//! anything is written, and slots that fit into a sector, so that one is written wholly or not.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::vault::{Head, Key, MORE, Place, Vault};

const MAGIC: &[u8] = b"ferroute ledger\n";
const SLOT: usize = 256;
/// Slots in a file; the first is its head.
const SLOTS: usize = 256;
/// Entries that are taken along when a file is full.
const TAKEN_ALONG: usize = 64;
/// Bytes of a line.
const LINE: usize = SLOT - MORE - 16;

/// A write that was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Counts the writes.
    pub(super) serial: u64,
    /// The revision of the configuration that it left.
    pub(super) revision: u64,
    /// Who did what.
    pub(super) line: String,
}

/// A ledger that is written.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    file: File,
    key: Key,
    vault: Vault,
    used: usize,
    entries: VecDeque<Entry>,
}

/// What was found in a file.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) head: Option<Head>,
    /// The number of the last write before the first entry.
    base: u64,
    /// The entries that can be read, oldest first.
    pub(super) entries: Vec<Entry>,
    /// How many slots behind the last of them hold something that cannot be read.
    pub(super) unreadable: u64,
    /// Whether there may have been more than can be seen.
    pub(super) cut_off: bool,
    /// Whether every slot is as it was written.
    pub(super) whole: bool,
}

impl Reading {
    /// The number of the last write that was acknowledged, as far as it can be told.
    pub(super) fn last(&self) -> u64 {
        self.entries.last().map_or(self.base, |entry| entry.serial)
    }
}

/// What is in the ledger at a path; none if there is none.
pub(super) fn read(path: &Path, key: &Key) -> io::Result<Option<Reading>> {
    let bytes = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let mut slots = bytes.chunks(SLOT);
    let first = slots.next().and_then(|slot| slot.strip_prefix(MAGIC));
    let first = first.and_then(|rest| rest.split_at_checked(Head::LEN));
    let head = first.and_then(|(head, _)| Head::read(head));
    let mut reading = Reading {
        head,
        whole: bytes.len() == SLOT * SLOTS,
        ..Reading::default()
    };
    let (Some(head), Some((_, sealed))) = (head, first) else {
        reading.cut_off = true;
        return Ok(Some(reading));
    };
    let vault = Vault::of(key, head);
    let base = sealed
        .get(..MORE + 8)
        .and_then(|sealed| vault.open(&place(0), sealed));
    match base.and_then(|base| base.try_into().ok()) {
        Some(base) => reading.base = u64::from_le_bytes(base),
        None => (reading.cut_off, reading.whole) = (true, false),
    }
    let mut ended = false;
    let mut is_short = bytes.len() < SLOT * SLOTS;
    for (slot, number) in slots.zip(1..) {
        match entry_of(&vault, number, slot) {
            _ if slot.iter().all(|byte| *byte == 0) => {
                ended = true;
                // Whatever was there stood before it.
                is_short &= slot.len() < SLOT;
            }
            Some(entry) => {
                (reading.unreadable, ended) = (0, false);
                reading.entries.push(entry);
            }
            None => {
                reading.whole = false;
                reading.unreadable += u64::from(!ended);
            }
        }
    }
    reading.cut_off |= is_short;
    reading.whole &= reading.unreadable == 0;
    Ok(Some(reading))
}

fn place(number: u64) -> Place<'static> {
    Place("ledger", "", number)
}

fn entry_of(vault: &Vault, number: u64, slot: &[u8]) -> Option<Entry> {
    let open = vault.open(&place(number), slot)?;
    let (serial, rest) = open.split_first_chunk()?;
    let (revision, line) = rest.split_first_chunk()?;
    let len = line.iter().position(|byte| *byte == 0);
    Some(Entry {
        serial: u64::from_le_bytes(*serial),
        revision: u64::from_le_bytes(*revision),
        line: String::from_utf8_lossy(&line[..len.unwrap_or(line.len())]).into_owned(),
    })
}

impl Ledger {
    /// Makes a ledger of these entries in place of what there was.
    pub(super) fn make(path: &Path, key: &Key, entries: &[Entry]) -> io::Result<Self> {
        let vault = Vault::new(key)?;
        let unfinished = path.with_extension("ledger.new");
        let mut file = private_file(&unfinished)?;
        let kept = entries.len().saturating_sub(TAKEN_ALONG);
        let base = entries.get(kept).map_or(0, |entry| entry.serial - 1);
        let base = vault.seal(&place(0), &base.to_le_bytes())?;
        let mut bytes = [MAGIC, &vault.head.bytes(), &base].concat();
        bytes.resize(SLOT, 0);
        let mut ledger = Self {
            path: path.to_owned(),
            file: file.try_clone()?,
            key: key.clone(),
            vault,
            used: 1,
            entries: VecDeque::new(),
        };
        for entry in &entries[kept..] {
            bytes.extend(ledger.slot(entry)?);
            ledger.used += 1;
            ledger.entries.push_back(entry.clone());
        }
        bytes.resize(SLOT * SLOTS, 0);
        file.write_all(&bytes)?;
        file.sync_all()?;
        put_in_place(&unfinished, path)?;
        Ok(ledger)
    }

    /// Goes on with what was read of a whole file.
    pub(super) fn go_on(path: &Path, key: &Key, reading: &Reading) -> io::Result<Self> {
        let (Some(head), true) = (reading.head, reading.whole) else {
            return Self::make(path, key, &reading.entries);
        };
        Ok(Self {
            path: path.to_owned(),
            file: OpenOptions::new().read(true).write(true).open(path)?,
            key: key.clone(),
            vault: Vault::of(key, head),
            used: 1 + reading.entries.len(),
            entries: reading.entries.iter().cloned().collect(),
        })
    }

    /// Sees to it that there is room for one more.
    pub(super) fn make_room(&mut self) -> io::Result<()> {
        if self.used < SLOTS {
            return Ok(());
        }
        *self = Self::make(&self.path, &self.key, self.entries.make_contiguous())?;
        Ok(())
    }

    /// Writes an entry, synced.
    pub(super) fn add(&mut self, entry: Entry) -> io::Result<()> {
        let slot = self.slot(&entry)?;
        self.file.write_all_at(&slot, (self.used * SLOT) as u64)?;
        self.file.sync_data()?;
        self.used += 1;
        self.entries.push_back(entry);
        Ok(())
    }

    /// The bytes of the next slot with this entry in it.
    fn slot(&self, entry: &Entry) -> io::Result<Vec<u8>> {
        let mut value = Vec::with_capacity(SLOT - MORE);
        value.extend(entry.serial.to_le_bytes());
        value.extend(entry.revision.to_le_bytes());
        let line = &entry.line[..entry.line.floor_char_boundary(LINE)];
        value.extend(line.bytes().filter(|byte| *byte != 0));
        value.resize(SLOT - MORE, 0);
        self.vault.seal(&place(self.used as u64), &value)
    }
}

/// A new file for its owner alone.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    options.open(path)
}

/// Gives a finished file its name, for good.
pub(super) fn put_in_place(unfinished: &Path, path: &Path) -> io::Result<()> {
    std::fs::rename(unfinished, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
