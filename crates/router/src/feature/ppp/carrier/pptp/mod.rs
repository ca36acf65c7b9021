//! PPTP (RFC 2637): clients, and a server.
//!
//! The crate `pptp` has the control connections as one machine; the program has their TCP connections. A link is one
//! call, whose PPP packets are GRE packets of this router.

mod links;
mod settings;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeSet;
use std::sync::Arc;

use dataplane::DropReason;
use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Machine, Rng};
use menu::{Changes, Id};
use pptp::gre::Packet;
use pptp::{Action, ConnectionId, Endpoint, Event, Fault, Opened, Reason};
use wire::{Protocol, ipv4};

use self::links::{Link, Links, PPP_ADDRESS};
use self::settings::{Client, Server};
use super::clients::{Clients, Step};
use super::{
    Carrier, CarrierOutput, LinkDown, LinkEnd, LinkEvent, LinkId, LinkSetup, Registration,
};
use crate::drive::timers::Timers;
use crate::feature::hear::{Outgoing, ReceiveOutcome, ReceivedPacket};
use crate::feature::stream::{StreamEvent, StreamId, StreamRequest};
use crate::feature::{Effect, Effects, View, concerns, each_item};
use crate::intent::ItemId;
use crate::kind::{AnyKind, pptp as kind};
use crate::running::Running;

/// Menu of the server.
const SERVER: &str = "/interface/pptp-server/server";
/// Menu with the name of this router.
const IDENTITY: &str = "/system/identity";
/// Name of the service, and of the protocol in logs.
const SERVICE: &str = "pptp";
/// TCP port of control connections.
const PORT: u16 = 1723;
/// Rate of PPP control packets on a worker.
const RATE: Rate = Rate {
    per_second: 50_000,
    burst: 4096,
};
/// Time in which a client begins PPP. The first packet of a server would overtake the reply to the call, which a TCP
/// connection carries: firewalls and clients do not know the call yet.
const QUIET: Duration = Duration::from_secs(3);
/// Largest PPP packet that fits a GRE packet, in bytes.
const PAYLOAD: u16 = 65_000;

pub(super) const CARRIER: Registration = Registration {
    menus: &[kind::CLIENT_MENU, kind::SERVER_MENU, SERVER, IDENTITY],
    create: |secrets| Box::new(Pptp::new(secrets)),
};

/// Clients and server of PPTP.
#[derive(Debug)]
struct Pptp {
    machine: Endpoint,
    links: Links,
    clients: Clients<Client>,
    server: Option<Server>,
    /// The program listens on the port of control connections.
    listens: bool,
    /// When PPP begins on links that wait for the first packet of the client.
    timers: Timers<LinkId>,
}

impl Pptp {
    fn new(secrets: &mut Rng) -> Self {
        Self {
            machine: Endpoint::new(pptp::Server::default(), secrets.split()),
            links: Links::default(),
            clients: Clients::new(),
            server: None,
            listens: false,
            timers: Timers::default(),
        }
    }

    /// Reads the settings of the server, and what both roles share.
    fn configure(&mut self, view: &View<'_>, out: &mut CarrierOutput<'_>) {
        let identity = view.store.settings(IDENTITY);
        let identity = identity.map_or("MikroTik", |item| item.text("name"));
        let server = view.store.settings(SERVER);
        self.server = server.map(|item| Server::read(item, identity));
        let is_enabled = self.server.as_ref().is_some_and(|server| server.is_enabled);
        let settings = pptp::Server {
            host_name: identity.into(),
            is_enabled,
        };
        if is_enabled != self.listens {
            self.listens = is_enabled;
            out.effects.push(Effect::Stream(StreamRequest::Listen {
                service: SERVICE,
                port: PORT,
                on: is_enabled,
            }));
            if is_enabled {
                let message =
                    "server enabled: its encryption is broken, IKEv2 and WireGuard are not";
                out.effects.log("pptp,warning", message.to_owned());
            }
        }
        self.feed(Event::Configure(settings), view.now, out);
    }

    /// Passes an event to the machine and carries out its actions.
    fn feed(&mut self, event: Event<'_>, now: Instant, out: &mut CarrierOutput<'_>) {
        let mut actions = Vec::new();
        self.machine.handle(event, now, &mut actions);
        self.carry_out(actions, now, out);
    }

