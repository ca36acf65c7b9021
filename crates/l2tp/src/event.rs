//! Events and actions of an endpoint.

use core::net::{IpAddr, SocketAddr};

use machine::Duration;

use crate::secret::Secrets;

/// The two ends of a tunnel: UDP ports, or ports 0 for messages in IP packets of protocol 115 (version 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// Address and port of this router. The address of a client is unspecified until the server has answered.
    pub local: SocketAddr,
    /// Address and port of the other end.
    pub remote: SocketAddr,
    /// An IPsec policy protects datagrams between the ends. The port then names the other end's association.
    pub is_protected: bool,
}

/// Tunnel and session number of one end of a call, as packets to this end carry them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallIds {
    /// Number of the tunnel; not 0. Version 2: below 65,536.
    pub tunnel: u32,
    /// Number of the session; not 0. Version 2: below 65,536, unique within the tunnel. Version 3: unique within the
    /// endpoint, as packets do not name their tunnel.
    pub session: u32,
}

/// Algorithm of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digest {
    /// HMAC-MD5, 16 bytes.
    Md5,
    /// HMAC-SHA-1, 20 bytes.
    Sha1,
}

/// Settings of Ethernet pseudowires (RFC 3931, RFC 4719).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pseudowire {
    /// Digest of sent messages; `None` sends messages without one.
    pub digest: Option<Digest>,
    /// Bytes of the cookie in received packets: 0, 4 or 8.
    pub cookie_bytes: u8,
    /// Name of the circuit at the server (Remote End ID). A server with a name accepts no other name.
    pub circuit_id: Box<str>,
    /// Whether received packets must have the default sublayer. A server does what its client does.
    pub has_sublayer: bool,
    /// Silence of the other end before a HELLO; `None` takes that of version 2: 60 seconds (RFC 2661, 6.5).
    pub hello_interval: Option<Duration>,
}

/// Form of the packets of an open Ethernet pseudowire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedPseudowire {
    /// Name of the circuit that the client named.
    pub circuit_id: Box<str>,
    /// Cookie of received packets: 0, 4 or 8 bytes.
    pub local_cookie: Box<[u8]>,
    /// Cookie of sent packets: 0, 4 or 8 bytes.
    pub remote_cookie: Box<[u8]>,
    /// Whether received packets have the default sublayer.
    pub local_sublayer: bool,
    /// Whether sent packets have the default sublayer.
    pub remote_sublayer: bool,
}

/// A session: numbers of this end. An endpoint may give the numbers of a closed session to a new one.
pub type SessionId = CallIds;

/// Settings of the server, and of both roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Name of this router in messages.
    pub host_name: Box<str>,
    /// Whether others may open tunnels.
    pub is_enabled: bool,
    /// Maximum number of sessions of the server; `None`: unlimited.
    pub max_sessions: Option<u32>,
    /// Whether another session from an address closes the address's earlier ones.
    pub one_session_per_host: bool,
    /// Secrets of tunnels. An address with a secret must prove that it knows it.
    pub secrets: Secrets,
    /// `Some`: the server accepts version 3 with Ethernet; `None`: version 2 with PPP.
    pub pseudowire: Option<Pseudowire>,
}

/// Events.
#[derive(Debug)]
pub enum Event<'a> {
    /// Settings. A server that is no longer enabled ends its sessions.
    Configure(Server),
    /// A datagram arrived.
    Received {
        /// Ends of the datagram.
        path: Path,
        /// The message from its header on: the payload of a UDP datagram, or an IP payload without its session
        /// number 0.
        datagram: &'a [u8],
    },
    /// Open a tunnel and a session to a server.
    Dial {
        /// Number that the owner chose. It may be used again after `Failed`, `Closed` or `Hangup`.
        client: u64,
        /// Ends of the tunnel.
        path: Path,
        /// `Some` dials with version 3 for Ethernet; `None` with version 2 for PPP.
        pseudowire: Option<Pseudowire>,
    },
    /// End the tunnel of a client, whatever its state.
    Hangup(u64),
    /// Close a session.
    Close(SessionId),
    /// End all tunnels: the router shuts down.
    Shutdown,
}

/// Actions that the owner carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a message, which begins with its header.
    Send(Path, Vec<u8>),
    /// A session is open: PPP begins.
    Opened(Box<Opened>),
    /// A PPP packet of a session arrived, from its protocol field on.
    Packet(SessionId, Vec<u8>),
    /// The port of the other end of a tunnel changed, for these sessions.
    Moved(Vec<SessionId>, Path),
    /// A session ended; the owner did not request it.
    Closed(SessionId, Reason),
    /// A client could not open its session; the owner did not request it.
    Failed(u64, Reason),
    /// A datagram was ignored or refused.
    Ignored(Fault),
}

