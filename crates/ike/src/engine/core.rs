//! What all IKE SAs share: configuration, pairs of SAs, counters, random bytes, and what is to be done next.

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use machine::{Duration, Instant};

use super::{Counters, Entropy};
use crate::config::{Auth, Exchange, Peer, PeerId, Policy, PolicyId};
use crate::event::{
    Action, Child, ChildId, Level, Log, Phase2, SaId, Settings, Side, State, Traffic, Why,
};
use crate::suite::{Cipher, Group, Hash};

/// What the engine's agenda is kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// An IKE SA's timers.
    Sa(SaId),
    /// A pair's lifetimes.
    Child(ChildId),
    /// A peer that is to be talked to.
    Peer(PeerId),
}

/// When what is due.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    order: BTreeSet<(Instant, Key)>,
    times: BTreeMap<Key, Instant>,
}

impl Agenda {
    /// Sets, or forgets, when something is due.
    pub(crate) fn set(&mut self, key: Key, at: Option<Instant>) {
        if let Some(before) = self.times.remove(&key) {
            self.order.remove(&(before, key));
        }
        if let Some(at) = at {
            self.times.insert(key, at);
            self.order.insert((at, key));
        }
    }

    /// What is due first.
    pub(crate) fn first(&self) -> Option<(Instant, Key)> {
        self.order.first().copied()
    }
}

/// A pair of SAs and its timers.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The pair.
    pub(crate) child: Child,
    /// When it is replaced; none if that goes on, or is not this side's.
    pub(crate) soft_at: Option<Instant>,
    /// When it is removed.
    pub(crate) hard_at: Instant,
    /// When it is used for packets that leave, though nothing was heard under it.
    pub(crate) active_at: Option<Instant>,
    /// Whether another is there in its place.
    pub(crate) replaced: bool,
    /// Whether another IKE SA made it, which gave way to the one that has it now (IKEv1).
    pub(crate) inherited: bool,
}

impl Kept {
    fn due(&self) -> Instant {
        let soft = self.soft_at.unwrap_or(self.hard_at);
        let active = self.active_at.unwrap_or(self.hard_at);
        self.hard_at.min(soft).min(active)
    }
}

/// What an IKE SA asks the engine for, because it reaches beyond the SA.
pub(crate) enum Order {
    /// A new IKE SA with the peer in place of this one (IKEv1).
    Renew(SaId),
    /// This IKE SA is there.
    Established(SaId),
    /// Packets leave under this pair.
    Active(ChildId),
    /// Other SAs with the same peer are of a life before this one.
    OnlyOne(SaId),
    /// This policy's SAs were not agreed on.
    Failed(PolicyId, Why),
    /// An IKE SA came of another (IKEv2).
    Adopt(Box<crate::v2::Sa>),
}

/// What all IKE SAs share.
pub(crate) struct Core {
    pub(crate) peers: BTreeMap<PeerId, Arc<Peer>>,
    pub(crate) policies: BTreeMap<PolicyId, Arc<Policy>>,
    pub(crate) settings: Settings,
    pub(crate) counters: Counters,
    pub(crate) entropy: Entropy,
    pub(crate) children: BTreeMap<ChildId, Kept>,
    pub(crate) agenda: Agenda,
    pub(crate) orders: VecDeque<Order>,
    /// When something was logged last that anybody can cause.
    stranger_at: Option<Instant>,
    spis: BTreeSet<u32>,
    next: u64,
}

/// The core, the time, and where actions go.
pub(crate) struct Context<'a> {
    pub(crate) core: &'a mut Core,
    pub(crate) now: Instant,
    pub(crate) out: &'a mut Vec<Action>,
}

/// Algorithms of an IKE SA: encryption, hash (IKEv2: integrity), PRF, group.
pub(crate) type Suite = (Cipher, Hash, Hash, Group);

/// What an IKE SA of either version is.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) id: SaId,
    pub(crate) peer_id: PeerId,
    pub(crate) peer: Arc<Peer>,
    pub(crate) side: Side,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Whether messages have the marker: it has moved to port 4500.
    pub(crate) natt: bool,
    /// Whether there is a translator before this side, and before the peer.
    pub(crate) translated: (bool, bool),
    pub(crate) spis: (u64, u64),
    pub(crate) state: State,
    pub(crate) born: Instant,
    pub(crate) established: Option<Instant>,
    pub(crate) last_seen: Instant,
    pub(crate) last_sent: Instant,
    pub(crate) remote_id: Option<crate::config::Id>,
    /// Which of the peer's identities, once that is known.
    pub(crate) identity: usize,
    pub(crate) suite: Option<Suite>,
    pub(crate) leased: Option<IpAddr>,
    pub(crate) received: Traffic,
    pub(crate) sent: Traffic,
    /// Policies that want SAs as soon as it is there, and the pairs that those replace.
    pub(crate) wanted: VecDeque<(PolicyId, Option<ChildId>)>,
}

