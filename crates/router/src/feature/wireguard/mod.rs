//! `/interface/wireguard`: WireGuard interfaces, peers and sessions.
//!
//! ```text
//! menus ─▶ read ─▶ wireguard::Device ─▶ actions ─▶ sessions ─▶ workers (peers, sessions by number)
//!                  └──────▶ networks behind peers ────────────▶ workers (the interface)
//! ```
//! Handshake messages are datagrams of this router. A worker with a packet for a peer without a session passes the
//! packet to control, where it waits for a session ([`Wireguards::want_session`]). For the timers control reads the
//! workers' traffic counters four times a second.

mod client;
pub(crate) mod conf;
mod gate;
mod read;
mod sessions;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::DropReason;
use dataplane::encap::Encapsulation;
use dataplane::encap::wireguard::{Allowed, Peer as SharedPeer, Sessions as SharedSessions};
use dataplane::gate::{Gate, Gated};
use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use machine::{Duration, Instant};
use menu::{Call, Changes, Id, Menu, Reason, Reply, Row, Value};
use wireguard::{Action, Device, Entropy, Event, PeerId};

pub use self::read::public_key;

use self::gate::{WireguardGate, reason};
use self::read::{Host, Network, Peer};
use self::sessions::{Sessions, Waiting};
use super::hear::{Datagram, ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View, each_item};
use crate::clock::DayClock;
use crate::drive::timers::Timers;
use crate::intent::{ItemId, ItemState, Name};
use crate::kind::wireguard::MENU;
use crate::live::number;
use crate::running::Running;

pub(crate) const PEERS: &str = "/interface/wireguard/peers";
/// Limit of messages from known peers that a worker passes to control.
const RATE: Rate = Rate {
    per_second: 2000,
    burst: 1000,
};
/// Interval at which control reads the workers' traffic counters of peers.
const LOOK: Duration = Duration::from_millis(250);

/// All WireGuard interfaces, peers and sessions.
pub(crate) struct Wireguards {
    gate: Arc<WireguardGate>,
    entropy: fn() -> Entropy,
    clock: DayClock,
    networks: BTreeMap<ItemId, Net>,
    /// Deadlines of devices, by interface.
    timers: Timers<ItemId>,
    names: BTreeMap<Name, ItemId>,
    /// Interface that listens on each UDP port: the first one configured for it.
    ports: BTreeMap<u16, ItemId>,
    peers: BTreeMap<ItemId, PeerState>,
    /// Peers by number in the workers, and by the name of their interface.
    numbers: BTreeMap<u32, ItemId>,
    of: BTreeSet<(Name, ItemId)>,
    /// Number of the next peer.
    next: u32,
    sessions: Sessions,
    /// Resolved addresses of peers' names.
    addresses: BTreeMap<Arc<str>, Vec<IpAddr>>,
    look: Option<Instant>,
    now: Instant,
}

impl core::fmt::Debug for Wireguards {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Wireguards")
            .field("peers", &self.numbers)
            .finish_non_exhaustive()
    }
}

/// A WireGuard interface.
struct Net {
    read: Network,
    device: Device,
    /// Its interface id, once it has one.
    id: Option<InterfaceId>,
}

/// A peer.
struct PeerState {
    read: Peer,
    shared: Arc<SharedPeer>,
    waiting: Waiting,
}

impl Wireguards {
    /// Returns an instance without interfaces. Keys and indexes come from `entropy`, which is
    /// called anew for each interface; handshake timestamps come from `clock`.
    pub(crate) fn new(entropy: fn() -> Entropy, clock: DayClock) -> Self {
        Self {
            gate: Arc::default(),
            entropy,
            clock,
            networks: BTreeMap::new(),
            timers: Timers::default(),
            names: BTreeMap::new(),
            ports: BTreeMap::new(),
            peers: BTreeMap::new(),
            numbers: BTreeMap::new(),
            of: BTreeSet::new(),
            next: 1,
            sessions: Sessions::default(),
            addresses: BTreeMap::new(),
            look: None,
            now: Instant::ZERO,
        }
    }

    /// Sets the workers' table of receiving sessions.
    pub(crate) fn set_sessions(&mut self, sessions: &Arc<SharedSessions>) {
        self.sessions.set_table(sessions);
    }

