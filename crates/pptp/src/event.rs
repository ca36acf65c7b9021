//! Events and actions of an endpoint.

use core::net::Ipv4Addr;

/// Number of a control connection. The endpoint numbers connections of clients, below [`ConnectionId::ACCEPTED`]. The
/// owner of the sockets numbers accepted connections, from there on. No number is given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

impl ConnectionId {
    /// First number of an accepted connection.
    pub const ACCEPTED: u64 = 1 << 63;
}

/// Number of a call at this end, as packets to this end carry it; not 0. The number of a closed call may be given to a
/// new one.
pub type CallId = u16;

/// Settings of the server, and of both roles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Name of this router in messages, cut to 63 bytes.
    pub host_name: Box<str>,
    /// Whether others may call.
    pub is_enabled: bool,
}

/// Events.
#[derive(Debug)]
pub enum Event<'a> {
    /// Settings. A server that is no longer enabled ends its calls.
    Configure(Server),
    /// A TCP connection of a client was accepted.
    Accepted {
        /// Number of the connection.
        connection: ConnectionId,
        /// Address of this router.
        local: Ipv4Addr,
        /// Address of the client.
        remote: Ipv4Addr,
    },
    /// A TCP connection that the endpoint requested is established.
    Connected {
        /// Number of the connection.
        connection: ConnectionId,
        /// Address of this router.
        local: Ipv4Addr,
    },
    /// Bytes of a connection arrived.
    Bytes {
        /// Number of the connection.
        connection: ConnectionId,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// A TCP connection ended, or could not be established; this end did not disconnect it.
    Ended(ConnectionId),
    /// Connect to a server and call it.
    Dial {
        /// Number that the owner chose. It may be used again after `Failed`, `Closed` or `Hangup`.
        client: u64,
        /// Address of the server.
        remote: Ipv4Addr,
    },
    /// End the connection of a client, whatever its state.
    Hangup(u64),
    /// Close a call.
    Close(CallId),
}

/// Actions that the owner carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Establish a TCP connection to port 1723.
    Connect(ConnectionId, Ipv4Addr),
    /// Send bytes on a connection.
    Send(ConnectionId, Vec<u8>),
    /// End a connection, after its bytes are sent.
    Disconnect(ConnectionId),
    /// A call is open: PPP begins.
    Opened(Opened),
    /// A call ended; the owner did not request it.
    Closed(CallId, Reason),
    /// A client could not open its call; the owner did not request it.
    Failed(u64, Reason),
    /// Bytes or a connection were ignored or refused.
    Ignored(Fault),
}

/// A new call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Number at this end.
    pub call: CallId,
    /// Number at the other end.
    pub remote_call: u16,
    /// Address of this router.
    pub local: Ipv4Addr,
    /// Address of the other end.
    pub remote: Ipv4Addr,
    /// Client that dialled; `None` for a call to the server.
    pub client: Option<u64>,
}

/// Reason why a call ended, or a client failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The other end cleared or disconnected the call, or stopped the connection.
    Peer,
    /// The other end refused connection or call with this result and error (RFC 2637, 2.2 and 2.8).
    Refused {
        /// Result code.
        result: u8,
        /// Error code; 0 without error.
        error: u8,
    },
    /// The TCP connection ended, or was not established.
    Connection,
    /// The other end does not answer.
    Timeout,
    /// The other end sent what this end had to refuse.
    Protocol(Fault),
    /// The server was disabled.
    Disabled,
    /// No call number is free.
    Full,
}

impl core::fmt::Display for Reason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Peer => f.write_str("closed by peer"),
            Self::Refused { result, error } => {
                write!(f, "refused by peer, result {result}, error {error}")
            }
            Self::Connection => f.write_str("no connection to port 1723"),
            Self::Timeout => f.write_str("peer is not responding"),
            Self::Protocol(fault) => write!(f, "protocol error: {fault}"),
            Self::Disabled => f.write_str("server disabled"),
            Self::Full => f.write_str("no call number is free"),
        }
    }
}

/// Reason why bytes or a connection were ignored or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The cookie, the length or a field of a message is wrong.
    Malformed,
    /// The type of the message is unknown.
    Unknown,
    /// The state admits no such message.
    State,
    /// The connection has no call with this number.
    Call,
    /// The protocol version is not 1.0.
    Version,
    /// The server is disabled.
    Disabled,
    /// A limit of connections or calls is reached.
    Full,
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Malformed => "malformed message",
            Self::Unknown => "unknown message",
            Self::State => "message out of state",
            Self::Call => "unknown call",
            Self::Version => "unknown version",
            Self::Disabled => "server disabled",
            Self::Full => "limit reached",
        })
    }
}
