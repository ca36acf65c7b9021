//! Prefetch hints.

/// Prefetches the cache line of `what` for reading, into all cache levels.
#[inline(always)]
pub fn prefetch<T: ?Sized>(what: &T) {
    let address = core::ptr::from_ref(what).cast::<i8>();
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults and changes no memory, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches the cache line of the value `what` for writing.
#[inline(always)]
pub fn prefetch_write<T: ?Sized>(what: &T) {
    // `prefetchw` is not in the baseline of x86-64; a line that only one core uses is exclusive after a read
    // anyway.
    prefetch(what);
}
