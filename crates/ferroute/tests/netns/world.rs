//! A lab with the router running in it.

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

/// The port drivers, as they are spelt before a device's name.
pub(crate) const PACKET: &str = "packet";
pub(crate) const XDP: &str = "xdp";
pub(crate) const XDP_GENERIC: &str = "xdp-generic";
pub(crate) const XDP_NATIVE: &str = "xdp-native";

/// How long a condition may take that has no reason to take any time, on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A lab for this test, in the best way this machine has; `None`, and noted, when it has none.
pub(crate) fn lab(test: &str, layout: &Layout) -> Option<Lab> {
    match Holding::choose() {
        Ok(holding) => Some(lab_held(test, layout, holding)),
        Err(error) => {
            skip(test, &error.to_string());
            None
        }
    }
}

/// As [`lab`], but held in this way.
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

/// The built-in layout of this name.
pub(crate) fn layout(name: &str) -> &'static Layout {
    lab::layout(name).expect("a layout that comes with ferroute")
}

/// Can this test use these programs? Noted when not.
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

/// Can ports of this driver be opened in a lab held like this? Noted when not.
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

/// As [`output`], for a command that must succeed; what it printed.
pub(crate) fn run(lab: &Lab, host: &str, line: &str) -> String {
    let output = output(lab, host, line);
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{host}: {line}\n{said}{complaint}");
    said
}

/// As [`run`], for a script of the shell.
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

/// As [`output`]: did it succeed?
pub(crate) fn works(lab: &Lab, host: &str, line: &str) -> bool {
    output(lab, host, line).status.success()
}

/// Text of a program that writes ASCII.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until this becomes true.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(
            begin.elapsed() < PATIENCE,
            "waited for {PATIENCE:?} until {what}"
        );
        thread::park_timeout(Duration::from_millis(10));
    }
}

/// The binary under test.
pub(crate) fn binary() -> PathBuf {
    let built = || env!("CARGO_BIN_EXE_ferroute").into();
    env::var_os("FERROUTE_BINARY").map_or_else(built, PathBuf::from)
}

/// How to start a router.
#[derive(Clone, Debug)]
pub(crate) struct Start<'a> {
    /// The host to run it in.
    pub(crate) host: &'a str,
    /// The text of its configuration.
    pub(crate) config: &'a str,
    /// `PORT=driver:DEVICE` each.
    pub(crate) ports: Vec<String>,
    /// Where its state is; `None`: nowhere.
    pub(crate) state: Option<&'a Path>,
    /// Further arguments of `ferroute run`.
    pub(crate) arguments: &'a [&'a str],
}

impl<'a> Start<'a> {
    /// In the host `router`, `ether1` and `ether2` as ports of this driver, and `ether3` where the configuration
    /// names it.
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
        }
    }
}

/// A running `ferroute run`; ended and tidied away with the value.
#[derive(Debug)]
pub(crate) struct Router {
    child: Child,
    folder: Folder,
}

/// A router that ended before it was ready.
#[derive(Debug)]
pub(crate) struct Ended {
    /// How.
    pub(crate) status: ExitStatus,
    /// Its standard error.
    pub(crate) log: String,
}

impl Router {
    /// Starts one and waits until its console answers.
    pub(crate) fn start(lab: &Lab, start: &Start<'_>) -> Self {
        Self::try_start(lab, start)
            .unwrap_or_else(|ended| panic!("{}: {}", ended.status, ended.log))
    }

    /// As [`Self::start`], where it may refuse.
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

