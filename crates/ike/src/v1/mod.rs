//! IKEv1 (RFC 2407 to 2409, RFC 3706, RFC 3947): an IKE SA with its exchanges.
//!
//! ```text
//!  phase1.rs   main and aggressive mode          ──▶ keys.rs
//!  transaction.rs  transactions: login.rs (XAuth), lease.rs (mode config)
//!  quick.rs    pairs of SAs, with offer.rs
//!  info.rs     deletions, notifications, dead peer detection
//! ```
//!
//! Unauthenticated messages change no state.

mod establish;
mod info;
mod keys;
mod lease;
mod login;
mod offer;
mod parts;
mod phase1;
mod proof;
mod proving;
mod quick;
mod transaction;

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use machine::{Duration, Instant};

use crate::config::{Auth, Exchange, Peer, PeerId, PolicyId};
use crate::crypto::{Agreement, digest};
use crate::engine::core::{Common, Context, Datagram, Order, Path, Resend};
use crate::event::{ChildId, Lease, Level, SaId, Side, State, Why};
use crate::message::{Chain, Fault, Header, Payload, Version, payloads};
use crate::suite::Hash;
use keys::Keys;
use offer::{Method, Phase1};
use proof::PendingProof;
use quick::Quick;
use transaction::{Asking, Opening, Pending};

/// Payload types (RFC 2408, 3.1; RFC 3947).
mod kind {
    pub(super) const SA: u8 = 1;
    pub(super) const KE: u8 = 4;
    pub(super) const ID: u8 = 5;
    pub(super) const CERT: u8 = 6;
    pub(super) const CERT_REQUEST: u8 = 7;
    pub(super) const HASH: u8 = 8;
    pub(super) const SIGNATURE: u8 = 9;
    pub(super) const NONCE: u8 = 10;
    pub(super) const NOTIFY: u8 = 11;
    pub(super) const DELETE: u8 = 12;
    pub(super) const VENDOR: u8 = 13;
    pub(super) const ATTRIBUTES: u8 = 14;
    pub(super) const NAT_D: u8 = 20;
    pub(super) const NAT_OA: u8 = 21;
    pub(super) const NAT_D_DRAFT: u8 = 130;
    pub(super) const NAT_OA_DRAFT: u8 = 131;
}

/// Exchange types.
mod exchange {
    pub(super) const MAIN: u8 = 2;
    pub(super) const AGGRESSIVE: u8 = 4;
    pub(super) const INFORMATIONAL: u8 = 5;
    pub(super) const TRANSACTION: u8 = 6;
    pub(super) const QUICK: u8 = 32;
}

const ENCRYPTED: u8 = 1;

/// Time limit of phase 1.
const PHASE1_TIMEOUT: Duration = Duration::from_secs(75);
/// Maximum number of concurrent quick modes.
const MAX_QUICK_MODES: usize = 64;
/// Number of remembered message IDs, which detect replays.
const REMEMBERED_IDS: usize = 128;
/// Maximum number of repeated responses.
const MAX_REPEATED_RESPONSES: u32 = 16;

/// NAT traversal variant that both sides support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Natt {
    None,
    /// draft-ietf-ipsec-nat-t-ike-02 and 03: other payload numbers.
    Draft,
    /// RFC 3947.
    Rfc,
}

/// Progress of phase 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Main mode: SA. Aggressive mode: SA, KE, nonce and ID.
    First,
    /// Main mode: KE and nonce.
    Second,
    /// Main mode: ID and HASH or SIG.
    Third,
    /// Complete.
    Done,
}

/// Last received message with its response, for retransmissions of the peer.
#[derive(Debug, Default)]
struct Last {
    heard: Vec<u8>,
    answer: Option<Vec<u8>>,
    times: u32,
}

impl Last {
    fn set(&mut self, heard: &[u8], answer: Option<Vec<u8>>) {
        *self = Self {
            heard: digest(Hash::Sha256, &[heard]),
            answer,
            times: 0,
        };
    }

    /// Returns `None` for a new message, and the stored response for a repeated one. The response is withheld
    /// after [`MAX_REPEATED_RESPONSES`] repetitions.
    fn again(&mut self, heard: &[u8]) -> Option<Option<Vec<u8>>> {
        if self.heard != digest(Hash::Sha256, &[heard]) {
            return None;
        }
        self.times += 1;
        Some(
            self.answer
                .clone()
                .filter(|_| self.times <= MAX_REPEATED_RESPONSES),
        )
    }
}

