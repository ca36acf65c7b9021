//! Helpers: labs, hosts, and a running router.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::testing::skip;
use lab::{Holding, Lab, Layout, Life, Options};
use rustix::process::{Pid, Signal, kill_process};

/// Port drivers, as prefixes of device names.
pub(crate) const PACKET: &str = "packet";
pub(crate) const XDP: &str = "xdp";
pub(crate) const XDP_GENERIC: &str = "xdp-generic";
pub(crate) const XDP_NATIVE: &str = "xdp-native";

/// Timeout of every wait. No test asserts speed, so the value only bounds how long a fault hangs: a busy machine of two
/// cores needs 25 s to start an unoptimised router with 20,000 rows.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Bounds of the interval between two questions about one condition.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);
const LONGEST_INTERVAL: Duration = Duration::from_millis(250);

/// Starts a lab in the best way that this machine supports. Skips the test and returns `None` if it supports none.
pub(crate) fn lab(test: &str, layout: &Layout) -> Option<Lab> {
    match Holding::choose() {
        Ok(holding) => Some(lab_held(test, layout, holding)),
        Err(error) => {
            skip(test, &error.to_string());
            None
        }
    }
}

/// Starts a lab held in this way.
pub(crate) fn lab_held(test: &str, layout: &Layout, holding: Holding) -> Lab {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("t{}-{number}", std::process::id());
    let options = Options {
        name: Some(name),
        life: Life::Owned,
        holding: Some(holding),
        belongings: Vec::new(),
    };
    Lab::up(layout, &options).unwrap_or_else(|error| panic!("{test}: {error}"))
}

/// Returns the built-in layout of this name.
pub(crate) fn layout(name: &str) -> &'static Layout {
    lab::layout(name).expect("a layout that comes with ferroute")
}

/// Returns true if these programs are installed; otherwise skips the test.
pub(crate) fn have(test: &str, programs: &[&str]) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&folders)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .collect();
    let missing = |program: &&&str| !folders.iter().any(|folder| folder.join(program).exists());
    match programs.iter().find(missing) {
        Some(program) => {
            skip(test, &format!("`{program}` is not installed"));
            false
        }
        None => true,
    }
}

/// Returns true if ports of this driver can be opened in this lab; otherwise skips the test.
pub(crate) fn driver_works(test: &str, lab: &Lab, driver: &str) -> bool {
    let reason = match driver {
        "tap" => File::options()
            .read(true)
            .write(true)
            .open("/dev/net/tun")
            .err(),
        PACKET => None,
        _ if lab.holding() == Holding::Named => None,
        _ => Some(std::io::Error::other("XDP needs root")),
    };
    if let Some(reason) = &reason {
        skip(test, &format!("{driver} ports: {reason}"));
    }
    reason.is_none()
}

/// Runs a command line in a host. Spaces separate its words; there is no quoting.
pub(crate) fn output(lab: &Lab, host: &str, line: &str) -> Output {
    let argv: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
    let mut command = lab.command_line(host, &argv).expect("a host of the layout");
    command
        .stdin(Stdio::null())
        .output()
        .expect("nsenter is there: it made the lab")
}

/// Runs a command line in a host, which must succeed. Returns its output.
pub(crate) fn run(lab: &Lab, host: &str, line: &str) -> String {
    let output = output(lab, host, line);
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{host}: {line}\n{said}{complaint}");
    said
}

/// Runs a shell script in a host, which must succeed. Returns its output.
pub(crate) fn shell(lab: &Lab, host: &str, script: &str) -> String {
    let argv = ["sh", "-ec", script].map(str::to_owned);
    let mut command = lab.command_line(host, &argv).expect("a host of the layout");
    let output = command
        .stdin(Stdio::null())
        .output()
        .expect("nsenter is there: it made the lab");
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success(),
        "{host}: {script}\n{said}{complaint}"
    );
    said
}

/// Runs a command line in a host. Returns true if it succeeded.
pub(crate) fn works(lab: &Lab, host: &str, line: &str) -> bool {
    output(lab, host, line).status.success()
}

/// Converts the output of a program to text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until a condition holds; fails after [`PATIENCE`].
pub(crate) fn until(what: &str, condition: impl FnMut() -> bool) {
    assert!(
        holds_within(PATIENCE, condition),
        "waited for {PATIENCE:?} until {what}"
    );
}

