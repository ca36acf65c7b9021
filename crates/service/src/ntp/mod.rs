//! The time from servers, and for those who ask (NTP, RFC 5905).
//!
//! ```text
//! question ─▶ answer ─▶ filter: the sample with the least delay of each server
//!                          └▶ select: which servers agree ─▶ discipline: step, slew, frequency
//! ```
//! Machines are told what the machine underneath takes the time to be, the raw time, in nanoseconds since 1970. They
//! measure against it, and say what is to be added: the [`Discipline`]. So nobody's clock has to be set.
//!
//! A question carries 64 random bits in the place of its transmit timestamp. An answer counts if it brings them back,
//! and once; so whoever does not see the question cannot answer it (RFC 8633, 5.1 has why).

mod client;
mod discipline;
mod filter;
mod key;
mod select;
mod server;
#[cfg(test)]
mod tests;

pub use client::{Action, Client, Event, Fault, Peer, PeerStatus, Status};
pub use discipline::{Discipline, Update};
pub use key::Key;
pub use server::{Refused, Server, Settings, Synchronized};

/// Most that a clock is taken to run wrong, in nanoseconds a second (RFC 5905, figure 5: PHI).
const PHI: i64 = 15_000;
const SECOND: i64 = 1_000_000_000;
/// How finely this router reads its clock: 2^-20 seconds.
const PRECISION: i8 = -20;

/// What a clock may have run wrong in a span.
fn wander(nanos: i64) -> i64 {
    (nanos.max(0) / 1_000).saturating_mul(PHI) / 1_000_000
}
