//! A new connection, not yet in the table; it lives on the stack while its first packet is processed.

use frame::InterfaceId;
use packet::{Tuple, protocol};

use super::gre::Gre;
use super::id::NextHop;
use super::state::{Helper, NatState};
use super::tcp::Opening;

/// Space for the rewrite of one direction of an IPv4 connection, in the cache line of the direction: two
/// words and 16 bits of a third.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrite4(pub [u64; 3]);

/// Space for the rewrite of one direction of an IPv6 connection: seven words in the direction's second cache
/// line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrite6(pub [u64; 7]);

/// Rewrites of both directions, original first. The module `nat` defines their encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rewrites {
    /// Nothing is rewritten: both slots read as zeros.
    #[default]
    None,
    /// Rewrites of an IPv4 connection.
    Ipv4([Rewrite4; 2]),
    /// Rewrites of an IPv6 connection.
    Ipv6([Rewrite6; 2]),
}

/// The tuples that a worker claims for a connection; other workers then hand packets with these tuples to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Claims {
    /// No claim: RSS delivers the packets of both directions to this worker.
    #[default]
    None,
    /// The reply tuple.
    Reply,
    /// Both tuples.
    Both,
}

/// A new connection, made by `Tracker::draft` from its first packet and filled in by the stages.
#[derive(Clone, Copy, Debug)]
pub struct Draft {
    /// The tuple of the first packet as received.
    pub original: Tuple,
    /// The tuple of the replies as received: the original tuple, translated and reversed.
    pub reply: Tuple,
    /// The connection mark; an expected connection inherits its parent's.
    pub mark: u32,
    /// The helper that reads the connection's payload, or the helper that expected the connection.
    pub helper: Helper,
    /// Kinds of address translation that apply to the connection.
    pub nat: NatState,
    /// Rewrites of both directions.
    pub rewrites: Rewrites,
    /// True if a rule marked the connection for FastTrack.
    pub fasttrack: bool,
    /// True if `masquerade` translated the source; the connection then ends when its egress interface goes
    /// down.
    pub masquerade: bool,
    /// True if a `connection-limit` matcher counts the connection.
    pub counted: bool,
    /// Value that another module stores with the connection (`Tracker::set_attachment`).
    pub attachment: u32,
    /// The interface by which the first packet leaves the router.
    pub egress: InterfaceId,
    /// The next hop of the original direction; FastTrack uses it.
    pub next_hop: NextHop,
    /// The tuples that the worker claims in `TupleClaims`.
    pub claims: Claims,
    /// Length of the first packet in bytes, from its network header on.
    pub(super) bytes: u32,
    /// True if a helper expected the connection.
    pub(super) expected: bool,
    /// The GRE header of the first packet, if the packet is GRE.
    pub(super) gre: Option<Gre>,
    /// The TCP state after the first packet.
    pub(super) opening: Opening,
}

impl Draft {
    /// Returns true if a helper expected the connection.
    #[inline]
    pub const fn is_expected(&self) -> bool {
        self.expected
    }

    /// Returns true if the connection is a PPTP call that the PPTP helper announced.
    pub(super) fn is_call(&self) -> bool {
        self.expected && is_call(self.original.protocol, self.helper)
    }

    /// Returns true if a helper reads the connection's payload.
    #[inline]
    pub fn is_helped(&self) -> bool {
        self.helper != Helper::None && !self.expected
    }
}

/// Returns true if an expected connection with this protocol and helper is a PPTP call.
pub(super) const fn is_call(protocol: u8, helper: Helper) -> bool {
    protocol == protocol::GRE && matches!(helper, Helper::Pptp)
}
