//! Further routers of a lab: instances of this program in other hosts.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use console::protocol::Message;
use lab::{Lab, Layout};

use crate::command::client;

/// Host of the router whose console the lab opens.
const ROUTER: &str = "router";
/// Time limit for a router's console to answer.
const CONSOLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Script of a shell in the host of a router: it becomes the router once a line arrives, and ends without one.
const ON_COMMAND: &str = "read begin && exec \"$@\" </dev/null";

/// A router that waits in its host for the command to begin.
pub(super) struct WaitingSite {
    host: &'static str,
    control: PathBuf,
    child: Child,
}

/// Prepares the routers of a layout beside the one in the host `router`: their processes wait in their hosts, which
/// this thread may not enter later. Their files are in `folder`.
///
/// # Errors
/// A file cannot be written, or a process cannot be started.
pub(super) fn prepare(
    lab: &Lab,
    layout: &Layout,
    folder: &Path,
) -> Result<Vec<WaitingSite>, String> {
    let mut sites = Vec::new();
    for site in lab::sites(layout) {
        let path = |ending: &str| folder.join(site.host).with_extension(ending);
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let config = path("rsc");
        std::fs::write(&config, site.config)
            .map_err(|error| format!("{}: {error}", config.display()))?;
        let control = path("sock");
        let mut argv = ["sh", "-c", ON_COMMAND, "sh"].map(str::to_owned).to_vec();
        argv.extend(argv_of(layout, site.host, &config, &control)?);
        let mut command =
            { lab.command_line(site.host, &argv) }.map_err(|error| error.to_string())?;
        let quiet = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = quiet
            .spawn()
            .map_err(|error| format!("the router in {}: {error}", site.host))?;
        sites.push(WaitingSite {
            host: site.host,
            control,
            child,
        });
    }
    Ok(sites)
}

/// Starts prepared routers one after the other. Returns their processes.
///
/// # Errors
/// A router does not start, or refuses a command.
pub(super) fn begin(layout: &Layout, sites: Vec<WaitingSite>) -> Result<Vec<Child>, String> {
    let mut children = Vec::new();
    for mut site in sites {
        let mut input = site.child.stdin.take();
        let begun = input.as_mut().map(|input| input.write_all(b"\n"));
        begun
            .transpose()
            .map_err(|error| format!("the router in {}: {error}", site.host))?;
        await_console(site.host, &site.control, &mut site.child)?;
        children.push(site.child);
        run_setup(layout, site.host, &site.control)?;
    }
    Ok(children)
}

/// Runs the commands on the router in the host `router` that its configuration file cannot contain.
///
/// # Errors
/// The router refuses a command.
pub(super) fn complete(layout: &Layout, control: &Path) -> Result<(), String> {
    run_setup(layout, ROUTER, control)
}

/// Returns the command line of the router in a host.
fn argv_of(
    layout: &Layout,
    host: &str,
    config: &Path,
    control: &Path,
) -> Result<Vec<String>, String> {
    let program: PathBuf =
        std::env::current_exe().map_err(|error| format!("this program's file: {error}"))?;
    let text = |path: &Path| path.display().to_string();
    let mut argv = vec![text(&program), String::from("run")];
    argv.extend(["--state", ":memory:", "--log", "error", "--config"].map(str::to_owned));
    argv.extend([text(config), String::from("--control"), text(control)]);
    for port in layout.ports_of(host) {
        argv.extend([String::from("--port"), format!("{port}={port}")]);
    }
    Ok(argv)
}

/// Waits until a router's console answers.
fn await_console(host: &str, control: &Path, child: &mut Child) -> Result<(), String> {
    let question = Message::Exec {
        command: String::from("/system/identity/print"),
        json: false,
    };
    let begin = Instant::now();
    while client::answer(control, &question).is_err() {
        let ended = child.try_wait().ok().flatten();
        if let Some(status) = ended {
            return Err(format!("the router in {host} ended: {status}"));
        }
        if begin.elapsed() > CONSOLE_TIMEOUT {
            let _ = child.kill();
            return Err(format!("the router in {host} does not answer"));
        }
        thread::park_timeout(Duration::from_millis(20));
    }
    Ok(())
}

fn run_setup(layout: &Layout, host: &str, control: &Path) -> Result<(), String> {
    for command in lab::setup(layout, host) {
        let request = Message::Exec {
            command: command.clone(),
            json: false,
        };
        client::answer(control, &request).map_err(|error| format!("{host}: {command}: {error}"))?;
    }
    Ok(())
}
