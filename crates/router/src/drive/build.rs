//! Builds a router: control and its workers.

use std::sync::Arc;

use arc_swap::ArcSwap;
use dataplane::interface::InterfaceTable;
use dataplane::snapshot::Snapshot;
use dataplane::table::fib::FibWriter;
use dataplane::{Counters, Parts, Worker, connection, rings};
use frame::{Pool, Sizes};
use machine::{Instant, Rng};
use menu::Clock;

use super::Control;
use super::published::Published;
use super::workers::Workers;
use crate::clock::unix_nanos;
use crate::store::unpredictable;

/// Parameters of a new router.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Number of workers, 1 to 64.
    pub workers: usize,
    /// Size of the packet pool of each worker and of control.
    pub sizes: Sizes,
    /// Seed of all jitter.
    pub seed: u64,
    /// Source of unpredictable keys and numbers.
    pub secrets: Secrets,
    /// The time on the router's own clock, which only runs forward.
    pub now: Instant,
    /// The time of day at `now`. Features read the time of day during the first configuration.
    pub clock: Clock,
}

/// Source of unpredictable keys and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// From the operating system.
    System,
    /// The seed, for simulations: the same seed gives the same run.
    Seed,
}

impl Setup {
    /// Setup of a router that forwards nothing: a tool that only examines a configuration at this time of day.
    pub const fn offline(clock: Clock) -> Self {
        Self {
            workers: 1,
            sizes: Sizes::LEAST,
            seed: 1,
            secrets: Secrets::Seed,
            now: Instant::ZERO,
            clock,
        }
    }

    fn secrets(&self) -> Rng {
        match self.secrets {
            Secrets::System => Rng::system(unpredictable),
            // A separate seed: jitter does not reveal secrets.
            Secrets::Seed => Rng::seeded(!self.seed),
        }
    }
}

impl Control {
    /// Creates control and its workers. The caller runs each worker on its own thread, or steps all workers in a
    /// simulation.
    ///
    /// # Errors
    /// The kernel has no memory left, or there are too many workers.
    pub fn build(setup: &Setup) -> std::io::Result<(Self, Vec<Worker>)> {
        let count = setup.workers.max(1);
        let mut pools = Pool::group(count + 1, setup.sizes)?;
        let own = pools
            .pop()
            .ok_or_else(|| std::io::Error::other("a group of pools is empty"))?;
        let fib = FibWriter::new();
        let snapshot = Arc::new(ArcSwap::from_pointee(Snapshot::default()));
        let interfaces = Arc::new(InterfaceTable::new());
        let (ends, remotes) = rings(count);
        let counters: Vec<_> = (0..count).map(|_| Arc::new(Counters::new())).collect();
        let mut workers = Vec::with_capacity(count);
        let unix_ms = u64::try_from(unix_nanos(setup.clock) / 1_000_000).unwrap_or(0);
        let settings = connection::Settings::default();
        let mut secrets = setup.secrets();
        let (connections, trackers) = connection::trackers(count as u16, &settings, &mut secrets)?;
        let parts = pools.into_iter().zip(ends).zip(trackers);
        for (index, ((pool, rings), tracker)) in parts.enumerate() {
            let reader = fib
                .fib()
                .grace
                .reader()
                .ok_or_else(|| std::io::Error::other("too many workers"))?;
            workers.push(Worker::new(Parts {
                index: index as u16,
                pool,
                snapshot: Arc::clone(&snapshot),
                interfaces: Arc::clone(&interfaces),
                fib: Arc::clone(fib.fib()),
                reader,
                rings,
                counters: Arc::clone(&counters[index]),
                tracker,
                unix_ms,
            }));
        }
        let ends = Workers::new(remotes, own, counters);
        let published = Published::new(interfaces);
        let table = Arc::clone(published.table());
        let seed = secrets.next_u64();
        let mut control = Self::new(ends, fib, published, snapshot, connections, secrets, setup);
        control.features.vxlans.set_peers(table.peers());
        control.features.wireguard.set_sessions(table.sessions());
        control.features.bridges.set_table(table, seed);
        Ok((control, workers))
    }
}
