//! L2TP version 2 (RFC 2661): clients, and a server.
//!
//! The crate `l2tp` has the tunnels as one machine. Its messages are datagrams of this router. A link is a session of
//! L2TP: tunnel and session number, and the UDP ends of the tunnel.

mod links;
mod settings;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::DropReason;
use dataplane::service::{Match, Service};
use frame::InterfaceId;
use l2tp::{Action, Endpoint, Event, Opened, Path, Reason};
use machine::{Instant, Machine, Rng};
use menu::{Changes, Id};

use self::links::{Link, Links, Uses};
use self::settings::{Client, Server};
use super::clients::{Clients, Step};
use super::{
    Carrier, CarrierOutput, LinkDown, LinkEnd, LinkEvent, LinkId, LinkSetup, Registration,
};
use crate::feature::hear::{ReceiveOutcome, ReceivedPacket};
use crate::feature::l2tp::{
    IDENTITY, PORT, SECRETS, SERVER, SERVICE, datagram, drop_of, identity, is_of_version_3,
    is_protected, secrets, service,
};
use crate::feature::{Effect, Effects, View, concerns, each_item};
use crate::intent::ItemId;
use crate::kind::{AnyKind, l2tp as kind};
use crate::running::Running;

/// First of the random source ports, and their number.
const RANDOM_PORTS: (u16, u16) = (49_152, 16_384);
/// Largest PPP packet that fits a UDP datagram, in bytes.
const PAYLOAD: u16 = 65_000;

pub(super) const CARRIER: Registration = Registration {
    menus: &[
        kind::CLIENT_MENU,
        kind::SERVER_MENU,
        SERVER,
        SECRETS,
        IDENTITY,
    ],
    create: |secrets| Box::new(L2tp::new(secrets)),
};

/// Clients and server of L2TP.
#[derive(Debug)]
struct L2tp {
    machine: Endpoint,
    links: Links,
    clients: Clients<Client>,
    /// Source ports of clients with `random-source-port`.
    ports: BTreeMap<ItemId, u16>,
    server: Option<Server>,
    rng: Rng,
}

impl L2tp {
    fn new(secrets: &mut Rng) -> Self {
        let settings = l2tp::Server {
            host_name: "".into(),
            is_enabled: false,
            max_sessions: None,
            one_session_per_host: false,
            secrets: l2tp::Secrets::default(),
            pseudowire: None,
        };
        Self {
            machine: Endpoint::new(settings, secrets.split()),
            links: Links::default(),
            clients: Clients::new(),
            ports: BTreeMap::new(),
            server: None,
            rng: secrets.split(),
        }
    }

    /// Reads the settings of the server, and what both roles share.
    fn configure(&mut self, view: &View<'_>, out: &mut CarrierOutput<'_>) {
        let identity = identity(view.store);
        let server = view.store.settings(SERVER);
        let server = server.map(|item| Server::read(item, identity));
        let settings = l2tp::Server {
            host_name: identity.into(),
            is_enabled: server.as_ref().is_some_and(|server| server.is_enabled),
            max_sessions: server.as_ref().and_then(|server| server.max_sessions),
            one_session_per_host: server
                .as_ref()
                .is_some_and(|server| server.one_session_per_host),
            secrets: secrets(view.store),
            pseudowire: None,
        };
        self.server = server;
        self.feed(Event::Configure(settings), view.now, out);
    }

    /// Passes an event to the machine and carries out its actions. Returns the drop of an ignored datagram.
    fn feed(
        &mut self,
        event: Event<'_>,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) -> Option<DropReason> {
        let mut actions = Vec::new();
        self.machine.handle(event, now, &mut actions);
        self.carry_out(actions, now, out)
    }

    fn carry_out(
        &mut self,
        actions: Vec<Action>,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) -> Option<DropReason> {
        let mut dropped = None;
        for action in actions {
            match action {
                Action::Send(path, bytes) => send(&path, bytes, out.effects),
                Action::Opened(opened) => self.opened(&opened, now, out),
                Action::Packet(session, packet) => {
                    let Some((id, link)) = self.links.find_mut(session) else {
                        dropped = Some(DropReason::L2tpUnknown);
                        continue;
                    };
                    match link.budget.admits(&packet, now) {
                        true => out.events.push(LinkEvent::Packet(id, packet)),
                        false => dropped = Some(DropReason::PppRate),
                    }
                }
                Action::Moved(sessions, path) => {
                    for session in sessions {
                        if let Some((id, link)) = self.links.find_mut(session) {
                            link.path = path;
                            out.events.push(LinkEvent::Changed(id));
                        }
                    }
                }
                Action::Closed(session, reason) => {
                    let link = self.links.find_mut(session).map(|(id, _)| id);
                    let gone = link.and_then(|id| Some((id, self.links.remove(id)?)));
                    if let Some((id, link)) = gone {
                        self.closed(id, &link, &reason, now, out);
                    }
                }
                Action::Failed(client, reason) => self.failed(client, &reason, now, out),
                Action::Ignored(fault) => dropped = Some(drop_of(fault)),
            }
        }
        dropped
    }

