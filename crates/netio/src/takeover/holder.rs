//! Which process has a device: three words that it writes on the device itself, in its guard, and a packet
//! socket that it keeps open.
//!
//! The socket receives nothing. The kernel lists it by the device and by a number that no other socket has
//! (packet(7)), and closes it with its process: so whoever is in the device's network namespace sees whether
//! the holder lives, in whatever process namespace that is.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::linux::fs::MetadataExt;

use crate::af_packet;

/// A process that has a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    /// Its number, as the process namespace of this number counts.
    process: u32,
    namespace: u32,
    /// The socket that says that it lives.
    socket: u32,
}

impl Holder {
    /// This process, as long as the socket is open.
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

    /// Whether it still runs.
    pub(super) fn lives(self, index: u32) -> io::Result<bool> {
        Ok(listeners(index)?.contains(&self.socket))
    }

    /// Its number; none where processes are counted otherwise here.
    pub(super) fn process(self) -> io::Result<Option<u32>> {
        Ok((self.namespace == namespace()?).then_some(self.process))
    }
}

/// The numbers of the packet sockets that are bound to a device.
pub(super) fn listeners(index: u32) -> io::Result<Vec<u32>> {
    let sockets = fs::read_to_string("/proc/thread-self/net/packet")?;
    Ok(sockets
        .lines()
        .filter_map(|line| number(line, index))
        .collect())
}

/// The number of the socket that a line of the kernel's list is about, if it is bound to this device.
fn number(line: &str, index: u32) -> Option<u32> {
    // sk, RefCnt, Type, Proto, Iface, R, Rmem, User, Inode.
    let mut words = line.split_ascii_whitespace().skip(4);
    let interface: u32 = words.next()?.parse().ok()?;
    let number = words.nth(3)?.parse().ok()?;
    (interface == index).then_some(number)
}

/// The name of a running process, as ps(1) shows it.
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
    fn a_line_of_the_kernel_s_list_says_its_device_and_number() {
        let line = "0000000000000000 3      3    0003   7     1 0      1000   4321  ";

        assert_eq!(number(line, 7), Some(4321));
        assert_eq!(number(line, 3), None);
        let head = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode";
        assert_eq!(number(head, 7), None);
        assert_eq!(number("", 7), None);
    }
}
