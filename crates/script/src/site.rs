//! The environment of a script: access to the router, time, waiting, name resolution.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Wake;
use std::time::Duration;

use menu::{Menu, Reason, Store};
use tool::Router;

use crate::job::Job;

/// The environment of a script.
///
/// A site grants access to the router for one command at a time. Between commands, while a script waits and
/// while output is written, other tasks may use the router.
pub trait Site {
    /// Returns all menus, which never change.
    fn menus(&self) -> &'static [&'static Menu];

    /// Calls `run` with exclusive access to the configuration and the running router. `run` must not block. The
    /// site does not call it if the router has shut down.
    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router));

    /// As [`Site::lend`], for a `run` that changes nothing in the configuration. A site whose router is shared may call
    /// it between two commands of a transaction of another session; `run` then finds that transaction open.
    fn lend_to_read(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        self.lend(run);
    }

    /// Reserves the router for a transaction of several commands: until [`Site::release`], all others only read.
    fn reserve(&mut self) {}

    /// Ends the reservation.
    fn release(&mut self) {}

    /// Calls `run`, which does not need the router, within a reservation: readers have the router meanwhile.
    fn let_read(&mut self, run: &mut dyn FnMut()) {
        run();
    }

    /// Returns the time of a monotonic clock with arbitrary origin.
    fn now(&self) -> Duration;

    /// Waits until a time on the site's clock, or until the interrupt.
    ///
    /// # Errors
    /// The site cannot wait.
    fn wait(&mut self, until: Duration, interrupt: &Interrupt) -> Result<(), Reason>;

    /// Waits until a time on the site's clock, until the interrupt, or until the interrupt signals news.
    ///
    /// # Errors
    /// The site cannot wait.
    fn wait_for_news(&mut self, until: Duration, interrupt: &Interrupt) -> Result<(), Reason> {
        self.wait(until, interrupt)
    }

    /// Returns a random number.
    fn random(&mut self) -> u64 {
        // The standard library seeds each instance from the system's random numbers.
        RandomState::new().hash_one(0)
    }

    /// Resolves a name through the given server or the system's resolver.
    ///
    /// # Errors
    /// The name does not exist, or the site has no resolver.
    fn resolve(
        &mut self,
        asked: &NameQuery<'_>,
        interrupt: &Interrupt,
    ) -> Result<Vec<IpAddr>, Reason> {
        let _ = (asked, interrupt);
        Err(Reason::failure("dns server failure"))
    }

    /// Runs a job in the background.
    ///
    /// # Errors
    /// The site has no background threads.
    fn spawn(&mut self, job: Job) -> Result<(), Reason> {
        let _ = job;
        Err(Reason::failure(
            "a script can not run in the background here",
        ))
    }
}

/// A name to resolve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameQuery<'a> {
    /// The name.
    pub name: &'a str,
    /// The server to query; `None` for the system's resolver.
    pub server: Option<SocketAddr>,
    /// The accepted address families in order of preference: `true` for IPv4.
    pub families: &'a [bool],
}

/// A site with exclusive access to the router for its lifetime. Scripts cannot wait there.
pub struct ExclusiveSite<'a> {
    store: &'a mut Store,
    live: &'a mut dyn Router,
}

impl<'a> ExclusiveSite<'a> {
    /// Creates a site for this router.
    pub fn new(store: &'a mut Store, live: &'a mut dyn Router) -> Self {
        Self { store, live }
    }
}

impl Site for ExclusiveSite<'_> {
    fn menus(&self) -> &'static [&'static Menu] {
        self.store.menus()
    }

    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        run(self.store, self.live);
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn wait(&mut self, _until: Duration, _interrupt: &Interrupt) -> Result<(), Reason> {
        Err(Reason::failure("a script can not wait here"))
    }
}

/// The site of a file that is one transaction: its commands never wait.
pub(crate) struct InTransaction<'a>(pub(crate) &'a mut dyn Site);

impl Site for InTransaction<'_> {
    fn menus(&self) -> &'static [&'static Menu] {
        self.0.menus()
    }

    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        self.0.lend(run);
    }

    fn let_read(&mut self, run: &mut dyn FnMut()) {
        self.0.let_read(run);
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn wait(&mut self, _until: Duration, _interrupt: &Interrupt) -> Result<(), Reason> {
        Err(Reason::failure("a script can not wait here"))
    }
}

/// Stops the command of a session from another thread, even while the command waits.
#[derive(Debug, Default)]
pub struct Interrupt {
    state: AtomicU8,
    /// True while a command redraws its output repeatedly: `Q` ends it.
    watched: AtomicBool,
    /// True if Ctrl-C arrived while no command ran, and nothing has consumed it yet.
    early: AtomicBool,
    /// True if there is news that no waiter has consumed.
    waiting: Mutex<bool>,
    changed: Condvar,
}

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
const STOPPED: u8 = 2;
const CLOSED: u8 = 3;

