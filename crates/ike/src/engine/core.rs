//! State shared by all IKE SAs: configuration, pairs of SAs, counters, random source, agenda of timers.

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use machine::{Duration, Instant};

use super::Counters;
use super::pair_table::{PairTable, PairTraffic};
use crate::config::{Auth, Exchange, Mode, Peer, PeerId, Policy, PolicyId, Selector};
use crate::crypto::Entropy;
use crate::event::{Action, ChildId, Level, Log, SaId, Settings, Side, State, Traffic, Why};
use crate::suite::{Cipher, Group, Hash};

/// Owner of an agenda entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Timers of an IKE SA.
    Sa(SaId),
    /// Lifetimes of a pair.
    Child(ChildId),
    /// Next attempt to reach a peer.
    Peer(PeerId),
    /// End of an IKE SA that the peer should have deleted in favour of another.
    Rival(SaId),
}

/// Timer queue: one deadline per key, ordered by time.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    order: BTreeSet<(Instant, Key)>,
    times: BTreeMap<Key, Instant>,
}

impl Agenda {
    /// Sets or (`None`) cancels the deadline of a key.
    pub(crate) fn set(&mut self, key: Key, at: Option<Instant>) {
        if let Some(before) = self.times.remove(&key) {
            self.order.remove(&(before, key));
        }
        if let Some(at) = at {
            self.times.insert(key, at);
            self.order.insert((at, key));
        }
    }

    /// Returns the earliest deadline.
    pub(crate) fn first(&self) -> Option<(Instant, Key)> {
        self.order.first().copied()
    }
}

/// Request of an IKE SA to the engine, for work that concerns other SAs.
pub(crate) enum Order {
    /// Initiate a new IKE SA in place of this one (IKEv1).
    Renew(SaId),
    /// This IKE SA is established.
    Established(SaId),
    /// Outbound traffic uses this pair.
    Active(ChildId),
    /// INITIAL_CONTACT: close older SAs with the same peer.
    OnlyOne(SaId),
    /// The peer deleted, by this IKE SA, a pair with this outbound SPI that belongs to another one (IKEv1).
    Deleted(SaId, u32),
    /// Negotiation of this policy's SAs failed.
    Failed(PolicyId, Why),
    /// Add an IKE SA that resulted from rekeying (IKEv2).
    Adopt(Box<crate::v2::Sa>),
}

/// State shared by all IKE SAs.
pub(crate) struct Core {
    pub(crate) peers: BTreeMap<PeerId, Arc<Peer>>,
    pub(crate) policies: BTreeMap<PolicyId, Arc<Policy>>,
    pub(crate) settings: Settings,
    pub(crate) counters: Counters,
    pub(crate) entropy: Entropy,
    pub(crate) children: PairTable,
    pub(crate) agenda: Agenda,
    pub(crate) orders: VecDeque<Order>,
    /// Time of the last log entry that an unauthenticated sender caused.
    stranger_at: Option<Instant>,
    /// Inbound SPIs of the pairs.
    pub(super) spis: BTreeSet<u32>,
    next: u64,
}

/// The shared state, the current time and the output list.
pub(crate) struct Context<'a> {
    pub(crate) core: &'a mut Core,
    pub(crate) now: Instant,
    pub(crate) out: &'a mut Vec<Action>,
}

/// Algorithms of an IKE SA: encryption, hash (IKEv2: integrity), PRF, group.
pub(crate) type Suite = (Cipher, Hash, Hash, Group);

/// Endpoints of a message, and whether it carries the non-ESP marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) natt: bool,
}

/// A received message with its parsed header.
pub(crate) struct Datagram<'a> {
    pub(crate) header: &'a crate::message::Header,
    pub(crate) bytes: &'a [u8],
    pub(crate) path: Path,
}

/// Fields that IKEv1 and IKEv2 SAs have in common.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) id: SaId,
    pub(crate) peer_id: PeerId,
    pub(crate) peer: Arc<Peer>,
    pub(crate) side: Side,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// True after the move to port 4500: messages carry the non-ESP marker.
    pub(crate) natt: bool,
    /// NAT in front of this side, and in front of the peer.
    pub(crate) translated: (bool, bool),
    pub(crate) spis: (u64, u64),
    pub(crate) state: State,
    pub(crate) born: Instant,
    pub(crate) established: Option<Instant>,
    pub(crate) last_seen: Instant,
    pub(crate) last_sent: Instant,
    pub(crate) remote_id: Option<crate::config::Id>,
    /// Index of the matching identity of the peer; 0 until known.
    pub(crate) identity: usize,
    pub(crate) suite: Option<Suite>,
    pub(crate) leased: Option<IpAddr>,
    pub(crate) received: Traffic,
    pub(crate) sent: Traffic,
    /// Policies that need SAs once this SA is established, with the pairs to replace.
    pub(crate) wanted: VecDeque<(PolicyId, Option<ChildId>)>,
}

