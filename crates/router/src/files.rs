//! The router's own files: rows of `/file`, and storage of exports, imports and backups.
//!
//! Files lie in the state folder, or in memory for a router without one. A name is words with `/` between them; nothing
//! leads out of the folder, neither `..` nor a link, because the kernel resolves names beneath it. Replacing a file is
//! atomic. Size and number are bounded. A file that a user writes belongs to that user: other users may not change it,
//! and its size counts against the user's share.
//!
//! A memory disk (`/disk add type=tmpfs`) is a folder at the root whose files are in memory ([`Files::mount`]).

mod disk;
mod file_store;
mod label;
mod remote;

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use menu::{Caller, Reason, bytes};
use rustix::fs::{self, Mode, OFlags};

use self::disk::Disk;
use self::file_store::{FileStore, beneath, replace, taken};
pub(crate) use self::label::SYSTEM;
use self::label::{Actor, Label, Labels};
pub use self::remote::{RemoteEntry, RemoteFiles};
use crate::clock::DayClock;
use crate::private::close_to_others;

/// Limits: size of a file, size of all files, and number of files.
const FILE_BYTES: usize = 64 << 20;
const ALL_BYTES: u64 = 512 << 20;
const COUNT: usize = 2_000;
/// File that holds the labels of all files; no user file can have this name.
const LABELS: &str = ".labels";
/// Maximum number of words in a name.
const DEPTH: usize = 8;
/// RouterOS: rows show the contents of files up to this size.
const SHOWN: u64 = 60 << 10;

/// The files of a router.
#[derive(Debug)]
pub struct Files {
    place: FileStore,
    /// Memory disks, by the name of their folder.
    disks: BTreeMap<String, Disk>,
    labels: Labels,
    /// User of the current command; `None` for the router itself.
    actor: Option<Actor>,
}

/// Metadata of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Path, including folders.
    pub(crate) name: String,
    /// Whether it is a folder.
    pub(crate) folder: bool,
    /// Size in bytes.
    pub(crate) bytes: u64,
    /// Time of the last change, in seconds since 1970.
    pub(crate) modified: i64,
}

impl Entry {
    /// Returns the number of its row, which follows from the name.
    pub(crate) fn id(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        hasher.finish() >> 1 | 1 << 63
    }

    /// Returns its type, which follows from the ending of the name.
    pub(crate) fn kind(&self) -> String {
        if self.folder {
            return "directory".to_owned();
        }
        let leaf = self.name.rsplit('/').next().unwrap_or_default();
        match leaf.rsplit_once('.') {
            Some((_, "rsc")) => "script".to_owned(),
            Some((_, "backup")) => "backup".to_owned(),
            Some((_, ending)) => format!(".{ending} file"),
            None => "file".to_owned(),
        }
    }
}

impl Files {
    /// Creates files in memory, which are lost when the router stops.
    pub fn memory(clock: DayClock) -> Self {
        Self {
            place: FileStore::Memory(BTreeMap::new(), clock),
            disks: BTreeMap::new(),
            labels: Labels::default(),
            actor: None,
        }
    }

    /// Opens the files in a folder; creates the folder if it does not exist.
    ///
    /// # Errors
    /// The folder cannot be created or read.
    pub fn open(folder: &Path) -> Result<Self, String> {
        use std::os::unix::fs::DirBuilderExt as _;
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(folder).map_err(failed)?;
        close_to_others(folder)?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = fs::open(folder, flags, Mode::empty());
        let root = opened.map_err(|error| failed(error.into()))?;
        let labels = match beneath(&root, LABELS, OFlags::RDONLY | OFlags::NONBLOCK) {
            Ok(file) => std::io::read_to_string(File::from(file)).map_err(failed)?,
            Err(_) => String::new(),
        };
        let mut files = Self {
            place: FileStore::Folder(root),
            disks: BTreeMap::new(),
            labels: Labels::read(&labels),
            actor: None,
        };
        files.labels.retain(&files.list());
        Ok(files)
    }

    /// Sets the user for access by [`menu::Files`].
    pub(crate) fn act_for(&mut self, caller: &Caller<'_>) {
        self.actor = Some(Actor::new(caller));
    }

    /// Returns the user who wrote a file; `None` if the router wrote it, or it does not exist.
    pub(crate) fn owner(&self, name: &str) -> Option<&str> {
        let name = checked(name).ok()?;
        self.labels.get(&name).map(|label| &*label.owner)
    }

    /// Checks that the user may replace, rename or remove a file.
    ///
    /// # Errors
    /// The file belongs to another user.
    pub(crate) fn may_change(&self, name: &str) -> Result<(), Reason> {
        let label = self.labels.get(name);
        let Some(actor) = self.actor.as_ref().filter(|_| self.entry(name).is_some()) else {
            return Ok(());
        };
        match actor.may_change(label) {
            true => Ok(()),
            false => Err(Reason::Denied),
        }
    }

