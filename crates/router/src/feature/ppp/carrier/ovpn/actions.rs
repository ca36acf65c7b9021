//! Carries out the actions of OpenVPN's machines, and follows the PPP ends that stand for OpenVPN peers.

use core::net::Ipv4Addr;
use std::sync::Arc;

use dataplane::DropReason;
use machine::{Duration, Instant, Machine};
use openvpn::data::{EXIT, PING};
use openvpn::{
    Action, ClientEvent, Fault, Grant, Login, Opened, Push, Reason, Route, ServerEvent, Topology,
};
use ppp::{DownReason, Ipv4Grant, Ipv4Link, Method, Methods, Role};

use super::links::{End, Link, datagram};
use super::peer::{Outcome, Peer};
use super::settings::Server;
use super::{Ovpn, SERVICE};
use crate::feature::ppp::carrier::{LinkDown, LinkEnd, LinkEvent, LinkId, LinkSetup};
use crate::feature::ppp::route_text;
use crate::feature::{Effect, Effects};
use crate::intent::{ItemId, Name};
use crate::object::{Made, Owner};
use crate::rib::{Net, V4};

/// Bit of `IV_PROTO`: the client takes data packets of version 2.
const TAKES_PEER_ID: u32 = 2;

impl Ovpn {
    /// Passes an event to a server's machine and carries out its actions. Returns the drop of an ignored packet.
    pub(super) fn feed_server(
        &mut self,
        item: ItemId,
        event: ServerEvent<'_>,
        now: Instant,
        out: &mut Effects,
    ) -> Option<DropReason> {
        let entry = self.servers.get_mut(&item)?;
        let mut actions = Vec::new();
        entry.machine.handle(event, now, &mut actions);
        self.of_server(item, actions, now, out)
    }

    /// Passes an event to a client's machine and carries out its actions. Returns the drop of an ignored packet.
    pub(super) fn feed_client(
        &mut self,
        item: ItemId,
        event: ClientEvent<'_>,
        now: Instant,
        out: &mut Effects,
    ) -> Option<DropReason> {
        let attempt = self.attempts.get_mut(&item)?;
        let mut actions = Vec::new();
        attempt.machine.handle(event, now, &mut actions);
        self.of_client(item, actions, now, out)
    }

    /// Runs the due timers of all machines.
    pub(super) fn tick_machines(&mut self, now: Instant, out: &mut Effects) {
        let servers: Vec<ItemId> = self.servers.keys().copied().collect();
        for item in servers {
            let mut actions = Vec::new();
            if let Some(entry) = self.servers.get_mut(&item) {
                entry.machine.tick(now, &mut actions);
            }
            self.of_server(item, actions, now, out);
        }
        let clients: Vec<ItemId> = self.attempts.keys().copied().collect();
        for item in clients {
            let mut actions = Vec::new();
            if let Some(attempt) = self.attempts.get_mut(&item) {
                attempt.machine.tick(now, &mut actions);
            }
            self.of_client(item, actions, now, out);
        }
    }

    fn of_server(
        &mut self,
        item: ItemId,
        actions: Vec<Action>,
        now: Instant,
        out: &mut Effects,
    ) -> Option<DropReason> {
        let mut dropped = None;
        for action in actions {
            match action {
                Action::Authenticate(login) => self.begin_user(item, &login, now, out),
                Action::Opened(opened) => log_opened(&opened, out),
                Action::Closed(session, reason) => {
                    let link = self
                        .links
                        .find_mut(End::Server(item, session))
                        .map(|(id, _)| id);
                    if let Some(link) = link {
                        self.lose(link, &reason, out);
                    }
                }
                Action::Ignored(fault) => dropped = Some(drop_of(fault)),
                other => {
                    if let Some(session) = session_of(&other) {
                        self.of_data_channel(End::Server(item, session), other, out);
                    } else if let Action::Send(path, bytes) = other {
                        out.push(Effect::Datagram(Box::new(datagram(&path, bytes))));
                    }
                }
            }
        }
        dropped
    }