impl Interrupt {
    /// Stops the running command. Returns false if none is running.
    pub fn stop(&self) -> bool {
        self.turn(RUNNING, STOPPED)
    }

    /// Handles Ctrl-C: stops the running command. If none is running, a command that starts before
    /// [`Interrupt::taken`] is stopped. Returns true if a command was running.
    pub fn press(&self) -> bool {
        let _guard = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let ran = self.swap(RUNNING, STOPPED);
        self.early.store(!ran, Ordering::SeqCst);
        self.changed.notify_all();
        ran
    }

    /// Consumes a Ctrl-C that stopped no command; called by the line editor or the pager that reads the key.
    pub fn taken(&self) {
        self.early.store(false, Ordering::SeqCst);
    }

    /// Ends the session: stops the running command and all later ones.
    pub fn close(&self) {
        while !self.turn(self.state.load(Ordering::SeqCst), CLOSED) {}
    }

    /// True if the running command must stop.
    pub fn is_on(&self) -> bool {
        self.state.load(Ordering::Relaxed) >= STOPPED
    }

    /// True if the current or the last command redraws its output until it is stopped.
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    pub(crate) fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// Waits for at most `span`. Returns true if the interrupt is set.
    pub fn wait(&self, span: Duration) -> bool {
        let guard = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self
            .changed
            .wait_timeout_while(guard, span, |_| !self.is_on());
        self.is_on()
    }

    /// Waits for at most `span`, or until news. Returns true if the interrupt is set.
    pub fn wait_for_news(&self, span: Duration) -> bool {
        let guard = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(guard, span, |news| !*news && !self.is_on());
        let (mut news, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *news = false;
        self.is_on()
    }

    /// Marks a command as running until the guard is dropped. Nested calls have no effect.
    pub(crate) fn running(self: &Arc<Self>) -> Running {
        let outermost = self.turn(IDLE, RUNNING);
        if outermost {
            self.watched.store(false, Ordering::Relaxed);
            if self.early.swap(false, Ordering::SeqCst) {
                self.stop();
            }
        }
        Running {
            outermost: outermost.then(|| Arc::clone(self)),
        }
    }

    fn turn(&self, from: u8, to: u8) -> bool {
        let _guard = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let turned = self.swap(from, to);
        self.changed.notify_all();
        turned
    }

    fn swap(&self, from: u8, to: u8) -> bool {
        let (success, failure) = (Ordering::SeqCst, Ordering::SeqCst);
        let swapped = self.state.compare_exchange(from, to, success, failure);
        swapped.is_ok()
    }
}

impl Wake for Interrupt {
    fn wake(self: Arc<Self>) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }
}

/// Guard for a running command.
pub(crate) struct Running {
    outermost: Option<Arc<Interrupt>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(interrupt) = &self.outermost {
            // Also resets a stopped command; a closed session stays closed.
            let _ = interrupt.turn(RUNNING, IDLE) || interrupt.turn(STOPPED, IDLE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_wake_only_their_waiters() {
        let interrupt = Arc::new(Interrupt::default());
        let _running = interrupt.running();
        Arc::clone(&interrupt).wake();

        assert!(!interrupt.wait_for_news(Duration::from_secs(3_600)));

        Arc::clone(&interrupt).wake();
        #[expect(clippy::disallowed_methods, reason = "the wait is in real time")]
        let before = std::time::Instant::now();
        let span = Duration::from_millis(1);
        assert!(!interrupt.wait(span));
        assert!(before.elapsed() >= span);
    }

    #[test]
    fn an_interrupt_wakes_the_waiter_and_ends_with_the_command() {
        let interrupt = Arc::new(Interrupt::default());
        assert!(!interrupt.stop(), "nothing runs");
        let running = interrupt.running();
        let other = Arc::clone(&interrupt);
        let waiting = std::thread::spawn(move || other.wait(Duration::from_secs(3_600)));

        assert!(interrupt.stop());

        assert!(waiting.join().expect("no panic"));
        drop(running);
        assert!(!interrupt.is_on());
        interrupt.close();
        let _running = interrupt.running();
        assert!(interrupt.is_on(), "an ended session runs nothing");
    }

    #[test]
    fn ctrl_c_stops_a_command_before_it_begins() {
        let interrupt = Arc::new(Interrupt::default());
        assert!(!interrupt.press(), "nothing runs");

        let started_tool = interrupt.running();
        assert!(interrupt.is_on());
        drop(started_tool);
        let next = interrupt.running();
        assert!(!interrupt.is_on(), "once");
        assert!(interrupt.press());
        assert!(interrupt.is_on());
        drop(next);

        assert!(!interrupt.press());
        interrupt.taken();
        let _running = interrupt.running();
        assert!(!interrupt.is_on(), "it was a key of the line");
    }
}
