//! Ports and trials. A trial sends a number of frames at a rate by the first port, and measures the frames that arrive.

use std::sync::Arc;
use std::time::{Duration, Instant};

use frame::{Pool, Port, Sizes, Vector};
use generator::{Counters, Figures, Rate, Receiver, Sample, Sender, Stream, Verdict};
use netio::link::Links;
use netio::{Request, Umem, XDP_RING};
use wire::Mac;

use super::link::{Ends, Path};
use super::resolve;

/// Time to wait for frames that are on their way.
pub(super) const SETTLE: Duration = Duration::from_millis(500);
/// Frames that are built between two receptions.
const BATCH: usize = 64;
/// Time that a late sender catches up: all of a trial.
const BURST_NANOS: u64 = 1_000_000_000;
/// Buckets of the latency distribution: up to 200 ms.
const BUCKETS: usize = 100_000;
pub(super) const BUCKET_NANOS: u64 = 2_000;
const STREAM: u8 = 1;
/// Excess of a trial's duration above which the generator was too slow for the load: a share, and seconds for a pause
/// of its thread.
const LATE_SHARE: f64 = 1.02;
const LATE_SECONDS: f64 = 0.02;
const PROBE_FRAME_BYTES: usize = 124;

/// The ports, with the pool that both use.
pub(super) struct Ports {
    pool: Pool,
    ports: [Box<dyn Port>; 2],
    macs: [Mac; 2],
    drivers: [&'static str; 2],
    received: Vector,
    /// Test id of the next trial: late frames of earlier trials are foreign.
    test: u8,
    started: Instant,
}

/// Parameters of a trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    /// Frame length without FCS.
    pub(super) frame_bytes: usize,
    /// Load in frames per second.
    pub(super) pps: f64,
    /// Frames to send.
    pub(super) count: u64,
    /// Time to wait for frames that are on their way.
    pub(super) settle: Duration,
}

/// Result of a trial.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) figures: Figures,
    /// Frames that the own port did not take.
    refused: u64,
    /// Time in which the frames had to be sent, and were sent, in seconds.
    planned: f64,
    took: f64,
}

impl Outcome {
    /// Frames that the device got and did not deliver.
    pub(super) fn lost(&self) -> u64 {
        self.figures.missing()
    }

    /// True if the generator was too slow for the load.
    pub(super) fn is_late(&self) -> bool {
        self.refused > 0 || self.slowness() > 1.0
    }

    /// Factor by which sending took too long; 1 if it did not.
    fn slowness(&self) -> f64 {
        let allowed = self.planned * LATE_SHARE + LATE_SECONDS;
        (self.took / allowed).max(1.0)
    }

    /// Received frames per second of sending.
    pub(super) fn received_pps(&self) -> f64 {
        self.figures.unique() as f64 / self.took.max(f64::MIN_POSITIVE)
    }

    /// The trial as the search counts it. Frames that were not sent in time count as lost: the load was not reached.
    pub(super) fn trial(&self, load: f64, seconds: f64) -> generator::search::Trial {
        let due = self.figures.sent as f64;
        let arrived = self.figures.unique() as f64 / self.slowness();
        generator::search::Trial {
            load,
            seconds,
            loss_ratio: (1.0 - arrived / due.max(1.0)).clamp(0.0, 1.0),
        }
    }
}

impl Ports {
    /// Opens both devices.
    pub(super) fn open(from: &str, to: &str) -> Result<Self, String> {
        let sizes = Sizes {
            medium: 4_096,
            ..Sizes::WORKER
        };
        let pool = Pool::new(sizes).map_err(|error| format!("memory: {error}"))?;
        let memory = [Umem::of(&pool)];
        let open = |device: &str| {
            let spec = device
                .parse()
                .map_err(|error| format!("{device}: {error}"))?;
            let request = Request {
                workers: &memory,
                ring: XDP_RING,
                mtu: None,
                take: false,
                state: None,
                offload: None,
            };
            let opened = netio::open(&spec, &request);
            let mut opened = opened.map_err(|error| format!("{device}: {error}"))?;
            let mac = opened.link.as_ref().and_then(|link| link.mac);
            let mac = mac.ok_or_else(|| format!("{device} is no Ethernet device"))?;
            if opened.ports.len() > 1 {
                let queues = opened.ports.len();
                return Err(format!(
                    "{device} has {queues} queues: set one (ethtool -L {device} combined 1)"
                ));
            }
            let port = opened
                .ports
                .pop()
                .ok_or_else(|| format!("{device}: no queue"))?;
            Ok::<_, String>((port, Mac(mac), opened.driver))
        };
        // Devices are checked first, so that an error names them.
        Links::open().map_err(|error| format!("netlink: {error}"))?;
        let (first, first_mac, first_driver) = open(from)?;
        let (second, second_mac, second_driver) = open(to)?;
        Ok(Self {
            pool,
            ports: [first, second],
            macs: [first_mac, second_mac],
            drivers: [first_driver, second_driver],
            received: Vector::new(),
            test: 0,
            started: Instant::now(),
        })
    }

    /// MAC addresses of the ports.
    pub(super) fn macs(&self) -> [Mac; 2] {
        self.macs
    }

    /// Drivers of the ports.
    pub(super) fn drivers(&self) -> [&'static str; 2] {
        self.drivers
    }

