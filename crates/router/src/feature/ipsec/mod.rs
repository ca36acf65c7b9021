//! `/ip/ipsec`: policies, IKE peers and installed SAs.
//!
//! ```text
//! menus, secrets of tunnels ─▶ read, secrets ─▶ Config ─▶ ike::Engine ─▶ actions ─▶ installed ─▶ Associations
//!                                                  └────▶ policy table ─▶ workers
//! ```
//! IKE messages are datagrams of this router (UDP 500 and 4500). A worker with a packet for a policy without keys
//! requests a key exchange ([`Ipsec::want_keys`]).

mod gate;
mod generated;
mod granted_leases;
mod installed;
mod leases;
mod logins;
mod policies;
mod proof;
mod read;
mod rows;
mod secrets;
mod sessions;
mod sources;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use dataplane::gate::{Gate, Gated};
use dataplane::ipsec::{Associations, Policies, Policy, Position};
use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use ike::{Action, Child, Engine, Entropy, Event, PeerId, PolicyId, SaId, Why};
use machine::{Duration, Instant, Machine as _};
use menu::{Call, Changes, Id, Menu, Reason, Reply, Row, RowFilter, Value};
use service::pool::Pools;
use service::radius::{Answer, ErrorCause, SessionRequest};

use self::gate::IkeGate;
use self::generated::Generated;
use self::granted_leases::GrantedLeases;
use self::installed::{Installed, PairEvent};
use self::leases::Leases;
use self::logins::Logins;
pub(crate) use self::proof::Proofs;
use self::read::{Config, Reader};
use self::sessions::Sessions;
use self::sources::Followers;
use super::certificate::CERTIFICATE;
use super::hear::{Datagram, ReceiveOutcome, ReceivedPacket};
use super::radius::RADIUS;
use super::{Effect, Effects, Feature, View, concerns};
use crate::learned::Learned;
use crate::paths::PathTable;
use crate::running::Running;

const ACTIVE: &str = "/ip/ipsec/active-peers";
const INSTALLED: &str = "/ip/ipsec/installed-sa";
/// Name of the service that receives IKE messages.
const SERVICE: &str = "ike";
/// UDP ports of IKE: 500, and 4500 for messages behind a marker of four zero bytes and for ESP in
/// UDP (RFC 3948).
const PORTS: [u16; 2] = [500, 4500];
const MARKER: [u8; 4] = [0; 4];
/// Limit of the IKE messages that workers pass to control, per second and as a burst.
const RATE: Rate = Rate {
    per_second: 2000,
    burst: 1000,
};
/// Interval of the traffic and lifetime checks of SA pairs.
const LOOK: Duration = Duration::from_secs(1);

/// Menus whose changes cause a full read of the configuration.
const FOLLOWED: [&str; 10] = [
    read::PROFILE,
    read::PROPOSAL,
    read::PEER,
    read::IDENTITY,
    read::GROUP,
    read::MODE_CONFIG,
    read::SETTINGS,
    read::DNS,
    CERTIFICATE,
    RADIUS,
];

/// State of `/ip/ipsec`: the IKE engine, the installed SAs and the published policies.
pub(crate) struct Ipsec {
    engine: Engine,
    gate: Arc<IkeGate>,
    /// Fills a buffer with random bytes.
    entropy: Entropy,
    /// Signing keys and peer verifiers of the identities.
    proofs: Proofs,
    leases: Leases,
    logins: Logins,
    sessions: Sessions,
    /// Whether a RADIUS server is configured for IPsec.
    has_servers: bool,
    granted: GrantedLeases,
    /// Configuration as read from the menus, and the tunnels with an `ipsec-secret`.
    read: Config,
    tunnels: Vec<secrets::Tunnel>,
    /// Peer of the L2TP server, if the server uses IPsec.
    l2tp_server: Option<ike::Peer>,
    /// Configuration as given to the IKE engine: `read` with names, paths and local addresses
    /// filled in.
    config: Config,
    installed: Installed,
    generated: Generated,
    /// Paths to remote ends, which give open local addresses and egress interfaces; `followers`
    /// tells which policies and peers use a path.
    paths: PathTable,
    followers: Followers,
    /// Resolved address of each peer name; `None` until DNS answers.
    names: BTreeMap<Arc<str>, Option<IpAddr>>,
    /// Name servers that upstream networks announced.
    learned: Vec<IpAddr>,
    settings: ike::Settings,
    /// The policies published to the workers, with their positions.
    policies: Arc<Policies>,
    published: BTreeMap<PolicyId, Vec<(Position, Policy)>>,
    look: Option<Instant>,
    /// Actions of commands that the next tick carries out.
    waiting: Vec<Action>,
    now: Instant,
}

