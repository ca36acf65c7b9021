//! The few operations that safe Rust cannot say, behind safe functions: prefetch hints, the time
//! stamp counter, and memory on huge pages.
//!
//! Nothing here knows packets. Each `unsafe` block states why it is sound.

#![allow(
    unsafe_code,
    reason = "this crate is where the data plane's unsafe kernels live"
)]

mod cycles;
mod prefetch;
mod region;

pub use cycles::tsc;
pub use prefetch::{prefetch, prefetch_write};
pub use region::Region;
