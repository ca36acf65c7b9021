//! Further routers of a lab: instances of this program in other hosts.

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

/// Starts the routers of a layout beside that in the host `router`; their files are in `folder`.
///
/// # Errors
/// A router cannot be started, or refuses a command.
pub(super) fn start(lab: &Lab, layout: &Layout, folder: &Path) -> Result<Vec<Child>, String> {
    let mut children = Vec::new();
    for site in lab::sites(layout) {
        let path = |ending: &str| folder.join(site.host).with_extension(ending);
        let config = path("rsc");
        std::fs::write(&config, site.config)
            .map_err(|error| format!("{}: {error}", config.display()))?;
        let control = path("sock");
        let argv = argv(layout, site.host, &config, &control)?;
        let mut command =
            { lab.command_line(site.host, &argv) }.map_err(|error| error.to_string())?;
        let quiet = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = quiet
            .spawn()
            .map_err(|error| format!("the router in {}: {error}", site.host))?;
        await_console(site.host, &control, &mut child)?;
        children.push(child);
        run_setup(layout, site.host, &control)?;
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

fn argv(layout: &Layout, host: &str, config: &Path, control: &Path) -> Result<Vec<String>, String> {
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
