//! Processes by pid and start time: a pid alone may have been reused.

use std::fmt;
use std::fs;
use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process: its pid, and the clock tick after boot at which it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    /// Process ID.
    pub(crate) pid: u32,
    start: u64,
}

impl Process {
    /// Returns the running process with this pid.
    pub(crate) fn find(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let start = start_tick(&stat)?;
        Some(Self { pid, start })
    }

    /// Returns the calling process.
    ///
    /// # Errors
    /// `/proc` is not mounted.
    pub(crate) fn own() -> Result<Self, crate::Error> {
        Self::find(std::process::id()).ok_or_else(|| crate::Error::NoNamespaces("no /proc".into()))
    }

    /// Returns true while the process runs.
    pub(crate) fn runs(self) -> bool {
        Self::find(self.pid) == Some(self)
    }

    /// Opens a pidfd; `None` if the process has ended.
    fn handle(self) -> Option<OwnedFd> {
        let pid = Pid::from_raw(i32::try_from(self.pid).ok()?)?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        // Checked after opening: from now on the pid cannot be reused.
        self.runs().then_some(handle)
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.pid, self.start)
    }
}

impl FromStr for Process {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (pid, start) = text.split_once(':').ok_or(())?;
        Ok(Self {
            pid: pid.parse().map_err(drop)?,
            start: start.parse().map_err(drop)?,
        })
    }
}

/// Sends SIGTERM to the processes, and SIGKILL to those that still run after `grace`.
pub(crate) fn end(processes: &[Process], grace: Duration) {
    let handles: Vec<_> = processes
        .iter()
        .filter_map(|process| process.handle())
        .collect();
    signal(&handles, Signal::TERM);
    let stubborn = outlive(handles, grace);
    signal(&stubborn, Signal::KILL);
    outlive(stubborn, Duration::from_secs(2));
}

fn signal(handles: &[OwnedFd], signal: Signal) {
    for handle in handles {
        // The process may have ended, or belong to another user.
        let _ = pidfd_send_signal(handle, signal);
    }
}

/// Waits until all have ended, for `patience` at most; returns those that still run.
fn outlive(mut handles: Vec<OwnedFd>, patience: Duration) -> Vec<OwnedFd> {
    let until = Instant::now() + patience;
    while !handles.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut waiting: Vec<_> = handles
            .iter()
            .map(|handle| PollFd::new(handle, PollFlags::IN))
            .collect();
        if !matches!(poll(&mut waiting, Some(&timeout)), Ok(1..)) {
            break;
        }
        let ended: Vec<bool> = waiting.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ended = ended.into_iter();
        handles.retain(|_| !ended.next().unwrap_or(false));
    }
    handles
}

/// Parses field 22 of `/proc/PID/stat`; `None` for a zombie. The second field may contain anything in
/// parentheses, so counting begins after the last one.
fn start_tick(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn sleeper() -> (std::process::Child, Process) {
        let child = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let process = Process::find(child.id()).unwrap();
        (child, process)
    }

    #[test]
    fn the_start_time_is_found_after_a_name_with_parentheses_and_spaces() {
        let tail = (4..=22)
            .map(|field| field.to_string())
            .collect::<Vec<_>>()
            .join(" ");

        assert_eq!(start_tick(&format!("7 (a) R b) S {tail} 23")), Some(22));
        assert_eq!(start_tick(&format!("7 (a) Z {tail} 23")), None);
        assert_eq!(start_tick("7 (a"), None);
    }

    #[test]
    fn a_reused_process_id_is_not_killed() {
        let (mut child, process) = sleeper();
        let former = Process {
            start: process.start - 1,
            ..process
        };

        end(&[former], Duration::from_secs(1));

        assert!(process.runs() && !former.runs());
        end(&[process], Duration::from_secs(5));
        assert!(!process.runs());
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_ignores_sigterm_is_killed() {
        let script = "trap '' TERM; echo ready; read line";
        let mut shell = Command::new("sh");
        shell
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        let mut ready = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
        let process = Process::find(child.id()).unwrap();

        end(&[process], Duration::from_millis(20));

        assert!(!process.runs());
        child.wait().unwrap();
    }

    #[test]
    fn a_process_identity_round_trips() {
        let own = Process::own().unwrap();

        assert_eq!(own.to_string().parse(), Ok(own));
        assert_eq!("12".parse::<Process>(), Err(()));
    }
}