impl core::fmt::Debug for Ipsec {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ipsec")
            .field("installed", &self.installed)
            .finish_non_exhaustive()
    }
}

impl Ipsec {
    /// Returns an instance without configuration. Keys, nonces and SPIs come from `entropy`, which
    /// is called anew for each user. `proofs` verifies certificates; peers lease addresses from
    /// `pools`.
    pub(crate) fn new(entropy: impl Fn() -> Entropy, proofs: Proofs, pools: Pools) -> Self {
        let engine = Engine::new(entropy());
        Self {
            gate: Arc::new(IkeGate::new(Arc::clone(engine.gate()))),
            engine,
            entropy: entropy(),
            proofs,
            leases: Leases::new(pools),
            logins: Logins::default(),
            sessions: Sessions::default(),
            has_servers: false,
            granted: GrantedLeases::default(),
            read: Config::default(),
            tunnels: Vec::new(),
            l2tp_server: None,
            config: Config::default(),
            installed: Installed::default(),
            generated: Generated::default(),
            paths: PathTable::default(),
            followers: Followers::new(),
            names: BTreeMap::new(),
            learned: Vec::new(),
            settings: ike::Settings::default(),
            policies: Arc::default(),
            published: BTreeMap::new(),
            look: None,
            waiting: Vec::new(),
            now: Instant::ZERO,
        }
    }

    /// The SAs by which workers protect packets.
    pub(crate) fn associations(&self) -> Arc<Associations> {
        Arc::clone(&self.installed.associations)
    }

    /// Number of IKE messages that the engine refused.
    pub(crate) fn refused_messages(&self) -> u64 {
        self.engine.counters().values().sum()
    }

    /// Ends the IKE SAs with a remote end, and all SAs below.
    pub(crate) fn reset(&mut self, remote: IpAddr, now: Instant, out: &mut Effects) {
        let peers = self.engine.peers();
        let its = peers.filter(|row| row.remote.ip() == remote);
        for sa in its.map(|row| row.id).collect::<Vec<_>>() {
            self.handle(Event::Kill(sa), now, out);
        }
    }

    /// Starts a key exchange: a worker has a packet for the policy in `slot`, which has no keys.
    pub(crate) fn want_keys(&mut self, slot: u32, now: Instant, out: &mut Effects) {
        if let Some(policy) = self.installed.policy(slot) {
            self.handle(Event::Acquire(self.generated.template(policy)), now, out);
        }
    }

    /// Reads the whole configuration from the store.
    fn read(&mut self, view: &View<'_>, out: &mut Effects) {
        let mut servers = view.store.items(RADIUS);
        self.has_servers = servers.any(|server| {
            let services = server.get("service").map(Value::as_list);
            let mut services = services.unwrap_or_default().iter();
            !server.is("disabled") && services.any(|word| word.as_str() == Some("ipsec"))
        });
        self.sessions.read(view.store);
        let is_on = self.sessions.is_accounting();
        out.push(Effect::RadiusAccounting(logins::SERVICE, is_on));
        let reader = Reader::new(view.store, &mut self.proofs);
        self.read = reader.config();
        let mut tunnels = secrets::tunnels(view.store, &reader);
        for tunnel in &mut tunnels {
            tunnel.keep_address(&self.tunnels);
        }
        self.tunnels = tunnels;
        self.l2tp_server = secrets::l2tp_server(view.store, &reader);
        drop(reader);
        self.look_up(out);
        self.configure(view.now, out);
        self.proofs.prune();
    }

