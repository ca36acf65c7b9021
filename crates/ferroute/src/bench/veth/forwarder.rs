//! What is measured: a router in a process of its own, and the kernel's forwarding in a thread of
//! its own (threaded NAPI), both on one core.

use std::collections::HashSet;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab::Lab;
use rustix::process::{Pid, Signal, kill_process};

use super::cores::{Cores, realtime};
use super::{KERNEL, NOBODY};

/// How long a router may take to start.
const STARTED_WITHIN: Duration = Duration::from_secs(20);

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

/// A router of this program, in a process of its own.
pub(super) struct Router {
    child: Child,
    folder: PathBuf,
}

impl Router {
    /// Starts it with both ports by this driver, and waits until it answers.
    pub(super) fn start(lab: &Lab, driver: &str) -> Result<Self, String> {
        let folder = crate::reach::runtime().join(format!("ferroute-{}", lab.name()));
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(failed)?;
        let (config, control) = (folder.join("bench.rsc"), folder.join("control.sock"));
        fs::write(&config, configuration()).map_err(failed)?;
        let log = fs::File::create(folder.join("log")).map_err(failed)?;
        let program = std::env::current_exe().map_err(|error| format!("our program: {error}"))?;
        let mut command = lab
            .command("router", &program.to_string_lossy())
            .map_err(|error| error.to_string())?;
        command.arg("run").arg("--config").arg(&config);
        for port in ["ether1", "ether2"] {
            command.args(["--port", &format!("{port}={driver}:{port}")]);
        }
        command.args(["--state", ":memory:", "--no-host", "--log", "warn"]);
        command.arg("--control").arg(&control);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = command.spawn();
        let child = child.map_err(|error| format!("{}: {error}", program.display()))?;
        let mut router = Self { child, folder };
        router.wait_for(&control)?;
        for thread in router.workers() {
            realtime(thread, true);
        }
        Ok(router)
    }

    fn wait_for(&mut self, control: &PathBuf) -> Result<(), String> {
        let until = Instant::now() + STARTED_WITHIN;
        while UnixStream::connect(control).is_err() {
            let ended = self.child.try_wait().is_ok_and(|status| status.is_some());
            if ended || Instant::now() > until {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                return Err(format!("the router does not start: {}", log.trim()));
            }
            thread::park_timeout(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Its worker threads.
    fn workers(&self) -> Vec<Pid> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let tasks = tasks.into_iter().flatten().flatten();
        tasks
            .filter_map(|task| {
                let name = fs::read_to_string(task.path().join("comm")).ok()?;
                let number = task.file_name().to_str()?.parse().ok()?;
                name.starts_with("worker-").then(|| Pid::from_raw(number))?
            })
            .collect()
    }

    /// Nanoseconds that all its threads have run so far.
    pub(super) fn cpu(&self) -> u64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let tasks = tasks.into_iter().flatten().flatten();
        tasks.map(|task| run_time(&task.path())).sum()
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It gives its devices back and ends; one that has ended already is only waited for.
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Nanoseconds that the thread of this folder of `/proc` has run.
fn run_time(thread: &std::path::Path) -> u64 {
    let text = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    let first = text.split_ascii_whitespace().next();
    first.and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// The router's part: as the kernel's.
fn configuration() -> String {
    format!(
        "/ip address
add address=10.0.1.1/24 interface=ether1
add address=10.0.2.1/24 interface=ether2
/ip arp
add address=10.0.2.2 interface=ether2 mac-address={NOBODY}
/ip route
add dst-address=198.18.0.0/15 gateway=10.0.2.2
/ipv6 address
add address=2001:db8:1::1/64 advertise=no interface=ether1
add address=2001:db8:2::1/64 advertise=no interface=ether2
/ipv6 neighbor
add address=2001:db8:2::2 interface=ether2 mac-address={NOBODY}
/ipv6 route
add dst-address=2001:db8:ffff::/48 gateway=2001:db8:2::2
"
    )
}
