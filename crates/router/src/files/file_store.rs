//! Storage of files: a folder on disk, or memory.
//!
//! Names are full paths from the root of the router's files. The kernel resolves names in a folder beneath it: neither
//! `..` nor a link leads out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write as _};
use std::os::fd::OwnedFd;

use menu::Reason;
use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::{COUNT, DEPTH, Entry, FILE_BYTES};
use crate::clock::DayClock;

/// A store of files.
#[derive(Debug)]
pub(super) enum FileStore {
    /// Files by their names, and the clock that dates their changes.
    Memory(BTreeMap<String, Stored>, DayClock),
    Folder(OwnedFd),
}

/// A file or folder in memory.
#[derive(Debug)]
pub(super) struct Stored {
    /// `None` for a folder.
    contents: Option<Vec<u8>>,
    modified: i64,
}

impl FileStore {
    /// Returns all files by name; at most [`COUNT`].
    pub(super) fn list(&self) -> Vec<Entry> {
        match self {
            Self::Memory(files, _) => files.iter().map(|(name, file)| entry(name, file)).collect(),
            Self::Folder(root) => {
                let mut found = Vec::new();
                // Unreadable files are not listed.
                let _ = walk(root, "", 0, &mut found);
                found.sort_by(|a, b| a.name.cmp(&b.name));
                found
            }
        }
    }

    /// Returns the metadata of a file.
    pub(super) fn entry(&self, name: &str) -> Option<Entry> {
        match self {
            Self::Memory(files, _) => files.get(name).map(|file| entry(name, file)),
            Self::Folder(root) => {
                let (folder, leaf) = parent(root, name).ok()?;
                let stat = fs::statat(&folder, leaf, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                entry_of(name.to_owned(), &stat)
            }
        }
    }

    pub(super) fn make_folder(&mut self, name: String) -> Result<(), Reason> {
        match self {
            Self::Memory(files, clock) => {
                if files.contains_key(&name) {
                    return Err(taken());
                }
                is_in_folder(files, &name)?;
                let folder = Stored {
                    contents: None,
                    modified: clock.unix_seconds(),
                };
                files.insert(name, folder);
                Ok(())
            }
            Self::Folder(root) => {
                let (folder, leaf) = parent(root, &name)?;
                fs::mkdirat(&folder, leaf, Mode::RWXU).map_err(failed)?;
                fs::fsync(&folder).map_err(failed)
            }
        }
    }

    /// Appends to a file, creating the file if needed. Does not sync.
    pub(super) fn append(&mut self, name: String, contents: &[u8]) -> Result<(), Reason> {
        match self {
            Self::Memory(files, clock) => {
                let file = files.entry(name).or_insert(Stored {
                    contents: Some(Vec::new()),
                    modified: 0,
                });
                file.modified = clock.unix_seconds();
                file.contents.get_or_insert_default().extend(contents);
                Ok(())
            }
            Self::Folder(root) => {
                let (folder, leaf) = parent(root, &name)?;
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
                let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let opened = fs::openat(&folder, leaf, flags, Mode::RUSR | Mode::WUSR);
                let mut file = File::from(opened.map_err(failed)?);
                file.write_all(contents).map_err(told)
            }
        }
    }

    /// Removes a file, or an empty folder.
    pub(super) fn remove(&mut self, entry: &Entry) -> Result<(), Reason> {
        match self {
            Self::Memory(files, _) => {
                files.remove(&entry.name);
                Ok(())
            }
            Self::Folder(root) => {
                let (folder, leaf) = parent(root, &entry.name)?;
                let flags = match entry.folder {
                    true => AtFlags::REMOVEDIR,
                    false => AtFlags::empty(),
                };
                fs::unlinkat(&folder, leaf, flags).map_err(failed)?;
                fs::fsync(&folder).map_err(failed)
            }
        }
    }

    /// Renames a file, or a folder with all of its files.
    pub(super) fn rename(&mut self, from: &str, to: String) -> Result<(), Reason> {
        match self {
            Self::Memory(files, _) => {
                is_in_folder(files, &to)?;
                let inside = format!("{from}/");
                let all = files.keys();
                let moved = all.filter(|name| *name == from || name.starts_with(&inside));
                let moved: Vec<_> = moved.cloned().collect();
                for name in moved {
                    if let Some(file) = files.remove(&name) {
                        files.insert(format!("{to}{}", &name[from.len()..]), file);
                    }
                }
                Ok(())
            }
            Self::Folder(root) => {
                let (old, leaf) = parent(root, from)?;
                let (new, renamed) = parent(root, &to)?;
                fs::renameat(&old, leaf, &new, renamed).map_err(failed)?;
                fs::fsync(&new).map_err(failed)
            }
        }
    }

    pub(super) fn contents(&self, name: &str) -> Result<Vec<u8>, Reason> {
        match self {
            Self::Memory(files, _) => {
                let contents = files.get(name).and_then(|file| file.contents.clone());
                contents.ok_or_else(missing)
            }
            Self::Folder(root) => {
                let flags = OFlags::RDONLY | OFlags::NONBLOCK;
                let mut file = File::from(beneath(root, name, flags)?);
                let there = file.metadata().map_err(told)?;
                if !there.is_file() {
                    return Err(missing());
                }
                let mut contents = Vec::new();
                let limit = FILE_BYTES as u64 + 1;
                Read::by_ref(&mut file)
                    .take(limit)
                    .read_to_end(&mut contents)
                    .map_err(told)?;
                match contents.len() > FILE_BYTES {
                    true => Err(Reason::failure("file is too large")),
                    false => Ok(contents),
                }
            }
        }
    }

    /// Creates a file, or replaces it atomically.
    pub(super) fn put(&mut self, name: String, contents: &[u8]) -> Result<(), Reason> {
        match self {
            Self::Memory(files, clock) => {
                is_in_folder(files, &name)?;
                let file = Stored {
                    contents: Some(contents.to_vec()),
                    modified: clock.unix_seconds(),
                };
                files.insert(name, file);
                Ok(())
            }
            Self::Folder(root) => {
                let (folder, leaf) = parent(root, &name)?;
                replace(&folder, leaf, contents)
            }
        }
    }
}

/// Checks that the folder of a name exists.
fn is_in_folder(files: &BTreeMap<String, Stored>, name: &str) -> Result<(), Reason> {
    match name.rsplit_once('/') {
        Some((folder, _)) if files.get(folder).is_none_or(|file| file.contents.is_some()) => {
            Err(missing())
        }
        _ => Ok(()),
    }
}

/// Writes and syncs a temporary file, then renames it to the final name.
pub(super) fn replace(folder: &OwnedFd, leaf: &str, contents: &[u8]) -> Result<(), Reason> {
    const UNFINISHED: &str = ".unfinished";
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match fs::unlinkat(folder, UNFINISHED, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(failed(error)),
    }
    let opened = fs::openat(folder, UNFINISHED, flags, Mode::RUSR | Mode::WUSR);
    let mut file = File::from(opened.map_err(failed)?);
    let written = file.write_all(contents).and_then(|()| file.sync_all());
    if let Err(error) = written {
        let _ = fs::unlinkat(folder, UNFINISHED, AtFlags::empty());
        return Err(told(error));
    }
    fs::renameat(folder, UNFINISHED, folder, leaf).map_err(failed)?;
    fs::fsync(folder).map_err(failed)
}

/// Opens the folder of a file; returns the folder and the last part of the name.
fn parent<'n>(root: &OwnedFd, name: &'n str) -> Result<(OwnedFd, &'n str), Reason> {
    let (folder, leaf) = name.rsplit_once('/').unwrap_or((".", name));
    Ok((beneath(root, folder, OFlags::DIRECTORY)?, leaf))
}

