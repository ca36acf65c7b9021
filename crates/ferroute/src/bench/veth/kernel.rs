//! What is measured against: the kernel's forwarding, in a thread of its own (threaded NAPI).

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use lab::Lab;
use rustix::process::Pid;

use super::cores::{Cores, realtime};
use super::{KERNEL, NOBODY};
use crate::bench::process::run_time;

/// The kernel of the host that forwards.
pub(super) struct Kernel {
    thread: Pid,
}

impl Kernel {
    /// Has it forward in a thread on the second core.
    pub(super) fn prepare(lab: &Lab, cores: Cores) -> Result<Self, String> {
        let before: HashSet<Pid> = napi_threads().collect();
        let script = format!(
            "mount -t sysfs sysfs /sys
             sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.k1.rp_filter=0
             ip neighbour replace 10.0.2.2 lladdr {NOBODY} nud permanent dev k2
             ip neighbour replace 2001:db8:2::2 lladdr {NOBODY} nud permanent dev k2
             ip route add 198.18.0.0/15 via 10.0.2.2
             ip route add 2001:db8:ffff::/48 via 2001:db8:2::2
             ethtool -K k1 gro on
             echo 1 > /sys/class/net/k1/threaded"
        );
        // With a view of /sys of its own, because that shows the devices of one namespace.
        let output = lab
            .command(KERNEL, "unshare")
            .map_err(|error| error.to_string())?
            .args(["--mount", "sh", "-e", "-c", &script])
            .output()
            .map_err(|error| format!("unshare: {error}"))?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(format!("preparing the kernel's side: {reason}"));
        }
        let thread = napi_threads().find(|thread| !before.contains(thread));
        let thread = thread.ok_or("this kernel has no threaded NAPI on veth")?;
        cores.pin_forwarder(thread)?;
        realtime(thread, true);
        Ok(Self { thread })
    }

    /// Nanoseconds that it has run so far.
    pub(super) fn cpu(&self) -> u64 {
        run_time(&PathBuf::from(format!(
            "/proc/{}",
            self.thread.as_raw_nonzero()
        )))
    }
}

/// The kernel's threads that serve devices called `k1`, of whichever namespace.
fn napi_threads() -> impl Iterator<Item = Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|process| {
        let number = process.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(process.path().join("comm")).ok()?;
        name.starts_with("napi/k1-")
            .then(|| Pid::from_raw(number))
            .flatten()
    })
}
