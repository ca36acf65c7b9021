//! Namespaces of a lab: how they stay alive, and how commands and threads enter them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::Error;
use crate::process::Process;

/// Mechanism that keeps the namespaces of a lab alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// Names in `/run/netns`, as `ip netns` creates them; needs root.
    Named,
    /// One waiting process per host, all in one user namespace; needs no privileges.
    Held,
}

impl Holding {
    /// Tries the mechanisms in order, and returns the first one that works on this machine.
    ///
    /// # Errors
    /// [`Error::NoNamespaces`] with both refusals.
    pub fn choose() -> Result<Self, Error> {
        let refusal = match rustix::process::geteuid().is_root() {
            true => match try_named()? {
                None => return Ok(Self::Named),
                Some(refusal) => refusal,
            },
            false => "this user is not permitted to; root may be".to_owned(),
        };
        match try_held()? {
            None => Ok(Self::Held),
            Some(other) => Err(Error::NoNamespaces(format!("{refusal}; {other}"))),
        }
    }

    /// Tries the mechanism; returns the reason if it does not work here.
    ///
    /// # Errors
    /// The attempt itself failed.
    pub fn refusal(self) -> Result<Option<String>, Error> {
        match self {
            Self::Named => try_named(),
            Self::Held => try_held(),
        }
    }

    /// Returns the keyword for records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Held => "held",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Named, Self::Held]
            .into_iter()
            .find(|holding| holding.name() == name)
    }
}

/// Returns the reason if named namespaces do not work here. Root in a container may lack the right.
fn try_named() -> Result<Option<String>, Error> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("ferroute-probe-{}-{number}", std::process::id());
    let added = output(Command::new("ip").args(["netns", "add", &name]), "ip", "")?;
    if !added.status.success() {
        return Ok(Some(complaint(&added)));
    }
    output(
        Command::new("ip").args(["netns", "delete", &name]),
        "ip",
        "",
    )?;
    Ok(None)
}

/// Returns the reason if a user namespace with a network namespace cannot be created.
fn try_held() -> Result<Option<String>, Error> {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "true"]);
    let output = output(&mut command, "unshare", "")?;
    Ok((!output.status.success()).then(|| complaint(&output)))
}

/// Network namespace of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// Host name.
    pub(crate) host: String,
    /// Mechanism.
    pub(crate) kind: Kind,
}

/// Mechanism with its handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Name in `/run/netns`.
    Named(String),
    /// Process in the namespace.
    Held(Process),
}

impl Space {
    /// Returns the path of the namespace file.
    pub(crate) fn path(&self) -> PathBuf {
        match &self.kind {
            Kind::Named(name) => Path::new("/run/netns").join(name),
            Kind::Held(process) => PathBuf::from(format!("/proc/{}/ns/net", process.pid)),
        }
    }

    /// Returns true while the namespace exists.
    pub(crate) fn exists(&self) -> bool {
        match self.kind {
            Kind::Named(_) => self.path().exists(),
            Kind::Held(process) => process.runs(),
        }
    }

    /// Returns the inode that identifies the namespace, while it exists.
    pub(crate) fn inode(&self) -> Option<u64> {
        let found = fs::metadata(self.path()).ok()?;
        self.exists().then(|| found.ino())
    }

    /// Returns a command that runs in the namespace, as its root.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        if let Some(user) = self.other_user_namespace() {
            command
                .arg("--preserve-credentials")
                .arg(format!("--user={}", user.display()));
        }
        command
            .arg(format!("--net={}", self.path().display()))
            .arg("--")
            .arg(program);
        command
    }

    /// Moves the calling thread into the namespace; threads and processes that it starts follow.
    ///
    /// # Errors
    /// A process with several threads cannot enter a user namespace (`EINVAL`).
    pub(crate) fn enter(&self) -> Result<(), Error> {
        let path = self.path();
        if let Some(user) = self.other_user_namespace() {
            enter_by(&user, LinkNameSpaceType::User)?;
        }
        enter_by(&path, LinkNameSpaceType::Network)
    }

    /// Returns the lab's user namespace unless the caller is in it; the kernel refuses a second entry.
    fn other_user_namespace(&self) -> Option<PathBuf> {
        let Kind::Held(process) = self.kind else {
            return None;
        };
        let theirs = PathBuf::from(format!("/proc/{}/ns/user", process.pid));
        let own = fs::read_link("/proc/self/ns/user");
        let same = matches!((own, fs::read_link(&theirs)), (Ok(own), Ok(other)) if own == other);
        (!same).then_some(theirs)
    }
}

