//! Running labs: create, find, use and remove them.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use crate::holding::{Holder, Kind, Space, complaint, output};
use crate::layout::ROUTER;
use crate::process::{self, Process};
use crate::record::{Record, Records};
use crate::{Error, Holding, Layout, layout, plan};

/// A running lab.
#[derive(Debug)]
pub struct Lab {
    record: Record,
    records: Records,
    life: Life,
    holders: Vec<Holder>,
}

/// Lifetime of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Until `down` removes it.
    Kept,
    /// Until the [`Lab`] is dropped, or its process ends.
    Owned,
}

/// Parameters of a new lab.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the lab if it differs from its layout's: several labs of one layout can run at once.
    pub name: Option<String>,
    /// Lifetime.
    pub life: Life,
    /// Mechanism of its namespaces; `None` selects by [`Holding::choose`].
    pub holding: Option<Holding>,
    /// Files and folders of the owner to remove with the lab: a killed process leaves its sockets behind.
    pub belongings: Vec<PathBuf>,
}

/// Row of the list of labs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Name of the lab.
    pub name: String,
    /// Name of its layout.
    pub layout: String,
    /// Mechanism of its namespaces.
    pub holding: Holding,
    /// Names of its hosts.
    pub hosts: Vec<String>,
    /// Pid of the owner; `None` if the lab stays.
    pub owner: Option<u32>,
    /// True if a crash left it behind. The next `up` removes it.
    pub stale: bool,
}

/// Time for programs of a lab to end by themselves; a router takes up to a second.
const GRACE: Duration = Duration::from_millis(1500);

/// The kernel reports the carrier within a second; busy machines take longer.
const SETTLED_WITHIN: Duration = Duration::from_secs(20);

impl Lab {
    /// Creates a lab, after removing labs that crashed runs left behind.
    ///
    /// # Errors
    /// [`Error::AlreadyUp`], [`Error::NoNamespaces`], [`Error::MissingProgram`], or a failed command. On
    /// failure everything created so far is removed.
    pub fn up(layout: &Layout, options: &Options) -> Result<Self, Error> {
        let name = options.name.as_deref().unwrap_or(layout.name);
        check_name(name)?;
        let records = Records::open()?;
        let turn = records.lock()?;
        sweep(&records)?;
        if let Some(found) = records.find(name) {
            let owner = found.owner();
            return Err(Error::AlreadyUp {
                lab: name.to_owned(),
                owner,
            });
        }
        let holding = match options.holding {
            Some(holding) => holding,
            None => Holding::choose()?,
        };
        let mut record = Record::new(name, layout.name, holding, Process::own()?);
        record.belongings.clone_from(&options.belongings);
        let mut lab = Self {
            record,
            records,
            life: Life::Owned,
            holders: Vec::new(),
        };
        match lab.make(layout, options.life) {
            Ok(()) => Ok(lab),
            Err(error) => {
                // Reports the first error; an error of the removal is its consequence.
                let _ = lab.remove();
                drop(turn);
                Err(error)
            }
        }
    }

    /// Opens a lab that any process created.
    ///
    /// # Errors
    /// [`Error::NotUp`].
    pub fn open(name: &str) -> Result<Self, Error> {
        match Self::find(name)? {
            lab if lab.record.is_stale() => Err(Error::NotUp(name.to_owned())),
            lab => Ok(lab),
        }
    }

    /// Opens a lab, or the remains of a crashed one, to remove it.
    ///
    /// # Errors
    /// [`Error::NotUp`].
    pub fn find(name: &str) -> Result<Self, Error> {
        let records = Records::open()?;
        let Some(record) = records.find(name) else {
            records.tidy();
            return Err(Error::NotUp(name.to_owned()));
        };
        Ok(Self {
            record,
            records,
            life: Life::Kept,
            holders: Vec::new(),
        })
    }

    /// Lists running and crashed labs.
    ///
    /// # Errors
    /// The folder of records cannot be read.
    pub fn list() -> Result<Vec<Listed>, Error> {
        let list = |record: Record| Listed {
            stale: record.is_stale(),
            owner: record.owner(),
            name: record.lab,
            layout: record.layout,
            holding: record.holding,
            hosts: record.spaces.into_iter().map(|space| space.host).collect(),
        };
        let records = Records::open()?;
        let listed = records.all()?.into_iter().map(list).collect();
        records.tidy();
        Ok(listed)
    }

    /// Returns the name of the lab.
    pub fn name(&self) -> &str {
        &self.record.lab
    }

