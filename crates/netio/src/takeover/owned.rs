//! List of devices that a state folder ever had. They count as this router's while they are given back, so settings
//! that the host adds meanwhile are no reason to refuse them.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::saved::{made, sync_folder};
use crate::link::Link;

/// File in the folder: one line per device, with name and identity.
const FILE: &str = "owned";

fn file(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

fn line(link: &Link) -> String {
    format!("{} {}", link.name, made(link))
}

/// True if the router of this folder has had the device; false if the folder cannot be read.
pub(crate) fn was_owned(folder: &Path, link: &Link) -> bool {
    let text = fs::read_to_string(file(folder)).unwrap_or_default();
    text.lines().any(|known| known == line(link))
}

/// Records that the router of this folder has the device.
///
/// # Errors
/// Returns the system's error for the file.
pub(crate) fn note_owned(folder: &Path, link: &Link) -> io::Result<()> {
    if was_owned(folder, link) {
        return Ok(());
    }
    let path = file(folder);
    let mut file = File::options().create(true).append(true).open(&path)?;
    file.write_all(format!("{}\n", line(link)).as_bytes())?;
    file.sync_all()?;
    sync_folder(&path)
}

/// Removes the list of a folder whose router is removed.
pub fn forget_owned(folder: &Path) {
    // The file may be missing.
    let _ = fs::remove_file(file(folder));
}
