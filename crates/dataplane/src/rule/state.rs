//! What rules ask about a packet's connection: its state, how it is translated, its helper.

/// RouterOS: `connection-state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// The first packet of a connection, or one before an answer was seen.
    #[default]
    New,
    /// Both directions have been seen.
    Established,
    /// Belongs to another connection: an ICMP error, or what a helper expects.
    Related,
    /// Fits no connection and begins none.
    Invalid,
    /// `notrack`, or tracking is off.
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

/// A set of states: bit `1 << state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct States(pub u8);

impl States {
    /// Whether the state is in the set.
    #[inline(always)]
    pub const fn has(self, state: State) -> bool {
        self.0 & 1 << state as u8 != 0
    }
}

impl FromIterator<State> for States {
    fn from_iter<I: IntoIterator<Item = State>>(states: I) -> Self {
        Self(
            states
                .into_iter()
                .fold(0, |bits, one| bits | 1 << one as u8),
        )
    }
}

/// RouterOS: `connection-nat-state`, as a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NatState(pub u8);

impl NatState {
    /// The source is translated.
    pub const SRCNAT: Self = Self(1);
    /// The destination is translated.
    pub const DSTNAT: Self = Self(2);
    /// Endpoint-independent, towards the outside.
    pub const EIN_SNAT: Self = Self(4);
    /// Endpoint-independent, towards the inside.
    pub const EIN_DNAT: Self = Self(8);

    /// Whether the sets have a bit in common.
    #[inline(always)]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// RouterOS: `connection-type`, the helper that looks after a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Helper {
    /// RFC 959.
    Ftp,
    /// RFC 2637.
    Pptp,
    /// ITU-T H.323.
    H323,
    /// RFC 3261.
    Sip,
    /// RFC 1459.
    Irc,
    /// A game.
    Quake3,
    /// RFC 1350.
    Tftp,
}
