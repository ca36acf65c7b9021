//! A counting global allocator, for tests that a code path does not allocate.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

thread_local! {
    // Constant initialiser and no destructor, so that the allocator may use it at any time.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // The value of a thread that is about to end may already be destroyed.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

/// The system allocator with a counter. A program or test that needs the count declares it as its
/// `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

impl CountingAllocator {
    /// Returns the number of allocations and reallocations of the calling thread.
    pub fn count() -> u64 {
        COUNT.try_with(Cell::get).unwrap_or(0)
    }
}

// SAFETY: every call is forwarded unchanged to the system allocator, which satisfies the contract.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`; the block came from the same place.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`; the block came from the same place.
        unsafe { System.dealloc(block, layout) }
    }
}
