//! A network namespace of one's own.

use std::io;

use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Moves the calling thread into a new network namespace, with nothing but a loopback that is down.
///
/// # Errors
/// `EPERM` for whoever may not administer the network.
pub fn unshare_network() -> io::Result<()> {
    // SAFETY: a network namespace belongs to the calling thread alone; neither memory nor the table
    // of file descriptors is unshared.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}
