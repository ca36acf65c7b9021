//! Client of the local socket: `ferroute console` and `ferroute exec`.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use console::protocol::{Message, receive, send};
use rustix::termios::{self, OptionalActions, Termios};

use crate::cli::Exec;
use crate::cli::location::{self, Location};

/// Runs one command; returns the exit code.
pub(crate) fn exec(exec: &Exec) -> Result<u8, String> {
    let mut stream = connect(&Location::of(&exec.reach).control)?;
    let request = Message::Exec {
        command: exec.command.join(" "),
        json: exec.json,
    };
    send(&mut stream, &request).map_err(broken)?;
    show(&mut stream, Screen::of_text())
}

/// Opens a console on this process's terminal.
pub(crate) fn console(control: &Path) -> Result<u8, String> {
    let stream = connect(control)?;
    let (tell, typed) = mpsc::channel();
    attend(stream, tell, typed)
}

/// Input from a script on standard input.
enum Typed {
    Whole(io::Result<String>),
    /// A signal ended the wait.
    Stop,
}

/// Like [`console`], but a termination signal ends it like a user who leaves.
pub(crate) fn console_until_signal(control: &Path) -> Result<u8, String> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let stream = connect(control)?;
    let line = stream.try_clone().map_err(broken)?;
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|error| format!("signals: {error}"))?;
    let told = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&told);
    let (typed, script) = mpsc::channel();
    let stop = typed.clone();
    thread::spawn(move || {
        for _ in signals.forever() {
            tell.store(true, Ordering::SeqCst);
            let _ = stop.send(Typed::Stop);
            let _ = line.shutdown(std::net::Shutdown::Both);
        }
    });
    match attend(stream, typed, script) {
        Err(_) if told.load(Ordering::SeqCst) => Ok(0),
        result => result,
    }
}

fn attend(
    mut stream: UnixStream,
    tell: mpsc::Sender<Typed>,
    typed: mpsc::Receiver<Typed>,
) -> Result<u8, String> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return script(stream, tell, typed);
    }
    let raw = RawTerminal::enter()?;
    let (columns, rows) = size();
    let colours = std::env::var_os("NO_COLOR").is_none();
    send(
        &mut stream,
        &Message::Console {
            columns,
            rows,
            colours,
        },
    )
    .map_err(broken)?;
    forward_input(stream.try_clone().map_err(broken)?)?;
    let code = show(&mut stream, Screen::Own);
    drop(raw);
    code
}

/// Sends a request to a router; returns the answer as text.
pub(crate) fn answer(control: &Path, request: &Message) -> Result<String, String> {
    let mut stream = connect(control)?;
    send(&mut stream, request).map_err(broken)?;
    let (mut said, mut complaint) = (Vec::new(), Vec::new());
    loop {
        match receive(&mut stream).map_err(broken)? {
            Some(Message::Output(bytes)) => said.extend(bytes),
            Some(Message::Error(bytes)) => complaint.extend(bytes),
            Some(Message::Exit(0)) => return Ok(String::from_utf8_lossy(&said).into_owned()),
            Some(Message::Exit(_)) => {
                // The console prints errors on its output.
                let text = [said, complaint].concat();
                return Err(String::from_utf8_lossy(&text).trim_end().to_owned());
            }
            Some(_) => {
                return Err(String::from(
                    "the router sent a message that only clients send",
                ));
            }
            None => return Err(String::from("the router closed the connection")),
        }
    }
}

/// Returns the path of the router's host plane.
pub(crate) fn namespace(control: &Path) -> Result<String, String> {
    let mut stream = connect(control)?;
    send(&mut stream, &Message::Namespace).map_err(broken)?;
    match receive(&mut stream).map_err(broken)? {
        Some(Message::Output(path)) => Ok(String::from_utf8_lossy(&path).into_owned()),
        Some(Message::Error(text)) => Err(String::from_utf8_lossy(&text).trim_end().to_owned()),
        _ => Err(String::from("the router closed the connection")),
    }
}

/// Runs a script from standard input, line by line, until a command fails.
fn script(
    mut stream: UnixStream,
    tell: mpsc::Sender<Typed>,
    typed: mpsc::Receiver<Typed>,
) -> Result<u8, String> {
    // In its own thread, since reading may block forever and a signal has to end the wait.
    thread::spawn(move || {
        let mut text = String::new();
        let read = io::stdin().read_to_string(&mut text);
        let _ = tell.send(Typed::Whole(read.map(|_| text)));
    });
    let text = match typed.recv() {
        Ok(Typed::Whole(text)) => text.map_err(|error| format!("standard input: {error}"))?,
        Ok(Typed::Stop) | Err(_) => return Err(String::from("stopped")),
    };
    send(
        &mut stream,
        &Message::Exec {
            command: text,
            json: false,
        },
    )
    .map_err(broken)?;
    show(&mut stream, Screen::of_text())
}

