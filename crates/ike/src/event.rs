//! Events, actions and status rows: the interface of the engine.

use core::net::{IpAddr, SocketAddr};

use machine::{Duration, Instant};

use crate::config::{Id, Mode, Peer, PeerId, Policy, PolicyId, Protocol, Secret, Selector};
use crate::suite::{ChildSuite, Cipher, Group, Hash};

/// Identifies an IKE SA; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SaId(pub u64);

/// Identifies a pair of SAs of ESP or AH; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildId(pub u64);

/// Input of the engine.
#[derive(Debug)]
pub enum Event<'a> {
    /// Adds, replaces or (`None`) removes a peer. The engine closes the IKE SAs of a changed peer.
    Peer(PeerId, Option<Box<Peer>>),
    /// Adds, replaces or (`None`) removes a policy. The engine removes the SAs of a changed policy.
    Policy(PolicyId, Option<Box<Policy>>),
    /// Sets limits and local name servers.
    Settings(Settings),
    /// An IKE datagram arrived.
    Datagram {
        /// Destination address and port.
        local: SocketAddr,
        /// Source address and port.
        remote: SocketAddr,
        /// True if the datagram carried the non-ESP marker, which the caller has removed: on port 4500, and on
        /// other ports of a peer behind NAT (RFC 3948, 2.2). Keepalives (one byte FF) may be passed in or
        /// dropped.
        natt: bool,
        /// The IKE message.
        bytes: &'a [u8],
    },
    /// A packet needs an SA of this policy. Callers may repeat the event for each packet.
    Acquire(PolicyId),
    /// The SA has passed its soft byte limit and needs rekeying.
    Spent(ChildId),
    /// A packet arrived under the inbound SA: proves that the peer is alive (RFC 3706, 5.4) and uses the pair.
    /// Once a second per SA is enough.
    Heard(ChildId),
    /// A packet of ESP or AH arrived under an unknown SPI, probably of an SA that only the peer still has.
    /// Callers limit the rate.
    UnknownSpi {
        /// Source address.
        remote: IpAddr,
        /// Unknown SPI.
        spi: u32,
    },
    /// Closes an IKE SA with all its child SAs (`kill-connections`).
    Kill(SaId),
    /// Removes a pair of SAs and notifies the peer.
    Remove(ChildId),
    /// Removes all pairs of SAs (`flush` of `installed-sa`).
    Flush,
    /// Answers [`Action::LeaseWanted`] with an address; `None` if the pool is empty.
    Leased(SaId, Option<IpAddr>),
    /// Answers [`Action::Eap`].
    Eap(SaId, EapReply),
}

/// Decision of the RADIUS server about an EAP message.
#[derive(Debug)]
pub enum EapReply {
    /// EAP request to pass on to the peer.
    Message(Vec<u8>),
    /// The user is authenticated: EAP message and session key (MSK, 64 bytes).
    Success(Vec<u8>, Secret),
    /// The user is rejected: EAP message.
    Failure(Vec<u8>),
}

/// Limits of the engine (`/ip/ipsec/settings`), and name servers to hand out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Half-open IKE SAs of unverified initiators above which IKEv2 demands cookies and IKEv1 ignores requests
    /// (`ddos-cookie-threshold`).
    pub cookie_threshold: usize,
    /// Maximum number of half-open IKE SAs per address.
    pub half_open_per_address: usize,
    /// Maximum number of half-open IKE SAs.
    pub half_open: usize,
    /// Maximum number of IKE SAs.
    pub sas: usize,
    /// DNS servers of this router, for peers whose mode-config hands them out
    /// ([`crate::ModeConfig::system_dns`]).
    pub dns: Vec<IpAddr>,
}

