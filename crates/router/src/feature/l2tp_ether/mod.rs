//! Ethernet over L2TP version 3 with a control connection (RFC 3931, RFC 4719): items of `/interface/l2tp-ether` as
//! clients, and dynamic interfaces of the server.
//!
//! ```text
//! messages ─▶ l2tp::Endpoint ─▶ Opened, Closed ─▶ Session ─▶ interface of the item, or dynamic interface
//! ```
//! Packets of sessions pass the workers alone (`dataplane::encap::l2tp_ether`). Static sessions have no state here.

mod ports;
mod session;
mod settings;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;

use dataplane::DropReason;
use dataplane::service::{Match, Service};
use l2tp::{Action, Endpoint, Event, Opened, Path, Reason, SessionId};
use machine::{Instant, Machine, Rng};
use menu::{Call, Changes, Reason as Refusal, Reply, Row, Value};
use wire::{Protocol, ipv4};

use self::session::{Origin, Session};
use self::settings::{Client, Server};
use super::hear::{Outgoing, ReceiveOutcome, ReceivedPacket};
use super::l2tp::{
    IDENTITY, PORT, SECRETS, SERVER, SERVICE, datagram, drop_of, identity, is_of_version_3,
    is_protected, secrets, service,
};
use super::ppp::{Clients, InterfaceNames, LinkId, Step};
use super::{Effect, Effects, Feature, View, concerns, each_item};
use crate::intent::{Interface, ItemId, ItemState, Name};
use crate::kind::l2tp_ether as kind;
use crate::object::{DynamicBridgePort, Made, Owner};
use crate::running::Running;

/// Protocol number of L2TP in IP.
const L2TP: u8 = 115;
/// Session number of control messages in IP (RFC 3931, 4.1.1.2).
const CONTROL: [u8; 4] = [0; 4];

/// Clients and server of Ethernet over L2TP.
#[derive(Debug)]
pub(crate) struct L2tpEthers {
    machine: Endpoint,
    clients: Clients<Client>,
    /// Items with a control connection, without a session.
    interfaces: BTreeMap<ItemId, Interface>,
    server: Option<Server>,
    sessions: BTreeMap<SessionId, Session>,
    links: BTreeMap<LinkId, SessionId>,
    /// Port of the bridge that dynamic interfaces join; its interface is their list.
    port: Option<DynamicBridgePort>,
    /// Names of dynamic interfaces.
    names: InterfaceNames,
    last_link: u64,
}

impl L2tpEthers {
    /// Returns an instance without sessions. Numbers, cookies and nonces come from `secrets`.
    pub(crate) fn new(secrets: &mut Rng) -> Self {
        let settings = l2tp::Server {
            host_name: "".into(),
            is_enabled: false,
            max_sessions: None,
            one_session_per_host: false,
            secrets: l2tp::Secrets::default(),
            pseudowire: Some(l2tp::Pseudowire::default()),
        };
        Self {
            machine: Endpoint::new(settings, secrets.split()),
            clients: Clients::new(),
            interfaces: BTreeMap::new(),
            server: None,
            sessions: BTreeMap::new(),
            links: BTreeMap::new(),
            port: None,
            names: InterfaceNames::default(),
            last_link: 0,
        }
    }

    /// Reads the settings of the server, and what both roles share.
    fn configure(&mut self, view: &View<'_>, out: &mut Effects) {
        let server = view.store.settings(SERVER).map(|item| Server::read(item));
        let is_enabled = server.as_ref().is_some_and(|server| server.is_enabled);
        let settings = l2tp::Server {
            host_name: identity(view.store).into(),
            is_enabled,
            max_sessions: server.as_ref().and_then(|server| server.max_sessions),
            one_session_per_host: server
                .as_ref()
                .is_some_and(|server| server.one_session_per_host),
            secrets: secrets(view.store),
            pseudowire: Some(match &server {
                Some(server) => server.pseudowire.clone(),
                None => l2tp::Pseudowire::default(),
            }),
        };
        self.server = server;
        self.feed(Event::Configure(settings), view.now, out);
    }