/// Maximum number of policies that wait for an IKE SA.
const MAX_WAITING_POLICIES: usize = 1024;
/// Maximum time to wait for the response to a liveness check.
pub(crate) const LIVENESS_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval at which a key that takes its time is asked again for its signature.
pub(crate) const SIGNATURE_INTERVAL: Duration = Duration::from_millis(10);
/// Minimum interval between log entries that unauthenticated senders cause.
const STRANGER_LOG_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of NAT keepalives (RFC 3948, 4).
pub(crate) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(20);

impl Common {
    /// Creates the state of an SA before its first message.
    pub(crate) fn new(
        id: SaId,
        peer_id: PeerId,
        peer: Arc<Peer>,
        side: Side,
        path: Path,
        now: Instant,
    ) -> Self {
        Self {
            id,
            peer_id,
            peer,
            side,
            local: path.local,
            remote: path.remote,
            natt: path.natt,
            translated: (false, false),
            spis: (0, 0),
            state: State::Starting,
            born: now,
            established: None,
            last_seen: now,
            last_sent: now,
            remote_id: None,
            identity: 0,
            suite: None,
            leased: None,
            received: Traffic::default(),
            sent: Traffic::default(),
            wanted: VecDeque::new(),
        }
    }

    /// Returns the path of this side's messages.
    pub(crate) const fn path(&self) -> Path {
        Path {
            local: self.local,
            remote: self.remote,
            natt: self.natt,
        }
    }

    /// Returns the SPI that this side chose.
    pub(crate) const fn own_spi(&self) -> u64 {
        match self.side {
            Side::Initiator => self.spis.0,
            Side::Responder => self.spis.1,
        }
    }

    /// Returns true until the SA is established.
    pub(crate) fn is_half_open(&self) -> bool {
        self.state < State::Established
    }

    /// Returns true if the current identity uses XAuth.
    pub(crate) fn logs_in(&self) -> bool {
        let identity = self.peer.identities.get(self.identity);
        identity.is_some_and(|one| matches!(one.auth, Auth::PskXauth { .. }))
    }

    /// Responder: returns the name of the XAuth user that logged in.
    pub(crate) fn user(&self) -> Option<String> {
        let identity = self.peer.identities.get(self.identity)?;
        let logged_in = self.side == Side::Responder && self.state == State::Established;
        match &identity.auth {
            Auth::PskXauth { user, .. } if logged_in => Some(user.clone()),
            _ => None,
        }
    }

    /// Returns the reason to report when the SA's time is over.
    pub(crate) const fn end(&self) -> Why {
        match self.state {
            State::Established => Why::Expired,
            State::Expired => Why::Replaced,
            _ => Why::Unreachable,
        }
    }

