//! `/tool/speed-test`: echo requests, then TCP and UDP throughput in both directions, by a bandwidth test server.
//!
//! RouterOS: the order, the values and their formats, and the remark when a processor may bound the result. Beside them
//! the page shows for each measurement the latency under load, what bound the rate, and the rate by the rule of
//! speedtest.net from the same samples.

mod page;
mod pinger;
mod rule;

use std::time::Duration;

use btest::wire::{Direction, Fill, Protocol};
use btest::{Status, Test};
use menu::Reason;

use self::pinger::Pinger;
use crate::bandwidth::{self, BandwidthProgress, PathState};
use crate::{Form, Invocation, Look, Next, RunningTool, Tool, Turn};

/// RouterOS: default duration of each measurement, and pause between two.
const DURATION: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(1);
/// Minimum duration. RouterOS: the same.
const MIN_DURATION: Duration = Duration::from_secs(5);
/// RouterOS: number of echo requests before the measurements.
const PINGS: u32 = 100;
/// Interval of echo requests during a measurement.
const LOADED_PING_INTERVAL: Duration = Duration::from_millis(200);
/// RouterOS: number of connections, unless the machine has more cores.
const CONNECTIONS: u64 = 20;
/// Default update interval.
const INTERVAL: Duration = Duration::from_secs(1);
/// Interval of checks of a running measurement.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The measurements in their order: name, protocol, direction.
const PHASES: [(&str, Protocol, Direction); 4] = [
    ("tcp-download", Protocol::Tcp, Direction::Receive),
    ("tcp-upload", Protocol::Tcp, Direction::Transmit),
    ("udp-download", Protocol::Udp, Direction::Receive),
    ("udp-upload", Protocol::Udp, Direction::Transmit),
];

/// The speed test tool.
pub(crate) struct SpeedTestTool;

struct SpeedTest {
    test: Test,
    /// True if the number of connections was not given.
    counts_cores: bool,
    duration: Duration,
    interval: Duration,
    is_single: bool,
    stage: Stage,
    /// End of the whole test, as planned.
    ends: Duration,
    shown: Option<Duration>,
    pinger: Pinger,
    results: Vec<Measurement>,
}

/// Progress of the test.
enum Stage {
    /// Nothing has happened.
    New,
    /// Echo requests without load.
    Pings,
    /// Waits until this time before the measurement of this number.
    Pause(Duration, usize),
    /// A measurement with its ticket.
    Running(Option<u64>),
    /// The test has ended, with this status.
    Ended(Status),
}

/// A measurement.
pub(super) struct Measurement {
    name: &'static str,
    sends: bool,
    protocol: Protocol,
    connections: u8,
    rate_bps: u64,
    /// Rate of each second.
    samples: Vec<u64>,
    local_cpu_percent: u8,
    remote_cpu_percent: Option<u8>,
    test_cpu_percent: u64,
    path: Option<PathState>,
    lost_packets: u64,
    pinger: Pinger,
}

impl Tool for SpeedTestTool {
    fn form(&self) -> Form {
        Form::Page
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        let duration = given.span("test-duration").unwrap_or(DURATION);
        if duration < MIN_DURATION {
            return Err(Reason::failure("test-duration: at least 5s"));
        }
        let server = bandwidth::server(given)?;
        let test = Test {
            server,
            protocol: Protocol::Tcp,
            direction: Direction::Receive,
            fill: Fill::Zeros,
            local_size: 0,
            remote_size: 0,
            local_speed_bps: 0,
            remote_speed_bps: 0,
            connections: bandwidth::connections(given, CONNECTIONS as u32)?,
            user: bandwidth::user(given),
            password: bandwidth::password(given),
            duration: Some(duration),
        };
        Ok(Box::new(SpeedTest {
            counts_cores: given.value("connection-count").is_none(),
            duration,
            interval: given.span("interval").unwrap_or(INTERVAL),
            is_single: given.ends.is_single,
            stage: Stage::New,
            ends: Duration::ZERO,
            shown: None,
            pinger: Pinger::new(server, duration / PINGS, Some(PINGS)),
            results: Vec::new(),
            test,
        }))
    }
}

impl RunningTool for SpeedTest {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        self.advance(turn)?;
        let has_ended = matches!(self.stage, Stage::Ended(_));
        let is_due = self
            .shown
            .is_none_or(|shown| turn.now >= shown.saturating_add(self.interval));
        let rows = (has_ended || is_due && !self.is_single).then(|| {
            self.shown = Some(turn.now);
            vec![page::row(self, turn.now)]
        });
        let next = match has_ended {
            true => Next::Over,
            false => Next::At(self.due(turn.now)),
        };
        Ok(Look { rows, next })
    }

    fn stop(&mut self, turn: &mut Turn<'_>) {
        if let Stage::Running(ticket) = &mut self.stage {
            bandwidth::forget(turn, ticket);
        }
    }
}

