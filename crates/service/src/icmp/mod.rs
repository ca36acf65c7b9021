//! What a router owes by ICMP: echo replies, errors and redirects, for IPv4 ([`v4`]: RFC 792,
//! RFC 1122, 3.2.2, RFC 1812, 4.3) and IPv6 ([`v6`]: RFC 4443, RFC 4861, 8).
//!
//! Everything is a function of one packet: whether a message is owed, and its bytes. The owner
//! chooses the source address with `source`, asks a [`Limiter`], and sends the packet by its own
//! routes:
//!
//! ```text
//! packet ─▶ owed? ─▶ Limiter::admit ─▶ source ─▶ error / redirect ─▶ bytes from the IP header on
//! ```
//!
//! `error` and `redirect` check for themselves that a message is owed, so that no order of calls
//! can send one that is not.

pub mod limiter;
pub mod v4;
pub mod v6;

pub use limiter::{Limiter, Rate};

/// A packet about which something is to be said.
#[derive(Clone, Copy, Debug)]
pub struct Offender<'a> {
    /// The packet as it arrived, from its IP header on.
    pub packet: &'a [u8],
    /// To whom it was sent, below IP and by its network.
    pub sent_to: SentTo,
}

/// To whom a packet was sent, as far as the IP header does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentTo {
    /// In a frame to one station, and not to a network's broadcast address.
    One,
    /// In a frame to a group or to all, or to a network's broadcast address.
    Many,
}

/// Why no message is owed (RFC 1812, 4.3.2.7; RFC 4443, 2.4 (e)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOwed {
    /// The packet cannot be read.
    Malformed,
    /// It reports an error itself, or might.
    IsError,
    /// It is not the first piece of a fragmented packet; for an echo: it is a piece at all.
    Fragment,
    /// It was sent to many.
    SentToMany,
    /// Its source is not one station's address.
    Source,
    /// It is no echo request.
    NoEcho,
    /// A redirect would not help: the sender is not on the link, or chose the way itself.
    NoBetterWay,
}
