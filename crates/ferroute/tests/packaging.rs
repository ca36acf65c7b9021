//! Tests the files of `packaging/`: the systemd unit, the scripts, the Debian package and the container's start script.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

/// Returns the value of the first line `name=value` of a unit.
fn setting<'a>(unit: &'a str, name: &str) -> &'a str {
    let mut values = unit
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    values
        .next()
        .unwrap_or_else(|| panic!("the unit says {name}"))
}

#[test]
fn the_unit_names_the_created_user_and_grants_exactly_its_bounding_set() {
    let unit = fs::read_to_string(packaging().join("ferroute.service")).unwrap();
    let users = fs::read_to_string(packaging().join("sysusers.conf")).unwrap();

    let user = setting(&unit, "User");
    assert!(
        users
            .lines()
            .any(|line| line.starts_with(&format!("u {user} "))),
        "{users}"
    );
    assert_eq!(setting(&unit, "Group"), user);
    // Without AmbientCapabilities the service's user would have no capabilities.
    assert_eq!(
        setting(&unit, "AmbientCapabilities"),
        setting(&unit, "CapabilityBoundingSet")
    );
    // systemd passes the configuration as a credential, so the file may be readable by root only.
    let handed = setting(&unit, "LoadCredential").split(':').next().unwrap();
    let start = setting(&unit, "ExecStart");
    assert!(
        start.contains(&format!("${{CREDENTIALS_DIRECTORY}}/{handed} ")),
        "{start}"
    );
}

#[test]
fn configuration_files_of_the_package_are_installed() {
    let files = fs::read_to_string(packaging().join("debian/conffiles")).unwrap();
    let install = fs::read_to_string(packaging().join("install.sh")).unwrap();
    for file in files.lines() {
        assert!(install.contains(&format!("$DESTDIR{file}\"")), "{file}");
    }
}

/// A folder with the entries of `/sys/class/net`, and a fake `ferroute` that prints its arguments.
struct Node(PathBuf);

impl Node {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("devices")).expect("a folder of our own");
        let program = folder.join("ferroute");
        fs::write(&program, "#!/bin/sh\necho \"$*\"\n").expect("a file of our own");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
            .expect("a file of our own");
        Self(folder)
    }

    fn attach(&self, device: &str) {
        fs::create_dir(self.0.join("devices").join(device)).expect("a folder of our own");
    }

    fn start(&self, links: &str) -> Command {
        let path = format!(
            "{}:{}",
            self.0.display(),
            std::env::var("PATH").expect("tests have a PATH")
        );
        let mut command = Command::new("sh");
        command
            .arg(packaging().join("container/start"))
            .args(["--workers", "2"])
            .env("PATH", path)
            .env("DEVICES", self.0.join("devices"))
            .env("CLAB_INTFS", links)
            .stdout(Stdio::piped());
        command
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn said(output: &Output) -> &str {
    assert!(output.status.success(), "{output:?}");
    std::str::from_utf8(&output.stdout).expect("it prints ASCII")
}

#[test]
fn all_links_of_a_container_but_the_first_become_ports() {
    let node = Node::new("links");
    for device in ["lo", "eth0", "eth1", "eth2", "eth10"] {
        node.attach(device);
    }

    let output = node.start("").output().unwrap();

    assert_eq!(
        said(&output),
        "run --state /var/lib/ferroute --listen 0.0.0.0:0 --port ether10=eth10 \
         --port ether2=eth2 --port ether1=eth1 --workers 2\n"
    );
}

#[test]
fn a_container_waits_for_the_announced_number_of_links() {
    let node = Node::new("waits");
    node.attach("eth1");

    let started = node.start("2").spawn().unwrap();
    node.attach("eth2");
    let output = started.wait_with_output().unwrap();

    assert_eq!(
        said(&output),
        "run --state /var/lib/ferroute --port ether2=eth2 --port ether1=eth1 --workers 2\n"
    );
}

#[test]
fn only_a_first_build_prints_its_expected_time_and_disk_space() {
    let node = Node::new("ahead");
    let ahead = |file: &str, megabytes: &str| {
        let mut command = Command::new("sh");
        command.arg(packaging().join("ahead.sh"));
        command
            .args([file, "9", megabytes, "build"])
            .env("CARGO_TARGET_DIR", &node.0);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let there = node.0.join("ferroute");

    let first = ahead("/nowhere", "1");
    assert!(
        first.contains("min on this machine") && first.contains(" 1 MB in "),
        "{first}"
    );
    assert!(!first.contains("are free there"), "{first}");
    assert!(ahead("/nowhere", "999999999").contains(" MB are free there\n"));
    assert_eq!(ahead(there.to_str().unwrap(), "999999999"), "");
}

#[test]
fn a_comparison_without_a_valid_commit_is_refused_with_the_reason() {
    for (commit, complaint) in [
        (
            "",
            "which commit? For example: make bench-compare BASE=HEAD~1\n",
        ),
        ("no-such-commit", "no commit is called no-such-commit\n"),
    ] {
        let mut command = Command::new("sh");
        command.arg(packaging().join("base.sh")).arg(commit);

        let output = command.output().expect("sh is there");

        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), complaint);
    }
}

