//! Worker threads: each steps its worker, polls while there is work, and sleeps when there is none.

use std::collections::HashSet;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dataplane::{Step, Worker};
use netio::{WaitSet, Waker};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};

/// For how long a worker polls after its last packet before it sleeps, and how much time a sleep needs before
/// something is due. A wake-up costs some tens of microseconds, so polling for less than that saves nothing.
const POLL: Duration = Duration::from_micros(50);
/// Pauses of the processor between two looks at ports that have nothing, together one or two
/// microseconds. Looking all the time takes the cache line of the ring's index from the core that
/// fills it, for each frame: with pauses AF_XDP on veth forwards 5 to 10 % more.
const PAUSES: u32 = 32;
/// A worker is told the time of day once in so many steps, and after each sleep: a step takes less
/// than a millisecond, and timestamps need sixteen values a second (RFC 1812, 4.3.3.8).
const STEPS_PER_CLOCK: u32 = 32;

/// A worker's thread, as others see it.
#[derive(Clone, Debug)]
pub(crate) struct Sleeper {
    asleep: Arc<AtomicBool>,
    waker: Waker,
}

impl Sleeper {
    fn of(set: &WaitSet) -> Self {
        Self {
            asleep: Arc::new(AtomicBool::new(false)),
            waker: set.waker(),
        }
    }

    /// Wakes the worker if it sleeps. What it is to find was put into its ring before.
    pub(crate) fn wake(&self) {
        // The store of `asleep` and the worker's last look at its rings are ordered the other way
        // around on its side, so one of the two sees the other.
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) {
            self.waker.wake();
        }
    }
}

/// All worker threads of a router. They stop when this is dropped.
pub(crate) struct Workers {
    threads: Vec<JoinHandle<()>>,
    sleepers: Arc<[Sleeper]>,
    stop: Arc<AtomicBool>,
}

impl Workers {
    /// Starts a thread for each worker, each on a core of its own as far as there are enough.
    /// `control` is woken when a worker has punted; the router's clock began at `started`.
    pub(crate) fn start(
        workers: Vec<Worker>,
        control: &Waker,
        started: Instant,
    ) -> io::Result<Self> {
        let sets: io::Result<Vec<_>> = workers.iter().map(|_| WaitSet::new()).collect();
        let sets = sets?;
        let mut all = Self {
            threads: Vec::new(),
            sleepers: sets.iter().map(Sleeper::of).collect(),
            stop: Arc::new(AtomicBool::new(false)),
        };
        let cores = cores();
        let spread = workers.len() > 1 || cores.len() > 1;
        for (worker, waiting) in workers.into_iter().zip(sets) {
            let index = usize::from(worker.index());
            // The first core is left to everything else, as long as there is another.
            let core = cores
                .get((index + 1) % cores.len().max(1))
                .copied()
                .filter(|_| spread);
            let thread = Thread {
                worker,
                waiting,
                watched: HashSet::new(),
                crowds: HashSet::new(),
                sleepers: Arc::clone(&all.sleepers),
                index,
                control: control.clone(),
                stop: Arc::clone(&all.stop),
                started,
                until_clock: 0,
            };
            let name = format!("worker-{index}");
            all.threads.push(
                thread::Builder::new()
                    .name(name)
                    .spawn(move || thread.run(core))?,
            );
        }
        Ok(all)
    }

