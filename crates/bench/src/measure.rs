//! Runs of workers: all concurrently and, if there are several, alternating with a single-worker
//! router on each core.

use std::sync::Barrier;
use std::thread;

use super::rig::{DrivenWorker, Rig};
use super::{Invalid, Options, PACKETS, Peer, Reference, Row, Spread};

/// Warm-up runs, which are not counted.
const WARM: usize = 4;

/// The routers that a row is measured on.
pub(super) struct Bench<'a> {
    options: &'a Options,
    /// The measured router.
    rig: Rig,
    /// A single-worker router for each worker; empty if the measured router has only one.
    alone: Vec<Rig>,
    /// Frequencies of the time stamp counter and of the core.
    hz: (u64, u64),
}

impl<'a> Bench<'a> {
    /// Creates the routers. `make` gets the number of workers.
    pub(super) fn new(
        options: &'a Options,
        make: impl Fn(u16) -> Result<Rig, Invalid>,
    ) -> Result<Self, Invalid> {
        let seeds = seeds(options).filter(|_| options.workers > 1);
        Ok(Self {
            rig: make(options.workers)?,
            alone: seeds.map(|_| make(1)).collect::<Result<_, _>>()?,
            hz: kernels::measure_hz(),
            options,
        })
    }

    /// Loads the packets of each router, with a separate seed per router.
    pub(super) fn load(&mut self, mut load: impl FnMut(&mut Rig, u64)) {
        load(&mut self.rig, self.options.seed);
        for (rig, seed) in self.alone.iter_mut().zip(seeds(self.options)) {
            load(rig, seed);
        }
    }

    /// Calls `prepare` for every router, with its seed.
    pub(super) fn prepare(
        &mut self,
        mut prepare: impl FnMut(&mut Rig, u64) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        let mut result = Ok(());
        self.load(|rig, seed| {
            if result.is_ok() {
                result = prepare(rig, seed);
            }
        });
        result
    }

    /// Measures the row; the caller completes its description.
    pub(super) fn measure(&mut self) -> Result<Row, Invalid> {
        let options = self.options;
        let lanes = self.rig.lanes();
        let mut alone = self.alone.iter_mut().flat_map(Rig::lanes);
        let start = &Barrier::new(lanes.len());
        let measured: Result<Vec<_>, Invalid> = thread::scope(|scope| {
            let spawn = |(index, lane)| {
                let mut turn = Turn {
                    options,
                    index,
                    lane,
                    alone: alone.next(),
                    start,
                };
                scope.spawn(move || {
                    if let Some(pin) = options.pin {
                        pin(index);
                    }
                    turn.measure()
                })
            };
            let threads: Vec<_> = (0..).zip(lanes).map(spawn).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                let result = thread.join();
                result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        let (tsc_hz, core_hz) = self.hz;
        Ok(row(options, tsc_hz, core_hz, &measured?))
    }
}

/// Returns a seed for each single-worker router. The first is that of the measured router.
fn seeds(options: &Options) -> impl Iterator<Item = u64> + use<> {
    let seed = options.seed;
    (0..u64::from(options.workers.max(1))).map(move |index| seed + index)
}

/// Results of a worker's runs, in time stamp counter cycles per packet (per header for the
/// reference).
struct Measured {
    clocks: Vec<f64>,
    /// Results of the single-worker router on the same core; empty without one.
    alone: Vec<f64>,
    reference: Vec<f64>,
}

/// A worker's runs on its core.
struct Turn<'a> {
    options: &'a Options,
    index: u16,
    lane: &'a mut DrivenWorker,
    alone: Option<&'a mut DrivenWorker>,
    start: &'a Barrier,
}

impl Turn<'_> {
    /// Runs everything in step with the other workers. After an error it keeps taking part, so that
    /// the others can finish; the error is returned at the end.
    fn measure(&mut self) -> Result<Measured, Invalid> {
        let runs = self.options.runs.max(1) as usize;
        let mut measured = Measured {
            clocks: Vec::with_capacity(runs),
            alone: Vec::with_capacity(runs),
            reference: Vec::with_capacity(runs),
        };
        let mut reference = Reference::new();
        // The first runs fill caches and are not counted: all flows pass once.
        let mut result = Ok(());
        for _ in 0..WARM {
            for lane in [Some(&mut *self.lane), self.alone.as_deref_mut()] {
                let run = lane.map_or(Ok(0.0), |lane| lane.run(PACKETS));
                result = result.and(run.map(|_| ()));
            }
        }
        for _ in 0..runs {
            measured.reference.push(reference.clocks());
            self.start.wait();
            match run(self.options, self.lane) {
                Ok(clocks) => measured.clocks.push(clocks),
                Err(invalid) => result = result.and(Err(invalid)),
            }
            match self.run_alone() {
                Ok(clocks) => measured.alone.extend(clocks),
                Err(invalid) => result = result.and(Err(invalid)),
            }
        }
        result.map(|()| measured)
    }

