//! `ferroute bench attack`: measures the effect of an attack on the console and on established connections.
//!
//! The router runs as a process of its own, with ports on veth devices, worker threads and a control thread. A thousand
//! connections, UDP and TCP, are established through it and carry numbered packets in both directions, at a rate far
//! below the router's limit: first without an attack, then during an attack through the ingress port of half of the
//! packets. Meanwhile a console user runs commands, and a client pings the router and a host behind it. Finally, the
//! number of frames into the router's ports is compared with the number of frames out and the router's drop counters.

mod console;
mod frames;
mod ping;
mod report;
mod stream;
mod world;

use std::thread;
use std::time::{Duration, Instant};

use dataplane::connection::ENTRY_BYTES;
use machine::Rng;
use netio::PacketReplay;

use super::process::Router;
use crate::cli::output;
use crate::cli::{Attack, AttackKind, Via};
use console::Console;
use frames::{TCP, UDP};
use ping::Pinger;
use report::Report;
use stream::Stream;
use world::{Balance, World, connections, entries, mac, memory};

/// Packets of established connections per second, in both directions together.
const ESTABLISHED: f64 = 20_000.0;
/// Duration of the measurement before the attack, and of the preceding warm-up.
const ALONE: Duration = Duration::from_secs(3);
const WARM_UP: Duration = Duration::from_secs(1);
/// Maximum sleep of senders.
const TICK: Duration = Duration::from_micros(500);
/// Maximum burst of frames, even after a delay: the queue of a device holds 1,000.
const BURST: u32 = 256;
/// New hosts per second while the table is filled; each sends two packets and receives one.
const FILL: f64 = 50_000.0;
/// Number of hosts between a request and its answer: the answer comes much later than the router's latency.
const BEHIND: u32 = 16_384;
/// Maximum number of attempts to fill the table.
const ROUNDS: u32 = 4;
/// Interval of memory measurements.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum time that the router holds packets at the end: fragments wait for others.
const PATIENCE: Duration = Duration::from_secs(40);

/// Runs the requested attacks, and prints the result of each.
pub(super) fn run(attack: &Attack) -> Result<(), String> {
    if !crate::cli::location::is_root() {
        return Err(String::from(
            "bench attack needs root: it makes network namespaces and devices",
        ));
    }
    let via = match attack.via {
        Via::Packet | Via::Xdp => attack.via.driver(),
        Via::Memory | Via::Tap => None,
    };
    let via = via.ok_or("bench attack supports only --via packet and --via xdp")?;
    let mut world = World::new()?;
    let asked = |kind: &&AttackKind| attack.attacks.is_empty() || attack.attacks.contains(kind);
    for kind in AttackKind::ALL.iter().filter(asked) {
        let report = AttackRun::begin(&mut world, *kind, via, attack)?.measure()?;
        let _ = output::line(match attack.json {
            true => report.to_json(),
            false => report.to_text(),
        });
    }
    world.end()
}

/// One attack on one router.
struct AttackRun<'a> {
    world: &'a mut World,
    router: Router,
    kind: AttackKind,
    via: &'static str,
    rate: f64,
    duration: Duration,
    stream: Stream,
    flood: PacketReplay,
    pinger: Pinger,
    rng: Rng,
    memory_peak: u64,
}

impl<'a> AttackRun<'a> {
    fn begin(
        world: &'a mut World,
        kind: AttackKind,
        via: &'static str,
        attack: &Attack,
    ) -> Result<Self, String> {
        let router = world.router(via)?;
        world.greet(&router)?;
        let frame = match kind {
            AttackKind::SynFlood | AttackKind::PortScan => frames::stranger(mac(1), TCP, 80),
            AttackKind::UdpFlood | AttackKind::Fragments | AttackKind::FullTable => {
                frames::stranger(mac(1), UDP, 53)
            }
        };
        Ok(Self {
            stream: Stream::open([mac(0), mac(1)])?,
            flood: stream::replay("wan", &[frame])?,
            pinger: Pinger::open(mac(0))?,
            rng: Rng::seeded(1),
            memory_peak: memory(&router),
            rate: f64::from(attack.rate),
            duration: Duration::from_secs(attack.seconds.into()),
            world,
            router,
            kind,
            via,
        })
    }

    fn measure(mut self) -> Result<Report, String> {
        let memory_before = self.memory_peak;
        if self.kind == AttackKind::FullTable {
            self.fill()?;
        }
        self.send_for(WARM_UP, 0.0);
        self.pinger.take(&self.stream.pings());
        let before = self.window(ALONE, 0.0);
        let known = connections(&self.router, "")?;
        self.settle();
        let pings_before = self.pinger.take(&self.stream.pings());
        let balance = self.world.balance(&self.router)?;
        let came = self.stream.came();
        let beside = self.kind == AttackKind::FullTable;
        let console = Console::begin(self.router.control(), beside);
        let (begin, attacked) = (Instant::now(), self.rate);
        let during = self.window(self.duration, attacked);
        let seconds = begin.elapsed().as_secs_f64();
        let (console, entries_peak) = console.end()?;
        self.settle();
        let pings_during = self.pinger.take(&self.stream.pings());
        let after = self.stream.came();
        let balance = self.balance_since(&balance)?;
        let left = connections(&self.router, "")?;
        let (now, entries_max) = entries(&self.router)?;
        Ok(Report {
            attack: self.kind.name(),
            via: self.via,
            seconds,
            rate: during.flooded as f64 / seconds,
            console,
            pings: [pings_before, pings_during],
            before: before.rate,
            during: during.rate,
            came: stream::Came {
                sent: after.sent - came.sent,
                received: after.received - came.received,
                disordered: after.disordered - came.disordered,
                missed: after.missed - came.missed,
            },
            survived: left.iter().filter(|id| known.contains(id)).count(),
            balance,
            entries: entries_peak.max(now),
            entries_max,
            memory: (memory_before, self.memory_peak),
            table: entries_max * ENTRY_BYTES[0],
        })
    }

