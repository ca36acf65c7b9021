//! The router's configuration and control behind one lock, and the operations of sessions on them.
//!
//! Workers never wait for this lock: only the control thread and the sessions use it. A session holds it for
//! one command at a time, never while a script waits or output is sent. A file that runs as one transaction reserves it
//! until its end and lets others read meanwhile.

use std::path::PathBuf;
use std::sync::Arc;
use std::task;
use std::time::{Duration, Instant as SystemInstant};

use console::{Candidate, Colour, Outcome, Page, SafeModeReply, Shell, Span};
use machine::Instant;
use menu::{Output, Reason, Refusal, Scan, Store, Survey};
use netio::Waker;
use router::drive::Pulse;
use router::drive::log::Entry;
use router::{Holder, Instance};
use script::{
    Class, Done, Interrupt, ListenRequest, Pause, Request, Rows, Scripting, Session, Subject,
};
use tokio::sync::watch;

use crate::host::HostPlane;
use crate::run::fair_lock::{FairLock, Guard, Rank};
use crate::run::workers::Sleeper;
use crate::session::access::LoginSession;
use crate::session::command_output::CommandOutput;
use crate::session::control::Router;
use crate::session::handle::SessionHandle;
use crate::session::history::HistoryFile;
use crate::session::router_access::SessionAccess;

/// A running router, shared by its threads.
pub(crate) struct Shared {
    instance: FairLock<Instance>,
    /// Script state of all users.
    pub(crate) scripting: Scripting,
    /// Wakes the control thread.
    pub(crate) wake: Waker,
    sleepers: Arc<[Sleeper]>,
    /// Revision of the configuration, for tasks that wait for a change.
    revision: watch::Sender<u64>,
    /// Host plane of the router's own sockets.
    pub(crate) host: Option<Arc<HostPlane>>,
    /// State folder.
    state: Option<PathBuf>,
    started: SystemInstant,
}

