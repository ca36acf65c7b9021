//! A connection that is not in the table yet: it lives on the stack of its first packet's walk.

use frame::InterfaceId;
use packet::{Tuple, protocol};

use super::gre::Gre;
use super::id::NextHop;
use super::state::{Helper, NatState};
use super::tcp::Opening;

/// The room that a direction of an IPv4 connection has for its rewrite, in its line: two words, and
/// 16 bits of a third.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrite4(pub [u64; 3]);

/// The same of IPv6: seven words of the direction's second line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrite6(pub [u64; 7]);

/// Both directions' rewrites: original, reply. What they mean is `nat`'s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rewrites {
    /// Nothing is rewritten: both slots read as zeros.
    #[default]
    None,
    /// Of IPv4.
    Ipv4([Rewrite4; 2]),
    /// Of IPv6.
    Ipv6([Rewrite6; 2]),
}

/// The tuples of a connection that its worker claims, so that other workers hand packets with them over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Claims {
    /// None: packets of both directions arrive on this worker anyhow.
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
    /// As the first packet came in.
    pub original: Tuple,
    /// As answers will come in: the original tuple, translated, reversed.
    pub reply: Tuple,
    /// The connection's mark; an expected connection begins with its parent's.
    pub mark: u32,
    /// The helper that watches it, or that expected it.
    pub helper: Helper,
    /// How it is translated.
    pub nat: NatState,
    /// Both directions' rewrites.
    pub rewrites: Rewrites,
    /// A rule marked it for FastTrack.
    pub fasttrack: bool,
    /// The source was translated by `masquerade`: it goes when its egress interface does.
    pub masquerade: bool,
    /// A `connection-limit` counts it.
    pub counted: bool,
    /// What others keep about it (`Tracker::set_attachment`).
    pub attachment: u32,
    /// Where it leaves the router.
    pub egress: InterfaceId,
    /// The next hop of the original direction, for FastTrack.
    pub next_hop: NextHop,
    /// The tuples that are claimed in `Homes`.
    pub claims: Claims,
    /// Bytes of the first packet, from its network header on.
    pub(super) bytes: u32,
    /// A helper expected it.
    pub(super) expected: bool,
    /// What the first packet's header of GRE says.
    pub(super) gre: Option<Gre>,
    /// The state of TCP after the first packet.
    pub(super) opening: Opening,
}

impl Draft {
    /// Whether a helper expected it.
    #[inline]
    pub const fn is_expected(&self) -> bool {
        self.expected
    }

    /// Whether it is a call that PPTP's helper has heard of.
    pub(super) fn is_call(&self) -> bool {
        self.expected && is_call(self.original.protocol, self.helper)
    }

    /// Whether a helper reads what it carries.
    #[inline]
    pub fn is_helped(&self) -> bool {
        self.helper != Helper::None && !self.expected
    }
}

/// Whether a connection that was expected is a call of PPTP.
pub(super) const fn is_call(protocol: u8, helper: Helper) -> bool {
    protocol == protocol::GRE && matches!(helper, Helper::Pptp)
}
