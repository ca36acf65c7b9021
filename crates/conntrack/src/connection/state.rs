//! Classification of a packet: the values that rules match and that the stages of the data plane read.

use packet::drop::DropReason;

use super::id::FlowId;
use super::tcp::Step;

/// `connection-state` of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// The packet begins a connection, or follows before any reply arrived.
    New,
    /// The connection has packets in both directions.
    Established,
    /// The packet begins a connection that a helper expected, or is an ICMP error about a connection.
    Related,
    /// The packet belongs to no connection and may not begin one.
    Invalid,
    /// Tracking is off, or a raw rule applied `notrack`.
    #[default]
    Untracked,
}

impl State {
    /// Returns RouterOS's word for the state.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Established => "established",
            Self::Related => "related",
            Self::Invalid => "invalid",
            Self::Untracked => "untracked",
        }
    }
}

/// A set of [`State`]s, as a rule matches them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct States(pub u8);

impl States {
    /// Returns the set with `state` added.
    #[must_use]
    #[inline]
    pub const fn with(self, state: State) -> Self {
        Self(self.0 | 1 << state as u8)
    }

    /// Returns true if the set contains `state`.
    #[inline(always)]
    pub const fn contains(self, state: State) -> bool {
        self.0 >> state as u8 & 1 != 0
    }
}

impl FromIterator<State> for States {
    fn from_iter<I: IntoIterator<Item = State>>(states: I) -> Self {
        let none = Self::default();
        states.into_iter().fold(none, |set, state| set.with(state))
    }
}

/// `connection-nat-state`, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NatState(pub u8);

impl NatState {
    /// The source was translated.
    pub const SRCNAT: Self = Self(1);
    /// The destination was translated.
    pub const DSTNAT: Self = Self(2);
    /// The source was translated endpoint-independently.
    pub const EIN_SNAT: Self = Self(4);
    /// The destination was translated by an endpoint-independent source mapping.
    pub const EIN_DNAT: Self = Self(8);
    /// Either of the two: the connection holds an endpoint-independent mapping.
    pub const EIN: Self = Self::EIN_SNAT.with(Self::EIN_DNAT);

    /// Returns the union of both sets.
    #[must_use]
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if the sets have a bit in common.
    #[inline(always)]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// `tcp-state` of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TcpState {
    /// Not TCP, or unknown.
    #[default]
    None,
    /// One side sent a SYN.
    SynSent,
    /// The other side answered with a SYN-ACK.
    SynReceived,
    /// The handshake is complete.
    Established,
    /// One side sent its FIN.
    FinWait,
    /// The FIN was acknowledged; the other side may still send (half-close).
    CloseWait,
    /// The other side sent its FIN too.
    LastAck,
    /// Both FINs are acknowledged.
    TimeWait,
    /// A RST closed the connection.
    Close,
    /// Both sides sent a SYN (simultaneous open: RFC 9293, 3.5, figure 7).
    SynSent2,
}

impl TcpState {
    /// All states, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::None,
        Self::SynSent,
        Self::SynReceived,
        Self::Established,
        Self::FinWait,
        Self::CloseWait,
        Self::LastAck,
        Self::TimeWait,
        Self::Close,
        Self::SynSent2,
    ];

    /// Returns true if both sides closed the connection or one reset it.
    pub(super) const fn is_over(self) -> bool {
        matches!(self, Self::TimeWait | Self::Close)
    }

    /// Returns the word that `tcp-state` shows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::SynSent => "syn-sent",
            Self::SynReceived => "syn-received",
            Self::Established => "established",
            Self::FinWait => "fin-wait",
            Self::CloseWait => "close-wait",
            Self::LastAck => "last-ack",
            Self::TimeWait => "time-wait",
            Self::Close => "close",
            // RouterOS: simultaneous open uses the number and the word of `listen`.
            Self::SynSent2 => "listen",
        }
    }

    pub(super) fn from_bits(bits: u8) -> Self {
        Self::ALL
            .get(usize::from(bits))
            .copied()
            .unwrap_or_default()
    }
}

/// The helper that reads a connection, or that expected it (`connection-type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Helper {
    /// No helper.
    #[default]
    None,
    /// File transfer (RFC 959).
    Ftp,
    /// Trivial file transfer (RFC 1350).
    Tftp,
    /// Chat (RFC 1459) and its direct transfers.
    Irc,
    /// Telephony (ITU-T H.323).
    H323,
    /// Telephony (RFC 3261).
    Sip,
    /// Tunnels (RFC 2637).
    Pptp,
    /// Streaming (RFC 2326).
    Rtsp,
    /// A game protocol; no helper exists, but rules may name it.
    Quake3,
}

impl Helper {
    /// All helpers, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Ftp,
        Self::Tftp,
        Self::Irc,
        Self::H323,
        Self::Sip,
        Self::Pptp,
        Self::Rtsp,
        Self::Quake3,
    ];

    /// Returns the word of `connection-type`; empty for `None`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Ftp => "ftp",
            Self::Tftp => "tftp",
            Self::Irc => "irc",
            Self::H323 => "h323",
            Self::Sip => "sip",
            Self::Pptp => "pptp",
            Self::Rtsp => "rtsp",
            Self::Quake3 => "quake3",
        }
    }

    pub(super) fn from_bits(bits: u8) -> Self {
        Self::ALL
            .get(usize::from(bits))
            .copied()
            .unwrap_or_default()
    }
}

/// Classification of a packet: all that its stages read of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// The packet's `connection-state`.
    pub state: State,
    /// The packet's direction of its connection; for an ICMP error (`quoted`) the direction of the quoted
    /// packet. `None` without an entry.
    pub way: Option<FlowId>,
    /// Kinds of address translation of the connection.
    pub nat: NatState,
    /// True if the connection is FastTracked.
    pub fasttrack: bool,
    /// True if the packet is an ICMP error about a packet of `way`.
    pub quoted: bool,
    /// True if a helper reads the connection's payload.
    pub helped: bool,
    /// The TCP transition, for `advance`.
    pub(super) step: Step,
}

/// Reason why a connection could not enter the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The table is full and none of the connections looked at may be evicted.
    Full,
    /// A tuple belongs to another connection.
    Taken,
    /// A NAT mapping that the connection needs was taken by another connection at the same time.
    Unmapped,
}

impl Refused {
    /// Returns the drop reason under which the packet is counted.
    #[inline]
    pub const fn drop(self) -> DropReason {
        match self {
            Self::Full => DropReason::ConnectionsFull,
            Self::Taken => DropReason::ConnectionTaken,
            Self::Unmapped => DropReason::NatPorts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lists_agree() {
        for (number, state) in TcpState::ALL.iter().enumerate() {
            assert_eq!(*state as usize, number);
        }
        for (number, helper) in Helper::ALL.iter().enumerate() {
            assert_eq!(*helper as usize, number);
        }
    }

    #[test]
    fn a_set_contains_the_inserted_members() {
        let set = States::default()
            .with(State::Established)
            .with(State::Untracked);

        assert!(set.contains(State::Established) && set.contains(State::Untracked));
        assert!(!set.contains(State::New) && !set.contains(State::Invalid));
    }
}
