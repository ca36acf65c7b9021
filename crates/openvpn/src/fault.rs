//! Names under which packets are ignored.

use core::fmt;

/// Reason why a packet was ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The packet or a record is truncated or contradicts itself.
    Malformed,
    /// Unknown opcode.
    Opcode,
    /// Key method 1, or a reset of tls-crypt-v2.
    KeyMethod,
    /// A data packet.
    Data,
    /// No session has the address and session id.
    Session,
    /// The session id that a client must return is wrong or too old.
    Cookie,
    /// The session has no negotiation with the key id.
    Key,
    /// The HMAC of tls-auth or tls-crypt is wrong.
    Protection,
    /// A protected packet was received before.
    Replayed,
    /// The message was received before.
    Duplicate,
    /// The message is ahead of the window, or acknowledges one that was never sent.
    Sequence,
    /// A message of the control channel that the state does not admit, or that is unknown.
    Message,
    /// A limit of sessions is reached.
    Full,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "malformed packet",
            Self::Opcode => "unknown opcode",
            Self::KeyMethod => "unsupported key method",
            Self::Data => "data packet",
            Self::Session => "unknown session",
            Self::Cookie => "wrong session id",
            Self::Key => "unknown key id",
            Self::Protection => "wrong HMAC",
            Self::Replayed => "replayed packet",
            Self::Duplicate => "duplicate message",
            Self::Sequence => "message out of sequence",
            Self::Message => "unexpected message",
            Self::Full => "limit reached",
        })
    }
}
