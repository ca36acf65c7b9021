//! The router's configuration and its control, behind one lock, and what sessions do with them.
//!
//! Workers never wait for this lock: it is between the control thread and the sessions alone. A
//! session has it for one command at a time, never while a script waits or its output goes out. A file that is one
//! transaction has it reserved to its end, and lets others read in between.

use std::path::PathBuf;
use std::sync::Arc;
use std::task;
use std::time::{Duration, Instant as SystemInstant};

use console::{Candidate, Colour, Outcome, Page, Said, Shell, Span};
use machine::Instant;
use menu::{Output, Reason, Refusal, Scan, Store, Survey};
use netio::Waker;
use router::drive::Pulse;
use router::drive::log::Entry;
use router::{Holder, Instance};
use script::{Class, Course, Done, Interrupt, Pause, Request, Rows, Scripting, Session, Subject};
use tokio::sync::watch;

use crate::access::Entered;
use crate::control::Router;
use crate::fair::{Fair, Guard, Rank};
use crate::host::HostPlane;
use crate::past::Past;
use crate::seat::Seat;
use crate::shown::Shown;
use crate::visit::Visit;
use crate::workers::Sleeper;

/// A running router, as its threads share it.
pub(crate) struct Shared {
    instance: Fair<Instance>,
    /// What the scripts of all users share.
    pub(crate) scripting: Scripting,
    /// Wakes the control thread.
    pub(crate) wake: Waker,
    sleepers: Arc<[Sleeper]>,
    /// The revision of the configuration, for who waits for another.
    revision: watch::Sender<u64>,
    /// Where the router's own sockets are.
    pub(crate) host: Option<Arc<HostPlane>>,
    /// The folder of the router's state.
    state: Option<PathBuf>,
    started: SystemInstant,
}

/// Lets control poll within commands that have the router for long.
struct Heart {
    sleepers: Arc<[Sleeper]>,
    started: SystemInstant,
}

impl Pulse for Heart {
    fn now(&self) -> Instant {
        Instant::ZERO + self.started.elapsed()
    }

    fn wake(&self, worker: u16) {
        if let Some(sleeper) = self.sleepers.get(usize::from(worker)) {
            sleeper.wake();
        }
    }
}

impl Shared {
    /// One line that says how much of the configuration has no effect; `None` if all has. Others have their turn at
    /// the router in between.
    pub(crate) fn effects(&self) -> Option<String> {
        let mut survey = Survey::default();
        while survey.go_on(self.read().store()) == Scan::More {}
        survey.line()
    }

    /// Puts a router together.
    pub(crate) fn new(
        instance: Instance,
        wake: Waker,
        sleepers: Arc<[Sleeper]>,
        (host, state): (Option<Arc<HostPlane>>, Option<PathBuf>),
        started: SystemInstant,
    ) -> Self {
        let mut instance = instance;
        instance.control().set_pulse(Arc::new(Heart {
            sleepers: Arc::clone(&sleepers),
            started,
        }));
        let scripting = instance.control().scripting().clone();
        Self {
            instance: Fair::new(instance),
            scripting,
            wake,
            sleepers,
            revision: watch::Sender::new(0),
            host,
            state,
            started,
        }
    }