    /// Passes an event to the machine and carries out its actions. Returns the drop of an ignored message.
    fn feed(&mut self, event: Event<'_>, now: Instant, out: &mut Effects) -> Option<DropReason> {
        let mut actions = Vec::new();
        self.machine.handle(event, now, &mut actions);
        self.carry_out(actions, now, out)
    }

    fn carry_out(
        &mut self,
        actions: Vec<Action>,
        now: Instant,
        out: &mut Effects,
    ) -> Option<DropReason> {
        let mut dropped = None;
        for action in actions {
            match action {
                Action::Send(path, bytes) => send(&path, bytes, out),
                Action::Opened(opened) => self.opened(&opened, now, out),
                Action::Moved(sessions, path) => {
                    for id in sessions {
                        if let Some(session) = self.sessions.get_mut(&id) {
                            session.follow(&path);
                            self.announce(id, out);
                        }
                    }
                }
                Action::Closed(session, reason) => self.closed(session, &reason, now, out),
                Action::Failed(client, reason) => self.failed(client, &reason, now, out),
                Action::Ignored(fault) => dropped = Some(drop_of(fault)),
                // Sessions of version 3 have no packets for control.
                Action::Packet(..) => {}
            }
        }
        dropped
    }

    /// Adds the session that a client or the server opened, or closes it again if its owner has changed.
    fn opened(&mut self, opened: &Opened, now: Instant, out: &mut Effects) {
        self.last_link += 1;
        let link = LinkId(self.last_link);
        let session = match opened.client {
            Some(client) if self.clients.linked(client, link) => {
                self.clients.opened(client);
                let settings = self.clients.settings(client);
                settings.and_then(|own| {
                    Session::new(
                        opened,
                        link,
                        Origin::Client(client),
                        own.is_fast,
                        own.needs_ipsec,
                    )
                })
            }
            Some(_) => None,
            None => self.opened_by_server(opened, link, out),
        };
        let Some(session) = session else {
            self.feed(Event::Close(opened.session), now, out);
            return;
        };
        self.links.insert(link, opened.session);
        self.sessions.insert(opened.session, session);
        self.announce(opened.session, out);
        if let Some(Origin::Server { name, .. }) = self.origin(opened.session) {
            self.add_port(link, name, out);
        }
        let peer = opened.path.address();
        let name = self.name_of(opened.session).unwrap_or_default();
        out.log("l2tp,info", format!("{name}: connected to {peer}"));
    }

    fn opened_by_server(
        &mut self,
        opened: &Opened,
        link: LinkId,
        out: &mut Effects,
    ) -> Option<Session> {
        let server = self.server.as_ref()?;
        let circuit = opened.pseudowire.as_ref().map(|own| &*own.circuit_id);
        let user: Name = match circuit {
            Some("") | None => (*opened.host_name).into(),
            Some(circuit) => circuit.into(),
        };
        let (name, suffix) = self.names.give(kind::NAME, &user);
        if let Some(list) = &server.list {
            out.object(owner(link), super::ppp::member(list, &name));
        }
        let origin = Origin::Server { name, user, suffix };
        Session::new(opened, link, origin, server.is_fast, server.needs_ipsec)
    }

    /// Announces the interface of a session.
    fn announce(&self, id: SessionId, out: &mut Effects) {
        let Some(session) = self.sessions.get(&id) else {
            return;
        };
        match &session.origin {
            Origin::Client(item) => {
                if let Some(own) = self.interfaces.get(item) {
                    let kind = kind::open(session.settings.clone(), &own.kind);
                    let interface = Interface {
                        kind,
                        ..own.clone()
                    };
                    out.push(Effect::Item(*item, ItemState::Interface(Some(interface))));
                }
            }
            Origin::Server { name, .. } => {
                let interface = kind::dynamic(session.settings.clone(), name.clone());
                let made = Made::Interface(kind::MENU, interface);
                out.object(owner(session.link), made);
            }
        }
    }

    fn origin(&self, id: SessionId) -> Option<&Origin> {
        Some(&self.sessions.get(&id)?.origin)
    }

    /// Returns the name of a session's interface.
    fn name_of(&self, id: SessionId) -> Option<Name> {
        Some(match self.origin(id)? {
            Origin::Client(item) => self.interfaces.get(item)?.name.clone(),
            Origin::Server { name, .. } => name.clone(),
        })
    }

