//! Room on the disk that is taken in advance, so that a change that frees room can be written where the disk is full.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::files::{allocate, remove, with_suffix};

/// Bytes of the reserve, and what it has at least where the disk has no more.
const FULL: u64 = 1 << 20;
const LEAST: u64 = 1 << 16;

/// A file whose only purpose is to be removed.
#[derive(Debug)]
pub(super) struct Reserve(PathBuf);

impl Reserve {
    /// The reserve beside the database at this path.
    pub(super) fn beside(database: &Path) -> Self {
        Self(with_suffix(&database.with_extension(""), ".reserve"))
    }

    /// Takes as much of the room as there is; what is lacking is tried again later. Returns whether it has all.
    pub(super) fn take(&self) -> bool {
        let taken = || -> io::Result<bool> {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let file = options.mode(0o600).open(&self.0)?;
            let has = file.metadata()?.len();
            let mut size = FULL;
            while size > has && size >= LEAST {
                match allocate(&file, has, size) {
                    Ok(()) => return Ok(size == FULL),
                    // What a refused request has taken all the same goes back.
                    Err(_) => file.set_len(has)?,
                }
                size /= 2;
            }
            Ok(has >= FULL)
        };
        taken().unwrap_or(false)
    }

    /// Gives the room back to the disk. Returns whether there was any.
    pub(super) fn release(&self) -> bool {
        let has = std::fs::metadata(&self.0).map_or(0, |file| file.len());
        has > 0 && remove(&self.0).is_ok()
    }
}
