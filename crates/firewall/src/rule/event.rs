//! Events that rules report to the control plane.

use conntrack::connection::{NatState, State};
use frame::InterfaceId;
use packet::Tuple;

/// An event for the control plane about the current packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A log entry.
    Log(Logged),
    /// A permanent address list entry.
    Keep {
        /// The list's number.
        list: u32,
        /// The address; IPv4 in the low 32 bits.
        address: u128,
        /// True for IPv6.
        ipv6: bool,
    },
}

/// Contents of a log entry besides the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The rule that logs; it has the chain and the prefix.
    pub rule: u32,
    /// The egress interface, if it is known.
    pub egress: InterfaceId,
    /// The connection state of the packet.
    pub state: State,
    /// Kinds of translation of the connection, as far as known.
    pub nat: NatState,
    /// The packet's tuple at the rule: after dstnat its destination is translated.
    pub seen: Tuple,
    /// The packet's tuple after translation, if known.
    pub translated: Option<Tuple>,
}
