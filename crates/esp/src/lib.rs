//! Security associations of IPsec over byte slices: ESP (RFC 4303) and AH (RFC 4302). No I/O, no
//! policy, no key exchange; randomness is passed in.
//!
//! ```text
//!  ESP  SPI 4 · sequence 4 · IV │ payload │ pad · pad length 1 · next header 1 · ICV
//!       └────── front ────────┘           └──────────────── back ───────────────┘
//! ```
//!
//! - [`suite`]: algorithms by RouterOS' names, their sizes, keys, and what is refused.
//! - [`Outbound`], [`Inbound`]: one direction of an association, shared by threads: expanded keys,
//!   the next sequence number or the [`window`] of those seen, counters.
//! - [`seal()`], [`open()`]: batches of packets of any associations. What a batch has of one
//!   association is done together: numbers are reserved at once, chains of CBC advance side by side,
//!   and so do the HMACs of several packets. Packets are worked on in place; nothing is allocated.
//! - [`ah`]: the same for AH, over whole IP packets.
//!
//! Inside: `cipher` has the ciphers, `mac` the HMACs.
//!
//! Initialization vectors of CBC must be unpredictable (RFC 3602, 3): they are sequence numbers
//! encrypted under a secret of the association. Counter modes and AEADs want them unique: they are
//! sequence numbers. So none is drawn per packet, and none comes twice.

#![forbid(unsafe_code)]

pub mod ah;
mod association;
mod cipher;
mod mac;
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

/// Why a packet was not sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Nobody has worked on it.
    Pending,
    /// The bytes do not have the room that the payload needs.
    Room,
    /// All sequence numbers have been used: the association must be replaced (RFC 4303, 3.3.3).
    Exhausted,
    /// Too short, not whole blocks, or another SPI.
    Malformed,
    /// The sequence number was seen, or lies before the window.
    Replayed,
    /// The integrity check value is wrong.
    Integrity,
    /// The padding is not 1, 2, 3 … (RFC 4303, 2.4).
    Padding,
    /// AH: a header or an option of which it is not known what routers change on the way.
    Unhandled,
}

impl Fault {
    /// Name for counters.
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

/// Packets that are worked on at once.
const BATCH: usize = 256;
