//! Picks the instruction set at run time.

use core::sync::atomic::{AtomicU8, Ordering};

#[cfg(target_arch = "x86_64")]
use crate::lanes::{V3, V4};
use crate::{Baseline, Lanes};

/// What the processor offers, in the steps that the x86-64 ABI defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// What the program was built for: on x86-64 that is SSE2.
    Baseline = 1,
    /// x86-64-v3: AVX2, BMI.
    V3 = 2,
    /// x86-64-v4: AVX-512 with bytes, words and short vectors.
    V4 = 3,
}

impl Level {
    /// The level of this machine.
    #[inline]
    pub fn here() -> Self {
        match LEVEL.load(Ordering::Relaxed) {
            1 => Self::Baseline,
            2 => Self::V3,
            3 => Self::V4,
            _ => {
                let level = detect();
                LEVEL.store(level as u8, Ordering::Relaxed);
                level
            }
        }
    }

    /// Its name, for tables of results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::V3 => "x86-64-v3",
            Self::V4 => "x86-64-v4",
        }
    }
}

static LEVEL: AtomicU8 = AtomicU8::new(0);

#[cold]
fn detect() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt") {
            let wide = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
            return if wide { Level::V4 } else { Level::V3 };
        }
    }
    Level::Baseline
}

/// What is worth being compiled for several instruction sets: a pass over a whole vector.
pub trait Work {
    /// What it gives.
    type Output;

    /// Does it. Only what is `#[inline(always)]` is compiled for the level of the machine: this
    /// function must be, and all that it calls in its loops; closures and function pointers are
    /// not. `lanes` are the compares of that level.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// Does `work` with the best instruction set of this machine.
#[inline(always)]
pub fn widest<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        match Level::here() {
            // SAFETY: the processor has the features of the level that was detected.
            Level::V4 => unsafe { v4(work) },
            // SAFETY: as above.
            Level::V3 => unsafe { v3(work) },
            Level::Baseline => work.run(Baseline),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    work.run(Baseline)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn v3<W: Work>(work: W) -> W::Output {
    // SAFETY: the features are those of this function.
    work.run(unsafe { V3::detected() })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn v4<W: Work>(work: W) -> W::Output {
    // SAFETY: the features are those of this function.
    work.run(unsafe { V4::detected() })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [u32], &'a mut u32);

    impl Work for Sum<'_> {
        type Output = u32;

        #[inline(always)]
        fn run<L: Lanes>(self, _lanes: L) -> u32 {
            *self.1 += 1;
            self.0.iter().sum()
        }
    }

    #[test]
    fn the_work_is_done_once_at_every_level() {
        let numbers: Vec<u32> = (0..1_000).collect();
        let mut times = 0;

        assert_eq!(widest(Sum(&numbers, &mut times)), 499_500);

        assert_eq!(times, 1);
        assert!(!Level::here().name().is_empty());
    }
}
