//! Builds a router: control and the workers that it drives.

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

/// What a router is made of.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How many workers, 1 to 64.
    pub workers: usize,
    /// The size of each worker's pool, and of control's.
    pub sizes: Sizes,
    /// What all jitter follows from.
    pub seed: u64,
    /// Where keys and numbers come from that nobody may guess.
    pub secrets: Secrets,
    /// The time on the router's own clock, which only runs forward.
    pub now: Instant,
    /// The time of day at `now`. Features read it while they read the first configuration.
    pub clock: Clock,
}

/// Where numbers come from that nobody may guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// From the operating system.
    System,
    /// From the seed: in a simulation, where the same seed must give the same run.
    Seed,
}

impl Setup {
    /// The setup of a router which forwards nothing: to ask about a configuration at this time of day.
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
            // A seed of its own: jitter does not tell it.
            Secrets::Seed => Rng::seeded(!self.seed),
        }
    }
}

impl Control {
    /// Makes control and its workers. Each worker goes to a thread of its own, or is stepped by a
    /// simulation.
    ///
    /// # Errors
    /// What the kernel says when it has no memory, or that there are too many workers.
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
        let published = (Published::new(interfaces), snapshot);
        let table = Arc::clone(published.0.table());
        let seed = secrets.next_u64();
        let mut control = Self::new(ends, fib, published, connections, secrets, setup);
        control.features.vxlans.set_peers(table.peers());
        control.features.wireguard.set_sessions(table.sessions());
        control.features.bridges.set_table(table, seed);
        Ok((control, workers))
    }
}
