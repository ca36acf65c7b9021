//! Events and actions of servers and clients.

use core::fmt;

use machine::{Duration, Instant};
use zeroize::Zeroizing;

use crate::fault::Fault;
use crate::options::{Device, Mismatch};
use crate::path::Path;
use crate::peer_info::PeerInfo;
use crate::push::{Framing, Push};
use crate::suite::{Cipher, Digest, Keys, Suite};
use crate::tls::TlsConfig;

/// Number of a session of a server, below 2^24: it is also the peer id. The session of a client has the number 0.
pub type SessionId = u32;

/// When keys are renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renegotiation {
    /// Lifetime of a key (`reneg-sec`); `None`: unlimited.
    pub after: Option<Duration>,
    /// Bytes of a key in both directions (`reneg-bytes`); `None`: unlimited.
    pub bytes: Option<u64>,
}

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Certificate of the server, and verification of clients; [`TlsConfig::Server`].
    pub tls: TlsConfig,
    /// Device of the tunnels.
    pub device: Device,
    /// MTU of the tunnels in bytes.
    pub mtu: u16,
    /// Ciphers, the preferred one first.
    pub ciphers: Vec<Cipher>,
    /// HMACs of CBC ciphers, the preferred one first.
    pub digests: Vec<Digest>,
    /// Renewal of keys.
    pub renegotiation: Renegotiation,
    /// Sessions at once, at most.
    pub max_sessions: usize,
}

/// Decision about a client that has authenticated itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Options to push. The server adds peer id, cipher and flags of its own.
    pub push: Push,
    /// Time without a sent packet until a ping.
    pub ping: Option<Duration>,
    /// Time without a received packet until the session ends.
    pub timeout: Option<Duration>,
}

/// Events of a server.
#[derive(Debug)]
pub enum ServerEvent<'a> {
    /// Settings, for sessions that begin later.
    Configure(Box<ServerSettings>),
    /// A control packet arrived.
    Received {
        /// Ends of the packet.
        path: Path,
        /// The packet, without its length in TCP.
        packet: &'a [u8],
    },
    /// Answer to [`Action::Authenticate`]: the client may use the tunnel.
    Accept(SessionId, Box<Grant>),
    /// Answer to [`Action::Authenticate`]: the client is refused for this reason, which it is told.
    Refuse(SessionId, &'a str),
    /// Packets of the data channel since the last report.
    Traffic(SessionId, Traffic),
    /// The data channel authenticated a packet from another address: the session has moved.
    Moved(SessionId, Path),
    /// The data channel received a notification that the client ends.
    ExitReceived(SessionId),
    /// The connection of a path was closed by the other end (TCP).
    Disconnected(Path),
    /// End a session.
    Close(SessionId),
    /// End all sessions: the router shuts down, or the server was disabled.
    Shutdown,
}

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Verification of the server, and the client's certificate; [`TlsConfig::Client`].
    pub tls: TlsConfig,
    /// Protection of control packets.
    pub protection: crate::wrap::Protection,
    /// Device of the tunnel.
    pub device: Device,
    /// MTU of the tunnel in bytes.
    pub mtu: u16,
    /// Ciphers, the preferred cipher first. A server that pushes no cipher gets the preferred cipher.
    pub ciphers: Vec<Cipher>,
    /// HMAC of CBC ciphers.
    pub digest: Digest,
    /// User name and password.
    pub credentials: Option<(String, Zeroizing<String>)>,
    /// Version of this program for the server.
    pub version: Box<str>,
    /// Renewal of keys.
    pub renegotiation: Renegotiation,
}

/// Events of a client.
#[derive(Debug)]
pub enum ClientEvent<'a> {
    /// Begin a session. An earlier session ends without notice.
    Connect {
        /// Settings.
        settings: Box<ClientSettings>,
        /// Ends of the session.
        path: Path,
        /// Seconds since 1970, for tls-auth and tls-crypt.
        unix_time: u32,
    },
    /// A control packet arrived.
    Received {
        /// Ends of the packet.
        path: Path,
        /// The packet, without its length in TCP.
        packet: &'a [u8],
    },
    /// Packets of the data channel since the last report.
    Traffic(Traffic),
    /// The connection was closed by the other end (TCP).
    Disconnected,
    /// End the session.
    Close,
}

/// Packets of a session's data channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Time of the last packet sent.
    pub sent: Option<Instant>,
    /// Time of the last authenticated packet received.
    pub received: Option<Instant>,
    /// Bytes of both directions with the sending key.
    pub key_bytes: u64,
    /// The sending key has few packet ids left.
    pub is_exhausted: bool,
}

