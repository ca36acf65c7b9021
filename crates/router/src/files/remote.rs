//! Access to files by SFTP, SCP and REST: applies the policies of the user and the labels of files.

use menu::{Files as _, Policies, Reason};

use super::{Entry, Files};

/// A file or folder in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteEntry {
    /// Path, including folders; empty for the root folder.
    pub name: String,
    /// Whether it is a folder.
    pub folder: bool,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the last change, in seconds since 1970.
    pub modified: i64,
}

impl From<Entry> for RemoteEntry {
    fn from(entry: Entry) -> Self {
        Self {
            name: entry.name,
            folder: entry.folder,
            bytes: entry.bytes,
            modified: entry.modified,
        }
    }
}

/// Files of a router for one remote user. RouterOS: access needs policy `ftp`, besides `read` or `write` for the
/// operation, and `sensitive` for files that may contain secrets.
#[derive(Debug)]
pub struct RemoteFiles<'a> {
    files: &'a mut Files,
    policies: Policies,
}

impl<'a> RemoteFiles<'a> {
    /// Files for the user who was set last.
    ///
    /// # Errors
    /// The user lacks policy `ftp`.
    pub(crate) fn new(files: &'a mut Files, policies: Policies) -> Result<Self, Reason> {
        match policies.contains(Policies::FTP) {
            true => Ok(Self { files, policies }),
            false => Err(Reason::Denied),
        }
    }

    fn demand(&self, policies: Policies) -> Result<(), Reason> {
        match self.policies.contains(policies) {
            true => Ok(()),
            false => Err(Reason::Denied),
        }
    }

    /// Returns the metadata of a file or folder; an empty name is the root folder.
    ///
    /// # Errors
    /// Nothing has this name, or the user may not read it.
    pub fn entry(&self, name: &str) -> Result<RemoteEntry, Reason> {
        self.demand(Policies::READ)?;
        if name.is_empty() {
            return Ok(RemoteEntry {
                name: String::new(),
                folder: true,
                bytes: 0,
                modified: 0,
            });
        }
        let entry = self.files.entry(name).ok_or(Reason::NoItem)?;
        Ok(entry.into())
    }

    /// Returns the direct entries of a folder, by name.
    ///
    /// # Errors
    /// The folder does not exist, or the user may not read it.
    pub fn list(&self, folder: &str) -> Result<Vec<RemoteEntry>, Reason> {
        match self.entry(folder)?.folder {
            true => {}
            false => return Err(Reason::failure("not a directory")),
        }
        let lies_in = |entry: &Entry| {
            let parent = entry.name.rsplit_once('/').map_or("", |(parent, _)| parent);
            parent == folder
        };
        let inside = self.files.list().into_iter().filter(lies_in);
        Ok(inside.map(RemoteEntry::from).collect())
    }

    /// Returns the contents of a file.
    ///
    /// # Errors
    /// No file has this name, or the user may not read it.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, Reason> {
        self.demand(Policies::READ)?;
        self.files.read(name)
    }

    /// Creates a file, or replaces it atomically.
    ///
    /// # Errors
    /// The name is invalid, there is no room, or the user may not write it.
    pub fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason> {
        self.demand(Policies::WRITE)?;
        self.files.write(name, contents)
    }

    /// Removes a file or an empty folder.
    ///
    /// # Errors
    /// Nothing has this name, the folder is not empty, or the user may not change it.
    pub fn remove(&mut self, name: &str) -> Result<(), Reason> {
        self.demand(Policies::WRITE)?;
        self.files.may_change(name)?;
        self.files.remove(name)
    }

    /// Creates a folder.
    ///
    /// # Errors
    /// The name is invalid or taken, or the user may not write.
    pub fn make_folder(&mut self, name: &str) -> Result<(), Reason> {
        self.demand(Policies::WRITE)?;
        self.files.make_folder(name)
    }

    /// Renames a file.
    ///
    /// # Errors
    /// The file does not exist, the new name is invalid or taken, or the user may not change it.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), Reason> {
        self.demand(Policies::WRITE)?;
        self.files.may_change(from)?;
        self.files.rename(from, to)
    }
}