/// Asks a condition until it holds, or until `limit` has passed. Returns true if it holds.
///
/// Most conditions start a program. The interval is four times as long as the answer took, so that tests that wait
/// leave the processors to others.
pub(crate) fn holds_within(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    loop {
        let asked = Instant::now();
        if condition() {
            return true;
        }
        if begin.elapsed() >= limit {
            return false;
        }
        let interval = asked.elapsed() * 4;
        thread::park_timeout(interval.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL));
    }
}

/// The binary under test.
pub(crate) fn binary() -> PathBuf {
    let built = || env!("CARGO_BIN_EXE_ferroute").into();
    env::var_os("FERROUTE_BINARY").map_or_else(built, PathBuf::from)
}

/// Parameters of a router's start.
#[derive(Clone, Debug)]
pub(crate) struct Start<'a> {
    /// Host in which the router runs.
    pub(crate) host: &'a str,
    /// Text of the configuration.
    pub(crate) config: &'a str,
    /// Ports as `PORT=driver:DEVICE`.
    pub(crate) ports: Vec<String>,
    /// State folder; `None` for a router without state.
    pub(crate) state: Option<&'a Path>,
    /// Further arguments of `ferroute run`.
    pub(crate) arguments: &'a [&'a str],
    /// Variables of its environment.
    pub(crate) environment: &'a [(&'a str, &'a str)],
}

impl<'a> Start<'a> {
    /// Parameters for the host `router`, with `ether1`, `ether2`, and `ether3` if the configuration names it, as ports
    /// of this driver.
    pub(crate) fn with(driver: &str, config: &'a str) -> Self {
        let named = ["ether1", "ether2", "ether3"].into_iter();
        let named = named.filter(|port| *port != "ether3" || config.contains(port));
        Self {
            host: "router",
            config,
            ports: named
                .map(|port| format!("{port}={driver}:{port}"))
                .collect(),
            state: None,
            arguments: &[],
            environment: &[],
        }
    }
}

/// A running `ferroute run`; it ends, and its folder is removed, when the value is dropped.
#[derive(Debug)]
pub(crate) struct Router {
    child: Child,
    folder: Folder,
}

/// A router that ended before it was ready.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit status.
    pub(crate) status: ExitStatus,
    /// Standard error output.
    pub(crate) log: String,
}

impl Router {
    /// Starts a router and waits until its console answers.
    pub(crate) fn start(lab: &Lab, start: &Start<'_>) -> Self {
        Self::try_start(lab, start)
            .unwrap_or_else(|ended| panic!("{}: {}", ended.status, ended.log))
    }