pub(super) fn beneath(root: &OwnedFd, name: &str, flags: OFlags) -> Result<OwnedFd, Reason> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    fs::openat2(root, name, flags | OFlags::CLOEXEC, Mode::empty(), resolve).map_err(failed)
}

fn walk(folder: &OwnedFd, path: &str, depth: usize, found: &mut Vec<Entry>) -> Result<(), Errno> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let Ok(leaf) = entry.file_name().to_str() else {
            continue;
        };
        if leaf.starts_with('.') || found.len() >= COUNT {
            continue;
        }
        let name = format!("{path}{leaf}");
        let stat = fs::statat(folder, leaf, AtFlags::SYMLINK_NOFOLLOW)?;
        let Some(entry) = entry_of(name, &stat) else {
            continue;
        };
        if entry.folder && depth + 1 < DEPTH {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let inner = fs::openat(folder, leaf, flags, Mode::empty())?;
            let inside = format!("{}/", entry.name);
            found.push(entry);
            walk(&inner, &inside, depth + 1, found)?;
        } else {
            found.push(entry);
        }
    }
    Ok(())
}

/// Returns the metadata; `None` unless it is a file or a folder.
fn entry_of(name: String, stat: &fs::Stat) -> Option<Entry> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    matches!(kind, FileType::RegularFile | FileType::Directory).then(|| Entry {
        folder: kind == FileType::Directory,
        name,
        bytes: u64::try_from(stat.st_size).unwrap_or(0),
        modified: stat.st_mtime,
    })
}

fn entry(name: &str, file: &Stored) -> Entry {
    Entry {
        name: name.to_owned(),
        folder: file.contents.is_none(),
        bytes: file.contents.as_ref().map_or(0, Vec::len) as u64,
        modified: file.modified,
    }
}

pub(super) fn missing() -> Reason {
    Reason::failure("no such file")
}

pub(super) fn taken() -> Reason {
    Reason::failure("file already exists")
}

pub(super) fn failed(error: Errno) -> Reason {
    match error {
        Errno::NOENT | Errno::XDEV | Errno::LOOP | Errno::NOTDIR => missing(),
        Errno::EXIST => taken(),
        Errno::NOTEMPTY => Reason::failure("directory is not empty"),
        error => told(error.into()),
    }
}

pub(super) fn told(error: std::io::Error) -> Reason {
    Reason::failure(error.to_string())
}