/// State of dead peer detection (RFC 3706).
#[derive(Debug, Default)]
struct DeadPeer {
    known: bool,
    sequence: u32,
    asked: u32,
    asked_at: Option<Instant>,
    heard: Option<u32>,
    /// The next liveness check is due at once.
    is_suspect: bool,
}

/// An IKEv1 SA.
pub(crate) struct Sa {
    pub(crate) common: Common,
    exchange: Exchange,
    step: Step,
    offers: Vec<u8>,
    agreed: Option<Phase1>,
    agreement: Option<Agreement>,
    /// Public values, nonces and identities, each of initiator and responder.
    values: (Vec<u8>, Vec<u8>),
    nonces: (Vec<u8>, Vec<u8>),
    ids: (Vec<u8>, Vec<u8>),
    keys: Option<Keys>,
    natt: Natt,
    last: Last,
    /// A message of phase 1 whose signature is not made yet.
    proof: Option<PendingProof>,
    /// Last unanswered message of phase 1 or of a transaction.
    resend: Option<Resend>,
    opening: Opening,
    asking: Option<Asking>,
    pending: Option<Pending>,
    /// The peer sent INITIAL_CONTACT before its user is known.
    says_first: bool,
    /// Last transaction of the peer.
    transaction: Last,
    /// Initiator: lease received by mode config.
    pub(crate) lease: Option<Lease>,
    quicks: BTreeMap<u32, Quick>,
    recent: VecDeque<u32>,
    dead_peer: DeadPeer,
    /// Times of renewal and of the end.
    renew_at: Option<Instant>,
    over_at: Instant,
    forgot_at: Option<Instant>,
}

/// Returns the body of the only payload of a type; fails on none and on several.
fn body<'a>(payloads: &[Payload<'a>], kind: u8) -> Result<&'a [u8], Fault> {
    let mut found = payloads.iter().filter(|payload| payload.kind == kind);
    let payload = found.next().ok_or(Fault::Value)?;
    match found.next() {
        None => Ok(payload.body),
        Some(_) => Err(Fault::Many),
    }
}

/// Iterates over the bodies of payloads of a type.
fn bodies<'a>(payloads: &[Payload<'a>], kind: u8) -> impl Iterator<Item = &'a [u8]> {
    payloads
        .iter()
        .filter(move |payload| payload.kind == kind)
        .map(|payload| payload.body)
}

impl Sa {
    fn new(common: Common, exchange: Exchange, now: Instant) -> Self {
        Self {
            common,
            exchange,
            step: Step::First,
            offers: Vec::new(),
            agreed: None,
            agreement: None,
            values: Default::default(),
            nonces: Default::default(),
            ids: Default::default(),
            keys: None,
            natt: Natt::None,
            last: Last::default(),
            proof: None,
            resend: None,
            opening: Opening::Phase1,
            asking: None,
            pending: None,
            says_first: false,
            transaction: Last::default(),
            lease: None,
            quicks: BTreeMap::new(),
            recent: VecDeque::new(),
            dead_peer: DeadPeer::default(),
            renew_at: None,
            over_at: now + PHASE1_TIMEOUT,
            forgot_at: None,
        }
    }

    /// Initiates phase 1 with a peer.
    pub(crate) fn initiate(
        id: SaId,
        peer_id: PeerId,
        peer: Arc<Peer>,
        path: Path,
        cx: &mut Context<'_>,
    ) -> Result<Self, Why> {
        let exchange = peer.exchange;
        let common = Common::new(id, peer_id, peer, Side::Initiator, path, cx.now);
        let mut sa = Self::new(common, exchange, cx.now);
        sa.common.spis.0 = cx.core.random_u64();
        sa.begin(cx)?;
        sa.say(
            Level::Info,
            &format!("initiate new phase 1 ({})", sa.exchange_name()),
            cx,
        );
        Ok(sa)
    }