fn connect(control: &Path) -> Result<UnixStream, String> {
    UnixStream::connect(control).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => format!(
            "no router is running at {} (start one with `{} run`, or name its --state{})",
            control.display(),
            lab::program::word(),
            location::labs()
        ),
        _ => format!("{}: {error}", control.display()),
    })
}

fn broken(error: io::Error) -> String {
    if error.kind() == io::ErrorKind::InvalidInput {
        return error.to_string();
    }
    format!("the router closed the connection: {error}")
}

/// Origin of the output.
enum Screen {
    /// The router's console, or output to a file or program: bytes pass unchanged.
    Own,
    /// Command output on a terminal, with the bytes of an incomplete character.
    Text(Vec<u8>),
}

impl Screen {
    fn of_text() -> Self {
        match io::stdout().is_terminal() {
            true => Self::Text(Vec::new()),
            false => Self::Own,
        }
    }

    /// Converts output for standard output. Control characters in values are made visible, so that the terminal
    /// does not execute them.
    fn draw(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let Self::Text(rest) = self else {
            return bytes;
        };
        rest.extend(bytes);
        let cut = match std::str::from_utf8(rest) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => rest.len(),
        };
        let whole: Vec<u8> = rest.drain(..cut).collect();
        menu::bytes::to_bytes(&menu::visible_layout(&menu::bytes::from_bytes(&whole)))
    }
}

/// Prints the router's output until the command ends.
fn show(stream: &mut UnixStream, mut screen: Screen) -> Result<u8, String> {
    let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
    loop {
        match receive(stream).map_err(broken)? {
            Some(Message::Output(bytes)) => {
                match out
                    .write_all(&screen.draw(bytes))
                    .and_then(|()| out.flush())
                {
                    Ok(()) => {}
                    // A closed pipe (`| head`) is no error.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(0),
                    Err(error) => return Err(format!("standard output: {error}")),
                }
            }
            Some(Message::Error(bytes)) => {
                let _ = err.write_all(&bytes);
            }
            Some(Message::Exit(code)) => return Ok(code),
            Some(_) => {
                return Err(String::from(
                    "the router sent a message that only clients send",
                ));
            }
            None => return Err(String::from("the router closed the connection")),
        }
    }
}

fn forward_input(stream: UnixStream) -> Result<(), String> {
    let mut resized = stream.try_clone().map_err(broken)?;
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGWINCH])
        .map_err(|error| format!("signals: {error}"))?;
    thread::spawn(move || {
        for _ in signals.forever() {
            let (columns, rows) = size();
            if send(&mut resized, &Message::Resize(columns, rows)).is_err() {
                return;
            }
        }
    });
    let mut typed = stream;
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = io::stdin().read(&mut bytes) {
            if send(&mut typed, &Message::Input(bytes[..count].to_vec())).is_err() {
                return;
            }
        }
        // The terminal is closed: the router sees the end of the stream.
        let _ = typed.shutdown(std::net::Shutdown::Write);
    });
    Ok(())
}

fn size() -> (u16, u16) {
    match termios::tcgetwinsize(io::stdout().as_fd()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        _ => (80, 24),
    }
}

/// Raw mode of the terminal, until dropped.
struct RawTerminal {
    before: Termios,
}

impl RawTerminal {
    fn enter() -> Result<Self, String> {
        let failed = |error| format!("the terminal: {error}");
        let before = termios::tcgetattr(io::stdin().as_fd()).map_err(failed)?;
        let mut raw = before.clone();
        raw.make_raw();
        termios::tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &raw).map_err(failed)?;
        Ok(Self { before })
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        let _ = termios::tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_shown_control_characters_of_values_and_whole_letters() {
        let mut screen = Screen::Text(Vec::new());
        let pieces: [&[u8]; 4] = [b"a\x1b[2", b"J\r\n\tb \xe2", b"\x82\xac", b"\n"];

        let drawn: Vec<u8> = pieces
            .iter()
            .flat_map(|piece| screen.draw(piece.to_vec()))
            .collect();

        assert_eq!(String::from_utf8_lossy(&drawn), "a\\1B[2J\n\tb \u{20ac}\n");
        assert_eq!(Screen::Own.draw(b"\x1b[2J".to_vec()), b"\x1b[2J");
    }
}
