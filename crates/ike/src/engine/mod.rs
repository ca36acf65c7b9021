//! The IKE engine: all IKE SAs of the router. Finds the SA of each message, initiates SAs that policies need,
//! and closes them.

mod admit;
mod configure;
pub(crate) mod core;
mod orders;
pub(crate) mod pair_table;
mod pairs;
mod rivals;
mod sa;
mod sa_table;

use ::core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::sync::Arc;

use machine::{Duration, Instant, Machine};

use self::core::{Context, Core, Datagram, Key, Path};
use self::sa::Sa;
use self::sa_table::SaTable;
use crate::config::{Exchange, Mode, Peer, PeerId, Policy, PolicyId};
use crate::crypto::Entropy;
use crate::event::{Action, ChildId, Event, Level, Phase2, Row, SaId, Side, State, Timer, Why};
use crate::gate::Gate;
use crate::message::{Header, Version};
use crate::{v1, v2};

/// Counters of rejected messages by reason.
pub type Counters = BTreeMap<&'static str, u64>;

/// Delay before the next attempt to reach a peer.
const RETRY: Duration = Duration::from_secs(10);
/// Delay before the next attempt to rekey a pair.
const REKEY_RETRY: Duration = Duration::from_secs(7);

/// All IKE SAs of the router.
pub struct Engine {
    core: Core,
    sas: SaTable<Sa>,
    /// Index by local SPI.
    by_spi: BTreeMap<u64, SaId>,
    /// Responder SAs by source and initiator SPI of the first message, and the reverse.
    by_first: BTreeMap<(SocketAddr, u64), SaId>,
    first_of: BTreeMap<SaId, (SocketAddr, u64)>,
    /// Half-open responder SAs with the peer's address, and their number per address.
    half_open: BTreeMap<SaId, IpAddr>,
    half_open_of: BTreeMap<IpAddr, usize>,
    /// IKE SAs that lost against others, which their initiators should delete.
    rivals: BTreeMap<SaId, SaId>,
    gate: Arc<Gate>,
}

impl Engine {
    /// Creates an engine without peers.
    pub fn new(mut entropy: Entropy) -> Self {
        let mut secret = [0; 32];
        entropy(&mut secret);
        Self {
            gate: Arc::new(Gate::new(secret)),
            core: Core::new(entropy),
            sas: SaTable::default(),
            by_spi: BTreeMap::new(),
            by_first: BTreeMap::new(),
            first_of: BTreeMap::new(),
            half_open: BTreeMap::new(),
            rivals: BTreeMap::new(),
            half_open_of: BTreeMap::new(),
        }
    }

