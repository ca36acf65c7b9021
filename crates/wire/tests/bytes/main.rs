//! The readers and builders of `wire` against bytes: another implementation (etherparse) as
//! oracle, and values of our own.

#![allow(
    clippy::unwrap_used,
    reason = "what cannot be made for a test fails the test"
)]

mod oracle;
mod seeds;
mod values;
