//! TCP connections of features: the program owns the sockets, which are in the host plane.
//!
//! A feature requests listeners and connections by [`StreamRequest`], and receives their [`StreamEvent`]s.

use core::net::SocketAddr;
use std::sync::Arc;

use dataplane::stream::ChannelId;

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

    /// Returns true for a connection that a listener accepted.
    pub const fn is_accepted(self) -> bool {
        self.number >= Self::ACCEPTED
    }
}

/// Form of the bytes of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamForm {
    /// All bytes are for the feature.
    #[default]
    Plain,
    /// An HTTP head and packets of SSTP. Their data packets may pass beside the feature ([`StreamRequest::Attach`]).
    Sstp,
    /// Packets of OpenVPN, each behind its length of 16 bits. Data packets may pass beside the feature.
    OpenVpn,
}

impl StreamForm {
    /// Bytes by which a client asks for this form on a port that several services share; `None` if it cannot.
    pub const fn first_bytes(self) -> Option<&'static [u8]> {
        match self {
            Self::Plain | Self::OpenVpn => None,
            Self::Sstp => Some(sstp::http::FIRST_BYTES),
        }
    }
}

/// Limits of a TLS session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlsLimits {
    /// TLS 1.2 alone; otherwise 1.2 and 1.3.
    pub only_tls12: bool,
    /// Suites with AES-256-GCM alone.
    pub only_aes256: bool,
}

/// TLS of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTls {
    /// Name of the certificate in `/certificate`. New connections use a renewed one.
    pub certificate: Box<str>,
    /// Demands a certificate of the client that an authority of `/certificate` signed.
    pub verifies_client: bool,
    /// Limits.
    pub limits: TlsLimits,
}

/// TLS of a connection that this router establishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTls {
    /// Name of the client's certificate in `/certificate`.
    pub certificate: Option<Box<str>>,
    /// Name or address of the server.
    pub host: Box<str>,
    /// Demands a certificate that an authority of `/certificate` signed, for this use in `trust-store`.
    pub verifies: Option<&'static str>,
    /// The verified certificate must have the name or address of the server.
    pub verifies_host: bool,
    /// Sends the name of the server (SNI).
    pub sends_name: bool,
    /// Limits.
    pub limits: TlsLimits,
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
        /// TLS, if connections have it: they are accepted behind the handshake.
        tls: Option<Arc<ServerTls>>,
        /// Form of the bytes.
        form: StreamForm,
        /// A service of `/ip/service` has the port, with the same certificate: it passes on the connections that ask
        /// for this protocol behind their TLS handshake.
        is_shared: bool,
    },
    /// Establishes a connection.
    Connect {
        /// Its number.
        stream: StreamId,
        /// Address and port of the other end.
        to: SocketAddr,
        /// HTTP proxy that leads to the other end.
        proxy: Option<SocketAddr>,
        /// TLS, if the connection has it.
        tls: Option<Arc<ClientTls>>,
        /// Form of the bytes.
        form: StreamForm,
    },
    /// Passes data packets of a connection between its form and the data plane, as those of this session.
    Attach {
        /// The connection.
        stream: StreamId,
        /// The session in the data plane.
        channel: ChannelId,
    },
    /// Passes a packet to the worker of an attached session, as if it had arrived.
    Pass {
        /// The connection.
        stream: StreamId,
        /// The packet.
        packet: Vec<u8>,
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
        /// Certificate of this router in the TLS session, as DER; empty without TLS.
        certificate: Arc<[u8]>,
    },
    /// A requested connection is established.
    Connected {
        /// Its number.
        stream: StreamId,
        /// Address and port of this router.
        local: SocketAddr,
        /// Certificate of the other end in the TLS session, as DER; empty without TLS.
        certificate: Arc<[u8]>,
    },
    /// Bytes arrived.
    Received {
        /// The connection.
        stream: StreamId,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A connection ended, or could not be established; the feature did not close it.
    Ended {
        /// The connection.
        stream: StreamId,
        /// Reason of a failure, in words.
        why: Option<Box<str>>,
    },
    /// A connection to a listener failed in its TLS handshake. It was not reported before.
    Rejected {
        /// Its number.
        stream: StreamId,
        /// Address and port of the other end.
        remote: SocketAddr,
        /// Reason, in words.
        why: Box<str>,
    },
    /// A listener could not be opened.
    Closed {
        /// The service, and no connection.
        stream: StreamId,
        /// Reason, in words.
        why: Box<str>,
    },
}

impl StreamEvent {
    /// Returns the connection.
    pub const fn stream(&self) -> StreamId {
        match self {
            Self::Accepted { stream, .. }
            | Self::Connected { stream, .. }
            | Self::Received { stream, .. }
            | Self::Ended { stream, .. }
            | Self::Rejected { stream, .. }
            | Self::Closed { stream, .. } => *stream,
        }
    }
}
