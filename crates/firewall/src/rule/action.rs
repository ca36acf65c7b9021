//! What a rule does, and what comes of a chain.

use core::time::Duration;
use std::sync::Arc;

use wire::Mac;

use super::list::List;
use super::table::ChainId;

/// Every action of RouterOS's filter, nat, mangle and raw, and of the tables of bridges.
#[derive(Clone, Debug)]
pub enum Action {
    /// The chain is done; in nat: without a translation.
    Accept,
    /// Discards silently.
    Drop,
    /// Discards and tells the sender.
    Reject(Reject),
    /// Holds a TCP connection without a window.
    Tarpit,
    /// Only counts.
    Passthrough,
    /// Goes on in another chain.
    Jump(ChainId),
    /// Goes on behind the jump that led here; ends a built-in chain.
    Return,
    /// Only logs (what `Rule::log` says).
    Log,
    /// Enters an address into a list.
    AddToList {
        /// The list.
        list: Arc<List>,
        /// The packet's source, else its destination.
        source: bool,
        /// How long; none until restart (`none-dynamic`). `none-static` is asked of control too, by
        /// [`super::Watch::keep`].
        timeout: Timeout,
    },
    /// The connection takes the fast path from now on.
    Fasttrack,
    /// The packet is not tracked.
    Notrack,
    /// Translates by the nat target with this index in the snapshot. All of nat's actions.
    Translate(u32),
    /// Gives a frame another link address, or answers it.
    Readdress(Readdress),
    /// Sets the packet's mark.
    MarkPacket(u32),
    /// Sets the connection's mark.
    MarkConnection(u32),
    /// Sets the routing mark.
    MarkRouting(u32),
    /// Sets the gateway.
    Route(u128),
    /// Changes the largest segment that a SYN announces.
    ChangeMss(Mss),
    /// Changes the differentiated services field.
    ChangeDscp(Dscp),
    /// Changes the lifetime or hop limit.
    ChangeTtl(Ttl),
    /// Sets the priority.
    SetPriority(Priority),
    /// IPv4 options become no-operations.
    StripOptions,
    /// IPv4: may be fragmented from now on.
    ClearDf,
    /// Sends a copy away.
    Sniff(Sniff),
    /// IPv6: the source gets another prefix (RFC 6296).
    SourcePrefix(Npt),
    /// IPv6: the destination gets another prefix.
    DestinationPrefix(Npt),
}

impl Action {
    /// Whether it decides where a packet goes, or that it ends, other than by marks.
    pub(super) fn decides(&self) -> bool {
        matches!(
            self,
            Self::Drop
                | Self::Reject(_)
                | Self::Tarpit
                | Self::Translate(_)
                | Self::Route(_)
                | Self::SourcePrefix(_)
                | Self::DestinationPrefix(_)
        )
    }
}

impl Action {
    /// Whether control is told of the packet.
    pub(super) fn tells(&self) -> bool {
        match self {
            Self::Log | Self::Sniff(_) => true,
            Self::AddToList { timeout, .. } => *timeout == Timeout::Static,
            _ => false,
        }
    }
}

/// How long a rule enters an address for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// This long.
    After(Duration),
    /// Until restart. RouterOS: `none-dynamic`.
    Dynamic,
    /// For ever, as a part of the configuration. RouterOS: `none-static`.
    Static,
}

/// What the sender of a rejected packet is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reject {
    /// ICMP destination unreachable with this code (RFC 792, RFC 1812 5.2.7.1).
    Icmp(u8),
    /// ICMPv6 destination unreachable with this code (RFC 4443, 3.1).
    Icmpv6(u8),
    /// ICMPv6 parameter problem with this code (RFC 7112: header chain too long, 3).
    Icmpv6Problem(u8),
    /// A TCP reset; what is not TCP is discarded silently.
    TcpReset,
}

/// The largest segment that a SYN may announce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mss {
    /// This many bytes.
    Bytes(u16),
    /// What fits through the egress interface. RouterOS: `clamp-to-pmtu`.
    ClampToPmtu,
}

/// The new differentiated services code point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dscp {
    /// This one, 0 to 63.
    Set(u8),
    /// The packet's priority.
    FromPriority,
    /// The packet's priority in the three high bits, the rest 0.
    FromPriorityToHigh3,
}

/// The new lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// This.
    Set(u8),
    /// More by this, 255 at most.
    Increment(u8),
    /// Less by this, 0 at least.
    Decrement(u8),
}

/// The new priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// This one, 0 to 63.
    Set(u8),
    /// The code point.
    FromDscp,
    /// The three high bits of the code point.
    FromDscpHigh3,
    /// The priority that the packet arrived with.
    FromIngress,
}

/// Where a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sniff {
    /// To whom; IPv4 in the low 32 bits.
    pub target: u128,
    /// Whether that is an IPv6 address.
    pub ipv6: bool,
    /// To which UDP port.
    pub port: u16,
    /// `sniff-pc`'s number; none for `sniff-tzsp`.
    pub id: Option<u32>,
}

/// What a bridge's nat does to a frame. It ends the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readdress {
    /// `src-nat`: another source.
    Source(Mac),
    /// `dst-nat`: another destination.
    Destination(Mac),
    /// `redirect`: it is for the bridge itself.
    Redirect,
    /// `arp-reply`: who asks is told this address, and the frame goes no further.
    ArpReply(Mac),
}

/// A prefix in place of another of the same length (RFC 6296).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Npt {
    /// What an address must begin with.
    pub from: u128,
    /// What it begins with afterwards.
    pub to: u128,
    /// The length of both, 0 to 128.
    pub len: u8,
}

/// What comes of a packet in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Accept,
    /// Discarded by the rule with this id.
    Drop(u32),
    /// Discarded by the rule with this id, and the sender is told.
    Reject(u32, Reject),
    /// Tarpitted by the rule with this id.
    Tarpit(u32),
    /// Translated by the target with this index.
    Translate(u32),
    /// Goes on with another link address, or is answered.
    Readdress(Readdress),
}