    /// Sends for this duration; returns the result of the established connections.
    fn window(&mut self, duration: Duration, attacked: f64) -> Window {
        let (before, begin) = (self.stream.came(), Instant::now());
        let flooded = self.send_for(duration, attacked);
        let received = self.stream.came().received - before.received;
        Window {
            rate: received as f64 / begin.elapsed().as_secs_f64(),
            flooded,
        }
    }

    /// Sends packets of established connections, and `attacked` attack packets per second; returns the number of attack
    /// packets.
    fn send_for(&mut self, duration: Duration, attacked: f64) -> u64 {
        let begin = Instant::now();
        let (mut established, mut flood) = (Pace::new(ESTABLISHED), Pace::new(attacked));
        let (mut looked, pings) = (begin, self.stream.pings());
        while begin.elapsed() < duration {
            established.done += u64::from(self.stream.send(established.due(begin)));
            flood.done += u64::from(self.attack(flood.due(begin)));
            self.pinger.send_due(&pings);
            if looked.elapsed() > LOOK {
                looked = Instant::now();
                self.memory_peak = self.memory_peak.max(memory(&self.router));
            }
            thread::park_timeout(TICK);
        }
        flood.done
    }

    /// Sends this many attack packets; returns their number.
    fn attack(&mut self, count: u32) -> u32 {
        let rng = &mut self.rng;
        let change = match self.kind {
            AttackKind::SynFlood | AttackKind::UdpFlood | AttackKind::FullTable => {
                frames::another_stranger
            }
            AttackKind::Fragments => frames::another_fragment,
            AttackKind::PortScan => frames::another_port,
        };
        self.flood.send_changed(count, |frame| change(frame, rng))
    }

    /// Fills the table with connections in both directions, in several rounds, because single packets may be lost.
    ///
    /// # Errors
    /// The table does not get full.
    fn fill(&mut self) -> Result<(), String> {
        let mut answers = stream::replay("dmz", &[frames::answer(mac(2), 53)])?;
        let (_, max) = entries(&self.router)?;
        let strangers = u32::try_from(max).unwrap_or(u32::MAX);
        let mut entered = 0;
        for _ in 0..ROUNDS {
            self.fill_once(&mut answers, strangers);
            (entered, _) = entries(&self.router)?;
            if entered >= max {
                return Ok(());
            }
        }
        Err(format!(
            "the table has {entered} connections, and room for {max}"
        ))
    }

    /// Each host sends a request, the server answers, and the host sends again: the router does not evict connections
    /// with packets in both directions.
    fn fill_once(&mut self, answers: &mut PacketReplay, strangers: u32) {
        let (begin, mut pace) = (Instant::now(), Pace::new(FILL));
        // Progress of requests, answers, and second requests.
        let mut done = [0u32; 3];
        while done[2] < strangers {
            let due = pace.due(begin);
            for turn in 0..done.len() {
                let ahead = match turn {
                    0 => strangers,
                    _ if done[turn - 1] == strangers => strangers,
                    _ => done[turn - 1].saturating_sub(BEHIND),
                };
                let next = &mut done[turn];
                let count = due.min(ahead.saturating_sub(*next));
                let (sender, change): (_, fn(&mut [u8], u32)) = match turn {
                    1 => (&mut *answers, frames::answer_number),
                    _ => (&mut self.flood, frames::stranger_number),
                };
                sender.send_changed(count, |frame| {
                    change(frame, *next);
                    *next += 1;
                });
            }
            pace.done += u64::from(due);
            // Keeps the established connections alive.
            self.stream.send(2);
            thread::park_timeout(TICK);
        }
    }

    /// Waits until no packet is in flight.
    fn settle(&mut self) {
        let mut last = self.stream.came();
        loop {
            thread::park_timeout(Duration::from_millis(200));
            let now = self.stream.came();
            if now.received == last.received {
                return;
            }
            last = now;
        }
    }

    /// Returns the frame balance since `before`, once all held packets are sent or dropped.
    fn balance_since(&mut self, before: &Balance) -> Result<Balance, String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let balance = self.world.balance(&self.router)?.since(before);
            if balance.unnamed() <= 0 || Instant::now() > until {
                return Ok(balance);
            }
            thread::park_timeout(Duration::from_millis(200));
        }
    }
}

/// Result of a period of sending.
struct Window {
    /// Received packets of established connections per second.
    rate: f64,
    /// Attack packets sent.
    flooded: u64,
}

/// Rate of packets.
struct Pace {
    rate: f64,
    done: u64,
}

impl Pace {
    fn new(rate: f64) -> Self {
        Self { rate, done: 0 }
    }

    /// Returns the number of packets due, limited to a burst.
    fn due(&self, begin: Instant) -> u32 {
        let due = (begin.elapsed().as_secs_f64() * self.rate) as u64;
        due.saturating_sub(self.done).min(u64::from(BURST)) as u32
    }
}