    /// Starts DNS lookups of peer names that are new, and stops lookups of names no longer
    /// configured.
    fn look_up(&mut self, out: &mut Effects) {
        let of_tunnels = self.tunnels.iter().filter_map(secrets::Tunnel::remote_name);
        let wanted: BTreeSet<_> = { self.read.named.values() }
            .chain(of_tunnels)
            .cloned()
            .collect();
        let mut resolve = |name: &Arc<str>, wanted| {
            let name = Arc::clone(name);
            out.push(Effect::Resolve { name, wanted });
        };
        for name in wanted.iter().filter(|name| !self.names.contains_key(*name)) {
            resolve(name, true);
        }
        for name in self.names.keys().filter(|name| !wanted.contains(*name)) {
            resolve(name, false);
        }
        let known = |name: Arc<str>| {
            let address = self.names.get(&name).copied().flatten();
            (name, address)
        };
        self.names = wanted.into_iter().map(known).collect();
        // A tunnel may share the name of a peer; the resolver reports a name only when its
        // addresses change.
        for tunnel in &mut self.tunnels {
            let name = tunnel.remote_name().cloned();
            let address = name.as_ref().and_then(|name| *self.names.get(name)?);
            if let (Some(name), Some(address)) = (name, address) {
                tunnel.resolved(&name, &[address]);
            }
        }
    }

    /// Applies the configuration that was read, as far as peer addresses are known.
    fn configure(&mut self, now: Instant, out: &mut Effects) {
        let mut config = self.read.clone();
        self.fill_names(&mut config);
        secrets::add(&self.tunnels, &self.paths, &mut config);
        secrets::add_l2tp_server(self.l2tp_server.as_ref(), &mut config);
        self.follow_remotes(self.followers_of(&config));
        self.fill_sources(&mut config);
        for policy in config.policies.values_mut() {
            self.fill_source(policy);
        }
        let hosts = config.peers.values().filter_map(read::host);
        self.gate.set_peers(hosts.collect());
        let before = core::mem::replace(&mut self.config, config);
        let mut actions = Vec::new();
        for event in self.news(&before) {
            self.engine.handle(event, now, &mut actions);
        }
        self.act_all(actions, now, out);
        self.granted.tell(&self.config.asks, &self.paths, out);
        self.publish_all(out);
    }

