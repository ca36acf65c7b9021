//! Records of labs, written before the lab is created, so that a crash leaves nothing unknown behind.
//!
//! Each lab has a small text file in a folder that a reboot empties; a lock in the folder serialises `up` and
//! `down` of several processes. A record is stale once its lab, or the process that would remove it, is gone.

use std::env;
use std::fmt::Write;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::ErrorKind::{AlreadyExists, NotFound};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::Error;
use crate::holding::{Holding, Kind, Space};
use crate::process::Process;

/// File extension of records.
const EXTENSION: &str = "lab";

/// Lock file.
const LOCK: &str = "lock";

/// Record of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Name of the lab.
    pub(crate) lab: String,
    /// The name of its layout.
    pub(crate) layout: String,
    /// Mechanism of its namespaces.
    pub(crate) holding: Holding,
    /// Process that created it.
    pub(crate) maker: Process,
    /// True if the lab outlives its creator; only `down` removes it then.
    pub(crate) kept: bool,
    /// Its hosts.
    pub(crate) spaces: Vec<Space>,
    /// Files and folders to remove with it.
    pub(crate) belongings: Vec<PathBuf>,
    boot: String,
}

impl Record {
    /// Creates a record for the current boot of the machine.
    pub(crate) fn new(lab: &str, layout: &str, holding: Holding, maker: Process) -> Self {
        let (lab, layout) = (lab.to_owned(), layout.to_owned());
        Self {
            lab,
            layout,
            holding,
            maker,
            kept: false,
            spaces: Vec::new(),
            belongings: Vec::new(),
            boot: boot(),
        }
    }

    /// Returns an environment variable for all commands of the lab: finds processes even in a namespace that
    /// nothing refers to any more.
    pub(crate) fn mark(&self) -> (&'static str, String) {
        ("FERROUTE_LAB", format!("{}/{}", self.lab, self.maker))
    }

    /// Returns the pid of the process that removes the lab.
    pub(crate) fn owner(&self) -> Option<u32> {
        (!self.kept).then_some(self.maker.pid)
    }

    /// Returns true if no process would remove the lab, or nothing of it is left.
    pub(crate) fn is_stale(&self) -> bool {
        if self.boot != boot() {
            return true;
        }
        match self.kept {
            false => !self.maker.runs(),
            true => !self.spaces.iter().any(Space::exists),
        }
    }

    fn write(&self) -> String {
        let mut text = String::new();
        let holding = self.holding.name();
        let mut line = |line: std::fmt::Arguments<'_>| {
            writeln!(text, "{line}").expect("writing to a string does not fail");
        };
        line(format_args!("boot {}", self.boot));
        line(format_args!("layout {}", self.layout));
        line(format_args!("holding {holding}"));
        line(format_args!("maker {}", self.maker));
        line(format_args!("kept {}", self.kept));
        for Space { host, kind } in &self.spaces {
            match kind {
                Kind::Named(name) => line(format_args!("host {host} {name}")),
                Kind::Held(process) => line(format_args!("host {host} {process}")),
            }
        }
        for path in &self.belongings {
            line(format_args!("belonging {}", path.display()));
        }
        text
    }

    fn read(lab: &str, text: &str) -> Option<Self> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        let holding = Holding::from_name(value("holding ")?)?;
        let space = |line: &str| {
            let (host, held_by) = line.split_once(' ')?;
            let kind = match holding {
                Holding::Named => Kind::Named(held_by.to_owned()),
                Holding::Held => Kind::Held(held_by.parse().ok()?),
            };
            Some(Space {
                host: host.to_owned(),
                kind,
            })
        };
        let lines = |key: &'static str| text.lines().filter_map(move |line| line.strip_prefix(key));
        let (hosts, belongings) = (lines("host "), lines("belonging "));
        Some(Self {
            lab: lab.to_owned(),
            layout: value("layout ")?.to_owned(),
            holding,
            maker: value("maker ")?.parse().ok()?,
            kept: value("kept ")?.parse().ok()?,
            spaces: hosts.map(space).collect::<Option<_>>()?,
            belongings: belongings.map(PathBuf::from).collect(),
            boot: value("boot ")?.to_owned(),
        })
    }
}

/// Folder of records.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    folder: PathBuf,
}