/// Output of the engine: work for its owner.
#[derive(Clone, Debug)]
pub enum Action {
    /// Sends a datagram.
    Send {
        /// Source address and port.
        local: SocketAddr,
        /// Destination address and port.
        remote: SocketAddr,
        /// Prepends the non-ESP marker of four zero bytes.
        natt: bool,
        /// The IKE message.
        bytes: Vec<u8>,
    },
    /// Sends a NAT keepalive: one byte FF, without the marker (RFC 3948, 2.3).
    Keepalive {
        /// Source address and port.
        local: SocketAddr,
        /// Destination address and port.
        remote: SocketAddr,
    },
    /// Installs a pair of SAs. The inbound SA accepts packets at once; the outbound SA takes over the policy's
    /// packets at once if [`Child::active`].
    Install(Box<Child>),
    /// The outbound SA of this pair takes over the policy's packets, in place of the pair that it replaces.
    Activate(ChildId),
    /// Changes the tunnel endpoints of a pair: a NAT device changed its mapping, or one side moved (RFC 4555).
    Moved {
        /// The pair.
        child: ChildId,
        /// Local endpoint.
        local: SocketAddr,
        /// Remote endpoint.
        remote: SocketAddr,
        /// Encapsulates packets in UDP between these ports.
        natt: bool,
    },
    /// Removes a pair of SAs. The policy falls back to its other pairs, the newest active first.
    Remove {
        /// The pair.
        child: ChildId,
        /// Inbound and outbound SPI of the pair.
        spis: (u32, u32),
        /// Reason.
        why: Why,
    },
    /// An IKE SA is established.
    Established(SaId),
    /// An IKE SA replaced another and inherited its pairs and its mode-config address.
    Renewed {
        /// The IKE SA that ends.
        before: SaId,
        /// The IKE SA that replaces it.
        after: SaId,
    },
    /// An IKE SA is closed, or its negotiation failed.
    Closed(SaId, Why),
    /// A policy got no SAs: the owner may drop packets that wait for them.
    Failed(PolicyId, Why),
    /// Writes a log entry.
    Log(Log),
    /// Initiator of mode-config: the responder assigned addresses and networks.
    Leased {
        /// IKE SA that received the lease. The lease ends when this SA and its successors ([`Action::Renewed`])
        /// are closed.
        sa: SaId,
        /// Peer that assigned the lease.
        peer: PeerId,
        /// Assigned addresses, name servers and networks.
        lease: Lease,
    },
    /// Responder of mode-config: requests an address of a pool; [`Event::Leased`] answers. The address is free
    /// again when the IKE SA and its successors ([`Action::Renewed`]) are closed.
    LeaseWanted {
        /// IKE SA of the client.
        sa: SaId,
        /// Name of the pool.
        pool: String,
        /// Address that the peer requested, if any.
        wish: Option<IpAddr>,
    },
    /// EAP responder: passes an EAP message of the peer to the RADIUS client; [`Event::Eap`] answers.
    Eap {
        /// IKE SA of the peer.
        sa: SaId,
        /// Identity in the peer's ID payload.
        id: Id,
        /// EAP message.
        message: Vec<u8>,
    },
}

/// Log entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Severity; the topics are `ipsec` and `error`, `info` or `debug`.
    pub level: Level,
    /// Message text.
    pub text: String,
}

/// Severity of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Details for troubleshooting.
    Debug,
    /// Normal events.
    Info,
    /// Failures that need an administrator.
    Error,
}

/// Reason for the end of an SA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The hard lifetime is over.
    Expired,
    /// Another SA has replaced it.
    Replaced,
    /// The peer deleted it.
    Deleted,
    /// The peer does not answer.
    Unreachable,
    /// The peer restarted and sent INITIAL_CONTACT.
    InitialContact,
    /// The configuration changed.
    Reconfigured,
    /// A user closed it.
    Killed,
    /// No common proposal.
    NoProposal,
    /// No common traffic selectors.
    NoTraffic,
    /// Wrong secret or wrong signature.
    Authentication,
    /// The peer violated the protocol.
    Protocol,
    /// A limit of [`Settings`] is reached.
    Bound,
    /// No local or no remote address to use.
    NoAddress,
}