    fn of_client(
        &mut self,
        item: ItemId,
        actions: Vec<Action>,
        now: Instant,
        out: &mut Effects,
    ) -> Option<DropReason> {
        let mut dropped = None;
        for action in actions {
            match action {
                Action::Opened(opened) => {
                    log_opened(&opened, out);
                    self.begin_client(item, &opened, now, out);
                }
                Action::Closed(_, reason) => self.client_closed(item, &reason, now, out),
                Action::Ignored(fault) => dropped = Some(drop_of(fault)),
                Action::Send(path, bytes) => {
                    out.push(Effect::Datagram(Box::new(datagram(&path, bytes))));
                }
                other => self.of_data_channel(End::Client(item), other, out),
            }
        }
        dropped
    }

    /// Carries out an action that concerns keys or data packets of a session.
    fn of_data_channel(&mut self, end: End, action: Action, out: &mut Effects) {
        let Some((_, link)) = self.links.find_mut(end) else {
            return;
        };
        let payload = match action {
            Action::Keys(keys) => {
                if !link.install(&keys, &mut self.rng) {
                    out.log(
                        "ovpn,error",
                        "a key of the data channel is refused".to_owned(),
                    );
                }
                return;
            }
            Action::UseKey(_, key) => return link.send_with(key),
            Action::RetireKey(_, key) => return link.retire(key),
            Action::Mismatch(_, mismatch) => {
                return out.log("ovpn,warning", format!("{}: {mismatch}", link.path.remote));
            }
            Action::Ping(_) => &PING[..],
            Action::NotifyExit(_) => &EXIT,
            _ => return,
        };
        if let Some(packet) = link.datagram(payload) {
            out.push(Effect::Datagram(Box::new(packet)));
        }
    }

    /// Begins the PPP session of a user that has sent its password.
    fn begin_user(&mut self, item: ItemId, login: &Login, now: Instant, out: &mut Effects) {
        let Some(entry) = self.servers.get(&item) else {
            return;
        };
        let settings = &entry.settings;
        let client = settings.common.of_ppp(Role::Client, settings.methods);
        let peer = Peer::user(client, &login.user, &login.password, &mut self.rng);
        let end = End::Server(item, login.session);
        let peer_id = (login.info.proto & TAKES_PEER_ID != 0).then_some(login.session);
        let setup = LinkSetup {
            end: LinkEnd::Server {
                profile: settings.profile.clone(),
                service: "".into(),
            },
            settings: Arc::new(settings.common.of_ppp(Role::Server, settings.methods)),
            payload: settings.common.mtu,
            caller_id: login.path.remote.ip().to_string().into(),
            called_id: login.path.local.ip().to_string().into(),
            port: SERVICE.into(),
            circuit_id: None,
            remote_id: None,
            number: login.session,
        };
        let link = Link::new(end, login.path, peer_id, peer);
        self.begin(link, setup, now, out);
    }

    /// Begins the PPP session of a client whose server has sent its options.
    fn begin_client(&mut self, item: ItemId, opened: &Opened, now: Instant, out: &mut Effects) {
        let settings = self.clients.settings(item).cloned();
        let addresses = addresses(&opened.push);
        let (Some(settings), Some((own, remote))) = (settings, addresses) else {
            let message = "the server assigns no IPv4 address".to_owned();
            out.log("ovpn,ppp,error", message);
            self.feed_client(item, ClientEvent::Close, now, out);
            return;
        };
        let mut common = settings.common.clone();
        common.mtu = common.mtu.min(opened.push.mtu.unwrap_or(common.mtu));
        let methods = Methods::NONE.with(Method::Pap);
        let mut dns = opened.push.dns.iter().filter_map(|server| match server {
            core::net::IpAddr::V4(server) => Some(*server),
            core::net::IpAddr::V6(_) => None,
        });
        let assigns = Ipv4Grant {
            local: remote,
            remote: own,
            dns: [dns.next(), dns.next()],
            wins: [None; 2],
        };
        let peer = Peer::server(common.of_ppp(Role::Server, methods), assigns, &mut self.rng);
        let setup = LinkSetup {
            end: LinkEnd::Client(Arc::clone(&settings.dial)),
            settings: Arc::new(common.of_ppp(Role::Client, methods)),
            payload: common.mtu,
            caller_id: opened.path.remote.ip().to_string().into(),
            called_id: opened.path.remote.ip().to_string().into(),
            port: SERVICE.into(),
            circuit_id: None,
            remote_id: None,
            number: 0,
        };
        let link = Link::new(End::Client(item), opened.path, opened.peer_id, peer);
        let id = self.begin(link, setup, now, out);
        if !self.clients.linked(item, id) {
            self.remove(id, out);
            self.feed_client(item, ClientEvent::Close, now, out);
            return;
        }
        if settings.takes_routes {
            add_routes(id, &settings.dial.name, &opened.push, out);
        }
    }

