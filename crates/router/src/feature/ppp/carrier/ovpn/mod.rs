//! OpenVPN: clients, and servers.
//!
//! ```text
//! openvpn::Server, openvpn::Client ──login, addresses──▶ Peer ──PPP packets──▶ session (`ppp/`)
//!                                  ──keys──▶ `dataplane::encap::ovpn::Session`
//! ```
//! The crate `openvpn` has the control channels as machines; their messages are datagrams of this router, or bytes of
//! TCP connections (`connections.rs`). A link is a session whose client has sent its password, or whose server has sent
//! its options. Each session has its own timers; workers report the sessions that need attention.

mod actions;
mod connections;
mod links;
mod peer;
mod redirect;
mod servers;
mod sessions;
mod settings;
mod tls;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::DropReason;
use dataplane::encap::ovpn::Notices;
use dataplane::service::{Match, Rate, Service};
use machine::{Duration, Instant, Rng};
use menu::{Id, Item, Row, Store, Value};
use openvpn::{
    ClientEvent, ClientSettings, Digest, Path, Protection, Renegotiation, ServerEvent, TlsConfig,
    Transport,
};

use self::connections::{Connections, Owner};
use self::links::{End, Link};
use self::redirect::Redirect;
use self::servers::ServerEntry;
use self::settings::Client;
use super::tunnel::{Ends, Tunnel};
use super::{CarrierOutput, LinkId, Registration, SharedTrust, Sources};
use crate::clock::DayClock;
use crate::drive::timers::Timers;
use crate::feature::certificate::CERTIFICATE;
use crate::feature::hear::{ReceiveOutcome, ReceivedPacket};
use crate::feature::stream::{StreamEvent, StreamForm, StreamRequest};
use crate::feature::{Effect, Effects, View};
use crate::intent::ItemId;
use crate::kind::{AnyKind, ovpn as kind};
use crate::running::Running;

/// Menu of servers.
const SERVER: &str = "/interface/ovpn-server/server";
/// Name of the service, and of the protocol in logs.
const SERVICE: &str = "ovpn";
/// Rate of control packets on a worker.
const RATE: Rate = Rate {
    per_second: 50_000,
    burst: 4096,
};
/// First of the source ports of clients, and their number.
const CLIENT_PORTS: (u16, u16) = (49_152, 16_384);
/// Time between two looks at the sessions that workers reported.
const NOTICE_INTERVAL: Duration = Duration::from_secs(1);
/// Sessions that workers report at once; the others are reported later.
const MAX_NOTICES: usize = 1024;

pub(super) const CARRIER: Registration = Registration {
    menus: Ovpn::MENUS,
    create: |sources| Box::new(Ovpn::new(sources)),
};

/// A client that connects or is connected.
struct Attempt {
    machine: openvpn::Client,
    /// The end of the session is known: this end closed it.
    is_over: bool,
    /// Number of its TCP connection.
    connection: Option<u64>,
}

/// Something with a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TimerId {
    /// Sessions of a server.
    Server(ItemId),
    /// The session of a client.
    Client(ItemId),
    /// The PPP end that stands for an OpenVPN peer.
    Peer(LinkId),
    /// A TCP connection that must have a session by then.
    Connection(u64),
}

/// Clients and servers of OpenVPN.
struct Ovpn {
    ends: Ends<Client, Link>,
    servers: BTreeMap<ItemId, ServerEntry>,
    /// Servers by transport and port.
    listening: BTreeMap<(Transport, u16), ItemId>,
    /// Reasons why enabled servers do not run.
    faults: BTreeMap<ItemId, String>,
    /// TLS of clients, or why it does not work.
    tls: BTreeMap<ItemId, Result<TlsConfig, String>>,
    attempts: BTreeMap<ItemId, Attempt>,
    /// Source ports of clients, and clients by source port.
    ports: BTreeMap<ItemId, u16>,
    by_port: BTreeMap<u16, ItemId>,
    connections: Connections,
    /// Links of clients whose servers redirect all packets, until their interfaces exist.
    redirects: Vec<(LinkId, Redirect)>,
    /// PPP packets for the ends that stand for OpenVPN peers.
    inbox: Vec<(LinkId, Vec<u8>)>,
    timers: Timers<TimerId>,
    notices: Arc<Notices>,
    notice_at: Option<Instant>,
    trust: SharedTrust,
    clock: DayClock,
    rng: Rng,
}

