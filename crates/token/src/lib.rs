//! A cryptographic token (smart card, USB key, SoftHSM) behind a PKCS #11 module (version 2.40), by `cryptoki`.
//!
//! ```text
//! caller ── Operation, deadline ──▶ thread `token` ──▶ Module ──▶ PKCS #11 module ──▶ token
//! job (a TLS handshake) ──▶ thread `token-jobs`, whose operations are those of a caller
//! ```
//! [`Card`] implements [`certificate::Token`]. Calls of the module may take any time: one thread makes them, and
//! callers wait for the thread up to a deadline. Both queues are bounded. Each operation looks again
//! for a token that was pulled out.

#![forbid(unsafe_code)]

mod card;
mod fault;
mod key;
mod module;
mod sign;

pub use card::{Card, Event, Settings};

#[cfg(test)]
mod tests;