    /// Starts a handshake: a worker has a packet for a peer without a session.
    ///
    /// # Errors
    ///
    /// The peer has no endpoint, or its packet queue is full.
    pub(crate) fn want_session(
        &mut self,
        peer: u32,
        packet: &[u8],
        now: Instant,
        out: &mut Effects,
    ) -> Result<(), DropReason> {
        let none = DropReason::WireguardNoSession;
        let item = self.numbers.get(&peer).copied().ok_or(none)?;
        let network = self.network_of(item).ok_or(none)?;
        // The first packet received by a session confirms it for sending.
        self.look_at(network, item, now, out);
        let one = self.peers.get_mut(&item).ok_or(none)?;
        let has_endpoint = one.shared.endpoint().is_some();
        let put = one.waiting.put(packet);
        if one.shared.sending().is_some() && has_endpoint {
            self.send_waiting(item, now, out);
            return put;
        }
        self.handle(network, Event::Wanted(PeerId(peer)), now, out);
        match has_endpoint {
            true => put,
            false => {
                self.lose_waiting(item, out);
                Ok(())
            }
        }
    }

    fn network_of(&self, peer: ItemId) -> Option<ItemId> {
        let name = &self.peers.get(&peer)?.read.interface;
        self.names.get(name).copied()
    }

    /// Returns the peers of an interface.
    fn peers_of(&self, name: &Name) -> impl Iterator<Item = (ItemId, &PeerState)> {
        let all = { self.of.range((name.clone(), 0)..) }.take_while(move |(of, _)| of == name);
        all.filter_map(|(_, id)| Some((*id, self.peers.get(id)?)))
    }

    /// Returns the allowed networks of an interface's peers.
    fn allowed(&self, name: &Name) -> Allowed {
        Allowed::new(self.peers_of(name).flat_map(|(_, one)| {
            let networks = one.read.allowed.iter();
            networks.map(|network| (*network, Arc::clone(&one.shared)))
        }))
    }

    /// Passes an event to the device of an interface and carries out its actions.
    fn handle(&mut self, network: ItemId, event: Event<'_>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        if let Some(net) = self.networks.get_mut(&network) {
            let time = Event::Clock(unix_nanos(&self.clock));
            net.device.handle(time, now, &mut actions);
            net.device.handle(event, now, &mut actions);
            self.timers.set(network, net.device.deadline());
        }
        self.act_all(network, actions, now, out);
    }

    fn act_all(&mut self, network: ItemId, actions: Vec<Action>, now: Instant, out: &mut Effects) {
        let moved = actions
            .iter()
            .any(|action| matches!(action, Action::Endpoint { .. }));
        for action in actions {
            self.act_on(network, action, now, out);
        }
        if moved {
            let peers = self.peers.values().filter_map(|one| one.shared.endpoint());
            self.gate.set_peers(peers.map(|at| at.ip()).collect());
        }
        self.look = match (self.sessions.is_empty(), self.look) {
            (true, _) => None,
            (false, None) => Some(now + LOOK),
            (false, look) => look,
        };
    }

    fn act_on(&mut self, network: ItemId, action: Action, now: Instant, out: &mut Effects) {
        let item_of = |peer: PeerId| self.numbers.get(&peer.0).copied();
        match action {
            Action::Send { to, bytes } => self.send(network, to, bytes, out),
            Action::Install(pair) => {
                let peer = item_of(pair.peer).and_then(|item| Some((item, self.peers.get(&item)?)));
                let id = self.networks.get(&network).and_then(|net| net.id);
                if let (Some((item, one)), Some(id)) = (peer, id) {
                    let is_idle = one.waiting.is_empty();
                    self.sessions.install(&pair, &one.shared, id);
                    match is_idle && pair.is_initiator {
                        // The responder may only send after it received a packet by the new
                        // session.
                        true => self.send_message(item, &[], now, out),
                        false => self.send_waiting(item, now, out),
                    }
                }
            }
            Action::Activate { local, .. } => self.sessions.activate(local),
            Action::Remove { local } => self.sessions.remove(local),
            Action::Endpoint { peer, to } => {
                if let Some(one) = item_of(peer).and_then(|item| self.peers.get(&item)) {
                    one.shared.set_endpoint(Some(to));
                }
            }
            Action::Keepalive(peer) => {
                if let Some(item) = item_of(peer) {
                    self.send_message(item, &[], now, out);
                }
            }
            Action::GaveUp(peer) => {
                if let Some(item) = item_of(peer) {
                    self.lose_waiting(item, out);
                }
            }
            Action::Log(log) => {
                let name = self
                    .networks
                    .get(&network)
                    .map(|net| &net.read.interface.name);
                let topics = match log.level {
                    wireguard::LogLevel::Debug => "wireguard,debug",
                    wireguard::LogLevel::Info => "wireguard,info",
                    wireguard::LogLevel::Error => "wireguard,error",
                };
                out.log(
                    topics,
                    format!("{}: {}", name.map_or("", |name| name), log.text),
                );
            }
        }
    }

    /// Sends the packets that waited for a session.
    fn send_waiting(&mut self, peer: ItemId, now: Instant, out: &mut Effects) {
        let Some(one) = self.peers.get_mut(&peer) else {
            return;
        };
        if one.shared.sending().is_none() {
            return;
        }
        for packet in one.waiting.take() {
            self.send_message(peer, &packet, now, out);
        }
    }

    fn lose_waiting(&mut self, peer: ItemId, out: &mut Effects) {
        if let Some(one) = self.peers.get_mut(&peer) {
            let lost = one.waiting.take().len();
            if lost > 0 {
                out.push(Effect::Lost(DropReason::WireguardNoSession, lost));
            }
        }
    }

    /// Encrypts and sends a packet to a peer; an empty packet is a keepalive.
    fn send_message(&self, peer: ItemId, packet: &[u8], now: Instant, out: &mut Effects) {
        let (Some(one), Some(network)) = (self.peers.get(&peer), self.network_of(peer)) else {
            return;
        };
        let message = sessions::seal(&one.shared, packet, now);
        if let (Some(message), Some(to)) = (message, one.shared.endpoint()) {
            self.send(network, to, message, out);
        }
    }

    fn send(&self, network: ItemId, to: SocketAddr, data: Vec<u8>, out: &mut Effects) {
        let Some(net) = self.networks.get(&network) else {
            return;
        };
        out.push(Effect::Datagram(Box::new(Datagram {
            source: None,
            from: net.read.port,
            to,
            interface: InterfaceId::NONE,
            data,
        })));
    }

    /// Passes the workers' observations of a peer to the device.
    fn look_at(&mut self, network: ItemId, peer: ItemId, now: Instant, out: &mut Effects) {
        let Some(one) = self.peers.get(&peer) else {
            return;
        };
        let observed = self.sessions.observe(&one.shared);
        let event = Event::Observed(PeerId(one.shared.number), observed);
        self.handle(network, event, now, out);
    }
}