    /// Handles the end of a session that this end did not request.
    fn closed(&mut self, id: SessionId, reason: &Reason, now: Instant, out: &mut Effects) {
        if let Some(name) = self.name_of(id) {
            out.log("l2tp,info", format!("{name}: terminating... - {reason}"));
        }
        self.forget(id, now, out);
    }

    /// Removes a session and its interface; its client dials again later.
    fn forget(&mut self, id: SessionId, now: Instant, out: &mut Effects) {
        let Some(session) = self.sessions.remove(&id) else {
            return;
        };
        self.links.remove(&session.link);
        match session.origin {
            Origin::Client(item) => {
                if let Some(own) = self.interfaces.get(&item) {
                    let idle = ItemState::Interface(Some(own.clone()));
                    out.push(Effect::Item(item, idle));
                }
                self.clients.ended(item, now, out);
            }
            Origin::Server { user, suffix, .. } => {
                out.push(Effect::Gone(ports::owner(session.link)));
                out.push(Effect::Gone(owner(session.link)));
                self.names.give_back(kind::NAME, &user, suffix);
            }
        }
    }

    fn failed(&mut self, client: ItemId, reason: &Reason, now: Instant, out: &mut Effects) {
        if let Some(own) = self.interfaces.get(&client) {
            let message = format!("{}: terminating... - {reason}", own.name);
            out.log("l2tp,info", message);
        }
        // A server that was restarted has lost its associations, and receives nothing that this end protects.
        let settings = self.clients.settings(client);
        let is_protected = settings.is_some_and(|settings| settings.needs_ipsec);
        let remote = self.clients.server(client).filter(|_| is_protected);
        if let Some(remote) = remote.filter(|_| *reason == Reason::Timeout) {
            out.push(Effect::ResetIke(remote));
        }
        self.clients.ended(client, now, out);
    }

    fn step(&mut self, step: Step, now: Instant, out: &mut Effects) {
        match step {
            Step::Hangup(client) => {
                self.feed(Event::Hangup(client), now, out);
            }
            Step::Close(link) => {
                if let Some(session) = self.links.get(&link).copied() {
                    self.feed(Event::Close(session), now, out);
                    self.forget(session, now, out);
                }
            }
            Step::Dial(client, remote) => {
                let Some(settings) = self.clients.settings(client) else {
                    return;
                };
                let local = settings.source.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
                let port = if settings.in_udp { PORT } else { 0 };
                let dial = Event::Dial {
                    client,
                    path: Path {
                        local: SocketAddr::new(local, port),
                        remote: SocketAddr::new(remote, port),
                        is_protected: settings.needs_ipsec,
                    },
                    pseudowire: Some(settings.pseudowire.clone()),
                };
                self.feed(dial, now, out);
            }
        }
    }

    /// Returns whether messages of an address are accepted only if a policy protects them.
    fn needs_ipsec(&self, path: &Path) -> bool {
        let server = self.server.as_ref();
        let of_client = self.clients.of_server(path.address());
        let of_client = of_client.map(|client| client.needs_ipsec);
        of_client.unwrap_or_else(|| server.is_some_and(|server| server.needs_ipsec))
    }

    /// Applies changed items. Control has read them as interfaces without a session.
    fn follow_items(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        let mut changed = Vec::new();
        each_item(view, kind::MENU, changes, |id, item| {
            let settings = item.and_then(Client::read);
            let interface = item.filter(|_| settings.is_some()).and_then(kind::read);
            changed.push((id, settings, interface));
        });
        for (id, settings, interface) in changed {
            match interface {
                Some(interface) => _ = self.interfaces.insert(id, interface),
                None => _ = self.interfaces.remove(&id),
            }
            if let Some(step) = self.clients.set(id, settings, view.now, out) {
                self.step(step, view.now, out);
            }
            let mut sessions = self.sessions.iter();
            let own = sessions.find(|(_, session)| session.origin == Origin::Client(id));
            if let Some(session) = own.map(|(session, _)| *session) {
                self.announce(session, out);
            }
        }
    }
}