    /// Returns the classifier of IKE datagrams, to be shared with the workers.
    pub const fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Returns the rows of `/ip/ipsec/active-peers`.
    pub fn peers(&self) -> impl Iterator<Item = Row> + '_ {
        self.sas.values().map(|sa| self.row(sa))
    }

    /// Returns the row of one IKE SA, or `None` for an unknown id.
    pub fn peer(&self, id: SaId) -> Option<Row> {
        self.sas.get(id).map(|sa| self.row(sa))
    }

    fn row(&self, sa: &Sa) -> Row {
        let common = sa.common();
        Row {
            id: common.id,
            peer: common.peer_id,
            local: common.local,
            remote: common.remote,
            remote_id: common.remote_id.clone(),
            user: common.user(),
            state: common.state,
            side: common.side,
            established: common.established,
            last_seen: common.last_seen,
            children: self.core.children.of_sa(common.id).count(),
            natt: common.translated.0 || common.translated.1,
            leased: common.leased,
            spis: common.spis,
            suite: common.suite,
            received: common.received,
            sent: common.sent,
        }
    }

    /// Returns the progress of a policy's SAs (`ph2-state`) and the number of its pairs (`ph2-count`).
    pub fn phase2(&self, policy: PolicyId) -> (Phase2, usize) {
        let (state, count) = self.core.phase2(policy);
        if count > 0 {
            return (state, count);
        }
        // Only SAs with the policy's peer negotiate for it; no policy that has no peer waits for an SA.
        let peer = { self.core.policies.get(&policy) }.and_then(|policy| policy.peer);
        let sas = || peer.into_iter().flat_map(|peer| self.sas.of_peer(peer));
        if sas().any(|sa| sa.is_busy_with(policy)) {
            return (Phase2::Message1Sent, 0);
        }
        let waits = |sa: &Sa| sa.common().wanted.iter().any(|(id, _)| *id == policy);
        if sas().any(waits) {
            return (Phase2::Starting, 0);
        }
        (Phase2::NoPhase2, 0)
    }

    /// Returns the counters of rejected messages by reason.
    pub const fn counters(&self) -> &Counters {
        &self.core.counters
    }

    fn context<'a>(&'a mut self, now: Instant, out: &'a mut Vec<Action>) -> Context<'a> {
        Context {
            core: &mut self.core,
            now,
            out,
        }
    }

    /// Runs `act` on an SA and closes the SA if that fails.
    fn with(
        &mut self,
        id: SaId,
        now: Instant,
        out: &mut Vec<Action>,
        act: impl FnOnce(&mut Sa, &mut Context<'_>) -> Result<(), Why>,
    ) {
        let Some(mut sa) = self.sas.take(id) else {
            return;
        };
        let done = act(&mut sa, &mut self.context(now, out));
        self.put(sa);
        if let Err(why) = done {
            self.close(id, why, now, out);
        }
    }

    /// Stores an SA, and updates its timer, its indices and the half-open counters.
    fn put(&mut self, sa: Sa) {
        let id = sa.common().id;
        self.core.agenda.set(Key::Sa(id), Some(sa.deadline()));
        let common = sa.common();
        if self.by_spi.insert(common.own_spi(), id).is_none() {
            self.gate.add(common.own_spi());
        }
        if common.side == Side::Responder && common.is_half_open() {
            let address = common.remote.ip();
            if self.half_open.insert(id, address).is_none() {
                *self.half_open_of.entry(address).or_default() += 1;
                let first = (common.remote, common.spis.0);
                self.by_first.insert(first, id);
                self.first_of.insert(id, first);
            }
        } else {
            self.no_longer_half_open(id);
        }
        self.sas.put(sa);
    }

    fn no_longer_half_open(&mut self, id: SaId) {
        let Some(address) = self.half_open.remove(&id) else {
            return;
        };
        if let Some(count) = self.half_open_of.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.half_open_of.remove(&address);
            }
        }
    }

    /// Closes an SA. Its pairs are removed, or move to another IKEv1 SA with the peer.
    fn close(&mut self, id: SaId, why: Why, now: Instant, out: &mut Vec<Action>) {
        let Some(mut sa) = self.sas.take(id) else {
            return;
        };
        let mut cx = self.context(now, out);
        if matches!(
            why,
            Why::Expired | Why::Replaced | Why::Killed | Why::Reconfigured
        ) {
            sa.say_goodbye(&mut cx);
        }
        self.end_pairs(&sa, why, now, out);
        let common = sa.common();
        let mut cx = self.context(now, out);
        for policy in sa.unfinished() {
            cx.out.push(Action::Failed(policy, why));
        }
        let (peer, label, spi) = (common.peer_id, common.label(), common.own_spi());
        let was_half_open = common.is_half_open();
        let version = match &sa {
            Sa::One(_) => Version::One,
            Sa::Two(_) => Version::Two,
        };
        let level = match why {
            Why::Expired | Why::Replaced | Why::Killed | Why::Reconfigured | Why::Deleted => {
                Level::Info
            }
            // Anybody can start an SA and abandon it.
            _ if was_half_open && common.side == Side::Responder => Level::Debug,
            _ => Level::Error,
        };
        let what = match version {
            Version::One if was_half_open => "phase1 negotiation failed",
            Version::One => "ISAKMP-SA deleted",
            Version::Two => "killing ike2 SA",
        };
        cx.log(level, format!("{what}: {label}: {}", why.name()));
        cx.out.push(Action::Closed(id, why));
        self.core.agenda.set(Key::Sa(id), None);
        self.core.agenda.set(Key::Rival(id), None);
        self.rivals.remove(&id);
        if self.by_spi.get(&spi) == Some(&id) {
            self.by_spi.remove(&spi);
            self.gate.remove(spi);
        }
        if let Some(first) = self.first_of.remove(&id)
            && self.by_first.get(&first) == Some(&id)
        {
            self.by_first.remove(&first);
        }
        self.no_longer_half_open(id);
        self.sas.forget(id);
        self.try_later(peer, now + RETRY);
    }

    /// Removes the pairs of an IKE SA that ends, or moves them to another IKEv1 SA with the peer.
    fn end_pairs(&mut self, sa: &Sa, why: Why, now: Instant, out: &mut Vec<Action>) {
        let heir = match (sa, why) {
            (Sa::One(_), Why::Expired | Why::Replaced | Why::Deleted) => self.heir_of(sa.common()),
            _ => None,
        };
        if let Some(heir) = heir {
            self.revive(heir);
        }
        let mut cx = self.context(now, out);
        let (unconfirmed, mut dropped) = (sa.unconfirmed(), Vec::new());
        for child in cx.core.pairs_with(sa.common().id) {
            match heir {
                Some(heir) if !unconfirmed.contains(&child) => {
                    cx.core.children.move_to(child, heir)
                }
                _ => dropped.extend(cx.remove(child, why)),
            }
        }
        if let Some(heir) = heir {
            cx.end_twins_of(heir, true);
            // The third message of a quick mode may be under way: the peer then has the pair.
            self.with(heir, now, out, |sa, cx| {
                dropped.iter().for_each(|child| sa.delete_child(child, cx));
                Ok(())
            });
        }
    }

    /// Returns the IKE SA for new pairs with a peer: an established SA, or else an SA that this side initiated.
    /// Half-open SAs that the peer initiated do not count: anybody can send a first message.
    fn best_of(&self, peer: PeerId) -> Option<SaId> {
        let sas = self.sas.of_peer(peer).map(Sa::common);
        let usable = sas.filter(|common| {
            let begun_here = common.side == Side::Initiator || !common.is_half_open();
            common.state <= State::Established && begun_here
        });
        usable
            .max_by_key(|common| (common.state, common.id))
            .map(|common| common.id)
    }

    fn try_later(&mut self, peer: PeerId, at: Instant) {
        let begins = self
            .core
            .peers
            .get(&peer)
            .is_some_and(|peer| !peer.passive && is_host(peer));
        self.core.agenda.set(Key::Peer(peer), begins.then_some(at));
    }

    /// Initiates the IKE SA and the pairs that a peer's policies need, if this side initiates.
    fn bring_up(&mut self, id: PeerId, now: Instant, out: &mut Vec<Action>) {
        self.try_later(id, now + RETRY);
        let Some(peer) = self.core.peers.get(&id).cloned() else {
            return;
        };
        if peer.passive || !is_host(&peer) {
            return;
        }
        let asks = |identity: &crate::Identity| {
            identity
                .mode_config
                .as_ref()
                .is_some_and(|config| !config.responder)
        };
        if peer.identities.first().is_some_and(asks) {
            match self.best_of(id) {
                None => self.initiate(id, None, now, out),
                Some(sa) => self.with(sa, now, out, |sa, cx| {
                    sa.open_leased(cx);
                    Ok(())
                }),
            }
        }
        for (policy, _) in self.core.policies_of(id) {
            if self.phase2(policy).0 == Phase2::NoPhase2 {
                self.acquire(policy, now, out);
            }
        }
    }

    /// Negotiates a pair for a policy that has none, with an IKE SA if necessary.
    fn acquire(&mut self, policy: PolicyId, now: Instant, out: &mut Vec<Action>) {
        let peer = self
            .core
            .policies
            .get(&policy)
            .and_then(|policy| policy.peer);
        let Some(peer) = peer.filter(|_| self.phase2(policy).0 == Phase2::NoPhase2) else {
            return;
        };
        match self.best_of(peer) {
            Some(sa) => self.with(sa, now, out, |sa, cx| {
                sa.acquire(policy, None, cx);
                Ok(())
            }),
            None => self.initiate(peer, Some(policy), now, out),
        }
    }

    /// Initiates an IKE SA with a peer whose address is a host address.
    fn initiate(
        &mut self,
        id: PeerId,
        policy: Option<PolicyId>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let Some(peer) = self
            .core
            .peers
            .get(&id)
            .filter(|peer| is_host(peer))
            .cloned()
        else {
            return;
        };
        let remote = SocketAddr::new(peer.address.addr(), peer.port);
        let policy_of = policy.and_then(|policy| self.core.policies.get(&policy));
        let local = peer.local.or_else(|| own_end(policy_of?));
        let Some(local) = local.filter(|_| !remote.ip().is_unspecified()) else {
            // Usual during startup: no route to the peer yet.
            let text = format!("{}: no address to send from or to", peer.name);
            self.context(now, out).log(Level::Debug, text);
            out.extend(policy.map(|policy| Action::Failed(policy, Why::NoAddress)));
            return;
        };
        self.initiate_at(
            id,
            Path {
                local: SocketAddr::new(local, 500),
                remote,
                natt: false,
            },
            policy,
            now,
            out,
        );
    }

    fn initiate_at(
        &mut self,
        id: PeerId,
        path: Path,
        policy: Option<PolicyId>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Option<SaId> {
        let peer = self.core.peers.get(&id).cloned()?;
        if self.sas.len() >= self.core.settings.sas {
            self.core.count("ike-too-many");
            return None;
        }
        let sa_id = SaId(self.core.number());
        let two = peer.exchange == Exchange::Ike2;
        let mut cx = self.context(now, out);
        let begun = if two {
            v2::Sa::initiate(sa_id, id, peer.clone(), path, &mut cx).map(|sa| Sa::Two(Box::new(sa)))
        } else {
            v1::Sa::initiate(sa_id, id, peer.clone(), path, &mut cx).map(|sa| Sa::One(Box::new(sa)))
        };
        match begun {
            Ok(mut sa) => {
                if let Some(policy) = policy {
                    sa.common_mut().want(policy, None);
                }
                self.put(sa);
                Some(sa_id)
            }
            Err(why) => {
                cx.log(
                    Level::Error,
                    format!("{}: cannot begin: {}", peer.name, why.name()),
                );
                out.extend(policy.map(|policy| Action::Failed(policy, why)));
                None
            }
        }
    }

    /// Dispatches a received datagram.
    fn datagram(&mut self, path: Path, bytes: &[u8], now: Instant, out: &mut Vec<Action>) {
        if bytes.len() <= 1 {
            return;
        }
        let header = match Header::read(bytes) {
            Ok((header, _)) => header,
            Err(fault) => return self.core.count(fault.name()),
        };
        if let Some(id) = self.find(&header, path.remote) {
            return self.with(id, now, out, |sa, cx| sa.input(&header, bytes, path, cx));
        }
        if header.responder != 0 || header.initiator == 0 {
            return self.core.count("unknown-spi");
        }
        let datagram = Datagram {
            header: &header,
            bytes,
            path,
        };
        self.first(&datagram, now, out);
    }

    /// Returns the SA of a message.
    fn find(&self, header: &Header, remote: SocketAddr) -> Option<SaId> {
        if header.responder == 0
            && let Some(id) = self.by_first.get(&(remote, header.initiator))
        {
            return Some(*id);
        }
        let fits = |spi: u64| {
            let id = self.by_spi.get(&spi)?;
            let common = self.sas.get(*id)?.common();
            let own = match common.side {
                Side::Initiator => header.initiator,
                Side::Responder => header.responder,
            };
            let theirs = match common.side {
                Side::Initiator => (common.spis.1, header.responder),
                Side::Responder => (common.spis.0, header.initiator),
            };
            let version =
                matches!(self.sas.get(*id)?, Sa::One(_)) == (header.version == Version::One);
            let fits = own == spi && (theirs.0 == theirs.1 || theirs.0 == 0) && version;
            fits.then_some(*id)
        };
        fits(header.responder).or_else(|| fits(header.initiator))
    }

    /// Removes a pair and notifies the peer.
    fn remove(&mut self, id: ChildId, why: Why, now: Instant, out: &mut Vec<Action>) {
        let Some(kept) = self.core.children.get(&id) else {
            return;
        };
        let (child, is_known) = (kept.child.clone(), kept.ends);
        if why != Why::Replaced || is_known || !self.context(now, out).fade(id) {
            self.context(now, out).remove(id, why);
        }
        if !is_known {
            self.with(child.sa, now, out, |sa, cx| {
                sa.delete_child(&child, cx);
                Ok(())
            });
        }
        self.try_later(child.peer, now + RETRY);
    }

    /// Starts rekeying a pair.
    fn rekey(&mut self, id: ChildId, now: Instant, out: &mut Vec<Action>) {
        let Some(kept) = self
            .core
            .children
            .get_mut(&id)
            .filter(|kept| !kept.replaced)
        else {
            return;
        };
        kept.soft_at = Some(now + REKEY_RETRY);
        let (policy, sa) = (kept.child.policy, kept.child.sa);
        self.core.reschedule(id);
        self.with(sa, now, out, |sa, cx| {
            sa.acquire(policy, Some(id), cx);
            Ok(())
        });
    }

    fn tick_child(&mut self, id: ChildId, now: Instant, out: &mut Vec<Action>) {
        let Some(kept) = self.core.children.get_mut(&id) else {
            return self.core.agenda.set(Key::Child(id), None);
        };
        if kept.hard_at <= now {
            let why = if kept.replaced {
                Why::Replaced
            } else {
                Why::Expired
            };
            return self.remove(id, why, now, out);
        }
        if kept.active_at.is_some_and(|at| at <= now) {
            self.context(now, out).activate(id);
        }
        let due = self.core.children.get(&id).and_then(|kept| kept.soft_at);
        if due.is_some_and(|at| at <= now) {
            self.rekey(id, now, out);
        }
        self.core.reschedule(id);
    }
}

