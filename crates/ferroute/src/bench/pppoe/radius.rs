//! FreeRADIUS with an account for each subscriber.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;

use lab::Lab;

/// Host of the server.
pub(super) const HOST: &str = "radius";
/// Secret shared with the router.
pub(super) const SECRET: &str = "testing123";
/// Program of Debian's package `freeradius`.
const PROGRAM: &str = "/usr/sbin/freeradius";

const CONFIG: &str = "name = freeradius
prefix = /usr
libdir = /usr/lib/freeradius
run_dir = FOLDER
max_requests = 65536
logdir = FOLDER
log {
 destination = stdout
}
security {
 max_attributes = 200
 reject_delay = 0
}
thread pool {
 start_servers = 4
 max_servers = 4
 max_queue_size = 65536
}
client all {
 ipaddr = 10.254.0.1
 secret = SECRET
}
modules {
 chap {
 }
 always ok {
  rcode = ok
 }
 files {
  filename = FOLDER/users
 }
}
server default {
 listen {
  type = auth
  ipaddr = 10.254.0.2
  port = 1812
 }
 listen {
  type = acct
  ipaddr = 10.254.0.2
  port = 1813
 }
 authorize {
  files
  chap
 }
 authenticate {
  Auth-Type CHAP {
   chap
  }
 }
 accounting {
  ok
 }
}
";

/// Running server with a folder of its own.
pub(super) struct Radius {
    child: Child,
    folder: PathBuf,
}

impl Radius {
    /// Starts the server in its host, and waits until it serves.
    ///
    /// # Errors
    /// FreeRADIUS is not installed, or does not start: its last line.
    pub(super) fn start(lab: &Lab, subscribers: u32) -> Result<Self, String> {
        if !Path::new(PROGRAM).exists() {
            return Err(format!("{PROGRAM} is missing: install freeradius"));
        }
        let name = format!("ferroute-pppoe-radius-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(failed)?;
        let config =
            { CONFIG.replace("FOLDER", &folder.display().to_string()) }.replace("SECRET", SECRET);
        fs::write(folder.join("radiusd.conf"), config).map_err(failed)?;
        fs::write(folder.join("users"), users(subscribers)).map_err(failed)?;
        let command = lab.command(HOST, PROGRAM);
        let mut child = { command.map_err(|error| error.to_string())? }
            .args(["-f", "-l", "stdout", "-d"])
            .arg(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{PROGRAM}: {error}"))?;
        let output = child.stdout.take();
        let server = Self { child, folder };
        let mut lines = BufReader::new(output.ok_or("no output of FreeRADIUS")?).lines();
        let mut last = String::new();
        while !last.contains("Ready to process requests") {
            match lines.next() {
                Some(Ok(line)) => last = line,
                _ => return Err(format!("FreeRADIUS does not start: {last}")),
            }
        }
        // A full pipe would stop the server.
        thread::spawn(move || lines.for_each(drop));
        Ok(server)
    }
}

fn users(subscribers: u32) -> String {
    let mut text = String::new();
    for number in 0..subscribers {
        let _ = writeln!(text, "u{number} Cleartext-Password := \"p{number}\"");
    }
    text
}

impl Drop for Radius {
    fn drop(&mut self) {
        // A server that has ended needs no signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
