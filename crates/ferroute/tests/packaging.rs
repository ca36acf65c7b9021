//! What lies in packaging/: that its parts agree, and what a container makes of its links.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

/// The value of the first line `name=value` of a unit.
fn setting<'a>(unit: &'a str, name: &str) -> &'a str {
    let mut values = unit
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    values
        .next()
        .unwrap_or_else(|| panic!("the unit says {name}"))
}

#[test]
fn the_service_runs_as_the_user_that_is_made_with_no_more_than_it_may_have() {
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
    // An ordinary user has none but those.
    assert_eq!(
        setting(&unit, "AmbientCapabilities"),
        setting(&unit, "CapabilityBoundingSet")
    );
    // Its own file may be root's alone.
    let handed = setting(&unit, "LoadCredential").split(':').next().unwrap();
    let start = setting(&unit, "ExecStart");
    assert!(
        start.contains(&format!("${{CREDENTIALS_DIRECTORY}}/{handed} ")),
        "{start}"
    );
}

#[test]
fn what_the_package_calls_a_configuration_file_is_installed() {
    let files = fs::read_to_string(packaging().join("debian/conffiles")).unwrap();
    let install = fs::read_to_string(packaging().join("install.sh")).unwrap();
    for file in files.lines() {
        assert!(install.contains(&format!("$DESTDIR{file}\"")), "{file}");
    }
}

/// A folder of devices, and of a `ferroute` that says what it was started with.
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
fn links_of_a_container_are_ports_but_for_the_first() {
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
fn a_container_waits_for_the_links_that_are_announced() {
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
fn a_first_build_says_what_it_takes_and_a_second_is_silent() {
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
