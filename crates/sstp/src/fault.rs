//! Reasons to ignore or refuse.

/// Reason why bytes or a connection were ignored or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The head is too long, or the HTTP request was refused.
    Http,
    /// The version, the length or an attribute of a packet is wrong.
    Malformed,
    /// The type of the message is unknown.
    Unknown,
    /// The state admits no such message or packet.
    State,
    /// The encapsulated protocol is not PPP.
    Protocol,
    /// The crypto binding is wrong.
    Binding,
    /// The server is disabled.
    Disabled,
    /// A limit of connections is reached.
    Full,
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Http => "no HTTP request of SSTP",
            Self::Malformed => "malformed packet",
            Self::Unknown => "unknown message",
            Self::State => "message out of state",
            Self::Protocol => "unknown encapsulated protocol",
            Self::Binding => "invalid crypto binding",
            Self::Disabled => "server disabled",
            Self::Full => "limit reached",
        })
    }
}
