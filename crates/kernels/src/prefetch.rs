//! Prefetch hints.

/// Prefetches the cache line of `what` for reading, into all cache levels.
#[inline(always)]
pub fn prefetch<T: ?Sized>(what: &T) {
    prefetch_at(core::ptr::from_ref(what).cast());
}

#[inline(always)]
fn prefetch_at(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults and changes no memory, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches all cache lines of the value `what` for reading, without reading it: the variant of an enum is not known
/// yet.
#[inline(always)]
pub fn prefetch_value<T>(what: &T) {
    let bytes = core::ptr::from_ref(what).cast::<u8>();
    for at in (0..size_of::<T>()).step_by(LINE) {
        // SAFETY: `at` is less than the size of the value, so the sum is within its allocation, and the pointer is not
        // read. The bytes of a prefetched value need not be initialized.
        prefetch_at(unsafe { bytes.add(at) });
    }
    // A value that begins within a line may end in one more.
    if let Some(last) = size_of::<T>().checked_sub(1) {
        // SAFETY: `last` is less than the size of the value, and the pointer is not read.
        prefetch_at(unsafe { bytes.add(last) });
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the cache line of the value `what` for writing.
#[inline(always)]
pub fn prefetch_write<T: ?Sized>(what: &T) {
    // `prefetchw` is not in the baseline of x86-64; a line that only one core uses is exclusive after a read
    // anyway.
    prefetch(what);
}