/// A pair of SAs, inbound and outbound (a child SA).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Number of the pair.
    pub id: ChildId,
    /// IKE SA that negotiated the pair.
    pub sa: SaId,
    /// Remote peer.
    pub peer: PeerId,
    /// Policy of the pair; with [`Child::generated`] the template.
    pub policy: PolicyId,
    /// Asks the owner to create a dynamic policy from the selectors, as long as pairs with these selectors
    /// exist.
    pub generated: bool,
    /// ESP or AH.
    pub protocol: Protocol,
    /// Transport or tunnel.
    pub mode: Mode,
    /// Negotiated traffic selectors, at least one: local and remote.
    pub selectors: Vec<(Selector, Selector)>,
    /// IP protocol of the traffic; 0 is all.
    pub payload: u8,
    /// Algorithms of both SAs.
    pub suite: ChildSuite,
    /// SA of arriving packets.
    pub inbound: Sa,
    /// SA of departing packets.
    pub outbound: Sa,
    /// Local endpoint.
    pub local: SocketAddr,
    /// Remote endpoint.
    pub remote: SocketAddr,
    /// Encapsulates packets in UDP between the ports of the endpoints (RFC 3948); the ports are ignored
    /// otherwise.
    pub natt: bool,
    /// Transport mode through NAT: original addresses, with which the peer computes checksums of payloads: the
    /// local address as the peer sees it, and the peer's own (RFC 3948, 3.1.2).
    pub original: Option<(IpAddr, IpAddr)>,
    /// Start of the exchange here: first message sent or received.
    pub begun: Instant,
    /// Time of installation.
    pub born: Instant,
    /// Soft lifetime after which the engine rekeys the pair.
    pub soft: Duration,
    /// Hard lifetime after which the engine removes the pair.
    pub hard: Duration,
    /// Soft and hard limit in bytes, per direction. The owner counts and reports them by [`Event::Spent`] and
    /// [`Event::Remove`].
    pub bytes: Option<(u64, u64)>,
    /// Pair that this pair replaces; the engine removes it a little later.
    pub replaces: Option<ChildId>,
    /// True: outbound traffic uses the pair at once. False: after [`Action::Activate`].
    pub active: bool,
}

impl Child {
    /// Returns the UDP end of a peer whose policy is generated for transport mode through NAT; `None` for other pairs.
    /// Peers behind one NAT negotiate equal selectors: they differ only in this end.
    pub fn translated_end(&self) -> Option<SocketAddr> {
        let is_translated = self.generated && self.natt && self.mode == Mode::Transport;
        is_translated.then_some(self.remote)
    }
}

/// One SA: one direction of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sa {
    /// SPI; an inbound SPI is unique in the router.
    pub spi: u32,
    /// Encryption key, with its salt at the end ([`crate::Encryption::key_len`]).
    pub encryption_key: Secret,
    /// Authentication key; empty with AEAD ciphers.
    pub authentication_key: Secret,
}

/// Addresses and networks that a mode-config responder assigned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Address of this host inside the tunnel.
    pub address: Option<IpAddr>,
    /// Prefix length of the address, if present.
    pub prefix_len: Option<u8>,
    /// Name servers.
    pub dns: Vec<IpAddr>,
    /// Domains to resolve by these servers.
    pub domains: Vec<String>,
    /// Prefixes reachable through the tunnel.
    pub subnets: Vec<ipnet::IpNet>,
}

/// Role in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// This side sent the first message.
    Initiator,
    /// The peer sent the first message.
    Responder,
}

/// Progress of an IKE SA (`state` of `active-peers`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// No message yet.
    Starting,
    /// First message sent or received.
    Message1,
    /// Second message sent or received.
    Message2,
    /// Third message sent or received.
    Message3,
    /// Fourth message sent or received.
    Message4,
    /// EAP or XAuth is running.
    Eap,
    /// Established.
    Established,
    /// Replaced by another IKE SA and about to be deleted.
    Expired,
}

