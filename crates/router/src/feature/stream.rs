//! TCP connections of features: the program owns the sockets, which are in the host plane.
//!
//! A feature requests listeners and connections by [`StreamRequest`], and receives their [`StreamEvent`]s.

use core::net::SocketAddr;

/// A connection. Features number the connections that they establish below [`StreamId::ACCEPTED`]; the program numbers
/// accepted ones from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId {
    /// Name of the feature's service: `pptp`.
    pub service: &'static str,
    /// Number within the service, which is never given twice.
    pub number: u64,
}

impl StreamId {
    /// First number of accepted connections.
    pub const ACCEPTED: u64 = 1 << 63;
}

/// A request of a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamRequest {
    /// Opens or closes a listener. Accepted connections stay.
    Listen {
        /// Name of the service.
        service: &'static str,
        /// TCP port.
        port: u16,
        /// True to open, false to close.
        on: bool,
    },
    /// Establishes a connection.
    Connect {
        /// Its number.
        stream: StreamId,
        /// Address and port of the other end.
        to: SocketAddr,
    },
    /// Sends bytes. A connection that does not take them in time ends.
    Send {
        /// The connection.
        stream: StreamId,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Ends a connection after its bytes are sent. It has no further events.
    Close(StreamId),
}

/// An event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// A connection was accepted.
    Accepted {
        /// Its number.
        stream: StreamId,
        /// Address and port of this router.
        local: SocketAddr,
        /// Address and port of the other end.
        remote: SocketAddr,
    },
    /// A requested connection is established.
    Connected {
        /// Its number.
        stream: StreamId,
        /// Address and port of this router.
        local: SocketAddr,
    },
    /// Bytes arrived.
    Received {
        /// The connection.
        stream: StreamId,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A connection ended, or could not be established; the feature did not close it.
    Ended(StreamId),
}

impl StreamEvent {
    /// Returns the connection.
    pub const fn stream(&self) -> StreamId {
        match self {
            Self::Accepted { stream, .. }
            | Self::Connected { stream, .. }
            | Self::Received { stream, .. }
            | Self::Ended(stream) => *stream,
        }
    }
}
