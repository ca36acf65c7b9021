//! Folder with one file per taken device.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::saved::{self, Saved};
use super::{held, restore, warn_of_lost};
use crate::link::{Link, Links};
use crate::netlink::Netlink;

/// Gives back devices that were renamed after a crash left them taken. Otherwise a takeover by the new name would not
/// find the file, and a takeover of another device by the old name would overwrite it.
pub(crate) fn give_back_renamed(folder: &Path) {
    for file in files(folder) {
        let given_back = match is_left_renamed(&file) {
            Ok(true) => restore(&file),
            other => other.map(|_| None),
        };
        match given_back {
            Ok(None) => {}
            Ok(Some(device)) => {
                tracing::info!(
                    "{device}: restored the settings saved under its former name before a crash"
                );
            }
            Err(error) => tracing::warn!("{}: {error}", file.display()),
        }
    }
}

/// True if the file's device has another name now and no process has it.
fn is_left_renamed(file: &Path) -> io::Result<bool> {
    let Some((saved, link)) = about(file)? else {
        return Ok(false);
    };
    Ok(saved.device != link.name && held(&link, None)?.is_none())
}

/// Tries again to restore routes that depend on another device than their own. They wait at most until the last
/// device of the folder is given back.
pub(super) fn put_back_waiting(folder: &Path) -> io::Result<()> {
    let mut waiting = Vec::new();
    let mut is_last = true;
    for file in files(folder) {
        match about(&file)? {
            Some((saved, link)) if saved.given_back => waiting.push((file, saved, link)),
            Some(_) => is_last = false,
            None => {}
        }
    }
    let mut netlink = Netlink::open()?;
    for (file, mut saved, link) in waiting {
        let refused = saved.put_back_routes(&mut netlink);
        if saved.routes.is_empty() || is_last {
            warn_of_lost(&link, "route", &saved.routes, &refused);
            saved::remove(&file)?;
        } else {
            saved.store(&file)?;
        }
    }
    Ok(())
}

/// Contents of a file, and its device if it still exists.
fn about(file: &Path) -> io::Result<Option<(Saved, Link)>> {
    let Some(saved) = Saved::load(file)? else {
        return Ok(None);
    };
    let link = Links::open()?.find_index(saved.index)?;
    Ok(link
        .filter(|link| saved.is_of(link))
        .map(|link| (saved, link)))
}

/// Files of a folder, sorted by name; none if the folder cannot be read.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "taken"))
        .collect();
    files.sort();
    files
}
