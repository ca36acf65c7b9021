//! The benchmark in memory, with the rows `routing-fast-path` (the walk), rows of the firewall
//! ([`GUARDED`]), of VLANs and tunnels ([`LAYERED`]), of PPP sessions ([`SESSIONS`], [`ENCRYPTED`]), of bridges
//! ([`BRIDGED`]), of queues ([`QUEUED`]), of home routers ([`HOME`]), and `fib-update` (a change of
//! the routes).
//!
//! The time of a walk covers the whole worker, from a received vector to a transmitted one:
//! commands and rings, header checks, lookup, TTL, link header, counters, queues. Building the
//! packets is not timed: they are copied from templates for every vector.

mod bridged;
mod encrypted;
mod ends;
mod family;
mod far;
mod guarded;
mod home;
mod hops;
mod invalid;
mod keyed;
mod l2tp;
mod layered;
mod measure;
mod ovpn;
mod packets;
mod protected;
mod queued;
mod rig;
mod row;
mod rules;
mod ruleset;
mod sessions;
mod traffic;
mod tunnels;
mod update;
pub mod workload;

pub use bridged::{BRIDGED, bridged};
pub use encrypted::{ENCRYPTED, encrypted};
pub use family::Family;
pub use guarded::{GUARDED, guarded};
pub use home::{HOME, home};
pub use invalid::Invalid;
pub use keyed::{KEYED, keyed};
pub use layered::{LAYERED, layered};
pub use packets::packet;
pub use protected::{PROTECTED, SUITES, protected, protected_sizes};
pub use queued::{QUEUED, queued};
pub use row::{Peer, Row, Spread};
pub use ruleset::{Ruleset, answer};
pub use sessions::{SESSIONS, sessions};
pub use traffic::{finish, lengthen};
pub use update::{Update, updates};

use dataplane::firewall::Firewall;
use measure::Bench;
use rig::Rig;

/// What is to be measured: a row for each combination.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address families.
    pub families: Vec<Family>,
    /// Lengths of frames in bytes, with their check sequence.
    pub frames: Vec<u16>,
    /// Lengths of frames for rows of the firewall without connections; empty selects the shortest frames.
    pub rule_frames: Vec<u16>,
    /// Numbers of flows, in random order.
    pub flows: Vec<u32>,
    /// Numbers of routes, with the prefix lengths of a full table.
    pub routes: Vec<u32>,
    /// The most connections: firewall rows with more are omitted, and home router rows use this
    /// many.
    pub connections_max: u32,
    /// Runs per row, of [`PACKETS`] packets each.
    pub runs: u32,
    /// Number of workers that run concurrently over one table, with `flows` flows each. Several
    /// workers are measured in alternation with single-worker routers, each alone on the core of
    /// one worker: the peer `one worker` is their mean.
    pub workers: u16,
    /// Seed of all random choices.
    pub seed: u64,
    /// Reads the number of memory allocations by the calling thread, if the caller counts them.
    pub allocations: Option<fn() -> u64>,
    /// Binds the calling thread to a core that no other worker has.
    pub pin: Option<fn(u16)>,
    /// Reads how long the calling thread has waited for a processor. Changes of routes during which
    /// it waited are not counted.
    pub waited: Option<fn() -> Option<u64>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            families: vec![Family::Ipv4, Family::Ipv6],
            frames: vec![1518, 512, 64],
            rule_frames: Vec::new(),
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

/// Packets per run and worker: few enough that most runs are not interrupted by other work on their
/// core.
pub const PACKETS: usize = 16_384;

/// Measures every combination of the options, smallest tables first.
///
/// # Errors
/// [`Invalid`]: the first row that could not be measured; earlier rows were emitted.
pub fn run(options: &Options, emit: &mut dyn FnMut(Row)) -> Result<(), Invalid> {
    for &family in &options.families {
        for &routes in &options.routes {
            let mut bench = Bench::new(options, |workers| {
                let seed = options.seed;
                Rig::new(family, routes, workers, Firewall::default(), seed)
            })?;
            for &flows in &options.flows {
                for &frame in &options.frames {
                    bench.load(|rig, seed| rig.load(flows, frame, seed));
                    emit(Row {
                        row: "routing-fast-path",
                        family: family.name(),
                        frame,
                        flows,
                        routes,
                        ..bench.measure()?
                    });
                }
            }
        }
    }
    Ok(())
}

/// A fixed workload similar to a router's: hash, copy and compare headers of 64 bytes. Rates
/// relative to it are independent of changes of the machine's speed.
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

    /// Creates the headers.
    pub fn new() -> Self {
        let header = |at: usize| core::array::from_fn(|byte| (at * 31 + byte * 7) as u8);
        Self {
            from: (0..Self::HEADERS).map(header).collect(),
            to: vec![[0; 64]; Self::HEADERS],
        }
    }

    /// Runs the workload. Returns time stamp counter cycles per header.
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