impl Records {
    /// Opens the folder of this user: the system's for root, else that of the login session, else one in
    /// `/tmp`.
    ///
    /// # Errors
    /// None of them can be created, or the one in `/tmp` belongs to another user.
    pub(crate) fn open() -> Result<Self, Error> {
        let uid = rustix::process::geteuid().as_raw();
        if uid == 0 && Self::make(Path::new("/run/ferroute"), uid).is_ok() {
            return Self::make(Path::new("/run/ferroute/labs"), uid);
        }
        if let Some(session) = env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
            let folder = Path::new(&session).join("ferroute");
            if Self::make(&folder, uid).is_ok() {
                return Self::make(&folder.join("labs"), uid);
            }
        }
        let folder = PathBuf::from(format!("/tmp/ferroute-{uid}"));
        Self::make(&folder, uid)?;
        Self::make(&folder.join("labs"), uid)
    }

    /// Creates or opens a private folder. Anybody may write to `/tmp`: an existing path is accepted only as a
    /// folder that the caller owns and nobody else can access.
    pub(crate) fn make(folder: &Path, uid: u32) -> Result<Self, Error> {
        let doing = || format!("use the folder {}", folder.display());
        let found = loop {
            match DirBuilder::new().mode(0o700).create(folder) {
                Err(error) if error.kind() != AlreadyExists => {
                    return Err(Error::io(doing())(error));
                }
                _ => {}
            }
            match fs::symlink_metadata(folder) {
                // Another process has just removed the folder.
                Err(error) if error.kind() == NotFound => {}
                found => break found.map_err(Error::io(doing()))?,
            }
        };
        if !found.is_dir() || found.uid() != uid {
            return Err(Error::io(doing())(std::io::Error::other(
                "it belongs to another user",
            )));
        }
        if found.mode() & 0o022 != 0 {
            fs::set_permissions(folder, Permissions::from_mode(0o700))
                .map_err(Error::io(doing()))?;
        }
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Waits for the lock.
    pub(crate) fn lock(&self) -> Result<Turn, Error> {
        let path = self.folder.join(LOCK);
        let doing = format!("lock {}", path.display());
        loop {
            let file = match File::create(&path) {
                // Another process has just removed the folder.
                Err(error) if error.kind() == NotFound => {
                    Self::make(&self.folder, rustix::process::geteuid().as_raw())?;
                    continue;
                }
                file => file.map_err(Error::io(doing.clone()))?,
            };
            flock(&file, FlockOperation::LockExclusive)
                .map_err(|e| Error::io(doing.clone())(e.into()))?;
            // The file was removed meanwhile: locking it has no effect.
            if is_at(&file, &path) {
                return Ok(Turn {
                    records: self.clone(),
                    _file: file,
                });
            }
        }
    }

    /// Removes the folder if it is empty.
    pub(crate) fn tidy(&self) {
        let _ = fs::remove_dir(&self.folder);
    }

    /// Removes unfinished files of killed processes. The caller holds the lock.
    pub(crate) fn forget_drafts(&self) -> Result<(), Error> {
        self.files("draft")?
            .iter()
            .try_for_each(|path| self.forget_file(path))
    }

    /// Returns the files with this extension.
    fn files(&self, ending: &str) -> Result<Vec<PathBuf>, Error> {
        let doing = format!("list {}", self.folder.display());
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::io(doing.clone()))?,
        };
        let paths = entries.map(|entry| Ok(entry.map_err(Error::io(doing.clone()))?.path()));
        let ends = |path: &PathBuf| path.extension().is_some_and(|found| found == ending);
        paths
            .filter(|path| path.as_ref().map_or(true, ends))
            .collect()
    }

    /// Returns all records, ordered by name. Removes unreadable ones.
    pub(crate) fn all(&self) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        for path in self.files(EXTENSION)? {
            match self.load(&path) {
                Some(record) => records.push(record),
                None => self.forget_file(&path)?,
            }
        }
        records.sort_by(|one, other| one.lab.cmp(&other.lab));
        Ok(records)
    }

    /// Returns the record of a lab.
    pub(crate) fn find(&self, lab: &str) -> Option<Record> {
        self.load(&self.path(lab))
    }

    /// Writes a record atomically.
    pub(crate) fn save(&self, record: &Record) -> Result<(), Error> {
        let path = self.path(&record.lab);
        let doing = format!("write {}", path.display());
        let draft = path.with_extension("draft");
        fs::write(&draft, record.write()).map_err(Error::io(doing.clone()))?;
        fs::rename(&draft, &path).map_err(Error::io(doing))
    }

    /// Removes the record of a lab. A missing one is no error.
    pub(crate) fn forget(&self, lab: &str) -> Result<(), Error> {
        self.forget_file(&self.path(lab))
    }

    fn forget_file(&self, path: &Path) -> Result<(), Error> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != NotFound => {
                Err(Error::io(format!("remove {}", path.display()))(error))
            }
            _ => Ok(()),
        }
    }

    fn path(&self, lab: &str) -> PathBuf {
        self.folder.join(format!("{lab}.{EXTENSION}"))
    }

    fn load(&self, path: &Path) -> Option<Record> {
        let lab = path.file_stem()?.to_str()?;
        Record::read(lab, &fs::read_to_string(path).ok()?)
    }
}

