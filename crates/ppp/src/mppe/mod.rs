//! Microsoft Point-to-Point Encryption (RFC 3078) with the keys of RFC 3079, without I/O.
//!
//! ```text
//! password, challenges ─▶ StartKey ─▶ SessionKey ─change─▶ … ─▶ RC4 ─▶ header (flags, count) | encrypted packet
//! ```
//! Each direction has a key and a count of packets. Stateless encryption changes the key for each packet; stateful
//! encryption changes it every 256 packets, and a loss requires a reset by CCP.
//!
//! RC4 is broken, MPPE has no integrity protection, and its keys derive from MS-CHAP, which is broken too.

mod cipher;
mod key;
mod late;
pub(crate) mod rc4;

pub use cipher::{Decryptor, Encryptor, Fault as MppeFault, HEADER as MPPE_HEADER};
pub use key::{KeyLength, KeyLengths, MppeKeys, StartKey};

/// Encryption of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mppe {
    /// Length of the key.
    pub length: KeyLength,
    /// The key changes with each packet.
    pub is_stateless: bool,
    /// Key that the session keys derive from.
    pub key: StartKey,
}

impl Mppe {
    /// Returns RouterOS's name of the encryption: `MPPE128 stateless`.
    pub const fn name(&self) -> &'static str {
        match (self.length, self.is_stateless) {
            (KeyLength::Bits40, true) => "MPPE40 stateless",
            (KeyLength::Bits56, true) => "MPPE56 stateless",
            (KeyLength::Bits128, true) => "MPPE128 stateless",
            (KeyLength::Bits40, false) => "MPPE40 stateful",
            (KeyLength::Bits56, false) => "MPPE56 stateful",
            (KeyLength::Bits128, false) => "MPPE128 stateful",
        }
    }
}

/// Encryption of both directions, negotiated by CCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// Packets that this end sends.
    pub transmit: Mppe,
    /// Packets that this end receives.
    pub receive: Mppe,
}
