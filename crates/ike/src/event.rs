//! What can happen to the engine, what it wants done, and what it shows.

use core::net::{IpAddr, SocketAddr};

use machine::{Duration, Instant};

use crate::config::{Id, Mode, Peer, PeerId, Policy, PolicyId, Protocol, Secret, Selector};
use crate::suite::{ChildSuite, Cipher, Group, Hash};

/// Names an IKE SA; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SaId(pub u64);

/// Names a pair of SAs of ESP or AH; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildId(pub u64);

/// What can happen to the engine.
#[derive(Debug)]
pub enum Event<'a> {
    /// A peer is configured, configured anew, or gone. SAs with a peer that changed are closed.
    Peer(PeerId, Option<Box<Peer>>),
    /// A policy is configured, configured anew, or gone. SAs of a policy that changed are removed.
    Policy(PolicyId, Option<Box<Policy>>),
    /// Bounds are configured.
    Settings(Settings),
    /// A datagram of IKE arrived.
    Datagram {
        /// Where it arrived.
        local: SocketAddr,
        /// Who sent it.
        remote: SocketAddr,
        /// Whether it came with the marker of four zero bytes, which is already taken off: to port 4500, and behind
        /// a translation by the peer's own choice (RFC 3948, 2.2). A keepalive of one byte FF may be given or not.
        natt: bool,
        /// The message.
        bytes: &'a [u8],
    },
    /// A packet needs an SA of this policy. May be said as often as there are packets.
    Acquire(PolicyId),
    /// An SA has protected so many bytes that its soft lifetime is over: it is replaced.
    Spent(ChildId),
    /// A packet arrived under the SA: the peer lives (RFC 3706, 5.4), and has the newest pair. Once a second for each
    /// SA is enough.
    Heard(ChildId),
    /// A packet of ESP or AH arrived under an SPI that there is not. Bounded: for what the peer forgot.
    UnknownSpi {
        /// Who sent it.
        remote: IpAddr,
        /// The SPI.
        spi: u32,
    },
    /// An IKE SA is closed with all of its children, as `kill-connections` does.
    Kill(SaId),
    /// A pair of SAs is removed, and the peer told.
    Remove(ChildId),
    /// All pairs of SAs are removed, as `flush` of `installed-sa` does.
    Flush,
    /// Answers [`Action::LeaseWanted`]; none if there is no address.
    Leased(SaId, Option<IpAddr>),
    /// Answers [`Action::Eap`].
    Eap(SaId, EapReply),
}

/// What another host decided about a user of EAP.
#[derive(Debug)]
pub enum EapReply {
    /// This message goes on to the peer.
    Message(Vec<u8>),
    /// The user is who he says: the message, and the key of the session (MSK, 64 bytes).
    Success(Vec<u8>, Secret),
    /// He is not: the message.
    Failure(Vec<u8>),
}

/// Bounds of the engine (`/ip/ipsec/settings`), and what peers are told of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many half-open IKE SAs of peers that were not asked for there may be before cookies are asked for (IKEv2)
    /// or nothing is answered (IKEv1): `ddos-cookie-threshold`.
    pub cookie_threshold: usize,
    /// How many half-open IKE SAs one address may have.
    pub half_open_per_address: usize,
    /// How many half-open IKE SAs there may be at all.
    pub half_open: usize,
    /// How many IKE SAs there may be at all.
    pub sas: usize,
    /// The name servers of this host, for peers that are told those ([`crate::ModeConfig::system_dns`]).
    pub dns: Vec<IpAddr>,
}