/// Actions that the owner carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a control packet.
    Send(Path, Vec<u8>),
    /// Check a client's password and certificate, and answer with `Accept` or `Refuse`.
    Authenticate(Box<Login>),
    /// The session is open. [`Action::Keys`] follows.
    Opened(Box<Opened>),
    /// Install a key for receiving.
    Keys(Box<DataKeys>),
    /// Send with a key from now on: session and key id.
    UseKey(SessionId, u8),
    /// Remove a key: session and key id.
    RetireKey(SessionId, u8),
    /// Send a ping in the data channel.
    Ping(SessionId),
    /// Send an exit notification in the data channel: the peer knows no control message for it.
    NotifyExit(SessionId),
    /// The other end's configuration differs.
    Mismatch(SessionId, Mismatch),
    /// A session ended.
    Closed(SessionId, Reason),
    /// A packet was ignored.
    Ignored(Fault),
}

/// A client that wants to be authenticated.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// Session.
    pub session: SessionId,
    /// Ends of the session.
    pub path: Path,
    /// User name; empty without one.
    pub user: String,
    /// Password.
    pub password: Zeroizing<String>,
    /// Certificate of the client in DER.
    pub certificate: Option<Vec<u8>>,
    /// Facts that the client announced.
    pub info: PeerInfo,
    /// Version and cipher suite of TLS.
    pub tls: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({}, {:?})", self.session, self.user)
    }
}

/// Parameters of an open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Session.
    pub session: SessionId,
    /// Ends of the session.
    pub path: Path,
    /// Options that the server pushed.
    pub push: Push,
    /// Algorithms of the data channel.
    pub suite: Suite,
    /// Number in packets of version 2; `None`: version 1.
    pub peer_id: Option<u32>,
    /// Header of compression.
    pub framing: Framing,
    /// Version and cipher suite of TLS.
    pub tls: String,
}

/// A key of the data channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataKeys {
    /// Session.
    pub session: SessionId,
    /// Number of the key, 0 to 7.
    pub key_id: u8,
    /// Algorithms.
    pub suite: Suite,
    /// Number in packets of version 2; `None`: version 1. Packet ids have 32 bits in both.
    pub peer_id: Option<u32>,
    /// Header of compression.
    pub framing: Framing,
    /// Keys.
    pub keys: Keys,
}

/// Reason why a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The other end ended the session.
    Exit,
    /// The server asked the client to connect again, with its text.
    Restart(Box<str>),
    /// The server refused the client, with its text.
    Refused(Box<str>),
    /// This server refused the client.
    RefusedHere(Box<str>),
    /// The other end sends nothing.
    Timeout,
    /// The negotiation took too long, or a message has no acknowledgement.
    Handshake,
    /// TLS failed.
    Tls(Box<str>),
    /// The ends have no cipher in common.
    NoCipher,
    /// The ends have no HMAC in common.
    NoDigest,
    /// The server pushed a compression.
    Compression(Box<str>),
    /// The other end violated the protocol.
    Protocol(Fault),
    /// User name or password changed when keys were renewed.
    Credentials,
    /// Another session from the same address replaced it.
    Replaced,
    /// The connection was closed.
    Disconnected,
    /// This end closed the session.
    Closed,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit => f.write_str("closed by peer"),
            Self::Restart(text) if text.is_empty() => f.write_str("server restarts"),
            Self::Restart(text) => write!(f, "server restarts: {text}"),
            Self::Refused(text) if text.is_empty() => f.write_str("authentication failed"),
            Self::Refused(text) => write!(f, "authentication failed: {text}"),
            Self::RefusedHere(text) => write!(f, "client refused: {text}"),
            Self::Timeout => f.write_str("peer is not responding"),
            Self::Handshake => f.write_str("negotiation timed out"),
            Self::Tls(text) => write!(f, "TLS failed: {text}"),
            Self::NoCipher => f.write_str("no cipher in common"),
            Self::NoDigest => f.write_str("no auth algorithm in common"),
            Self::Compression(text) => {
                write!(f, "server pushes compression, which is refused: {text}")
            }
            Self::Protocol(fault) => write!(f, "protocol error: {fault}"),
            Self::Credentials => f.write_str("credentials changed"),
            Self::Replaced => f.write_str("replaced by another session of the host"),
            Self::Disconnected => f.write_str("connection closed"),
            Self::Closed => f.write_str("closed"),
        }
    }
}

/// Result of a received packet that the session could not use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The packet is ignored.
    Ignored(Fault),
    /// The session ends.
    Ended(Reason),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Ignored(fault)
    }
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Self::Ended(reason)
    }
}
