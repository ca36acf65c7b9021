//! Parsers and builders of `wire` against bytes: with another implementation (etherparse) as reference, and with
//! hand-written values.

#![allow(
    clippy::unwrap_used,
    reason = "what cannot be made for a test fails the test"
)]

mod oracle;
mod seeds;
mod values;