    /// Starts a router that may refuse; waits until its console answers.
    pub(crate) fn try_start(lab: &Lab, start: &Start<'_>) -> Result<Self, Ended> {
        let mut router = Self::spawn(lab, start);
        let begin = Instant::now();
        loop {
            if let Some(status) = router.child.try_wait().expect("it is our child") {
                return Err(Ended {
                    status,
                    log: router.log(),
                });
            }
            if router.command("/system/identity/print").status.success() {
                router.wait_for_bridges();
                router.wait_for_ipv6();
                return Ok(router);
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "its console does not answer:\n{}",
                router.log()
            );
            thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// Bridge ports forward if no BPDU arrived for three seconds (IEEE 802.1Q, 13.25). Waits for ports whose links are
    /// up, for a limited time.
    fn wait_for_bridges(&self) {
        let ports = || self.rows("/interface/bridge/port/print");
        let used = |row: &serde_json::Value| row["inactive"] != "true" && row["disabled"] != "true";
        let waits = || {
            let monitor = "/interface/bridge/port/monitor [find] once";
            let shown = text(&self.command(monitor).stdout);
            let mut lines = shown.lines().map(str::trim);
            let forwarding = lines.find(|line| line.starts_with("forwarding:"));
            let forwarding = forwarding.map_or(0, |line| line.matches("yes").count());
            ports().iter().filter(|row| used(row)).count() > forwarding
        };
        if ports().is_empty() {
            return;
        }
        holds_within(Duration::from_secs(10), || !waits());
    }

    /// An IPv6 address becomes usable a second after its link comes up, by duplicate address detection (RFC 4862, 5.4).
    /// Waits for all addresses for a limited time, as a link may be down on purpose.
    fn wait_for_ipv6(&self) {
        let begin = Instant::now();
        let global = |row: &serde_json::Value| row["global"] == "true" && row["disabled"] != "true";
        let rows = self.rows("/ipv6/address/print");
        for row in rows.iter().filter(|row| global(row)) {
            let (address, interface) = (row["address"].as_str(), row["interface"].as_str());
            let address = address.and_then(|address| address.split('/').next());
            let (address, interface) = (address.unwrap_or_default(), interface.unwrap_or_default());
            // The network of the address is connected earlier. A trace counts no packets, and needs no answer.
            let trace = format!(
                "/tool/trace in-interface={interface} src-address=fe80::77 dst-address={address}"
            );
            let own = format!("{address}/128 of table");
            let left = Duration::from_secs(5).saturating_sub(begin.elapsed());
            holds_within(left, || text(&self.command(&trace).stdout).contains(&own));
        }
    }

    /// Starts a router without waiting.
    pub(crate) fn spawn(lab: &Lab, start: &Start<'_>) -> Self {
        let folder = Folder::new();
        let config = folder.file("config.rsc");
        fs::write(&config, start.config).expect("a folder of our own");
        let log = File::create(folder.file("log")).expect("a folder of our own");
        let binary = binary();
        let program = binary.to_str().expect("a path in UTF-8");
        let mut command = lab
            .command(start.host, program)
            .expect("a host of the layout");
        command.args(["run", "--config"]).arg(config);
        command.arg("--control").arg(folder.file("control"));
        command
            .arg("--state")
            .arg(start.state.unwrap_or(Path::new(":memory:")));
        if let Some(state) = start.state {
            command.arg("--store-key").arg(state.with_extension("key"));
        }
        for port in &start.ports {
            command.args(["--port", port]);
        }
        command.args(start.arguments);
        command.envs(start.environment.iter().copied());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = command.spawn().expect("nsenter is there: it made the lab");
        Self { child, folder }
    }

    /// Imports the certificates of a file as trusted.
    pub(crate) fn import(&self, file: &Path) {
        let pem = fs::read_to_string(file).expect("a file of our own");
        let pem = pem.replace('\r', "").replace('\n', "\\n");
        self.exec(&format!("/file/add name=imported.pem contents=\"{pem}\""));
        self.exec("/certificate/import file-name=imported.pem passphrase=\"\"");
    }

    /// Returns the process id.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Runs a console command, which must succeed. Returns its output.
    pub(crate) fn exec(&self, line: &str) -> String {
        let output = self.command(line);
        let (said, complaint) = (text(&output.stdout), text(&output.stderr));
        assert!(
            output.status.success(),
            "{line}\n{said}{complaint}\n{}",
            self.log()
        );
        said
    }

    /// Returns the rows of a `print` command, as JSON.
    pub(crate) fn rows(&self, print: &str) -> Vec<serde_json::Value> {
        let output = self.client(&["--json", print]);
        let (said, complaint) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{print}\n{said}{complaint}");
        match serde_json::from_str(&said).expect("--json prints JSON") {
            serde_json::Value::Array(rows) => rows,
            row => vec![row],
        }
    }

    /// Returns a number of the row with this name, or of the only row.
    pub(crate) fn number(&self, print: &str, name: &str, property: &str) -> u64 {
        let value = self.value(print, name, property);
        value
            .parse()
            .unwrap_or_else(|_| panic!("{print} {name} {property}: {value}"))
    }

    /// Returns a value of the row with this name, or of the only row.
    pub(crate) fn value(&self, print: &str, name: &str, property: &str) -> String {
        let rows = self.rows(print);
        let row = rows
            .iter()
            .find(|row| rows.len() == 1 || row["name"] == name);
        let value = row
            .and_then(|row| row.get(property))
            .and_then(|value| value.as_str());
        value
            .unwrap_or_else(|| panic!("{print} {name}: no {property} in {rows:#?}"))
            .to_owned()
    }

    /// Stops the router in order. Returns its exit status.
    pub(crate) fn stop(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Kills the router and waits until the process has ended.
    pub(crate) fn kill(mut self) {
        self.begin_kill();
        self.wait();
    }

    /// Kills the router without waiting.
    pub(crate) fn begin_kill(&mut self) {
        self.signal(Signal::KILL);
    }

    /// Kills the router after a delay, unless it ends before.
    pub(crate) fn kill_after(mut self, delay: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < delay && self.child.try_wait().expect("our child").is_none() {
            thread::park_timeout(Duration::from_micros(100));
        }
        self.signal(Signal::KILL);
        self.wait();
    }

    /// Returns the processor time used so far, in clock ticks of 10 ms.
    pub(crate) fn ticks(&self) -> u64 {
        ticks_of(&format!("/proc/{}/stat", self.child.id()))
    }

    /// Returns the processor time of the threads with this name, in clock ticks of 10 ms.
    pub(crate) fn thread_ticks(&self, name: &str) -> u64 {
        let stat = |thread: &String| format!("/proc/{}/task/{thread}/stat", self.child.id());
        let threads = self.threads(name);
        threads.iter().map(|thread| ticks_of(&stat(thread))).sum()
    }

    /// Returns the resident memory in KB.
    pub(crate) fn resident_kb(&self) -> u64 {
        let size = self.status("VmRSS:");
        let number = size.strip_suffix(" kB").and_then(|kb| kb.parse().ok());
        number.expect("a number of KB")
    }

    /// Returns a line of the process's status by its name (proc_pid_status(5)).
    pub(crate) fn status(&self, name: &str) -> String {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.expect("every process has such a line")
            .trim()
            .to_owned()
    }

    /// Returns the ids of the threads with this name, or of all threads if the name is empty.
    pub(crate) fn threads(&self, name: &str) -> BTreeSet<String> {
        let tasks = format!("/proc/{}/task", self.child.id());
        let tasks = fs::read_dir(tasks).expect("it runs").map_while(Result::ok);
        let named = tasks.filter(|task| {
            // A thread that has just ended has no file.
            let comm = fs::read_to_string(task.path().join("comm"));
            comm.is_ok_and(|comm| name.is_empty() || comm.trim_end() == name)
        });
        named
            .map(|task| task.file_name().to_string_lossy().into_owned())
            .collect()
    }

    /// Returns a status line of each of these threads by its name.
    pub(crate) fn statuses(&self, threads: &BTreeSet<String>, name: &str) -> Vec<String> {
        let status = |thread: &String| {
            let path = format!("/proc/{}/task/{thread}/status", self.child.id());
            let status = fs::read_to_string(path).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().to_owned())
        };
        threads.iter().filter_map(status).collect()
    }

    /// Returns the standard error output so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.file("log")).unwrap_or_default()
    }

    /// Returns the path of the console's socket.
    pub(crate) fn control(&self) -> PathBuf {
        self.folder.file("control")
    }

    pub(crate) fn command(&self, line: &str) -> Output {
        self.client(&[line])
    }

    fn client(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(binary());
        command
            .arg("exec")
            .arg("--control")
            .arg(self.control())
            .args(arguments);
        command
            .stdin(Stdio::null())
            .output()
            .expect("the binary under test exists")
    }

    fn signal(&mut self, signal: Signal) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // The process id is not reused before `wait`.
        let _ = kill_process(pid.expect("a child has a number"), signal);
    }

