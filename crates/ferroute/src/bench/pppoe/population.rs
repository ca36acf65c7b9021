//! All subscribers on one device, with their timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::thread;
use std::time::{Duration, Instant as Time};

use frame::{Frame, Pool, Port as _, Sizes, Vector};
use machine::{Instant, Rng};
use netio::PacketPort;

use super::codec;
use super::monitor::Monitor;
use super::subscriber::{Counts, Environment, Subscriber};

/// Sleep of an idle generator.
const NAP: Duration = Duration::from_micros(100);
/// Maximum number of pings without an answer yet: below the burst that a router answers.
const PINGS_WAITING: u64 = 128;
/// Time without any answer after which a round of pings ends.
const PING_PATIENCE: Duration = Duration::from_secs(1);
/// Rounds of pings: a session without an answer is pinged again.
const PING_ROUNDS: usize = 3;
/// Maximum number of packets of the load on their way.
const LOAD_WAITING: u64 = 1_024;
/// Interval at which the router is asked for its number of sessions, and the command.
const POLL: Duration = Duration::from_millis(50);
const SESSIONS: &str = "/ppp/active/print count-only";
/// Time after the load in which its last packets arrive.
const LOAD_END: Duration = Duration::from_millis(300);

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
}

/// Result of a load: packets from each subscriber to the next one, through the router.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) seconds: f64,
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
    pub(super) monitor: Monitor,
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
    pub(super) fn open(device: &str, count: u32, monitor: Monitor) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{device}: {error}");
        let sizes = Sizes {
            small: 16_384,
            medium: 1_024,
            large: 16,
        };
        let port = PacketPort::open(device, 1).map_err(failed)?.pop();
        let mut rng = Rng::seeded(u64::from(count));
        let subscribers: Vec<_> = (0..count)
            .map(|number| Subscriber::new(number, &mut rng))
            .collect();
        Ok(Self {
            is_up: vec![false; subscribers.len()],
            up: 0,
            timers: BinaryHeap::new(),
            armed: vec![None; subscribers.len()],
            counts: Counts::default(),
            monitor,
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
            if before == 0 && self.up > 0 {
                result.first = begin.elapsed();
            }
        }
        result.last = begin.elapsed();
        result.up = self.up;
        result
    }

    /// Waits until all sessions are up; subscribers that lost their session dial by themselves.
    pub(super) fn recover(&mut self, patience: Duration) {
        let begin = Time::now();
        while self.up < self.subscribers.len() && begin.elapsed() < patience {
            self.step();
        }
    }

    /// Pings over each session, up to [`PING_ROUNDS`] times. Returns the number of sessions with an answer.
    pub(super) fn ping(&mut self, ipv6: bool) -> u64 {
        for subscriber in &mut self.subscribers {
            subscriber.is_answered = false;
        }
        let before = self.counts.answered;
        for _ in 0..PING_ROUNDS {
            self.ping_round(ipv6);
        }
        self.counts.answered - before
    }

    /// Pings over each session without an answer.
    fn ping_round(&mut self, ipv6: bool) {
        let before = self.counts.answered;
        let (mut sent, mut next, mut last) = (0, 0, (before, Time::now()));
        loop {
            let answered = self.counts.answered - before;
            if self.counts.answered != last.0 {
                last = (self.counts.answered, Time::now());
            }
            let is_over = next == self.subscribers.len() && answered >= sent;
            if is_over || last.1.elapsed() > PING_PATIENCE {
                return;
            }
            while next < self.subscribers.len() && sent - answered.min(sent) < PINGS_WAITING {
                let subscriber = &self.subscribers[next];
                if !subscriber.is_answered
                    && let Some(frame) = subscriber.ping(ipv6)
                {
                    self.out.push(frame);
                    sent += 1;
                }
                next += 1;
            }
            self.step();
        }
    }

    /// Sends packets from each subscriber to the next one, in turn, for a time.
    pub(super) fn load(&mut self, time: Duration) -> Load {
        let (before, begin) = (self.counts.delivered, Time::now());
        let (mut sent, mut next) = (0, 0);
        let mut last = (before, begin);
        while begin.elapsed() < time {
            let received = self.counts.delivered - before;
            if self.counts.delivered != last.0 {
                last = (self.counts.delivered, Time::now());
            }
            // Lost packets leave the window when nothing arrives any more.
            let is_stuck = last.1.elapsed() > LOAD_END;
            let mut waiting = if is_stuck {
                0
            } else {
                sent - received.min(sent)
            };
            while waiting < LOAD_WAITING {
                let to = (next + 1) % self.subscribers.len();
                let target = self.subscribers[to].progress.ipv4.map(|[own, _]| own);
                let frame = target.and_then(|target| self.subscribers[next].data(target));
                self.out.extend(frame);
                (sent, next, waiting) = (sent + 1, to, waiting + 1);
            }
            self.step();
        }
        let seconds = begin.elapsed().as_secs_f64();
        self.run_for(LOAD_END);
        Load {
            sent,
            received: self.counts.delivered - before,
            seconds,
        }
    }

    /// Ends all sessions by PADT at this rate per second, and waits until the router has removed them. Returns false if
    /// sessions remain.
    ///
    /// # Errors
    /// The router does not answer.
    pub(super) fn hang_up(&mut self, stop_rate: u32, patience: Duration) -> Result<bool, String> {
        let begin = Time::now();
        let mut ended = 0;
        while ended < self.subscribers.len() {
            let due = begin.elapsed().as_secs_f64() * f64::from(stop_rate);
            let until = (due as usize).min(self.subscribers.len());
            for number in ended..until {
                self.with(number, Subscriber::hang_up);
            }
            ended = until;
            self.step();
        }
        while begin.elapsed() < patience {
            self.run_for(POLL);
            let rows = self.monitor.router()?.exec(SESSIONS)?;
            if rows.trim() == "0" {
                return Ok(true);
            }
        }
        Ok(false)
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
        self.monitor.poll(self.up);
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