impl SpeedTest {
    /// Returns the status in RouterOS's words, or the name of the measurement.
    fn status(&self) -> &'static str {
        match self.stage {
            Stage::New | Stage::Pings => "ping",
            Stage::Pause(_, number) => PHASES[number].0,
            Stage::Running(_) => self
                .results
                .last()
                .map_or("", |measurement| measurement.name),
            Stage::Ended(Status::Done) => "done",
            Stage::Ended(status) => status.name(),
        }
    }

    fn remaining(&self, now: Duration) -> Duration {
        match self.stage {
            Stage::Ended(_) => Duration::ZERO,
            _ => self.ends.saturating_sub(now),
        }
    }

    /// Returns the time of the next step.
    fn due(&self, now: Duration) -> Duration {
        match &self.stage {
            Stage::Pings => self.pinger.due(now),
            Stage::Pause(until, _) => *until,
            _ => now.saturating_add(CHECK_INTERVAL),
        }
    }

    fn advance(&mut self, turn: &mut Turn<'_>) -> Result<(), Reason> {
        match self.stage {
            Stage::New => {
                self.begin(turn)?;
                self.pinger.step(turn)?;
            }
            Stage::Pings => {
                self.pinger.step(turn)?;
                if self.pinger.is_done() {
                    self.stage = Stage::Pause(turn.now.saturating_add(PAUSE), 0);
                }
            }
            Stage::Pause(until, number) if turn.now >= until => self.measure(number, turn)?,
            Stage::Running(Some(ticket)) => self.check(ticket, turn)?,
            Stage::Pause(..) | Stage::Running(None) | Stage::Ended(_) => {}
        }
        Ok(())
    }

    fn begin(&mut self, turn: &mut Turn<'_>) -> Result<(), Reason> {
        let missing = || Reason::failure("a speed test needs a running router");
        let tests = turn.router.bandwidth_tests().ok_or_else(missing)?;
        if self.counts_cores {
            let streams = tests.cores().clamp(CONNECTIONS, u8::MAX.into());
            self.test.connections = u8::try_from(streams).unwrap_or(u8::MAX);
        }
        let all = self.duration * 5 + PAUSE * 4;
        self.ends = turn.now.saturating_add(all);
        self.stage = Stage::Pings;
        Ok(())
    }

    /// Starts a measurement.
    fn measure(&mut self, number: usize, turn: &mut Turn<'_>) -> Result<(), Reason> {
        let (name, protocol, direction) = PHASES[number];
        (self.test.protocol, self.test.direction) = (protocol, direction);
        let ticket = bandwidth::begin(turn, &self.test)?;
        self.results.push(Measurement {
            name,
            sends: direction.client_sends(),
            protocol,
            connections: self.test.connections,
            rate_bps: 0,
            samples: Vec::new(),
            local_cpu_percent: 0,
            remote_cpu_percent: None,
            test_cpu_percent: 0,
            path: None,
            lost_packets: 0,
            pinger: Pinger::new(self.test.server, LOADED_PING_INTERVAL, None),
        });
        self.stage = Stage::Running(Some(ticket));
        Ok(())
    }

    /// Follows a running measurement.
    fn check(&mut self, ticket: u64, turn: &mut Turn<'_>) -> Result<(), Reason> {
        let progress = bandwidth::progress(turn, ticket)?;
        let Some(measurement) = self.results.last_mut() else {
            return Ok(());
        };
        if progress.status == Status::Running {
            measurement.pinger.step(turn)?;
        }
        measurement.take(&progress);
        if !bandwidth::has_ended(&progress) {
            return Ok(());
        }
        self.stop(turn);
        self.stage = match (progress.status, self.results.len()) {
            (Status::Done, count) if count < PHASES.len() => {
                Stage::Pause(turn.now.saturating_add(PAUSE), count)
            }
            (status, _) => Stage::Ended(status),
        };
        Ok(())
    }
}

impl Measurement {
    /// Takes over the measurements so far.
    fn take(&mut self, progress: &BandwidthProgress) {
        let figures = &progress.figures;
        let rates = if self.sends { &figures.tx } else { &figures.rx };
        let seconds = usize::try_from(figures.duration.as_secs()).unwrap_or(usize::MAX);
        if rates.current_bps > 0 && seconds > self.samples.len() {
            self.samples.push(rates.current_bps);
        }
        self.rate_bps = rates.total_average_bps;
        self.local_cpu_percent = self.local_cpu_percent.max(figures.local_cpu_percent);
        self.remote_cpu_percent = self.remote_cpu_percent.max(figures.remote_cpu_percent);
        self.test_cpu_percent = self.test_cpu_percent.max(progress.test_cpu_percent);
        self.path = progress.path.or(self.path);
        self.lost_packets = figures.lost_packets;
    }
}

#[cfg(test)]
mod tests;
