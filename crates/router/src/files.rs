//! The router's own files: what `/file` shows, and what exports, imports and backups go to.
//!
//! They lie in a folder of the state, or in memory where nothing is kept. A name is words with `/`
//! between them; nothing leads out of the folder, neither `..` nor a link, because the kernel
//! resolves names beneath it. A file is replaced wholly or not at all. Size and number are bounded.
//! Files that users write have an owner, whose alone they are to change, and a share of the room.

mod label;
mod remote;

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Read, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use menu::{Caller, Reason, bytes};
use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

pub(crate) use self::label::SYSTEM;
use self::label::{Actor, Label, Labels};
pub use self::remote::{RemoteEntry, RemoteFiles};
use crate::clock::DayClock;
use crate::private::close_to_others;

/// The largest file, all of them together, and how many there may be.
const FILE_BYTES: usize = 64 << 20;
const ALL_BYTES: u64 = 512 << 20;
const COUNT: usize = 2_000;
/// Where the labels of files are kept: no name of a file.
const LABELS: &str = ".labels";
/// Words of a name.
const DEPTH: usize = 8;
/// RouterOS: files up to this size show what is in them.
const SHOWN: u64 = 60 << 10;

/// The files of a router.
#[derive(Debug)]
pub struct Files {
    place: Place,
    labels: Labels,
    /// Whose command it is; the router itself writes where nobody has asked yet.
    actor: Option<Actor>,
}

#[derive(Debug)]
enum Place {
    /// Files by their names, and the clock that says when they change.
    Memory(BTreeMap<String, Kept>, DayClock),
    Folder(OwnedFd),
}

/// A file in memory.
#[derive(Debug)]
struct Kept {
    /// `None` for a folder.
    contents: Option<Vec<u8>>,
    modified: i64,
}

/// What there is to say about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its name behind those of its folders.
    pub(crate) name: String,
    /// Whether it is a folder.
    pub(crate) folder: bool,
    /// Its length.
    pub(crate) bytes: u64,
    /// When it was changed, in seconds since 1970.
    pub(crate) modified: i64,
}

impl Entry {
    /// The number of its row: the same for as long as the name is.
    pub(crate) fn id(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        hasher.finish() >> 1 | 1 << 63
    }

    /// What it is, by the ending of its name.
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
    /// Files that are gone with the router.
    pub fn memory(clock: DayClock) -> Self {
        Self {
            place: Place::Memory(BTreeMap::new(), clock),
            labels: Labels::default(),
            actor: None,
        }
    }

