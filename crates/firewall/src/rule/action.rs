//! Actions of rules, and verdicts of chains.

use core::time::Duration;
use std::sync::Arc;

use wire::Mac;

use super::list::List;
use super::table::ChainId;

/// The actions of RouterOS's filter, nat, mangle and raw tables, and of the bridge tables.
#[derive(Clone, Debug)]
pub enum Action {
    /// Ends the chain; in nat without a translation.
    Accept,
    /// Drops the packet silently.
    Drop,
    /// Drops the packet and notifies the sender.
    Reject(Reject),
    /// Accepts a TCP connection with window 0 and holds it.
    Tarpit,
    /// Only counts the packet.
    Passthrough,
    /// Continues in another chain.
    Jump(ChainId),
    /// Continues after the jump to this chain; ends a built-in chain.
    Return,
    /// Only logs, with the prefix of `Rule::log`.
    Log,
    /// Adds an address to a list.
    AddToList {
        /// The list.
        list: Arc<List>,
        /// True for the packet's source, false for its destination.
        source: bool,
        /// Lifetime of the entry; `none-static` entries are also reported to the control plane, by
        /// [`super::Watch::keep`].
        timeout: Timeout,
    },
    /// FastTracks the connection.
    Fasttrack,
    /// Excludes the packet from connection tracking.
    Notrack,
    /// Translates by the NAT target with this index in the snapshot; for all nat actions.
    Translate(u32),
    /// Changes a MAC address of a frame, or answers the frame.
    Readdress(Readdress),
    /// Sets the packet mark.
    MarkPacket(u32),
    /// Sets the connection mark.
    MarkConnection(u32),
    /// Sets the routing mark.
    MarkRouting(u32),
    /// Sets the gateway of the packet.
    Route(u128),
    /// Changes the maximum segment size option of a SYN.
    ChangeMss(Mss),
    /// Changes the DSCP field.
    ChangeDscp(Dscp),
    /// Changes the TTL or hop limit.
    ChangeTtl(Ttl),
    /// Sets the priority.
    SetPriority(Priority),
    /// Replaces IPv4 options by no-operations.
    StripOptions,
    /// Clears the don't-fragment flag of IPv4.
    ClearDf,
    /// Sends a copy of the packet to a remote host.
    Sniff(Sniff),
    /// IPv6: replaces the prefix of the source (RFC 6296).
    SourcePrefix(Npt),
    /// IPv6: replaces the prefix of the destination (RFC 6296).
    DestinationPrefix(Npt),
}

impl Action {
    /// Returns true if the action determines the packet's route or end by other means than marks.
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
    /// Returns true if the action reports the packet to the control plane.
    pub(super) fn tells(&self) -> bool {
        match self {
            Self::Log | Self::Sniff(_) => true,
            Self::AddToList { timeout, .. } => *timeout == Timeout::Static,
            _ => false,
        }
    }
}

/// Lifetime of a list entry that a rule adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// This duration.
    After(Duration),
    /// Until restart (RouterOS: `none-dynamic`).
    Dynamic,
    /// Permanent, as part of the configuration (RouterOS: `none-static`).
    Static,
}

/// Message to the sender of a rejected packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reject {
    /// ICMP destination unreachable with this code (RFC 792, RFC 1812 5.2.7.1).
    Icmp(u8),
    /// ICMPv6 destination unreachable with this code (RFC 4443, 3.1).
    Icmpv6(u8),
    /// ICMPv6 parameter problem with this code (RFC 7112: header chain too long, 3).
    Icmpv6Problem(u8),
    /// A TCP reset; other protocols are dropped silently.
    TcpReset,
}

/// New maximum segment size of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mss {
    /// At most this number of bytes.
    Bytes(u16),
    /// The maximum for the MTU of the egress interface (RouterOS: `clamp-to-pmtu`).
    ClampToPmtu,
}

/// New DSCP value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dscp {
    /// This value, 0 to 63.
    Set(u8),
    /// The packet's priority.
    FromPriority,
    /// The packet's priority in the three high bits; the other bits are 0.
    FromPriorityToHigh3,
}

/// New TTL or hop limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// This value.
    Set(u8),
    /// Adds this value; at most 255.
    Increment(u8),
    /// Subtracts this value; at least 0.
    Decrement(u8),
}

/// New priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// This value, 0 to 63.
    Set(u8),
    /// The DSCP value.
    FromDscp,
    /// The three high bits of the DSCP value.
    FromDscpHigh3,
    /// The priority that the packet had on arrival.
    FromIngress,
}

/// Receiver of a packet copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sniff {
    /// The receiver's address; IPv4 in the low 32 bits.
    pub target: u128,
    /// True if `target` is an IPv6 address.
    pub ipv6: bool,
    /// The receiver's UDP port.
    pub port: u16,
    /// Stream number of `sniff-pc`; `None` for `sniff-tzsp`.
    pub id: Option<u32>,
}

/// Actions of the bridge nat table. Each ends the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readdress {
    /// `src-nat`: sets the source MAC address.
    Source(Mac),
    /// `dst-nat`: sets the destination MAC address.
    Destination(Mac),
    /// `redirect`: delivers the frame to the bridge itself.
    Redirect,
    /// `arp-reply`: answers an ARP request with this address and drops the frame.
    ArpReply(Mac),
}

/// Replacement of an IPv6 prefix by another of the same length (RFC 6296).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Npt {
    /// The prefix that an address must have.
    pub from: u128,
    /// The prefix after translation.
    pub to: u128,
    /// The length of both prefixes, 0 to 128.
    pub len: u8,
}

/// Result of a chain for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet continues.
    Accept,
    /// Dropped by the rule with this id.
    Drop(u32),
    /// Dropped by the rule with this id, with a message to the sender.
    Reject(u32, Reject),
    /// Tarpitted by the rule with this id.
    Tarpit(u32),
    /// Translated by the target with this index.
    Translate(u32),
    /// Continues with another MAC address, or is answered.
    Readdress(Readdress),
}