/// A new session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Numbers of this end.
    pub session: SessionId,
    /// Numbers of the other end.
    pub remote: CallIds,
    /// Ends of the tunnel.
    pub path: Path,
    /// Client that dialled; `None` for a session of the server.
    pub client: Option<u64>,
    /// Name of the other end.
    pub host_name: Box<str>,
    /// Number of the caller, if the other end named one.
    pub calling_number: Option<Box<str>>,
    /// Whether data messages must be numbered.
    pub requires_sequence: bool,
    /// Form of Ethernet packets; `None` for a session of PPP (version 2).
    pub pseudowire: Option<OpenedPseudowire>,
}

/// Reason why a session ended, or a client failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The other end closed session or tunnel with this result.
    Peer(PeerResult),
    /// The other end acknowledges no control messages.
    Timeout,
    /// One end has no secret for the tunnel, or another secret.
    Authentication,
    /// The other end sent a message that this end had to refuse.
    Protocol(Fault),
    /// Another session from the same address replaced it (`one-session-per-host`).
    Replaced,
    /// The server was disabled.
    Disabled,
    /// No tunnel number is free.
    Full,
}

/// Result code and error code of a peer, with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerResult {
    /// Result code of StopCCN or CDN.
    pub code: u16,
    /// Error code; 0 without error.
    pub error: u16,
    /// Text, cut to 128 characters.
    pub text: Box<str>,
}

impl core::fmt::Display for Reason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Peer(result) if result.text.is_empty() => {
                write!(
                    f,
                    "closed by peer, result {}, error {}",
                    result.code, result.error
                )
            }
            Self::Peer(result) => {
                write!(f, "closed by peer, result {}: {}", result.code, result.text)
            }
            Self::Timeout => f.write_str("peer is not responding"),
            Self::Authentication => f.write_str("tunnel authentication failed"),
            Self::Protocol(fault) => write!(f, "protocol error: {fault}"),
            Self::Replaced => f.write_str("replaced by another session of the host"),
            Self::Disabled => f.write_str("server disabled"),
            Self::Full => f.write_str("no tunnel number is free"),
        }
    }
}

/// Reason why a datagram was ignored or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The header or an AVP is truncated or contradicts itself.
    Malformed,
    /// The endpoint does not speak the version.
    Version,
    /// An unknown attribute or message is mandatory.
    UnknownAvp,
    /// A hidden attribute without Random Vector or secret.
    Hidden,
    /// No tunnel has the number.
    Tunnel,
    /// No session has the number.
    Session,
    /// The tunnel belongs to another address.
    Address,
    /// The datagram did not come through the IPsec association of its tunnel.
    Association,
    /// The message was received before.
    Duplicate,
    /// The message is not the expected one, or acknowledges one that was never sent.
    Sequence,
    /// The state admits no such message.
    State,
    /// The server is disabled.
    Disabled,
    /// The response to the challenge or the digest is wrong or missing.
    Authentication,
    /// A limit of tunnels or sessions is reached.
    Full,
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Malformed => "malformed message",
            Self::Version => "unknown version",
            Self::UnknownAvp => "unknown mandatory attribute",
            Self::Hidden => "hidden attribute without secret",
            Self::Tunnel => "unknown tunnel",
            Self::Session => "unknown session",
            Self::Address => "wrong address",
            Self::Association => "wrong IPsec association",
            Self::Duplicate => "duplicate message",
            Self::Sequence => "message out of sequence",
            Self::State => "message out of state",
            Self::Disabled => "server disabled",
            Self::Authentication => "wrong challenge response or digest",
            Self::Full => "limit reached",
        })
    }
}

impl Path {
    /// Returns the address of the other end.
    pub const fn address(&self) -> IpAddr {
        self.remote.ip()
    }

    /// Returns true if both paths lead to one host. Hosts behind one NAT differ only in the ports of their
    /// associations.
    pub(crate) fn has_host_of(&self, other: &Self) -> bool {
        let may_move = !self.is_protected && !other.is_protected;
        self.remote == other.remote || may_move && self.address() == other.address()
    }

    /// Checks that a datagram with this path may belong to the tunnel of the path `tunnel`. NAT may move a tunnel to
    /// another port, and moves no tunnel within IPsec.
    ///
    /// # Errors
    /// The datagram came from another address, or through another association.
    pub(crate) fn check(&self, tunnel: &Self) -> Result<(), Fault> {
        if self.address() != tunnel.address() {
            return Err(Fault::Address);
        }
        match self.has_host_of(tunnel) {
            true => Ok(()),
            false => Err(Fault::Association),
        }
    }
}