/// What the engine wants done.
#[derive(Clone, Debug)]
pub enum Action {
    /// Send a datagram.
    Send {
        /// From here.
        local: SocketAddr,
        /// To there.
        remote: SocketAddr,
        /// Whether to put the marker of four zero bytes before it.
        natt: bool,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Send a keepalive, one byte FF, without the marker (RFC 3948, 2.3).
    Keepalive {
        /// From here.
        local: SocketAddr,
        /// To there.
        remote: SocketAddr,
    },
    /// A pair of SAs is there. Packets that arrive under the inbound one are taken from now on; packets of the
    /// policy leave under the outbound one from now on if [`Child::active`].
    Install(Box<Child>),
    /// Packets of the policy leave under this pair's outbound SA from now on, no longer under that which it replaces.
    Activate(ChildId),
    /// The ends of a pair's packets are these from now on: a translator has changed its mapping, or one side has moved
    /// (RFC 4555).
    Moved {
        /// The pair.
        child: ChildId,
        /// The own end.
        local: SocketAddr,
        /// The peer's.
        remote: SocketAddr,
        /// Whether packets are in datagrams of UDP between these ports.
        natt: bool,
    },
    /// A pair of SAs is gone: its policy has those that are left, the newest active first.
    Remove {
        /// The pair.
        child: ChildId,
        /// The SPIs that it had: the inbound one, and the outbound one.
        spis: (u32, u32),
        /// Why.
        why: Why,
    },
    /// An IKE SA is there.
    Established(SaId),
    /// An IKE SA has taken the place of another one: pairs, and the address of mode-config, are its own now.
    Renewed {
        /// The one that ends.
        before: SaId,
        /// The one that goes on.
        after: SaId,
    },
    /// An IKE SA is gone, or did not come to be.
    Closed(SaId, Why),
    /// A policy could not get SAs: packets that wait for them may go.
    Failed(PolicyId, Why),
    /// Something to log.
    Log(Log),
    /// As initiator of mode-config: what the responder gave.
    Leased {
        /// By this IKE SA, and those that take its place ([`Action::Renewed`]); it is over when the last is closed.
        sa: SaId,
        /// By this peer.
        peer: PeerId,
        /// What it gave.
        lease: Lease,
    },
    /// As responder of mode-config: an address of this pool is wanted ([`Event::Leased`]). It is free again when the
    /// IKE SA is closed, or the last that took its place ([`Action::Renewed`]).
    LeaseWanted {
        /// For this IKE SA.
        sa: SaId,
        /// From this pool.
        pool: String,
        /// The address that the peer asked for.
        wish: Option<IpAddr>,
    },
    /// As responder with EAP: what the peer said ([`Event::Eap`]).
    Eap {
        /// In this IKE SA.
        sa: SaId,
        /// Who it said to be.
        id: Id,
        /// The message.
        message: Vec<u8>,
    },
}

/// Something to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// `ipsec`, with `error`, `info` or `debug`.
    pub level: Level,
    /// What is to be read.
    pub text: String,
}

/// How much a log entry matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For who looks for the reason.
    Debug,
    /// What happens.
    Info,
    /// What somebody must mend.
    Error,
}

/// Why something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Its lifetime is over.
    Expired,
    /// Another is there in its place.
    Replaced,
    /// The peer said so.
    Deleted,
    /// The peer does not answer.
    Unreachable,
    /// The peer began anew (INITIAL_CONTACT).
    InitialContact,
    /// The configuration says so.
    Reconfigured,
    /// Somebody asked for it.
    Killed,
    /// The two agree on no proposal.
    NoProposal,
    /// The two agree on no traffic.
    NoTraffic,
    /// The secret is another, or a signature is wrong.
    Authentication,
    /// The peer broke the protocol.
    Protocol,
    /// A bound is reached.
    Bound,
    /// There is no address to send from, or none to send to.
    NoAddress,
}