    /// Runs the single-worker routers one after the other; all other threads wait.
    fn run_alone(&mut self) -> Result<Option<f64>, Invalid> {
        let mut own = Ok(None);
        let Some(lane) = self.alone.as_deref_mut() else {
            return own;
        };
        for turn in 0..self.options.workers {
            self.start.wait();
            if turn == self.index {
                own = run(self.options, lane).map(Some);
            }
        }
        self.start.wait();
        own
    }
}

/// Runs once. Returns cycles per packet.
fn run(options: &Options, lane: &mut DrivenWorker) -> Result<f64, Invalid> {
    let before = options.allocations.map_or(0, |count| count());
    let clocks = lane.run(PACKETS);
    let after = options.allocations.map_or(0, |count| count());
    if before != after {
        return Err(Invalid::Allocated(after - before));
    }
    clocks
}

fn row(options: &Options, tsc_hz: u64, core_hz: u64, lanes: &[Measured]) -> Row {
    let mut clocks = together(lanes, |lane| &lane.clocks);
    let reference = lanes.iter().flat_map(|lane| &lane.reference);
    let mut reference: Vec<f64> = reference.copied().collect();
    let mut alone = together(lanes, |lane| &lane.alone);
    let pairs = clocks.iter().zip(&alone);
    let workers = f64::from(options.workers.max(1));
    let mut ratios: Vec<f64> = pairs.map(|(all, one)| workers * one / all).collect();
    let one_worker = (options.workers > 1).then(|| {
        let rate = tsc_hz as f64 / Spread::of(&mut alone).median.max(0.001);
        Peer {
            name: "one worker",
            kpps: rate / 1e3,
            ratio: Spread::of(&mut ratios).median,
            core_ns: 1e9 / rate,
        }
    });
    Row {
        row: "",
        family: "",
        frame: 0,
        flows: 0,
        routes: 0,
        hosts: 0,
        vlans: 0,
        via: "memory",
        workers: options.workers.max(1),
        tsc_hz,
        core_hz,
        tsc_per_packet: Spread::of(&mut clocks),
        reference_tsc: Spread::of(&mut reference).median,
        simd: kernels::Level::here().name(),
        core_ns: None,
        peer: one_worker,
    }
}

/// Returns the mean cycles per packet of all workers in each run, as a harmonic mean, so that the
/// total rate is the number of workers times its inverse.
fn together(lanes: &[Measured], clocks: impl Fn(&Measured) -> &[f64]) -> Vec<f64> {
    let runs = lanes.iter().map(|lane| clocks(lane).len()).min();
    let mean = |run: usize| {
        let rates = lanes.iter().map(|lane| clocks(lane)[run].recip());
        lanes.len() as f64 / rates.sum::<f64>()
    };
    (0..runs.unwrap_or(0)).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_workers_are_compared_with_one_on_either_core() {
        let lane = |clocks, alone| Measured {
            clocks: vec![clocks; 3],
            alone: vec![alone; 3],
            reference: vec![1.0],
        };
        let options = Options {
            workers: 2,
            ..Options::default()
        };

        // One core is twice as fast as the other, and they share nothing.
        let row = row(
            &options,
            1_000_000,
            1,
            &[lane(100.0, 100.0), lane(50.0, 50.0)],
        );

        let peer = row.peer.expect("there are two workers");
        let kpps = (row.kpps().round(), peer.kpps.round());
        assert_eq!((kpps, peer.ratio), ((30.0, 15.0), 2.0));
    }
}