fn enter_by(path: &Path, kind: LinkNameSpaceType) -> Result<(), Error> {
    let doing = format!("enter the namespace {}", path.display());
    let namespace = fs::File::open(path).map_err(Error::io(doing.clone()))?;
    move_into_link_name_space(std::os::fd::AsFd::as_fd(&namespace), Some(kind))
        .map_err(|error| Error::io(doing)(error.into()))
}

/// A process that waits in a new namespace. It ends when the pipe to it closes, thus at the latest with this
/// process; after [`Holder::release`] it stays.
#[derive(Debug)]
pub(crate) struct Holder {
    child: Child,
}

impl Holder {
    // `exec` keeps the pid: the waiting process is the one that was started.
    const WAIT: &str = "echo ready && read line && exec sleep infinity >/dev/null 2>&1 </dev/null";

    /// Creates a user namespace with a first network namespace.
    pub(crate) fn first() -> Result<(Self, Process), Error> {
        let mut command = Command::new("unshare");
        command.args([
            "--user",
            "--map-root-user",
            "--net",
            "--",
            "sh",
            "-c",
            Self::WAIT,
        ]);
        Self::start(command, "unshare")
    }

    /// Creates another network namespace in the user namespace of `first`.
    pub(crate) fn beside(first: &Space) -> Result<(Self, Process), Error> {
        let mut command = first.command("unshare");
        command.args(["--net", "--", "sh", "-c", Self::WAIT]);
        Self::start(command, "nsenter")
    }

    fn start(mut command: Command, program: &'static str) -> Result<(Self, Process), Error> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Own process group: Ctrl-C and hang-up reach the router only, which then ends the lab.
        command.process_group(0);
        let mut child = command.spawn().map_err(not_started(program))?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output)
                .read_line(&mut line)
                .map_err(Error::io("read from a host"))?;
        }
        match Process::find(child.id()).filter(|_| line == "ready\n") {
            Some(process) => Ok((Self { child }, process)),
            None => {
                // Closing its input ends it, if it had started.
                drop(child.stdin.take());
                let status = child.wait().map_err(Error::io("wait for a host"))?;
                let reason = format!("it ended with {status}");
                Err(Error::Command {
                    command: program.into(),
                    reason,
                })
            }
        }
    }

    /// Lets the process outlive this one.
    pub(crate) fn release(mut self) -> Result<(), Error> {
        let Some(mut input) = self.child.stdin.take() else {
            return Ok(());
        };
        input.write_all(b"stay\n").map_err(Error::io("keep a host"))
    }

    /// Ends the process and waits for its end.
    pub(crate) fn reap(mut self) {
        drop(self.child.stdin.take());
        // Fails only if the process has been waited for already.
        let _ = self.child.wait();
    }
}

/// Runs a command with this input and waits for its end.
pub(crate) fn output(
    command: &mut Command,
    program: &'static str,
    input: &str,
) -> Result<Output, Error> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(not_started(program))?;
    if let Some(mut pipe) = child.stdin.take() {
        // A program that ends without reading reports why on its standard error.
        let _ = pipe.write_all(input.as_bytes());
    }
    child
        .wait_with_output()
        .map_err(Error::io(format!("run {program}")))
}

/// Returns the error output of a failed command, or its exit status.
pub(crate) fn complaint(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    match said.trim() {
        "" => output.status.to_string(),
        said => said.replace('\n', "; "),
    }
}

fn not_started(program: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::MissingProgram(program),
        _ => Error::io(format!("run {program}"))(error),
    }
}