impl Feature for L2tpEthers {
    fn menus(&self) -> &'static [&'static str] {
        &[kind::MENU, SERVER, SECRETS, IDENTITY, ports::MENU]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        if concerns(&[SERVER, SECRETS, IDENTITY], changes) {
            self.configure(view, out);
        }
        if concerns(&[SERVER, ports::MENU], changes) {
            self.follow_ports(view.store, out);
        }
        self.follow_items(view, changes, out);
    }

    fn services(&self) -> Vec<Service> {
        let serves = self.server.as_ref().is_some_and(|server| server.is_enabled);
        if !serves && !self.clients.any() {
            return Vec::new();
        }
        vec![service(vec![
            Match::Udp {
                ipv6: false,
                port: PORT,
            },
            Match::Protocol {
                ipv6: false,
                protocol: L2TP,
            },
        ])]
    }

    fn hear(
        &mut self,
        received: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        if received.service != SERVICE || !is_of_version_3(received) {
            return ReceiveOutcome::NotMine;
        }
        let Some((mut path, message)) = message_of(received) else {
            return ReceiveOutcome::Bad(DropReason::L2tpMalformed);
        };
        path.is_protected = is_protected(&path, running);
        if !path.is_protected && self.needs_ipsec(&path) {
            return ReceiveOutcome::Bad(DropReason::L2tpUnprotected);
        }
        let datagram = message;
        match self.feed(Event::Received { path, datagram }, running.now, out) {
            Some(reason) => ReceiveOutcome::Bad(reason),
            None => ReceiveOutcome::Taken,
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        while let Some(step) = self.clients.due(now) {
            self.step(step, now, out);
        }
        let mut actions = Vec::new();
        self.machine.tick(now, &mut actions);
        self.carry_out(actions, now, out);
    }

    fn deadline(&self) -> Option<Instant> {
        let machine = self.machine.deadline().map(|(at, _)| at);
        machine.into_iter().chain(self.clients.deadline()).min()
    }

    fn resolved(&mut self, name: &str, addresses: &[IpAddr], now: Instant, out: &mut Effects) {
        self.clients.resolved(name, addresses, now, out);
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Refusal>> {
        if (call.menu.path, call.command) != (kind::MENU, "monitor") {
            return None;
        }
        let rows = call.items.iter().filter_map(|id| {
            let interface = view.interfaces.get(&id.0)?;
            let mut row = Row::default();
            row.set("name", Value::text(&*interface.name));
            match kind::session(interface) {
                Some(session) => session::show(session, &mut row),
                None => {
                    let status = self.clients.status(id.0).unwrap_or("disconnected");
                    row.set("status", Value::Word(status));
                }
            }
            Some(row)
        });
        Some(Ok(Reply {
            rows: rows.collect(),
            made: None,
        }))
    }
}

/// Owner of the interface of a session of the server, and of its list membership.
const fn owner(link: LinkId) -> Owner {
    Owner {
        feature: kind::NAME,
        number: link.0,
    }
}

/// Sends a control message of a tunnel. In IP it follows the session number 0.
fn send(path: &Path, message: Vec<u8>, out: &mut Effects) {
    if path.remote.port() != 0 {
        return out.push(Effect::Datagram(Box::new(datagram(path, message))));
    }
    if let (IpAddr::V4(local), IpAddr::V4(remote)) = (path.local.ip(), path.remote.ip()) {
        let header = ipv4::Repr::new(Protocol(L2TP), local, remote);
        let header = header.to_bytes(CONTROL.len() + message.len());
        let packet = [&header[..], &CONTROL, &message].concat();
        out.send(Outgoing::packet(frame::InterfaceId::NONE, packet));
    }
}

/// Returns the ends and the message of a received packet; `None` for a damaged packet, and for one of an unknown
/// session.
fn message_of<'a>(received: &ReceivedPacket<'a>) -> Option<(Path, &'a [u8])> {
    let (remote, local, message) = match received.datagram() {
        Some(datagram) => datagram,
        None => {
            let packet = ipv4::Packet::new_checked(received.packet()).ok()?;
            let message = packet.payload().strip_prefix(&CONTROL)?;
            let [remote, local] =
                [packet.src(), packet.dst()].map(|address| SocketAddr::new(address.into(), 0));
            (remote, local, message)
        }
    };
    let path = Path {
        local,
        remote,
        is_protected: false,
    };
    Some((path, message))
}