/// A pair of SAs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its name.
    pub id: ChildId,
    /// The IKE SA that made it.
    pub sa: SaId,
    /// With whom.
    pub peer: PeerId,
    /// The policy that it is of; if [`Child::generated`], the template.
    pub policy: PolicyId,
    /// Whether the owner makes a policy of the selectors, as long as there is a pair with these.
    pub generated: bool,
    /// ESP or AH.
    pub protocol: Protocol,
    /// Transport or tunnel.
    pub mode: Mode,
    /// What was agreed on, one or more: the own end, and the peer's.
    pub selectors: Vec<(Selector, Selector)>,
    /// The protocol of the packets; 0 is all.
    pub payload: u8,
    /// The algorithms, of both.
    pub suite: ChildSuite,
    /// Packets that arrive.
    pub inbound: Sa,
    /// Packets that leave.
    pub outbound: Sa,
    /// The own end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
    /// Whether packets are in datagrams of UDP between these ports (RFC 3948); else the ports are of no account.
    pub natt: bool,
    /// Transport mode through translators: the addresses that the peer's checksums of payloads are of, which are not
    /// those of its packets: this side's as the peer knows it, and the peer's own (RFC 3948, 3.1.2).
    pub original: Option<(IpAddr, IpAddr)>,
    /// When its exchange began here: its first message was sent, or came.
    pub begun: Instant,
    /// When it was made.
    pub born: Instant,
    /// After how long it is replaced. The engine does that itself.
    pub soft: Duration,
    /// After how long it is removed. The engine does that itself.
    pub hard: Duration,
    /// After how many bytes of either it is replaced and removed; the owner counts ([`Event::Spent`],
    /// [`Event::Remove`]).
    pub bytes: Option<(u64, u64)>,
    /// The pair that it replaces, which goes a little later.
    pub replaces: Option<ChildId>,
    /// Whether packets leave under it from now on; if not, [`Action::Activate`] will say so.
    pub active: bool,
}

/// One direction of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sa {
    /// Names it; that of the inbound one is unique in the router.
    pub spi: u32,
    /// The key of the encryption, with its salt at the end ([`crate::Encryption::key_len`]).
    pub encryption_key: Secret,
    /// The key of the authentication, empty where there is none.
    pub authentication_key: Secret,
}

/// What a responder of mode-config gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// The own address in there.
    pub address: Option<IpAddr>,
    /// Its prefix's length, if said.
    pub prefix_len: Option<u8>,
    /// Name servers.
    pub dns: Vec<IpAddr>,
    /// Domains that those know.
    pub domains: Vec<String>,
    /// What is behind it.
    pub subnets: Vec<ipnet::IpNet>,
}

/// Which of the two began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// This one.
    Initiator,
    /// The peer.
    Responder,
}

/// How far an IKE SA is (`state` of `active-peers`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It is about to begin.
    Starting,
    /// The first message was sent or heard.
    Message1,
    /// The second.
    Message2,
    /// The third.
    Message3,
    /// The fourth.
    Message4,
    /// EAP or XAuth goes on.
    Eap,
    /// It is there.
    Established,
    /// It is about to go: another is there in its place.
    Expired,
}

/// How far the SAs of a policy are (`ph2-state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase2 {
    /// There is none.
    #[default]
    NoPhase2,
    /// An IKE SA is made first.
    Starting,
    /// The first message was sent.
    Message1Sent,
    /// There is one.
    Established,
}

/// A line of `/ip/ipsec/active-peers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub id: SaId,
    /// With whom.
    pub peer: PeerId,
    /// The own end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
    /// Who the peer says to be.
    pub remote_id: Option<Id>,
    /// The user that logged in behind a secret (XAuth).
    pub user: Option<String>,
    /// How far it is.
    pub state: State,
    /// Who began.
    pub side: Side,
    /// Since when it is there.
    pub established: Option<Instant>,
    /// When the peer was last heard.
    pub last_seen: Instant,
    /// Pairs of SAs that it has.
    pub children: usize,
    /// Whether packets are in datagrams of UDP.
    pub natt: bool,
    /// The address that the peer was given by mode-config, or this side.
    pub leased: Option<IpAddr>,
    /// SPIs, or cookies, of the initiator and of the responder.
    pub spis: (u64, u64),
    /// What was agreed on, as far as it is.
    pub suite: Option<(Cipher, Hash, Hash, Group)>,
    /// Messages heard and sent, and their bytes.
    pub received: Traffic,
    /// The same of those sent.
    pub sent: Traffic,
}

/// Messages counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// How many.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What the engine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A message is sent again, a peer is asked whether it lives, an IKE SA is made anew or is over.
    Sa,
    /// A pair is replaced, used, or removed.
    Child,
    /// A peer is talked to, because policies need SAs.
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
    /// What a log says of it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expired => "lifetime expired",
            Self::Replaced => "replaced",
            Self::Deleted => "deleted by the peer",
            Self::Unreachable => "the peer does not answer",
            Self::InitialContact => "the peer began anew",
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
    /// The word of `ph2-state`.
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
    /// The word of `state` in `active-peers`.
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
