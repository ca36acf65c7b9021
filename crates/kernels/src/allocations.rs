//! A global allocator that counts, for proving that a path allocates nothing.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

thread_local! {
    // Made without code and left without: it may be used wherever memory is asked for.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is about to end may have given it up.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

/// The system's allocator, which counts what is asked of it. A program or test that wants the
/// count makes it its `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

impl CountingAllocator {
    /// How often the calling thread asked for memory (or for more) since it began.
    pub fn count() -> u64 {
        COUNT.try_with(Cell::get).unwrap_or(0)
    }
}

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract.
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
