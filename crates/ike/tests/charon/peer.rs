//! strongSwan's charon in a network namespace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

pub(crate) const OURS: &str = "10.99.0.1";
pub(crate) const THEIRS: &str = "10.99.0.2";

const CHARON: &str = "/usr/lib/ipsec/charon";
const PLUGINS: [&str; 18] = [
    "random",
    "nonce",
    "aes",
    "des",
    "sha1",
    "sha2",
    "md5",
    "hmac",
    "kdf",
    "gmp",
    "openssl",
    "pem",
    "pkcs1",
    "x509",
    "pubkey",
    "kernel-libipsec",
    "kernel-netlink",
    "socket-default",
];
const MORE: &str = "vici updown eap-identity eap-mschapv2 md4 constraints revocation";

pub(crate) struct Charon {
    /// Namespaces of the engine and of charon.
    pub(crate) spaces: [String; 2],
    pub(crate) folder: PathBuf,
    child: Option<Child>,
}

/// Runs a command; returns true on success.
fn works(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let mut run = Command::new(words.next().expect("a command"));
    run.args(words).stdout(Stdio::null()).stderr(Stdio::null());
    run.status().is_ok_and(|status| status.success())
}

impl Charon {
    /// Starts charon with these connections. Returns `None`, and prints the reason, where it cannot run.
    pub(crate) fn start(test: &str, connections: &str) -> Option<Self> {
        Self::start_with(test, connections, |_| {})
    }

    /// Starts charon after `prepare` has put files into its folder.
    pub(crate) fn start_with(
        test: &str,
        connections: &str,
        files: impl FnOnce(&Path),
    ) -> Option<Self> {
        for needed in [
            CHARON,
            "/usr/sbin/swanctl",
            "/usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so",
        ] {
            if !Path::new(needed).exists() {
                println!("{test}: skipped: there is no {needed}");
                return None;
            }
        }
        let number = std::process::id();
        let short: String = test
            .bytes()
            .map(char::from)
            .filter(|one| "0123456789agrx".contains(*one))
            .collect();
        let spaces = ["a", "b"].map(|side| format!("ike{number}{short}{side}"));
        if !works(&format!("ip netns add {}", spaces[0])) {
            println!("{test}: skipped: network namespaces cannot be made here");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("ike-charon-{number}-{test}"));
        fs::create_dir_all(&folder).expect("a folder");
        let mut charon = Self {
            spaces,
            folder,
            child: None,
        };
        files(&charon.folder);
        charon.wire();
        charon.run(connections);
        Some(charon)
    }

    fn wire(&self) {
        let [ours, theirs] = &self.spaces;
        for command in [
            format!("ip netns add {theirs}"),
            format!("ip -n {ours} link add v0 type veth peer name v0 netns {theirs}"),
            format!("ip -n {ours} address add {OURS}/24 dev v0"),
            format!("ip -n {theirs} address add {THEIRS}/24 dev v0"),
            format!("ip -n {ours} link set v0 up"),
            format!("ip -n {theirs} link set v0 up"),
            format!("ip -n {ours} link set lo up"),
            format!("ip -n {theirs} link set lo up"),
            format!("ip -n {theirs} address add 10.2.0.1/32 dev lo"),
        ] {
            assert!(works(&command), "{command}");
        }
    }

    fn run(&mut self, connections: &str) {
        let folder = self.folder.display().to_string();
        let load = format!("{} {MORE}", PLUGINS.join(" "));
        let conf = format!(
            "charon {{\n load_modular = no\n load = {load}\n i_dont_care_about_security_and_use_aggressive_mode_psk = \
             yes\n filelog {{ log {{ path = {folder}/log\n default = 1\n ike = 2\n flush_line = yes\n }} }}\n \
             plugins {{ vici {{ socket = unix://{folder}/vici\n }} }} }}\n"
        );
        fs::write(self.folder.join("strongswan.conf"), conf).expect("a file");
        fs::write(self.folder.join("swanctl.conf"), connections).expect("a file");
        let script = format!("mount -t tmpfs t /run; exec {CHARON}");
        let child = Command::new("ip")
            .args(["netns", "exec", &self.spaces[1], "sh", "-c", &script])
            .env("STRONGSWAN_CONF", self.folder.join("strongswan.conf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.expect("charon starts"));
        for _ in 0..200 {
            if self.folder.join("vici").exists() && self.loads() {
                return;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("charon does not start: {}", self.log());
    }

    fn loads(&self) -> bool {
        let file = self.folder.join("swanctl.conf");
        let said = self.swanctl(&format!("--load-all --file {}", file.display()));
        said.contains("successfully loaded")
    }

    fn command(&self, arguments: &str) -> Command {
        let mut words = arguments.split_whitespace();
        let mut command = Command::new("swanctl");
        command.arg(words.next().expect("a command")).arg("--uri");
        command
            .arg(format!("unix://{}/vici", self.folder.display()))
            .args(words);
        command.env("STRONGSWAN_CONF", self.folder.join("strongswan.conf"));
        command.env("SWANCTL_DIR", &self.folder);
        command
    }

    /// Runs a swanctl command and returns its output.
    pub(crate) fn swanctl(&self, arguments: &str) -> String {
        let done = self.command(arguments).output().expect("swanctl runs");
        String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()
    }

    /// Starts a swanctl command in the background, which ends when the engine has answered.
    pub(crate) fn begin(&self, arguments: &str) {
        let mut command = self.command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("swanctl runs");
        std::thread::spawn(move || child.wait());
    }

    /// Returns charon's log.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Charon {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        for space in &self.spaces {
            works(&format!("ip netns delete {space}"));
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
