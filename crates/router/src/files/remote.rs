//! Files as users move them from afar, by SFTP, SCP and REST: with their policies and the labels of files.

use menu::{Files as _, Policies, Reason};

use super::{Entry, Files};

/// What a listing says of a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteEntry {
    /// Its name behind those of its folders; empty for the outermost folder.
    pub name: String,
    /// Whether it is a folder.
    pub folder: bool,
    /// Its length.
    pub bytes: u64,
    /// When it was changed, in seconds since 1970.
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

/// The files of a router for one user. RouterOS: to move files takes policy `ftp`, with `read` and `write` for what is
/// done to them, and `sensitive` for those that may hold secrets.
#[derive(Debug)]
pub struct RemoteFiles<'a> {
    files: &'a mut Files,
    policies: Policies,
}

impl<'a> RemoteFiles<'a> {
    /// Files for the user who acts on them now.
    ///
    /// # Errors
    /// The user may not move files.
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

    /// What there is to say of a file or folder; an empty name is the outermost folder.
    ///
    /// # Errors
    /// There is none of this name, or the user may not read.
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

    /// What lies in a folder itself, by name.
    ///
    /// # Errors
    /// There is no such folder, or the user may not read.
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

    /// What is in a file.
    ///
    /// # Errors
    /// There is none of this name, or the user may not read it.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, Reason> {
        self.demand(Policies::READ)?;
        self.files.read(name)
    }

    /// Makes a file or replaces one, wholly or not at all.
    ///
    /// # Errors
    /// The name is none, there is no room, or the user may not write it.
    pub fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason> {
        self.demand(Policies::WRITE)?;
        self.files.write(name, contents)
    }

    /// Removes a file, or a folder that is empty.
    ///
    /// # Errors
    /// There is none, the folder is not empty, or the user may not change it.
    pub fn remove(&mut self, name: &str) -> Result<(), Reason> {
        self.demand(Policies::WRITE)?;
        self.files.may_change(name)?;
        self.files.remove(name)
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// The name is none or taken, or the user may not write.
    pub fn make_folder(&mut self, name: &str) -> Result<(), Reason> {
        self.demand(Policies::WRITE)?;
        self.files.make_folder(name)
    }

    /// Gives a file another name.
    ///
    /// # Errors
    /// There is none, the name is none or taken, or the user may not change it.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), Reason> {
        self.demand(Policies::WRITE)?;
        self.files.may_change(from)?;
        self.files.rename(from, to)
    }
}
