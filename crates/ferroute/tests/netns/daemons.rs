//! Programs in the hosts of a lab: the provider's servers, and the hosts' DHCP clients.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::process::{Child, Stdio};

use lab::{Lab, Layout};

use crate::world::{Folder, run};

/// File in the daemons' folder with the name servers of the latest lease.
pub(crate) const RESOLVER: &str = "resolv.conf";

/// The daemons of a layout; they end when the value is dropped.
#[derive(Debug)]
pub(crate) struct Daemons {
    all: Vec<Child>,
    folder: Folder,
}

impl Daemons {
    /// Starts all daemons. DHCP clients write the name servers of their leases to [`RESOLVER`].
    pub(crate) fn start(lab: &Lab, layout: &Layout) -> Self {
        let folder = Folder::new();
        lab::furnish(layout, &folder.file("")).expect("a folder of our own");
        let resolver = folder.file(RESOLVER);
        let note = format!(
            "[ -n \"$dns\" ] && echo \"nameserver $dns\" > {}\n",
            resolver.display()
        );
        let script = OpenOptions::new()
            .append(true)
            .open(folder.file(lab::LEASE));
        let mut script = script.expect("it was written above");
        script.write_all(note.as_bytes()).expect("our own file");
        drop(script);
        let start = |daemon: &lab::Daemon| {
            let argv = daemon.words(&folder.file(""));
            let mut command = lab
                .command_line(daemon.host, &argv)
                .expect("a host of the layout");
            let log = fs::File::create(folder.file(&format!("{}-{}", daemon.host, daemon.argv[0])));
            let quiet = command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(log.expect("a folder of our own"));
            quiet.spawn().expect("nsenter is there: it made the lab")
        };
        let all = lab::daemons(layout).iter().map(start).collect();
        Self { all, folder }
    }

    /// Returns the folder with the daemons' files.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        for daemon in &mut self.all {
            // Fails only if the process has already ended.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Returns the IPv4 address that a host's DHCP client has configured.
pub(crate) fn given(lab: &Lab, host: &str) -> Option<String> {
    let shown = run(lab, host, "ip -4 -br address show dev eth0");
    let address = shown.split_whitespace().find(|word| word.contains('/'))?;
    address.split('/').next().map(str::to_owned)
}
