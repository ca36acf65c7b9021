//! Worker threads: each steps its worker, polls while packets arrive, and sleeps otherwise.

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
use tokio::sync::Notify;

/// Polling time after the last packet, and minimum time until the next deadline for a sleep. A wake-up costs
/// tens of microseconds, so shorter polling saves nothing.
const POLL_TIME: Duration = Duration::from_micros(50);
/// Processor pauses between two polls of empty ports, one or two microseconds together. Continuous polling
/// takes the ring index's cache line from the core that fills it, for each frame: with pauses AF_XDP on veth
/// forwards 5 to 10 % more.
const PAUSES_PER_POLL: u32 = 32;
/// Steps between updates of the wall-clock time, which also follows each sleep: a step takes less than a
/// millisecond, and timestamps need sixteen values a second (RFC 1812, 4.3.3.8).
const STEPS_PER_CLOCK: u32 = 32;

/// Handle to wake a worker's thread.
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

    /// Wakes the worker if it sleeps. The caller has put the work into the worker's ring before.
    pub(crate) fn wake(&self) {
        // The worker stores `asleep` before its last check of the rings, in the opposite order, so one of both
        // sees the other.
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) {
            self.waker.wake();
        }
    }
}

/// All worker threads of a router. Dropping stops them.
pub(crate) struct Workers {
    threads: Vec<JoinHandle<()>>,
    sleepers: Arc<[Sleeper]>,
    stop: Arc<AtomicBool>,
}

impl Workers {
    /// Starts a thread per worker, each on its own core if there are enough. Workers wake `control` after
    /// punts, and `streams` after packets for byte streams; the router's clock began at `started`.
    pub(crate) fn start(
        workers: Vec<Worker>,
        control: &Waker,
        streams: &Arc<Notify>,
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
            // The first core is left to everything else, if there is another.
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
                streams: Arc::clone(streams),
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

    /// Returns the handles to wake the workers.
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
    /// Descriptors to wait on.
    watched: HashSet<RawFd>,
    /// Descriptors of groups of ports, which stay registered: a group lives as long as the program.
    crowds: HashSet<RawFd>,
    sleepers: Arc<[Sleeper]>,
    index: usize,
    control: Waker,
    streams: Arc<Notify>,
    stop: Arc<AtomicBool>,
    started: Instant,
    /// Steps until the next update of the wall-clock time.
    until_clock: u32,
}

impl Thread {
    fn run(mut self, core: Option<usize>) {
        if let Some(core) = core {
            pin(core);
        }
        crate::system::priority::forward();
        // Timer slack of the kernel; its default of 50 microseconds is long for a packet (a 64-byte frame at 10
        // Mbit/s).
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut idle_since = None;
        while !self.stop.load(Ordering::Relaxed) {
            let step = self.step();
            if !step.is_idle() {
                idle_since = None;
            } else if idle_since.get_or_insert_with(Instant::now).elapsed() >= POLL_TIME
                && self.until_due().is_none_or(|left| left >= POLL_TIME)
            {
                self.sleep();
                idle_since = None;
            } else {
                (0..PAUSES_PER_POLL).for_each(|_| std::hint::spin_loop());
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
        if step.streamed > 0 {
            self.streams.notify_one();
        }
        self.wake_others(step.handed_to);
        step
    }

    /// Returns the time on the router's clock.
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

    /// Returns the time until the worker's next deadline.
    fn until_due(&mut self) -> Option<Duration> {
        let deadline = self.worker.deadline()?;
        Some(deadline.saturating_since(self.now()))
    }

    /// Sleeps until a port is readable, a wake-up arrives, or a deadline passes.
    fn sleep(&mut self) {
        self.watch_ports();
        let own = self.sleepers[self.index].clone();
        own.asleep.store(true, Ordering::SeqCst);
        // A command or frame may have arrived before others could see that this worker sleeps.
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

    /// Registers the ports for waiting; ports without descriptor wake the worker otherwise.
    fn watch_ports(&mut self) {
        self.watched.clear();
        for fd in self.worker.waits() {
            // Several ports may share a descriptor.
            if self.watched.insert(fd.as_raw_fd()) {
                let _ = self.waiting.add(fd);
            }
        }
        // Descriptors of quiet ports stay registered: registration makes the kernel poll all their members.
        for fd in self.worker.crowds() {
            if self.crowds.insert(fd.as_raw_fd()) {
                let _ = self.waiting.add(fd);
            }
        }
    }

    /// Deregisters ports while polling: for a registered socket the kernel takes a lock and looks for a sleeper
    /// per frame.
    fn unwatch_ports(&mut self) {
        for fd in self.worker.waits() {
            if self.watched.remove(&fd.as_raw_fd()) {
                self.waiting.remove(fd);
            }
        }
    }
}

/// Returns milliseconds since 1970 UTC.
fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_millis() as u64
}

/// Pins the calling thread to a core, if permitted.
pub(crate) fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    let _ = sched_setaffinity(None, &set);
}

/// Returns the cores that the calling thread may use.
pub(crate) fn cores() -> Vec<usize> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU)
            .filter(|core| set.is_set(*core))
            .collect(),
        Err(_) => Vec::new(),
    }
}