/// The lock on labs, held until it is dropped. Dropping it without any lab left removes lock and folder.
#[derive(Debug)]
pub(crate) struct Turn {
    records: Records,
    _file: File,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let records = &self.records;
        if records.files(EXTENSION).is_ok_and(|files| files.is_empty()) {
            let _ = fs::remove_file(records.folder.join(LOCK));
            records.tidy();
        }
    }
}

/// Returns true if the path still refers to this open file.
fn is_at(file: &File, path: &Path) -> bool {
    let inode = |found: fs::Metadata| (found.dev(), found.ino());
    let there = fs::symlink_metadata(path).map(inode);
    let ours = file.metadata().map(inode);
    there.ok().is_some_and(|there| ours.ok() == Some(there))
}

/// Returns an identifier of the current boot of the machine.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::thread;

    use super::*;

    fn record(holding: Holding, kind: Kind) -> Record {
        let mut record = Record::new("mine", "home", holding, Process::own().unwrap());
        record.spaces.push(Space {
            host: "client".into(),
            kind,
        });
        record
    }

    fn gone() -> Process {
        "4194304:1".parse().unwrap()
    }

    #[test]
    fn a_record_round_trips() {
        for record in [
            record(Holding::Named, Kind::Named("ferroute-mine-client".into())),
            record(Holding::Held, Kind::Held(gone())),
            Record {
                kept: true,
                belongings: vec!["/run/a b.sock".into()],
                ..record(Holding::Held, Kind::Held(gone()))
            },
        ] {
            assert_eq!(Record::read("mine", &record.write()), Some(record));
        }
        assert_eq!(
            Record::read("mine", "boot 1\nlayout home\nholding magic\n"),
            None
        );
    }

    #[test]
    fn locks_exclude_each_other_and_the_last_removes_the_file() {
        let folder = env::temp_dir().join(format!("ferroute-turns-{}", std::process::id()));
        let (inside, most) = (AtomicU32::new(0), AtomicU32::new(0));
        let take_turns = || {
            let records = Records {
                folder: folder.clone(),
            };
            for _ in 0..200 {
                let turn = records.lock().expect("the folder is ours to make");
                most.fetch_max(inside.fetch_add(1, Relaxed) + 1, Relaxed);
                thread::yield_now();
                inside.fetch_sub(1, Relaxed);
                drop(turn);
            }
        };

        thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(take_turns)));
        });

        assert_eq!(most.into_inner(), 1);
        assert!(!folder.exists());
    }

    #[test]
    fn a_record_is_stale_when_its_maker_has_gone_or_the_machine_restarted() {
        let fresh = record(Holding::Held, Kind::Held(gone()));

        assert!(!fresh.is_stale());
        assert!(
            Record {
                maker: gone(),
                ..fresh.clone()
            }
            .is_stale()
        );
        assert!(
            Record {
                boot: "another".into(),
                ..fresh.clone()
            }
            .is_stale()
        );
        assert!(
            Record {
                kept: true,
                ..fresh
            }
            .is_stale(),
            "none of its hosts exists"
        );
    }

    #[test]
    fn records_are_saved_found_listed_and_forgotten() {
        let uid = rustix::process::geteuid().as_raw();
        let folder = env::temp_dir().join(format!("ferroute-records-{}", std::process::id()));
        let records = Records::make(&folder, uid).unwrap();
        let one = record(Holding::Held, Kind::Held(gone()));

        records.save(&one).unwrap();
        fs::write(folder.join("torn.lab"), "boot").unwrap();

        assert_eq!(records.find("mine"), Some(one.clone()));
        assert_eq!(records.all().unwrap(), [one]);
        assert!(!folder.join("torn.lab").exists());
        records.forget("mine").unwrap();
        records.forget("mine").unwrap();
        assert_eq!(records.find("mine"), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_link_in_place_of_the_folder_is_refused() {
        let uid = rustix::process::geteuid().as_raw();
        let link = env::temp_dir().join(format!("ferroute-link-{}", std::process::id()));
        std::os::unix::fs::symlink("/", &link).unwrap();

        let made = Records::make(&link, uid);

        fs::remove_file(&link).unwrap();
        assert!(matches!(made, Err(Error::Io { .. })));
    }
}
