//! The last good state beside the database: a whole configuration in one encrypted piece, written at the start and
//! every so often, and what is left where the database is lost.

use std::io::{self, Write as _};
use std::path::Path;

use super::ledger::{private_file, put_in_place};
use super::vault::{Head, Key, Place, Vault};
use super::{Kept, code};

const MAGIC: &[u8] = b"ferroute state 1\n";

/// What was found in a file.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) head: Option<Head>,
    /// The number of the last write in it, and what it has; none where it is damaged.
    pub(super) state: Option<(u64, Kept)>,
}

fn place(serial: u64) -> Place<'static> {
    Place("snapshot", "", serial)
}

/// Writes a state in place of the last one, synced.
pub(super) fn write(path: &Path, key: &Key, serial: u64, kept: &Kept) -> io::Result<()> {
    let vault = Vault::new(key)?;
    let sealed = vault.seal(&place(serial), &code::kept(kept))?;
    let unfinished = path.with_extension("snapshot.new");
    let mut file = private_file(&unfinished)?;
    file.write_all(MAGIC)?;
    file.write_all(&vault.head.bytes())?;
    file.write_all(&serial.to_le_bytes())?;
    file.write_all(&sealed)?;
    file.sync_all()?;
    put_in_place(&unfinished, path)
}

/// What is in the snapshot at a path; none if there is none.
pub(super) fn read(path: &Path, key: &Key) -> io::Result<Option<Reading>> {
    let bytes = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let rest = bytes.strip_prefix(MAGIC);
    let rest = rest.and_then(|rest| rest.split_first_chunk::<{ Head::LEN }>());
    let head = rest.and_then(|(head, _)| Head::read(head));
    let state = || {
        let (serial, sealed) = rest?.1.split_first_chunk()?;
        let serial = u64::from_le_bytes(*serial);
        let value = Vault::of(key, head?).open(&place(serial), sealed)?;
        Some((serial, code::read_kept(&value)?))
    };
    let state = state();
    Ok(Some(Reading { head, state }))
}
