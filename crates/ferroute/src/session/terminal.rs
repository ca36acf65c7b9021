//! Console loop: passes keys of a terminal to the console, and its output to the terminal.
//!
//! The local socket and SSH both feed a [`Keyboard`], so that Ctrl-C reaches a running command ahead of queued
//! input.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use console::history::History;
use console::{Console, Outcome, Settings, Shell, Wire};

use crate::session::keyboard::{Event, Keyboard};

/// Destination of terminal output.
pub(crate) type Send<'a> = &'a mut dyn FnMut(&[u8]) -> ControlFlow<()>;

/// Interval of checks whether the session was ended or idle for too long.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Runs a console until its user leaves, its terminal closes or another user ends it. Returns whether the user
/// left regularly, and the typed lines.
pub(crate) fn attend<S: Shell>(
    shell: S,
    settings: Settings,
    history: History,
    keyboard: &Keyboard,
    send: Send<'_>,
) -> (bool, History) {
    let mut line = Line { keyboard, send };
    let mut console = Console::new(shell, settings, history);
    let mut out = Vec::new();
    console.begin(&mut out);
    let mut last = Instant::now();
    loop {
        if line.send(&out).is_break() {
            return (false, console.into_history());
        }
        out.clear();
        match keyboard.next(CHECK_INTERVAL) {
            Event::Typed => {
                last = Instant::now();
                if console.input(&mut line) == Outcome::Quit {
                    return (true, console.into_history());
                }
            }
            Event::Resized(columns, rows) => {
                console.resize(usize::from(columns), usize::from(rows), &mut out);
            }
            Event::Gone => return (false, console.into_history()),
            Event::Quiet => {
                if console.shell().is_over(last.elapsed()) {
                    let _ = line.send(b"\r\n");
                    return (true, console.into_history());
                }
                console.hear(&mut out);
            }
        }
    }
}

/// The terminal, as console and command output use it.
struct Line<'a> {
    keyboard: &'a Keyboard,
    send: Send<'a>,
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        self.keyboard.deafen();
    }
}

impl Wire for Line<'_> {
    fn send(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        match bytes.is_empty() {
            true => ControlFlow::Continue(()),
            false => (self.send)(bytes),
        }
    }

    fn typed(&mut self) -> Option<u8> {
        self.keyboard.take()
    }

    fn wait(&mut self, span: Option<Duration>) -> Option<u8> {
        self.keyboard.wait(CHECK_INTERVAL, span)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::sync::Arc;

    use console::{Candidate, Page, Span};
    use script::Session;

    use super::*;
    use crate::session::keyboard::tests::{WAITS, run};

    /// A shell that records its lines. `long` fills pages; `wait` waits while keys are typed.
    struct Noting {
        lines: Rc<RefCell<Vec<String>>>,
        session: Session,
        keyboard: Arc<Keyboard>,
        typed: &'static [u8],
    }

    impl Shell for Noting {
        fn prompt(&self) -> String {
            String::from("> ")
        }

        fn continuation(&self, _: &str) -> Option<String> {
            None
        }

        fn execute(&mut self, line: &str, page: &mut Page<'_>) -> Outcome {
            self.lines.borrow_mut().push(line.to_owned());
            match line {
                "long" => {
                    let _ = page.write("row\n".repeat(100).as_bytes());
                }
                "wait" => {
                    let typed = || assert!(pressed(&self.keyboard, self.typed));
                    let ended = run(&mut self.session, WAITS, &mut { typed });
                    assert!(ended.is_some(), "it was interrupted");
                }
                _ => {}
            }
            match line {
                "quit" => Outcome::Quit,
                _ => Outcome::Continue,
            }
        }

        fn complete(&self, _: &str, cursor: usize) -> (usize, Vec<Candidate>) {
            (cursor, Vec::new())
        }

        fn highlight(&self, _: &str) -> Vec<Span> {
            Vec::new()
        }
    }

    /// Types keys; returns false if there was no room.
    fn pressed(keyboard: &Keyboard, keys: &[u8]) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::pin!(keyboard.press(keys))
            .poll(&mut context)
            .is_ready()
    }

    /// Returns the executed lines for these keys, and for those typed while a command waits.
    fn lines(keys: &[u8], typed: &'static [u8]) -> Vec<String> {
        let session = Session::new("admin");
        let keyboard = Keyboard::new(session.interrupter());
        let lines = Rc::default();
        let shell = Noting {
            lines: Rc::clone(&lines),
            session,
            keyboard: Arc::clone(&keyboard),
            typed,
        };
        let settings = Settings {
            columns: 80,
            rows: 24,
            colours: false,
            paging: true,
            dumb: false,
        };
        assert!(pressed(&keyboard, keys));
        let mut send = |_: &[u8]| ControlFlow::Continue(());
        let (left, _) = attend(shell, settings, History::default(), &keyboard, &mut send);
        assert!(left, "in order");
        assert!(pressed(&keyboard, &[b'x'; 3 << 20]), "nobody reads");
        lines.take()
    }

    #[test]
    fn ctrl_c_discards_earlier_input_and_keeps_later_input() {
        assert_eq!(
            lines(b"wait\rahead\r", b"more\r\x03behind\rquit\r"),
            ["wait", "behind", "quit"]
        );
    }

    #[test]
    fn input_after_a_pager_answer_is_kept() {
        assert_eq!(
            lines(b"long\r qnext\rquit\r", b""),
            ["long", "next", "quit"]
        );
    }
}