    /// The workers, to be woken.
    pub(crate) fn sleepers(&self) -> &Arc<[Sleeper]> {
        &self.sleepers
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.sleepers
            .iter()
            .for_each(|sleeper| sleeper.waker.wake());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

struct Thread {
    worker: Worker,
    waiting: WaitSet,
    /// The descriptors that are waited on.
    watched: HashSet<RawFd>,
    /// Those of crowds, which are waited on for good: a crowd lives as long as the program.
    crowds: HashSet<RawFd>,
    sleepers: Arc<[Sleeper]>,
    index: usize,
    control: Waker,
    stop: Arc<AtomicBool>,
    started: Instant,
    /// Steps until the worker is told the time of day.
    until_clock: u32,
}

impl Thread {
    fn run(mut self, core: Option<usize>) {
        if let Some(core) = core {
            pin(core);
        }
        crate::priority::forward();
        // The kernel may be late by this; by default it is 50 microseconds, a frame of 64 bytes at 10 Mbit/s.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut idle_since = None;
        while !self.stop.load(Ordering::Relaxed) {
            let step = self.step();
            if !step.is_idle() {
                idle_since = None;
            } else if idle_since.get_or_insert_with(Instant::now).elapsed() >= POLL
                && self.until_due().is_none_or(|left| left >= POLL)
            {
                self.sleep();
                idle_since = None;
            } else {
                (0..PAUSES).for_each(|_| std::hint::spin_loop());
            }
        }
        self.worker.close();
    }

    fn step(&mut self) -> Step {
        if self.until_clock == 0 {
            self.until_clock = STEPS_PER_CLOCK;
            self.worker.set_unix_ms(unix_ms());
        }
        self.until_clock -= 1;
        let step = self.worker.step(self.now());
        if step.punted > 0 {
            self.control.wake();
        }
        self.wake_others(step.handed_to);
        step
    }

    /// The time on the router's clock.
    fn now(&self) -> machine::Instant {
        machine::Instant::ZERO + self.started.elapsed()
    }

    fn wake_others(&self, handed_to: u64) {
        for (index, sleeper) in self.sleepers.iter().enumerate() {
            if handed_to >> index & 1 == 1 {
                sleeper.wake();
            }
        }
    }

    /// How long the worker may go without a step.
    fn until_due(&mut self) -> Option<Duration> {
        let deadline = self.worker.deadline()?;
        Some(deadline.saturating_since(self.now()))
    }

    /// Sleeps until a port is readable, somebody wakes us, or something is due.
    fn sleep(&mut self) {
        self.watch_ports();
        let own = self.sleepers[self.index].clone();
        own.asleep.store(true, Ordering::SeqCst);
        // A command or a frame may have come before the others knew that we sleep.
        if self.step().is_idle() && !self.stop.load(Ordering::SeqCst) {
            self.worker.sleep();
            let until_due = self.until_due();
            if self.waiting.wait(until_due).is_err() {
                thread::yield_now();
            }
            self.until_clock = 0;
        }
        own.asleep.store(false, Ordering::SeqCst);
        self.unwatch_ports();
    }

    /// Waits on the ports; those that cannot be waited on are left to the waker.
    fn watch_ports(&mut self) {
        self.watched.clear();
        for fd in self.worker.waits() {
            // Many ports may share one.
            if self.watched.insert(fd.as_raw_fd()) {
                let _ = self.waiting.add(fd);
            }
        }
        // Those of quiet ports stay: to take one in, the kernel looks at all that are behind it.
        for fd in self.worker.crowds() {
            if self.crowds.insert(fd.as_raw_fd()) {
                let _ = self.waiting.add(fd);
            }
        }
    }

    /// A socket that is waited on makes the kernel take a lock and look for a sleeper for each
    /// frame that arrives or was sent: while the worker polls, nobody waits.
    fn unwatch_ports(&mut self) {
        for fd in self.worker.waits() {
            if self.watched.remove(&fd.as_raw_fd()) {
                self.waiting.remove(fd);
            }
        }
    }
}

/// Milliseconds since 1970 UTC.
fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_millis() as u64
}

/// Has the calling thread run on this core only. Where that is not allowed it runs all the same.
pub(crate) fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    let _ = sched_setaffinity(None, &set);
}

/// The cores that the calling thread may use.
pub(crate) fn cores() -> Vec<usize> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU)
            .filter(|core| set.is_set(*core))
            .collect(),
        Err(_) => Vec::new(),
    }
}