    /// The files in this folder, which is made if it is not there.
    ///
    /// # Errors
    /// What is wrong with the folder.
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
            place: Place::Folder(root),
            labels: Labels::read(&labels),
            actor: None,
        };
        files.labels.retain(&files.list());
        Ok(files)
    }

    /// From now on it is this user who reads and writes by [`menu::Files`].
    pub(crate) fn act_for(&mut self, caller: &Caller<'_>) {
        self.actor = Some(Actor::new(caller));
    }

    /// The user who wrote a file; `None` if no user did, or there is no such file.
    pub(crate) fn owner(&self, name: &str) -> Option<&str> {
        let name = checked(name).ok()?;
        self.labels.get(&name).map(|label| &*label.owner)
    }

    /// Refuses what the user may not replace, rename or remove.
    ///
    /// # Errors
    /// It is another's.
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
            Place::Memory(..) => Ok(()),
            Place::Folder(root) => replace(root, LABELS, self.labels.to_text().as_bytes()),
        }
    }

    /// Writes for the user, under the user's label.
    fn write_as(&mut self, name: &str, contents: &[u8], plain: bool) -> Result<(), Reason> {
        let name = checked(name)?;
        self.may_change(&name)?;
        let Some(label) = self.actor.as_ref().map(|actor| actor.label(plain)) else {
            return self.put(name, contents);
        };
        // It stays as secret as it was until what was in it is gone.
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

    /// All files, by name; at most [`COUNT`] of them.
    pub(crate) fn list(&self) -> Vec<Entry> {
        match &self.place {
            Place::Memory(files, _) => files.iter().map(|(name, kept)| entry(name, kept)).collect(),
            Place::Folder(root) => {
                let mut found = Vec::new();
                // What cannot be looked at is not shown.
                let _ = walk(root, "", 0, &mut found);
                found.sort_by(|a, b| a.name.cmp(&b.name));
                found
            }
        }
    }

    /// What there is to say about one.
    pub(crate) fn entry(&self, name: &str) -> Option<Entry> {
        let name = checked(name).ok()?;
        match &self.place {
            Place::Memory(files, _) => files.get(&name).map(|kept| entry(&name, kept)),
            Place::Folder(root) => {
                let (folder, leaf) = parent(root, &name).ok()?;
                let stat = fs::statat(&folder, leaf, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                entry_of(name.clone(), &stat)
            }
        }
    }

    /// The contents of a small file of text, as rows show them.
    pub(crate) fn shown(&self, entry: &Entry) -> Option<String> {
        if entry.folder || entry.bytes > SHOWN {
            return None;
        }
        let contents = menu::Files::read(self, &entry.name).ok()?;
        (!contents.contains(&0)).then(|| bytes::from_bytes(&contents))
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// The name is none, or taken.
    pub(crate) fn make_folder(&mut self, name: &str) -> Result<(), Reason> {
        let name = checked(name)?;
        self.room_for(&name, 0)?;
        if let Some(actor) = self.actor.as_ref().filter(|_| self.entry(&name).is_none())
            && self.labels.set(&name, actor.label(true))
        {
            self.keep_labels()?;
        }
        match &mut self.place {
            Place::Memory(files, clock) => {
                if files.contains_key(&name) {
                    return Err(taken());
                }
                let kept = Kept {
                    contents: None,
                    modified: clock.unix_seconds(),
                };
                files.insert(name, kept);
                Ok(())
            }
            Place::Folder(root) => {
                let (folder, leaf) = parent(root, &name)?;
                fs::mkdirat(&folder, leaf, Mode::RWXU).map_err(failed)?;
                fs::fsync(&folder).map_err(failed)
            }
        }
    }

    /// Puts bytes behind what is in a file, which is made if it is not there. They are not waited
    /// for to be on disk.
    ///
    /// # Errors
    /// The name is none, there is no room, or it cannot be written.
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
        match &mut self.place {
            Place::Memory(files, clock) => {
                let kept = files.entry(name).or_insert(Kept {
                    contents: Some(Vec::new()),
                    modified: 0,
                });
                kept.modified = clock.unix_seconds();
                kept.contents.get_or_insert_default().extend(contents);
                Ok(())
            }
            Place::Folder(root) => {
                let (folder, leaf) = parent(root, &name)?;
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
                let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let opened = fs::openat(&folder, leaf, flags, Mode::RUSR | Mode::WUSR);
                let mut file = File::from(opened.map_err(failed)?);
                file.write_all(contents).map_err(told)
            }
        }
    }

    /// Removes a file, or a folder that is empty.
    ///
    /// # Errors
    /// There is none, or the folder is not empty.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Reason> {
        let entry = self.entry(name).ok_or(Reason::NoItem)?;
        match &mut self.place {
            Place::Memory(files, _) => {
                let inside = format!("{}/", entry.name);
                if files.keys().any(|other| other.starts_with(&inside)) {
                    return Err(Reason::failure("directory is not empty"));
                }
                files.remove(&entry.name);
            }
            Place::Folder(root) => {
                let (folder, leaf) = parent(root, &entry.name)?;
                let flags = match entry.folder {
                    true => AtFlags::REMOVEDIR,
                    false => AtFlags::empty(),
                };
                fs::unlinkat(&folder, leaf, flags).map_err(failed)?;
                fs::fsync(&folder).map_err(failed)?;
            }
        }
        match self.labels.forget(&entry.name) {
            true => self.keep_labels(),
            false => Ok(()),
        }
    }

    /// Gives a file another name.
    ///
    /// # Errors
    /// There is none, or the name is none or taken.
    pub(crate) fn rename(&mut self, from: &str, to: &str) -> Result<(), Reason> {
        let entry = self.entry(from).ok_or(Reason::NoItem)?;
        let to = checked(to)?;
        if self.entry(&to).is_some() {
            return Err(taken());
        }
        // Nothing is without its label at any moment.
        let labelled = self.labels.copy(&entry.name, &to);
        if labelled {
            self.keep_labels()?;
        }
        match &mut self.place {
            Place::Memory(files, _) => {
                if let Some(kept) = files.remove(&entry.name) {
                    files.insert(to, kept);
                }
            }
            Place::Folder(root) => {
                let (old, leaf) = parent(root, &entry.name)?;
                let (new, renamed) = parent(root, &to)?;
                fs::renameat(&old, leaf, &new, renamed).map_err(failed)?;
                fs::fsync(&new).map_err(failed)?;
            }
        }
        match labelled && self.labels.forget(&entry.name) {
            true => self.keep_labels(),
            false => Ok(()),
        }
    }

    /// Whether so many bytes of the user's may become a file of this name.
    fn room_for(&self, name: &str, bytes: usize) -> Result<(), Reason> {
        let others = self.room_of_all(name, bytes)?;
        match &self.actor {
            Some(actor) => actor.share(&self.labels, others.iter(), bytes as u64),
            None => Ok(()),
        }
    }

    /// Whether so many bytes may become a file of this name; the other files.
    fn room_of_all(&self, name: &str, bytes: usize) -> Result<Vec<Entry>, Reason> {
        if bytes > FILE_BYTES {
            return Err(Reason::failure("file is too large"));
        }
        let mut others = self.list();
        others.retain(|other| other.name != name);
        let sum = others.iter().map(|other| other.bytes).sum::<u64>();
        if others.len() >= COUNT || sum + bytes as u64 > ALL_BYTES {
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
    /// What is in a file, whoever asks.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be read.
    pub(crate) fn contents(&self, name: &str) -> Result<Vec<u8>, Reason> {
        let name = checked(name)?;
        match &self.place {
            Place::Memory(files, _) => {
                let contents = files.get(&name).and_then(|kept| kept.contents.clone());
                contents.ok_or_else(missing)
            }
            Place::Folder(root) => {
                let flags = OFlags::RDONLY | OFlags::NONBLOCK;
                let mut file = File::from(beneath(root, &name, flags)?);
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

    /// Makes a file, or replaces one.
    fn put(&mut self, name: String, contents: &[u8]) -> Result<(), Reason> {
        if self.entry(&name).is_some_and(|entry| entry.folder) {
            return Err(taken());
        }
        self.room_of_all(&name, contents.len())?;
        match &mut self.place {
            Place::Memory(files, clock) => {
                if let Some((folder, _)) = name.rsplit_once('/')
                    && files.get(folder).is_none_or(|kept| kept.contents.is_some())
                {
                    return Err(missing());
                }
                let kept = Kept {
                    contents: Some(contents.to_vec()),
                    modified: clock.unix_seconds(),
                };
                files.insert(name, kept);
                Ok(())
            }
            Place::Folder(root) => {
                let (folder, leaf) = parent(root, &name)?;
                replace(&folder, leaf, contents)
            }
        }
    }
}

/// Writes a file beside the one that it replaces, and lets it take the name when it is on disk.
fn replace(folder: &OwnedFd, leaf: &str, contents: &[u8]) -> Result<(), Reason> {
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

/// A name that is one: words with `/` between them, none hidden.
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

/// The folder that a file is in, and its own name.
fn parent<'n>(root: &OwnedFd, name: &'n str) -> Result<(OwnedFd, &'n str), Reason> {
    let (folder, leaf) = name.rsplit_once('/').unwrap_or((".", name));
    Ok((beneath(root, folder, OFlags::DIRECTORY)?, leaf))
}

fn beneath(root: &OwnedFd, name: &str, flags: OFlags) -> Result<OwnedFd, Reason> {
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

/// What is neither a file nor a folder is not there.
fn entry_of(name: String, stat: &fs::Stat) -> Option<Entry> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    matches!(kind, FileType::RegularFile | FileType::Directory).then(|| Entry {
        folder: kind == FileType::Directory,
        name,
        bytes: u64::try_from(stat.st_size).unwrap_or(0),
        modified: stat.st_mtime,
    })
}

fn entry(name: &str, kept: &Kept) -> Entry {
    Entry {
        name: name.to_owned(),
        folder: kept.contents.is_none(),
        bytes: kept.contents.as_ref().map_or(0, Vec::len) as u64,
        modified: kept.modified,
    }
}

fn missing() -> Reason {
    Reason::failure("no such file")
}

fn taken() -> Reason {
    Reason::failure("file already exists")
}

fn failed(error: Errno) -> Reason {
    match error {
        Errno::NOENT | Errno::XDEV | Errno::LOOP | Errno::NOTDIR => missing(),
        Errno::EXIST => taken(),
        Errno::NOTEMPTY => Reason::failure("directory is not empty"),
        error => told(error.into()),
    }
}

fn told(error: std::io::Error) -> Reason {
    Reason::failure(error.to_string())
}

#[cfg(test)]
mod tests;
