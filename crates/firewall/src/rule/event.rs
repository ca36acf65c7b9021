//! Side effects that a rule requests from control, besides what it does to the packet.

use conntrack::connection::{NatState, State};
use frame::InterfaceId;
use packet::Tuple;

/// Something to be told about the packet at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A line for the log.
    Log(Logged),
    /// An address for a list, for ever.
    Keep {
        /// The list's number.
        list: u32,
        /// The address; IPv4 in the low 32 bits.
        address: u128,
        /// Of IPv6.
        ipv6: bool,
    },
}

/// What a line of the log says besides the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The rule that logs: its chain and its prefix.
    pub rule: u32,
    /// Where the packet would leave, if that is known.
    pub egress: InterfaceId,
    /// The state of its connection.
    pub state: State,
    /// How that is translated, as far as it was known.
    pub nat: NatState,
    /// Between whom the packet travelled when the rule saw it: its destination is translated from
    /// dstnat on.
    pub seen: Tuple,
    /// What its connection makes of such packets, where that is known.
    pub translated: Option<Tuple>,
}
