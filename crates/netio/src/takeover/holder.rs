//! Identifies the process that has a device: by three words in the filter on the device (see `guard`), and by a
//! packet socket that the process keeps open.
//!
//! The socket receives nothing. The kernel lists it with its device and a unique inode number (packet(7)), and closes
//! it when the process ends. So every process in the device's network namespace, whatever its PID namespace, can
//! check whether the holder lives.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::linux::fs::MetadataExt;
use std::thread;
use std::time::{Duration, Instant};

use crate::af_packet;

/// Maximum time for a killed process to end, and the interval of checks. The kernel removes thousands of devices of
/// the process one by one.
const ENDING: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A process that has a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    /// Process id, valid in the PID namespace `namespace`.
    process: u32,
    namespace: u32,
    /// Inode of the socket that proves that the process lives.
    socket: u32,
}

impl Holder {
    /// Identifies this process while the returned socket is open.
    pub(super) fn this(index: u32) -> io::Result<(Self, OwnedFd)> {
        let socket = af_packet::mute(index)?;
        let holder = Self {
            process: std::process::id(),
            namespace: namespace()?,
            // The kernel numbers sockets and namespaces with 32 bits.
            socket: rustix::fs::fstat(&socket)?.st_ino as u32,
        };
        Ok((holder, socket))
    }

    pub(super) fn words(self) -> [u32; 3] {
        [self.process, self.namespace, self.socket]
    }

    pub(super) fn of_words([process, namespace, socket]: [u32; 3]) -> Self {
        Self {
            process,
            namespace,
            socket,
        }
    }

    /// True if the process still runs. Waits for a killed process that is ending, because its sockets are closed
    /// last.
    pub(super) fn lives(self, index: u32) -> io::Result<bool> {
        let until = Instant::now() + ENDING;
        while listeners(index)?.contains(&self.socket) {
            if !self.is_ending()? || Instant::now() > until {
                return Ok(true);
            }
            thread::park_timeout(LOOK_AGAIN);
        }
        Ok(false)
    }

    /// True if the process is known to be ending while its sockets are still open.
    fn is_ending(self) -> io::Result<bool> {
        Ok(self.process()?.is_some_and(is_ending))
    }

    /// Process id; `None` if it belongs to another PID namespace.
    pub(super) fn process(self) -> io::Result<Option<u32>> {
        Ok((self.namespace == namespace()?).then_some(self.process))
    }
}

/// Inodes of the packet sockets bound to a device.
pub(super) fn listeners(index: u32) -> io::Result<Vec<u32>> {
    let sockets = fs::read_to_string("/proc/thread-self/net/packet")?;
    Ok(sockets
        .lines()
        .filter_map(|line| number(line, index))
        .collect())
}

/// Socket inode in a line of `/proc/net/packet`, if the socket is bound to this device.
fn number(line: &str, index: u32) -> Option<u32> {
    // Columns: sk, RefCnt, Type, Proto, Iface, R, Rmem, User, Inode.
    let mut words = line.split_ascii_whitespace().skip(4);
    let interface: u32 = words.next()?.parse().ok()?;
    let number = words.nth(3)?.parse().ok()?;
    (interface == index).then_some(number)
}

/// True if a process has ended or was killed, even if the kernel still has to close its files. The id is valid in the
/// PID namespace of this process.
pub fn is_ending(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.map_or(true, |stat| is_exiting(&stat))
}

/// True if the process is exiting, by its line in proc(5).
fn is_exiting(stat: &str) -> bool {
    const EXITING: u64 = 4;
    // The name in parentheses may contain any characters. After it: state, ppid, pgrp, session, tty, tpgid, flags.
    let words = stat.rsplit_once(')').map(|(_, words)| words);
    let flags = words.and_then(|words| words.split_ascii_whitespace().nth(6));
    let flags = flags.and_then(|flags| flags.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & EXITING != 0)
}

/// Name of a running process, as ps(1) shows it.
pub(super) fn name(process: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

fn namespace() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self/ns/pid")?.st_ino() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_descriptor_reports_the_end_of_the_process() {
        let ends = "7 (a) b) Z 1 7 7 0 -1 4228108 0";
        let runs = "7 (ferroute) S 1 7 7 0 -1 4194560 0";

        assert!(is_exiting(ends));
        assert!(!is_exiting(runs) && !is_exiting("7") && !is_exiting(""));
        let own = fs::read_to_string("/proc/self/stat").expect("proc");
        assert!(!is_exiting(&own));
    }

    #[test]
    fn a_line_of_the_kernels_list_is_parsed() {
        let line = "0000000000000000 3      3    0003   7     1 0      1000   4321  ";

        assert_eq!(number(line, 7), Some(4321));
        assert_eq!(number(line, 3), None);
        let head = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode";
        assert_eq!(number(head, 7), None);
        assert_eq!(number("", 7), None);
    }
}
