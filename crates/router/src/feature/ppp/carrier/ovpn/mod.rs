//! OpenVPN over UDP: clients, and servers.
//!
//! ```text
//! openvpn::Server, openvpn::Client ──login, addresses──▶ Peer ──PPP packets──▶ session (`ppp/`)
//!                                  ──keys──▶ `dataplane::encap::ovpn::Session`
//! ```
//! The crate `openvpn` has the control channels as machines; their messages are datagrams of this router. A link is a
//! session whose client has sent its password, or whose server has sent its options.

mod actions;
mod links;
mod peer;
mod settings;
mod tls;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::DropReason;
use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Machine, Rng};
use menu::{Changes, Store};
use openvpn::{
    ClientEvent, ClientSettings, Device, Digest, Path, Protection, Renegotiation, ServerEvent,
    ServerSettings, TlsConfig, Transport,
};

use self::links::{End, Link};
use self::settings::{Client, Server};
use super::clients::{Clients, Step};
use super::links::Links;
use super::{Carrier, CarrierOutput, LinkEvent, LinkId, Registration, SharedTrust};
use crate::feature::certificate::CERTIFICATE;
use crate::feature::hear::{ReceiveOutcome, ReceivedPacket};
use crate::feature::{Effects, View, concerns, each_item};
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
/// Time between two looks at the traffic of the data channels.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Sessions of a server at once.
const MAX_SESSIONS: usize = 65_536;

pub(super) const CARRIER: Registration = Registration {
    menus: &[kind::CLIENT_MENU, kind::SERVER_MENU, SERVER, CERTIFICATE],
    create: |sources| Box::new(Ovpn::new(sources.secrets, Arc::clone(sources.trust))),
};

/// A server item that works.
struct ServerEntry {
    settings: Server,
    machine: openvpn::Server,
}

/// A client that connects or is connected.
struct Attempt {
    machine: openvpn::Client,
    /// The end of the session is known: this end closed it.
    is_over: bool,
}

/// Clients and servers of OpenVPN.
struct Ovpn {
    servers: BTreeMap<ItemId, ServerEntry>,
    clients: Clients<Client>,
    /// TLS of clients, or why it does not work.
    tls: BTreeMap<ItemId, Result<TlsConfig, String>>,
    attempts: BTreeMap<ItemId, Attempt>,
    /// Source ports of clients.
    ports: BTreeMap<ItemId, u16>,
    links: Links<Link>,
    /// Events of links for the next opportunity to report them.
    pending: Vec<LinkEvent>,
    /// PPP packets for the ends that stand for OpenVPN peers.
    inbox: Vec<(LinkId, Vec<u8>)>,
    poll_at: Option<Instant>,
    trust: SharedTrust,
    rng: Rng,
}

impl core::fmt::Debug for Ovpn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ovpn")
            .field("clients", &self.clients)
            .field("links", &self.links)
            .finish_non_exhaustive()
    }
}

impl Ovpn {
    fn new(secrets: &mut Rng, trust: SharedTrust) -> Self {
        Self {
            servers: BTreeMap::new(),
            clients: Clients::new(),
            tls: BTreeMap::new(),
            attempts: BTreeMap::new(),
            ports: BTreeMap::new(),
            links: Links::default(),
            pending: Vec::new(),
            inbox: Vec::new(),
            poll_at: None,
            trust,
            rng: secrets.split(),
        }
    }