    /// Returns the layout, if it is one of [`crate::LAYOUTS`].
    pub fn layout(&self) -> Option<&'static Layout> {
        layout(&self.record.layout)
    }

    /// Returns the mechanism of the namespaces.
    pub fn holding(&self) -> Holding {
        self.record.holding
    }

    /// Iterates over the names of the hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.record.spaces.iter().map(|space| space.host.as_str())
    }

    /// Returns a command that runs in a host; the caller adds arguments and runs it.
    ///
    /// # Errors
    /// [`Error::UnknownHost`].
    pub fn command(&self, host: &str, program: &str) -> Result<Command, Error> {
        let mut command = self.space(host)?.command(program);
        let (name, mark) = self.record.mark();
        command.env(name, mark);
        Ok(command)
    }

    /// Returns the path of a host's namespace, for `ip link … netns PATH`.
    ///
    /// # Errors
    /// [`Error::UnknownHost`].
    pub fn namespace(&self, host: &str) -> Result<PathBuf, Error> {
        Ok(self.space(host)?.path())
    }

    /// Runs a command in a host, on the caller's terminal, and waits for its end.
    ///
    /// # Errors
    /// [`Error::UnknownHost`], [`Error::MissingProgram`] for `nsenter`, or an empty `argv`.
    pub fn exec(&self, host: &str, argv: &[String]) -> Result<ExitStatus, Error> {
        let mut command = self.command_line(host, argv)?;
        command
            .status()
            .map_err(Error::io(format!("run `{}`", argv.join(" "))))
    }

    /// Returns a command with all its arguments, to run in a host.
    ///
    /// # Errors
    /// [`Error::UnknownHost`], or an empty `argv`.
    pub fn command_line(&self, host: &str, argv: &[String]) -> Result<Command, Error> {
        let (program, arguments) = argv.split_first().ok_or_else(|| Error::Command {
            command: String::new(),
            reason: "no command was given".into(),
        })?;
        let mut command = self.command(host, program)?;
        command.args(arguments);
        Ok(command)
    }

    /// Moves the calling thread into a host; threads and processes that it starts follow.
    ///
    /// # Errors
    /// A lab that is `Held` accepts only a process with a single thread: enter before starting threads. The
    /// process is root inside, and keeps only its own files outside.
    pub fn enter(&self, host: &str) -> Result<(), Error> {
        self.space(host)?.enter()
    }

    /// Moves the calling thread into the host `router`, which has the router's ports.
    ///
    /// # Errors
    /// As [`Self::enter`].
    pub fn enter_router(&self) -> Result<(), Error> {
        self.enter(ROUTER)
    }

    /// Ends all processes in the lab except the calling one, and removes the lab.
    ///
    /// # Errors
    /// A namespace or the record cannot be removed.
    pub fn down(mut self) -> Result<(), Error> {
        // This call removes the lab; dropping the value must not.
        self.life = Life::Kept;
        let _turn = self.records.lock()?;
        self.remove()
    }

    fn space(&self, host: &str) -> Result<&Space, Error> {
        let found = self.record.spaces.iter().find(|space| space.host == host);
        found.ok_or_else(|| Error::UnknownHost {
            lab: self.record.lab.clone(),
            host: host.to_owned(),
        })
    }

    fn make(&mut self, layout: &Layout, life: Life) -> Result<(), Error> {
        match self.record.holding {
            Holding::Named => self.make_named(layout)?,
            Holding::Held => self.make_held(layout)?,
        }
        let path = |host: &str| {
            let space = self.record.spaces.iter().find(|space| space.host == host);
            space.map(Space::path).unwrap_or_default().into_boxed_path()
        };
        for step in plan::steps(layout, path) {
            self.run(&step)?;
        }
        self.settle(layout)?;
        if life == Life::Kept {
            self.record.kept = true;
            self.records.save(&self.record)?;
            for holder in self.holders.drain(..) {
                holder.release()?;
            }
            self.life = Life::Kept;
        }
        Ok(())
    }

    /// Waits until every device is up: the kernel reports it with a delay, and hosts have no link-local address
    /// before.
    fn settle(&self, layout: &Layout) -> Result<(), Error> {
        let begin = Instant::now();
        for end in layout.links.iter().flat_map(|link| &link.ends) {
            let mut show = self.command(end.host, "ip")?;
            show.args(["-o", "link", "show", "dev", end.device]);
            loop {
                let output = output(&mut show, "nsenter", "")?;
                if String::from_utf8_lossy(&output.stdout).contains(" state UP ") {
                    break;
                }
                if begin.elapsed() > SETTLED_WITHIN {
                    let command = format!("ip link set dev {} up", end.device);
                    let reason = format!("it does not run in {}", end.host);
                    return Err(Error::Command { command, reason });
                }
                thread::park_timeout(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    fn make_named(&mut self, layout: &Layout) -> Result<(), Error> {
        let name = |host: &str| format!("ferroute-{}-{host}", self.record.lab);
        let space = |host: &str| Space {
            host: host.to_owned(),
            kind: Kind::Named(name(host)),
        };
        self.record.spaces = layout.hosts.iter().map(|host| space(host.name)).collect();
        self.records.save(&self.record)?;
        for host in layout.hosts {
            checked("ip", &["netns", "add", &name(host.name)])?;
        }
        Ok(())
    }

    /// The waiting processes end with this one until all are recorded.
    fn make_held(&mut self, layout: &Layout) -> Result<(), Error> {
        for host in layout.hosts {
            let (holder, process) = match self.record.spaces.first() {
                None => Holder::first()?,
                Some(first) => Holder::beside(first)?,
            };
            self.holders.push(holder);
            let kind = Kind::Held(process);
            self.record.spaces.push(Space {
                host: host.name.to_owned(),
                kind,
            });
        }
        self.records.save(&self.record)
    }

    fn run(&self, step: &plan::Step) -> Result<(), Error> {
        let (program, arguments) = step.argv.split_first().ok_or_else(|| Error::Command {
            command: String::new(),
            reason: "the plan contains an empty command".into(),
        })?;
        let mut command = self.command(step.host, program)?;
        let output = output(command.args(arguments), "nsenter", &step.input)?;
        if output.status.success() {
            return Ok(());
        }
        let reason = complaint(&output);
        if reason.contains("failed to execute") {
            let program = ["ip", "ethtool"].into_iter().find(|known| known == program);
            return Err(Error::MissingProgram(program.unwrap_or("sh")));
        }
        let command = format!("{} in {}: {}", program, step.host, step.input.trim());
        Err(Error::Command { command, reason })
    }

    fn remove(&mut self) -> Result<(), Error> {
        remove(&self.records, &self.record)?;
        for holder in self.holders.drain(..) {
            holder.reap();
        }
        Ok(())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if self.life == Life::Owned
            && let Ok(_turn) = self.records.lock()
        {
            // Remains stay in the records, and the next `up` tries again.
            let _ = self.remove();
        }
    }
}

/// Removes labs of processes that ended without removing them.
fn sweep(records: &Records) -> Result<(), Error> {
    for record in records.all()?.iter().filter(|record| record.is_stale()) {
        remove(records, record)?;
    }
    records.forget_drafts()
}

fn remove(records: &Records, record: &Record) -> Result<(), Error> {
    // A process may be starting another one: check again after each round.
    for _ in 0..3 {
        let inhabitants = inhabitants(record);
        if inhabitants.is_empty() {
            break;
        }
        process::end(&inhabitants, GRACE);
    }
    for space in &record.spaces {
        if let Kind::Named(name) = &space.kind
            && space.exists()
        {
            checked("ip", &["netns", "delete", name])?;
        }
    }
    for path in &record.belongings {
        dispose(path)?;
    }
    records.forget(&record.lab)
}

/// Removes a file, or a folder with its contents. A missing one is no error.
fn dispose(path: &Path) -> Result<(), Error> {
    let gone = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match gone {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(format!("remove {}", path.display()))(error))
        }
        _ => Ok(()),
    }
}

/// Returns the processes in the lab's namespaces and those started there, the waiting ones included, without
/// the caller.
fn inhabitants(record: &Record) -> Vec<Process> {
    let spaces: HashSet<u64> = record.spaces.iter().filter_map(Space::inode).collect();
    let (name, mark) = record.mark();
    let mark = format!("{name}={mark}").into_bytes();
    let inside = |pid: &u32| {
        let namespace = fs::metadata(format!("/proc/{pid}/ns/net"));
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        namespace.is_ok_and(|namespace| spaces.contains(&namespace.ino()))
            || environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark)
    };
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let others = numbers.filter(|pid| *pid != std::process::id());
    others.filter(inside).filter_map(Process::find).collect()
}

fn checked(program: &'static str, arguments: &[&str]) -> Result<(), Error> {
    let output = output(Command::new(program).args(arguments), program, "")?;
    if output.status.success() {
        return Ok(());
    }
    let command = format!("{program} {}", arguments.join(" "));
    Err(Error::Command {
        command,
        reason: complaint(&output),
    })
}

/// Checks a lab's name, which becomes part of file and namespace names.
fn check_name(name: &str) -> Result<(), Error> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    match (1..=40).contains(&name.len()) && name.bytes().all(good) {
        true => Ok(()),
        false => Err(Error::BadName(name.to_owned())),
    }
}
