//! The benchmark in memory: the rows `routing-fast-path` (the walk), those of the firewall
//! ([`GUARDED`]), and `fib-update` (a change of the routes).
//!
//! Of the walk, what is timed is everything from a received vector to a transmitted one, in a whole worker:
//! commands and rings, header checks, lookup, lifetime, link header, counters, queues. What is not
//! timed is the making of the packets: they are copied fresh from templates for every vector.

mod ends;
mod guarded;
mod packets;
mod rig;
mod row;
mod rules;
mod traffic;
mod update;

pub use guarded::{GUARDED, guarded};
pub use packets::packet;
pub use row::{Peer, Row, Spread};
pub use update::{Update, updates};

use std::sync::Barrier;
use std::thread;

use crate::firewall::Firewall;
use rig::{Lane, Rig};

/// The address families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl Family {
    /// The name in rows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
        }
    }
}

/// What is to be measured: a row for each combination.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address families.
    pub families: Vec<Family>,
    /// Lengths of frames in bytes, with their check sequence.
    pub frames: Vec<u16>,
    /// How many flows, in random order.
    pub flows: Vec<u32>,
    /// How many routes, of a full table's mix of lengths.
    pub routes: Vec<u32>,
    /// Rows of the firewall that keep more flows than this busy are left out.
    pub connections_max: u32,
    /// Runs per row; each carries [`PACKETS`] packets.
    pub runs: u32,
    /// How many workers walk at the same time, over one table, each with `flows` flows of its own.
    pub workers: u16,
    /// What everything random follows from.
    pub seed: u64,
    /// Reads how often memory was allocated so far, if somebody counts.
    pub allocations: Option<fn() -> u64>,
    /// Binds the calling thread to a core that no worker with another number has.
    pub pin: Option<fn(u16)>,
    /// Reads how long the calling thread has waited for a processor so far. A change of routes
    /// during which that grew is not counted: what else runs on the machine made it long.
    pub waited: Option<fn() -> Option<u64>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            families: vec![Family::Ipv4, Family::Ipv6],
            frames: vec![1518, 512, 64],
            flows: vec![1, 1_000, 64_000],
            routes: vec![1, 100_000, 1_000_000],
            connections_max: u32::MAX,
            runs: 101,
            workers: 1,
            seed: 1,
            allocations: None,
            pin: None,
            waited: None,
        }
    }
}

/// Packets per run and worker: few enough that most runs are over before the machine does
/// something else on their core.
pub const PACKETS: usize = 16_384;
/// Runs before those that count.
const WARM: usize = 4;

/// Why a measurement means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// There is no memory for pools.
    Memory(String),
    /// The table did not take the routes.
    TableFull,
    /// Not every packet came out: how many of how many.
    Lost {
        /// Packets that were to come out.
        expected: u64,
        /// Packets that did.
        sent: u64,
    },
    /// Memory was allocated while packets were walked.
    Allocated(u64),
    /// Something else ran on the core during every change.
    Disturbed,
}

impl core::fmt::Display for Invalid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Memory(error) => write!(f, "no memory for packets: {error}"),
            Self::TableFull => write!(f, "the routing table is full"),
            Self::Lost { expected, sent } => {
                write!(f, "only {sent} of {expected} packets were forwarded")
            }
            Self::Disturbed => f.write_str("the machine is too busy: every change had to wait"),
            Self::Allocated(count) => write!(f, "{count} allocations while packets were walked"),
        }
    }
}

/// Measures every combination of the options, smallest tables first.
///
/// # Errors
/// [`Invalid`]: the first row that means nothing; rows before it were emitted.
pub fn run(options: &Options, emit: &mut dyn FnMut(Row)) -> Result<(), Invalid> {
    let (tsc_hz, core_hz) = kernels::measure_hz();
    for &family in &options.families {
        for &routes in &options.routes {
            let mut rig = Rig::new(
                family,
                routes,
                options.workers,
                Firewall::default(),
                options.seed,
            )?;
            for &flows in &options.flows {
                for &frame in &options.frames {
                    rig.load(flows, frame, options.seed);
                    let mut measured = measure(options, &mut rig)?;
                    emit(Row {
                        row: "routing-fast-path",
                        family: family.name(),
                        frame,
                        flows,
                        routes,
                        via: "memory",
                        workers: options.workers.max(1),
                        tsc_hz,
                        core_hz,
                        tsc_per_packet: Spread::of(&mut measured.clocks),
                        reference_tsc: Spread::of(&mut measured.reference).median,
                        simd: kernels::Level::here().name(),
                        core_ns: None,
                        peer: None,
                    });
                }
            }
        }
    }
    Ok(())
}

