//! Events and actions of an endpoint.

use core::net::IpAddr;
use std::sync::Arc;

use crate::binding::SessionKeys;
use crate::fault::Fault;
use crate::message::{Status, StatusInfo};

/// Number of a connection, and of its call. The endpoint numbers connections of clients, below
/// [`ConnectionId::ACCEPTED`]. The owner of the sockets numbers accepted connections, from there on. No number is given
/// twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

impl ConnectionId {
    /// First number of an accepted connection.
    pub const ACCEPTED: u64 = 1 << 63;
}

/// Settings of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Whether others may connect.
    pub is_enabled: bool,
}

/// Events.
#[derive(Debug)]
pub enum Event<'a> {
    /// Settings. A server that is no longer enabled ends its calls.
    Configure(Server),
    /// A TLS connection of a client was accepted.
    Accepted {
        /// Number of the connection.
        connection: ConnectionId,
        /// Address of the client.
        remote: IpAddr,
        /// This router's certificate in the TLS session, as DER.
        certificate: Arc<[u8]>,
    },
    /// A TLS connection that the endpoint requested is established.
    Connected {
        /// Number of the connection.
        connection: ConnectionId,
        /// The server's certificate in the TLS session, as DER.
        certificate: Arc<[u8]>,
    },
    /// Bytes of a connection arrived.
    Bytes {
        /// Number of the connection.
        connection: ConnectionId,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// A connection ended, or could not be established; this end did not disconnect it.
    Ended(ConnectionId),
    /// Connect to a server and call it.
    Dial {
        /// Number that the owner chose. It may be used again after `Failed`, `Closed` or `Hangup`.
        client: u64,
        /// Address of the server.
        remote: IpAddr,
        /// Name or address of the server in the HTTP request.
        host: &'a str,
    },
    /// End the connection of a client, whatever its state.
    Hangup(u64),
    /// PPP has authenticated the peer of a call.
    Authenticated(ConnectionId, SessionKeys),
    /// Close a call.
    Close(ConnectionId),
}

/// Actions that the owner carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Establish a TLS connection for a client.
    Connect(ConnectionId, u64),
    /// Send bytes on a connection.
    Send(ConnectionId, Vec<u8>),
    /// End a connection, after its bytes are sent.
    Disconnect(ConnectionId),
    /// A call is open: PPP begins.
    Opened(Opened),
    /// A PPP packet of a call arrived.
    Packet(ConnectionId, Vec<u8>),
    /// The crypto binding of a call is complete: network packets may pass.
    Bound(ConnectionId),
    /// A call ended; the owner did not request it.
    Closed(ConnectionId, Reason),
    /// A client could not open its call; the owner did not request it.
    Failed(u64, Reason),
    /// Bytes or a connection were ignored or refused.
    Ignored(Fault),
}

/// A new call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The connection.
    pub connection: ConnectionId,
    /// Address of the other end.
    pub remote: IpAddr,
    /// Client that dialled; `None` for a call to the server.
    pub client: Option<u64>,
}

/// Reason why a call ended, or a client failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The other end closed the call.
    Peer,
    /// The other end aborted or refused the call with this status.
    Refused(StatusInfo),
    /// The server answers the HTTP request with this status; 0 for what is no HTTP response.
    Http(u16),
    /// The connection ended, or was not established.
    Connection,
    /// The other end does not answer.
    Timeout,
    /// The crypto binding of the client is wrong: somebody is in the middle, or its keys differ.
    Binding,
    /// The other end sent what this end had to refuse.
    Protocol(Fault),
    /// The server was disabled.
    Disabled,
    /// The limit of connections is reached.
    Full,
}

impl core::fmt::Display for Reason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Peer => f.write_str("closed by peer"),
            Self::Refused(info) => match info.status {
                Status::NONE => f.write_str("closed by peer"),
                status => write!(f, "refused by peer: {status}, attribute {}", info.attribute),
            },
            Self::Http(0) => f.write_str("the server does not speak HTTP"),
            Self::Http(status) => write!(f, "HTTP status {status}"),
            Self::Connection => f.write_str("connection closed"),
            Self::Timeout => f.write_str("peer is not responding"),
            Self::Binding => f.write_str("invalid crypto binding"),
            Self::Protocol(fault) => write!(f, "protocol error: {fault}"),
            Self::Disabled => f.write_str("server disabled"),
            Self::Full => f.write_str("limit of connections reached"),
        }
    }
}