impl core::fmt::Debug for Ovpn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ovpn")
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}

impl Ovpn {
    fn new(sources: Sources<'_>) -> Self {
        Self {
            ends: Ends::default(),
            servers: BTreeMap::new(),
            listening: BTreeMap::new(),
            faults: BTreeMap::new(),
            tls: BTreeMap::new(),
            attempts: BTreeMap::new(),
            ports: BTreeMap::new(),
            by_port: BTreeMap::new(),
            connections: Connections::default(),
            redirects: Vec::new(),
            inbox: Vec::new(),
            timers: Timers::default(),
            notices: Arc::new(Notices::new(MAX_NOTICES)),
            notice_at: None,
            trust: Arc::clone(sources.trust),
            clock: sources.clock.clone(),
            rng: sources.secrets.split(),
        }
    }

    /// Returns the TLS configuration of a client, or why it does not work.
    fn client_tls(&self, settings: &Client, store: &Store) -> Result<TlsConfig, String> {
        let common = &settings.common;
        tls::client(
            store,
            &self.trust.load(),
            &common.certificate,
            settings.verifies,
            common.only_tls12,
        )
    }

    /// Gives a client its source port, or takes it back.
    fn assign_port(&mut self, id: ItemId, is_needed: bool) {
        if is_needed && !self.ports.contains_key(&id) {
            let port = self.free_port();
            self.ports.insert(id, port);
            self.by_port.insert(port, id);
        } else if !is_needed && let Some(port) = self.ports.remove(&id) {
            self.by_port.remove(&port);
        }
    }

    /// Returns a random source port that no other client has.
    fn free_port(&mut self) -> u16 {
        let (first, count) = CLIENT_PORTS;
        loop {
            let port = first + self.rng.below(count.into()) as u16;
            if !self.by_port.contains_key(&port) || self.by_port.len() >= usize::from(count) {
                return port;
            }
        }
    }

    /// Begins the session of a client over a path.
    fn connect(&mut self, client: ItemId, path: Path, now: Instant, out: &mut CarrierOutput<'_>) {
        let settings = self.ends.clients.settings(client).cloned();
        let Some((settings, Some(Ok(tls)))) = settings.zip(Some(self.tls.get(&client))) else {
            return;
        };
        let event = ClientEvent::Connect {
            settings: Box::new(client_settings(&settings, tls.clone())),
            path,
            unix_time: self.clock.now().unix_seconds as u32,
        };
        self.feed_client(client, event, now, out);
    }

    /// Handles the sessions that workers reported: the other end moved or ended them, or their key is used up.
    fn follow_notices(&mut self, now: Instant, out: &mut CarrierOutput<'_>) {
        for _ in 0..MAX_NOTICES {
            let Some(number) = self.notices.take() else {
                return;
            };
            let Some(link) = self.ends.links.get_mut(LinkId(number)) else {
                continue;
            };
            link.session.acknowledge();
            let (end, traffic, has_exit) = (link.end, link.traffic(), link.session.has_exit());
            let moved = link.session.take_moved();
            match end {
                End::Server(item, session) => {
                    if let Some(path) = moved.map(|remote| link.relocate(remote)) {
                        self.feed_server(item, ServerEvent::Moved(session, path), now, out);
                    }
                    self.feed_server(item, ServerEvent::Traffic(session, traffic), now, out);
                    if has_exit {
                        self.feed_server(item, ServerEvent::ExitReceived(session), now, out);
                    }
                }
                // A client stays with its server's address.
                End::Client(item) => {
                    self.feed_client(item, ClientEvent::Traffic(traffic), now, out);
                    if has_exit {
                        self.feed_client(item, ClientEvent::Disconnected, now, out);
                    }
                }
            }
        }
    }

    /// Runs one due timer.
    fn run_timer(&mut self, due: TimerId, now: Instant, out: &mut CarrierOutput<'_>) {
        match due {
            TimerId::Server(item) => self.tick_server(item, now, out),
            TimerId::Client(item) => self.tick_client(item, now, out),
            TimerId::Peer(id) => {
                let link = self.ends.links.get_mut(id);
                let outcomes = link.map(|link| link.peer.tick(now));
                self.follow_peer(id, outcomes.unwrap_or_default(), now, out);
            }
            TimerId::Connection(number) => self.connection_due(number, now, out),
        }
    }
}

