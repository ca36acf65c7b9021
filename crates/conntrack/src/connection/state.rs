//! What a packet is to its connection: the values that rules match and the walk asks.

use packet::drop::DropReason;

use super::id::Way;
use super::tcp::Step;

/// `connection-state` of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// It begins a connection, or follows before any answer came.
    New,
    /// Of a connection that was seen in both directions.
    Established,
    /// It begins a connection that a helper expected, or is an ICMP error about a connection.
    Related,
    /// It belongs to nothing and may not begin anything.
    Invalid,
    /// It is not tracked: tracking is off, or a raw rule said `notrack`.
    #[default]
    Untracked,
}

impl State {
    /// The word of RouterOS.
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

/// A set of [`State`]s, as a rule lists them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct States(pub u8);

impl States {
    /// The set with this state too.
    #[must_use]
    #[inline]
    pub const fn with(self, state: State) -> Self {
        Self(self.0 | 1 << state as u8)
    }

    /// Whether the state is in it.
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
    /// The source was translated independently of the endpoint.
    pub const EIN_SNAT: Self = Self(4);
    /// The destination was translated because such a source mapping was met.
    pub const EIN_DNAT: Self = Self(8);
    /// Either of the two: the connection holds a mapping of endpoints.
    pub const EIN: Self = Self::EIN_SNAT.with(Self::EIN_DNAT);

    /// Both sets together.
    #[must_use]
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether they have a bit in common.
    #[inline(always)]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// `tcp-state` of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TcpState {
    /// Not TCP, or nothing known.
    #[default]
    None,
    /// A SYN was seen.
    SynSent,
    /// A SYN and its SYN-ACK were seen.
    SynReceived,
    /// Both sides speak.
    Established,
    /// One side sent its FIN.
    FinWait,
    /// That FIN was acknowledged; the other side may go on sending (half-close).
    CloseWait,
    /// The other side sent its FIN too.
    LastAck,
    /// Both FINs are acknowledged.
    TimeWait,
    /// A RST ended it.
    Close,
    /// Both sides sent a SYN (RFC 9293, 3.5, figure 7).
    SynSent2,
}

impl TcpState {
    /// All, in the order of their numbers.
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

    /// Whether both ends have done with the conversation, or one broke it off.
    pub(super) const fn is_over(self) -> bool {
        matches!(self, Self::TimeWait | Self::Close)
    }

    /// The word that `tcp-state` shows.
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
            // RouterOS: simultaneous open has taken the number of `listen`, and its word.
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

/// The helper that watches a connection, or whose expectation made it (`connection-type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Helper {
    /// None.
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
    /// A game's protocol; nothing makes it, rules may name it.
    Quake3,
}

impl Helper {
    /// All, in the order of their numbers.
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

    /// The word of `connection-type`; empty for none.
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

/// What classification found: all that a packet's stages read of its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// The packet's state.
    pub state: State,
    /// The packet's direction of its connection; of an ICMP error (`quoted`) the direction of the
    /// packet that it is about. None for what has no entry.
    pub way: Option<Way>,
    /// How the connection is translated.
    pub nat: NatState,
    /// The connection is marked for FastTrack.
    pub fasttrack: bool,
    /// The packet is an ICMP error about a packet of `way`.
    pub quoted: bool,
    /// A helper reads what the connection carries.
    pub helped: bool,
    /// What TCP makes of it, for `advance`.
    pub(super) step: Step,
}

/// Why a connection did not enter the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The table is full and none of the connections looked at may be evicted.
    Full,
    /// One of its tuples belongs to another connection.
    Taken,
    /// The endpoint that stands for its source, or the one that it is to, went to another at the same
    /// time.
    Unmapped,
}

impl Refused {
    /// The name under which the packet is counted.
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
    fn a_set_holds_what_was_put_in() {
        let set = States::default()
            .with(State::Established)
            .with(State::Untracked);

        assert!(set.contains(State::Established) && set.contains(State::Untracked));
        assert!(!set.contains(State::New) && !set.contains(State::Invalid));
    }
}