    /// Waits for the turn at the router.
    pub(crate) fn lock(&self) -> Guard<'_, Instance> {
        self.instance.lock(Rank::Ahead)
    }

    /// Waits for the turn at the router that is due to this rank.
    pub(crate) fn lock_as(&self, rank: Rank) -> Guard<'_, Instance> {
        self.instance.lock(rank)
    }

    /// Waits for the turn at the router to change nothing in the configuration: it comes between two commands of a
    /// transaction, too, whose changes are visible then.
    pub(crate) fn read(&self) -> Guard<'_, Instance> {
        self.instance.lock(Rank::Reader)
    }

    /// Whether nobody has the router.
    #[cfg(test)]
    pub(crate) fn is_free(&self) -> bool {
        self.instance.is_free()
    }

    /// The time on the router's clock.
    pub(crate) fn now(&self) -> Instant {
        Instant::ZERO + self.started.elapsed()
    }

    /// Wakes the workers that were given something, and control, whose deadline may be nearer.
    pub(crate) fn after_change(&self, instance: &mut Instance) {
        let revision = instance.store().revision();
        self.revision
            .send_if_modified(|known| std::mem::replace(known, revision) != revision);
        for worker in instance.control().workers().take_woken() {
            if let Some(sleeper) = self.sleepers.get(usize::from(worker)) {
                sleeper.wake();
            }
        }
    }

    /// Takes a question for the router itself; `waker` wakes who waits for the answer, which
    /// [`take_answer`](router::drive::Control::take_answer) gives.
    pub(crate) fn ask_name(&self, message: &[u8], waker: &task::Waker) -> Option<u64> {
        let mut instance = self.lock();
        self.set_time(&mut instance);
        let ticket = instance.control().ask_name(message, waker.clone());
        self.after_change(&mut instance);
        drop(instance);
        // It may have to be put by sockets, and has a time.
        self.wake.wake();
        ticket
    }

    /// Runs a request of another program.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn request(
        self: &Arc<Self>,
        session: &mut Session,
        request: &Request,
        rows: &mut dyn Rows,
    ) -> Result<Done, Refusal> {
        script::request_at(&mut Visit::new(self), session, request, rows)
    }

    /// Begins a request that listens, or gives nothing if it is another.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn begin_listening(
        self: &Arc<Self>,
        session: &mut Session,
        request: &Request,
    ) -> Result<Option<Course>, Refusal> {
        Course::begin(&mut Visit::following(self), session, request)
    }

    /// Gives the turn of a request that listens.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn listen(
        self: &Arc<Self>,
        course: &mut Course,
        session: &mut Session,
        rows: &mut dyn Rows,
    ) -> Result<Option<Pause>, Refusal> {
        course.turn(&mut Visit::following(self), session, rows)
    }

    /// Waits until another turn is due, without a thread.
    pub(crate) async fn pause(&self, pause: Pause) {
        let left = |until: Duration| until.saturating_sub(self.started.elapsed());
        tokio::time::sleep(left(pause.soonest)).await;
        let mut revision = self.revision.subscribe();
        let changed = revision.wait_for(|revision| *revision != pause.revision);
        let _ = tokio::time::timeout(left(pause.latest), changed).await;
    }

    /// Does something where the router's own sockets are.
    ///
    /// # Errors
    /// What it says.
    pub(crate) fn inside<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> std::io::Result<T> + Send + 'static,
    ) -> std::io::Result<T> {
        match &self.host {
            Some(host) => host.inside(job),
            None => job(),
        }
    }

    /// Tells control what time it is, and lets it do what is due. Says whether there is more.
    pub(crate) fn set_time(&self, instance: &mut Instance) -> bool {
        let now = self.now();
        set_clock(instance, now);
        instance.poll(now)
    }
}

/// Tells control the time of day where the router is; `now` is the time on the router's clock.
pub(crate) fn set_clock(instance: &mut Instance, now: Instant) {
    let clock = instance.control().correct_clock(clock(), now);
    let clock = in_zone(clock, instance.store());
    instance.control().set_clock(clock);
}

/// The time of day where the router of this configuration is, as the machine has it: what a router begins with.
pub(crate) fn local_clock(store: &Store) -> menu::Clock {
    in_zone(clock(), store)
}

/// A time of day in the zone of a configuration.
fn in_zone(clock: menu::Clock, store: &Store) -> menu::Clock {
    let local = crate::zone::local(store, clock.unix_seconds);
    menu::Clock {
        offset_seconds: local.offset_seconds,
        daylight: local.daylight,
        ..clock
    }
}

/// The time of day in UTC.
pub(crate) fn clock() -> menu::Clock {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap_or_default();
    menu::Clock {
        unix_seconds: i64::try_from(now.as_secs()).unwrap_or(0),
        nanos: now.subsec_nanos(),
        ..menu::Clock::utc(0)
    }
}

impl Router for Shared {
    type Shell = Terminal;

    fn shell(self: &Arc<Self>, quiet: bool) -> Result<Terminal, String> {
        let entered = self.enter_locally("admin", quiet);
        Ok(Terminal::new(
            self,
            Arc::new(entered.map_err(|_| "too many sessions")?),
        ))
    }

    fn welcome(shell: &Terminal) -> String {
        shell.fault() + &shell.effects()
    }