    /// Ports of bridges forward when nobody has spoken of a spanning tree there for three seconds (IEEE 802.1Q,
    /// 13.25). Waits for those whose links are up, but not for long.
    fn wait_for_bridges(&self) {
        let begin = Instant::now();
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
        while waits() && begin.elapsed() < Duration::from_secs(10) {
            thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// An IPv6 address is used a second after its link came up, when nobody else turned out to have
    /// it (RFC 4862, 5.4). Waits for all of them, but not for long: a link may be down on purpose.
    fn wait_for_ipv6(&self) {
        let begin = Instant::now();
        let global = |row: &serde_json::Value| row["global"] == "true" && row["disabled"] != "true";
        let rows = self.rows("/ipv6/address/print");
        for row in rows.iter().filter(|row| global(row)) {
            let (address, interface) = (row["address"].as_str(), row["interface"].as_str());
            let address = address.and_then(|address| address.split('/').next());
            let (address, interface) = (address.unwrap_or_default(), interface.unwrap_or_default());
            // Its network is there before. A trace counts nothing, and nobody has to answer.
            let trace = format!(
                "/tool/trace in-interface={interface} src-address=fe80::77 dst-address={address}"
            );
            let own = format!("{address}/128 of table");
            while !text(&self.command(&trace).stdout).contains(&own)
                && begin.elapsed() < Duration::from_secs(5)
            {
                thread::park_timeout(Duration::from_millis(10));
            }
        }
    }

    /// Starts one and waits for nothing.
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
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = command.spawn().expect("nsenter is there: it made the lab");
        Self { child, folder }
    }

    /// Has the router trust the certificates of a file.
    pub(crate) fn import(&self, file: &Path) {
        let pem = fs::read_to_string(file).expect("a file of our own");
        let pem = pem.replace('\r', "").replace('\n', "\\n");
        self.exec(&format!("/file/add name=imported.pem contents=\"{pem}\""));
        self.exec("/certificate/import file-name=imported.pem passphrase=\"\"");
    }

    /// One console command: what it printed. It must succeed.
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

    /// The rows that a `print` command answers with, as JSON.
    pub(crate) fn rows(&self, print: &str) -> Vec<serde_json::Value> {
        let output = self.client(&["--json", print]);
        let (said, complaint) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{print}\n{said}{complaint}");
        match serde_json::from_str(&said).expect("--json prints JSON") {
            serde_json::Value::Array(rows) => rows,
            row => vec![row],
        }
    }

    /// A number of one row: the one whose `name` is this, or the only one.
    pub(crate) fn number(&self, print: &str, name: &str, property: &str) -> u64 {
        let value = self.value(print, name, property);
        value
            .parse()
            .unwrap_or_else(|_| panic!("{print} {name} {property}: {value}"))
    }

    /// A value of one row: the one whose `name` is this, or the only one.
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

    /// Asks it to end, waits, and says how it ended.
    pub(crate) fn stop(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Ends it without a chance to tidy.
    pub(crate) fn kill(mut self) {
        self.begin_kill();
        self.wait();
    }

    /// As [`Self::kill`], but does not wait until it has ended.
    pub(crate) fn begin_kill(&mut self) {
        self.signal(Signal::KILL);
    }

    /// As [`Self::kill`], after so long or when it ends by itself.
    pub(crate) fn kill_after(mut self, delay: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < delay && self.child.try_wait().expect("our child").is_none() {
            thread::park_timeout(Duration::from_micros(100));
        }
        self.signal(Signal::KILL);
        self.wait();
    }

    /// The processor time that it has used so far, in clock ticks of a hundredth of a second.
    pub(crate) fn ticks(&self) -> u64 {
        ticks_of(&format!("/proc/{}/stat", self.child.id()))
    }

    /// The same of its threads of this name.
    pub(crate) fn thread_ticks(&self, name: &str) -> u64 {
        let stat = |thread: &String| format!("/proc/{}/task/{thread}/stat", self.child.id());
        let threads = self.threads(name);
        threads.iter().map(|thread| ticks_of(&stat(thread))).sum()
    }

    /// The memory that it has, in KB.
    pub(crate) fn resident_kb(&self) -> u64 {
        let size = self.status("VmRSS:");
        let number = size.strip_suffix(" kB").and_then(|kb| kb.parse().ok());
        number.expect("a number of KB")
    }

    /// What the kernel says of the process (proc_pid_status(5)), by the name of the line.
    pub(crate) fn status(&self, name: &str) -> String {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.expect("every process has such a line")
            .trim()
            .to_owned()
    }

    /// The numbers of its threads of this name, or of all without one.
    pub(crate) fn threads(&self, name: &str) -> BTreeSet<String> {
        let tasks = format!("/proc/{}/task", self.child.id());
        let tasks = fs::read_dir(tasks).expect("it runs").map_while(Result::ok);
        let named = tasks.filter(|task| {
            // One that ends meanwhile has none.
            let comm = fs::read_to_string(task.path().join("comm"));
            comm.is_ok_and(|comm| name.is_empty() || comm.trim_end() == name)
        });
        named
            .map(|task| task.file_name().to_string_lossy().into_owned())
            .collect()
    }

    /// What the kernel says of each of these threads, by the name of the line.
    pub(crate) fn statuses(&self, threads: &BTreeSet<String>, name: &str) -> Vec<String> {
        let status = |thread: &String| {
            let path = format!("/proc/{}/task/{thread}/status", self.child.id());
            let status = fs::read_to_string(path).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().to_owned())
        };
        threads.iter().filter_map(status).collect()
    }

    /// What it wrote to its standard error so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.file("log")).unwrap_or_default()
    }

    /// The socket by which its console is reached.
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
        // Until we have waited for it, the number is its own.
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

/// Ticks in user and in kernel mode, of a process or a thread: fields 14 and 15 of proc_pid_stat(5).
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
        // It gets its time to give everything back, as from anybody who ends it.
        self.signal(Signal::TERM);
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begin.elapsed() < PATIENCE {
            thread::park_timeout(Duration::from_millis(1));
        }
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// A server in a host; ended with the value.
#[derive(Debug)]
pub(crate) struct Server(Child);

impl Server {
    /// Starts it in a host and waits until it prints a line that contains `sign`.
    pub(crate) fn start(lab: &Lab, host: &str, line: &str, sign: &str) -> Self {
        let argv: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let command = lab.command_line(host, &argv);
        Self::begin(command.expect("a host of the layout"), sign)
    }

    /// Starts this command and waits until it prints a line that contains `sign`.
    pub(crate) fn begin(mut command: Command, sign: &str) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("its program exists");
        let output = child.stdout.take().expect("asked for above");
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let seen = lines.any(|line| line.contains(sign));
        // The rest is read too, so that it never waits for us.
        thread::spawn(move || lines.for_each(drop));
        assert!(seen, "{command:?} never said `{sign}`");
        Self(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It fails only if the server has ended, which is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder of this test's own; removed with the value.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes one.
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("ferroute-test-{}-{number}", std::process::id());
        let path = env::temp_dir().join(name);
        fs::create_dir(&path).expect("the temporary folder takes ours");
        Self(path)
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is found by its name; a test has no better place to complain.
        let _ = fs::remove_dir_all(&self.0);
    }
}