    /// Sends one frame by a port.
    pub(super) fn send(&mut self, port: usize, bytes: &[u8]) {
        if let Some(frame) = self.pool.alloc_from(bytes) {
            self.ports[port].transmit(&mut self.pool, &mut vec![frame]);
        }
        self.ports[port].flush(&mut self.pool);
    }

    /// Receives from both ports, answers questions for the addresses of the ends, and passes frames of the first port
    /// to `each`.
    pub(super) fn receive_others(&mut self, ends: &Ends, each: &mut dyn FnMut(&[u8])) {
        self.receive(ends, &mut |port, frame| {
            if port == 0 {
                each(frame);
            }
            false
        });
    }

    /// Receives once from both ports. Frames for which `takes` returns false are answered if they are questions.
    fn receive(&mut self, ends: &Ends, takes: &mut dyn FnMut(usize, &[u8]) -> bool) {
        let mut replies = Vec::new();
        for (port, own) in [ends.source, ends.destination].into_iter().enumerate() {
            self.ports[port].receive(&mut self.pool, &mut self.received);
            for frame in self.received.drain() {
                let bytes = frame.bytes();
                if !takes(port, bytes) {
                    let reply = resolve::reply(bytes, own, self.macs[port]);
                    replies.extend(reply.map(|reply| (port, reply)));
                }
                self.pool.free(frame);
            }
        }
        for (port, reply) in replies {
            self.send(port, &reply);
        }
    }

    fn now(&self) -> machine::Instant {
        machine::Instant::ZERO + self.started.elapsed()
    }

    /// True if a frame arrives at the second port.
    pub(super) fn probe(&mut self, path: &Path) -> Result<bool, String> {
        let test = Test {
            frame_bytes: PROBE_FRAME_BYTES,
            pps: 1_000.0,
            count: 1,
            settle: Duration::from_millis(200),
        };
        Ok(self.run(path, &test)?.figures.received > 0)
    }

    /// Runs a trial.
    pub(super) fn run(&mut self, path: &Path, test: &Test) -> Result<Outcome, String> {
        let template = path.template()?;
        if test.frame_bytes < template.min_bytes() {
            let least = template.min_bytes() + 4;
            return Err(format!(
                "frames of these headers have at least {least} bytes with FCS"
            ));
        }
        self.test = self.test.wrapping_add(1);
        let counters = Arc::new(Counters::new(self.test, &[STREAM], BUCKETS, BUCKET_NANOS));
        let stream = Stream {
            id: STREAM,
            bytes: (test.frame_bytes, test.frame_bytes),
            rate: Rate {
                pps: (test.pps.round() as u64).max(1),
                bps: 0,
            },
            count: Some(test.count),
            template,
        };
        let mut sender = Sender::new(vec![stream], Arc::clone(&counters), BURST_NANOS, 1);
        let mut receiver = Receiver::new(Arc::clone(&counters), &[], true);
        let begin = Instant::now();
        let (mut refused, mut took) = (0, None::<f64>);
        let planned = test.count as f64 / test.pps;
        // A generator that is far too slow for the load gives up after twice the time.
        let give_up = Duration::from_secs_f64(planned * 2.0 + 0.1);
        let mut progress = Instant::now();
        loop {
            match took {
                None => refused += self.send_due(&mut sender),
                // A trial that gave up sends nothing more.
                Some(_) => self.ports[0].flush(&mut self.pool),
            }
            let arrived = self.measure(path, &mut receiver);
            let is_sent = sender.is_done() || begin.elapsed() > give_up;
            if is_sent && took.is_none() {
                took = Some(begin.elapsed().as_secs_f64());
                progress = Instant::now();
            }
            if arrived {
                progress = Instant::now();
            }
            let is_complete = || Sample::read([&*counters]).total().missing() == 0;
            if is_sent && (progress.elapsed() > test.settle || (!arrived && is_complete())) {
                break;
            }
        }
        Ok(Outcome {
            figures: Sample::read([&*counters]).total(),
            refused,
            planned: planned.max(1e-3),
            took: took.unwrap_or(planned).max(planned.min(1e-3)),
        })
    }

    /// Sends at most a batch of due frames. Returns the number of frames that the port refused.
    fn send_due(&mut self, sender: &mut Sender) -> u64 {
        let now = self.now();
        let mut frames = Vec::with_capacity(BATCH);
        while frames.len() < BATCH
            && let Some(due) = sender.due(now)
            && let Some(mut frame) = self.pool.alloc(due.bytes)
        {
            sender.write(due, now, frame.bytes_mut());
            frames.push(frame);
        }
        if frames.is_empty() {
            self.ports[0].flush(&mut self.pool);
            return 0;
        }
        u64::from(self.ports[0].transmit(&mut self.pool, &mut frames).dropped)
    }

    /// Measures received frames. Returns true if a frame of the trial arrived at the second port.
    fn measure(&mut self, path: &Path, receiver: &mut Receiver) -> bool {
        let started = self.started;
        let mut arrived = false;
        self.receive(&path.ends, &mut |port, bytes| {
            // The time after reception: a pause of this thread before it must not shorten the latency.
            let now = machine::Instant::ZERO + started.elapsed();
            let is_own = receiver.receive(bytes, now) == Verdict::Counted;
            arrived |= is_own && port == 1;
            is_own
        });
        arrived
    }
}
