//! The two cores of a measurement: assignment of threads, priorities and speed.

use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;

use bench::{Reference, Spread};
use rustix::process::Pid;
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

use super::MEASURED;

/// Repetitions of the reference work in one measurement of speed: some milliseconds.
const ROUNDS: usize = 9;
/// Cores count as uneven if their speeds differ by more than this factor.
const EVEN_WITHIN: f64 = 1.15;

/// Core of the generator, and core of the forwarder.
#[derive(Clone, Copy, Debug)]
pub(in crate::bench) struct Cores {
    generator: usize,
    forwarder: usize,
}

/// Time stamp counter clocks of the reference work, measured on both cores at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Speeds {
    pub(super) generator: f64,
    pub(super) forwarder: f64,
}

impl Cores {
    /// Returns the first two cores: a router's first worker uses the second one by default.
    pub(in crate::bench) fn of_this_machine() -> Result<Self, String> {
        let set = sched_getaffinity(None).map_err(|error| format!("the cores: {error}"))?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core));
        match (cores.next(), cores.next()) {
            (Some(generator), Some(forwarder)) => Ok(Self {
                generator,
                forwarder,
            }),
            _ => Err(String::from(
                "--via xdp and --via packet need two cores: one sends, one forwards",
            )),
        }
    }

    /// Pins the calling thread to the generator's core.
    pub(super) fn pin_generator(self) -> Result<(), String> {
        pin(None, self.generator)
    }

    /// Pins a thread to the forwarder's core.
    pub(super) fn pin_forwarder(self, thread: Pid) -> Result<(), String> {
        pin(Some(thread), self.forwarder)
    }

    /// Measures both cores at the same time, because they may share resources.
    pub(super) fn speeds(self) -> Result<Speeds, String> {
        let begin = Barrier::new(2);
        let clocks = |core| {
            let pinned = pin(None, core);
            realtime(gettid(), Some(MEASURED));
            let mut reference = Reference::new();
            begin.wait();
            let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| reference.clocks()).collect();
            pinned.map(|()| Spread::of(&mut rounds).median)
        };
        thread::scope(|scope| {
            let generator = scope.spawn(|| clocks(self.generator));
            let forwarder = scope.spawn(|| clocks(self.forwarder));
            let ended = |_| String::from("a measurement of speed panicked");
            Ok(Speeds {
                generator: generator.join().map_err(ended)??,
                forwarder: forwarder.join().map_err(ended)??,
            })
        })
    }
}

impl Speeds {
    /// Whether the speeds of both cores are similar.
    pub(super) fn are_even(self) -> bool {
        let ratio = self.generator / self.forwarder;
        (EVEN_WITHIN.recip()..=EVEN_WITHIN).contains(&ratio)
    }
}

/// Pins a thread to a core; `None` is the calling thread.
fn pin(thread: Option<Pid>, core: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(thread, &set).map_err(|error| format!("core {core}: {error}"))
}

/// Gives a thread realtime priority over everything that is not measured, or removes the priority. If the kernel
/// refuses, the figures spread more visibly.
pub(in crate::bench) fn realtime(thread: Pid, precedence: Option<u8>) {
    let class = if precedence.is_some() { "-f" } else { "-o" };
    let _ = Command::new("chrt")
        .args([class, "-p"])
        .arg(precedence.unwrap_or(0).to_string())
        .arg(thread.as_raw_nonzero().to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_uneven_whichever_of_them_is_slow() {
        let even = |generator, forwarder| {
            Speeds {
                generator,
                forwarder,
            }
            .are_even()
        };

        assert!(even(50.0, 50.0) && even(50.0, 57.0) && even(57.0, 50.0));
        assert!(!even(50.0, 75.0) && !even(75.0, 50.0));
    }
}
