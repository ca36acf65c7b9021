//! Tests the program on a full or damaged disk, and its start after a kill. The state folder is on a small file system
//! in a mount namespace.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const FERROUTE: &str = env!("CARGO_BIN_EXE_ferroute");

/// A small file system in a mount namespace, which ends with the process that holds it.
struct Disk {
    holder: Child,
    folder: PathBuf,
}

impl Disk {
    /// Creates the file system; `None` if the kernel refuses the namespace.
    fn new(name: &str) -> Option<Self> {
        let folder = format!("ferroute-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder of our own");
        let script = "mount -t tmpfs -o size=12m ferroute-test \"$1\" && echo mounted && exec cat";
        let mut holder = Command::new("unshare")
            .args(["-Urm", "sh", "-c", script, "sh"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut line = String::new();
        let mut out = BufReader::new(holder.stdout.take().expect("it is piped"));
        let _ = out.read_line(&mut line);
        let disk = Self { holder, folder };
        if line.trim() == "mounted" {
            return Some(disk);
        }
        eprintln!("skipped: no namespace with a file system of its own can be had here");
        None
    }

    fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// Returns a command that runs in the disk's namespace.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let holder = self.holder.id().to_string();
        command
            .args(["-U", "-m", "--preserve-credentials", "-t", &holder, "--"])
            .arg(program);
        command
    }

    /// Fills the disk to its last byte, or frees the space again.
    fn fill(&self, full: bool) {
        let filler = self.folder.join("filler");
        let script = match full {
            true => "cat /dev/zero > \"$1\"; true",
            false => "rm \"$1\"",
        };
        let mut command = self.command("sh");
        let status = command.args(["-c", script, "sh"]).arg(filler);
        assert!(
            status
                .stderr(Stdio::null())
                .status()
                .expect("a shell")
                .success()
        );
    }

    /// Starts the router and waits until it is ready. Returns the output before that.
    fn start(&self) -> (Process, String) {
        self.start_with(&[])
    }

    fn start_with(&self, more: &[&str]) -> (Process, String) {
        let mut child = self
            .command(FERROUTE)
            .args(["run", "--no-host", "--state"])
            .arg(self.state())
            .args(more)
            .arg("--store-key")
            .arg(self.folder.with_extension("key"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("nsenter");
        let log = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut lines = log.lines().map_while(Result::ok);
        let mut before = String::new();
        let ready = lines.by_ref().any(|line| {
            before += &line;
            before.push('\n');
            line.contains("ready:")
        });
        assert!(ready, "{before}");
        // Keeps reading the log: a full pipe would block the router.
        std::thread::spawn(move || lines.for_each(drop));
        (Process(child), before)
    }

    fn exec(&self, line: &str) -> (bool, String) {
        let mut command = self.command(FERROUTE);
        let output = command
            .args(["exec", "--state"])
            .arg(self.state())
            .arg(line);
        let Output {
            status,
            stdout,
            stderr,
        } = output.output().expect("nsenter");
        let text = [stdout, stderr].concat();
        (
            status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The holder ends at the end of its input.
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_file(self.folder.with_extension("key"));
    }
}

/// A running router, which ends when the value is dropped.
struct Process(Child);

impl Process {
    fn signal(&mut self, signal: &str) {
        let number = self.0.id().to_string();
        let mut kill = Command::new("kill");
        let status = kill.args(["-s", signal, &number]).status();
        assert!(status.is_ok_and(|status| status.success()));
        self.0.wait().expect("it was started here");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn on_a_full_disk_the_router_runs_and_refuses_changes() {
    let Some(disk) = Disk::new("full") else {
        return;
    };
    let (mut first, _) = disk.start();
    let (done, said) = disk.exec("/system/identity/set name=kept");
    assert!(done, "{said}");
    first.signal("TERM");
    disk.fill(true);

    let (_second, _) = disk.start();

    assert!(
        disk.exec(":put [/system/identity/get name]")
            .1
            .contains("kept")
    );
    // The database file has some free space of its own, so several changes may still fit.
    let source = "x".repeat(1000);
    let many =
        format!(":for i from=1 to=8000 do={{/system/script/add name=\"s$i\" source={source}}}");
    let (done, said) = disk.exec(&many);
    assert!(!done, "it was written to a full disk");
    let path = path_of(&disk.state());
    assert!(said.contains(&path), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    assert!(
        disk.exec(":put [/system/identity/get name]")
            .1
            .contains("kept")
    );

    disk.fill(false);
    let (done, said) = disk.exec("/system/identity/set name=other");
    assert!(done, "{said}");
}

#[test]
fn only_the_start_after_a_kill_reports_the_kill() {
    let Some(disk) = Disk::new("killed") else {
        return;
    };
    let words = "router was rebooted without proper shutdown";
    let (mut first, _) = disk.start();
    let told = |disk: &Disk| disk.exec("/log/print").1.contains(words);
    assert!(!told(&disk));
    first.signal("KILL");

    let (mut second, _) = disk.start();
    assert!(told(&disk));
    second.signal("TERM");

    let (_third, _) = disk.start();
    assert!(!told(&disk));
}

#[test]
fn on_a_full_disk_items_can_be_removed_and_changes_undone() {
    let Some(disk) = Disk::new("free") else {
        return;
    };
    let (_router, _) = disk.start();
    let source = "x".repeat(1000);
    let add = |count: usize| {
        format!(":for i from=1 to={count} do={{/system/script/add name=\"s$i\" source={source}}}")
    };
    let (done, said) = disk.exec(&add(50));
    assert!(done, "{said}");
    disk.fill(true);
    // Uses up the free space within the files, by ever smaller groups of changes.
    let mut next = 100;
    for size in [4000, 200, 20, 1] {
        loop {
            let last = next + size - 1;
            let (done, said) = disk.exec(&format!(
                ":for i from={next} to={last} do={{/system/script/add name=\"s$i\" source={source}}}"
            ));
            next += size;
            if !done {
                assert!(said.contains("No space left on device"), "{said}");
                break;
            }
        }
    }
    // A change that was not stored is not in effect either.
    let failed = next - 1;
    let name = disk
        .exec(&format!(":put [:len [/system/script/find name=s{failed}]]"))
        .1;
    assert_eq!(name.trim(), "0", "s{failed}");

    for number in 1..=20 {
        let (done, said) = disk.exec(&format!("/system/script/remove s{number}"));
        assert!(done, "{number}: {said}");
    }
    let (done, said) = disk.exec("/undo");
    assert!(done, "{said}");
    let (done, said) = disk.exec("/system/script/remove [find]");
    assert!(done, "{said}");
    let (done, said) = disk.exec("/undo");
    assert!(done, "{said}");

    let name = disk.exec(":put [:len [/system/script/find name=s20]]").1;
    assert_eq!(name.trim(), "1", "it was taken back");
    let name = disk.exec(":put [:len [/system/script/find name=s19]]").1;
    assert_eq!(name.trim(), "0");
}

/// Overwrites a part of the database and truncates it.
fn damage(disk: &Disk) {
    let script = "printf x | dd of=\"$1\" bs=1 seek=20000 conv=notrunc; truncate -s 200000 \"$1\"";
    let mut cut = disk.command("sh");
    let cut = cut.args(["-c", script, "sh", &path_of(&disk.state())]);
    assert!(
        cut.stderr(Stdio::null())
            .status()
            .expect("a shell")
            .success()
    );
}

#[test]
fn a_router_with_a_damaged_store_runs_and_accepts_changes_after_accept() {
    let Some(disk) = Disk::new("damaged") else {
        return;
    };
    let identity = |disk: &Disk| disk.exec(":put [/system/identity/get name]").1;
    for accept in ["--recover", "/system/configuration/accept"] {
        let (mut first, _) = disk.start();
        let (done, said) = disk.exec("/system/identity/set name=kept");
        assert!(done, "{accept}: {said}");
        // After a kill the last changes are only in the ledger, in no snapshot.
        first.signal("KILL");
        damage(&disk);

        let (mut second, before) = disk.start();

        assert!(before.contains("refuses changes"), "{accept}: {before}");
        assert_eq!(identity(&disk).trim(), "kept", "{accept}");
        let (done, said) = disk.exec("/system/identity/set name=other");
        assert!(
            !done && said.contains("ferroute run --recover"),
            "{accept}: {said}"
        );
        let shown = disk.exec("/system/configuration/print").1;
        assert!(shown.contains("fault: "), "{accept}: {shown}");
        let log = disk.exec("/log/print").1;
        assert!(
            log.contains("no acknowledged change is lost"),
            "{accept}: {log}"
        );

        let third = match accept.strip_prefix("--") {
            Some(_) => {
                second.signal("TERM");
                let (third, before) = disk.start_with(&[accept]);
                assert!(before.contains("recovered from"), "{accept}: {before}");
                third
            }
            None => {
                let (done, said) = disk.exec(accept);
                assert!(done && said.contains("recovered from"), "{accept}: {said}");
                second
            }
        };
        assert_eq!(identity(&disk).trim(), "kept", "{accept}");
        let (done, said) = disk.exec("/system/identity/set name=other");
        assert!(done, "{accept}: {said}");
        let shown = disk.exec("/system/configuration/print").1;
        assert!(!shown.contains("fault"), "{accept}: {shown}");
        drop(third);
    }
}

#[test]
fn a_router_that_stops_leaves_a_snapshot_of_its_last_change() {
    let Some(disk) = Disk::new("stopped") else {
        return;
    };
    let (mut first, _) = disk.start();
    assert!(disk.exec("/system/identity/set name=kept").0);
    first.signal("TERM");
    let gone = [
        path_of(&disk.state()),
        disk.state()
            .join("configuration.ledger")
            .display()
            .to_string(),
    ];
    let mut remove = disk.command("rm");
    assert!(remove.args(gone).status().expect("a shell").success());

    let (_second, _) = disk.start();

    assert_eq!(
        disk.exec(":put [/system/identity/get name]").1.trim(),
        "kept"
    );
}

fn path_of(state: &Path) -> String {
    state.join("configuration.redb").display().to_string()
}
