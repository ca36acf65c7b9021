//! The router's configuration and its control, behind one lock, and what sessions do with them.
//!
//! Workers never wait for this lock: it is between the control thread and the sessions alone.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant as SystemInstant;

use console::{Candidate, Colour, Outcome, Shell, Span};
use machine::Instant;
use menu::Output;
use netio::Waker;
use router::Instance;
use script::{Class, Session, Subject};

use crate::access::Entered;
use crate::control::Router;
use crate::workers::Sleeper;

/// The most output that one command collects before it is sent.
const OUTPUT_BYTES: usize = 64 << 20;

/// A way to run a command.
type Execute = fn(&mut Instance, &mut Session, &str, &mut dyn Output) -> Result<(), menu::Refusal>;

/// A running router, as its threads share it.
pub(crate) struct Shared {
    instance: Mutex<Instance>,
    /// Wakes the control thread.
    pub(crate) wake: Waker,
    sleepers: Arc<[Sleeper]>,
    namespace: Option<String>,
    started: SystemInstant,
}

impl Shared {
    /// Puts a router together.
    pub(crate) fn new(
        instance: Instance,
        wake: Waker,
        sleepers: Arc<[Sleeper]>,
        namespace: Option<String>,
        started: SystemInstant,
    ) -> Self {
        Self {
            instance: Mutex::new(instance),
            wake,
            sleepers,
            namespace,
            started,
        }
    }

    /// Takes the lock. A session that panicked has left whole transactions behind it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Instance> {
        self.instance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time on the router's clock.
    pub(crate) fn now(&self) -> Instant {
        Instant::ZERO + self.started.elapsed()
    }

    /// Wakes the workers that were given something, and control, whose deadline may be nearer.
    pub(crate) fn after_change(&self, instance: &mut Instance) {
        for worker in instance.control().workers().take_woken() {
            if let Some(sleeper) = self.sleepers.get(usize::from(worker)) {
                sleeper.wake();
            }
        }
    }

    /// Runs a command in a session.
    fn run(
        &self,
        run: Execute,
        session: &mut Session,
        command: &str,
        out: &mut Collected,
    ) -> Result<(), menu::Refusal> {
        let mut instance = self.lock();
        self.set_time(&mut instance);
        let result = run(&mut instance, session, command, out);
        self.after_change(&mut instance);
        self.wake.wake();
        result
    }

    /// Tells control what time it is, and lets it do what is due. Says whether there is more.
    pub(crate) fn set_time(&self, instance: &mut Instance) -> bool {
        instance.control().set_clock(clock());
        instance.control().poll(self.now())
    }
}

/// The time of day, for logs and prints.
pub(crate) fn clock() -> menu::Clock {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap_or_default();
    menu::Clock {
        unix_seconds: i64::try_from(now.as_secs()).unwrap_or(0),
        nanos: now.subsec_nanos(),
        offset_seconds: 0,
    }
}

/// Output that is collected while the lock is held, so that a slow reader holds up nobody.
struct Collected {
    bytes: Vec<u8>,
    width: usize,
    overflowed: bool,
}

impl Collected {
    fn new(width: usize) -> Self {
        Self {
            bytes: Vec::new(),
            width,
            overflowed: false,
        }
    }
}

impl Output for Collected {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        if self.bytes.len() + text.len() > OUTPUT_BYTES {
            self.overflowed = true;
            return ControlFlow::Break(());
        }
        self.bytes.extend_from_slice(&menu::bytes::to_bytes(text));
        ControlFlow::Continue(())
    }

    fn width(&self) -> usize {
        self.width
    }
}

impl Router for Shared {
    type Shell = Terminal;

    fn shell(self: &Arc<Self>) -> Result<Terminal, String> {
        let entered = self.enter_locally("admin");
        Ok(Terminal::new(
            self,
            entered.map_err(|_| "too many sessions")?,
        ))
    }

