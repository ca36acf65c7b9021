//! The ledger beside the database: every acknowledged write with its number, a line with user and action, and all of
//! its changes, encrypted.
//!
//! The ledger is the second copy of each write: after damage to the database the state is rebuilt from a snapshot and
//! the later records (`recovery.rs`). A record is written after the database has synced its commit and before the
//! command is acknowledged. The record itself is not synced: if the process is killed, the kernel still writes the
//! record; after a loss of power the database contains the missing writes.
//!
//! ```text
//!  0       head: magic, salt, name of the key; sealed: number of the last write before the first record
//!  8 KiB   second copy of the head, as nothing can be read without it
//! 16 KiB   records: sealed title (number, revision, length of the content), sealed line, sealed content
//!          zeros to the end of the allocated space
//! ```
//!
//! Records begin at multiples of [`ALIGN`], so that a reader finds the next one behind a damaged title.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::files::{allocate, private_file, put_in_place, remove, set_aside, with_suffix};
use super::vault::{Head, Key, MORE, SealContext, Vault};

pub(super) const MAGIC: &[u8] = b"ferroute ledger2";
/// Magic of earlier versions, whose records have no content.
pub(super) const MAGIC_BEFORE: &[u8] = b"ferroute ledger\n";
/// Offsets of the two heads: further apart than a page, the unit of disk damage.
pub(super) const HEADS: [usize; 2] = [0, 8 << 10];
/// Offset of the first record.
pub(super) const FIRST: usize = 16 << 10;
pub(super) const ALIGN: usize = 64;
/// Allocation step of the file, in bytes.
const CHUNK: u64 = 256 << 10;
/// Sizes in bytes: of a sealed title, of a line, and of both sealed.
pub(super) const TITLE: usize = 24 + MORE;
pub(super) const LINE: usize = 176;
pub(super) const TITLE_AND_LINE: usize = TITLE + LINE + MORE;

/// An acknowledged write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Number of the write.
    pub(super) serial: u64,
    /// Revision of the configuration after the write.
    pub(super) revision: u64,
    /// User and action; empty for notes of the router itself.
    pub(super) line: String,
}

/// A ledger open for writing.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    file: File,
    vault: Vault,
    /// Offset behind the last record, and size of the file, in bytes.
    used: u64,
    room: u64,
}

/// Returns the path of the previous ledger.
pub(super) fn before(path: &Path) -> PathBuf {
    with_suffix(path, ".before")
}

pub(super) fn base_place() -> SealContext<'static> {
    SealContext("ledger", "base", 0)
}

pub(super) fn title_place(at: usize) -> SealContext<'static> {
    SealContext("ledger", "title", at as u64)
}

pub(super) fn line_place(serial: u64) -> SealContext<'static> {
    SealContext("ledger", "line", serial)
}

pub(super) fn content_place(serial: u64) -> SealContext<'static> {
    SealContext("ledger", "content", serial)
}

/// Returns the size of a record with content of this length.
pub(super) const fn record_len(content: usize) -> usize {
    (TITLE_AND_LINE + content + MORE).next_multiple_of(ALIGN)
}

impl Ledger {
    /// Creates an empty ledger for the writes after the number `base`. The previous ledger is kept under the name
    /// [`before`].
    pub(super) fn make(path: &Path, key: &Key, base: u64) -> io::Result<Self> {
        let unfinished = with_suffix(path, ".new");
        let made = Self::make_at(&unfinished, key, base);
        if made.is_err() {
            let _ = remove(&unfinished);
        }
        let made = made?;
        set_aside(path, &before(path))?;
        put_in_place(&unfinished, path)?;
        Ok(Self {
            path: path.to_owned(),
            ..made
        })
    }

    fn make_at(path: &Path, key: &Key, base: u64) -> io::Result<Self> {
        let vault = Vault::new(key)?;
        let file = private_file(path)?;
        allocate(&file, 0, CHUNK)?;
        let base = vault.seal(&base_place(), &base.to_le_bytes())?;
        let head = [MAGIC, &vault.head.bytes(), &base].concat();
        for at in HEADS {
            file.write_all_at(&head, at as u64)?;
        }
        file.sync_all()?;
        Ok(Self {
            path: path.to_owned(),
            file,
            vault,
            used: FIRST as u64,
            room: CHUNK,
        })
    }

    /// Opens a ledger that was read and is intact; `end` is the end of its last record.
    pub(super) fn open(path: &Path, key: &Key, head: Head, end: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Self {
            path: path.to_owned(),
            room: file.metadata()?.len(),
            file,
            vault: Vault::of(key, head),
            used: end as u64,
        })
    }

    /// Whether the ledger is long enough to be replaced after the next snapshot. A snapshot costs `state` bytes, so the
    /// limit grows with it: under continuous changes the cost of snapshots stays in proportion to the changes.
    pub(super) fn is_long(&self, state: u64) -> bool {
        self.used > CHUNK.max(state)
    }

    /// Replaces this ledger by an empty one, for the writes after the number `base`.
    pub(super) fn renew(&mut self, key: &Key, base: u64) -> io::Result<()> {
        *self = Self::make(&self.path, key, base)?;
        Ok(())
    }

    /// Allocates space for records with contents of these lengths, and for the zeros behind them. A full disk is
    /// noticed here, before the database has changed.
    pub(super) fn make_room(&mut self, contents: impl Iterator<Item = usize>) -> io::Result<()> {
        let records: usize = contents.map(record_len).sum();
        let needed = self.used + (records + TITLE_AND_LINE) as u64;
        if needed <= self.room {
            return Ok(());
        }
        let room = needed.next_multiple_of(CHUNK);
        allocate(&self.file, self.room, room)?;
        // Without this sync, a loss of power could leave a shorter file, which would look truncated.
        self.file.sync_all()?;
        self.room = room;
        Ok(())
    }

    /// Writes a record into allocated space, without syncing.
    pub(super) fn append(&mut self, entry: &Entry, content: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(record_len(content.len()));
        let title = [entry.serial, entry.revision, content.len() as u64];
        let title: Vec<u8> = title.iter().flat_map(|n| n.to_le_bytes()).collect();
        bytes.extend(self.vault.seal(&title_place(self.used as usize), &title)?);
        let line = &entry.line[..entry.line.floor_char_boundary(LINE)];
        let mut line: Vec<u8> = line.bytes().filter(|byte| *byte != 0).collect();
        // All lines have one length, so that the ciphertext reveals nothing.
        line.resize(LINE, 0);
        bytes.extend(self.vault.seal(&line_place(entry.serial), &line)?);
        bytes.extend(self.vault.seal(&content_place(entry.serial), content)?);
        bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
        self.file.write_all_at(&bytes, self.used)?;
        self.used += bytes.len() as u64;
        Ok(())
    }
}