    /// Responds to the first message of a peer; `None` if the message is rejected.
    pub(crate) fn respond(
        id: SaId,
        peer_id: PeerId,
        peer: Arc<Peer>,
        datagram: &Datagram<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Self> {
        let Datagram {
            header,
            bytes,
            path,
        } = *datagram;
        let exchange = peer.exchange;
        let common = Common::new(id, peer_id, peer, Side::Responder, path, cx.now);
        let mut sa = Self::new(common, exchange, cx.now);
        sa.common.spis = (header.initiator, cx.core.random_u64());
        match sa.input(header, bytes, path, cx) {
            Ok(()) if !sa.last.heard.is_empty() || sa.proof.is_some() => {
                let text = format!("respond new phase 1 ({})", sa.exchange_name());
                sa.say(Level::Info, &text, cx);
                Some(sa)
            }
            _ => None,
        }
    }

    /// Returns the name of the exchange in RouterOS's log (RFC 2408, 4.5 and 4.7).
    const fn exchange_name(&self) -> &'static str {
        match self.exchange {
            Exchange::Aggressive => "Aggressive",
            _ => "Identity Protection",
        }
    }

    /// Returns the exchange of a first message; `None` for other exchange types.
    pub(crate) const fn first_exchange(number: u8) -> Option<Exchange> {
        match number {
            exchange::MAIN => Some(Exchange::Main),
            exchange::AGGRESSIVE => Some(Exchange::Aggressive),
            _ => None,
        }
    }

    /// Processes a message. An error ends the SA.
    pub(crate) fn input(
        &mut self,
        header: &Header,
        message: &[u8],
        path: Path,
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        self.common.count(message.len());
        let taken = match header.exchange {
            exchange::MAIN | exchange::AGGRESSIVE => self.phase1(header, message, path, cx),
            exchange::INFORMATIONAL => self.informational(header, message, cx),
            exchange::TRANSACTION => self.transaction(header, message, cx),
            exchange::QUICK => self.quick(header, message, cx),
            _ => {
                cx.core.count("ike1-unknown-exchange");
                return Ok(());
            }
        };
        match taken {
            Ok(()) => Ok(()),
            Err(Bad::Ignored(name)) => {
                cx.core.count(name);
                Ok(())
            }
            Err(Bad::Fault(fault)) => {
                cx.core.count(fault.name());
                Ok(())
            }
            Err(Bad::Over(why)) => Err(why),
            Err(Bad::Later) => Ok(()),
        }
    }

    /// Runs the timers that are due. An error ends the SA.
    pub(crate) fn tick(&mut self, cx: &mut Context<'_>) -> Result<(), Why> {
        if self.over_at <= cx.now {
            return Err(self.common.end());
        }
        if let Some(mut resend) = self.resend.take() {
            let more = resend.again(&mut self.common, cx);
            if !more && self.common.is_half_open() {
                return Err(Why::Unreachable);
            }
            self.resend = more.then_some(resend);
        }
        if self.renew_at.is_some_and(|at| at <= cx.now) {
            self.renew_at = None;
            cx.core.orders.push_back(Order::Renew(self.common.id));
        }
        self.prove_again(cx)?;
        self.tick_quicks(cx);
        self.common.keep_alive(cx);
        self.ask(cx)
    }

    /// Returns the time of the next `tick`.
    pub(crate) fn deadline(&self) -> Instant {
        let times = [
            self.resend.as_ref().map(|resend| resend.at),
            self.renew_at,
            self.common.keepalive_at(),
            self.ask_at(),
            self.proof.as_ref().map(|proof| proof.again_at),
        ];
        let quicks = self.quicks.values().map(Quick::due);
        let times = times.into_iter().flatten().chain(quicks);
        times.fold(self.over_at, Instant::min)
    }

    /// Marks the SA as replaced: it only listens until it ends.
    pub(crate) fn retire(&mut self, after: Duration, now: Instant) {
        self.common.state = State::Expired;
        self.renew_at = None;
        self.over_at = self.over_at.min(now + after);
    }

    /// Takes a replaced SA back into use, because its replacement is gone. Asks the peer at once whether it has
    /// the SA too, if it supports dead peer detection.
    pub(crate) fn revive(&mut self) {
        self.common.state = State::Established;
        self.set_lifetime();
        self.dead_peer.is_suspect = true;
    }

    /// Negotiates SAs for a policy.
    pub(crate) fn acquire(
        &mut self,
        policy: PolicyId,
        replaces: Option<ChildId>,
        cx: &mut Context<'_>,
    ) {
        if self.common.state != State::Established || self.quicks.len() >= MAX_QUICK_MODES {
            self.common.want(policy, replaces);
            return;
        }
        let busy = self.quicks.values().any(|quick| quick.is_for(policy));
        if !busy {
            self.begin_quick(policy, replaces, cx);
        }
    }