    /// Returns the events that bring the IKE engine from configuration `before` to the present one.
    fn news(&mut self, before: &Config) -> Vec<Event<'static>> {
        let now = &self.config;
        let usual = ike::Settings::default();
        let settings = ike::Settings {
            cookie_threshold: now.cookie_threshold.unwrap_or(usual.cookie_threshold),
            dns: match now.dns.is_empty() {
                true => self.learned.clone(),
                false => now.dns.clone(),
            },
            ..usual
        };
        let mut news = Vec::new();
        if self.settings != settings {
            self.settings = settings.clone();
            news.push(Event::Settings(settings));
        }
        let policies = { before.policies.keys() }.filter(|id| !now.policies.contains_key(id));
        news.extend(policies.map(|id| Event::Policy(*id, None)));
        let peers = { before.peers.keys() }.filter(|id| !now.peers.contains_key(id));
        news.extend(peers.map(|id| Event::Peer(*id, None)));
        let peers = { now.peers.iter() }.filter(|(id, peer)| before.peers.get(id) != Some(peer));
        news.extend(peers.map(|(id, peer)| Event::Peer(*id, Some(Box::new(peer.clone())))));
        let policies = now.policies.iter();
        let policies = policies.filter(|(id, policy)| before.policies.get(id) != Some(policy));
        news.extend(policies.map(|(id, of)| Event::Policy(*id, Some(Box::new(of.clone())))));
        news
    }

    /// Fills in the addresses of peers that have a name. Removes peers whose name is unresolved.
    fn fill_names(&self, config: &mut Config) {
        for (id, name) in &config.named {
            let address = self.names.get(name).copied().flatten();
            match (config.peers.get_mut(id), address) {
                (Some(peer), Some(address)) => peer.address = address.into(),
                _ => drop(config.peers.remove(id)),
            }
        }
        let Config {
            policies, named, ..
        } = config;
        for policy in policies.values_mut() {
            self.fill_name(policy, named);
        }
    }

    /// Fills in the remote end of a policy whose peer has a name. While the address is not known, the policy has no
    /// peer.
    fn fill_name(&self, policy: &mut ike::Policy, named: &BTreeMap<PeerId, Arc<str>>) {
        let Some(name) = policy.peer.and_then(|peer| named.get(&peer)) else {
            return;
        };
        match self.names.get(name).copied().flatten() {
            Some(address) if policy.ends.1.is_unspecified() => policy.ends.1 = address,
            Some(_) => {}
            None => policy.peer = None,
        }
    }

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.engine.handle(event, now, &mut actions);
        self.act_all(actions, now, out);
    }

    fn act_all(&mut self, actions: Vec<Action>, now: Instant, out: &mut Effects) {
        self.now = now;
        for action in actions {
            self.act_on(action, out);
        }
        self.look = match (self.installed.pairs().next(), self.look) {
            (None, _) => None,
            (Some(_), None) => Some(now + LOOK),
            (Some(_), look) => look,
        };
    }

    fn act_on(&mut self, action: Action, out: &mut Effects) {
        match action {
            Action::Send {
                local,
                remote,
                natt,
                bytes,
            } => {
                let marker: &[u8] = if natt { &MARKER } else { &[] };
                send(local, remote, [marker, &bytes].concat(), out);
            }
            Action::Keepalive { local, remote } => send(local, remote, vec![0xff], out),
            Action::Install(child) => self.install(*child, out),
            Action::Activate(child) => self.installed.activate(child),
            Action::Moved {
                child,
                local,
                remote,
                natt,
            } => {
                if let Some(pair) = self.installed.pair(child) {
                    self.generated.move_end(pair.policy, remote);
                }
                self.installed.move_ends(child, (local, remote), natt);
            }
            Action::Remove { child, spis, why } => {
                out.log(
                    "ipsec,info",
                    format!("IPsec-SA deleted: spi={:#x}: {}", spis.0, why.name()),
                );
                self.remember_traffic(child);
                if let Some(policy) = self.installed.remove(child)
                    && self.installed.of(policy).next().is_none()
                    && self.generated.remove(policy)
                {
                    self.publish(BTreeSet::from([policy]), out);
                }
            }
            Action::Established(sa) => self.begin_session(sa, out),
            Action::Renewed { before, after } => {
                self.leases.pass_on(before, after);
                self.sessions.pass_on(before, after);
                self.installed.pass_on(before, after);
                self.granted.pass_on(before, after);
            }
            Action::Closed(sa, _) => {
                self.leases.give_back(sa);
                self.end_session(sa, out);
                self.granted.give_back(sa, out);
            }
            Action::Failed(policy, why) => self.keys_failed(policy, why, out),
            Action::Log(log) => {
                let topics = match log.level {
                    ike::LogLevel::Debug => "ipsec,debug",
                    ike::LogLevel::Info => "ipsec,info",
                    ike::LogLevel::Error => "ipsec,error",
                };
                out.log(topics, log.text);
            }
            Action::Leased { sa, peer, lease } => self.take_given(sa, peer, lease, out),
            Action::LeaseWanted { sa, pool, wish } => self.lease(sa, &pool, wish, out),
            Action::Eap { sa, id, message } => self.ask_about(sa, &id, message, out),
        }
    }

    /// Logs why a policy got no keys.
    fn keys_failed(&self, policy: PolicyId, why: Why, out: &mut Effects) {
        let policy = self.config.policies.get(&policy);
        let peer = policy.and_then(|policy| self.config.peers.get(&policy.peer?));
        let peer = peer.map_or("", |peer| peer.name.as_str());
        // Failures that are usual while the router starts, or that follow from a command, are no
        // errors.
        let topics = match why {
            Why::NoAddress | Why::Reconfigured | Why::Killed | Why::Replaced => "ipsec,debug",
            _ => "ipsec,error",
        };
        out.log(
            topics,
            format!("{peer}: no keys for a policy: {}", why.name()),
        );
    }

    /// Applies a mode-config lease that a peer granted to this router.
    fn take_given(&mut self, sa: SaId, peer: PeerId, lease: ike::Lease, out: &mut Effects) {
        let row = self.engine.peer(sa);
        let Some(remote) = row.map(|row| row.remote.ip()) else {
            return;
        };
        match lease.address {
            Some(address) => out.log("ipsec,info", format!("{remote} gives {address}")),
            None => out.log("ipsec,error", format!("{remote} gives no address")),
        }
        self.granted.store(sa, peer, remote, lease, out);
        self.granted.tell(&self.config.asks, &self.paths, out);
    }

    fn install(&mut self, child: Child, out: &mut Effects) {
        let policy = match child.generated {
            true => self.generated.of(&child),
            false => { self.config.met.contains_key(&child.policy) }.then_some(child.policy),
        };
        let Some(policy) = policy else { return };
        let (spi, generated) = (child.inbound.spi, child.generated);
        let mut secret = [0; 16];
        (self.entropy)(&mut secret);
        let name = child.suite.encryption.name();
        let what = association(&child);
        let id = child.id;
        let peer_port = self.generated.peer_port(policy);
        match self.installed.install(child, policy, peer_port, &secret) {
            Ok(()) => out.log(
                "ipsec,info",
                format!("IPsec-SA established: {what} {name} spi={spi:#x}"),
            ),
            Err(why) => {
                out.log("ipsec,error", format!("SPI {spi:#010x} is not used: {why}"));
                self.handle(Event::Remove(id), self.now, out);
            }
        }
        if generated {
            self.publish(BTreeSet::from([policy]), out);
        }
    }

    /// Reports traffic and expired byte lifetimes of SA pairs to the IKE engine.
    fn look_at_pairs(&mut self, now: Instant, out: &mut Effects) {
        for (child, seen) in self.installed.events() {
            let event = match seen {
                PairEvent::Heard => Event::Heard(child),
                PairEvent::Spent => Event::Spent(child),
                PairEvent::Over => Event::Remove(child),
            };
            self.handle(event, now, out);
        }
    }
}

