//! All subscribers on one device, with their timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::thread;
use std::time::{Duration, Instant as Time};

use frame::{Frame, Pool, Port as _, Sizes, VECTOR_FRAMES, Vector};
use machine::{Instant, Rng};
use netio::PacketPort;

use super::codec;
use super::subscriber::{Counts, Environment, Subscriber};

/// Sleep of an idle generator.
const NAP: Duration = Duration::from_micros(100);
/// Interval between two points of a course.
const SAMPLE: Duration = Duration::from_millis(100);
/// Pings of which no answer has come yet.
const PINGS_WAITING: u64 = 512;
/// Time without any answer after which the remaining pings count as lost.
const PING_PATIENCE: Duration = Duration::from_secs(2);

/// Limits of the build-up, in the terms of BNG Blaster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// `start-rate`: sessions that begin in a second.
    pub(super) start_rate: u32,
    /// `max-outstanding`: sessions that have begun and are not up.
    pub(super) outstanding_max: u32,
}

/// Result of a build-up.
#[derive(Clone, Debug, Default)]
pub(super) struct BuildUp {
    /// Setup times of the first and the last session (IPCP and IPv6CP open).
    pub(super) first: Duration,
    pub(super) last: Duration,
    /// Number of sessions up at the end.
    pub(super) up: usize,
    /// Seconds since the beginning, and number of sessions up.
    pub(super) course: Vec<(f64, f64)>,
}

/// Subscribers on a device.
pub(super) struct Population {
    subscribers: Vec<Subscriber>,
    /// Whether the session of a subscriber is up.
    is_up: Vec<bool>,
    up: usize,
    /// Times at which subscribers want a tick. Outdated entries do no harm.
    timers: BinaryHeap<Reverse<(Instant, usize)>>,
    /// Time of the earliest entry of each subscriber.
    armed: Vec<Option<Instant>>,
    pub(super) counts: Counts,
    port: PacketPort,
    pool: Pool,
    received: Vector,
    out: Vec<Vec<u8>>,
    sending: Vec<Frame>,
    began: Time,
}

