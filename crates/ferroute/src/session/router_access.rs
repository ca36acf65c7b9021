//! A session's turns at the shared router: one for each command, or one for a whole transaction.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant as SystemInstant};

use menu::{Menu, Reason, Store};
use router::Instance;
use script::{Interrupt, Job, NameQuery, Site};

use crate::run::fair_lock::{Guard, Rank};
use crate::run::shared::Shared;
use crate::system::priority::{Priority, Raised};

/// Minimum time between two wake-ups of control by one session that changes the configuration.
const MIN_WAKE_INTERVAL: Duration = Duration::from_millis(2);

/// A session at the router: it waits for the lock before each command.
pub(crate) struct SessionAccess<'a> {
    shared: &'a Arc<Shared>,
    rank: Rank,
    priority: Priority,
    /// True if control does not know yet of a command of this session.
    is_unreported: bool,
    /// When control was woken last.
    woken_at: Option<SystemInstant>,
    /// The session follows changes: it does nothing that control would have to look after, and reads only committed
    /// transactions.
    follows: bool,
    /// The router, while it is reserved for a transaction.
    reservation: Option<Reservation<'a>>,
}

/// How long a transaction runs commands before it lets waiting readers in.
const READER_INTERVAL: Duration = Duration::from_millis(2);

/// The router in the hands of one transaction.
struct Reservation<'a> {
    router: Guard<'a, Instance>,
    /// When readers were let in last.
    admitted: SystemInstant,
    /// Other sessions wait for the lock: even a job holds it at normal priority.
    _raised: Raised,
}

impl Reservation<'_> {
    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn tool::Router)) {
        if self.admitted.elapsed() >= READER_INTERVAL {
            self.admit_readers();
        }
        self.router.lend(run);
    }

    fn admit_readers(&mut self) {
        self.router.set_read_only(true);
        self.router.admit_readers();
        self.router.set_read_only(false);
        self.admitted = SystemInstant::now();
    }

    /// Lets readers in while `run` goes on, which does not need the router.
    fn let_read(&mut self, run: &mut dyn FnMut()) {
        self.router.set_read_only(true);
        self.router.open_to_readers(run);
        self.router.set_read_only(false);
        self.admitted = SystemInstant::now();
    }
}

impl<'a> SessionAccess<'a> {
    /// Access of a session whose user waits for the result.
    pub(crate) fn new(shared: &'a Arc<Shared>) -> Self {
        Self {
            shared,
            rank: Rank::Ahead,
            priority: Priority::default(),
            is_unreported: false,
            woken_at: None,
            follows: false,
            reservation: None,
        }
    }

    /// Access of a session that prints changes of the configuration as they come (`listen`).
    pub(crate) fn following(shared: &'a Arc<Shared>) -> Self {
        let mut access = Self::new(shared);
        access.follows = true;
        access
    }

    /// Access of a job in the background.
    pub(crate) fn of_job(shared: &'a Arc<Shared>) -> Self {
        let mut access = Self::new(shared);
        access.rank = Rank::Behind;
        access.priority = Priority::of_jobs();
        access
    }

    /// Wakes control for what the session left to it, log entries for example. A session that only waits wakes nobody.
    fn wake_control(&mut self) {
        if std::mem::take(&mut self.is_unreported) && !self.follows {
            self.woken_at = Some(SystemInstant::now());
            self.shared.wake.wake();
        }
    }

    /// Wakes control at most every [`MIN_WAKE_INTERVAL`]: a script of 100,000 commands would change places with it
    /// after each. The end of the access and each wait wake it in any case.
    fn wake_control_sometimes(&mut self) {
        if self
            .woken_at
            .is_none_or(|at| at.elapsed() >= MIN_WAKE_INTERVAL)
        {
            self.wake_control();
        }
    }
}

impl SessionAccess<'_> {
    /// Lends the router for one command.
    fn lend_as(&mut self, rank: Rank, run: &mut dyn FnMut(&mut Store, &mut dyn tool::Router)) {
        // Other sessions wait for the lock: even a job holds it at normal priority.
        let raised = self.priority.raise();
        let mut instance = self.shared.lock_as(rank);
        let more = self.shared.set_time(&mut instance);
        let before = (instance.store().revision(), instance.deadline());
        instance.lend(run);
        self.shared.after_change(&mut instance);
        let changed = before != (instance.store().revision(), instance.deadline());
        drop(instance);
        drop(raised);
        self.is_unreported = true;
        if more || changed {
            self.wake_control_sometimes();
        }
    }
}

impl Site for SessionAccess<'_> {
    fn menus(&self) -> &'static [&'static Menu] {
        schema::ALL
    }

    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn tool::Router)) {
        match &mut self.reservation {
            Some(reservation) => reservation.lend(run),
            None => self.lend_as(self.rank, run),
        }
    }

    fn lend_to_read(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn tool::Router)) {
        match self.reservation.is_some() || self.follows || self.rank == Rank::Behind {
            true => self.lend(run),
            false => self.lend_as(Rank::Reader, run),
        }
    }

    fn reserve(&mut self) {
        let raised = self.priority.raise();
        let mut router = self.shared.lock_as(self.rank);
        self.shared.set_time(&mut router);
        self.reservation = Some(Reservation {
            router,
            admitted: SystemInstant::now(),
            _raised: raised,
        });
    }

    fn release(&mut self) {
        if let Some(mut reservation) = self.reservation.take() {
            self.shared.set_time(&mut reservation.router);
            self.shared.after_change(&mut reservation.router);
            drop(reservation);
            self.is_unreported = true;
            self.wake_control_sometimes();
        }
    }

    fn let_read(&mut self, run: &mut dyn FnMut()) {
        match &mut self.reservation {
            Some(reservation) => reservation.let_read(run),
            None => run(),
        }
    }

    fn now(&self) -> Duration {
        self.shared.now() - machine::Instant::ZERO
    }

    fn wait(&mut self, until: Duration, interrupt: &Interrupt) -> Result<(), Reason> {
        self.wake_control();
        interrupt.wait(until.saturating_sub(self.now()));
        Ok(())
    }

    fn wait_for_news(&mut self, until: Duration, interrupt: &Interrupt) -> Result<(), Reason> {
        self.wake_control();
        interrupt.wait_for_news(until.saturating_sub(self.now()));
        Ok(())
    }

    fn resolve(
        &mut self,
        asked: &NameQuery<'_>,
        interrupt: &Interrupt,
    ) -> Result<Vec<IpAddr>, Reason> {
        let host = self.shared.host.as_deref();
        crate::inlet::resolve::resolve(self.shared, host, asked, interrupt)
    }

    fn spawn(&mut self, job: Job) -> Result<(), Reason> {
        crate::session::jobs::start(self.shared, job)
    }
}

/// Runs a job to its end, in a thread of its own.
pub(crate) fn work(shared: &Arc<Shared>, job: Job) {
    job.run(&mut SessionAccess::of_job(shared));
}

impl Drop for SessionAccess<'_> {
    fn drop(&mut self) {
        // Only a panic leaves a reservation behind.
        if let Some(mut reservation) = self.reservation.take() {
            reservation.router.abandon();
        }
        self.wake_control();
    }
}
