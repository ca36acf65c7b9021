//! PPTP (RFC 2637): clients, and a server.
//!
//! The crate `pptp` has the control connections as one machine; the program has their TCP connections. A link is one
//! call, whose PPP packets are GRE packets of this router.

mod links;
mod settings;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use dataplane::DropReason;
use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Machine, Rng};
use menu::{Item, Store};
use pptp::gre::Packet;
use pptp::{Action, ConnectionId, Endpoint, Event, Fault, Opened, Reason};
use wire::{Protocol, ipv4};

use self::links::{Link, PPP_ADDRESS};
use self::settings::{Client, Server};
use super::tunnel::{self, Ends, Tunnel};
use super::{CarrierOutput, LinkDown, LinkEnd, LinkEvent, LinkId, LinkSetup, Registration};
use crate::drive::timers::Timers;
use crate::feature::hear::{Outgoing, ReceiveOutcome, ReceivedPacket};
use crate::feature::stream::{StreamEvent, StreamForm, StreamId, StreamRequest};
use crate::feature::{Effect, Effects, View};
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
    menus: Pptp::MENUS,
    create: |sources| Box::new(Pptp::new(sources.secrets)),
};

/// Clients and server of PPTP.
#[derive(Debug)]
struct Pptp {
    machine: Endpoint,
    ends: Ends<Client, Link>,
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
            ends: Ends::default(),
            server: None,
            listens: false,
            timers: Timers::default(),
        }
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
                        proxy: None,
                        tls: None,
                        form: StreamForm::Plain,
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
                    if let Some((id, link)) = self.ends.links.remove_by_key(call) {
                        self.lost(id, &link, reason, now, out);
                    }
                }
                Action::Failed(client, reason) => {
                    tunnel::failed(self, client, &reason, now, out.effects);
                }
                Action::Ignored(fault) => out.effects.push(Effect::Lost(drop_of(fault), 1)),
            }
        }
    }

    /// Adds the link of a new call.
    fn opened(&mut self, opened: &Opened, now: Instant, out: &mut CarrierOutput<'_>) {
        let setup = match opened.client {
            Some(client) => self.ends.clients.settings(client).map(|settings| {
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
        if opened.client.is_none() {
            let message = format!("TCP connection established from {}", opened.remote);
            out.effects.log("pptp,info", message);
            link.pending = Some(setup);
            let id = self.ends.links.add(link);
            return self.timers.set(id, Some(now + QUIET));
        }
        match tunnel::add_link(self, link) {
            Some(id) => out.events.push(LinkEvent::Up(id, setup)),
            None => self.feed(Event::Close(opened.call), now, out),
        }
    }

    /// Begins PPP on a link that waits for the first packet of the client.
    fn begin(&mut self, id: LinkId, out: &mut CarrierOutput<'_>) {
        self.timers.set(id, None);
        let pending = self
            .ends
            .links
            .get_mut(id)
            .and_then(|link| link.pending.take());
        out.events
            .extend(pending.map(|setup| LinkEvent::Up(id, setup)));
    }

    /// Reports the end of a call that this end did not request.
    fn lost(
        &mut self,
        id: LinkId,
        link: &Link,
        reason: Reason,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        self.timers.set(id, None);
        let down = match reason {
            Reason::Disabled => LinkDown::Removed,
            Reason::Timeout | Reason::Connection => LinkDown::Interface,
            _ => LinkDown::Peer,
        };
        let message = format!("call with {}: {reason}", link.remote);
        out.effects.log("pptp,debug", message);
        out.events.push(LinkEvent::Down(id, down));
        if let Some(client) = link.client {
            self.ends.clients.ended(client, now, out.effects);
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
        let Some((id, link)) = self.ends.links.find_mut(gre.call) else {
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

impl Tunnel for Pptp {
    type Client = Client;
    type Link = Link;

    const SERVICE: &'static str = SERVICE;
    const MENUS: &'static [&'static str] =
        &[kind::CLIENT_MENU, kind::SERVER_MENU, SERVER, IDENTITY];
    const CLIENT_MENU: &'static str = kind::CLIENT_MENU;
    const BINDING_MENU: &'static str = kind::SERVER_MENU;

    fn ends(&self) -> &Ends<Client, Link> {
        &self.ends
    }

    fn ends_mut(&mut self) -> &mut Ends<Client, Link> {
        &mut self.ends
    }

    fn services(&self) -> Vec<Service> {
        if !self.listens && !self.ends.clients.any() {
            return Vec::new();
        }
        let gre = Match::Protocol {
            ipv6: false,
            protocol: Protocol::GRE.0,
        };
        vec![Service::new(SERVICE, [gre], RATE)]
    }

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
                tls: None,
                form: StreamForm::Plain,
                is_shared: false,
            }));
            if is_enabled {
                let message =
                    "server enabled: its encryption is broken, IKEv2 and WireGuard are not";
                out.effects.log("pptp,warning", message.to_owned());
            }
        }
        self.feed(Event::Configure(settings), view.now, out);
    }

    fn read_client(&mut self, _: ItemId, item: Option<&Item>, _: &Store) -> Option<Client> {
        item.and_then(Client::read)
    }

    fn receive(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        match ipv4::Packet::new_checked(heard.packet()) {
            Ok(packet) => self.receive_gre(packet.src(), packet.payload(), running.now, out),
            Err(_) => ReceiveOutcome::Bad(DropReason::PptpMalformed),
        }
    }

    fn stream(&mut self, event: &StreamEvent, now: Instant, out: &mut CarrierOutput<'_>) {
        let id = event.stream();
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
            StreamEvent::Ended { .. } | StreamEvent::Rejected { .. } => Event::Ended(connection),
            StreamEvent::Closed { why, .. } => {
                let message = format!("TCP port {PORT}: {why}");
                return out.effects.log("pptp,error", message);
            }
        };
        self.feed(event, now, out);
    }

    fn dial(&mut self, client: ItemId, remote: IpAddr, now: Instant, out: &mut CarrierOutput<'_>) {
        if let IpAddr::V4(remote) = remote {
            self.feed(Event::Dial { client, remote }, now, out);
        }
    }

    fn hang_up(&mut self, client: ItemId, now: Instant, out: &mut CarrierOutput<'_>) {
        self.feed(Event::Hangup(client), now, out);
    }

    fn run_timers(&mut self, now: Instant, out: &mut CarrierOutput<'_>) {
        while let Some(id) = self.timers.due(now) {
            self.begin(id, out);
        }
        let mut actions = Vec::new();
        self.machine.tick(now, &mut actions);
        self.carry_out(actions, now, out);
    }

    fn next_timer(&self) -> Option<Instant> {
        let machine = self.machine.deadline().map(|(at, _)| at);
        machine.into_iter().chain(self.timers.deadline()).min()
    }

    fn send(&mut self, link: LinkId, packet: &[u8], out: &mut Effects) {
        if let Some(link) = self.ends.links.get(link) {
            out.send(Outgoing::packet(InterfaceId::NONE, link.packet(packet)));
        }
    }

    fn kind(&self, link: &Link) -> Option<AnyKind> {
        Some(link.kind().into())
    }

    fn closed(&mut self, id: LinkId, link: Link, now: Instant, out: &mut CarrierOutput<'_>) {
        self.timers.set(id, None);
        self.feed(Event::Close(link.call), now, out);
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
        ipv6: None,
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