impl Population {
    /// Creates this many subscribers on a device in the namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel's error.
    pub(super) fn open(device: &str, count: u32, seed: u64) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{device}: {error}");
        let sizes = Sizes {
            small: 16_384,
            medium: 1_024,
            large: 16,
        };
        let port = PacketPort::open(device, 1).map_err(failed)?.pop();
        let mut rng = Rng::seeded(seed);
        let subscribers: Vec<_> = (0..count)
            .map(|number| Subscriber::new(number, &mut rng))
            .collect();
        Ok(Self {
            is_up: vec![false; subscribers.len()],
            up: 0,
            timers: BinaryHeap::new(),
            armed: vec![None; subscribers.len()],
            counts: Counts::default(),
            port: port.ok_or_else(|| format!("{device}: no port"))?,
            pool: Pool::new(sizes).map_err(failed)?,
            received: Vector::new(),
            out: Vec::new(),
            sending: Vec::new(),
            began: Time::now(),
            subscribers,
        })
    }

    /// Returns the number of subscribers.
    pub(super) const fn subscribers(&self) -> usize {
        self.subscribers.len()
    }

    /// Returns the number of sessions that are up.
    pub(super) const fn up(&self) -> usize {
        self.up
    }

    /// Dials all subscribers within the pace, and waits for the last session.
    pub(super) fn build_up(&mut self, pace: Pace, patience: Duration) -> BuildUp {
        let begin = Time::now();
        let (mut dialed, mut result) = (0, BuildUp::default());
        let mut sample = Duration::ZERO;
        while self.up < self.subscribers.len() && begin.elapsed() < patience {
            let due = begin.elapsed().as_secs_f64() * f64::from(pace.start_rate);
            let room = self.up + pace.outstanding_max as usize;
            let until = room.min(due as usize).min(self.subscribers.len());
            while dialed < until {
                self.with(dialed, Subscriber::dial);
                dialed += 1;
            }
            let before = self.up;
            self.step();
            let elapsed = begin.elapsed();
            if before == 0 && self.up > 0 {
                result.first = elapsed;
            }
            if elapsed >= sample {
                result.course.push((elapsed.as_secs_f64(), self.up as f64));
                sample = elapsed + SAMPLE;
            }
        }
        result.last = begin.elapsed();
        result.up = self.up;
        let end = (result.last.as_secs_f64(), self.up as f64);
        result.course.push(end);
        result
    }

    /// Waits until the subscribers have dialled a restarted router and all sessions are up.
    pub(super) fn recover(&mut self, patience: Duration) -> BuildUp {
        let all = Pace {
            start_rate: 0,
            outstanding_max: 0,
        };
        self.build_up(all, patience)
    }

    /// Sends a ping over each session, and returns the number of answers.
    pub(super) fn ping(&mut self, ipv6: bool) -> u64 {
        let before = self.counts.answered;
        let (mut sent, mut next, mut last) = (0, 0, (before, Time::now()));
        loop {
            let answered = self.counts.answered - before;
            if self.counts.answered != last.0 {
                last = (self.counts.answered, Time::now());
            }
            let is_over = next == self.subscribers.len() && answered >= sent;
            if is_over || last.1.elapsed() > PING_PATIENCE {
                return answered;
            }
            while next < self.subscribers.len() && sent - answered.min(sent) < PINGS_WAITING {
                if let Some(frame) = self.subscribers[next].ping(ipv6) {
                    self.out.push(frame);
                    sent += 1;
                }
                next += 1;
            }
            self.step();
        }
    }

    /// Ends all sessions by PADT.
    pub(super) fn hang_up(&mut self) {
        for number in 0..self.subscribers.len() {
            self.with(number, Subscriber::hang_up);
            if self.out.len() >= VECTOR_FRAMES {
                self.step();
            }
        }
        self.step();
    }

    /// Runs for a time.
    pub(super) fn run_for(&mut self, time: Duration) {
        let begin = Time::now();
        while begin.elapsed() < time {
            self.step();
        }
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.began.elapsed().as_nanos() as u64)
    }

    /// Runs an operation on a subscriber, and updates its timer and its state.
    fn with(
        &mut self,
        number: usize,
        operation: impl FnOnce(&mut Subscriber, &mut Environment<'_>),
    ) {
        let now = self.now();
        let Some(subscriber) = self.subscribers.get_mut(number) else {
            return;
        };
        let mut env = Environment {
            now,
            counts: &mut self.counts,
            out: &mut self.out,
        };
        operation(subscriber, &mut env);
        let is_up = subscriber.progress.is_up();
        if is_up != core::mem::replace(&mut self.is_up[number], is_up) {
            self.up = if is_up { self.up + 1 } else { self.up - 1 };
        }
        if let Some(at) = subscriber.deadline()
            && self.armed[number].is_none_or(|armed| at < armed)
        {
            self.armed[number] = Some(at);
            self.timers.push(Reverse((at, number)));
        }
    }

    /// Receives, handles timers, and sends.
    fn step(&mut self) {
        self.port.receive(&mut self.pool, &mut self.received);
        let mut frames = core::mem::take(&mut self.received);
        let is_idle = frames.is_empty() && self.out.is_empty();
        for frame in frames.drain() {
            if let Some(number) = codec::addressee(frame.bytes()) {
                self.with(number, |subscriber, env| {
                    subscriber.receive(frame.bytes(), env);
                });
            }
            self.pool.free(frame);
        }
        self.received = frames;
        let now = self.now();
        while let Some(Reverse((at, number))) = self.timers.peek().copied()
            && at <= now
        {
            self.timers.pop();
            self.armed[number] = None;
            self.with(number, Subscriber::tick);
        }
        self.send();
        if is_idle {
            thread::park_timeout(NAP);
        }
    }

    fn send(&mut self) {
        for bytes in self.out.drain(..) {
            // A pool without a free frame loses the frame like a device without room: the sender repeats it.
            self.sending.extend(self.pool.alloc_from(&bytes));
        }
        self.port.transmit(&mut self.pool, &mut self.sending);
        self.port.flush(&mut self.pool);
    }
}
