//! Records on disk beside the configuration, such as leases: an append-only log with a block of entries for each step
//! of the router. A block is synced before its contents are announced, and encrypted like all of the store.
//!
//! ```text
//! magic, head │ length, block 0 │ length, block 1 │ … │ an unfinished block: cut off at the next opening
//! block: (number, length, record) …; without a record the lease was removed
//! ```
//! When most of the file is outdated, a new file with the current leases replaces it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::files::{private_file, put_in_place};
use super::vault::{Head, Key, SealContext, Vault};

const MAGIC: &[u8] = b"ferroute leases\n";
const START: usize = MAGIC.len() + Head::LEN;
/// Size in bytes below which a file is not rewritten.
const SMALL: u64 = 1 << 20;
/// Maximum size of a block in bytes.
const BLOCK: usize = 1 << 24;
/// Maximum number of entries of a block: 4,096 records of at most 4 KiB fit into [`BLOCK`] bytes.
const BLOCK_ENTRIES: usize = 1 << 12;

/// Entries: number and content of a lease; `None` for a removed lease.
pub type Entries = Vec<(u64, Option<Vec<u8>>)>;

/// A log of leases, or of records of features (`records.rs`).
#[derive(Debug)]
pub struct Leases {
    /// The name of the file.
    name: &'static str,
    path: PathBuf,
    file: File,
    key: Key,
    vault: Vault,
    /// Number of the next block, and size of the file in bytes.
    block: u64,
    len: u64,
    /// Size of the current entry of each lease, and the sum of all sizes, in bytes.
    live: BTreeMap<u64, u32>,
    live_len: u64,
}

impl Leases {
    /// Opens the log of leases in a folder, and returns its current entries. An unreadable log is renamed.
    ///
    /// # Errors
    /// The file cannot be opened or created, as text.
    pub fn open(folder: &Path, key: &Key) -> Result<(Self, BTreeMap<u64, Vec<u8>>), String> {
        Self::open_named(folder, "leases", key)
    }