/// Lets control poll during long commands.
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
    /// Returns one line about configuration without effect; `None` if all has effect. Releases the lock in
    /// between.
    pub(crate) fn effects(&self) -> Option<String> {
        let mut survey = Survey::default();
        while survey.go_on(self.read().store()) == Scan::More {}
        survey.line()
    }

    /// Assembles a router.
    pub(crate) fn new(
        instance: Instance,
        wake: Waker,
        sleepers: Arc<[Sleeper]>,
        host: Option<Arc<HostPlane>>,
        state: Option<PathBuf>,
        started: SystemInstant,
    ) -> Self {
        let mut instance = instance;
        instance.control().set_pulse(Arc::new(Heart {
            sleepers: Arc::clone(&sleepers),
            started,
        }));
        let scripting = instance.control().scripting().clone();
        Self {
            instance: FairLock::new(instance),
            scripting,
            wake,
            sleepers,
            revision: watch::Sender::new(0),
            host,
            state,
            started,
        }
    }

    /// Waits for the lock.
    pub(crate) fn lock(&self) -> Guard<'_, Instance> {
        self.instance.lock(Rank::Ahead)
    }

    /// Waits for the lock with a rank.
    pub(crate) fn lock_as(&self, rank: Rank) -> Guard<'_, Instance> {
        self.instance.lock(rank)
    }

    /// Waits for the lock to change nothing in the configuration. While a file runs as one transaction, this returns
    /// between two of its commands; the changes so far are visible.
    pub(crate) fn read(&self) -> Guard<'_, Instance> {
        self.instance.lock(Rank::Reader)
    }

    /// Returns true if the lock is free.
    #[cfg(test)]
    pub(crate) fn is_free(&self) -> bool {
        self.instance.is_free()
    }

    /// Returns the time on the router's clock.
    pub(crate) fn now(&self) -> Instant {
        Instant::ZERO + self.started.elapsed()
    }

    /// Wakes workers with new work, and control, whose deadline may have moved forward.
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

    /// Wakes a worker that has work in one of its rings.
    pub(crate) fn wake_worker(&self, worker: usize) {
        if let Some(sleeper) = self.sleepers.get(worker) {
            sleeper.wake();
        }
    }

    /// Processes a DNS query to the router. `waker` is woken for the answer, which
    /// [`take_answer`](router::drive::Control::take_answer) returns.
    pub(crate) fn ask_name(&self, message: &[u8], waker: &task::Waker) -> Option<u64> {
        let mut instance = self.lock();
        self.set_time(&mut instance);
        let ticket = instance.control().ask_name(message, waker.clone());
        self.after_change(&mut instance);
        drop(instance);
        // The query may need sockets, and has a deadline.
        self.wake.wake();
        ticket
    }

    /// Runs a request of an API client.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn request(
        self: &Arc<Self>,
        session: &mut Session,
        request: &Request,
        rows: &mut dyn Rows,
    ) -> Result<Done, Refusal> {
        script::request_at(&mut SessionAccess::new(self), session, request, rows)
    }

    /// Starts a listening request; `None` for other requests.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn begin_listening(
        self: &Arc<Self>,
        session: &mut Session,
        request: &Request,
    ) -> Result<Option<ListenRequest>, Refusal> {
        ListenRequest::begin(&mut SessionAccess::following(self), session, request)
    }

    /// Runs one turn of a listening request.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn listen(
        self: &Arc<Self>,
        course: &mut ListenRequest,
        session: &mut Session,
        rows: &mut dyn Rows,
    ) -> Result<Option<Pause>, Refusal> {
        course.turn(&mut SessionAccess::following(self), session, rows)
    }

    /// Returns the revisions of the configuration.
    pub(crate) fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// Waits for the next turn without occupying a thread.
    pub(crate) async fn pause(&self, pause: Pause) {
        let left = |until: Duration| until.saturating_sub(self.started.elapsed());
        tokio::time::sleep(left(pause.soonest)).await;
        let mut revision = self.revision.subscribe();
        let changed = revision.wait_for(|revision| *revision != pause.revision);
        let _ = tokio::time::timeout(left(pause.latest), changed).await;
    }

    /// Runs a job in the host plane, or without one in the machine's namespace.
    ///
    /// # Errors
    /// The error of the job.
    pub(crate) fn inside<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> std::io::Result<T> + Send + 'static,
    ) -> std::io::Result<T> {
        match &self.host {
            Some(host) => host.inside(job),
            None => job(),
        }
    }

    /// Sets control's time and runs due timers. Returns true if more are due.
    pub(crate) fn set_time(&self, instance: &mut Instance) -> bool {
        let now = self.now();
        set_clock(instance, now);
        instance.poll(now)
    }
}

/// Sets control's local wall-clock time; `now` is the time on the router's clock.
pub(crate) fn set_clock(instance: &mut Instance, now: Instant) {
    let clock = instance.control().correct_clock(clock(), now);
    let clock = in_zone(clock, instance.store());
    instance.control().set_clock(clock);
}

/// Returns the local wall-clock time of a configuration's time zone.
pub(crate) fn local_clock(store: &Store) -> menu::Clock {
    in_zone(clock(), store)
}

/// Converts UTC to the time zone of a configuration.
fn in_zone(clock: menu::Clock, store: &Store) -> menu::Clock {
    let local = crate::system::zone::local(store, clock.unix_seconds);
    menu::Clock {
        offset_seconds: local.offset_seconds,
        daylight: local.daylight,
        ..clock
    }
}

/// Returns the wall-clock time in UTC.
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
        let mut access = SessionAccess::new(&shell.shared);
        let result = run(&mut access, &mut shell.session, command, out);
        // RouterOS: safe mode of a single command ends with the command, and its changes stay; an interrupted
        // command reverts them.
        let interrupted = |refusal: &Refusal| refusal.reason == Reason::Interrupted;
        if !result.as_ref().is_err_and(interrupted) {
            shell.handle.leave();
        }
        result.map_err(|refusal| refusal.to_string())
    }

    fn interrupter(shell: &Terminal) -> Arc<Interrupt> {
        shell.session.interrupter()
    }

    fn history_file(&self, shell: &Terminal) -> HistoryFile {
        HistoryFile::of(self.state.as_deref(), shell.entered.user())
    }

    fn namespace(&self) -> Option<String> {
        self.host.as_deref().map(HostPlane::path)
    }
}