    fn carry_out(&mut self, actions: Vec<Action>, now: Instant, out: &mut CarrierOutput<'_>) {
        for action in actions {
            match action {
                Action::Connect(connection, remote) => {
                    let request = StreamRequest::Connect {
                        stream: stream(connection),
                        to: SocketAddr::new(remote.into(), PORT),
                    };
                    out.effects.push(Effect::Stream(request));
                }
                Action::Send(connection, bytes) => {
                    let stream = stream(connection);
                    let request = StreamRequest::Send { stream, bytes };
                    out.effects.push(Effect::Stream(request));
                }
                Action::Disconnect(connection) => {
                    let request = StreamRequest::Close(stream(connection));
                    out.effects.push(Effect::Stream(request));
                }
                Action::Opened(opened) => self.opened(&opened, now, out),
                Action::Closed(call, reason) => {
                    let link = self.links.find_mut(call).map(|(id, _)| id);
                    let gone = link.and_then(|id| Some((id, self.remove(id)?)));
                    if let Some((id, link)) = gone {
                        self.closed(id, &link, reason, now, out);
                    }
                }
                Action::Failed(client, reason) => self.failed(client, reason, now, out),
                Action::Ignored(fault) => out.effects.push(Effect::Lost(drop_of(fault), 1)),
            }
        }
    }

    /// Adds the link of a new call.
    fn opened(&mut self, opened: &Opened, now: Instant, out: &mut CarrierOutput<'_>) {
        let setup = match opened.client {
            Some(client) => self.clients.settings(client).map(|settings| {
                let end = LinkEnd::Client(Arc::clone(&settings.dial));
                setup(opened, end, Arc::new(settings.of_ppp()))
            }),
            None => self.server.as_ref().map(|server| {
                let end = LinkEnd::Server {
                    profile: server.profile.clone(),
                    service: "".into(),
                };
                setup(opened, end, Arc::clone(&server.of_ppp))
            }),
        };
        let Some(setup) = setup else {
            return self.feed(Event::Close(opened.call), now, out);
        };
        let (mut link, setup) = (Link::new(opened), Box::new(setup));
        let Some(client) = opened.client else {
            let message = format!("TCP connection established from {}", opened.remote);
            out.effects.log("pptp,info", message);
            link.pending = Some(setup);
            let id = self.links.add(link);
            return self.timers.set(id, Some(now + QUIET));
        };
        let id = self.links.add(link);
        if !self.clients.linked(client, id) {
            self.links.remove(id);
            return self.feed(Event::Close(opened.call), now, out);
        }
        out.events.push(LinkEvent::Up(id, setup));
    }

    /// Begins PPP on a link that waits for the first packet of the client.
    fn begin(&mut self, id: LinkId, out: &mut CarrierOutput<'_>) {
        self.timers.set(id, None);
        let pending = self.links.get_mut(id).and_then(|link| link.pending.take());
        out.events
            .extend(pending.map(|setup| LinkEvent::Up(id, setup)));
    }

    /// Removes a link.
    fn remove(&mut self, id: LinkId) -> Option<Link> {
        self.timers.set(id, None);
        self.links.remove(id)
    }

    /// Reports the end of a call that this end did not request.
    fn closed(
        &mut self,
        id: LinkId,
        link: &Link,
        reason: Reason,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let down = match reason {
            Reason::Disabled => LinkDown::Removed,
            Reason::Timeout | Reason::Connection => LinkDown::Interface,
            _ => LinkDown::Peer,
        };
        let message = format!("call with {}: {reason}", link.remote);
        out.effects.log("pptp,debug", message);
        out.events.push(LinkEvent::Down(id, down));
        if let Some(client) = link.client {
            self.clients.ended(client, now, out.effects);
        }
    }

    fn failed(
        &mut self,
        client: ItemId,
        reason: Reason,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        if let Some(settings) = self.clients.settings(client) {
            let message = format!("{}: terminating... - {reason}", settings.dial.name);
            out.effects.log("pptp,ppp,info", message);
        }
        self.clients.ended(client, now, out.effects);
    }

    fn step(&mut self, step: Step, now: Instant, out: &mut CarrierOutput<'_>) {
        match step {
            Step::Hangup(client) => self.feed(Event::Hangup(client), now, out),
            Step::Close(link) => out.events.push(LinkEvent::Close(link)),
            Step::Dial(client, remote) => self.feed(Event::Dial { client, remote }, now, out),
        }
    }

    /// Handles a GRE packet: passes the PPP packet of a call on.
    fn receive_gre(
        &mut self,
        source: Ipv4Addr,
        bytes: &[u8],
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        // Version 0 and EoIP are not PPTP.
        let Some(gre) = Packet::parse(bytes) else {
            return match bytes {
                [_, flags, 0x88, 0x0b, ..] if flags & 7 == 1 => {
                    ReceiveOutcome::Bad(DropReason::PptpMalformed)
                }
                _ => ReceiveOutcome::NotMine,
            };
        };
        let Some((id, link)) = self.links.find_mut(gre.call) else {
            return ReceiveOutcome::Bad(DropReason::PptpCall);
        };
        if link.remote != source {
            return ReceiveOutcome::Bad(DropReason::PptpPeer);
        }
        let Some(number) = gre.sequence else {
            return ReceiveOutcome::Taken;
        };
        let packet = bytes.get(gre.start..gre.end).unwrap_or_default();
        let packet = packet.strip_prefix(&PPP_ADDRESS).unwrap_or(packet);
        // Workers have noted the numbers of data packets that they leave to control.
        let is_control = packet.first().is_some_and(|first| *first >= 0x80);
        if is_control && !link.numbers.admits(number) {
            return ReceiveOutcome::Bad(DropReason::PptpSequence);
        }
        if !link.budget.admits(packet, now) {
            return ReceiveOutcome::Bad(DropReason::PppRate);
        }
        self.begin(id, out);
        out.events.push(LinkEvent::Packet(id, packet.to_vec()));
        ReceiveOutcome::Taken
    }
}

