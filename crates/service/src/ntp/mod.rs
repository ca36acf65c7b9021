//! NTP client and server (RFC 5905).
//!
//! ```text
//! request ─▶ answer ─▶ filter: best sample of each server
//!                         └▶ select: servers that agree ─▶ discipline: step, slew, frequency
//! ```
//! The owner passes in the host's clock, the raw time, in nanoseconds since 1970. The client measures against it and
//! provides a correction, the [`Discipline`], so that no clock of the host has to be set.
//!
//! A request carries a 64-bit random cookie as its transmit timestamp. An answer counts only if it returns the
//! cookie, and only once, so that an attacker who does not see the request cannot spoof an answer (RFC 8633, 5.1).

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

/// Maximum frequency error of a clock, in nanoseconds per second (RFC 5905, figure 5: PHI).
const PHI: i64 = 15_000;
const SECOND: i64 = 1_000_000_000;
/// Precision of the router's clock: 2^-20 seconds.
const PRECISION: i8 = -20;

/// Maximum drift of a clock over a duration.
fn wander(nanos: i64) -> i64 {
    (nanos.max(0) / 1_000).saturating_mul(PHI) / 1_000_000
}
