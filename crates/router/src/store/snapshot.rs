//! Snapshots beside the database: the whole state in one encrypted file, written some seconds after the last change and
//! when the router stops. The previous snapshot is kept under another name.

use std::io;
use std::path::{Path, PathBuf};

use super::files::{replace, with_suffix};
use super::vault::{Head, Key, SealContext, Vault};
use super::{StoredState, code};

const MAGIC: &[u8] = b"ferroute state 1\n";

/// Result of reading a file.
#[derive(Debug)]
pub(super) struct Reading {
    /// The head, even of a file under a different key.
    pub(super) head: Option<Head>,
    /// Number of its last write, and bytes of the state; `None` if the file is damaged.
    state: Option<(u64, Vec<u8>)>,
}

impl Reading {
    /// Returns the number of its last write; `None` if the file is damaged.
    pub(super) fn serial(&self) -> Option<u64> {
        self.state.as_ref().map(|(serial, _)| *serial)
    }

    /// Returns the state; `None` if the file is damaged.
    pub(super) fn kept(&self) -> Option<(u64, StoredState)> {
        let (serial, bytes) = self.state.as_ref()?;
        Some((*serial, code::read_kept(bytes)?))
    }
}

/// Returns the path of the previous snapshot.
pub(super) fn before(path: &Path) -> PathBuf {
    with_suffix(path, ".before")
}

fn place(serial: u64) -> SealContext<'static> {
    SealContext("snapshot", "", serial)
}

/// Writes and syncs a snapshot; an intact previous one is kept as [`before`].
pub(super) fn write(
    path: &Path,
    key: &Key,
    serial: u64,
    kept: &StoredState,
    is_last_whole: bool,
) -> io::Result<()> {
    let vault = Vault::new(key)?;
    let sealed = vault.seal(&place(serial), &code::kept(kept))?;
    let before = is_last_whole.then(|| before(path));
    let parts: [&[u8]; 4] = [MAGIC, &vault.head.bytes(), &serial.to_le_bytes(), &sealed];
    replace(path, before.as_deref(), &parts)
}

/// Reads the snapshot at a path; `None` if it does not exist.
pub(super) fn read(path: &Path, key: &Key) -> io::Result<Option<Reading>> {
    let bytes = match super::files::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let rest = bytes.strip_prefix(MAGIC);
    let rest = rest.and_then(|rest| rest.split_first_chunk::<{ Head::LEN }>());
    let head = rest.and_then(|(head, _)| Head::read(head));
    let state = || {
        let (serial, sealed) = rest?.1.split_first_chunk()?;
        let serial = u64::from_le_bytes(*serial);
        let bytes = Vault::of(key, head?).open(&place(serial), sealed)?;
        Some((serial, bytes))
    };
    let state = state();
    Ok(Some(Reading { head, state }))
}