impl Carrier for Pptp {
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
        if !self.listens && !self.clients.any() {
            return Vec::new();
        }
        let gre = Match::Protocol {
            ipv6: false,
            protocol: Protocol::GRE.0,
        };
        vec![Service::new(SERVICE, [gre], RATE)]
    }

    fn apply_changes(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        out: &mut CarrierOutput<'_>,
    ) {
        if concerns(&[SERVER, IDENTITY], changes) {
            self.configure(view, out);
        }
        let mut changed = Vec::new();
        each_item(view, kind::CLIENT_MENU, changes, |id, item| {
            changed.push((id, item.and_then(Client::read)));
        });
        for (id, settings) in changed {
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
        match ipv4::Packet::new_checked(heard.packet()) {
            Ok(packet) => self.receive_gre(packet.src(), packet.payload(), running.now, out),
            Err(_) => ReceiveOutcome::Bad(DropReason::PptpMalformed),
        }
    }

    fn stream(&mut self, event: &StreamEvent, now: Instant, out: &mut CarrierOutput<'_>) {
        let id = event.stream();
        if id.service != SERVICE {
            return;
        }
        let connection = ConnectionId(id.number);
        let event = match event {
            StreamEvent::Accepted { local, remote, .. } => match (v4(*local), v4(*remote)) {
                (Some(local), Some(remote)) => Event::Accepted {
                    connection,
                    local,
                    remote,
                },
                _ => return out.effects.push(Effect::Stream(StreamRequest::Close(id))),
            },
            StreamEvent::Connected { local, .. } => match v4(*local) {
                Some(local) => Event::Connected { connection, local },
                None => return,
            },
            StreamEvent::Received { bytes, .. } => Event::Bytes { connection, bytes },
            StreamEvent::Ended(_) => Event::Ended(connection),
        };
        self.feed(event, now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut CarrierOutput<'_>) {
        while let Some(step) = self.clients.due(now) {
            self.step(step, now, out);
        }
        while let Some(id) = self.timers.due(now) {
            self.begin(id, out);
        }
        let mut actions = Vec::new();
        self.machine.tick(now, &mut actions);
        self.carry_out(actions, now, out);
    }

    fn deadline(&self) -> Option<Instant> {
        let machine = self.machine.deadline().map(|(at, _)| at);
        let timers = self.clients.deadline().into_iter();
        machine
            .into_iter()
            .chain(timers)
            .chain(self.timers.deadline())
            .min()
    }

    fn send(&mut self, link: LinkId, packet: &[u8], out: &mut Effects) {
        if let Some(link) = self.links.get(link) {
            out.send(Outgoing::packet(InterfaceId::NONE, link.packet(packet)));
        }
    }

    fn kind(&self, link: LinkId) -> Option<AnyKind> {
        Some(self.links.get(link)?.kind().into())
    }

    fn opened(&mut self, link: LinkId) {
        let client = self.links.get(link).and_then(|link| link.client);
        if let Some(client) = client {
            self.clients.opened(client);
        }
    }

    fn close(&mut self, link: LinkId, now: Instant, out: &mut Effects) {
        let Some(gone) = self.remove(link) else {
            return;
        };
        // A closed link has no further events.
        let out = &mut CarrierOutput::new(out);
        self.feed(Event::Close(gone.call), now, out);
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

const fn stream(connection: ConnectionId) -> StreamId {
    StreamId {
        service: SERVICE,
        number: connection.0,
    }
}

const fn v4(address: SocketAddr) -> Option<Ipv4Addr> {
    match address.ip().to_canonical() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

/// Returns the setup of a link.
fn setup(opened: &Opened, end: LinkEnd, settings: Arc<ppp::Settings>) -> LinkSetup {
    LinkSetup {
        end,
        settings,
        payload: PAYLOAD,
        caller_id: opened.remote.to_string().into(),
        called_id: opened.local.to_string().into(),
        port: SERVICE.into(),
        circuit_id: None,
        remote_id: None,
        number: opened.call.into(),
    }
}

/// Returns the drop of what the machine ignores.
const fn drop_of(fault: Fault) -> DropReason {
    match fault {
        Fault::Malformed | Fault::Version => DropReason::PptpMalformed,
        Fault::Unknown => DropReason::PptpUnknown,
        Fault::State => DropReason::PptpState,
        Fault::Call => DropReason::PptpCall,
        Fault::Disabled => DropReason::PptpDisabled,
        Fault::Full => DropReason::PptpFull,
    }
}
