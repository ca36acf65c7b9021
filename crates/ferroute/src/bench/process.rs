//! The measured router: this program in a separate process.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use console::protocol::Message;
use lab::Lab;
use rustix::process::{Pid, Signal, kill_process};

/// Host of the measured router.
pub(super) const SERVER: &str = "router";
/// Maximum time to start a router.
const STARTED_WITHIN: Duration = Duration::from_secs(20);

/// Options of a router's start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start<'a> {
    /// Host in which it runs.
    pub(super) host: &'a str,
    /// Text of its configuration; `None` if its state contains one.
    pub(super) config: Option<&'a str>,
    /// Ports, in the syntax of `--port`.
    pub(super) ports: &'a [String],
    /// State folder, with the key beside it; `None` stores nothing.
    pub(super) state: Option<&'a Path>,
    /// Whether the host plane is enabled.
    pub(super) host_plane: bool,
}

/// A router in a separate process.
pub(super) struct Router {
    child: Child,
    folder: PathBuf,
}

impl Router {
    /// Starts a router in the host `router` with this configuration and these `--port` options, without state and host
    /// plane, and waits until it answers.
    pub(super) fn start(lab: &Lab, config: &str, ports: &[String]) -> Result<Self, String> {
        let start = Start {
            host: SERVER,
            config: Some(config),
            ports,
            state: None,
            host_plane: false,
        };
        let mut router = Self::begin(lab, &start)?;
        router.wait(STARTED_WITHIN)?;
        Ok(router)
    }

    /// Starts a router without waiting.
    ///
    /// # Errors
    /// The program or its folder is missing.
    pub(super) fn begin(lab: &Lab, start: &Start<'_>) -> Result<Self, String> {
        let runtime = crate::cli::location::runtime();
        sweep(&runtime);
        // A killed router may still be ending when the next one starts.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mut name = format!("ferroute-{}", lab.name());
        match NUMBER.fetch_add(1, Ordering::Relaxed) {
            0 => {}
            number => name.push_str(&format!("-{number}")),
        }
        let folder = runtime.join(name);
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(failed)?;
        let (file, control) = (folder.join("bench.rsc"), folder.join("control.sock"));
        let log = fs::File::create(folder.join("log")).map_err(failed)?;
        let program = std::env::current_exe().map_err(|error| format!("our program: {error}"))?;
        let mut command = lab
            .command(start.host, &program.to_string_lossy())
            .map_err(|error| error.to_string())?;
        command.arg("run");
        if let Some(config) = start.config {
            fs::write(&file, config).map_err(failed)?;
            command.arg("--config").arg(&file);
        }
        for port in start.ports {
            command.args(["--port", port]);
        }
        command
            .arg("--state")
            .arg(start.state.unwrap_or(Path::new(":memory:")));
        if let Some(state) = start.state {
            command.arg("--store-key").arg(state.with_extension("key"));
        }
        if !start.host_plane {
            command.arg("--no-host");
        }
        command.args(["--log", "warn"]);
        command.arg("--control").arg(&control);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = command.spawn();
        let child = child.map_err(|error| format!("{}: {error}", program.display()))?;
        Ok(Self { child, folder })
    }

    /// Waits until the router answers, up to a timeout.
    ///
    /// # Errors
    /// The router's message if it ends, or a timeout.
    pub(super) fn wait(&mut self, patience: Duration) -> Result<(), String> {
        let (until, control) = (Instant::now() + patience, self.control());
        while UnixStream::connect(&control).is_err() {
            let ended = self.child.try_wait().is_ok_and(|status| status.is_some());
            if ended || Instant::now() > until {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                return Err(format!("the router does not start: {}", log.trim()));
            }
            thread::park_timeout(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Runs one or several lines of console commands; returns the output.
    ///
    /// # Errors
    /// The router's error.
    pub(super) fn exec(&self, command: &str) -> Result<String, String> {
        exec(&self.control(), command, false)
    }

    /// Returns the control socket.
    pub(super) fn control(&self) -> PathBuf {
        self.folder.join("control.sock")
    }

    /// Sends a signal to the router.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // A router that has ended needs no signal.
            let _ = kill_process(pid, signal);
        }
    }

    /// Stops the router by a signal; returns the time that it took.
    ///
    /// # Errors
    /// The system does not report the exit status.
    pub(super) fn end(mut self, signal: Signal) -> Result<Duration, String> {
        let begin = Instant::now();
        self.signal(signal);
        let ended = self.child.wait();
        ended.map_err(|error| format!("the router's end: {error}"))?;
        Ok(begin.elapsed())
    }

    /// Returns the resident memory in KiB.
    pub(super) fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        number.unwrap_or(0)
    }

    /// Returns the process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the worker threads.
    pub(super) fn workers(&self) -> Vec<Pid> {
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

    /// Returns the processor time of all threads so far, in nanoseconds.
    pub(super) fn cpu(&self) -> u64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let tasks = tasks.into_iter().flatten().flatten();
        tasks.map(|task| run_time(&task.path())).sum()
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        // The router returns its devices and ends; if it has ended, this only collects its exit status.
        self.signal(Signal::TERM);
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes folders of killed benchmarks.
fn sweep(runtime: &Path) {
    for entry in fs::read_dir(runtime).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.strip_prefix("ferroute-bench-"))
            .filter(|process| process.parse::<u32>().is_ok());
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            // The folder may belong to another user: then it stays.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Runs a console command at this control socket like `ferroute exec`; returns text or JSON.
///
/// # Errors
/// The router's error.
pub(super) fn exec(control: &Path, command: &str, json: bool) -> Result<String, String> {
    let request = Message::Exec {
        command: command.to_owned(),
        json,
    };
    crate::command::client::answer(control, &request)
}

/// Returns the processor time of the thread with this `/proc` folder, in nanoseconds.
pub(super) fn run_time(thread: &Path) -> u64 {
    let text = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    let first = text.split_ascii_whitespace().next();
    first.and_then(|ns| ns.parse().ok()).unwrap_or(0)
}
