//! `ferroute host exec -- COMMAND`: runs a command in a running router's host plane.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::cli::location::Location;

/// Replaces this process by the command; returns only on failure.
pub(crate) fn exec(place: &Location, command: &[String]) -> Result<u8, String> {
    let path = crate::command::client::namespace(&place.control)?;
    enter(Path::new(&path)).map_err(|error| format!("the host plane at {path}: {error}"))?;
    let (program, arguments) = command.split_first().ok_or("a command is missing")?;
    let error = Command::new(program).args(arguments).exec();
    Err(format!("{program}: {error}"))
}

/// Moves this (single-threaded) process into the namespace, and first into the router's user namespace if that
/// differs.
fn enter(path: &Path) -> io::Result<()> {
    let users = path
        .ancestors()
        .nth(2)
        .map(|process| process.join("ns/user"));
    let namespace = File::open(path)?;
    if let Some(users) = users
        && users.metadata()?.ino() != Path::new("/proc/self/ns/user").metadata()?.ino()
    {
        let users = File::open(users)?;
        move_into_link_name_space(users.as_fd(), Some(LinkNameSpaceType::User))?;
    }
    Ok(move_into_link_name_space(
        namespace.as_fd(),
        Some(LinkNameSpaceType::Network),
    )?)
}