/// Returns true if the peer has a host address, so that this side can initiate.
fn is_host(peer: &Peer) -> bool {
    peer.address.prefix_len() == peer.address.max_prefix_len()
}

/// Returns the local address that a policy determines, if any.
fn own_end(policy: &Policy) -> Option<IpAddr> {
    let source = policy.source.prefix;
    let host = source.prefix_len() == source.max_prefix_len();
    let source = (policy.mode == Mode::Transport && host).then(|| source.addr());
    Some(policy.ends.0)
        .filter(|address| !address.is_unspecified())
        .or(source)
}

impl Machine for Engine {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Peer(id, peer) => self.set_peer(id, peer, now, out),
            Event::Policy(id, policy) => self.set_policy(id, policy, now, out),
            Event::Settings(settings) => self.core.settings = settings,
            Event::Datagram {
                local,
                remote,
                natt,
                bytes,
            } => {
                let path = Path {
                    local,
                    remote,
                    natt,
                };
                self.datagram(path, bytes, now, out);
            }
            Event::Acquire(policy) => self.acquire(policy, now, out),
            Event::Spent(child) => self.rekey(child, now, out),
            Event::Heard(child) => self.heard(child, now, out),
            Event::UnknownSpi { remote, spi } => self.unknown_spi(remote, spi, now, out),
            Event::Kill(sa) => self.close(sa, Why::Killed, now, out),
            Event::Remove(child) => self.remove(child, Why::Killed, now, out),
            Event::Flush => {
                let all: Vec<_> = self.core.children.ids().collect();
                all.into_iter()
                    .for_each(|child| self.remove(child, Why::Killed, now, out));
            }
            Event::Leased(sa, address) => self.with(sa, now, out, |sa, cx| sa.leased(address, cx)),
            Event::Eap(sa, reply) => self.with(sa, now, out, |sa, cx| sa.eap(reply, cx)),
        }
        self.carry_out(now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some((at, key)) = self.core.agenda.first() {
            if at > now {
                break;
            }
            match key {
                Key::Sa(id) => {
                    // A tick normally moves the deadline on; an SA whose deadline stays in the past waits 100
                    // ms.
                    self.with(id, now, out, Sa::tick);
                    if self.sas.get(id).is_some_and(|sa| sa.deadline() <= now) {
                        let later = now + Duration::from_millis(100);
                        self.core.agenda.set(key, Some(later));
                    } else if !self.sas.contains(id) {
                        self.core.agenda.set(key, None);
                    }
                }
                Key::Child(id) => self.tick_child(id, now, out),
                Key::Peer(id) => self.bring_up(id, now, out),
                Key::Rival(id) => self.end_loser(id, now, out),
            }
            self.carry_out(now, out);
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let (at, key) = self.core.agenda.first()?;
        let timer = match key {
            Key::Sa(_) | Key::Rival(_) => Timer::Sa,
            Key::Child(_) => Timer::Child,
            Key::Peer(_) => Timer::Peer,
        };
        Some((at, timer))
    }
}