/// Console session of a user.
pub(crate) struct Terminal {
    shared: Arc<Shared>,
    session: Session,
    width: usize,
    /// Ends safe mode when the session is dropped.
    handle: SessionHandle,
    entered: Arc<LoginSession>,
    /// Time without a key after which the console ends.
    longest_idle: Duration,
    /// Number of the last log entry at the console's last check.
    heard: u64,
}

/// RouterOS: format of log entries on a console.
fn echo(entry: &Entry) -> String {
    let at = entry.at.date_time();
    let time = at.split_once(' ').map_or(&*at, |(_, time)| time);
    let message = menu::visible(&entry.message);
    format!("{time} echo: {} {message}", menu::visible(&entry.topics))
}

impl Terminal {
    /// Creates the session of a logged-in user.
    pub(crate) fn new(shared: &Arc<Shared>, entered: Arc<LoginSession>) -> Self {
        let mut session = entered.session();
        // A login may have several consoles, each with its own safe mode.
        let handle = SessionHandle::new(shared, entered.user());
        handle.give(&mut session);
        let heard = shared.read().control().log().last();
        Self {
            handle,
            shared: Arc::clone(shared),
            session,
            width: 80,
            entered,
            longest_idle: Duration::MAX,
            heard,
        }
    }

    /// Sets the time without a key after which the console ends.
    pub(crate) fn set_longest_idle(&mut self, time: Duration) {
        self.longest_idle = time;
    }

    /// Returns the banner of a remote login.
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

    /// Returns the reason why changes cannot be stored, followed by an empty line; empty if they can.
    fn fault(&self) -> String {
        let instance = self.shared.read();
        let fault = instance.store().fault();
        fault.map_or(String::new(), |fault| {
            format!("{}\n\n", menu::visible_lines(fault))
        })
    }

    /// Returns the note about configuration without effect, followed by an empty line; empty if all has effect.
    fn effects(&self) -> String {
        let line = self.shared.effects();
        line.map_or(String::new(), |line| format!("{line}\n\n"))
    }

    /// Returns `/system/note`, followed by an empty line; empty if there is none.
    pub(crate) fn note(&self) -> String {
        let instance = self.shared.read();
        let note = instance.store().settings("/system/note");
        let note = note.filter(|item| item.is("show-at-login"));
        match note.map_or("", |item| item.text("note")).trim_end() {
            "" => String::new(),
            note => format!("{}\n\n", menu::visible_lines(&note.replace('\r', ""))),
        }
    }

    /// Returns the handle that stops the session's commands from another thread.
    pub(crate) fn interrupter(&self) -> Arc<Interrupt> {
        self.session.interrupter()
    }

    /// Runs a safe mode command; returns the error, or else `text`.
    fn in_safe_mode(&mut self, command: &str, text: &str) -> String {
        let mut access = SessionAccess::new(&self.shared);
        let mut unread = String::new();
        match script::run_at(&mut access, &mut self.session, command, &mut unread) {
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

    fn safe_mode(&mut self) -> SafeModeReply {
        const HIJACK: &str =
            "Hijacking Safe Mode from someone - unroll/release/don't take it [u/r/d]: ";
        match self.handle.safe_mode() {
            Holder::Own => {
                SafeModeReply::Done(self.in_safe_mode("/safe-mode/release", "[Safe Mode released]"))
            }
            Holder::Nobody => SafeModeReply::Done(self.in_safe_mode("/safe-mode/take", TAKEN)),
            Holder::Other(_) => SafeModeReply::Ask(HIJACK.to_owned()),
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
        self.handle.notice()
    }

    fn continuation(&self, line: &str) -> Option<String> {
        script::open_brackets(line).map(|open| format!("{open}... "))
    }

    fn resize(&mut self, columns: usize) {
        self.width = columns;
    }

    fn execute(&mut self, line: &str, page: &mut Page<'_>) -> Outcome {
        if matches!(line.trim(), "/quit" | "quit") {
            // RouterOS: `/quit` keeps the changes of safe mode, Ctrl-D reverts them.
            self.handle.leave();
            return Outcome::Quit;
        }
        let mut shown = CommandOutput::new(page);
        let mut access = SessionAccess::new(&self.shared);
        let result = script::run_at(&mut access, &mut self.session, line, &mut shown);
        let watched = self.session.interrupter().is_watched();
        // Interrupting an endless command is no error.
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
        idle >= self.longest_idle || self.entered.is_over(idle)
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