    fn keep_labels(&self) -> Result<(), Reason> {
        match &self.place {
            FileStore::Memory(..) => Ok(()),
            FileStore::Folder(root) => replace(root, LABELS, self.labels.to_text().as_bytes()),
        }
    }

    /// Writes a file with the label of the user.
    fn write_as(&mut self, name: &str, contents: &[u8], plain: bool) -> Result<(), Reason> {
        let name = checked(name)?;
        self.may_change(&name)?;
        let Some(label) = self.actor.as_ref().map(|actor| actor.label(plain)) else {
            return self.put(name, contents);
        };
        // The file keeps a secret label until the old contents are replaced.
        let before = self.labels.get(&name).is_some_and(|before| before.secret);
        let mut strict = label.clone();
        strict.secret |= before;
        self.room_for(&name, contents.len())?;
        if self.labels.set(&name, strict) {
            self.keep_labels()?;
        }
        self.put(name.clone(), contents)?;
        match self.labels.set(&name, label) {
            true => self.keep_labels(),
            false => Ok(()),
        }
    }

    /// Returns all files by name; at most [`COUNT`] in each place. A memory disk hides a folder with its name.
    pub(crate) fn list(&self) -> Vec<Entry> {
        let mut all = self.place.list();
        if !self.disks.is_empty() {
            all.retain(|entry| self.disk(&entry.name).is_none());
            all.extend(self.disks.values().flat_map(|disk| disk.place.list()));
            all.sort_by(|a, b| a.name.cmp(&b.name));
        }
        all
    }

    /// Returns the metadata of a file.
    pub(crate) fn entry(&self, name: &str) -> Option<Entry> {
        let name = checked(name).ok()?;
        self.place_of(&name).entry(&name)
    }

    fn place_of(&self, name: &str) -> &FileStore {
        self.disk(name).map_or(&self.place, |disk| &disk.place)
    }

    fn place_of_mut(&mut self, name: &str) -> &mut FileStore {
        let disk = name.split('/').next().unwrap_or_default();
        let disk = self.disks.get_mut(disk);
        disk.map_or(&mut self.place, |disk| &mut disk.place)
    }

    /// Returns the contents of a small text file for its row.
    pub(crate) fn shown(&self, entry: &Entry) -> Option<String> {
        if entry.folder || entry.bytes > SHOWN {
            return None;
        }
        let contents = menu::Files::read(self, &entry.name).ok()?;
        (!contents.contains(&0)).then(|| bytes::from_bytes(&contents))
    }

    /// Creates a folder.
    ///
    /// # Errors
    /// The name is invalid or taken.
    pub(crate) fn make_folder(&mut self, name: &str) -> Result<(), Reason> {
        let name = checked(name)?;
        self.room_for(&name, 0)?;
        if let Some(actor) = self.actor.as_ref().filter(|_| self.entry(&name).is_none())
            && self.labels.set(&name, actor.label(true))
        {
            self.keep_labels()?;
        }
        self.place_of_mut(&name).make_folder(name.clone())
    }

    /// Appends bytes to a file, which is created if it does not exist. Does not sync to disk.
    ///
    /// # Errors
    /// The name is invalid, there is no room, or the write fails.
    pub(crate) fn append(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason> {
        let name = checked(name)?;
        let there = self.entry(&name);
        if there.as_ref().is_some_and(|entry| entry.folder) {
            return Err(taken());
        }
        let before = there.map_or(0, |entry| entry.bytes);
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        self.room_of_all(&name, before.saturating_add(contents.len()))?;
        if before == 0 && self.labels.get(&name).is_none() {
            self.labels.set(&name, Label::of_system());
            self.keep_labels()?;
        }
        self.place_of_mut(&name).append(name.clone(), contents)
    }

    /// Removes a file, or a folder with all of its files. RouterOS: the folder need not be empty.
    ///
    /// # Errors
    /// Nothing has this name, it is a disk, or the user may not remove one of the files; then nothing is removed.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Reason> {
        let entry = self.entry(name).ok_or(Reason::NoItem)?;
        if self.is_disk(&entry.name) {
            return Err(Reason::failure("the folder of a disk can not be removed"));
        }
        let inside = format!("{}/", entry.name);
        let mut all = match entry.folder {
            true => self.list(),
            false => Vec::new(),
        };
        all.retain(|other| other.name.starts_with(&inside));
        all.iter()
            .try_for_each(|other| self.may_change(&other.name))?;
        // The list has folders before their files.
        let place = self.place_of_mut(&entry.name);
        all.iter().rev().try_for_each(|other| place.remove(other))?;
        place.remove(&entry)?;
        match self.labels.forget(&entry.name) {
            true => self.keep_labels(),
            false => Ok(()),
        }
    }