    /// Applies the settings of a server item; `None` for a disabled or removed item.
    fn set_server(
        &mut self,
        id: ItemId,
        settings: Option<Server>,
        view: &View<'_>,
        out: &mut Effects,
    ) {
        let ready = settings.and_then(|settings| {
            let tls = tls::server(
                view.store,
                &self.trust.load(),
                &settings.common.certificate,
                settings.requires_certificate,
                settings.common.only_tls12,
            );
            let port = settings.common.port;
            let mut others = self.servers.iter().filter(|(other, _)| **other != id);
            let other = others.find(|(_, other)| other.settings.common.port == port);
            let fault = match (settings.common.missing, other) {
                (Some(missing), _) => Some(missing.to_owned()),
                (None, Some((_, other))) => Some(format!(
                    "UDP port {port} belongs to the server {}: set another port",
                    other.settings.name
                )),
                (None, None) => None,
            };
            match (fault, tls) {
                (None, Ok(tls)) => Some((settings, tls)),
                (Some(fault), _) | (None, Err(fault)) => {
                    let message = format!("{}: {fault}", settings.name);
                    out.log("ovpn,error", message);
                    None
                }
            }
        });
        let Some((settings, tls)) = ready else {
            if self.servers.contains_key(&id) {
                self.feed_server(id, ServerEvent::Shutdown, view.now, out);
                self.servers.remove(&id);
            }
            return;
        };
        let of_machine = server_settings(&settings, tls);
        match self.servers.get_mut(&id) {
            Some(entry) if entry.settings.common.port == settings.common.port => {
                entry.settings = settings;
                let event = ServerEvent::Configure(Box::new(of_machine));
                self.feed_server(id, event, view.now, out);
            }
            _ => {
                if self.servers.contains_key(&id) {
                    self.feed_server(id, ServerEvent::Shutdown, view.now, out);
                }
                let machine = openvpn::Server::new(of_machine, self.rng.split());
                self.servers.insert(id, ServerEntry { settings, machine });
            }
        }
    }

    /// Prepares TLS and the source port of a client; `None` for a disabled or removed item.
    fn prepare(&mut self, id: ItemId, settings: Option<&Client>, store: &Store) {
        let Some(settings) = settings else {
            self.tls.remove(&id);
            self.ports.remove(&id);
            return;
        };
        let common = &settings.common;
        let config = tls::client(
            store,
            &self.trust.load(),
            &common.certificate,
            settings.verifies,
            common.only_tls12,
        );
        self.tls.insert(id, config);
        if !self.ports.contains_key(&id) {
            let port = self.free_port();
            self.ports.insert(id, port);
        }
    }

    /// Returns a random source port that no other client has.
    fn free_port(&mut self) -> u16 {
        let (first, count) = CLIENT_PORTS;
        loop {
            let port = first + self.rng.below(count.into()) as u16;
            let is_used = self.ports.values().any(|own| *own == port);
            if !is_used || self.ports.len() >= usize::from(count) {
                return port;
            }
        }
    }

    fn step(&mut self, step: Step, now: Instant, out: &mut Effects) {
        match step {
            Step::Hangup(client) => {
                if let Some(attempt) = self.attempts.get_mut(&client) {
                    attempt.is_over = true;
                }
                self.feed_client(client, ClientEvent::Close, now, out);
            }
            Step::Close(link) => self.pending.push(LinkEvent::Close(link)),
            Step::Dial(client, remote) => self.connect(client, remote, now, out),
        }
    }

    /// Connects a client to its server.
    fn connect(&mut self, client: ItemId, remote: IpAddr, now: Instant, out: &mut Effects) {
        let Some(settings) = self.clients.settings(client).cloned() else {
            return;
        };
        let tls = match self.tls.get(&client) {
            Some(Ok(tls)) => tls.clone(),
            Some(Err(fault)) => {
                let message = format!("{}: {fault}", settings.dial.name);
                out.log("ovpn,ppp,error", message);
                return self.clients.ended(client, now, out);
            }
            None => return self.clients.ended(client, now, out),
        };
        let port = self.ports.get(&client).copied();
        let path = Path {
            local: SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port.unwrap_or(0)),
            remote: SocketAddr::new(remote, settings.common.port),
            transport: Transport::Udp,
        };
        let machine = openvpn::Client::new(self.rng.split());
        let attempt = Attempt {
            machine,
            is_over: false,
        };
        self.attempts.insert(client, attempt);
        let event = ClientEvent::Connect {
            settings: Box::new(client_settings(&settings, tls)),
            path,
            unix_time: 0,
        };
        self.feed_client(client, event, now, out);
    }

    /// Looks at the traffic of the data channels.
    fn poll(&mut self, now: Instant, out: &mut Effects) {
        for id in self.links.ids() {
            let Some(link) = self.links.get_mut(id) else {
                continue;
            };
            let (end, traffic) = (link.end, link.traffic());
            let has_exit = link.session.has_exit();
            let moved = link.session.take_moved();
            let moved = moved.map(|remote| link.relocate(remote));
            let outcomes = link.peer.tick(now);
            self.follow_peer(id, outcomes, now, out);
            match end {
                End::Server(item, session) => {
                    if let Some(path) = moved {
                        self.feed_server(item, ServerEvent::Moved(session, path), now, out);
                    }
                    self.feed_server(item, ServerEvent::Traffic(session, traffic), now, out);
                    if has_exit {
                        self.feed_server(item, ServerEvent::ExitReceived(session), now, out);
                    }
                }
                End::Client(item) => {
                    self.feed_client(item, ClientEvent::Traffic(traffic), now, out);
                    if has_exit {
                        self.feed_client(item, ClientEvent::Disconnected, now, out);
                    }
                }
            }
        }
        self.attempts
            .retain(|_, attempt| attempt.machine.has_session());
    }
}