/// Configuration from the menus.
impl Wireguards {
    /// Applies changed interfaces. Returns their names.
    fn follow_networks(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        out: &mut Effects,
    ) -> BTreeSet<Name> {
        let mut names = BTreeSet::new();
        each_item(view, MENU, changes, |id, item| {
            let read = item.and_then(|item| Network::of(id, item));
            let before = self
                .networks
                .get(&id)
                .map(|net| net.read.interface.name.clone());
            if let Some(before) = before
                && self.names.get(&before) == Some(&id)
            {
                self.names.remove(&before);
                names.insert(before);
            }
            let Some(read) = read else {
                self.take_network_away(id, view.now, out);
                return;
            };
            names.insert(read.interface.name.clone());
            self.names.insert(read.interface.name.clone(), id);
            self.put_network(id, read, view.now, out);
        });
        self.share_ports();
        names
    }

    fn put_network(&mut self, id: ItemId, read: Network, now: Instant, out: &mut Effects) {
        let (entropy, time) = (self.entropy, unix_nanos(&self.clock));
        let net = self.networks.entry(id).or_insert_with(|| Net {
            read: read.clone(),
            device: Device::new(entropy(), time, now),
            id: None,
        });
        net.read = read;
        let private = net
            .read
            .private
            .clone()
            .filter(|_| !net.read.interface.disabled);
        self.handle(id, Event::Private(private), now, out);
    }

    fn take_network_away(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        self.handle(id, Event::Private(None), now, out);
        self.networks.remove(&id);
        self.timers.set(id, None);
        out.push(Effect::Item(id, ItemState::Interface(None)));
    }

    fn share_ports(&mut self) {
        self.ports.clear();
        let enabled = { self.networks.iter() }.filter(|(_, net)| !net.read.interface.disabled);
        for (id, net) in enabled {
            self.ports.entry(net.read.port).or_insert(*id);
        }
        let classifiers = { self.ports.iter() }.filter_map(|(port, id)| {
            let classifier = self.networks.get(id)?.device.classifier()?;
            Some((*port, classifier.clone()))
        });
        self.gate.set_classifiers(classifiers.collect());
    }

