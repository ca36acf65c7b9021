//! Where a script runs: who lends it the router, tells it the time and lets it wait.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Wake;
use std::time::Duration;

use menu::{Menu, Reason, Store};
use tool::Router;

use crate::job::Job;

/// Where a script runs.
///
/// It lends the router for one command at a time. Between two commands, while a script waits and
/// while its output goes out, the router is everybody's.
pub trait Site {
    /// All menus; they never change.
    fn menus(&self) -> &'static [&'static Menu];

    /// Lends the configuration and what runs of it. `run` waits for nothing and nobody. It is not
    /// called when the router is gone.
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

    /// The time on a clock that never jumps, from any beginning.
    fn now(&self) -> Duration;

    /// Lets time pass until then on that clock, or until the interrupt comes.
    ///
    /// # Errors
    /// There is nobody who could wait.
    fn wait(&mut self, until: Duration, interrupt: &Interrupt) -> Result<(), Reason>;

    /// As [`Site::wait`], but also no longer than until the interrupt is woken: there is news.
    ///
    /// # Errors
    /// There is nobody who could wait.
    fn wait_for_news(&mut self, until: Duration, interrupt: &Interrupt) -> Result<(), Reason> {
        self.wait(until, interrupt)
    }

    /// A random number.
    fn random(&mut self) -> u64 {
        // The standard library seeds this from the system, each time anew.
        RandomState::new().hash_one(0)
    }

    /// The addresses of a name, as a server or the system's resolver knows them.
    ///
    /// # Errors
    /// There is no such name, or nobody to ask.
    fn resolve(&mut self, asked: &Asked<'_>, interrupt: &Interrupt) -> Result<Vec<IpAddr>, Reason> {
        let _ = (asked, interrupt);
        Err(Reason::failure("dns server failure"))
    }

    /// Runs a job beside the script.
    ///
    /// # Errors
    /// There is nobody who could run it.
    fn spawn(&mut self, job: Job) -> Result<(), Reason> {
        let _ = job;
        Err(Reason::failure(
            "a script can not run in the background here",
        ))
    }
}

/// A name whose addresses are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The name.
    pub name: &'a str,
    /// The server to ask; without one the system's resolver is.
    pub server: Option<SocketAddr>,
    /// The families that will do, the better one first: `true` stands for IPv4.
    pub families: &'a [bool],
}

/// A site that has the router for itself: nothing else goes on while a script runs, so none waits.
pub struct Held<'a> {
    store: &'a mut Store,
    live: &'a mut dyn Router,
}

impl<'a> Held<'a> {
    /// The site of this router.
    pub fn new(store: &'a mut Store, live: &'a mut dyn Router) -> Self {
        Self { store, live }
    }
}

impl Site for Held<'_> {
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

/// The site of a file that is one transaction: its commands wait for nothing, whoever could wait.
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

/// A switch that stops the command of a session from another thread, also one that waits.
#[derive(Debug, Default)]
pub struct Interrupt {
    state: AtomicU8,
    /// The command shows something again and again: `Q` is to end it.
    watched: AtomicBool,
    /// Ctrl-C came when nothing ran, and nobody has read it yet.
    early: AtomicBool,
    /// Whether there is news that nobody has looked at.
    waiting: Mutex<bool>,
    changed: Condvar,
}

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
const STOPPED: u8 = 2;
const CLOSED: u8 = 3;

impl Interrupt {
    /// Stops the command that runs; says whether one did.
    pub fn stop(&self) -> bool {
        self.turn(RUNNING, STOPPED)
    }

    /// Ctrl-C: stops the command that runs; without one, a command that begins before this is
    /// [`Interrupt::taken`] as the key that it is then. Says whether one ran.
    pub fn press(&self) -> bool {
        let _guard = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let ran = self.swap(RUNNING, STOPPED);
        self.early.store(!ran, Ordering::SeqCst);
        self.changed.notify_all();
        ran
    }

    /// The line's editor, or a page, has read the Ctrl-C that stopped nothing.
    pub fn taken(&self) {
        self.early.store(false, Ordering::SeqCst);
    }

    /// Stops the command that runs and all that come: the session has ended.
    pub fn close(&self) {
        while !self.turn(self.state.load(Ordering::SeqCst), CLOSED) {}
    }

    /// Whether the command is to stop.
    pub fn is_on(&self) -> bool {
        self.state.load(Ordering::Relaxed) >= STOPPED
    }

    /// Whether the command that runs, or ran last, shows something again and again until it is
    /// told to stop.
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    pub(crate) fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// Waits for so long, or until it is on; says whether it is.
    pub fn wait(&self, span: Duration) -> bool {
        let guard = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self
            .changed
            .wait_timeout_while(guard, span, |_| !self.is_on());
        self.is_on()
    }

    /// Waits for so long, until it is woken, or until it is on; says whether it is.
    pub fn wait_for_news(&self, span: Duration) -> bool {
        let guard = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(guard, span, |news| !*news && !self.is_on());
        let (mut news, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *news = false;
        self.is_on()
    }

    /// A command runs until what this gives is dropped; one within another changes nothing.
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

/// The time in which a command runs.
pub(crate) struct Running {
    outermost: Option<Arc<Interrupt>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(interrupt) = &self.outermost {
            // One that was stopped is over as well; an ended session stays so.
            let _ = interrupt.turn(RUNNING, IDLE) || interrupt.turn(STOPPED, IDLE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_end_a_wait_for_them_and_no_other() {
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
    fn an_interrupt_wakes_who_waits_and_is_over_with_the_command() {
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
    fn ctrl_c_stops_the_command_that_was_about_to_begin() {
        let interrupt = Arc::new(Interrupt::default());
        assert!(!interrupt.press(), "nothing runs");

        let begun = interrupt.running();
        assert!(interrupt.is_on());
        drop(begun);
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