/// How many policies wait for an IKE SA at most.
const WANTED: usize = 1024;
/// How long a pair stays behind the one that replaced it, if nobody deletes it.
const BEHIND: Duration = Duration::from_secs(60);
/// How long the answer to a question whether the peer lives may take at most.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Messages that anybody can send are logged this often at most.
const STRANGERS: Duration = Duration::from_secs(1);
/// How often a keepalive is sent (RFC 3948, 4).
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(20);

impl Common {
    /// An SA that is about to begin.
    pub(crate) fn new(
        id: SaId,
        (peer_id, peer): (PeerId, Arc<Peer>),
        side: Side,
        (local, remote): (SocketAddr, SocketAddr),
        now: Instant,
    ) -> Self {
        Self {
            id,
            peer_id,
            peer,
            side,
            local,
            remote,
            natt: false,
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

    /// The SPI that this side chose.
    pub(crate) const fn own_spi(&self) -> u64 {
        match self.side {
            Side::Initiator => self.spis.0,
            Side::Responder => self.spis.1,
        }
    }

    /// Whether it is being made.
    pub(crate) fn is_half_open(&self) -> bool {
        self.state < State::Established
    }

    /// Whether the identity in use is that of a user with a password, behind a secret.
    pub(crate) fn logs_in(&self) -> bool {
        let identity = self.peer.identities.get(self.identity);
        identity.is_some_and(|one| matches!(one.auth, Auth::PskXauth { .. }))
    }

    /// The name of the user that has logged in, as responder.
    pub(crate) fn user(&self) -> Option<String> {
        let identity = self.peer.identities.get(self.identity)?;
        let logged_in = self.side == Side::Responder && self.state == State::Established;
        match &identity.auth {
            Auth::PskXauth { user, .. } if logged_in => Some(user.clone()),
            _ => None,
        }
    }

    /// Why it is over when its time is.
    pub(crate) const fn end(&self) -> Why {
        match self.state {
            State::Established => Why::Expired,
            State::Expired => Why::Replaced,
            _ => Why::Unreachable,
        }
    }

    /// How long a peer may leave what it is asked without an answer: `dpd-maximum-failures` times `dpd-interval`, of
    /// which 5 seconds count at most. `None` without the detection of dead peers.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let (interval, failures) = self.peer.profile.dpd?;
        let each = interval.min(PATIENCE);
        (!interval.is_zero()).then(|| each.saturating_mul(failures.max(1)))
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

    /// Counts a message that arrived.
    pub(crate) fn count(&mut self, len: usize) {
        self.received.packets += 1;
        self.received.bytes += len as u64;
    }

    /// Wants SAs for a policy later.
    pub(crate) fn want(&mut self, policy: PolicyId, replaces: Option<ChildId>) {
        let there = self.wanted.iter().any(|(other, _)| *other == policy);
        if !there && self.wanted.len() < WANTED {
            self.wanted.push_back((policy, replaces));
        }
    }

    /// Moves to port 4500 as initiator (RFC 3947, 4; RFC 7296, 2.23).
    pub(crate) fn move_to_4500(&mut self) {
        self.natt = true;
        self.local.set_port(4500);
        if self.remote.port() == self.peer.port {
            self.remote.set_port(4500);
        }
    }

    /// The peer is where it was heard last, if it may move: only what was authenticated may say so.
    pub(crate) fn follow(
        &mut self,
        (local, remote): (SocketAddr, SocketAddr),
        natt: bool,
        cx: &mut Context<'_>,
    ) {
        let moved = (self.local, self.remote) != (local, remote);
        if !moved || (!self.translated.1 && self.remote.ip() != remote.ip()) {
            return;
        }
        (self.local, self.remote, self.natt) = (local, remote, natt);
        if !natt {
            return;
        }
        let own = cx
            .core
            .children
            .values_mut()
            .filter(|kept| kept.child.sa == self.id);
        for kept in own.filter(|kept| kept.child.natt) {
            (kept.child.local, kept.child.remote) = (local, remote);
            let child = kept.child.id;
            cx.out.push(Action::Moved {
                child,
                local,
                remote,
                natt,
            });
        }
    }

    /// Sends a keepalive if one is due, and says when the next is; none if this side is not behind a translator.
    pub(crate) fn keepalive_at(&self) -> Option<Instant> {
        let needed = self.natt && self.translated.0 && self.established.is_some();
        needed.then(|| self.last_sent + KEEPALIVE)
    }

    /// Sends a keepalive if one is due.
    pub(crate) fn keep_alive(&mut self, cx: &mut Context<'_>) {
        if self.keepalive_at().is_some_and(|at| at <= cx.now) {
            self.last_sent = cx.now;
            cx.out.push(Action::Keepalive {
                local: self.local,
                remote: self.remote,
            });
        }
    }

    /// The SA as RouterOS's log writes it: `peer 192.0.2.1[500]-198.51.100.2[500] spi:0123456789abcdef:…`.
    pub(crate) fn label(&self) -> String {
        let end = |end: SocketAddr| format!("{}[{}]", end.ip(), end.port());
        let (local, remote) = (end(self.local), end(self.remote));
        let (initiator, responder) = self.spis;
        let name = &self.peer.name;
        format!("{name} {local}-{remote} spi:{initiator:016x}:{responder:016x}")
    }

    /// Logs what a peer offered and what is configured, for whoever looks for the reason of a refusal.
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
    /// Nothing yet.
    pub(crate) fn new(entropy: Entropy) -> Self {
        Self {
            peers: BTreeMap::new(),
            policies: BTreeMap::new(),
            settings: Settings::default(),
            counters: Counters::new(),
            entropy,
            children: BTreeMap::new(),
            agenda: Agenda::default(),
            orders: VecDeque::new(),
            stranger_at: None,
            spis: BTreeSet::new(),
            next: 0,
        }
    }

    /// Counts something under a name.
    pub(crate) fn count(&mut self, name: &'static str) {
        *self.counters.entry(name).or_default() += 1;
    }

    /// A number that was not used before.
    pub(crate) const fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Random bytes.
    pub(crate) fn random(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        (self.entropy)(&mut bytes);
        bytes
    }

    /// A random number that is not 0.
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

    /// A random SPI that no pair has; 0 to 255 are reserved (RFC 4303, 2.1).
    pub(crate) fn random_spi(&mut self) -> u32 {
        loop {
            let spi = self.random_u64() as u32;
            if spi > 255 && !self.spis.contains(&spi) {
                return spi;
            }
        }
    }

    /// The peer that answers a first message: of those that match, the one with the longest prefix.
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

    /// Templates of a group, in their order.
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

    /// Policies with a peer, in their order.
    pub(crate) fn policies_of(&self, peer: PeerId) -> Vec<(PolicyId, Arc<Policy>)> {
        let of_peer = self
            .policies
            .iter()
            .filter(|(_, policy)| policy.template.is_none() && policy.peer == Some(peer));
        let mut found: Vec<_> = of_peer.map(|(id, policy)| (*id, policy.clone())).collect();
        found.sort_by_key(|(_, policy)| policy.place);
        found
    }

    /// Pairs of a policy that no other replaces.
    pub(crate) fn pairs_of(&self, policy: PolicyId) -> usize {
        let pairs = self
            .children
            .values()
            .filter(|kept| kept.child.policy == policy);
        pairs.filter(|kept| !kept.replaced).count()
    }

    /// Pairs of an IKE SA.
    pub(crate) fn pairs_with(&self, sa: SaId) -> Vec<ChildId> {
        let pairs = self.children.values().filter(|kept| kept.child.sa == sa);
        pairs.map(|kept| kept.child.id).collect()
    }

    /// The pair of an IKE SA's peer whose outbound SPI this is.
    pub(crate) fn pair_out(&self, sa: SaId, spi: u32) -> Option<ChildId> {
        let mut pairs = self.children.values().filter(|kept| kept.child.sa == sa);
        let found = pairs.find(|kept| kept.child.outbound.spi == spi)?;
        Some(found.child.id)
    }

    /// How far a policy is, as far as pairs say it.
    pub(crate) fn phase2(&self, policy: PolicyId) -> (Phase2, usize) {
        match self.pairs_of(policy) {
            0 => (Phase2::NoPhase2, 0),
            count => (Phase2::Established, count),
        }
    }

    pub(crate) fn reschedule(&mut self, id: ChildId) {
        let at = self.children.get(&id).map(Kept::due);
        self.agenda.set(Key::Child(id), at);
    }
}

impl Context<'_> {
    /// Whether the log may be told of a message that anybody can send: once a second.
    pub(crate) fn tells_of_stranger(&mut self) -> bool {
        let last = self.core.stranger_at;
        let is_due = last.is_none_or(|at| at + STRANGERS <= self.now);
        if is_due {
            self.core.stranger_at = Some(self.now);
        }
        is_due
    }

    /// Says something in the log.
    pub(crate) fn log(&mut self, level: Level, text: String) {
        self.out.push(Action::Log(Log { level, text }));
    }

    /// Has a pair of SAs. `soft` is after how long this side replaces it, or none if it does not.
    pub(crate) fn install(&mut self, child: Child, soft: Option<Duration>) {
        let id = child.id;
        self.core.spis.insert(child.inbound.spi);
        if child.active {
            self.core.orders.push_back(Order::Active(id));
        }
        let replaces = child.replaces;
        let kept = Kept {
            soft_at: soft.map(|soft| child.born + soft),
            hard_at: child.born + child.hard,
            active_at: None,
            replaced: false,
            inherited: false,
            child: child.clone(),
        };
        self.core.children.insert(id, kept);
        self.core.reschedule(id);
        self.out.push(Action::Install(Box::new(child)));
        if let Some(old) = replaces.and_then(|old| self.core.children.get_mut(&old)) {
            old.replaced = true;
            old.hard_at = old.hard_at.min(self.now + BEHIND);
            old.soft_at = None;
            let old = old.child.id;
            self.core.reschedule(old);
        }
    }

    /// Packets leave under this pair from now on.
    pub(crate) fn activate(&mut self, id: ChildId) {
        let Some(kept) = self.core.children.get_mut(&id) else {
            return;
        };
        kept.active_at = None;
        if !kept.child.active {
            kept.child.active = true;
            self.core.orders.push_back(Order::Active(id));
            self.out.push(Action::Activate(id));
        }
        self.core.reschedule(id);
    }

    /// Packets leave under this pair after a while, unless something is heard under it before.
    pub(crate) fn activate_later(&mut self, id: ChildId, after: Duration) {
        if let Some(kept) = self.core.children.get_mut(&id) {
            kept.active_at = (!kept.child.active).then(|| self.now + after);
        }
        self.core.reschedule(id);
    }

    /// Removes a pair; who replaces it is used from now on.
    pub(crate) fn remove(&mut self, id: ChildId, why: Why) -> Option<Child> {
        let heirs = self.core.children.values();
        let heirs = heirs.filter(|kept| kept.child.replaces == Some(id));
        let newest = heirs.map(|kept| (kept.child.active, kept.child.id)).max();
        if let Some((false, heir)) = newest {
            self.activate(heir);
        }
        let kept = self.core.children.remove(&id)?;
        self.core.spis.remove(&kept.child.inbound.spi);
        self.core.agenda.set(Key::Child(id), None);
        self.out.push(Action::Remove {
            child: id,
            spis: (kept.child.inbound.spi, kept.child.outbound.spi),
            why,
        });
        Some(kept.child)
    }
}

/// A message that is sent until it is answered.
#[derive(Debug)]
pub(crate) struct Resend {
    /// The message, in fragments if it has some.
    pub(crate) bytes: Vec<Vec<u8>>,
    sent: u32,
    since: Instant,
    /// When it is sent again.
    pub(crate) at: Instant,
    /// When a silent peer is given up, where that is configured.
    until: Option<Instant>,
    /// Longest time between two messages.
    longest: Duration,
}

/// How often a message is sent at most.
const MOST_SENT: u32 = 7;

impl Resend {
    /// A message that has just been sent.
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