    fn exec(
        shell: &mut Terminal,
        command: &str,
        json: bool,
        out: &mut dyn Output,
    ) -> Result<(), String> {
        let run = if json {
            script::run_json_at
        } else {
            script::run_at
        };
        let mut visit = Visit::new(&shell.shared);
        let result = run(&mut visit, &mut shell.session, command, out);
        // RouterOS: safe mode of a single command ends with it, and what it changed stays; a client
        // that went away in the middle has not ended it.
        let interrupted = |refusal: &Refusal| refusal.reason == Reason::Interrupted;
        if !result.as_ref().is_err_and(interrupted) {
            shell.seat.leave();
        }
        result.map_err(|refusal| refusal.to_string())
    }

    fn interrupter(shell: &Terminal) -> Arc<Interrupt> {
        shell.session.interrupter()
    }

    fn past(&self, shell: &Terminal) -> Past {
        Past::of(self.state.as_deref(), shell.entered.user())
    }

    fn namespace(&self) -> Option<String> {
        self.host.as_deref().map(HostPlane::path)
    }
}

/// One user's session at a console.
pub(crate) struct Terminal {
    shared: Arc<Shared>,
    session: Session,
    width: usize,
    /// Leaves safe mode when the session goes.
    seat: Seat,
    entered: Arc<Entered>,
    /// The last entry of the log that was there when the console last looked.
    heard: u64,
}

/// RouterOS: how an entry of the log looks between the lines of a console.
fn echo(entry: &Entry) -> String {
    let at = entry.at.date_time();
    let time = at.split_once(' ').map_or(&*at, |(_, time)| time);
    let message = menu::visible(&entry.message);
    format!("{time} echo: {} {message}", menu::visible(&entry.topics))
}

impl Terminal {
    /// The session of somebody who has logged in.
    pub(crate) fn new(shared: &Arc<Shared>, entered: Arc<Entered>) -> Self {
        let mut session = entered.session();
        // A login may have several consoles; each is in safe mode for itself.
        let seat = Seat::new(shared, entered.user());
        seat.give(&mut session);
        let heard = shared.read().control().log().last();
        Self {
            seat,
            shared: Arc::clone(shared),
            session,
            width: 80,
            entered,
            heard,
        }
    }

    /// What somebody is shown who has just logged in from elsewhere.
    pub(crate) fn greeting(&self) -> String {
        format!(
            "\r\n  ferroute {}, RouterOS {}\r\n\r\n  Press F1 for help\r\n\r\n{}{}{}",
            env!("CARGO_PKG_VERSION"),
            schema::VERSION,
            self.note().replace('\n', "\r\n"),
            self.fault().replace('\n', "\r\n"),
            self.effects().replace('\n', "\r\n")
        )
    }

    /// Why changes of the configuration cannot be stored, with an empty line after it; empty if they can.
    fn fault(&self) -> String {
        let instance = self.shared.read();
        let fault = instance.store().fault();
        fault.map_or(String::new(), |fault| {
            format!("{}\n\n", menu::visible_lines(fault))
        })
    }

    /// How much of the configuration has no effect, with an empty line after it; empty if all has.
    fn effects(&self) -> String {
        let line = self.shared.effects();
        line.map_or(String::new(), |line| format!("{line}\n\n"))
    }

    /// The router's note for those who log in, with an empty line after it; empty if there is none.
    pub(crate) fn note(&self) -> String {
        let instance = self.shared.read();
        let note = instance.store().settings("/system/note");
        let note = note.filter(|item| item.is("show-at-login"));
        match note.map_or("", |item| item.text("note")).trim_end() {
            "" => String::new(),
            note => format!("{}\n\n", menu::visible_lines(&note.replace('\r', ""))),
        }
    }

    /// What stops the session's commands from another thread.
    pub(crate) fn interrupter(&self) -> Arc<Interrupt> {
        self.session.interrupter()
    }

    /// Runs a command of safe mode; gives what went wrong, or else the text.
    fn in_safe_mode(&mut self, command: &str, text: &str) -> String {
        let mut visit = Visit::new(&self.shared);
        let mut unread = String::new();
        match script::run_at(&mut visit, &mut self.session, command, &mut unread) {
            Ok(()) => text.to_owned(),
            Err(refusal) => refusal.to_string(),
        }
    }
}