    /// Applies changed peers. Returns the names of their interfaces.
    fn follow_peers(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        out: &mut Effects,
    ) -> BTreeSet<Name> {
        let mut names = BTreeSet::new();
        each_item(view, PEERS, changes, |id, item| {
            let read = item.and_then(Peer::of);
            let before = self.peers.get(&id).map(|one| one.read.clone());
            if let Some(before) = &before {
                names.insert(before.interface.clone());
                let same = read.as_ref().is_some_and(|read| {
                    (&read.interface, read.public) == (&before.interface, before.public)
                });
                if !same {
                    self.take_peer_away(id, view.now, out);
                }
            }
            if let Some(read) = read {
                names.insert(read.interface.clone());
                self.put_peer(id, read, before.as_ref(), out);
            }
        });
        names
    }

    fn put_peer(&mut self, id: ItemId, read: Peer, before: Option<&Peer>, out: &mut Effects) {
        let name_of = |peer: &Peer| match &peer.endpoint {
            Some((Host::Name(name), _)) => Some(Arc::clone(name)),
            _ => None,
        };
        let is_there = self.peers.contains_key(&id);
        let (was, is) = (
            before.filter(|_| is_there).and_then(name_of),
            name_of(&read),
        );
        if was != is {
            for (name, wanted) in [(is, true), (was, false)] {
                if let Some(name) = name {
                    out.push(Effect::Resolve { name, wanted });
                }
            }
        }
        self.of.insert((read.interface.clone(), id));
        match self.peers.get_mut(&id) {
            Some(one) => one.read = read,
            None => {
                let shared = Arc::new(SharedPeer::new(self.next));
                self.numbers.insert(self.next, id);
                self.next = self.next.wrapping_add(1).max(1);
                let waiting = Waiting::default();
                self.peers.insert(
                    id,
                    PeerState {
                        read,
                        shared,
                        waiting,
                    },
                );
            }
        }
    }

    fn take_peer_away(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        let network = self.network_of(id);
        self.lose_waiting(id, out);
        let Some(one) = self.peers.remove(&id) else {
            return;
        };
        self.numbers.remove(&one.shared.number);
        self.of.remove(&(one.read.interface.clone(), id));
        if let Some((Host::Name(name), _)) = one.read.endpoint {
            let wanted = false;
            out.push(Effect::Resolve { name, wanted });
        }
        if let Some(network) = network {
            let gone = Event::Peer(PeerId(one.shared.number), None);
            self.handle(network, gone, now, out);
        }
    }

    /// Passes an interface and its peers to the device and to control.
    fn tell(&mut self, name: &Name, now: Instant, out: &mut Effects) {
        let Some(id) = self.names.get(name).copied() else {
            return;
        };
        let Some(net) = self.networks.get(&id) else {
            return;
        };
        let has_port = self.ports.get(&net.read.port) == Some(&id);
        let interface = match has_port {
            true => net.read.with(self.allowed(name)),
            false => net.read.idle(),
        };
        if !has_port && !net.read.interface.disabled {
            out.log(
                "wireguard,error",
                format!(
                    "{name}: another interface listens on port {}",
                    net.read.port
                ),
            );
        }
        out.push(Effect::Item(id, ItemState::Interface(Some(interface))));
        let peers: Vec<_> = { self.peers_of(name) }
            .map(|(_, one)| (one.shared.number, self.peer(&one.read)))
            .collect();
        for (number, peer) in peers {
            self.handle(id, Event::Peer(PeerId(number), Some(peer)), now, out);
        }
    }

    /// Returns a peer as the device needs it.
    fn peer(&self, read: &Peer) -> wireguard::Peer {
        let endpoint = { read.endpoint.as_ref() }.and_then(|(host, port)| {
            let address = match host {
                Host::Address(address) => *address,
                Host::Name(name) => *self.addresses.get(name)?.first()?,
            };
            Some(SocketAddr::new(address, *port))
        });
        wireguard::Peer {
            public: read.public,
            preshared: read.preshared.clone(),
            endpoint,
            keepalive: read.keepalive,
            responder: read.responder,
        }
    }
}

/// Returns the time of day for devices; times before 1970 count as 1970.
fn unix_nanos(clock: &DayClock) -> u64 {
    u64::try_from(clock.unix_nanos()).unwrap_or(0)
}