/// Progress of a policy's SAs (`ph2-state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase2 {
    /// No SA.
    #[default]
    NoPhase2,
    /// The IKE SA is still being negotiated.
    Starting,
    /// First message sent.
    Message1Sent,
    /// At least one pair exists.
    Established,
}

/// Row of `/ip/ipsec/active-peers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number of the IKE SA.
    pub id: SaId,
    /// Remote peer.
    pub peer: PeerId,
    /// Local endpoint.
    pub local: SocketAddr,
    /// Remote endpoint.
    pub remote: SocketAddr,
    /// Identity in the peer's ID payload.
    pub remote_id: Option<Id>,
    /// XAuth user that logged in.
    pub user: Option<String>,
    /// Progress of the IKE SA.
    pub state: State,
    /// Local role in the first exchange.
    pub side: Side,
    /// Time of establishment.
    pub established: Option<Instant>,
    /// Time of the last message of the peer.
    pub last_seen: Instant,
    /// Number of pairs of SAs.
    pub children: usize,
    /// True if the endpoints use UDP encapsulation.
    pub natt: bool,
    /// Address assigned by mode-config, to the peer or to this side.
    pub leased: Option<IpAddr>,
    /// SPIs (IKEv1: cookies) of initiator and responder.
    pub spis: (u64, u64),
    /// Negotiated encryption, integrity, PRF and group.
    pub suite: Option<(Cipher, Hash, Hash, Group)>,
    /// Messages received.
    pub received: Traffic,
    /// Messages sent.
    pub sent: Traffic,
}

/// Message and byte counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of messages.
    pub packets: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// Timer that expires next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// Retransmission, dead peer detection, rekeying or end of an IKE SA.
    Sa,
    /// Rekeying, activation or removal of a pair.
    Child,
    /// Initiation to a peer whose policies need SAs.
    Peer,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cookie_threshold: 64,
            half_open_per_address: 16,
            half_open: 1024,
            sas: 16_384,
            dns: Vec::new(),
        }
    }
}

impl Why {
    /// Returns the reason as log text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expired => "lifetime expired",
            Self::Replaced => "replaced",
            Self::Deleted => "deleted by the peer",
            Self::Unreachable => "the peer does not answer",
            Self::InitialContact => "the peer started anew",
            Self::Reconfigured => "configuration changed",
            Self::Killed => "killed",
            Self::NoProposal => "no proposal chosen",
            Self::NoTraffic => "traffic selectors unacceptable",
            Self::Authentication => "authentication failed",
            Self::Protocol => "protocol error",
            Self::Bound => "too many",
            Self::NoAddress => "no address to send from or to",
        }
    }
}

impl Phase2 {
    /// Returns the keyword of `ph2-state`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoPhase2 => "no-phase2",
            Self::Starting => "starting",
            Self::Message1Sent => "msg1-sent",
            Self::Established => "established",
        }
    }
}

impl State {
    /// Returns the keyword of `state` in `active-peers`.
    pub const fn name(self, side: Side) -> &'static str {
        match (self, side) {
            (Self::Starting, _) => "starting",
            (Self::Message1, Side::Initiator) => "message-1-sent",
            (Self::Message2, Side::Initiator) => "message-2-sent",
            (Self::Message3, Side::Initiator) => "message-3-sent",
            (Self::Message4, Side::Initiator) => "message-4-sent",
            (Self::Message1, Side::Responder) => "message-1-received",
            (Self::Message2, Side::Responder) => "message-2-received",
            (Self::Message3, Side::Responder) => "message-3-received",
            (Self::Message4, Side::Responder) => "message-4-received",
            (Self::Eap, _) => "eap",
            (Self::Established, _) => "established",
            (Self::Expired, _) => "expired",
        }
    }
}
