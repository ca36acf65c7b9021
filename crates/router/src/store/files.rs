//! Files of the state folder: private to their owner, renamed when complete, allocated in advance.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Makes a new file that only its owner can read, in place of any file of this name.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    remove(path)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    options.open(path)
}

/// Removes a file; a missing file is no error.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Renames a finished file to its final name and syncs the folder.
pub(super) fn put_in_place(unfinished: &Path, path: &Path) -> io::Result<()> {
    std::fs::rename(unfinished, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Writes and syncs a private file, then renames it to `path`. The replaced file gets the name `before`, if one is
/// given. An unfinished file is removed, so that it takes no room on a full disk.
pub(super) fn replace(path: &Path, before: Option<&Path>, parts: &[&[u8]]) -> io::Result<()> {
    let unfinished = with_suffix(path, ".new");
    let written = || -> io::Result<()> {
        let mut file = private_file(&unfinished)?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.sync_all()
    };
    if let Err(error) = written() {
        let _ = remove(&unfinished);
        return Err(error);
    }
    if let Some(before) = before {
        set_aside(path, before)?;
    }
    put_in_place(&unfinished, path)
}

/// Renames a file; a missing file is no error.
pub(super) fn set_aside(path: &Path, before: &Path) -> io::Result<()> {
    match std::fs::rename(path, before) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the path with a suffix appended to the file name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Allocates disk space for the bytes `from..to` of a file; unwritten bytes read as zeros.
pub(super) fn allocate(file: &File, from: u64, to: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), from, to.saturating_sub(from)) {
        // Some file systems cannot allocate: writing zeros takes the room as well.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => fill(file, from, to),
        done => Ok(done?),
    }
}

fn fill(file: &File, from: u64, to: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    let mut at = from;
    while at < to {
        let len = (to - at).min(ZEROS.len() as u64);
        file.write_all_at(&ZEROS[..len as usize], at)?;
        at += len;
    }
    Ok(())
}

/// Block size for reading a file that the disk cannot read as a whole.
const PIECE: usize = 4 << 10;

/// Reads a file; unreadable blocks read as zeros.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt as _;
    let is_bad = |error: &io::Error| error.raw_os_error() == Some(Errno::IO.raw_os_error());
    match std::fs::read(path) {
        Err(error) if is_bad(&error) => {}
        bytes => return bytes,
    }
    let file = File::open(path)?;
    let mut bytes = vec![0; file.metadata()?.len() as usize];
    for (piece, number) in bytes.chunks_mut(PIECE).zip(0u64..) {
        if file.read_exact_at(piece, number * PIECE as u64).is_err() {
            piece.fill(0);
        }
    }
    Ok(bytes)
}