    /// Returns true if quick mode for a policy is unfinished.
    pub(crate) fn is_busy_with(&self, policy: PolicyId) -> bool {
        self.quicks.values().any(|quick| quick.is_for(policy))
    }

    /// Records that the peer is alive.
    pub(crate) const fn heard(&mut self, now: Instant) {
        self.common.last_seen = now;
        self.dead_peer.asked = 0;
        self.dead_peer.asked_at = None;
    }

    /// Returns the header of a message of this SA.
    const fn header(&self, exchange: u8, flags: u8, id: u32) -> Header {
        Header {
            initiator: self.common.spis.0,
            responder: self.common.spis.1,
            next: 0,
            version: Version::One,
            exchange,
            flags,
            id,
        }
    }

    /// Encrypts payloads into a message and updates `iv` for the next one.
    fn seal(&self, exchange: u8, id: u32, iv: &mut Vec<u8>, chain: &Chain) -> Option<Vec<u8>> {
        let keys = self.keys.as_ref()?;
        let body = keys.encrypt(iv, chain.bytes());
        let header = Header {
            next: chain.first(),
            ..self.header(exchange, ENCRYPTED, id)
        };
        let mut out = header.write(body.len());
        out.extend_from_slice(&body);
        Some(out)
    }

    /// Decrypts a message; returns its payloads and the initialisation vector of the next message.
    fn open(&self, header: &Header, iv: &[u8], message: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Bad> {
        let keys = self.keys.as_ref().ok_or(Bad::Ignored("ike1-no-keys"))?;
        if header.flags & ENCRYPTED == 0 {
            return Err(Bad::Ignored("ike1-not-encrypted"));
        }
        let (_, body) = Header::read(message)?;
        keys.decrypt(iv, body).ok_or(Bad::Ignored("ike1-length"))
    }

    /// Returns a random, unused message ID.
    fn fresh_id(&self, cx: &mut Context<'_>) -> u32 {
        loop {
            let id = cx.core.random_u64() as u32;
            if id != 0 && !self.quicks.contains_key(&id) && !self.recent.contains(&id) {
                return id;
            }
        }
    }

    fn remember(&mut self, id: u32) {
        if self.recent.len() == REMEMBERED_IDS {
            self.recent.pop_front();
        }
        self.recent.push_back(id);
    }

    /// Returns the credentials of the current identity.
    fn auth(&self) -> Option<Auth> {
        let identity = self.common.peer.identities.get(self.common.identity)?;
        Some(identity.auth.clone())
    }

    /// Returns the NAT-D hash of an endpoint (RFC 3947, 3.2).
    fn nat_hash(&self, end: SocketAddr) -> Vec<u8> {
        let hash = self.agreed.map_or(Hash::Sha1, |agreed| agreed.hash);
        let cookies = keys::cookies(self.common.spis.0, self.common.spis.1);
        let port = end.port().to_be_bytes();
        match end.ip() {
            IpAddr::V4(address) => digest(hash, &[&cookies, &address.octets(), &port]),
            IpAddr::V6(address) => digest(hash, &[&cookies, &address.octets(), &port]),
        }
    }

    fn say(&self, level: Level, text: &str, cx: &mut Context<'_>) {
        cx.log(level, format!("{text}: {}", self.common.label()));
    }
}

/// Reason for rejecting a message.
#[derive(Debug)]
enum Bad {
    /// Counted and ignored.
    Ignored(&'static str),
    /// Malformed.
    Fault(Fault),
    /// Ends the SA.
    Over(Why),
    /// Postponed: the key has not signed yet.
    Later,
}

impl From<Fault> for Bad {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Returns the phase 1 method of an identity; `None` for EAP.
const fn method_of(auth: &Auth) -> Option<Method> {
    match auth {
        Auth::Psk(_) => Some(Method::Psk),
        Auth::Signature(_) => Some(Method::Rsa),
        Auth::PskXauth { .. } => Some(Method::PskLogin),
        Auth::Eap(_) | Auth::EapRadius(_) => None,
    }
}

/// Parses the payloads of an unencrypted or decrypted message.
fn chain(first: u8, bytes: &[u8]) -> Result<Vec<Payload<'_>>, Fault> {
    payloads(first, bytes, &[])
}