/// Returns the settings of a client's machine.
fn client_settings(settings: &Client, tls: TlsConfig) -> ClientSettings {
    let dial = &settings.dial;
    let user = (!dial.user.is_empty()).then(|| {
        let password = String::from(&*dial.password);
        (String::from(&*dial.user), password.into())
    });
    ClientSettings {
        tls,
        protection: settings.protection.clone(),
        device: settings.common.device,
        mtu: settings.common.mtu,
        ciphers: settings.common.ciphers.clone(),
        digest: settings
            .common
            .digests
            .first()
            .copied()
            .unwrap_or(Digest::None),
        credentials: user,
        version: env!("CARGO_PKG_VERSION").into(),
        renegotiation: Renegotiation {
            after: None,
            bytes: None,
        },
    }
}

impl Tunnel for Ovpn {
    type Client = Client;
    type Link = Link;

    const SERVICE: &'static str = SERVICE;
    const MENUS: &'static [&'static str] =
        &[kind::CLIENT_MENU, kind::SERVER_MENU, SERVER, CERTIFICATE];
    const CLIENT_MENU: &'static str = kind::CLIENT_MENU;
    const BINDING_MENU: &'static str = kind::SERVER_MENU;

    fn ends(&self) -> &Ends<Client, Link> {
        &self.ends
    }

    fn ends_mut(&mut self) -> &mut Ends<Client, Link> {
        &mut self.ends
    }

    fn services(&self) -> Vec<Service> {
        let servers = self.listening.keys();
        let servers = servers.filter(|(transport, _)| *transport == Transport::Udp);
        let clients = self.by_port.keys().copied();
        let ports: BTreeSet<u16> = servers.map(|(_, port)| *port).chain(clients).collect();
        if ports.is_empty() {
            return Vec::new();
        }
        let families = [false, true];
        let matches = ports
            .into_iter()
            .flat_map(|port| families.map(|ipv6| Match::Udp { ipv6, port }));
        vec![Service::new(SERVICE, matches.collect::<Vec<_>>(), RATE)]
    }

    fn configure(&mut self, view: &View<'_>, out: &mut CarrierOutput<'_>) {
        self.configure_servers(view, out);
        // Clients use a changed certificate, or a new authority, from the next session on.
        for id in self.tls.keys().copied().collect::<Vec<_>>() {
            if let Some(settings) = self.ends.clients.settings(id) {
                let tls = self.client_tls(settings, view.store);
                self.tls.insert(id, tls);
            }
        }
    }

    fn read_client(&mut self, id: ItemId, item: Option<&Item>, store: &Store) -> Option<Client> {
        let settings = item.and_then(Client::read);
        let is_udp = |settings: &Client| settings.common.transport == Transport::Udp;
        self.assign_port(id, settings.as_ref().is_some_and(is_udp));
        match &settings {
            Some(settings) => {
                let tls = self.client_tls(settings, store);
                self.tls.insert(id, tls);
            }
            None => _ = self.tls.remove(&id),
        }
        settings
    }

    fn receive(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        let Some((remote, local, packet)) = heard.datagram() else {
            return ReceiveOutcome::Bad(DropReason::OvpnMalformed);
        };
        let transport = Transport::Udp;
        let path = Path {
            local,
            remote,
            transport,
        };
        let (now, port) = (running.now, local.port());
        let server = self.listening.get(&(transport, port)).copied();
        let dropped = match (server, self.by_port.get(&port).copied()) {
            (Some(id), _) => {
                let event = ServerEvent::Received { path, packet };
                self.feed_server(id, event, now, out)
            }
            // The session has no link yet.
            (None, Some(_)) if openvpn::is_data(packet) => Some(DropReason::OvpnKey),
            (None, Some(id)) => {
                let event = ClientEvent::Received { path, packet };
                self.feed_client(id, event, now, out)
            }
            (None, None) => Some(DropReason::OvpnUnknown),
        };
        dropped.map_or(ReceiveOutcome::Taken, ReceiveOutcome::Bad)
    }

    fn stream(&mut self, event: &StreamEvent, now: Instant, out: &mut CarrierOutput<'_>) {
        self.follow_connection(event, now, out);
    }

    fn dial(&mut self, client: ItemId, remote: IpAddr, now: Instant, out: &mut CarrierOutput<'_>) {
        let Some(settings) = self.ends.clients.settings(client).cloned() else {
            return;
        };
        if let Some(Err(fault)) = self.tls.get(&client) {
            let message = format!("{}: {fault}", settings.dial.name);
            out.effects.log("ovpn,ppp,error", message);
            return self.ends.clients.ended(client, now, out.effects);
        }
        let to = SocketAddr::new(remote, settings.common.port);
        let transport = settings.common.transport;
        let mut attempt = Attempt {
            machine: openvpn::Client::new(self.rng.split()),
            is_over: false,
            connection: None,
        };
        match transport {
            Transport::Udp => {
                self.attempts.insert(client, attempt);
                let port = self.ports.get(&client).copied().unwrap_or(0);
                let path = Path {
                    local: SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port),
                    remote: to,
                    transport,
                };
                self.connect(client, path, now, out);
            }
            Transport::Tcp => {
                let stream = self.connections.open(Owner::Client(client), to);
                attempt.connection = Some(stream.number);
                self.attempts.insert(client, attempt);
                out.effects.push(Effect::Stream(StreamRequest::Connect {
                    stream,
                    to,
                    proxy: None,
                    tls: None,
                    form: StreamForm::OpenVpn,
                }));
            }
        }
    }

    fn hang_up(&mut self, client: ItemId, now: Instant, out: &mut CarrierOutput<'_>) {
        if let Some(attempt) = self.attempts.get_mut(&client) {
            attempt.is_over = true;
        }
        self.feed_client(client, ClientEvent::Close, now, out);
        self.end_connection_of(client, now);
    }

    fn run_timers(&mut self, now: Instant, out: &mut CarrierOutput<'_>) {
        self.deliver(now, out);
        while let Some(due) = self.timers.due(now) {
            self.run_timer(due, now, out);
        }
        if self.notice_at.is_some_and(|at| at <= now) {
            self.follow_notices(now, out);
            self.notice_at = None;
        }
        if self.notice_at.is_none() && !self.ends.links.is_empty() {
            self.notice_at = Some(now + NOTICE_INTERVAL);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        if !self.inbox.is_empty() {
            return Some(Instant::ZERO);
        }
        let notices = match self.notice_at {
            None if !self.ends.links.is_empty() => Some(Instant::ZERO),
            at => at,
        };
        self.timers.deadline().into_iter().chain(notices).min()
    }

    fn send(&mut self, link: LinkId, packet: &[u8], _: &mut Effects) {
        self.inbox.push((link, packet.to_vec()));
    }

    fn interfaces_changed(&mut self, running: &Running<'_>, out: &mut CarrierOutput<'_>) {
        for (link, redirect) in core::mem::take(&mut self.redirects) {
            if self.ends.links.get(link).is_some() {
                redirect.add_routes(running, out.effects);
            }
        }
    }

    fn annotate(&self, item: Id, row: &mut Row) {
        let name = match self
            .ends
            .clients
            .settings(item.0)
            .map(|own| &own.protection)
        {
            Some(Protection::TlsAuth { .. }) => "tls-auth",
            Some(Protection::TlsCrypt { .. }) => "tls-crypt",
            Some(Protection::None) | None => return,
        };
        row.set(name, Value::Bool(true));
    }

    fn kind(&self, link: &Link) -> Option<AnyKind> {
        Some(link.kind().into())
    }

    fn encoding(&self, link: &Link) -> String {
        link.encoding()
    }

    fn closed(&mut self, id: LinkId, link: Link, now: Instant, out: &mut CarrierOutput<'_>) {
        self.forget(id, &link, now, out);
        match link.end {
            End::Server(item, session) => {
                self.feed_server(item, ServerEvent::Close(session), now, out);
            }
            End::Client(item) => {
                let settings = self.ends.clients.settings(item);
                let notifies = settings.is_none_or(|own| own.notifies);
                if let Some(attempt) = self.attempts.get_mut(&item) {
                    attempt.is_over = true;
                }
                let event = match notifies {
                    true => ClientEvent::Close,
                    false => ClientEvent::Disconnected,
                };
                self.feed_client(item, event, now, out);
            }
        }
    }
}
