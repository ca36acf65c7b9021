//! An agent of SNMP: version 1 (RFC 1157), 2c (RFC 1901, 3416) and 3 with users (RFC 3412, 3414, 3826).
//!
//! ```text
//! datagram ──message──▶ community or user ──pdu──▶ a view of values, in order ──▶ datagram
//!              │            └ usm: keys, digests, ciphers, time
//!              └ ber
//! ```
//! [`Agent::handle`] answers one datagram. What values there are says a [`View`], which [`mib`] makes of tables: the
//! next one behind an identifier is found by its place in an order, never by looking at all.

mod agent;
mod ber;
mod message;
pub mod mib;
#[cfg(test)]
mod tests;
mod trap;
pub mod usm;

use core::fmt;

pub use agent::{Agent, Asked, Community, Counters, Security, Set};
pub use ber::OID_MAX;
pub use trap::{Trap, TrapVersion};

/// The identifier of an object: its numbers from the root on.
pub type Oid = Vec<u32>;

/// A value of an object (RFC 2578, 2; RFC 3416, 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `INTEGER`.
    Integer(i32),
    /// `OCTET STRING`.
    Octets(Vec<u8>),
    /// No value.
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
    /// `Counter64`. Version 1 does not have it.
    Counter64(u64),
    /// `noSuchObject`.
    NoObject,
    /// `noSuchInstance`.
    NoInstance,
    /// `endOfMibView`.
    EndOfView,
}

impl Value {
    /// A text.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::Octets(text.as_ref().as_bytes().to_vec())
    }

    /// A number that grows, in the 32 bits that an old object has for it.
    pub const fn wrapped(count: u64) -> Self {
        Self::Counter32(count as u32)
    }

    /// An amount, the most that the object can say where it is more.
    pub fn amount(amount: u64) -> Self {
        Self::Gauge32(u32::try_from(amount).unwrap_or(u32::MAX))
    }
}

/// Values in the order of their identifiers.
pub trait View {
    /// The value of this object.
    ///
    /// # Errors
    /// [`Value::NoObject`] or [`Value::NoInstance`].
    fn get(&self, oid: &[u32]) -> Result<Value, Value>;

    /// The first object behind this identifier; without `all` the first whose value version 1 has.
    fn next(&self, oid: &[u32], all: bool) -> Option<(Oid, Value)>;
}

/// Why a datagram is not answered, or with a report only (RFC 3412, 3414, 3418).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// It is no message of SNMP.
    Malformed,
    /// Of a version that there is not.
    Version,
    /// Nobody has this community, or not from this address.
    Community,
    /// It asks for what only agents say.
    Pdu,
    /// Another engine is meant: `usmStatsUnknownEngineIDs`.
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