/// Formats an SA pair as RouterOS logs it: `ESP/Tunnel 198.51.100.2[500]->192.0.2.1[500]`.
fn association(child: &Child) -> String {
    let protocol = match child.protocol {
        ike::Protocol::Esp => "ESP",
        ike::Protocol::Ah => "AH",
    };
    let mode = match child.mode {
        ike::Mode::Transport => "Transport",
        ike::Mode::Tunnel => "Tunnel",
    };
    let (to, from) = (child.local, child.remote);
    let ends = format!("{}[{}]->{}[{}]", from.ip(), from.port(), to.ip(), to.port());
    format!("{protocol}/{mode} {ends}")
}

/// Sends a UDP datagram from this router.
fn send(local: SocketAddr, remote: SocketAddr, data: Vec<u8>, out: &mut Effects) {
    let source = Some(local.ip()).filter(|address| !address.is_unspecified());
    out.push(Effect::Datagram(Box::new(Datagram {
        source,
        from: local.port(),
        to: remote,
        interface: InterfaceId::NONE,
        data,
    })));
}

impl Feature for Ipsec {
    fn menus(&self) -> &'static [&'static str] {
        const MENUS: [&str; 23] = [
            read::PROFILE,
            read::PROPOSAL,
            read::PEER,
            read::IDENTITY,
            read::POLICY,
            read::GROUP,
            read::MODE_CONFIG,
            read::SETTINGS,
            read::DNS,
            CERTIFICATE,
            RADIUS,
            ACTIVE,
            INSTALLED,
            secrets::TUNNELS[0].0,
            secrets::TUNNELS[1].0,
            secrets::TUNNELS[2].0,
            secrets::TUNNELS[3].0,
            secrets::TUNNELS[4].0,
            secrets::TUNNELS[5].0,
            secrets::TUNNELS[6].0,
            secrets::TUNNELS[7].0,
            secrets::TUNNELS[8].0,
            secrets::L2TP_SERVER,
        ];
        &MENUS
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        if changes.is_none() {
            // A load replaces the policies of the workers, so they are published anew.
            self.policies = Arc::default();
            self.published.clear();
        }
        match changes {
            Some(changes)
                if !concerns(&FOLLOWED, Some(changes)) && !secrets::concerned(changes) =>
            {
                self.change_policies(changes, view.now, out);
            }
            _ => self.read(view, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        let mut actions = core::mem::take(&mut self.waiting);
        self.engine.tick(now, &mut actions);
        self.act_all(actions, now, out);
        self.tick_sessions(now, out);
        if self.look.is_some_and(|at| at <= now) {
            self.look = Some(now + LOOK);
            self.look_at_pairs(now, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let engine = self.engine.deadline().map(|(at, _)| at);
        let waits = self.paths.is_stale() || !self.waiting.is_empty();
        let asks = waits.then_some(self.now);
        let all = [engine, asks, self.look, self.sessions.deadline()];
        all.into_iter().flatten().min()
    }

    fn services(&self) -> Vec<Service> {
        // Counts peers with unresolved names, too: services are only asked for when a configuration
        // changes.
        if self.read.peers.is_empty() && self.tunnels.is_empty() && self.l2tp_server.is_none() {
            return Vec::new();
        }
        let both = |port| [false, true].map(|ipv6| Match::Udp { ipv6, port });
        let gate: Arc<dyn Gate> = Arc::clone(&self.gate) as _;
        let messages = Service {
            gate: Gated(Some(gate)),
            ..Service::new(SERVICE, PORTS.map(both).concat(), RATE)
        };
        vec![messages]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some((remote, local, bytes)) = heard.datagram() else {
            return ReceiveOutcome::Bad(dataplane::DropReason::IkeMalformed);
        };
        let behind = local.port() == PORTS[1];
        let bytes = match behind {
            true => bytes.strip_prefix(&MARKER),
            false => Some(bytes),
        };
        if let Some(bytes) = bytes {
            let event = Event::Datagram {
                local,
                remote,
                natt: behind,
                bytes,
            };
            self.handle(event, running.now, out);
        }
        ReceiveOutcome::Taken
    }

    fn lay_out(&mut self, others: &BTreeSet<InterfaceId>, _: &Running<'_>, _: &mut Effects) {
        self.paths.interfaces_changed(others);
    }

    fn learn(&mut self, learned: &Learned, now: Instant, out: &mut Effects) {
        let told = learned.dns().into_iter();
        let learned: Vec<_> = told.map(|(address, _)| address).collect();
        if core::mem::replace(&mut self.learned, learned.clone()) != learned {
            self.configure(now, out);
        }
    }

    fn radius_answered(&mut self, number: u64, answer: Answer, now: Instant, out: &mut Effects) {
        self.answer_user(number, answer, now, out);
    }

    fn radius_requested(
        &mut self,
        request: &SessionRequest,
        now: Instant,
        out: &mut Effects,
    ) -> Option<Result<(), ErrorCause>> {
        self.request_sessions(request, now, out)
    }

    fn resolved(&mut self, name: &str, addresses: &[IpAddr], now: Instant, out: &mut Effects) {
        let Some(known) = self.names.get_mut(name) else {
            return;
        };
        // Keeps the present address as long as it is among the resolved ones.
        let keeps = known.filter(|address| addresses.contains(address));
        let address = keeps.or(addresses.first().copied());
        let mut moved = core::mem::replace(known, address) != address;
        for tunnel in &mut self.tunnels {
            moved |= tunnel.resolved(name, addresses);
        }
        if moved {
            self.configure(now, out);
        }
    }

    fn rows_at(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        now: Instant,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        rows::rows(self, menu, filter, now, each)
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        rows::annotate(self, menu, id, row);
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        let mut actions = Vec::new();
        let now = view.now;
        match (call.menu.path, call.command) {
            (ACTIVE, "kill-connections") => {
                for sa in self.engine.peers().map(|row| row.id).collect::<Vec<_>>() {
                    self.engine.handle(Event::Kill(sa), now, &mut actions);
                }
            }
            (ACTIVE, "remove") => {
                for id in call.items {
                    let sa = SaId(id.0 & !crate::live::DYNAMIC);
                    self.engine.handle(Event::Kill(sa), now, &mut actions);
                }
            }
            (INSTALLED, "flush") => self.engine.handle(Event::Flush, now, &mut actions),
            _ => return None,
        }
        self.waiting.append(&mut actions);
        self.now = now;
        Some(Ok(Reply::default()))
    }
}
