//! Threaded NAPI: a thread, which can be pinned to a core, processes the received packets of a device.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use lab::Lab;
use rustix::process::Pid;

use super::MEASURED;
use super::cores::{Cores, realtime};
use crate::bench::process::run_time;

/// The NAPI thread of a device.
pub(super) struct Napi {
    thread: Pid,
}

impl Napi {
    /// Makes a device of a host receive in a thread on the second core.
    pub(super) fn begin(lab: &Lab, host: &str, device: &str, cores: Cores) -> Result<Self, String> {
        let before: HashSet<Pid> = threads(device).collect();
        set(lab, host, device)?;
        let thread = threads(device).find(|thread| !before.contains(thread));
        let thread = thread.ok_or("this kernel has no threaded NAPI on veth")?;
        cores.pin_forwarder(thread)?;
        realtime(thread, Some(MEASURED));
        Ok(Self { thread })
    }

    /// Returns the processor time of the thread so far, in nanoseconds.
    pub(super) fn cpu(&self) -> u64 {
        run_time(&PathBuf::from(format!(
            "/proc/{}",
            self.thread.as_raw_nonzero()
        )))
    }
}

/// Enables threaded NAPI. A veth device has NAPI if it uses GRO or has a native XDP program.
fn set(lab: &Lab, host: &str, device: &str) -> Result<(), String> {
    // Mounts a separate /sys, because /sys shows the devices of one namespace.
    let script = format!(
        "mount -t sysfs sysfs /sys
ethtool -K {device} gro on
echo 1 > /sys/class/net/{device}/threaded"
    );
    let output = lab
        .command(host, "unshare")
        .map_err(|error| error.to_string())?
        .args(["--mount", "sh", "-e", "-c", &script])
        .output()
        .map_err(|error| format!("unshare: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(format!("threaded NAPI of {device}: {reason}"))
        }
    }
}

/// Returns the kernel threads of devices with this name, in any namespace.
fn threads(device: &str) -> impl Iterator<Item = Pid> {
    let beginning = format!("napi/{device}-");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(move |process| {
        let number = process.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(process.path().join("comm")).ok()?;
        name.starts_with(&beginning)
            .then(|| Pid::from_raw(number))
            .flatten()
    })
}