    /// Adds a link and begins both ends of its PPP session.
    fn begin(&mut self, link: Link, setup: LinkSetup, now: Instant, out: &mut Effects) -> LinkId {
        let id = self.links.add(link);
        self.pending.push(LinkEvent::Up(id, Box::new(setup)));
        let begun = self.links.get_mut(id).map(|link| link.peer.begin(now));
        self.follow_peer(id, begun.unwrap_or_default(), now, out);
        id
    }

    /// Passes the packets of this router's PPP sessions to the ends that stand for OpenVPN peers.
    pub(super) fn deliver(&mut self, now: Instant, out: &mut Effects) {
        for (id, packet) in core::mem::take(&mut self.inbox) {
            let link = self.links.get_mut(id);
            let outcomes = link.map(|link| link.peer.receive(&packet, now));
            self.follow_peer(id, outcomes.unwrap_or_default(), now, out);
        }
    }

    /// Does what the end that stands for an OpenVPN peer wants.
    pub(super) fn follow_peer(
        &mut self,
        id: LinkId,
        outcomes: Vec<Outcome>,
        now: Instant,
        out: &mut Effects,
    ) {
        for outcome in outcomes {
            let Some(link) = self.links.get_mut(id) else {
                return;
            };
            let was_open = link.is_open;
            link.is_open |= matches!(outcome, Outcome::Open(_));
            match (outcome, link.end) {
                (Outcome::Packet(packet), _) => {
                    self.pending.push(LinkEvent::Packet(id, packet));
                }
                (Outcome::Open(link), End::Server(item, session)) => {
                    let entry = self.servers.get(&item);
                    let grant = entry.map(|entry| grant(&entry.settings, &link));
                    if let Some(grant) = grant {
                        let event = ServerEvent::Accept(session, Box::new(grant));
                        self.feed_server(item, event, now, out);
                    }
                }
                (Outcome::Ended(reason), End::Server(item, session)) if !was_open => {
                    let text = match reason {
                        DownReason::CredentialsRefused(text) => text.to_string(),
                        reason => reason.to_string(),
                    };
                    let event = ServerEvent::Refuse(session, &text);
                    self.feed_server(item, event, now, out);
                }
                _ => {}
            }
        }
    }

    /// Reports the end of a session that this end did not request.
    fn lose(&mut self, link: LinkId, reason: &Reason, out: &mut Effects) {
        let Some(gone) = self.remove(link, out) else {
            return;
        };
        let remote = gone.path.remote;
        out.log("ovpn,info", format!("session with {remote}: {reason}"));
        let down = match reason {
            Reason::Timeout | Reason::Handshake | Reason::Disconnected => LinkDown::Interface,
            Reason::Closed | Reason::Replaced | Reason::RefusedHere(_) => LinkDown::Removed,
            _ => LinkDown::Peer,
        };
        self.pending.push(LinkEvent::Down(link, down));
    }

    fn client_closed(&mut self, item: ItemId, reason: &Reason, now: Instant, out: &mut Effects) {
        let attempt = self.attempts.get_mut(&item);
        if attempt.is_none_or(|attempt| core::mem::replace(&mut attempt.is_over, true)) {
            return;
        }
        let link = self.links.find_mut(End::Client(item)).map(|(id, _)| id);
        match link {
            Some(link) => self.lose(link, reason, out),
            None => {
                if let Some(settings) = self.clients.settings(item) {
                    let message = format!("{}: terminating... - {reason}", settings.dial.name);
                    out.log("ovpn,ppp,info", message);
                }
            }
        }
        self.clients.ended(item, now, out);
    }