    /// Renames a file.
    ///
    /// # Errors
    /// The file does not exist, or the new name is invalid or taken.
    pub(crate) fn rename(&mut self, from: &str, to: &str) -> Result<(), Reason> {
        let entry = self.entry(from).ok_or(Reason::NoItem)?;
        let to = checked(to)?;
        if self.entry(&to).is_some() {
            return Err(taken());
        }
        // Label the new name first: no file is without its label at any moment.
        let labelled = self.labels.copy(&entry.name, &to);
        if labelled {
            self.keep_labels()?;
        }
        if self.is_same_place(&entry.name, &to) {
            self.place_of_mut(&to).rename(&entry.name, to.clone())?;
        } else {
            self.move_across(&entry, &to)?;
        }
        match labelled && self.labels.forget(&entry.name) {
            true => self.keep_labels(),
            false => Ok(()),
        }
    }

    fn is_same_place(&self, from: &str, to: &str) -> bool {
        let slot = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
        let (from, to) = (slot(from), slot(to));
        let is_disk = |slot: &str| self.disks.contains_key(slot);
        from == to || (!is_disk(&from) && !is_disk(&to))
    }

    /// Moves a file from or to a memory disk.
    fn move_across(&mut self, entry: &Entry, to: &str) -> Result<(), Reason> {
        if entry.folder {
            return Err(Reason::failure("a folder can not be moved to another disk"));
        }
        let contents = self.contents(&entry.name)?;
        self.put(to.to_owned(), &contents)?;
        self.place_of_mut(&entry.name).remove(entry)
    }

    /// Checks that a file of this size fits into the user's share.
    fn room_for(&self, name: &str, bytes: usize) -> Result<(), Reason> {
        let others = self.room_of_all(name, bytes)?;
        match &self.actor {
            Some(actor) => actor.share(&self.labels, others.iter(), bytes as u64),
            None => Ok(()),
        }
    }

    /// Checks that a file of this size fits into the limits of the router; returns the other files.
    fn room_of_all(&self, name: &str, bytes: usize) -> Result<Vec<Entry>, Reason> {
        if bytes > FILE_BYTES {
            return Err(Reason::failure("file is too large"));
        }
        let mut others = self.list();
        others.retain(|other| other.name != name && self.is_same_place(&other.name, name));
        let sum = others.iter().map(|other| other.bytes).sum::<u64>();
        let most = self.disk(name).map_or(ALL_BYTES, |disk| disk.bytes);
        if others.len() >= COUNT || sum + bytes as u64 > most {
            return Err(Reason::failure("not enough space"));
        }
        Ok(others)
    }
}

impl menu::Files for Files {
    fn read(&self, name: &str) -> Result<Vec<u8>, Reason> {
        let name = checked(name)?;
        if let (Some(actor), Some(entry)) = (&self.actor, self.entry(&name))
            && !actor.may_read(self.labels.get(&name), &entry)
        {
            return Err(Reason::Denied);
        }
        self.contents(&name)
    }

    fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason> {
        self.write_as(name, contents, false)
    }

    fn write_plain(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason> {
        self.write_as(name, contents, true)
    }
}

impl Files {
    /// Returns the contents of a file, without checking the user's rights.
    ///
    /// # Errors
    /// No file has this name, or it cannot be read.
    pub(crate) fn contents(&self, name: &str) -> Result<Vec<u8>, Reason> {
        let name = checked(name)?;
        self.place_of(&name).contents(&name)
    }

    /// Creates or replaces a file.
    fn put(&mut self, name: String, contents: &[u8]) -> Result<(), Reason> {
        if self.entry(&name).is_some_and(|entry| entry.folder) {
            return Err(taken());
        }
        self.room_of_all(&name, contents.len())?;
        self.place_of_mut(&name).put(name.clone(), contents)
    }
}

/// Validates a name: words separated by `/`, none of them hidden.
fn checked(name: &str) -> Result<String, Reason> {
    let name = name.strip_prefix('/').unwrap_or(name);
    let is_word = |word: &str| {
        let shown = !word.starts_with('.') && !word.chars().any(char::is_control);
        !word.is_empty() && word.len() <= 200 && shown
    };
    let fits = name.split('/').count() <= DEPTH && name.split('/').all(is_word);
    match fits {
        true => Ok(name.to_owned()),
        false => Err(Reason::failure("invalid file name")),
    }
}

#[cfg(test)]
mod tests;