    /// Returns how long a peer may leave requests unanswered: `dpd-maximum-failures` times `dpd-interval`, with
    /// an interval of at most 5 seconds. `None` without dead peer detection.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let (interval, failures) = self.peer.profile.dpd?;
        let each = interval.min(LIVENESS_TIMEOUT);
        (!interval.is_zero()).then(|| each.saturating_mul(failures.max(1)))
    }

    /// Returns the traffic of a pair to be negotiated; `is_generated` tells whether its policy comes from a template.
    pub(crate) fn traffic<'a>(
        &self,
        selectors: &'a [(Selector, Selector)],
        is_generated: bool,
        mode: Mode,
    ) -> PairTraffic<'a> {
        let is_translated = self.translated.0 || self.translated.1;
        let has_end = is_generated && is_translated && mode == Mode::Transport;
        PairTraffic {
            peer: self.peer_id,
            selectors,
            translated_end: has_end.then_some(self.remote),
        }
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, bytes: Vec<u8>, cx: &mut Context<'_>) {
        self.sent.packets += 1;
        self.sent.bytes += bytes.len() as u64;
        self.last_sent = cx.now;
        cx.out.push(Action::Send {
            local: self.local,
            remote: self.remote,
            natt: self.natt,
            bytes,
        });
    }

    /// Counts a received message of `len` bytes.
    pub(crate) fn count(&mut self, len: usize) {
        self.received.packets += 1;
        self.received.bytes += len as u64;
    }

    /// Queues a policy that needs SAs, unless it is queued or the queue is full.
    pub(crate) fn want(&mut self, policy: PolicyId, replaces: Option<ChildId>) {
        let there = self.wanted.iter().any(|(other, _)| *other == policy);
        if !there && self.wanted.len() < MAX_WAITING_POLICIES {
            self.wanted.push_back((policy, replaces));
        }
    }

    /// Initiator: moves to port 4500 (RFC 3947, 4; RFC 7296, 2.23).
    pub(crate) fn move_to_4500(&mut self) {
        self.natt = true;
        self.local.set_port(4500);
        if self.remote.port() == self.peer.port {
            self.remote.set_port(4500);
        }
    }

    /// Adopts the endpoints of an authenticated message. A peer that is not behind NAT may change its port
    /// only.
    pub(crate) fn follow(&mut self, path: Path, cx: &mut Context<'_>) {
        let Path {
            local,
            remote,
            natt,
        } = path;
        let moved = (self.local, self.remote) != (local, remote);
        if !moved || (!self.translated.1 && self.remote.ip() != remote.ip()) {
            return;
        }
        (self.local, self.remote, self.natt) = (local, remote, natt);
        if !natt {
            return;
        }
        let own = cx.core.children.of_sa(self.id);
        let own = own.filter(|kept| kept.child.natt);
        let own: Vec<_> = own.map(|kept| kept.child.id).collect();
        for child in own {
            cx.core.children.set_path(child, local, remote, natt);
            cx.out.push(Action::Moved {
                child,
                local,
                remote,
                natt,
            });
        }
    }

    /// Returns the time of the next keepalive; `None` if this side is not behind NAT.
    pub(crate) fn keepalive_at(&self) -> Option<Instant> {
        let needed = self.natt && self.translated.0 && self.established.is_some();
        needed.then(|| self.last_sent + KEEPALIVE_INTERVAL)
    }

    /// Sends a keepalive if it is due.
    pub(crate) fn keep_alive(&mut self, cx: &mut Context<'_>) {
        if self.keepalive_at().is_some_and(|at| at <= cx.now) {
            self.last_sent = cx.now;
            cx.out.push(Action::Keepalive {
                local: self.local,
                remote: self.remote,
            });
        }
    }

    /// Returns the SA as RouterOS's log prints it: `peer 192.0.2.1[500]-198.51.100.2[500]
    /// spi:0123456789abcdef:…`.
    pub(crate) fn label(&self) -> String {
        let end = |end: SocketAddr| format!("{}[{}]", end.ip(), end.port());
        let (local, remote) = (end(self.local), end(self.remote));
        let (initiator, responder) = self.spis;
        let name = &self.peer.name;
        format!("{name} {local}-{remote} spi:{initiator:016x}:{responder:016x}")
    }

    /// Logs the peer's proposals and the configured one, to explain a refusal.
    pub(crate) fn log_offers(
        &self,
        version: crate::message::Version,
        offers: &[crate::message::Offer],
        configured: String,
        cx: &mut Context<'_>,
    ) {
        let lines = crate::describe::offers(version, offers).into_iter();
        for line in lines.chain([configured]) {
            cx.log(Level::Debug, format!("{}: {line}", self.label()));
        }
    }
}

impl Core {
    /// Creates the state without peers and policies.
    pub(crate) fn new(entropy: Entropy) -> Self {
        Self {
            peers: BTreeMap::new(),
            policies: BTreeMap::new(),
            settings: Settings::default(),
            counters: Counters::new(),
            entropy,
            children: PairTable::default(),
            agenda: Agenda::default(),
            orders: VecDeque::new(),
            stranger_at: None,
            spis: BTreeSet::new(),
            next: 0,
        }
    }

    /// Increments a counter.
    pub(crate) fn count(&mut self, name: &'static str) {
        *self.counters.entry(name).or_default() += 1;
    }

    /// Returns a new number for an SA or a pair.
    pub(crate) const fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Returns random bytes.
    pub(crate) fn random(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        (self.entropy)(&mut bytes);
        bytes
    }

    /// Returns a random number other than 0.
    pub(crate) fn random_u64(&mut self) -> u64 {
        loop {
            let mut bytes = [0; 8];
            (self.entropy)(&mut bytes);
            let number = u64::from_be_bytes(bytes);
            if number != 0 {
                return number;
            }
        }
    }

    /// Returns a random, unused SPI; 0 to 255 are reserved (RFC 4303, 2.1).
    pub(crate) fn random_spi(&mut self) -> u32 {
        loop {
            let spi = self.random_u64() as u32;
            if spi > 255 && !self.spis.contains(&spi) {
                return spi;
            }
        }
    }

