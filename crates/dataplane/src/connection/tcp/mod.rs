//! TCP as a connection tracker sees it from the middle: a state, and what each side may send.
//!
//! `segment` reads a packet, `machine` is the table of states, `window` knows which sequence and
//! acknowledgement numbers can be true (after Rooij, "Real Stateful TCP Packet Filtering", with the
//! care of RFC 5961 for resets and for SYNs out of place).

mod segment;

pub(super) use segment::Segment;

use super::state::TcpState;

/// What TCP makes of a packet of an existing connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Step {
    /// The connection is not TCP, or the packet changes nothing.
    #[default]
    Nothing,
    /// The packet is part of the conversation, which is then in this state.
    Advance(TcpState),
    /// It is let through and believed in nothing; a SYN's end is remembered, in case the other side
    /// agrees with it.
    Ignore,
    /// A SYN-ACK shows that a SYN which was ignored was right: the conversation begins again.
    Resync,
    /// A RST that may be true: the state stays, the time that is left becomes short.
    Doubt,
}

/// The state of TCP after a connection's first packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Opening {
    /// The state; `None` for what is not TCP.
    pub(super) state: TcpState,
    /// The first segment.
    pub(super) segment: Segment,
}