#[test]
fn the_base_of_a_comparison_is_built_once_from_its_commit() {
    let node = Node::new("base");
    let tree = node.0.join("tree");
    for folder in ["src", "packaging"] {
        fs::create_dir_all(tree.join(folder)).expect("a folder of our own");
    }
    for script in ["base.sh", "ahead.sh"] {
        fs::copy(
            packaging().join(script),
            tree.join("packaging").join(script),
        )
        .expect("a copy");
    }
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(&tree).args(arguments);
        succeeds(&mut command).trim().to_owned()
    };
    let commit = |text: &str| {
        let program = format!("fn main() {{ println!(\"{text}\") }}\n");
        fs::write(tree.join("src/main.rs"), program).expect("a file of our own");
        let author = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "commit",
            "-qam",
            text,
        ];
        run("git", &["add", "src", "Cargo.toml", "Cargo.lock"]);
        run("git", &author);
    };
    let manifest = "[package]\nname = \"ferroute\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(tree.join("Cargo.toml"), manifest).expect("a file of our own");
    let lock = "version = 4\n\n[[package]]\nname = \"ferroute\"\nversion = \"0.0.0\"\n";
    fs::write(tree.join("Cargo.lock"), lock).expect("a file of our own");
    run("git", &["init", "-q"]);
    commit("older");
    commit("newer");
    let base = |name: &str| run("sh", &["packaging/base.sh", name]);
    let made = |binary: &str| fs::metadata(binary).and_then(|file| file.modified());

    let (newer, older) = (base("HEAD"), base("HEAD~1"));
    let first = made(&older).expect("it was built");
    run("cargo", &["build", "-q", "--release", "--offline"]);

    assert_eq!(
        (run(&newer, &[]), run(&older, &[])),
        ("newer".into(), "older".into())
    );
    assert_eq!(run("target/release/ferroute", &[]), "newer");
    assert_eq!(base("HEAD~1"), older);
    assert_eq!(made(&older).expect("it is still there"), first);
}

#[test]
fn a_build_is_compared_with_another_row_by_row() {
    let compare = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ferroute"));
        command
            .args(["bench", "compare", env!("CARGO_BIN_EXE_ferroute")])
            .args(arguments)
            .args(["--pairs", "2", "--runs", "1"]);
        command.output().expect("the program is there")
    };

    let compared = compare(&["--rows", "vlan,ipip-in,tcp-segments"]);
    let refused = compare(&["--rows", "vlna"]);

    // Either build may be faster by chance, so both exit codes are valid.
    assert!(
        matches!(compared.status.code(), Some(0 | 1)),
        "{compared:?}"
    );
    let table = String::from_utf8_lossy(&compared.stdout);
    assert!(
        table.starts_with("skipped, measured through devices: tcp-segments\n"),
        "{table}"
    );
    for row in [
        "vlan ipv4 68 bytes 1000 flows 1 routes",
        "ipip-in ipv6 84 bytes 1000 flows 1 routes",
    ] {
        let lines = table.lines().filter(|line| line.starts_with(row));
        assert_eq!(lines.count(), 1, "{row}: {table}");
    }
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let complaint = String::from_utf8_lossy(&refused.stderr);
    assert!(
        complaint.starts_with("ferroute: no row is called vlna; there are: "),
        "{complaint}"
    );
}

/// Runs a program, which must succeed. Returns its standard output.
fn succeeds(command: &mut Command) -> String {
    let output = command.output().expect("the program is there");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{complaint}");
    said
}

/// Returns the files and links below a folder, as sorted relative paths.
fn files_in(folder: &Path) -> Vec<String> {
    let said = succeeds(
        Command::new("find")
            .current_dir(folder)
            .args([".", "!", "-type", "d", "-printf", "%P\\n"]),
    );
    let mut files: Vec<_> = said.lines().map(str::to_owned).collect();
    files.sort();
    files
}

/// Files of a router that has run: its configuration, its state and the key of the state.
const LEFT: [&str; 3] = [
    "etc/ferroute/router.rsc",
    "var/lib/ferroute-key/store.key",
    "var/lib/ferroute/ledger",
];

fn leave_state_in(root: &Path) {
    for file in LEFT {
        let file = root.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder of our own");
        fs::write(file, "x").expect("a folder of our own");
    }
}

