//! Security associations of IPsec over byte slices: ESP (RFC 4303) and AH (RFC 4302). No I/O, no
//! policy, no key exchange; randomness is passed in.
//!
//! ```text
//!  ESP  SPI 4 · sequence 4 · IV │ payload │ pad · pad length 1 · next header 1 · ICV
//!       └────── front ────────┘           └──────────────── back ───────────────┘
//! ```
//!
//! - [`suite`]: algorithms by their RouterOS names, sizes, keys, and valid combinations.
//! - [`Outbound`], [`Inbound`]: one direction of an association, shared by threads: key schedules,
//!   the next sequence number or the replay [`window`], counters.
//! - [`seal()`], [`open()`]: process batches of packets of any associations. Packets of one
//!   association are processed together: their sequence numbers are reserved at once, and CBC chains
//!   and HMACs of several packets advance in parallel. Packets change in place; nothing is allocated.
//! - [`ah`]: AH over whole IP packets, in batches as well.
//! - [`mac`]: HMACs of batches of messages, for other protocols, too.
//!
//! The private module `cipher` holds ciphers.
//!
//! Initialization vectors of CBC must be unpredictable (RFC 3602, 3): they are sequence numbers
//! encrypted under a secret of the association. Counter modes and AEAD ciphers need unique vectors:
//! they are the sequence numbers. So no packet needs random bytes, and no vector repeats.

#![forbid(unsafe_code)]

pub mod ah;
mod association;
mod cipher;
pub mod mac;
mod open;
mod seal;
pub mod suite;
mod window;
mod work;

pub use association::{Inbound, Outbound, Received, Sent};
pub use open::{Opened, Opening, open};
pub use seal::{Sealing, seal};
pub use suite::{Authentication, Bits, Encryption, Keys, Refused, Suite};
pub use window::{Numbering, Window};

/// Reason for a failure to seal or open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Not processed yet.
    Pending,
    /// The buffer lacks the room around the payload.
    Room,
    /// All sequence numbers are used up: the association must be replaced (RFC 4303, 3.3.3).
    Exhausted,
    /// Too short, not whole blocks, or another SPI.
    Malformed,
    /// The sequence number was received before, or lies before the window.
    Replayed,
    /// The integrity check value is wrong.
    Integrity,
    /// The padding is not 1, 2, 3 … (RFC 4303, 2.4).
    Padding,
    /// AH: a header or option whose mutability is unknown.
    Unhandled,
}

impl Fault {
    /// Returns the name of the counter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Room => "room",
            Self::Exhausted => "exhausted",
            Self::Malformed => "malformed",
            Self::Replayed => "replayed",
            Self::Integrity => "integrity",
            Self::Padding => "padding",
            Self::Unhandled => "unhandled",
        }
    }
}

/// Packets processed at once.
const BATCH: usize = 256;
