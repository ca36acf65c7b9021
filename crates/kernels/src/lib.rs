//! Operations that need `unsafe`, behind safe functions: prefetching, the time stamp counter, SIMD
//! comparisons, selection of the instruction set, AES, carry-less multiplication and HMAC over batches of messages,
//! memory on huge pages, a counting allocator, and trimming of the heap.
//!
//! This crate does not know packets. Each `unsafe` block states why it is sound.

#![allow(
    unsafe_code,
    reason = "this crate is where the data plane's unsafe kernels live"
)]

mod aes;
mod allocations;
mod chacha;
mod cycles;
mod gcm;
mod ghash;
mod heap;
mod hmac;
mod lanes;
mod prefetch;
mod region;
#[allow(
    unreachable_pub,
    reason = "the sealed trait of the hashes names registers and engines, which are not exported"
)]
mod sha;
mod widest;
mod zeroed;

pub use aes::{Aes, Chain, chain, unchain};
#[cfg(target_arch = "x86_64")]
pub use aes::{ChainForm, chain_by, unchain_by};
pub use allocations::CountingAllocator;
pub use chacha::{ChaChaKey, ChaChaMessage, chacha_open, chacha_seal};
pub use cycles::{measure_hz, tsc};
pub use gcm::{Gcm, GcmForm, GcmMessage, gcm_open, gcm_seal};
pub use ghash::Ghash;
pub use heap::trim_heap;
pub use hmac::{HashForm, HmacKey, HmacMessage, hmac, hmac_by};
pub use lanes::{Baseline, Every, Lanes, Line, Squeeze, parted};
pub use prefetch::{prefetch, prefetch_value, prefetch_write};
pub use region::{Pages, Region};
pub use sha::{Hash, MAX_DIGEST_BYTES, Sha1, Sha256, Sha384, Sha512};
pub use widest::{Level, Work, widest};
pub use zeroed::{Atomic, Zeroed};