    fn wait(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status;
            }
            if begin.elapsed() > PATIENCE {
                self.signal(Signal::KILL);
                panic!("it does not end:\n{}", self.log());
            }
            thread::park_timeout(Duration::from_millis(1));
        }
    }
}

/// Returns user plus kernel ticks of a process or thread: fields 14 and 15 of proc_pid_stat(5).
fn ticks_of(path: &str) -> u64 {
    let stat = fs::read_to_string(path).expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("the name is in parentheses");
    let used = |field: &str| field.parse::<u64>().expect("a number of ticks");
    let fields = fields.split_ascii_whitespace().skip(11).take(2);
    fields.map(used).sum()
}

impl Drop for Router {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("-- the router's log --\n{}", self.log());
        }
        // First an orderly stop, so that the router restores its devices.
        self.signal(Signal::TERM);
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begin.elapsed() < PATIENCE {
            thread::park_timeout(Duration::from_millis(1));
        }
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// A server in a host; it ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct Server(Child);

impl Server {
    /// Starts a command line in a host, and waits until it prints a line that contains `sign`.
    pub(crate) fn start(lab: &Lab, host: &str, line: &str, sign: &str) -> Self {
        let argv: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let command = lab.command_line(host, &argv);
        Self::begin(command.expect("a host of the layout"), sign)
    }

    /// Starts a command, and waits until it prints a line that contains `sign`.
    pub(crate) fn begin(mut command: Command, sign: &str) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("its program exists");
        let output = child.stdout.take().expect("asked for above");
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let seen = lines.any(|line| line.contains(sign));
        // Keeps reading the output: a full pipe would block the server.
        thread::spawn(move || lines.for_each(drop));
        assert!(seen, "{command:?} never said `{sign}`");
        Self(child)
    }

    /// Returns true if the command has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only if the server has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A temporary folder; it is removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates a folder.
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("ferroute-test-{}-{number}", std::process::id());
        let path = env::temp_dir().join(name);
        fs::create_dir(&path).expect("the temporary folder takes ours");
        Self(path)
    }

    /// Returns the path of a file in the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // An error leaves the folder; a test has no better way to report it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
