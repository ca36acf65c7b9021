//! ICMP messages that the router sends: echo replies, errors and redirects, for IPv4 ([`v4`]: RFC 792, RFC 1122,
//! 3.2.2, RFC 1812, 4.3) and IPv6 ([`v6`]: RFC 4443, RFC 4861, 8).
//!
//! All functions depend on one packet only: they decide whether a message may be sent and build its bytes. The owner
//! chooses the source address with `source`, asks a [`Limiter`], and sends the packet by its own routes:
//!
//! ```text
//! packet ─▶ owed? ─▶ Limiter::admit ─▶ source ─▶ error / redirect ─▶ bytes from the IP header on
//! ```
//!
//! `error` and `redirect` repeat the check of `owed`, so that no order of calls sends a forbidden message.

pub mod limiter;
pub mod v4;
pub mod v6;

pub use limiter::{Limiter, Rate};

/// A packet that causes an ICMP message.
#[derive(Clone, Copy, Debug)]
pub struct Offender<'a> {
    /// The packet as received, from the IP header on.
    pub packet: &'a [u8],
    /// Kind of destination, from link layer and network.
    pub sent_to: SentTo,
}

/// Kind of destination, as far as the IP header does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentTo {
    /// Unicast frame, not to a directed broadcast address.
    One,
    /// Multicast or broadcast frame, or directed broadcast address.
    Many,
}

/// Reason why no message is sent (RFC 1812, 4.3.2.7; RFC 4443, 2.4 (e)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOwed {
    /// The packet is malformed.
    Malformed,
    /// The packet is an ICMP error, or of unknown type.
    IsError,
    /// Not the first fragment; for an echo request: a fragment at all.
    Fragment,
    /// Multicast or broadcast destination.
    SentToMany,
    /// The source is not a unicast address.
    Source,
    /// Not an echo request.
    NoEcho,
    /// A redirect would not help: the sender is not on the link, or used source routing.
    NoBetterWay,
}