    /// Adds the link of a new session.
    fn opened(&mut self, opened: &Opened, now: Instant, out: &mut CarrierOutput<'_>) {
        let setup = match opened.client {
            Some(client) => self.setup_of_client(client, opened),
            None => self.setup_of_server(opened, out.effects),
        };
        let Some((setup, uses)) = setup else {
            self.feed(Event::Close(opened.session), now, out);
            return;
        };
        let link = self.links.add(Link::new(opened, uses));
        if let Some(client) = opened.client
            && !self.clients.linked(client, link)
        {
            self.links.remove(link);
            self.feed(Event::Close(opened.session), now, out);
            return;
        }
        out.events.push(LinkEvent::Up(link, Box::new(setup)));
    }

    fn setup_of_client(&self, client: ItemId, opened: &Opened) -> Option<(LinkSetup, Uses)> {
        let settings = self.clients.settings(client)?;
        let uses = Uses {
            fast_path: settings.is_fast,
            ipsec: settings.needs_ipsec,
        };
        let end = LinkEnd::Client(Arc::clone(&settings.dial));
        let setup = setup(opened, end, Arc::new(settings.of_ppp()));
        Some((setup, uses))
    }

    fn setup_of_server(&self, opened: &Opened, out: &mut Effects) -> Option<(LinkSetup, Uses)> {
        let server = self.server.as_ref()?;
        let address = opened.path.address();
        out.log(
            "l2tp,info",
            format!("first L2TP UDP packet received from {address}"),
        );
        let uses = Uses {
            fast_path: server.is_fast,
            ipsec: server.needs_ipsec,
        };
        let end = LinkEnd::Server {
            profile: server.profile.clone(),
            service: "".into(),
        };
        let mut setup = setup(opened, end, Arc::clone(&server.of_ppp));
        if server.shows_number {
            setup.caller_id = opened.calling_number.clone().unwrap_or_default();
        }
        Some((setup, uses))
    }

    /// Reports the end of a session that this end did not request.
    fn closed(
        &mut self,
        id: LinkId,
        link: &Link,
        reason: &Reason,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let down = match reason {
            Reason::Disabled | Reason::Replaced => LinkDown::Removed,
            Reason::Timeout => LinkDown::Interface,
            _ => LinkDown::Peer,
        };
        let address = link.path.address();
        out.effects
            .log("l2tp,debug", format!("session with {address}: {reason}"));
        out.events.push(LinkEvent::Down(id, down));
        if let Some(client) = link.client {
            self.clients.ended(client, now, out.effects);
        }
    }

    fn failed(
        &mut self,
        client: ItemId,
        reason: &Reason,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        if let Some(settings) = self.clients.settings(client) {
            let message = format!("{}: terminating... - {reason}", settings.dial.name);
            out.effects.log("l2tp,ppp,info", message);
        }
        // A server that was restarted has lost its associations, and receives nothing that this end protects.
        let settings = self.clients.settings(client);
        let is_protected = settings.is_some_and(|settings| settings.needs_ipsec);
        let remote = self.clients.server(client).filter(|_| is_protected);
        if let Some(remote) = remote.filter(|_| *reason == Reason::Timeout) {
            out.effects.push(Effect::ResetIke(remote));
        }
        self.clients.ended(client, now, out.effects);
    }

    /// Returns whether messages of an address are accepted only if a policy protects them.
    fn needs_ipsec(&self, path: &Path) -> bool {
        let server = self.server.as_ref();
        let of_client = self.clients.of_server(path.address());
        let of_client = of_client.map(|client| client.needs_ipsec);
        of_client.unwrap_or_else(|| server.is_some_and(|server| server.needs_ipsec))
    }

    fn step(&mut self, step: Step, now: Instant, out: &mut CarrierOutput<'_>) {
        match step {
            Step::Hangup(client) => {
                self.feed(Event::Hangup(client), now, out);
            }
            Step::Close(link) => out.events.push(LinkEvent::Close(link)),
            Step::Dial(client, remote) => {
                let settings = self.clients.settings(client);
                let source = settings.and_then(|settings| settings.source);
                let is_protected = settings.is_some_and(|settings| settings.needs_ipsec);
                let local = source.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
                let port = self.ports.get(&client).copied().unwrap_or(PORT);
                let path = Path {
                    local: SocketAddr::new(local, port),
                    remote: SocketAddr::new(IpAddr::V4(remote), PORT),
                    is_protected,
                };
                let dial = Event::Dial {
                    client,
                    path,
                    pseudowire: None,
                };
                self.feed(dial, now, out);
            }
        }
    }
}

