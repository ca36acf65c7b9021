//! The time stamp counter of the processor.

/// Reads the time stamp counter, which has a constant rate.
///
/// The read is not serialising: use it for intervals of a packet vector or longer. On processors without such
/// a counter it returns the monotonic clock in nanoseconds.
#[inline]
pub fn tsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has the instruction, and it touches no memory.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        (now.tv_sec as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(now.tv_nsec as u64)
    }
}

/// Measures the rate of [`tsc`] and of the processor core, in Hz; takes 30 ms.
pub fn measure_hz() -> (u64, u64) {
    const STEPS: u64 = 4096;
    let nanos = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        (now.tv_sec as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(now.tv_nsec as u64)
    };
    let (from_nanos, from_tsc) = (nanos(), tsc());
    let mut best = u64::MAX;
    while nanos().wrapping_sub(from_nanos) < 30_000_000 {
        let start = tsc();
        let mut chain = start;
        for _ in 0..STEPS {
            // A rotation and a dependent addition: two core cycles.
            chain = chain.rotate_left(1).wrapping_add(start);
        }
        core::hint::black_box(chain);
        best = best.min(tsc().wrapping_sub(start));
    }
    let span = nanos().wrapping_sub(from_nanos).max(1);
    let tsc_hz = tsc().wrapping_sub(from_tsc).saturating_mul(1_000_000_000) / span;
    let core_hz = tsc_hz.saturating_mul(2 * STEPS) / best.max(1);
    (tsc_hz, core_hz)
}