    /// Opens the log with this name in a folder, and returns its current entries.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_named(
        folder: &Path,
        name: &'static str,
        key: &Key,
    ) -> Result<(Self, BTreeMap<u64, Vec<u8>>), String> {
        let path = folder.join(name);
        let opened = Self::open_at(name, &path, key);
        opened.map_err(|error| format!("{}: {error}", path.display()))
    }

    fn open_at(
        name: &'static str,
        path: &Path,
        key: &Key,
    ) -> io::Result<(Self, BTreeMap<u64, Vec<u8>>)> {
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((
                    Self::make(name, path, key, &BTreeMap::new())?,
                    BTreeMap::new(),
                ));
            }
            bytes => bytes?,
        };
        let Some((vault, rest)) = head(&bytes, key) else {
            // A log of another machine, or not a log: keep it under another name.
            std::fs::rename(path, path.with_extension("unreadable"))?;
            return Ok((
                Self::make(name, path, key, &BTreeMap::new())?,
                BTreeMap::new(),
            ));
        };
        let (mut found, mut block, mut whole) = (BTreeMap::new(), 0, START);
        let mut rest = rest;
        while let Some((entries, len, behind)) = read_block(&vault, (name, block), rest) {
            for (id, record) in entries {
                match record {
                    Some(record) => _ = found.insert(id, record),
                    None => _ = found.remove(&id),
                }
            }
            (block, whole, rest) = (block + 1, whole + len, behind);
        }
        let file = OpenOptions::new().append(true).open(path)?;
        file.set_len(whole as u64)?;
        file.sync_all()?;
        let live: BTreeMap<_, _> = found
            .iter()
            .map(|(id, of)| (*id, of.len() as u32))
            .collect();
        let log = Self {
            name,
            path: path.to_owned(),
            file,
            key: key.clone(),
            vault,
            block,
            len: whole as u64,
            live_len: live.values().map(|len| u64::from(*len) + ENTRY).sum(),
            live,
        };
        Ok((log, found))
    }

    /// Creates a log with these leases, in place of an existing one.
    fn make(
        name: &'static str,
        path: &Path,
        key: &Key,
        all: &BTreeMap<u64, Vec<u8>>,
    ) -> io::Result<Self> {
        let vault = Vault::new(key)?;
        let unfinished = path.with_extension("new");
        let mut bytes = [MAGIC, &vault.head.bytes()].concat();
        let mut block = 0;
        let entries: Entries = all.iter().map(|(id, of)| (*id, Some(of.clone()))).collect();
        for some in entries.chunks(BLOCK_ENTRIES) {
            bytes.extend(seal(&vault, (name, block), some)?);
            block += 1;
        }
        let mut file = private_file(&unfinished)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        put_in_place(&unfinished, path)?;
        let live: BTreeMap<_, _> = all.iter().map(|(id, of)| (*id, of.len() as u32)).collect();
        Ok(Self {
            name,
            path: path.to_owned(),
            file: OpenOptions::new().append(true).open(path)?,
            key: key.clone(),
            vault,
            block,
            len: bytes.len() as u64,
            live_len: live.values().map(|len| u64::from(*len) + ENTRY).sum(),
            live,
        })
    }

    /// Appends entries; they are on disk when the call returns.
    ///
    /// # Errors
    /// The write fails; earlier entries stay.
    pub fn keep(&mut self, entries: &Entries) -> io::Result<()> {
        let (mut bytes, mut block) = (Vec::new(), self.block);
        for some in entries.chunks(BLOCK_ENTRIES) {
            bytes.extend(seal(&self.vault, (self.name, block), some)?);
            block += 1;
        }
        let written = { self.file.write_all(&bytes) }.and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // A partly written block would hide later blocks.
            self.file.set_len(self.len)?;
            return Err(error);
        }
        self.block = block;
        self.len += bytes.len() as u64;
        for (id, record) in entries {
            let len = record.as_ref().map(|record| record.len() as u32);
            let before = match len {
                Some(len) => self.live.insert(*id, len),
                None => self.live.remove(id),
            };
            let size = |len: Option<u32>| len.map_or(0, |len| u64::from(len) + ENTRY);
            self.live_len = (self.live_len + size(len)).saturating_sub(size(before));
        }
        Ok(())
    }

    /// Whether half of the file is outdated.
    pub fn is_stale(&self) -> bool {
        self.len > SMALL.max(2 * self.live_len)
    }

    /// Rewrites the file with these leases.
    ///
    /// # Errors
    /// The write fails; the old file stays.
    pub fn rewrite(&mut self, all: &BTreeMap<u64, Vec<u8>>) -> io::Result<()> {
        *self = Self::make(self.name, &self.path, &self.key, all)?;
        Ok(())
    }
}

/// Bytes of an entry without its record.
const ENTRY: u64 = 12;

fn head<'a>(bytes: &'a [u8], key: &Key) -> Option<(Vault, &'a [u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (head, rest) = rest.split_at_checked(Head::LEN)?;
    let head = Head::read(head).filter(|head| head.key == key.name())?;
    Some((Vault::of(key, head), rest))
}

/// Identifies a block: name of its log, and its number.
type Block = (&'static str, u64);

const fn place(block: Block) -> SealContext<'static> {
    SealContext(block.0, "", block.1)
}

fn seal(vault: &Vault, block: Block, entries: &[(u64, Option<Vec<u8>>)]) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    for (id, record) in entries {
        let record = record.as_deref().unwrap_or_default();
        plain.extend(id.to_le_bytes());
        plain.extend((record.len() as u32).to_le_bytes());
        plain.extend(record);
    }
    let sealed = vault.seal(&place(block), &plain)?;
    let len = (sealed.len() as u32).to_le_bytes();
    Ok([&len[..], &sealed].concat())
}

