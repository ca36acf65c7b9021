//! Operations that need `unsafe`, behind safe functions: prefetching, the time stamp counter, SIMD
//! comparisons, selection of the instruction set, AES and carry-less multiplication, memory on huge pages, a
//! counting allocator, and trimming of the heap.
//!
//! This crate does not know packets. Each `unsafe` block states why it is sound.

#![allow(
    unsafe_code,
    reason = "this crate is where the data plane's unsafe kernels live"
)]

mod aes;
mod allocations;
mod cycles;
mod gcm;
mod ghash;
mod heap;
mod lanes;
mod prefetch;
mod region;
mod widest;
mod zeroed;

pub use aes::{Aes, Chain, chain};
pub use allocations::CountingAllocator;
pub use cycles::{measure_hz, tsc};
pub use gcm::Gcm;
pub use ghash::Ghash;
pub use heap::trim_heap;
pub use lanes::{Baseline, Every, Lanes, Line, Squeeze, parted};
pub use prefetch::{prefetch, prefetch_write};
pub use region::{Pages, Region};
pub use widest::{Level, Work, widest};
pub use zeroed::{Atomic, Zeroed};
