//! Selects the instruction set at run time.

use core::sync::atomic::{AtomicU8, Ordering};

#[cfg(target_arch = "x86_64")]
use crate::lanes::{V3, V4};
use crate::{Baseline, Lanes};

/// Instruction set level of a processor, as defined by the x86-64 ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// The baseline of the build: SSE2 on x86-64.
    Baseline = 1,
    /// x86-64-v3: AVX2, BMI.
    V3 = 2,
    /// x86-64-v4: AVX-512 with bytes, words and short vectors.
    V4 = 3,
}

impl Level {
    /// Returns the level of this machine.
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

    /// Returns the level's name.
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

/// Code that is compiled for several instruction sets: a pass over a whole vector.
pub trait Work {
    /// Result of the work.
    type Output;

    /// Executes the work. Only `#[inline(always)]` functions are compiled for the machine's level: this
    /// function must be, and all functions that its loops call; closures and function pointers are not.
    /// `lanes` has the comparisons of that level.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// Executes `work` with the best instruction set of this machine.
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
    fn every_simd_level_runs_the_work_once() {
        let numbers: Vec<u32> = (0..1_000).collect();
        let mut times = 0;

        assert_eq!(widest(Sum(&numbers, &mut times)), 499_500);

        assert_eq!(times, 1);
        assert!(!Level::here().name().is_empty());
    }
}
