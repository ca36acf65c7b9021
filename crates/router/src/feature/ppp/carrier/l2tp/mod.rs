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
use l2tp::{Action, Endpoint, Event, Opened, Path, Reason};
use machine::{Instant, Machine, Rng};
use menu::{Item, Store};

use self::links::{Link, Uses};
use self::settings::{Client, Server};
use super::tunnel::{self, Ends, Tunnel};
use super::{CarrierOutput, LinkDown, LinkEnd, LinkEvent, LinkId, LinkSetup, Registration};
use crate::feature::hear::{ReceiveOutcome, ReceivedPacket};
use crate::feature::l2tp::{
    IDENTITY, PORT, SECRETS, SERVER, SERVICE, datagram, drop_of, identity, is_of_version_3,
    is_protected, secrets, service,
};
use crate::feature::{Effect, Effects, View};
use crate::intent::ItemId;
use crate::kind::{AnyKind, l2tp as kind};
use crate::running::Running;

/// First of the random source ports, and their number.
const RANDOM_PORTS: (u16, u16) = (49_152, 16_384);
/// Largest PPP packet that fits a UDP datagram, in bytes.
const PAYLOAD: u16 = 65_000;

pub(super) const CARRIER: Registration = Registration {
    menus: L2tp::MENUS,
    create: |sources| Box::new(L2tp::new(sources.secrets)),
};

/// Clients and server of L2TP.
#[derive(Debug)]
struct L2tp {
    machine: Endpoint,
    ends: Ends<Client, Link>,
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
            ends: Ends::default(),
            ports: BTreeMap::new(),
            server: None,
            rng: secrets.split(),
        }
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
                    let Some((id, link)) = self.ends.links.find_mut(session) else {
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
                        if let Some((id, link)) = self.ends.links.find_mut(session) {
                            link.path = path;
                            out.events.push(LinkEvent::Changed(id));
                        }
                    }
                }
                Action::Closed(session, reason) => {
                    if let Some((id, link)) = self.ends.links.remove_by_key(session) {
                        self.lost(id, &link, &reason, now, out);
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
        match tunnel::add_link(self, Link::new(opened, uses)) {
            Some(link) => out.events.push(LinkEvent::Up(link, Box::new(setup))),
            None => _ = self.feed(Event::Close(opened.session), now, out),
        }
    }

    fn setup_of_client(&self, client: ItemId, opened: &Opened) -> Option<(LinkSetup, Uses)> {
        let settings = self.ends.clients.settings(client)?;
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
    fn lost(
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
            self.ends.clients.ended(client, now, out.effects);
        }
    }

    fn failed(
        &mut self,
        client: ItemId,
        reason: &Reason,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        // A server that was restarted has lost its associations, and receives nothing that this end protects.
        let settings = self.ends.clients.settings(client);
        let is_protected = settings.is_some_and(|settings| settings.needs_ipsec);
        let remote = self.ends.clients.server(client).filter(|_| is_protected);
        if let Some(remote) = remote.filter(|_| *reason == Reason::Timeout) {
            out.effects.push(Effect::ResetIke(remote));
        }
        tunnel::failed(self, client, reason, now, out.effects);
    }

    /// Returns whether messages of an address are accepted only if a policy protects them.
    fn needs_ipsec(&self, path: &Path) -> bool {
        let server = self.server.as_ref();
        let of_client = self.ends.clients.of_server(path.address());
        let of_client = of_client.map(|client| client.needs_ipsec);
        of_client.unwrap_or_else(|| server.is_some_and(|server| server.needs_ipsec))
    }
}

impl Tunnel for L2tp {
    type Client = Client;
    type Link = Link;

    const SERVICE: &'static str = SERVICE;
    const MENUS: &'static [&'static str] = &[
        kind::CLIENT_MENU,
        kind::SERVER_MENU,
        SERVER,
        SECRETS,
        IDENTITY,
    ];
    const CLIENT_MENU: &'static str = kind::CLIENT_MENU;
    const BINDING_MENU: &'static str = kind::SERVER_MENU;

    fn ends(&self) -> &Ends<Client, Link> {
        &self.ends
    }

    fn ends_mut(&mut self) -> &mut Ends<Client, Link> {
        &mut self.ends
    }

    fn services(&self) -> Vec<Service> {
        let serves = self.server.as_ref().is_some_and(|server| server.is_enabled);
        if !serves && !self.ends.clients.any() {
            return Vec::new();
        }
        let ports: BTreeSet<u16> = self.ports.values().copied().chain([PORT]).collect();
        let matches = ports
            .into_iter()
            .map(|port| Match::Udp { ipv6: false, port });
        vec![service(matches.collect())]
    }

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

    fn read_client(&mut self, id: ItemId, item: Option<&Item>, _: &Store) -> Option<Client> {
        let settings = item.and_then(Client::read);
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
        settings
    }

    fn receive(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
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

    fn dial(&mut self, client: ItemId, remote: IpAddr, now: Instant, out: &mut CarrierOutput<'_>) {
        let settings = self.ends.clients.settings(client);
        let source = settings.and_then(|settings| settings.source);
        let is_protected = settings.is_some_and(|settings| settings.needs_ipsec);
        let local = source.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        let port = self.ports.get(&client).copied().unwrap_or(PORT);
        let path = Path {
            local: SocketAddr::new(local, port),
            remote: SocketAddr::new(remote, PORT),
            is_protected,
        };
        let dial = Event::Dial {
            client,
            path,
            pseudowire: None,
        };
        self.feed(dial, now, out);
    }

    fn hang_up(&mut self, client: ItemId, now: Instant, out: &mut CarrierOutput<'_>) {
        self.feed(Event::Hangup(client), now, out);
    }

    fn run_timers(&mut self, now: Instant, out: &mut CarrierOutput<'_>) {
        let mut actions = Vec::new();
        self.machine.tick(now, &mut actions);
        self.carry_out(actions, now, out);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.machine.deadline().map(|(at, _)| at)
    }

    fn send(&mut self, link: LinkId, packet: &[u8], out: &mut Effects) {
        if let Some(link) = self.ends.links.get(link) {
            out.push(Effect::Datagram(Box::new(link.datagram(packet))));
        }
    }

    fn kind(&self, link: &Link) -> Option<AnyKind> {
        Some(link.kind()?.into())
    }

    fn closed(&mut self, _: LinkId, link: Link, now: Instant, out: &mut CarrierOutput<'_>) {
        self.feed(Event::Close(link.session), now, out);
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
        ipv6: None,
    }
}

/// Sends a control message of a tunnel.
fn send(path: &Path, bytes: Vec<u8>, out: &mut Effects) {
    out.push(Effect::Datagram(Box::new(datagram(path, bytes))));
}