/// Reads the next block: returns its entries, its length, and the remaining bytes. Returns `None` without a complete
/// block.
fn read_block<'a>(
    vault: &Vault,
    block: Block,
    bytes: &'a [u8],
) -> Option<(Entries, usize, &'a [u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
    let (sealed, behind) = rest.split_at_checked(len.min(BLOCK))?;
    let plain = vault.open(&place(block), sealed)?;
    let (mut entries, mut rest) = (Vec::new(), &plain[..]);
    while let Some((id, behind)) = rest.split_first_chunk() {
        let (len, behind) = behind.split_first_chunk()?;
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        let (record, behind) = behind.split_at_checked(len)?;
        let record = (!record.is_empty()).then(|| record.to_vec());
        entries.push((u64::from_le_bytes(*id), record));
        rest = behind;
    }
    Some((entries, 4 + len, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("ferroute-leases-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }

        fn open(&self) -> (Leases, BTreeMap<u64, Vec<u8>>) {
            let key = Key::new([7; 32], "a test");
            Leases::open(&self.0, &key).expect("a log")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn entry(id: u64, byte: u8) -> (u64, Option<Vec<u8>>) {
        (id, Some(vec![byte; 40]))
    }

    #[test]
    fn whole_blocks_are_read_and_unfinished_ones_are_not() {
        let folder = Folder::new("kept");
        let (mut log, found) = folder.open();
        assert!(found.is_empty());
        log.keep(&vec![entry(1, 1), entry(2, 2)]).expect("room");
        log.keep(&vec![(1, None), entry(3, 3)]).expect("room");
        drop(log);
        let path = folder.0.join("leases");
        let whole = std::fs::read(&path).expect("the log");

        // A power loss may leave any part of a further block: earlier blocks survive.
        let mut longer = folder.open().0;
        longer.keep(&vec![entry(4, 4)]).expect("room");
        drop(longer);
        let longer = std::fs::read(&path).expect("the log");
        for len in whole.len()..longer.len() {
            std::fs::write(&path, &longer[..len]).expect("room");
            let (mut log, found) = folder.open();
            assert_eq!(found.keys().copied().collect::<Vec<_>>(), [2, 3], "{len}");
            log.keep(&vec![entry(5, 5)]).expect("room");
            drop(log);
            assert_eq!(folder.open().1.len(), 3, "{len}");
        }
    }

    #[test]
    fn a_log_of_leases_that_are_others_by_now_is_written_anew() {
        let folder = Folder::new("anew");
        let (mut log, _) = folder.open();
        let mut rounds = 0_u8;
        while !log.is_stale() {
            rounds = rounds.wrapping_add(1);
            let all: Entries = (0..500).map(|id| entry(id, rounds)).collect();
            log.keep(&all).expect("room");
        }
        let all: BTreeMap<_, _> = (0..500).map(|id| (id, vec![9; 40])).collect();
        log.rewrite(&all).expect("room");
        assert!(!log.is_stale());
        log.keep(&vec![(3, None)]).expect("room");
        drop(log);

        let (log, found) = folder.open();
        assert_eq!((found.len(), found.get(&3)), (499, None));
        assert!(log.len < 60_000, "{}", log.len);
    }

    #[test]
    fn more_entries_than_a_block_holds_are_read_again() {
        let folder = Folder::new("many");
        let (mut log, _) = folder.open();
        let record = |id| (id, Some(vec![1; 1_000]));
        let all: Entries = (0..20_000).map(record).collect();
        log.keep(&all).expect("room");
        log.keep(&vec![entry(20_000, 2)]).expect("room");
        drop(log);
        assert_eq!(folder.open().1.len(), 20_001);
    }

    #[test]
    fn the_log_of_another_machine_is_put_aside() {
        let folder = Folder::new("aside");
        let (mut log, _) = folder.open();
        log.keep(&vec![entry(1, 1)]).expect("room");
        drop(log);
        let other = Key::new([8; 32], "another");
        let (_, found) = Leases::open(&folder.0, &other).expect("a log");

        assert!(found.is_empty());
        assert!(folder.0.join("leases.unreadable").exists());
    }
}
