//! Sessions of users: logins, consoles on terminals, script jobs, and the local socket.

pub(crate) mod access;
pub(crate) mod command_output;
pub(crate) mod control;
pub(crate) mod handle;
pub(crate) mod hashing;
pub(crate) mod history;
pub(crate) mod interrupts;
pub(crate) mod jobs;
pub(crate) mod keyboard;
pub(crate) mod remote_console;
pub(crate) mod router_access;
pub(crate) mod terminal;