/// Returns the settings of a server's machine.
fn server_settings(settings: &Server, tls: TlsConfig) -> ServerSettings {
    ServerSettings {
        tls,
        device: Device::Tun,
        mtu: settings.common.mtu,
        ciphers: settings.common.ciphers.clone(),
        digests: settings.common.digests.clone(),
        renegotiation: Renegotiation {
            after: settings.renegotiation.map(Duration::from_secs),
            bytes: None,
        },
        max_sessions: MAX_SESSIONS,
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
        protection: Protection::None,
        device: Device::Tun,
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

impl Carrier for Ovpn {
    fn service(&self) -> &'static str {
        SERVICE
    }

    fn menus(&self) -> &'static [&'static str] {
        CARRIER.menus
    }

    fn client_menu(&self) -> Option<&'static str> {
        Some(kind::CLIENT_MENU)
    }

    fn binding_menu(&self) -> Option<&'static str> {
        Some(kind::SERVER_MENU)
    }

    fn services(&self) -> Vec<Service> {
        let servers = self
            .servers
            .values()
            .map(|entry| entry.settings.common.port);
        let clients = self.ports.values().copied();
        let ports: BTreeSet<u16> = servers.chain(clients).collect();
        if ports.is_empty() {
            return Vec::new();
        }
        let families = [false, true];
        let matches = ports
            .into_iter()
            .flat_map(|port| families.map(|ipv6| Match::Udp { ipv6, port }));
        vec![Service::new(SERVICE, matches.collect::<Vec<_>>(), RATE)]
    }

    fn apply_changes(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        out: &mut CarrierOutput<'_>,
    ) {
        let mut servers = BTreeMap::new();
        let mut clients = BTreeMap::new();
        // A changed certificate concerns all items, as each may use it.
        let all = changes.filter(|_| concerns(&[CERTIFICATE], changes));
        for changes in [Some(changes), all.map(|_| None)].into_iter().flatten() {
            each_item(view, SERVER, changes, |id, item| {
                servers.insert(id, item.and_then(Server::read));
            });
            each_item(view, kind::CLIENT_MENU, changes, |id, item| {
                clients.insert(id, item.and_then(Client::read));
            });
        }
        if !servers.is_empty() {
            // A server that ends or moves leaves its port to another one.
            each_item(view, SERVER, None, |id, item| {
                let settings = || item.and_then(Server::read);
                servers.entry(id).or_insert_with(settings);
            });
        }
        let (ended, others): (Vec<_>, Vec<_>) = servers
            .into_iter()
            .partition(|(_, settings)| settings.is_none());
        for (id, settings) in ended.into_iter().chain(others) {
            self.set_server(id, settings, view, out.effects);
        }
        for (id, settings) in clients {
            self.prepare(id, settings.as_ref(), view.store);
            if let Some(step) = self.clients.set(id, settings, view.now, out.effects) {
                self.step(step, view.now, out.effects);
            }
        }
        out.events.append(&mut self.pending);
    }

    fn interfaces_changed(
        &mut self,
        _: &BTreeSet<InterfaceId>,
        _: &Running<'_>,
        _: &mut CarrierOutput<'_>,
    ) {
    }

    fn receive(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        if heard.service != SERVICE {
            return ReceiveOutcome::NotMine;
        }
        let Some((remote, local, packet)) = heard.datagram() else {
            return ReceiveOutcome::Bad(DropReason::OvpnMalformed);
        };
        let path = Path {
            local,
            remote,
            transport: Transport::Udp,
        };
        let (now, port) = (running.now, local.port());
        let mut servers = self.servers.iter();
        let server = servers.find(|(_, entry)| entry.settings.common.port == port);
        let server = server.map(|(id, _)| *id);
        let client = self.ports.iter().find(|(_, own)| **own == port);
        let client = client.map(|(id, _)| *id);
        let dropped = match (server, client) {
            (Some(id), _) => {
                let event = ServerEvent::Received { path, packet };
                self.feed_server(id, event, now, out.effects)
            }
            (None, Some(id)) => {
                let event = ClientEvent::Received { path, packet };
                self.feed_client(id, event, now, out.effects)
            }
            (None, None) => Some(DropReason::OvpnUnknown),
        };
        out.events.append(&mut self.pending);
        dropped.map_or(ReceiveOutcome::Taken, ReceiveOutcome::Bad)
    }

    fn tick(&mut self, now: Instant, out: &mut CarrierOutput<'_>) {
        while let Some(step) = self.clients.due(now) {
            self.step(step, now, out.effects);
        }
        self.deliver(now, out.effects);
        self.tick_machines(now, out.effects);
        if self.poll_at.is_none_or(|at| at <= now) {
            self.poll(now, out.effects);
            let is_needed = !self.links.is_empty() || !self.attempts.is_empty();
            self.poll_at = is_needed.then(|| now + POLL_INTERVAL);
        }
        out.events.append(&mut self.pending);
    }

    fn deadline(&self) -> Option<Instant> {
        if !(self.pending.is_empty() && self.inbox.is_empty()) {
            return Some(Instant::ZERO);
        }
        let servers = self
            .servers
            .values()
            .filter_map(|entry| entry.machine.deadline());
        let clients = { self.attempts.values() }.filter_map(|attempt| attempt.machine.deadline());
        let machines = servers.chain(clients).map(|(at, _)| at);
        let needs_poll = self.poll_at.is_none() && !self.links.is_empty();
        let poll = self.poll_at.or_else(|| needs_poll.then_some(Instant::ZERO));
        machines.chain(self.clients.deadline()).chain(poll).min()
    }

    fn send(&mut self, link: LinkId, packet: &[u8], _: &mut Effects) {
        self.inbox.push((link, packet.to_vec()));
    }

    fn kind(&self, link: LinkId) -> Option<AnyKind> {
        let session = self.links.get(link)?.session.clone();
        Some(kind::Ovpn { session }.into())
    }

    fn opened(&mut self, link: LinkId) {
        if let Some(End::Client(client)) = self.links.get(link).map(|link| link.end) {
            self.clients.opened(client);
        }
    }

    fn close(&mut self, link: LinkId, now: Instant, out: &mut Effects) {
        let Some(gone) = self.remove(link, out) else {
            return;
        };
        match gone.end {
            End::Server(item, session) => {
                self.feed_server(item, ServerEvent::Close(session), now, out);
            }
            End::Client(item) => {
                let notifies = self.clients.settings(item).is_none_or(|own| own.notifies);
                if let Some(attempt) = self.attempts.get_mut(&item) {
                    attempt.is_over = true;
                }
                let event = match notifies {
                    true => ClientEvent::Close,
                    false => ClientEvent::Disconnected,
                };
                self.feed_client(item, event, now, out);
                self.clients.ended(item, now, out);
            }
        }
    }

    fn resolved(
        &mut self,
        name: &str,
        addresses: &[IpAddr],
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        self.clients.resolved(name, addresses, now, out.effects);
    }

    fn client_status(&self, item: menu::Id) -> Option<&'static str> {
        self.clients.status(item.0)
    }
}