/// What the runs of a row took, in clocks of the time stamp counter per packet (per header for the
/// reference).
struct Measured {
    clocks: Vec<f64>,
    reference: Vec<f64>,
}

fn measure(options: &Options, rig: &mut Rig) -> Result<Measured, Invalid> {
    let lanes = rig.lanes();
    let start = &Barrier::new(lanes.len());
    let measured: Result<Vec<_>, Invalid> = thread::scope(|scope| {
        let spawn = |(index, lane)| {
            scope.spawn(move || {
                if let Some(pin) = options.pin {
                    pin(index);
                }
                measure_lane(options, lane, start)
            })
        };
        let threads: Vec<_> = (0..).zip(lanes).map(spawn).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            let result = thread.join();
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    Ok(together(&measured?))
}

/// What the workers took per packet in each run, so that the rate of all is as many times one of
/// them: the harmonic mean.
fn together(lanes: &[Measured]) -> Measured {
    let runs = lanes.first().map_or(0, |lane| lane.clocks.len());
    let mean = |run: usize| {
        let rates = lanes.iter().map(|lane| lane.clocks[run].recip());
        lanes.len() as f64 / rates.sum::<f64>()
    };
    let reference = lanes.iter().flat_map(|lane| &lane.reference);
    Measured {
        clocks: (0..runs).map(mean).collect(),
        reference: reference.copied().collect(),
    }
}

/// All runs of one worker, each begun together with those of the others. One that went wrong
/// leaves the others their companion: only the last word is an error.
fn measure_lane(options: &Options, lane: &mut Lane, start: &Barrier) -> Result<Measured, Invalid> {
    let runs = options.runs.max(1) as usize;
    let mut measured = Measured {
        clocks: Vec::with_capacity(runs),
        reference: Vec::with_capacity(runs),
    };
    let mut reference = Reference::new();
    // The first runs fill caches and are not counted: all flows come by once.
    let mut result = Ok(());
    for _ in 0..WARM {
        result = result.and(lane.run(PACKETS).map(|_| ()));
    }
    for _ in 0..runs {
        measured.reference.push(reference.clocks());
        start.wait();
        let before = options.allocations.map_or(0, |count| count());
        let clocks = lane.run(PACKETS);
        let after = options.allocations.map_or(0, |count| count());
        if before != after {
            result = result.and(Err(Invalid::Allocated(after - before)));
        }
        match clocks {
            Ok(clocks) => measured.clocks.push(clocks),
            Err(invalid) => result = result.and(Err(invalid)),
        }
    }
    // Whoever gathers the results allocates: not before the last run of the last worker is over.
    start.wait();
    result.map(|()| measured)
}

/// A fixed piece of work of a router's kind: hash, copy and compare headers of 64 bytes. Machines
/// change their speed; ratios to this survive it.
#[derive(Debug)]
pub struct Reference {
    from: Vec<[u8; 64]>,
    to: Vec<[u8; 64]>,
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

impl Reference {
    const HEADERS: usize = 1024;
    const ROUNDS: usize = 16;

    /// The headers.
    pub fn new() -> Self {
        let header = |at: usize| core::array::from_fn(|byte| (at * 31 + byte * 7) as u8);
        Self {
            from: (0..Self::HEADERS).map(header).collect(),
            to: vec![[0; 64]; Self::HEADERS],
        }
    }

    /// Does the work; clocks of the time stamp counter per header.
    pub fn clocks(&mut self) -> f64 {
        let start = kernels::tsc();
        let mut equal = 0;
        for _ in 0..Self::ROUNDS {
            for (from, to) in self.from.iter().zip(&mut self.to) {
                let mut hash = 0u64;
                for word in from.chunks_exact(8) {
                    let mut bytes = [0; 8];
                    bytes.copy_from_slice(word);
                    hash = (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    hash ^= hash >> 29;
                }
                *to = *from;
                to[0] ^= hash as u8 & 1;
                equal += usize::from(core::hint::black_box(&*to) == from);
            }
        }
        core::hint::black_box(equal);
        (kernels::tsc() - start) as f64 / (Self::HEADERS * Self::ROUNDS) as f64
    }
}
