//! SSTP ([MS-SSTP]): clients, and a server.
//!
//! The crate `sstp` has the connections as one machine; the program has their TLS sessions. A link is a connection. Its
//! PPP control packets pass through the machine; once the crypto binding is complete, its data packets pass between the
//! program and the workers.

mod settings;

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dataplane::DropReason;
use dataplane::encap::stream::is_data;
use dataplane::service::Service;
use dataplane::stream::ChannelId;
use machine::{Instant, Machine, Rng};
use menu::{Item, Store};
use sstp::{Action, ConnectionId, Endpoint, Event, Fault, Opened, Reason, SessionKeys};

use self::settings::{Client, SERVICES, Server};
use super::budget::Budget;
use super::links::LinkState;
use super::tunnel::{self, Ends, Tunnel};
use super::{CarrierOutput, LinkDown, LinkEnd, LinkEvent, LinkId, LinkSetup, Registration};
use crate::feature::hear::{ReceiveOutcome, ReceivedPacket};
use crate::feature::stream::{ServerTls, StreamEvent, StreamForm, StreamId, StreamRequest};
use crate::feature::{Effect, Effects, View};
use crate::intent::ItemId;
use crate::kind::{AnyKind, sstp as kind};
use crate::running::Running;

/// Menu of the server.
const SERVER: &str = "/interface/sstp-server/server";
/// Menu with the name of this router.
const IDENTITY: &str = "/system/identity";
/// Name of the service, and of the protocol in logs.
const SERVICE: &str = "sstp";
/// RouterOS's name of the cipher suite of TLS sessions: both RouterOS and rustls have AES-256-GCM alone.
const ENCODING: &str = "AES256-GCM-SHA384";
/// Address and control field of PPP (RFC 1662, 3.1).
const PPP_ADDRESS: [u8; 2] = [0xff, 0x03];
/// Largest PPP packet that fits an SSTP packet, in bytes behind its protocol field.
const PAYLOAD: u16 = (sstp::MAX_PACKET - sstp::HEADER - PPP_ADDRESS.len() - 2) as u16;

pub(super) const CARRIER: Registration = Registration {
    menus: Sstp::MENUS,
    create: |sources| Box::new(Sstp::new(sources.secrets)),
};

/// A link.
#[derive(Debug)]
struct Link {
    connection: ConnectionId,
    /// Client item that dialled; `None` for a connection to the server.
    client: Option<ItemId>,
    remote: IpAddr,
    /// The session in the data plane.
    channel: ChannelId,
    /// The crypto binding is complete.
    is_bound: bool,
    budget: Budget,
}

impl LinkState for Link {
    type Key = ConnectionId;

    fn key(&self) -> ConnectionId {
        self.connection
    }

    fn client(&self) -> Option<ItemId> {
        self.client
    }
}

/// A listener that the program has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listener {
    port: u16,
    tls: Arc<ServerTls>,
    is_shared: bool,
}

/// Clients and server of SSTP.
#[derive(Debug)]
struct Sstp {
    machine: Endpoint,
    ends: Ends<Client, Link>,
    server: Option<Server>,
    listener: Option<Listener>,
    /// Reason why the enabled server does not run.
    lack: Option<String>,
    /// Number of the last session in the data plane.
    last_channel: u32,
}

impl Sstp {
    fn new(secrets: &mut Rng) -> Self {
        Self {
            machine: Endpoint::new(sstp::Server::default(), secrets.split()),
            ends: Ends::default(),
            server: None,
            listener: None,
            lack: None,
            last_channel: 0,
        }
    }

