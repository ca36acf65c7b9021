//! Which devices a state folder has had: they are this router's also while they are given back, so what the machine
//! put on them meanwhile is no reason to refuse them.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::saved::{made, sync_folder};
use crate::link::Link;

/// The file in the folder: a line for each device, its name and what it was made of.
const FILE: &str = "owned";

fn file(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

fn line(link: &Link) -> String {
    format!("{} {}", link.name, made(link))
}

/// Whether the router of this folder has had the device. A folder that cannot be read has had none.
pub(crate) fn was_owned(folder: &Path, link: &Link) -> bool {
    let text = fs::read_to_string(file(folder)).unwrap_or_default();
    text.lines().any(|known| known == line(link))
}

/// Notes that the router of this folder has the device.
///
/// # Errors
/// What the system says about the file.
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

/// Forgets which devices a folder has had: it goes with its router.
pub fn forget_owned(folder: &Path) {
    // There may be no such file.
    let _ = fs::remove_file(file(folder));
}
