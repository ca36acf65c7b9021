//! Alternating measurement of both sides.

use bench::{Family, Peer, Row, Spread};

use super::cores::Cores;
use super::generator::Generator;
use super::napi::Napi;
use crate::bench::process::Router;

/// Maximum number of repetitions per requested run because of uneven cores.
const AGAIN: usize = 2;

/// Both sides, ready for measurement.
pub(super) struct Pair {
    pub(super) ours: Generator,
    pub(super) theirs: Generator,
    pub(super) router: Router,
    /// The NAPI thread of the router's shortcuts, if they are in use.
    pub(super) shortcuts: Option<Napi>,
    pub(super) kernel: Napi,
    pub(super) cores: Cores,
}

impl Pair {
    /// Sets the frames of both sides.
    pub(super) fn load(&mut self, templates: &[Vec<u8>]) -> Result<(), String> {
        self.ours.load(templates)?;
        self.theirs.load(templates)
    }

    /// Alternates runs of both sides; the first side of a pair alternates as well, so that neither side always runs on
    /// the state that the other left.
    pub(super) fn measure(&mut self, runs: u32) -> Result<Measured, String> {
        let mut measured = Measured::default();
        let (wanted, mut again) = (runs.max(1) as usize, 0);
        while measured.ours.len() < wanted {
            let before = self.cores.speeds()?;
            let (ours, theirs) = self.run_both(measured.ours.len().is_multiple_of(2))?;
            let after = self.cores.speeds()?;
            if !(before.are_even() && after.are_even()) && again < wanted * AGAIN {
                again += 1;
                continue;
            }
            measured.reference.push(before.generator);
            measured.ours.push(ours);
            measured.theirs.push(theirs);
        }
        Ok(measured)
    }

    fn run_both(&mut self, ours_first: bool) -> Result<(Sample, Sample), String> {
        let our_cpu = || {
            let kernels = self.shortcuts.as_ref().map_or(0, Napi::cpu);
            self.router.cpu() + kernels
        };
        if ours_first {
            let ours = self.ours.run(our_cpu)?;
            Ok((ours, self.theirs.run(|| self.kernel.cpu())?))
        } else {
            let theirs = self.theirs.run(|| self.kernel.cpu())?;
            Ok((self.ours.run(our_cpu)?, theirs))
        }
    }
}

/// Result of one window of one side.
#[derive(Clone, Copy, Debug)]
pub(in crate::bench) struct Sample {
    /// Packets per second at the far end.
    pub(in crate::bench) rate: f64,
    /// Processor time of the forwarder, in nanoseconds per packet.
    pub(in crate::bench) core_ns: f64,
}

/// All windows of a row, pair by pair.
#[derive(Default)]
pub(super) struct Measured {
    ours: Vec<Sample>,
    theirs: Vec<Sample>,
    reference: Vec<f64>,
}

impl Measured {
    /// Builds the row against the kernel, except for values that the caller sets.
    pub(super) fn row(&mut self, family: Family, tsc_hz: u64, core_hz: u64) -> Row {
        let spread = |samples: &[Sample], value: &dyn Fn(&Sample) -> f64| {
            let mut values: Vec<f64> = samples.iter().map(value).collect();
            Spread::of(&mut values)
        };
        let pairs = self.ours.iter().zip(&self.theirs);
        let mut ratios: Vec<f64> = pairs.map(|(own, other)| own.rate / other.rate).collect();
        Row {
            row: "",
            family: family.name(),
            frame: 0,
            flows: 0,
            hosts: 0,
            vlans: 0,
            routes: 1,
            via: "",
            workers: 1,
            tsc_hz,
            core_hz,
            tsc_per_packet: spread(&self.ours, &|sample| tsc_hz as f64 / sample.rate),
            reference_tsc: Spread::of(&mut self.reference).median,
            simd: kernels::Level::here().name(),
            core_ns: Some(spread(&self.ours, &|sample| sample.core_ns).median),
            peer: Some(Peer {
                name: "kernel",
                kpps: spread(&self.theirs, &|sample| sample.rate).median / 1e3,
                ratio: Spread::of(&mut ratios).median,
                core_ns: spread(&self.theirs, &|sample| sample.core_ns).median,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_the_median_of_the_pairs_and_not_of_the_sides() {
        let sample = |rate| Sample {
            rate,
            core_ns: 1e9 / rate,
        };
        let mut measured = Measured {
            ours: [100.0, 400.0, 900.0].map(sample).into(),
            theirs: [50.0, 400.0, 300.0].map(sample).into(),
            reference: vec![7.0],
        };

        let row = measured.row(Family::Ipv4, 1_000_000, 1_000_000);

        let peer = row.peer.expect("measured against the kernel");
        assert_eq!(peer.ratio, 2.0);
        assert_eq!((row.kpps(), peer.kpps), (0.4, 0.3));
        assert_eq!((row.core_ns, peer.core_ns), (Some(2.5e6), 1e9 / 300.0));
    }
}
