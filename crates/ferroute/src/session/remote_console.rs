//! Console of a user from the network: greeting, console loop, and the user's stored history.

use console::Settings;

use crate::run::shared::{Shared, Terminal};
use crate::session::control::Router as _;
use crate::session::keyboard::Keyboard;
use crate::session::terminal::{Send, attend};

/// Greets the user and runs the console until its end ([`attend`]).
pub(crate) fn greet_and_attend(
    shared: &Shared,
    shell: Terminal,
    settings: Settings,
    keyboard: &Keyboard,
    send: Send<'_>,
) {
    let history_file = shared.history_file(&shell);
    let _ = send(shell.greeting().as_bytes());
    let (_, history) = attend(shell, settings, history_file.load(), keyboard, send);
    history_file.keep(&history);
}