    fn exec(&self, command: &str, json: bool, out: &mut Vec<u8>) -> Result<(), String> {
        let mut session = Session::new("admin");
        let mut collected = Collected::new(usize::MAX);
        let run = if json {
            Instance::run_json
        } else {
            Instance::run
        };
        let result = self.run(run, &mut session, command, &mut collected);
        *out = collected.bytes;
        if collected.overflowed {
            return Err(format!(
                "failure: more than {} MB of output",
                OUTPUT_BYTES >> 20
            ));
        }
        result.map_err(|refusal| refusal.to_string())
    }

    fn namespace(&self) -> Option<String> {
        self.namespace.clone()
    }
}

/// One user's session at a console.
pub(crate) struct Terminal {
    shared: Arc<Shared>,
    session: Session,
    width: usize,
    entered: Entered,
}

impl Terminal {
    /// The session of somebody who has logged in.
    pub(crate) fn new(shared: &Arc<Shared>, entered: Entered) -> Self {
        Self {
            shared: Arc::clone(shared),
            session: entered.session(),
            width: 80,
            entered,
        }
    }

    /// Whether somebody has ended the session.
    pub(crate) fn is_ended(&self) -> bool {
        self.entered.is_ended()
    }
}

impl Shell for Terminal {
    fn prompt(&self) -> String {
        let instance = self.shared.lock();
        let identity = instance.store().settings("/system/identity");
        let identity = identity.map_or("ferroute", |item| item.text("name"));
        format!(
            "[{}@{identity}] {}> ",
            self.session.user,
            self.session.prompt_path()
        )
    }

    fn continuation(&self, line: &str) -> Option<String> {
        script::open_brackets(line).map(|open| format!("{open}... "))
    }

    fn resize(&mut self, columns: usize) {
        self.width = columns;
    }

    fn execute(&mut self, line: &str, out: &mut Vec<u8>) -> Outcome {
        if matches!(line.trim(), "/quit" | "quit") {
            return Outcome::Quit;
        }
        let mut collected = Collected::new(self.width);
        let shared = Arc::clone(&self.shared);
        let result = shared.run(Instance::run, &mut self.session, line, &mut collected);
        *out = collected.bytes;
        if collected.overflowed {
            out.extend_from_slice(b"failure: too much output\n");
        }
        if let Err(refusal) = result {
            out.extend_from_slice(refusal.to_string().as_bytes());
            out.push(b'\n');
        }
        Outcome::Continue
    }

    fn complete(&self, line: &str, cursor: usize) -> (usize, Vec<Candidate>) {
        let instance = self.shared.lock();
        let found = script::complete(instance.store(), &self.session, line, cursor);
        let from = found.first().map_or(cursor, |candidate| candidate.start);
        let candidates = found.into_iter().map(|candidate| Candidate {
            suffix: match candidate.subject {
                Subject::Argument => "=",
                Subject::Hint => "",
                Subject::Menu | Subject::Command | Subject::Value | Subject::Variable => " ",
            },
            inserts: candidate.subject != Subject::Hint,
            text: candidate.text,
            help: candidate.help,
        });
        (from, candidates.collect())
    }

    fn highlight(&self, line: &str) -> Vec<Span> {
        let instance = self.shared.lock();
        let pieces = script::highlight(instance.store(), &self.session.path, line);
        let span = |(start, end, class)| Span {
            range: start..end,
            colour: colour(class),
        };
        pieces.into_iter().map(span).collect()
    }
}

fn colour(class: Class) -> Colour {
    match class {
        Class::Menu => Colour::Menu,
        Class::Command => Colour::Command,
        Class::Argument => Colour::Argument,
        Class::Value => Colour::Value,
        Class::Variable => Colour::Variable,
        Class::Operator | Class::Syntax => Colour::Operator,
        Class::Comment => Colour::Comment,
        Class::Error => Colour::Error,
    }
}
