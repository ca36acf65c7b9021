//! `ferroute lab list | up NAME | exec NAME HOST -- COMMAND… | down NAME`, without argument parsing.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;

use crate::{Error, Holding, LAYOUTS, Lab, Life, Options, layout, program};

/// Lists all labs with their state, and the commands to enter running ones.
///
/// # Errors
/// The records cannot be read, or the output cannot be written.
pub fn list(out: &mut impl Write) -> Result<(), Error> {
    let up = Lab::list()?;
    let mut write = || -> io::Result<()> {
        for layout in LAYOUTS {
            let state = match up.iter().find(|lab| lab.name == layout.name) {
                Some(lab) if lab.stale => "crashed",
                Some(_) => "up",
                None => "-",
            };
            writeln!(out, "{:<14} {state:<8} {}", layout.name, layout.summary)?;
        }
        for lab in up.iter().filter(|lab| layout(&lab.name).is_none()) {
            let state = if lab.stale { "crashed" } else { "up" };
            writeln!(out, "{:<14} {state:<8} as {}", lab.name, lab.layout)?;
        }
        Ok(())
    };
    write().map_err(Error::io("write the list"))
}

/// Creates a lab that stays until `down`, and prints how to use it.
///
/// # Errors
/// As [`Lab::up`], and [`Error::UnknownLayout`].
pub fn up(name: &str, out: &mut impl Write) -> Result<(), Error> {
    let layout = layout(name).ok_or_else(|| Error::UnknownLayout(name.to_owned()))?;
    let options = Options {
        name: None,
        life: Life::Kept,
        holding: None,
        belongings: Vec::new(),
    };
    let lab = Lab::up(layout, &options)?;
    let hosts: Vec<_> = lab.hosts().collect();
    let held = match lab.holding() {
        Holding::Named => format!("namespaces `ferroute-{name}-HOST`"),
        Holding::Held => "inside a user namespace".to_owned(),
    };
    let program = program::word();
    let text = format!(
        "lab `{name}` is up: {} ({held})\n  {program} lab exec {name} {} -- ip address\n  \
         {program} lab down {name}\n",
        hosts.join(", "),
        hosts.first().unwrap_or(&"client"),
    );
    out.write_all(text.as_bytes())
        .map_err(Error::io("write what is up"))
}

/// Replaces this process by the command in the host; returns only on failure.
pub fn exec(name: &str, host: &str, argv: &[String]) -> Error {
    let command = Lab::open(name).and_then(|lab| lab.command_line(host, argv));
    match command {
        Ok(mut command) => Error::io(format!("run `{}`", argv.join(" ")))(command.exec()),
        Err(error) => error,
    }
}

/// Removes a lab with all its processes, or the remains of a crashed one.
///
/// # Errors
/// As [`Lab::down`], and [`Error::NotUp`].
pub fn down(name: &str) -> Result<(), Error> {
    Lab::find(name)?.down()
}
