//! Snapshots beside the database: the whole state in one sealed piece, written some seconds after the last change and
//! when the router stops. The snapshot before the last one is kept under a name of its own.

use std::io;
use std::path::{Path, PathBuf};

use super::files::{replace, with_suffix};
use super::vault::{Head, Key, Place, Vault};
use super::{Kept, code};

const MAGIC: &[u8] = b"ferroute state 1\n";

/// What was found in a file.
#[derive(Debug)]
pub(super) struct Reading {
    /// The head, even if it is one of another key.
    pub(super) head: Option<Head>,
    /// The number of the last write in it, and the bytes of the state; `None` if it is damaged.
    state: Option<(u64, Vec<u8>)>,
}

impl Reading {
    /// The number of the last write in it; `None` if it is damaged.
    pub(super) fn serial(&self) -> Option<u64> {
        self.state.as_ref().map(|(serial, _)| *serial)
    }

    /// The state; `None` if it is damaged.
    pub(super) fn kept(&self) -> Option<(u64, Kept)> {
        let (serial, bytes) = self.state.as_ref()?;
        Some((*serial, code::read_kept(bytes)?))
    }
}

/// The path of the snapshot that the last one took the place of.
pub(super) fn before(path: &Path) -> PathBuf {
    with_suffix(path, ".before")
}

fn place(serial: u64) -> Place<'static> {
    Place("snapshot", "", serial)
}

/// Writes a snapshot, synced; the last one is kept as [`before`] unless it is damaged.
pub(super) fn write(
    path: &Path,
    key: &Key,
    (serial, kept): (u64, &Kept),
    is_last_whole: bool,
) -> io::Result<()> {
    let vault = Vault::new(key)?;
    let sealed = vault.seal(&place(serial), &code::kept(kept))?;
    let before = is_last_whole.then(|| before(path));
    let parts: [&[u8]; 4] = [MAGIC, &vault.head.bytes(), &serial.to_le_bytes(), &sealed];
    replace(path, before.as_deref(), &parts)
}

/// What is in the snapshot at a path; `None` if there is no file.
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
