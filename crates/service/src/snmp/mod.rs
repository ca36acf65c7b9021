//! SNMP agent: versions 1 (RFC 1157), 2c (RFC 1901, 3416) and 3 with users (RFC 3412, 3414, 3826).
//!
//! ```text
//! datagram ──message──▶ community or user ──pdu──▶ a view of values, in order ──▶ datagram
//!              │            └ usm: keys, digests, ciphers, time
//!              └ ber
//! ```
//! [`Agent::handle`] answers one datagram. A [`View`] supplies the values; [`mib`] builds it from tables. GetNext
//! finds the next object through an index, never by a scan of all objects.

mod agent;
mod ber;
mod message;
pub mod mib;
#[cfg(test)]
mod tests;
mod trap;
pub mod usm;

use core::fmt;

pub use agent::{Agent, Community, Counters, Datagram, Security, Set};
pub use ber::OID_MAX;
pub use trap::{Trap, TrapVersion};

/// Object identifier.
pub type Oid = Vec<u32>;

/// Value of an object (RFC 2578, 2; RFC 3416, 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `INTEGER`.
    Integer(i32),
    /// `OCTET STRING`.
    Octets(Vec<u8>),
    /// `NULL`.
    Null,
    /// `OBJECT IDENTIFIER`.
    Oid(Oid),
    /// `IpAddress`.
    Address([u8; 4]),
    /// `Counter32`.
    Counter32(u32),
    /// `Gauge32`, `Unsigned32`.
    Gauge32(u32),
    /// `TimeTicks`: hundredths of a second.
    Ticks(u32),
    /// `Counter64`; not available in version 1.
    Counter64(u64),
    /// `noSuchObject`.
    NoObject,
    /// `noSuchInstance`.
    NoInstance,
    /// `endOfMibView`.
    EndOfView,
}

impl Value {
    /// Creates an `OCTET STRING` from text.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::Octets(text.as_ref().as_bytes().to_vec())
    }

    /// Creates a `Counter32`, which wraps.
    pub const fn wrapped(count: u64) -> Self {
        Self::Counter32(count as u32)
    }

    /// Creates a `Gauge32`, which saturates.
    pub fn amount(amount: u64) -> Self {
        Self::Gauge32(u32::try_from(amount).unwrap_or(u32::MAX))
    }
}

/// Ordered view of all values.
pub trait View {
    /// Returns the value of an object.
    ///
    /// # Errors
    /// Returns [`Value::NoObject`] or [`Value::NoInstance`].
    fn get(&self, oid: &[u32]) -> Result<Value, Value>;

    /// Returns the first object after this identifier; without `all`, the first whose type version 1 has.
    fn next(&self, oid: &[u32], all: bool) -> Option<(Oid, Value)>;
}

/// Reason why a datagram gets no response, or only a report (RFC 3412, 3414, 3418).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Not an SNMP message.
    Malformed,
    /// Unsupported version.
    Version,
    /// Unknown community, or source address not allowed.
    Community,
    /// PDU type that an agent does not handle.
    Pdu,
    /// `usmStatsUnknownEngineIDs`.
    Engine,
    /// `usmStatsUnknownUserNames`.
    User,
    /// `usmStatsUnsupportedSecLevels`.
    Level,
    /// `usmStatsWrongDigests`.
    Digest,
    /// `usmStatsNotInTimeWindows`.
    Time,
    /// `usmStatsDecryptionErrors`.
    Decryption,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "malformed message",
            Self::Version => "unknown version",
            Self::Community => "unknown community",
            Self::Pdu => "unexpected PDU",
            Self::Engine => "unknown engine",
            Self::User => "unknown user",
            Self::Level => "unsupported security level",
            Self::Digest => "wrong digest",
            Self::Time => "not in time window",
            Self::Decryption => "decryption error",
        })
    }
}
