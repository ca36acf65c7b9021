//! Private network namespaces.

use std::io;

use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Moves the calling thread into a new network namespace with only a loopback device, which is down.
///
/// # Errors
/// Returns `EPERM` without the privilege to administer the network.
pub fn unshare_network() -> io::Result<()> {
    // SAFETY: a network namespace belongs to the calling thread alone; neither memory nor the table of file
    // descriptors is unshared.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}
