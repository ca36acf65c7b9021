//! The few operations that safe Rust cannot say, behind safe functions: prefetch hints, the time
//! stamp counter, compares of many small numbers, memory on huge pages, an allocator that counts.
//!
//! Nothing here knows packets. Each `unsafe` block states why it is sound.

#![allow(
    unsafe_code,
    reason = "this crate is where the data plane's unsafe kernels live"
)]

mod allocations;
mod cycles;
mod lanes;
mod prefetch;
mod region;
mod zeroed;

pub use allocations::CountingAllocator;
pub use cycles::{measure_hz, tsc};
pub use lanes::{at_most_u8, at_most_u16, at_most_u32};
pub use prefetch::{prefetch, prefetch_write};
pub use region::Region;
pub use zeroed::{Atomic, Zeroed};
