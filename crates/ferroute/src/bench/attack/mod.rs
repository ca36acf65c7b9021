//! `ferroute bench attack`: what a router's console and its established connections notice of an attack.
//!
//! A router of this program runs as a process, with real ports on veth devices, real worker and control
//! threads. A thousand connections, UDP and TCP, are established through it and carry numbered
//! packets in both directions, at a rate far below what the router can do; first alone, then beside
//! an attack that comes in by the same port as half of them. Meanwhile somebody gives commands at
//! the console. When all is over, what went into the router's ports is compared with what came out
//! and what it says that it discarded.

mod console;
mod frames;
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
use report::Report;
use stream::Stream;
use world::{Balance, World, connections, entries, mac, memory};

/// Packets of established connections in a second, both directions together.
const ESTABLISHED: f64 = 20_000.0;
/// How long they are measured without the attack, and run before that.
const ALONE: Duration = Duration::from_secs(3);
const WARM_UP: Duration = Duration::from_secs(1);
/// The longest that senders sleep.
const TICK: Duration = Duration::from_micros(500);
/// Frames that are handed over at once, even when they are late: a device's queue has room for 1,000.
const BURST: u32 = 256;
/// Strangers that begin in a second while the table is filled; each sends two packets and is sent one.
const FILL: f64 = 50_000.0;
/// By how many an answer is behind the questions: it comes much later than the router takes.
const BEHIND: u32 = 16_384;
/// How often each of them begins at most.
const ROUNDS: u32 = 4;
/// How often the router's memory is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How long the router may keep packets back when all is over: parts of datagrams wait for others.
const PATIENCE: Duration = Duration::from_secs(40);

/// Runs the attacks that are asked for and prints what came of each.
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
    let via = via.ok_or("bench attack has ports of --via packet or --via xdp")?;
    let mut world = World::new()?;
    let asked = |kind: &&AttackKind| attack.attacks.is_empty() || attack.attacks.contains(kind);
    for kind in AttackKind::ALL.iter().filter(asked) {
        let report = Run::begin(&mut world, *kind, via, attack)?.measure()?;
        let _ = output::line(match attack.json {
            true => report.to_json(),
            false => report.to_text(),
        });
    }
    world.end()
}

/// One attack on one router.
struct Run<'a> {
    world: &'a mut World,
    router: Router,
    kind: AttackKind,
    via: &'static str,
    rate: f64,
    duration: Duration,
    stream: Stream,
    flood: PacketReplay,
    rng: Rng,
    memory_peak: u64,
}

impl<'a> Run<'a> {
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
        let before = self.window(ALONE, 0.0);
        let known = connections(&self.router, "")?;
        self.settle();
        let balance = self.world.balance(&self.router)?;
        let came = self.stream.came();
        let beside = self.kind == AttackKind::FullTable;
        let console = Console::begin(self.router.control(), beside);
        let (begin, attacked) = (Instant::now(), self.rate);
        let during = self.window(self.duration, attacked);
        let seconds = begin.elapsed().as_secs_f64();
        let (console, entries_peak) = console.end()?;
        self.settle();
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

    /// Sends for so long; what came of the established connections' packets meanwhile.
    fn window(&mut self, duration: Duration, attacked: f64) -> Window {
        let (before, begin) = (self.stream.came(), Instant::now());
        let flooded = self.send_for(duration, attacked);
        let received = self.stream.came().received - before.received;
        Window {
            rate: received as f64 / begin.elapsed().as_secs_f64(),
            flooded,
        }
    }

    /// Sends the established connections' packets, and so many of the attack in a second; how many
    /// those were.
    fn send_for(&mut self, duration: Duration, attacked: f64) -> u64 {
        let begin = Instant::now();
        let (mut established, mut flood) = (Pace::new(ESTABLISHED), Pace::new(attacked));
        let mut looked = begin;
        while begin.elapsed() < duration {
            established.done += u64::from(self.stream.send(established.due(begin)));
            flood.done += u64::from(self.attack(flood.due(begin)));
            if looked.elapsed() > LOOK {
                looked = Instant::now();
                self.memory_peak = self.memory_peak.max(memory(&self.router));
            }
            thread::park_timeout(TICK);
        }
        flood.done
    }

    /// Sends so many packets of the attack; how many it were.
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

    /// Fills the table with connections that both ends have spoken on, in as many rounds as it takes: a
    /// packet may be lost that others are not.
    ///
    /// # Errors
    /// When it does not get full.
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

    /// So many strangers ask, the server answers each, and they ask again: then both ends have spoken,
    /// and the router forgets none of them for another.
    fn fill_once(&mut self, answers: &mut PacketReplay, strangers: u32) {
        let (begin, mut pace) = (Instant::now(), Pace::new(FILL));
        // How far questions, answers, and questions again came.
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
            // So that none of those that were there before ends meanwhile.
            self.stream.send(2);
            thread::park_timeout(TICK);
        }
    }

    /// Waits until nothing is under way any more.
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

    /// What went through the router since, when all that it kept back is out or discarded.
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

/// What a while of sending showed.
struct Window {
    /// Packets of established connections that came in a second.
    rate: f64,
    /// Packets of the attack that were sent.
    flooded: u64,
}

/// How many packets are due.
struct Pace {
    rate: f64,
    done: u64,
}

impl Pace {
    fn new(rate: f64) -> Self {
        Self { rate, done: 0 }
    }

    /// Those that are due by now, but not all at once when they are late.
    fn due(&self, begin: Instant) -> u32 {
        let due = (begin.elapsed().as_secs_f64() * self.rate) as u64;
        due.saturating_sub(self.done).min(u64::from(BURST)) as u32
    }
}
