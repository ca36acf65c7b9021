//! A console at work: what a terminal sends, one thing after the other, and what it is shown.
//!
//! The local socket and SSH both feed it. Ctrl-C reaches a command that runs, because whoever
//! reads the terminal tells the session's interrupt before anything queues up.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use console::history::History;
use console::{Console, Outcome, Settings, Shell, Wire};
use script::Interrupt;

/// What a terminal says.
#[derive(Debug)]
pub(crate) enum Event {
    /// Bytes typed.
    Input(Vec<u8>),
    /// It has so many columns and rows now.
    Resize(u16, u16),
    /// Ctrl-C has stopped the command that ran.
    Stopped,
}

/// What becomes of bytes that are typed: Ctrl-C stops a command that runs, and `Q` one that would
/// go on for ever; they are nothing else then.
pub(crate) fn typed(bytes: Vec<u8>, interrupt: &Interrupt) -> Event {
    let quits = |byte: &u8| *byte == 3 || matches!(byte, b'q' | b'Q') && interrupt.is_watched();
    match bytes.iter().any(quits) && interrupt.stop() {
        true => Event::Stopped,
        false => Event::Input(bytes),
    }
}

/// Where what is shown goes.
pub(crate) type Send<'a> = &'a mut dyn FnMut(&[u8]) -> ControlFlow<()>;

/// How often it is looked whether the session was ended, or was idle for too long.
const LOOK: Duration = Duration::from_secs(1);

/// Serves a console until its user leaves, its terminal goes or somebody ends it. Says whether the
/// user left in order, and gives the lines that were typed.
pub(crate) fn attend<S: Shell>(
    shell: S,
    settings: Settings,
    history: History,
    (events, send): (&Receiver<Event>, Send<'_>),
) -> (bool, History) {
    let mut line = Line {
        events,
        send,
        later: VecDeque::new(),
    };
    let mut console = Console::new(shell, settings, history);
    let mut out = Vec::new();
    console.begin(&mut out);
    let mut last = Instant::now();
    loop {
        if line.send(&out).is_break() {
            return (false, console.into_history());
        }
        out.clear();
        let event = match line.later.pop_front() {
            Some(event) => Ok(event),
            None => line.events.recv_timeout(LOOK),
        };
        match event {
            Ok(Event::Input(bytes)) => {
                last = Instant::now();
                if console.input(&bytes, &mut line) == Outcome::Quit {
                    return (true, console.into_history());
                }
            }
            Ok(Event::Resize(columns, rows)) => {
                console.resize(usize::from(columns), usize::from(rows), &mut out);
            }
            Ok(Event::Stopped) => {}
            Err(RecvTimeoutError::Disconnected) => return (false, console.into_history()),
            Err(RecvTimeoutError::Timeout) => {
                if console.shell().is_over(last.elapsed()) {
                    let _ = line.send(b"\r\n");
                    return (true, console.into_history());
                }
            }
        }
    }
}

/// The terminal, as a command's output sees it.
struct Line<'a> {
    events: &'a Receiver<Event>,
    send: Send<'a>,
    /// What came while a page was full and was not for it.
    later: VecDeque<Event>,
}

impl Wire for Line<'_> {
    fn send(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        match bytes.is_empty() {
            true => ControlFlow::Continue(()),
            false => (self.send)(bytes),
        }
    }

    fn wait(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.events.recv() {
                Ok(Event::Input(bytes)) => return Some(bytes),
                Ok(size @ Event::Resize(..)) => {
                    // Only the last size counts.
                    self.later.clear();
                    self.later.push_back(size);
                }
                Ok(Event::Stopped) | Err(_) => return None,
            }
        }
    }
}