impl Carrier for L2tp {
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
        let serves = self.server.as_ref().is_some_and(|server| server.is_enabled);
        if !serves && !self.clients.any() {
            return Vec::new();
        }
        let ports: BTreeSet<u16> = self.ports.values().copied().chain([PORT]).collect();
        let matches = ports
            .into_iter()
            .map(|port| Match::Udp { ipv6: false, port });
        vec![service(matches.collect())]
    }

    fn apply_changes(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        out: &mut CarrierOutput<'_>,
    ) {
        if concerns(&[SERVER, SECRETS, IDENTITY], changes) {
            self.configure(view, out);
        }
        let mut changed = Vec::new();
        each_item(view, kind::CLIENT_MENU, changes, |id, item| {
            changed.push((id, item.and_then(Client::read)));
        });
        for (id, settings) in changed {
            let is_random = { settings.as_ref() }.is_some_and(|client| client.has_random_port);
            match is_random {
                true => {
                    _ = self
                        .ports
                        .entry(id)
                        .or_insert_with(|| random_port(&mut self.rng))
                }
                false => _ = self.ports.remove(&id),
            }
            if let Some(step) = self.clients.set(id, settings, view.now, out.effects) {
                self.step(step, view.now, out);
            }
        }
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
        if is_of_version_3(heard) {
            return ReceiveOutcome::NotMine;
        }
        let Some((remote, local, datagram)) = heard.datagram() else {
            return ReceiveOutcome::Bad(DropReason::L2tpMalformed);
        };
        let mut path = Path {
            local,
            remote,
            is_protected: false,
        };
        path.is_protected = is_protected(&path, running);
        if !path.is_protected && self.needs_ipsec(&path) {
            return ReceiveOutcome::Bad(DropReason::L2tpUnprotected);
        }
        match self.feed(Event::Received { path, datagram }, running.now, out) {
            Some(reason) => ReceiveOutcome::Bad(reason),
            None => ReceiveOutcome::Taken,
        }
    }

    fn tick(&mut self, now: Instant, out: &mut CarrierOutput<'_>) {
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

    fn send(&mut self, link: LinkId, packet: &[u8], out: &mut Effects) {
        if let Some(link) = self.links.get(link) {
            out.push(Effect::Datagram(Box::new(link.datagram(packet))));
        }
    }

    fn kind(&self, link: LinkId) -> Option<AnyKind> {
        Some(self.links.get(link)?.kind()?.into())
    }

    fn opened(&mut self, link: LinkId) {
        let client = self.links.get(link).and_then(|link| link.client);
        if let Some(client) = client {
            self.clients.opened(client);
        }
    }

    fn close(&mut self, link: LinkId, now: Instant, out: &mut Effects) {
        let Some(gone) = self.links.remove(link) else {
            return;
        };
        // A closed link has no further events.
        let out = &mut CarrierOutput::new(out);
        self.feed(Event::Close(gone.session), now, out);
        if let Some(client) = gone.client {
            self.clients.ended(client, now, out.effects);
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

    fn dial(&mut self, item: Id, now: Instant, out: &mut CarrierOutput<'_>) {
        self.clients.demand(item.0, now, out.effects);
    }

    fn client_status(&self, item: Id) -> Option<&'static str> {
        self.clients.status(item.0)
    }
}

/// Returns a random source port.
fn random_port(rng: &mut Rng) -> u16 {
    let (first, count) = RANDOM_PORTS;
    first + rng.below(count.into()) as u16
}

/// Returns the setup of a link.
fn setup(opened: &Opened, end: LinkEnd, settings: Arc<ppp::Settings>) -> LinkSetup {
    LinkSetup {
        end,
        settings,
        payload: PAYLOAD,
        caller_id: opened.path.address().to_string().into(),
        called_id: opened.path.local.ip().to_string().into(),
        port: SERVICE.into(),
        circuit_id: None,
        remote_id: None,
        number: opened.session.tunnel << 16 | opened.session.session,
    }
}

/// Sends a control message of a tunnel.
fn send(path: &Path, bytes: Vec<u8>, out: &mut Effects) {
    out.push(Effect::Datagram(Box::new(datagram(path, bytes))));
}
