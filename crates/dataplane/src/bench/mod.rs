//! The benchmark of the walk, in memory: the row `routing-fast-path`.
//!
//! What is timed is everything from a received vector to a transmitted one, in a whole worker:
//! commands and rings, header checks, lookup, lifetime, link header, counters, queues. What is not
//! timed is the making of the packets: they are copied fresh from templates for every vector.

mod packets;
mod rig;
mod row;

pub use packets::packet;
pub use row::{Peer, Row, Spread};

use packets::Templates;
use rig::Rig;

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
    /// Runs per row; each carries 64,000 packets.
    pub runs: u32,
    /// What everything random follows from.
    pub seed: u64,
    /// Reads how often memory was allocated so far, if somebody counts.
    pub allocations: Option<fn() -> u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            families: vec![Family::Ipv4, Family::Ipv6],
            frames: vec![1518, 512, 64],
            flows: vec![1, 1_000, 64_000],
            routes: vec![1, 100_000, 1_000_000],
            runs: 31,
            seed: 1,
            allocations: None,
        }
    }
}

/// Packets per run.
const PACKETS: usize = 64_000;

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
}

impl core::fmt::Display for Invalid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Memory(error) => write!(f, "no memory for packets: {error}"),
            Self::TableFull => write!(f, "the routing table is full"),
            Self::Lost { expected, sent } => {
                write!(f, "only {sent} of {expected} packets were forwarded")
            }
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
            let mut rig = Rig::new(family, routes, options.seed)?;
            for &flows in &options.flows {
                for &frame in &options.frames {
                    let mut measured = measure(options, &mut rig, flows, frame)?;
                    emit(Row {
                        row: "routing-fast-path",
                        family: family.name(),
                        frame,
                        flows,
                        routes,
                        via: "memory",
                        workers: 1,
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

fn measure(options: &Options, rig: &mut Rig, flows: u32, frame: u16) -> Result<Measured, Invalid> {
    let templates = Templates::new(rig, flows, frame, options.seed);
    rig.load(templates);
    let mut measured = Measured {
        clocks: Vec::new(),
        reference: Vec::new(),
    };
    let mut reference = Reference::new();
    // The first run fills caches and is not counted.
    rig.run(PACKETS)?;
    for _ in 0..options.runs.max(1) {
        measured.reference.push(reference.clocks());
        let before = options.allocations.map(|count| count());
        let clocks = rig.run(PACKETS);
        let after = options.allocations.map(|count| count());
        measured.clocks.push(clocks?);
        if before != after {
            let count = after.unwrap_or_default() - before.unwrap_or_default();
            return Err(Invalid::Allocated(count));
        }
    }
    Ok(measured)
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
