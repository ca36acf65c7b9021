//! The router that is measured: this program, in a process of its own.

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

/// How long a router may take to start.
const STARTED_WITHIN: Duration = Duration::from_secs(20);

/// How a router is started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start<'a> {
    /// The text of its configuration; none where its state has one.
    pub(super) config: Option<&'a str>,
    /// What is behind its ports, as `--port` has it.
    pub(super) ports: &'a [String],
    /// Where its state is; its key is beside it. Without one it keeps nothing.
    pub(super) state: Option<&'a Path>,
    /// Whether it has sockets on its addresses.
    pub(super) host_plane: bool,
}

/// A router of this program, in a process of its own.
pub(super) struct Router {
    child: Child,
    folder: PathBuf,
}

impl Router {
    /// Starts it in the host `router` with this configuration and these `--port`s, without a state or sockets of its
    /// own, and waits until it answers.
    pub(super) fn start(lab: &Lab, config: &str, ports: &[String]) -> Result<Self, String> {
        let start = Start {
            config: Some(config),
            ports,
            state: None,
            host_plane: false,
        };
        let mut router = Self::begin(lab, &start)?;
        router.wait(STARTED_WITHIN)?;
        Ok(router)
    }

    /// Starts it in the host `router`, and waits for nothing.
    ///
    /// # Errors
    /// The program or its folder cannot be had.
    pub(super) fn begin(lab: &Lab, start: &Start<'_>) -> Result<Self, String> {
        let runtime = crate::cli::location::runtime();
        sweep(&runtime);
        // One that was killed may still be ending when the next begins.
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
            .command("router", &program.to_string_lossy())
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

    /// Waits until it answers, for no longer than this.
    ///
    /// # Errors
    /// What it says if it ends, or does not answer.
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

    /// What it says to a console command, or several in lines.
    ///
    /// # Errors
    /// What it complains of.
    pub(super) fn exec(&self, command: &str) -> Result<String, String> {
        exec(&self.control(), command, false)
    }

    /// The socket of its console.
    pub(super) fn control(&self) -> PathBuf {
        self.folder.join("control.sock")
    }

    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // One that has ended already needs none.
            let _ = kill_process(pid, signal);
        }
    }

    /// Ends it by a signal, and says how long that took.
    ///
    /// # Errors
    /// The system does not say how it ended.
    pub(super) fn end(mut self, signal: Signal) -> Result<Duration, String> {
        let begin = Instant::now();
        self.signal(signal);
        let ended = self.child.wait();
        ended.map_err(|error| format!("the router's end: {error}"))?;
        Ok(begin.elapsed())
    }

    /// The memory that it has, in KiB.
    pub(super) fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        number.unwrap_or(0)
    }

    /// Its number among the machine's processes.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its worker threads.
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

    /// Nanoseconds that all its threads have run so far.
    pub(super) fn cpu(&self) -> u64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let tasks = tasks.into_iter().flatten().flatten();
        tasks.map(|task| run_time(&task.path())).sum()
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        // It gives its devices back and ends; one that has ended already is only waited for.
        self.signal(Signal::TERM);
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes what benchmarks that were killed have left.
fn sweep(runtime: &Path) {
    for entry in fs::read_dir(runtime).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.strip_prefix("ferroute-bench-"))
            .filter(|process| process.parse::<u32>().is_ok());
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            // It may be another's, which it stays then.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// What the router behind this socket says to a console command, as `ferroute exec` asks: in text, or in
/// JSON.
///
/// # Errors
/// What it complains of.
pub(super) fn exec(control: &Path, command: &str, json: bool) -> Result<String, String> {
    let request = Message::Exec {
        command: command.to_owned(),
        json,
    };
    crate::command::client::answer(control, &request)
}

/// Nanoseconds that the thread of this folder of `/proc` has run.
pub(super) fn run_time(thread: &Path) -> u64 {
    let text = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    let first = text.split_ascii_whitespace().next();
    first.and_then(|ns| ns.parse().ok()).unwrap_or(0)
}