#[test]
fn uninstall_removes_installed_files_and_purge_also_configuration_and_state() {
    let node = Node::new("install");
    let root = node.0.join("root");
    fs::create_dir(&root).expect("a folder of our own");
    let script = |name: &str, arguments: &[&str]| {
        let mut command = Command::new("sh");
        command
            .arg(packaging().join(name))
            .args(arguments)
            .env("PREFIX", "/usr/local")
            .env("DESTDIR", &root)
            .env("CARGO_TARGET_DIR", node.0.join("target"));
        succeeds(&mut command)
    };

    script("install.sh", &[env!("CARGO_BIN_EXE_ferroute")]);
    let installed = files_in(&root);
    leave_state_in(&root);
    let said = script("uninstall.sh", &[]);

    for file in ["usr/local/bin/ferroute", "etc/ferroute/ports"] {
        assert!(installed.iter().any(|one| one == file), "{installed:#?}");
    }
    assert_eq!(files_in(&root), LEFT);
    assert!(
        said.contains("kept: ") && said.contains("make purge"),
        "{said}"
    );
    script("uninstall.sh", &["purge"]);
    assert_eq!(files_in(&root), [""; 0]);
    let left = ["etc/ferroute", "var/lib/ferroute", "var/lib/ferroute-key"];
    assert!(!left.iter().any(|folder| root.join(folder).exists()));

    // An edited ports file is configuration and stays.
    script("install.sh", &[env!("CARGO_BIN_EXE_ferroute")]);
    fs::write(
        root.join("etc/ferroute/ports"),
        "PORTS=--port ether1=eth1\n",
    )
    .expect("our own");
    script("uninstall.sh", &[]);
    assert_eq!(files_in(&root), ["etc/ferroute/ports"]);
}

/// Runs dpkg on a separate root folder, as root of a user namespace if the test does not run as root.
fn dpkg(root: &Path, arguments: &[&str]) {
    let path = std::env::var("PATH").expect("tests have a PATH");
    let mut command = match rustix::process::geteuid().is_root() {
        true => Command::new("dpkg"),
        false => {
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "dpkg"]);
            command
        }
    };
    command
        .arg(format!("--root={}", root.display()))
        .args(["--force-script-chrootless", "--force-depends"])
        .args(arguments)
        .env("PATH", format!("{path}:/usr/sbin:/sbin"));
    succeeds(&mut command);
}

#[test]
fn purging_the_package_removes_everything_and_removing_it_keeps_configuration_and_state() {
    let test =
        "purging_the_package_removes_everything_and_removing_it_keeps_configuration_and_state";
    for program in [
        "/usr/bin/dpkg-deb",
        "/usr/bin/systemd-sysusers",
        "/usr/sbin/userdel",
    ] {
        if !Path::new(program).exists() {
            return lab::testing::skip(test, &format!("{program} is not there"));
        }
    }
    let node = Node::new("purge");
    let root = node.0.join("root");
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"] {
        fs::create_dir_all(root.join(folder)).expect("a folder of our own");
    }
    for file in ["status", "available"] {
        fs::write(root.join("var/lib/dpkg").join(file), "").expect("a folder of our own");
    }
    let mut deb = Command::new("sh");
    deb.arg(packaging().join("deb.sh"))
        .arg(env!("CARGO_BIN_EXE_ferroute"))
        .env("CARGO_TARGET_DIR", node.0.join("target"))
        .env("DPKG_DEB_COMPRESSOR_TYPE", "none");
    let package = succeeds(&mut deb);
    let package = fs::canonicalize(package.trim()).expect("it was made");
    let has_user = || {
        let users = fs::read_to_string(root.join("etc/passwd")).expect("there are users");
        users.contains("ferroute")
    };

    dpkg(&root, &["--install", &package.display().to_string()]);
    assert!(root.join("usr/bin/ferroute").exists() && has_user());
    leave_state_in(&root);
    let wants = root.join("etc/systemd/system/multi-user.target.wants");
    fs::create_dir_all(&wants).expect("a folder of our own");
    let unit = "/usr/lib/systemd/system/ferroute.service";
    std::os::unix::fs::symlink(unit, wants.join("ferroute.service")).expect("a link of our own");

    dpkg(&root, &["--remove", "ferroute"]);
    assert!(!root.join("usr/bin/ferroute").exists() && has_user());
    assert!(
        root.join("etc/ferroute/ports").exists(),
        "a file of configuration"
    );
    assert!(LEFT.iter().all(|file| root.join(file).exists()));

    dpkg(&root, &["--purge", "ferroute"]);
    let left = files_in(&root);
    let left = left.iter().filter(|file| file.contains("ferroute"));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
    assert!(!root.join("etc/ferroute").exists() && !root.join("var/lib/ferroute").exists());
    for file in ["passwd", "group", "shadow"] {
        let lines = fs::read_to_string(root.join("etc").join(file)).unwrap_or_default();
        assert!(!lines.contains("ferroute"), "{file}: {lines}");
    }
}
