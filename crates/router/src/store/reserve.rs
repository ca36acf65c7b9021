//! Disk space allocated in advance, so that a change that frees room can be written to a full disk.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::files::{allocate, remove, with_suffix};

/// Size of the reserve in bytes, and its minimum on a full disk.
const FULL: u64 = 1 << 20;
const LEAST: u64 = 1 << 16;

/// File that reserves disk space; removing it frees the space for a change on a full disk.
#[derive(Debug)]
pub(super) struct Reserve(PathBuf);

impl Reserve {
    /// Returns the reserve beside the database at this path.
    pub(super) fn beside(database: &Path) -> Self {
        Self(with_suffix(&database.with_extension(""), ".reserve"))
    }

    /// Allocates as much of the reserve as possible; the rest is tried again later. Returns whether it is complete.
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
                    // Release the space that a failed request allocated.
                    Err(_) => file.set_len(has)?,
                }
                size /= 2;
            }
            Ok(has >= FULL)
        };
        taken().unwrap_or(false)
    }

    /// Returns the space to the disk. Returns whether there was any.
    pub(super) fn release(&self) -> bool {
        let has = std::fs::metadata(&self.0).map_or(0, |file| file.len());
        has > 0 && remove(&self.0).is_ok()
    }
}
