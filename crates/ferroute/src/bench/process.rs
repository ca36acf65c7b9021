//! The router that is measured: this program, in a process of its own.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use console::protocol::Message;
use lab::Lab;
use rustix::process::{Pid, Signal, kill_process};

/// How long a router may take to start.
const STARTED_WITHIN: Duration = Duration::from_secs(20);

/// A router of this program, in a process of its own.
pub(super) struct Router {
    child: Child,
    folder: PathBuf,
}

impl Router {
    /// Starts it in the host `router` with this configuration and these `--port`s, and waits until
    /// it answers.
    pub(super) fn start(lab: &Lab, config: &str, ports: &[String]) -> Result<Self, String> {
        let runtime = crate::reach::runtime();
        sweep(&runtime);
        let folder = runtime.join(format!("ferroute-{}", lab.name()));
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(failed)?;
        let (file, control) = (folder.join("bench.rsc"), folder.join("control.sock"));
        fs::write(&file, config).map_err(failed)?;
        let log = fs::File::create(folder.join("log")).map_err(failed)?;
        let program = std::env::current_exe().map_err(|error| format!("our program: {error}"))?;
        let mut command = lab
            .command("router", &program.to_string_lossy())
            .map_err(|error| error.to_string())?;
        command.arg("run").arg("--config").arg(&file);
        for port in ports {
            command.args(["--port", port]);
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
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It gives its devices back and ends; one that has ended already is only waited for.
            let _ = kill_process(pid, Signal::TERM);
        }
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
    crate::client::answer(control, &request)
}

/// Nanoseconds that the thread of this folder of `/proc` has run.
pub(super) fn run_time(thread: &Path) -> u64 {
    let text = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    let first = text.split_ascii_whitespace().next();
    first.and_then(|ns| ns.parse().ok()).unwrap_or(0)
}
