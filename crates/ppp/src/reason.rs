//! Why sessions end, and why inputs are discarded.

use core::fmt;

/// Why the owner closes a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// An administrator removed the session, or disabled or changed its item.
    Administrator,
    /// No traffic for the idle timeout of the profile or secret.
    IdleTimeout,
    /// The session timeout has passed.
    SessionTimeout,
    /// The traffic limit of the user is reached.
    TrafficLimit,
    /// A RADIUS server requested the end (RFC 5176).
    Radius,
    /// The router shuts down.
    Reboot,
    /// No address is left for the peer.
    NoAddress,
    /// Creation of the interface, a queue or another object of the session failed.
    Internal,
}

/// Why a session ended. `Display` gives the text of RouterOS's log behind `terminating... - `.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DownReason {
    /// The owner closed the session.
    Closed(CloseReason),
    /// The peer sent a Terminate-Request.
    PeerRequest,
    /// The carrier went down.
    CarrierLost,
    /// The peer answers neither requests nor echoes.
    NotResponding,
    /// The peer restarted LCP in a session that was already authenticated.
    Restarted,
    /// This end's own packets came back: the magic numbers agree (RFC 1661, 6.4).
    Loop,
    /// Server: the user name or the password of the peer is wrong.
    AuthenticationFailed,
    /// Client: the peer refused user name or password, with this text.
    CredentialsRefused(Box<str>),
    /// Client: the authenticator response of MS-CHAPv2 is wrong: the peer does not know the password.
    PeerUnproven,
    /// The ends have no method of authentication in common.
    NoCommonMethod,
    /// The session requires encryption, which was not negotiated.
    EncryptionRequired,
    /// The peer ended the encryption of a session that was encrypted.
    EncryptionLost,
    /// Neither IPv4 nor IPv6 could be opened.
    NoNetworkProtocol,
    /// The peer rejects packets without which PPP cannot work (RFC 1661, 4.3, RXJ-).
    ProtocolError,
}

/// RouterOS's `last-disconnect-reason`, equal to RADIUS's Acct-Terminate-Cause (RFC 2866, 5.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TerminateCause {
    /// `peer-request`
    PeerRequest = 1,
    /// `hung-up`
    HungUp = 2,
    /// `idle-timeout`
    IdleTimeout = 4,
    /// `session-timeout`
    SessionTimeout = 5,
    /// `reset`
    Reset = 6,
    /// `reboot`
    Reboot = 7,
    /// `port-error`
    PortError = 8,
    /// `nas-error`
    NasError = 9,
    /// `nas-request`
    NasRequest = 10,
}

impl TerminateCause {
    /// Returns RouterOS's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PeerRequest => "peer-request",
            Self::HungUp => "hung-up",
            Self::IdleTimeout => "idle-timeout",
            Self::SessionTimeout => "session-timeout",
            Self::Reset => "reset",
            Self::Reboot => "reboot",
            Self::PortError => "port-error",
            Self::NasError => "nas-error",
            Self::NasRequest => "nas-request",
        }
    }

    /// Returns the value of Acct-Terminate-Cause.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

impl DownReason {
    /// Returns the cause for `last-disconnect-reason` and for RADIUS accounting.
    pub const fn cause(&self) -> TerminateCause {
        match self {
            Self::Closed(reason) => match reason {
                CloseReason::Administrator => TerminateCause::Reset,
                CloseReason::IdleTimeout => TerminateCause::IdleTimeout,
                CloseReason::SessionTimeout => TerminateCause::SessionTimeout,
                CloseReason::TrafficLimit | CloseReason::Radius => TerminateCause::NasRequest,
                CloseReason::Reboot => TerminateCause::Reboot,
                CloseReason::NoAddress | CloseReason::Internal => TerminateCause::NasError,
            },
            Self::PeerRequest | Self::Restarted => TerminateCause::PeerRequest,
            Self::CarrierLost | Self::NotResponding => TerminateCause::HungUp,
            Self::Loop | Self::ProtocolError => TerminateCause::PortError,
            Self::AuthenticationFailed
            | Self::CredentialsRefused(_)
            | Self::PeerUnproven
            | Self::NoCommonMethod
            | Self::EncryptionRequired
            | Self::EncryptionLost
            | Self::NoNetworkProtocol => TerminateCause::NasError,
        }
    }
}

impl fmt::Display for DownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed(reason) => match reason {
                CloseReason::Administrator => "administrator request",
                CloseReason::IdleTimeout => "idle timeout",
                CloseReason::SessionTimeout => "session timeout",
                CloseReason::TrafficLimit => "traffic limit reached",
                CloseReason::Radius => "nas request",
                CloseReason::Reboot => "reboot",
                CloseReason::NoAddress => "could not determine remote address",
                CloseReason::Internal => "internal error",
            },
            Self::PeerRequest => "peer request",
            Self::CarrierLost => "hungup",
            Self::NotResponding => "peer is not responding",
            Self::Restarted => "peer restarted LCP",
            Self::Loop => "loop detected",
            Self::AuthenticationFailed => "authentication failed",
            Self::CredentialsRefused(text) if !text.is_empty() => {
                return write!(f, "failed to authenticate ourselves to peer: {text}");
            }
            Self::CredentialsRefused(_) => "failed to authenticate ourselves to peer",
            Self::PeerUnproven => "peer failed to authenticate itself",
            Self::NoCommonMethod => "no common authentication method",
            Self::EncryptionRequired => "encryption required, but not negotiated",
            Self::EncryptionLost => "peer ended the encryption",
            Self::NoNetworkProtocol => "no network protocol running",
            Self::ProtocolError => "peer rejects LCP",
        })
    }
}

/// Why an input was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// The packet ends within its protocol field or its control header.
    Truncated,
    /// The length field is below its minimum or beyond the end of the packet.
    Length,
    /// An option is malformed.
    Option,
    /// The protocol is unknown, and was answered with a Protocol-Reject.
    UnknownProtocol,
    /// The code is unknown, and was answered with a Code-Reject.
    UnknownCode,
    /// The packet does not belong to the phase of the session.
    Phase,
    /// Identifier or content do not match the outstanding request.
    Mismatch,
    /// The packet belongs to an authentication protocol or direction that was not negotiated.
    Method,
    /// An authentication packet is malformed.
    Authentication,
    /// A Configure-Request of the past, delayed or duplicated by the carrier.
    Stale,
    /// A multilink fragment is malformed.
    Fragment,
    /// A multilink fragment was lost, and its packet with it.
    FragmentLost,
    /// A reassembled packet exceeds the MRRU.
    TooLong,
    /// A data packet arrived as a control packet, outside of multilink framing.
    Data,
    /// A bridged frame is of another MAC than Ethernet, or a control packet of bridges.
    BridgedKind,
    /// The owner's event does not fit the state of the session.
    Unexpected,
}

impl Fault {
    /// Returns the name of the counter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "ppp-truncated",
            Self::Length => "ppp-length",
            Self::Option => "ppp-option",
            Self::UnknownProtocol => "ppp-unknown-protocol",
            Self::UnknownCode => "ppp-unknown-code",
            Self::Phase => "ppp-phase",
            Self::Mismatch => "ppp-mismatch",
            Self::Method => "ppp-method",
            Self::Authentication => "ppp-authentication",
            Self::Stale => "ppp-stale",
            Self::Fragment => "ppp-fragment",
            Self::FragmentLost => "ppp-fragment-lost",
            Self::TooLong => "ppp-too-long",
            Self::Data => "ppp-data",
            Self::BridgedKind => "ppp-bridged-kind",
            Self::Unexpected => "ppp-unexpected",
        }
    }
}
