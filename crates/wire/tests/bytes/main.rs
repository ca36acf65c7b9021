//! The readers and builders of `wire` against bytes: the fuzz corpora with seeded mutations, and
//! another implementation (etherparse) as oracle.

#![allow(
    clippy::unwrap_used,
    reason = "what cannot be made for a test fails the test"
)]

mod corpus;
mod oracle;
mod seeds;
mod values;