    /// Forgets a link, and the routes that its server pushed.
    pub(super) fn remove(&mut self, id: LinkId, out: &mut Effects) -> Option<Link> {
        let gone = self.links.remove(id)?;
        gone.session.set_sending(None);
        if matches!(gone.end, End::Client(_)) {
            out.push(Effect::Gone(owner(id)));
        }
        Some(gone)
    }
}

/// Returns the session that an action concerns.
fn session_of(action: &Action) -> Option<u32> {
    match action {
        Action::Keys(keys) => Some(keys.session),
        Action::UseKey(session, _)
        | Action::RetireKey(session, _)
        | Action::Ping(session)
        | Action::NotifyExit(session)
        | Action::Mismatch(session, _) => Some(*session),
        _ => None,
    }
}

fn log_opened(opened: &Opened, out: &mut Effects) {
    let cipher = opened.suite.cipher.name();
    let message = format!("{}: {}, cipher {cipher}", opened.path.remote, opened.tls);
    out.log("ovpn,debug", message);
    if opened.suite.digest == openvpn::Digest::Md5 || opened.suite.cipher == openvpn::Cipher::None {
        let message = format!(
            "{}: packets are protected by cipher {cipher} and auth {}, which is broken or nothing",
            opened.path.remote, opened.suite.digest
        );
        out.log("ovpn,warning", message);
    }
}

/// Returns the options for a user whose addresses are agreed.
fn grant(settings: &Server, link: &Ipv4Link) -> Grant {
    let keepalive = settings.keepalive;
    let seconds = |count: u32| Duration::from_secs(count.into());
    Grant {
        push: Push {
            topology: Topology::Subnet,
            address: Some((link.local, settings.netmask)),
            gateway: link.remote,
            routes: settings.routes.clone(),
            redirect: settings.redirect.clone(),
            dns: link.dns.into_iter().flatten().map(Into::into).collect(),
            ping: keepalive,
            ping_restart: keepalive.map(|count| 2 * count),
            ..Push::default()
        },
        ping: keepalive.map(seconds),
        timeout: keepalive.map(|count| seconds(2 * count)),
    }
}

/// Returns the addresses of this end and of the server.
fn addresses(push: &Push) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let (own, other) = push.address?;
    let remote = match push.topology {
        Topology::Subnet => push.gateway.unwrap_or(own),
        Topology::Net30 | Topology::PointToPoint => other,
    };
    Some((own, remote))
}

/// Owner of the routes that a server pushed.
const fn owner(link: LinkId) -> Owner {
    Owner {
        feature: "ovpn-route",
        number: link.0,
    }
}

/// Adds the network of the clients and the pushed routes, over the client's interface. The gateway of a pushed route is
/// the server.
fn add_routes(link: LinkId, interface: &Name, push: &Push, out: &mut Effects) {
    let network = match (push.topology, push.address) {
        (Topology::Subnet, Some((own, mask))) => Some(Route {
            network: own & mask,
            mask,
            gateway: None,
            metric: None,
        }),
        _ => None,
    };
    for route in network.iter().chain(&push.routes) {
        let len = route.mask.to_bits().leading_ones();
        let net = Net::new(route.network, len as u8);
        let distance = route.metric.and_then(|metric| u8::try_from(metric).ok());
        let route = route_text::over::<V4>(net, None, interface, distance.unwrap_or(1).max(1));
        out.object(owner(link), Made::Route4(route));
    }
}

/// Returns the drop of a packet that the machine ignores.
const fn drop_of(fault: Fault) -> DropReason {
    match fault {
        Fault::Malformed | Fault::Opcode | Fault::KeyMethod => DropReason::OvpnMalformed,
        Fault::Data | Fault::Session => DropReason::OvpnUnknown,
        Fault::Cookie => DropReason::OvpnCookie,
        Fault::Key => DropReason::OvpnKey,
        Fault::Protection => DropReason::OvpnIntegrity,
        Fault::Replayed => DropReason::OvpnReplayed,
        Fault::Duplicate | Fault::Sequence | Fault::Message => DropReason::OvpnState,
        Fault::Full => DropReason::OvpnFull,
    }
}
