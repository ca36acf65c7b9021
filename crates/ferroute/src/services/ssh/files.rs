//! Files of the router for SFTP and SCP, and the memory limit of transfers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use menu::Reason;
use router::{RemoteEntry, RemoteFiles};
use script::Session;

use crate::run::shared::Shared;

/// Maximum file length, equal to the router's limit.
pub(super) const MAX_FILE_BYTES: usize = 64 << 20;
/// Maximum memory of all transfers together.
const MAX_TOTAL_BYTES: usize = 256 << 20;
static HELD_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Files by name; an empty name is the root folder.
pub(super) trait FileStore {
    fn entry(&mut self, name: &str) -> Result<RemoteEntry, Reason>;
    fn list(&mut self, folder: &str) -> Result<Vec<RemoteEntry>, Reason>;
    fn read(&mut self, name: &str) -> Result<Vec<u8>, Reason>;
    fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason>;
    fn remove(&mut self, name: &str) -> Result<(), Reason>;
    fn make_folder(&mut self, name: &str) -> Result<(), Reason>;
    fn rename(&mut self, from: &str, to: &str) -> Result<(), Reason>;
}

/// Files of the router with the rights of a session's user.
pub(super) struct RouterFiles {
    pub(super) shared: Arc<Shared>,
    pub(super) session: Session,
}

impl RouterFiles {
    fn with<T>(
        &mut self,
        act: impl FnOnce(&mut RemoteFiles<'_>) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        let mut instance = self.shared.lock();
        let mut files = instance.remote_files(&self.session.caller())?;
        act(&mut files)
    }
}

impl FileStore for RouterFiles {
    fn entry(&mut self, name: &str) -> Result<RemoteEntry, Reason> {
        self.with(|files| files.entry(name))
    }

    fn list(&mut self, folder: &str) -> Result<Vec<RemoteEntry>, Reason> {
        self.with(|files| files.list(folder))
    }

    fn read(&mut self, name: &str) -> Result<Vec<u8>, Reason> {
        self.with(|files| files.read(name))
    }

    fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason> {
        self.with(|files| files.write(name, contents))
    }

    fn remove(&mut self, name: &str) -> Result<(), Reason> {
        self.with(|files| files.remove(name))
    }

    fn make_folder(&mut self, name: &str) -> Result<(), Reason> {
        self.with(|files| files.make_folder(name))
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Reason> {
        self.with(|files| files.rename(from, to))
    }
}

/// File contents in transfer; the total size is bounded.
#[derive(Debug, Default)]
pub(super) struct Contents {
    bytes: Vec<u8>,
    held: usize,
}

impl Contents {
    /// Wraps contents that were read.
    ///
    /// # Errors
    /// Transfers hold too much memory.
    pub(super) fn of(bytes: Vec<u8>) -> Result<Self, Reason> {
        let mut contents = Self::default();
        contents.hold(bytes.len())?;
        contents.bytes = bytes;
        Ok(contents)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes a piece at an offset; fills a gap with zeros.
    ///
    /// # Errors
    /// The file would be too long, or transfers hold too much memory.
    pub(super) fn put(&mut self, offset: u64, piece: &[u8]) -> Result<(), Reason> {
        let too_long = || Reason::failure("file is too large");
        let offset = usize::try_from(offset).map_err(|_| too_long())?;
        let end = offset.checked_add(piece.len()).ok_or_else(too_long)?;
        if end > MAX_FILE_BYTES {
            return Err(too_long());
        }
        self.hold(end)?;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[offset..end].copy_from_slice(piece);
        Ok(())
    }

    fn hold(&mut self, bytes: usize) -> Result<(), Reason> {
        let more = bytes.saturating_sub(self.held);
        let before = HELD_BYTES.fetch_add(more, Ordering::Relaxed);
        self.held += more;
        match before + more > MAX_TOTAL_BYTES {
            true => Err(Reason::failure("too many files are transferred at once")),
            false => Ok(()),
        }
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        HELD_BYTES.fetch_sub(self.held, Ordering::Relaxed);
    }
}

/// Normalises a path: drops `.`, `..` and empty components; empty for the root folder.
pub(super) fn name_of(path: &str) -> String {
    let mut words = Vec::new();
    for word in path.split('/') {
        match word {
            "" | "." => {}
            ".." => drop(words.pop()),
            word => words.push(word),
        }
    }
    words.join("/")
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Files in memory; folders have no contents.
    #[derive(Debug, Default)]
    pub(crate) struct Memory(pub(crate) BTreeMap<String, Option<Vec<u8>>>);

    impl FileStore for Memory {
        fn entry(&mut self, name: &str) -> Result<RemoteEntry, Reason> {
            let contents = match name {
                "" => &None,
                name => self.0.get(name).ok_or(Reason::NoItem)?,
            };
            Ok(RemoteEntry {
                name: name.to_owned(),
                folder: contents.is_none(),
                bytes: contents.as_ref().map_or(0, Vec::len) as u64,
                modified: 7,
            })
        }

        fn list(&mut self, folder: &str) -> Result<Vec<RemoteEntry>, Reason> {
            let names: Vec<_> = self.0.keys().cloned().collect();
            let lies_in =
                |name: &String| name.rsplit_once('/').map_or("", |(parent, _)| parent) == folder;
            let names = names.into_iter().filter(lies_in);
            names.map(|name| self.entry(&name)).collect()
        }

        fn read(&mut self, name: &str) -> Result<Vec<u8>, Reason> {
            self.0.get(name).cloned().flatten().ok_or(Reason::NoItem)
        }

        fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason> {
            if name.starts_with("locked") {
                return Err(Reason::Denied);
            }
            self.0.insert(name.to_owned(), Some(contents.to_vec()));
            Ok(())
        }

        fn remove(&mut self, name: &str) -> Result<(), Reason> {
            self.0.remove(name).map(drop).ok_or(Reason::NoItem)
        }

        fn make_folder(&mut self, name: &str) -> Result<(), Reason> {
            self.0.insert(name.to_owned(), None);
            Ok(())
        }

        fn rename(&mut self, from: &str, to: &str) -> Result<(), Reason> {
            let contents = self.0.remove(from).ok_or(Reason::NoItem)?;
            self.0.insert(to.to_owned(), contents);
            Ok(())
        }
    }

    #[test]
    fn paths_stay_within_the_outermost_folder() {
        for (path, name) in [
            ("/", ""),
            (".", ""),
            ("/flash/./a.rsc", "flash/a.rsc"),
            ("../../etc/passwd", "etc/passwd"),
            ("a//b/../c", "a/c"),
        ] {
            assert_eq!(name_of(path), name, "{path}");
        }
    }

    #[test]
    fn contents_are_bounded_and_given_back() {
        let mut contents = Contents::default();
        assert!(contents.put(2, b"ab").is_ok());
        assert_eq!(contents.bytes(), b"\0\0ab");
        assert!(contents.put(MAX_FILE_BYTES as u64, b"x").is_err());
        assert!(contents.put(u64::MAX, b"x").is_err());
    }
}