    /// Gives a silent peer up after this time, and not by the number of messages.
    pub(crate) fn give_up_after(mut self, patience: Duration) -> Self {
        let until = self.since + patience;
        // Often enough that losses alone do not end the SA.
        self.longest = (patience / 10).max(Duration::from_millis(100));
        self.at = self.at.min(self.since + self.longest);
        self.until = Some(until);
        self
    }

    fn patience(&self, until: Instant) -> Duration {
        until.saturating_since(self.since)
    }

    /// Sends it again if that is due. False if it was sent often enough, and nobody answered.
    pub(crate) fn again(&mut self, common: &mut Common, cx: &mut Context<'_>) -> bool {
        if cx.now < self.at {
            return true;
        }
        // A peer that is heard meanwhile lives: only the answers are lost.
        let lives = common.last_seen > self.since;
        let until = self.until.map(|until| match lives {
            true => until + self.patience(until) * 3,
            false => until,
        });
        let is_enough = match until {
            Some(until) => until <= cx.now,
            None => self.sent >= if lives { 2 * MOST_SENT } else { MOST_SENT },
        };
        if is_enough {
            return false;
        }
        // 1, 2, 4, 8, 16, 16 seconds: given up after 63.
        let wait = Duration::from_secs(1 << self.sent.min(4)).min(self.longest);
        self.sent += 1;
        self.at = until.map_or(cx.now + wait, |until| until.min(cx.now + wait));
        for bytes in self.bytes.clone() {
            common.send(bytes, cx);
        }
        true
    }
}