    /// Brings the listener of the program in line with the server.
    fn listen(&mut self, out: &mut CarrierOutput<'_>) {
        let wanted = self.server.as_ref().map(|server| Listener {
            port: server.port,
            tls: Arc::clone(&server.tls),
            is_shared: server.is_shared,
        });
        if wanted == self.listener {
            return;
        }
        let before = core::mem::replace(&mut self.listener, wanted.clone());
        let changes = [(before, false), (wanted, true)];
        for (listener, on) in changes {
            let Some(listener) = listener else {
                continue;
            };
            out.effects.push(Effect::Stream(StreamRequest::Listen {
                service: SERVICE,
                port: listener.port,
                on,
                tls: Some(listener.tls),
                form: StreamForm::Sstp,
                is_shared: listener.is_shared,
            }));
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
                Action::Connect(connection, client) => self.connect(connection, client, out),
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
                Action::Packet(call, packet) => self.packet(call, &packet, now, out),
                Action::Bound(call) => self.bound(call, out),
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

    /// Establishes the TLS connection of a client.
    fn connect(&self, connection: ConnectionId, client: ItemId, out: &mut CarrierOutput<'_>) {
        let settings = self.ends.clients.settings(client);
        let remote = self.ends.clients.server(client);
        let Some((settings, remote)) = settings.zip(remote) else {
            return;
        };
        let request = StreamRequest::Connect {
            stream: stream(connection),
            to: SocketAddr::new(remote, settings.port),
            proxy: settings.proxy,
            tls: Some(Arc::clone(&settings.tls)),
            form: StreamForm::Sstp,
        };
        out.effects.push(Effect::Stream(request));
    }

    /// Adds the link of a new call.
    fn opened(&mut self, opened: &Opened, now: Instant, out: &mut CarrierOutput<'_>) {
        let (end, settings) = match opened.client {
            Some(client) => match self.ends.clients.settings(client) {
                Some(settings) => {
                    let end = LinkEnd::Client(Arc::clone(&settings.dial));
                    (end, Arc::new(settings.of_ppp()))
                }
                None => return self.feed(Event::Close(opened.connection), now, out),
            },
            None => match &self.server {
                Some(server) => {
                    let end = LinkEnd::Server {
                        profile: server.profile.clone(),
                        service: "".into(),
                    };
                    (end, Arc::clone(&server.of_ppp))
                }
                None => return self.feed(Event::Close(opened.connection), now, out),
            },
        };
        if opened.client.is_none() {
            let message = format!("TLS connection established from {}", opened.remote);
            out.effects.log("sstp,info", message);
        }
        log_limit(&settings, opened, out.effects);
        self.last_channel = self.last_channel.wrapping_add(1);
        let link = Link {
            connection: opened.connection,
            client: opened.client,
            remote: opened.remote,
            channel: ChannelId {
                protocol: ChannelId::SSTP,
                number: self.last_channel,
            },
            is_bound: false,
            budget: Budget::default(),
        };
        let setup = LinkSetup {
            end,
            settings,
            payload: PAYLOAD,
            caller_id: opened.remote.to_string().into(),
            called_id: "".into(),
            port: SERVICE.into(),
            circuit_id: None,
            remote_id: None,
            number: self.last_channel,
            ipv6: None,
        };
        match tunnel::add_link(self, link) {
            Some(id) => out.events.push(LinkEvent::Up(id, Box::new(setup))),
            None => self.feed(Event::Close(opened.connection), now, out),
        }
    }

    /// Passes a PPP packet of a call on.
    fn packet(
        &mut self,
        call: ConnectionId,
        packet: &[u8],
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let Some((id, link)) = self.ends.links.find_mut(call) else {
            return out.effects.push(Effect::Lost(DropReason::SstpState, 1));
        };
        let is_unbound = !link.is_bound && is_data(packet);
        let packet = packet.strip_prefix(&PPP_ADDRESS).unwrap_or(packet);
        match () {
            () if is_unbound => out.effects.push(Effect::Lost(DropReason::SstpUnbound, 1)),
            () if !link.budget.admits(packet, now) => {
                out.effects.push(Effect::Lost(DropReason::PppRate, 1));
            }
            () => out.events.push(LinkEvent::Packet(id, packet.to_vec())),
        }
    }

    /// Lets the data packets of a call pass beside the machine.
    fn bound(&mut self, call: ConnectionId, out: &mut CarrierOutput<'_>) {
        if let Some((id, link)) = self.ends.links.find_mut(call) {
            link.is_bound = true;
            out.effects.push(Effect::Stream(StreamRequest::Attach {
                stream: stream(call),
                channel: link.channel,
            }));
            out.events.push(LinkEvent::Changed(id));
        }
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
        let down = match reason {
            Reason::Disabled => LinkDown::Removed,
            Reason::Timeout | Reason::Connection => LinkDown::Interface,
            _ => LinkDown::Peer,
        };
        let severity = match reason {
            Reason::Binding => "sstp,error",
            _ => "sstp,debug",
        };
        let message = format!("call with {}: {reason}", link.remote);
        out.effects.log(severity, message);
        out.events.push(LinkEvent::Down(id, down));
        if let Some(client) = link.client {
            self.ends.clients.ended(client, now, out.effects);
        }
    }
}

impl Tunnel for Sstp {
    type Client = Client;
    type Link = Link;

    const SERVICE: &'static str = SERVICE;
    const MENUS: &'static [&'static str] = &[
        kind::CLIENT_MENU,
        kind::SERVER_MENU,
        SERVER,
        SERVICES,
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
        Vec::new()
    }

    fn configure(&mut self, view: &View<'_>, out: &mut CarrierOutput<'_>) {
        let identity = view.store.settings(IDENTITY);
        let identity = identity.map_or("MikroTik", |item| item.text("name"));
        let item = view.store.settings(SERVER);
        let server = item.map_or(Ok(None), |item| Server::read(item, identity, view.store));
        let lack = server.as_ref().err().cloned();
        if lack != self.lack {
            if let Some(lack) = &lack {
                out.effects
                    .log("sstp,error", format!("the server does not run: {lack}"));
            }
            self.lack = lack;
        }
        self.server = server.unwrap_or_default();
        self.listen(out);
        let is_enabled = self.server.is_some();
        let settings = sstp::Server { is_enabled };
        self.feed(Event::Configure(settings), view.now, out);
    }

    fn read_client(&mut self, _: ItemId, item: Option<&Item>, _: &Store) -> Option<Client> {
        item.and_then(Client::read)
    }

    fn receive(
        &mut self,
        _: &ReceivedPacket<'_>,
        _: &Running<'_>,
        _: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        ReceiveOutcome::NotMine
    }

    fn stream(&mut self, event: &StreamEvent, now: Instant, out: &mut CarrierOutput<'_>) {
        let connection = ConnectionId(event.stream().number);
        let event = match event {
            StreamEvent::Accepted {
                remote,
                certificate,
                ..
            } => Event::Accepted {
                connection,
                remote: remote.ip().to_canonical(),
                certificate: Arc::clone(certificate),
            },
            StreamEvent::Connected { certificate, .. } => Event::Connected {
                connection,
                certificate: Arc::clone(certificate),
            },
            StreamEvent::Received { bytes, .. } => Event::Bytes { connection, bytes },
            StreamEvent::Ended { why, .. } => {
                if let Some(why) = why {
                    out.effects.log("sstp,error", format!("connection: {why}"));
                }
                Event::Ended(connection)
            }
            StreamEvent::Rejected { remote, why, .. } => {
                out.effects.push(Effect::Lost(DropReason::SstpTls, 1));
                let message = format!("TLS handshake with {}: {why}", remote.ip().to_canonical());
                return out.effects.log("sstp,debug", message);
            }
            StreamEvent::Closed { why, .. } => {
                let message = format!("the server does not run: {why}");
                return out.effects.log("sstp,error", message);
            }
        };
        self.feed(event, now, out);
    }

    fn dial(&mut self, client: ItemId, remote: IpAddr, now: Instant, out: &mut CarrierOutput<'_>) {
        let settings = self.ends.clients.settings(client);
        let host = settings.map(|settings| settings.host()).unwrap_or_default();
        let host = &host;
        let event = Event::Dial {
            client,
            remote,
            host,
        };
        self.feed(event, now, out);
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
        let Some(link) = self.ends.links.get(link) else {
            return;
        };
        let Some(header) = sstp::data_header(PPP_ADDRESS.len() + packet.len()) else {
            return out.push(Effect::Lost(DropReason::TooBig, 1));
        };
        out.push(Effect::Stream(StreamRequest::Send {
            stream: stream(link.connection),
            bytes: [&header[..], &PPP_ADDRESS, packet].concat(),
        }));
    }

    fn kind(&self, link: &Link) -> Option<AnyKind> {
        let kind = kind::Sstp {
            channel: link.channel,
            is_bound: link.is_bound,
        };
        Some(kind.into())
    }

    fn encoding(&self, _: &Link) -> String {
        ENCODING.to_owned()
    }

    fn closed(&mut self, _: LinkId, link: Link, now: Instant, out: &mut CarrierOutput<'_>) {
        self.feed(Event::Close(link.connection), now, out);
    }

    fn authenticated(
        &mut self,
        id: LinkId,
        keys: Option<&ppp::MppeKeys>,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let Some(link) = self.ends.links.get(id) else {
            return;
        };
        let call = link.connection;
        let keys = match (keys, link.client) {
            (Some(keys), Some(_)) => SessionKeys::new(keys.transmit.long(), keys.receive.long()),
            (Some(keys), None) => SessionKeys::new(keys.receive.long(), keys.transmit.long()),
            (None, _) => SessionKeys::NONE,
        };
        self.feed(Event::Authenticated(call, keys), now, out);
    }
}

/// Logs that the length field of SSTP (12 bits) limits the packets of a call to fewer bytes than the settings.
fn log_limit(settings: &ppp::Settings, opened: &Opened, out: &mut Effects) {
    let wanted = settings.max_mtu.max(settings.max_mru);
    if wanted > PAYLOAD {
        let message = format!(
            "call with {}: max-mtu and max-mru of {wanted} act as {PAYLOAD}, longer packets are fragmented",
            opened.remote
        );
        out.log("sstp,warning", message);
    }
}

const fn stream(connection: ConnectionId) -> StreamId {
    StreamId {
        service: SERVICE,
        number: connection.0,
    }
}

/// Returns the drop of what the machine ignores.
const fn drop_of(fault: Fault) -> DropReason {
    match fault {
        Fault::Http => DropReason::SstpRequest,
        Fault::Malformed => DropReason::SstpMalformed,
        Fault::Unknown => DropReason::SstpUnknown,
        Fault::State => DropReason::SstpState,
        Fault::Protocol => DropReason::SstpProtocol,
        Fault::Binding => DropReason::SstpBinding,
        Fault::Disabled => DropReason::SstpDisabled,
        Fault::Full => DropReason::SstpFull,
    }
}