impl Feature for Wireguards {
    fn menus(&self) -> &'static [&'static str] {
        &[MENU, PEERS]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        self.now = view.now;
        let mut names = self.follow_peers(view, changes, out);
        let others = self.follow_networks(view, changes, out);
        if !others.is_empty() {
            // Another interface may get the port now.
            names.extend(self.names.keys().cloned());
        }
        for name in names {
            self.tell(&name, view.now, out);
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        self.now = now;
        if self.look.is_some_and(|at| at <= now) {
            self.look = Some(now + LOOK);
            for peer in self.sessions.peers() {
                let item = self.numbers.get(&peer).copied();
                if let Some((item, network)) =
                    item.and_then(|item| Some((item, self.network_of(item)?)))
                {
                    self.look_at(network, item, now, out);
                }
            }
        }
        let due: Vec<_> = core::iter::from_fn(|| self.timers.due(now)).collect();
        for network in due {
            let mut actions = Vec::new();
            if let Some(net) = self.networks.get_mut(&network) {
                let time = Event::Clock(unix_nanos(&self.clock));
                net.device.handle(time, now, &mut actions);
                net.device.tick(now, &mut actions);
                self.timers.set(network, net.device.deadline());
            }
            self.act_all(network, actions, now, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timers.deadline().into_iter().chain(self.look).min()
    }

    fn services(&self) -> Vec<Service> {
        let both = |port: &u16| [false, true].map(|ipv6| Match::Udp { ipv6, port: *port });
        let ports: Vec<_> = self.ports.keys().flat_map(both).collect();
        match ports.is_empty() {
            true => Vec::new(),
            false => {
                let gate: Arc<dyn Gate> = Arc::clone(&self.gate) as _;
                vec![Service {
                    gate: Gated(Some(gate)),
                    ..Service::new("wireguard", ports, RATE)
                }]
            }
        }
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some((from, local, bytes)) = heard.datagram() else {
            return ReceiveOutcome::Bad(DropReason::WireguardMalformed);
        };
        let Some(network) = self.ports.get(&local.port()).copied() else {
            return ReceiveOutcome::NotMine;
        };
        let event = Event::Datagram { from, bytes };
        self.handle(network, event, running.now, out);
        let refusal = { self.networks.get_mut(&network) }.and_then(|net| net.device.take_refusal());
        refusal.map_or(ReceiveOutcome::Taken, |name| {
            ReceiveOutcome::Bad(reason(name))
        })
    }

    fn lay_out(&mut self, others: &BTreeSet<InterfaceId>, running: &Running<'_>, _: &mut Effects) {
        for id in others {
            let laid = running.layout.interfaces.get(id);
            let laid = laid.filter(|laid| matches!(laid.tunnel, Some(Encapsulation::Wireguard(_))));
            let item = laid.and_then(|laid| self.names.get(&laid.name));
            for (of, net) in &mut self.networks {
                if Some(of) == item {
                    net.id = Some(*id);
                } else if net.id == Some(*id) {
                    net.id = None;
                }
            }
        }
    }

    fn resolved(&mut self, name: &str, addresses: &[IpAddr], now: Instant, out: &mut Effects) {
        let at = |one: &PeerState| matches!(&one.read.endpoint, Some((Host::Name(of), _)) if **of == *name);
        let of = self.peers.values().filter(|one| at(one));
        let names: BTreeSet<_> = of.map(|one| one.read.interface.clone()).collect();
        if names.is_empty() {
            self.addresses.remove(name);
            return;
        }
        self.addresses.insert(Arc::from(name), addresses.to_vec());
        for name in names {
            self.tell(&name, now, out);
        }
    }

    fn annotate_at(&self, menu: &'static Menu, id: Id, now: Instant, row: &mut Row) {
        if menu.path == MENU {
            if let Some(public) = self.networks.get(&id.0).and_then(|net| net.device.public()) {
                row.set("public-key", Value::text(public.to_string()));
            }
            return;
        }
        let Some(one) = self.peers.get(&id.0) else {
            return;
        };
        row.set("public-key", Value::text(one.read.public.to_string()));
        if let Some(endpoint) = one.shared.endpoint() {
            row.set(
                "current-endpoint-address",
                Value::text(endpoint.ip().to_string()),
            );
            row.set("current-endpoint-port", number(endpoint.port().into()));
        }
        row.set("rx", number(one.shared.received.bytes()));
        row.set("tx", number(one.shared.sent.bytes()));
        let network = self
            .network_of(id.0)
            .and_then(|network| self.networks.get(&network));
        let last = network.and_then(|net| net.device.last_handshake(PeerId(one.shared.number)));
        if let Some(last) = last {
            let span = now.saturating_since(last).as_secs();
            let nanos = i64::try_from(span)
                .unwrap_or(i64::MAX)
                .saturating_mul(1_000_000_000);
            row.set("last-handshake", Value::Time(nanos));
        }
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        match (call.menu.path, call.command) {
            (PEERS, "show-client-config") => {
                let rows = call.items.iter().map(|id| client::row(view, *id));
                let rows = rows.collect::<Result<_, _>>();
                Some(rows.map(|rows| Reply { rows, made: None }))
            }
            _ => None,
        }
    }
}