    /// Returns the peer that answers a first message: the longest matching prefix.
    pub(crate) fn peer_for(
        &self,
        local: IpAddr,
        remote: IpAddr,
        exchange: Exchange,
    ) -> Option<PeerId> {
        let matching = self.peers.iter().filter(|(_, peer)| {
            let here = peer.local.is_none_or(|address| address == local);
            here && peer.exchange == exchange && peer.address.contains(&remote)
        });
        let best =
            matching.max_by_key(|(id, peer)| (peer.address.prefix_len(), core::cmp::Reverse(**id)));
        best.map(|(id, _)| *id)
    }

    /// Returns the templates of a group in configured order.
    pub(crate) fn templates<'a>(
        &'a self,
        group: &'a str,
    ) -> impl Iterator<Item = (PolicyId, &'a Arc<Policy>)> {
        let mut found: Vec<_> = self
            .policies
            .iter()
            .filter(|(_, policy)| policy.template.as_deref() == Some(group))
            .map(|(id, policy)| (*id, policy))
            .collect();
        found.sort_by_key(|(_, policy)| policy.place);
        found.into_iter()
    }

    /// Returns the policies of a peer in configured order, without templates.
    pub(crate) fn policies_of(&self, peer: PeerId) -> Vec<(PolicyId, Arc<Policy>)> {
        let of_peer = self
            .policies
            .iter()
            .filter(|(_, policy)| policy.template.is_none() && policy.peer == Some(peer));
        let mut found: Vec<_> = of_peer.map(|(id, policy)| (*id, policy.clone())).collect();
        found.sort_by_key(|(_, policy)| policy.place);
        found
    }
}

impl Context<'_> {
    /// Rate limit of log entries that unauthenticated senders cause: returns true once a second.
    pub(crate) fn tells_of_stranger(&mut self) -> bool {
        let last = self.core.stranger_at;
        let is_due = last.is_none_or(|at| at + STRANGER_LOG_INTERVAL <= self.now);
        if is_due {
            self.core.stranger_at = Some(self.now);
        }
        is_due
    }

    /// Emits a log entry.
    pub(crate) fn log(&mut self, level: Level, text: String) {
        self.out.push(Action::Log(Log { level, text }));
    }
}

/// A request to retransmit until it is answered.
#[derive(Debug)]
pub(crate) struct Resend {
    /// The message, or its fragments.
    pub(crate) bytes: Vec<Vec<u8>>,
    sent: u32,
    since: Instant,
    /// Time of the next retransmission.
    pub(crate) at: Instant,
    /// Time to give up on a silent peer; `None` counts retransmissions instead.
    until: Option<Instant>,
    /// Longest interval between retransmissions.
    longest: Duration,
}

/// Maximum number of transmissions to a silent peer.
const MAX_TRANSMISSIONS: u32 = 7;

impl Resend {
    /// Starts retransmission of a message that has just been sent.
    pub(crate) fn new(bytes: Vec<Vec<u8>>, now: Instant) -> Self {
        Self {
            bytes,
            sent: 1,
            since: now,
            at: now + Duration::from_secs(1),
            until: None,
            longest: Duration::from_secs(16),
        }
    }

    /// Gives up after a time instead of a number of retransmissions.
    pub(crate) fn give_up_after(mut self, patience: Duration) -> Self {
        let until = self.since + patience;
        // Short intervals, so that packet loss alone does not end the SA.
        self.longest = (patience / 10).max(Duration::from_millis(100));
        self.at = self.at.min(self.since + self.longest);
        self.until = Some(until);
        self
    }

    fn patience(&self, until: Instant) -> Duration {
        until.saturating_since(self.since)
    }

    /// Retransmits if it is due. Returns false if the peer did not answer in time.
    pub(crate) fn again(&mut self, common: &mut Common, cx: &mut Context<'_>) -> bool {
        if cx.now < self.at {
            return true;
        }
        // A peer that sent something since is alive, only its responses are lost: wait longer.
        let lives = common.last_seen > self.since;
        let until = self.until.map(|until| match lives {
            true => until + self.patience(until) * 3,
            false => until,
        });
        let is_enough = match until {
            Some(until) => until <= cx.now,
            None => {
                self.sent
                    >= if lives {
                        2 * MAX_TRANSMISSIONS
                    } else {
                        MAX_TRANSMISSIONS
                    }
            }
        };
        if is_enough {
            return false;
        }
        // 1, 2, 4, 8, 16, 16 seconds: gives up after 63.
        let wait = Duration::from_secs(1 << self.sent.min(4)).min(self.longest);
        self.sent += 1;
        self.at = until.map_or(cx.now + wait, |until| until.min(cx.now + wait));
        for bytes in self.bytes.clone() {
            common.send(bytes, cx);
        }
        true
    }
}