impl Shell for Terminal {
    fn prompt(&self) -> String {
        let instance = self.shared.read();
        let identity = instance.store().settings("/system/identity");
        let identity = identity.map_or("ferroute", |item| item.text("name"));
        let identity = menu::visible(identity);
        let end = match instance.safe_mode(self.session.caller().session) {
            Holder::Own => "<SAFE>",
            _ => ">",
        };
        format!(
            "[{}@{identity}] {}{end} ",
            menu::visible(&self.session.user),
            self.session.prompt_path()
        )
    }

    fn question(&self, line: &str) -> Option<String> {
        let commands = script::commands(schema::ALL, &self.session, line);
        let mut asked = commands
            .iter()
            .filter_map(|(path, command)| schema::question(path, command));
        asked.next().map(str::to_owned)
    }

    fn safe_mode(&mut self) -> Said {
        const HIJACK: &str =
            "Hijacking Safe Mode from someone - unroll/release/don't take it [u/r/d]: ";
        match self.seat.safe_mode() {
            Holder::Own => {
                Said::Done(self.in_safe_mode("/safe-mode/release", "[Safe Mode released]"))
            }
            Holder::Nobody => Said::Done(self.in_safe_mode("/safe-mode/take", TAKEN)),
            Holder::Other(_) => Said::Ask(HIJACK.to_owned()),
        }
    }

    fn take_over(&mut self, key: char) -> String {
        match key {
            'u' => self.in_safe_mode("/safe-mode/take on-error=unroll", TAKEN),
            'r' => self.in_safe_mode("/safe-mode/take on-error=release", TAKEN),
            _ => String::new(),
        }
    }

    fn echoes(&mut self) -> Option<String> {
        let mut instance = self.shared.read();
        let log = instance.control().log();
        let after = std::mem::replace(&mut self.heard, log.last());
        let lines: Vec<_> = log.echoes(after).map(echo).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn notice(&mut self) -> Option<String> {
        self.seat.notice()
    }

    fn continuation(&self, line: &str) -> Option<String> {
        script::open_brackets(line).map(|open| format!("{open}... "))
    }

    fn resize(&mut self, columns: usize) {
        self.width = columns;
    }

    fn execute(&mut self, line: &str, page: &mut Page<'_>) -> Outcome {
        if matches!(line.trim(), "/quit" | "quit") {
            // RouterOS: what was changed in safe mode is kept, unlike with Ctrl-D.
            self.seat.leave();
            return Outcome::Quit;
        }
        let mut shown = Shown::new(page);
        let mut visit = Visit::new(&self.shared);
        let result = script::run_at(&mut visit, &mut self.session, line, &mut shown);
        let watched = self.session.interrupter().is_watched();
        // Who ends what would go on for ever knows that it is over.
        if let Err(refusal) = result
            && !(watched && refusal.reason == Reason::Interrupted)
        {
            if refusal.reason == Reason::Interrupted {
                shown.stop_at_pages(false);
            }
            let _ = shown.write(&format!("{refusal}\n"));
        }
        Outcome::Continue
    }

    fn is_over(&self, idle: Duration) -> bool {
        self.entered.is_over(idle)
    }

    fn complete(&self, line: &str, cursor: usize) -> (usize, Vec<Candidate>) {
        let instance = self.shared.read();
        let found = script::complete(instance.store(), &self.session, line, cursor);
        let from = found.first().map_or(cursor, |candidate| candidate.start);
        let candidates = found.into_iter().map(|candidate| Candidate {
            suffix: match candidate.subject {
                Subject::Argument => "=",
                Subject::Hint => "",
                _ => " ",
            },
            inserts: candidate.subject != Subject::Hint,
            text: menu::visible(&candidate.text).into_owned(),
            help: candidate.help,
        });
        (from, candidates.collect())
    }

    fn highlight(&self, line: &str) -> Vec<Span> {
        let instance = self.shared.read();
        let pieces = script::highlight(instance.store(), &self.session.path, line);
        let span = |(start, end, class)| Span {
            range: start..end,
            colour: colour(class),
        };
        pieces.into_iter().map(span).collect()
    }
}

const TAKEN: &str = "[Safe Mode taken]";

fn colour(class: Class) -> Colour {
    match class {
        Class::Menu => Colour::Menu,
        Class::Command => Colour::Command,
        Class::Argument | Class::Property => Colour::Argument,
        Class::Value => Colour::Value,
        Class::Variable => Colour::Variable,
        Class::Operator | Class::Syntax => Colour::Operator,
        Class::Comment => Colour::Comment,
        Class::Error => Colour::Error,
    }
}
