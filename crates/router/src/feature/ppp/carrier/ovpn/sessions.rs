//! Sessions of OpenVPN as links: users that dialled in, servers that a client reached, and the PPP ends that stand for
//! OpenVPN peers.

use core::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use dataplane::encap::ovpn::{Session, Transport as DataTransport};
use dataplane::stream::ChannelId;
use machine::{Duration, Instant};
use openvpn::{
    Address6, ClientEvent, Device, Grant, Login, Opened, Path, Push, Reason, ServerEvent, Topology,
    Transport,
};
use ppp::{DownReason, Ipv4Grant, Ipv4Link, Method, Methods, Role};

use super::links::{End, Link};
use super::peer::{Outcome, Peer};
use super::redirect::Redirect;
use super::settings::Server;
use super::{Ovpn, SERVICE, TimerId};
use crate::feature::ppp::carrier::{
    CarrierOutput, FixedIpv6, LinkDown, LinkEnd, LinkEvent, LinkId, LinkSetup, tunnel,
};
use crate::feature::ppp::route_text;
use crate::feature::{Effect, Effects};
use crate::intent::{ItemId, Name};
use crate::object::{Made, Owner};
use crate::rib::{Net, V4, V6};

/// Bit of `IV_PROTO`: the client takes data packets of version 2.
const TAKES_PEER_ID: u32 = 2;

impl Ovpn {
    /// Begins the PPP session of a user that has sent its password.
    pub(super) fn begin_user(
        &mut self,
        item: ItemId,
        login: &Login,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let Some(entry) = self.servers.get(&item) else {
            return;
        };
        let settings = &entry.settings;
        let client = settings.common.of_ppp(Role::Client, settings.methods);
        let peer = Peer::user(client, &login.user, &login.password, &mut self.rng);
        let ipv6 = settings.ipv6.map(|own| own.client(login.session));
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
            ipv6: ipv6.map(|address| FixedIpv6 {
                local: address.remote,
                len: 128,
                remote: Some(address.address),
            }),
        };
        let peer_id = (login.info.proto & TAKES_PEER_ID != 0).then_some(login.session);
        let session = self.session(login.path, peer_id);
        let end = End::Server(item, login.session);
        let link = Link::new(end, session, login.path, peer).with_device(&settings.common);
        self.begin(link, setup, now, out);
    }

    /// Returns the state of a new session for the workers. Its number is that of the next link.
    fn session(&self, path: Path, peer_id: Option<u32>) -> Session {
        let LinkId(number) = self.ends.links.next_id();
        let transport = match path.transport {
            Transport::Udp => DataTransport::Datagrams,
            Transport::Tcp => DataTransport::Stream(ChannelId {
                protocol: ChannelId::OVPN,
                number: number as u32,
            }),
        };
        let ends = [path.local, path.remote];
        Session::new(ends, peer_id, transport, number, Arc::clone(&self.notices))
    }

    /// Begins the PPP session of a client whose server has sent its options.
    pub(super) fn begin_client(
        &mut self,
        item: ItemId,
        opened: &Opened,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let Some(settings) = self.ends.clients.settings(item).cloned() else {
            self.feed_client(item, ClientEvent::Close, now, out);
            return;
        };
        let mut common = settings.common.clone();
        let has_frames = common.device == Device::Tap;
        let addresses = addresses(&opened.push);
        if addresses.is_none() && !has_frames {
            let message = "the server assigns no IPv4 address".to_owned();
            out.effects.log("ovpn,ppp,error", message);
            self.feed_client(item, ClientEvent::Close, now, out);
            return;
        }
        common.mtu = common.mtu.min(opened.push.mtu.unwrap_or(common.mtu));
        let methods = Methods::NONE.with(Method::Pap);
        let assigns = addresses.map(|addresses| addresses.grant(&opened.push));
        let peer = Peer::server(common.of_ppp(Role::Server, methods), assigns, &mut self.rng);
        let remote = opened.path.remote.ip().to_string();
        let setup = LinkSetup {
            end: LinkEnd::Client(Arc::clone(&settings.dial)),
            settings: Arc::new(common.of_ppp(Role::Client, methods)),
            payload: common.mtu,
            caller_id: remote.as_str().into(),
            called_id: remote.into(),
            port: SERVICE.into(),
            circuit_id: None,
            remote_id: None,
            number: 0,
            ipv6: opened.push.address6.map(|own| FixedIpv6 {
                local: own.address,
                len: own.len,
                remote: None,
            }),
        };
        let session = self.session(opened.path, opened.peer_id);
        let link = Link::new(End::Client(item), session, opened.path, peer).with_device(&common);
        match self.begin(link, setup, now, out) {
            Some(id) if settings.takes_routes => {
                let gateway = addresses.map(|of| of.remote).filter(|_| has_frames);
                let name = &settings.dial.name;
                add_routes(id, name, &opened.push, gateway, out.effects);
                let server = opened.path.remote.ip();
                let redirect = Redirect::read(owner(id), name, server, &opened.push, gateway);
                self.redirects
                    .extend(redirect.map(|redirect| (id, redirect)));
            }
            Some(_) => {}
            None => _ = self.feed_client(item, ClientEvent::Close, now, out),
        }
    }

    /// Adds a link and begins both ends of its PPP session. Returns `None` if the client has changed meanwhile.
    fn begin(
        &mut self,
        link: Link,
        setup: LinkSetup,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) -> Option<LinkId> {
        let (path, transport) = (link.path, link.session.transport());
        let id = tunnel::add_link(self, link)?;
        if let DataTransport::Stream(channel) = transport {
            self.connections.attach(&path, channel, out.effects);
        }
        out.events.push(LinkEvent::Up(id, Box::new(setup)));
        let begun = self.ends.links.get_mut(id).map(|link| link.peer.begin(now));
        self.follow_peer(id, begun.unwrap_or_default(), now, out);
        Some(id)
    }

    /// Passes the packets of this router's PPP sessions to the ends that stand for OpenVPN peers.
    pub(super) fn deliver(&mut self, now: Instant, out: &mut CarrierOutput<'_>) {
        for (id, packet) in core::mem::take(&mut self.inbox) {
            let link = self.ends.links.get_mut(id);
            let outcomes = link.map(|link| link.peer.receive(&packet, now));
            self.follow_peer(id, outcomes.unwrap_or_default(), now, out);
        }
    }

    /// Does what the end that stands for an OpenVPN peer wants, and sets its timer.
    pub(super) fn follow_peer(
        &mut self,
        id: LinkId,
        outcomes: Vec<Outcome>,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        for outcome in outcomes {
            let Some(link) = self.ends.links.get_mut(id) else {
                return;
            };
            let was_open = link.is_open;
            link.is_open |= matches!(outcome, Outcome::Open(_));
            match (outcome, link.end) {
                (Outcome::Packet(packet), _) => {
                    out.events.push(LinkEvent::Packet(id, packet));
                }
                (Outcome::Open(link), End::Server(item, session)) => {
                    let entry = self.servers.get(&item);
                    let grant = entry.map(|entry| grant(&entry.settings, link, session));
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
        let link = self.ends.links.get(id);
        let deadline = link.and_then(|link| link.peer.deadline());
        self.timers.set(TimerId::Peer(id), deadline);
    }

    /// Reports the end of a session that this end did not request.
    pub(super) fn lose(
        &mut self,
        id: LinkId,
        reason: &Reason,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let Some(gone) = self.ends.links.remove(id) else {
            return;
        };
        self.forget(id, &gone, now, out);
        let remote = gone.path.remote;
        let message = format!("session with {remote}: {reason}");
        out.effects.log("ovpn,info", message);
        let down = match reason {
            Reason::Timeout | Reason::Handshake | Reason::Disconnected => LinkDown::Interface,
            Reason::Closed | Reason::Replaced | Reason::RefusedHere(_) => LinkDown::Removed,
            _ => LinkDown::Peer,
        };
        out.events.push(LinkEvent::Down(id, down));
    }

    /// Notes the end of a client's session or attempt.
    pub(super) fn client_closed(
        &mut self,
        item: ItemId,
        reason: &Reason,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let attempt = self.attempts.get_mut(&item);
        if attempt.is_none_or(|attempt| core::mem::replace(&mut attempt.is_over, true)) {
            return;
        }
        self.end_connection_of(item, now);
        self.settle_client(item);
        let link = self.ends.links.find_mut(End::Client(item));
        match link.map(|(id, _)| id) {
            Some(link) => {
                self.lose(link, reason, now, out);
                self.ends.clients.ended(item, now, out.effects);
            }
            None => tunnel::failed(self, item, reason, now, out.effects),
        }
    }

    /// Frees what a removed link had: its keys, its connection, and the routes that its server pushed.
    pub(super) fn forget(
        &mut self,
        id: LinkId,
        gone: &Link,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        gone.session.set_sending(None);
        self.timers.set(TimerId::Peer(id), None);
        match gone.end {
            End::Client(item) => {
                out.effects.push(Effect::Gone(owner(id)));
                self.end_connection_of(item, now);
            }
            End::Server(..) => self.release_connection(&gone.path, now),
        }
    }
}

/// Returns the options for a user whose addresses are agreed.
fn grant(settings: &Server, link: Option<Ipv4Link>, session: u32) -> Grant {
    let keepalive = settings.keepalive;
    let seconds = |count: u32| Duration::from_secs(count.into());
    let dns = link.into_iter().flat_map(|link| link.dns);
    Grant {
        push: Push {
            topology: Topology::Subnet,
            address: link.map(|link| (link.local, settings.netmask)),
            address6: settings.ipv6.map(|own| own.client(session)),
            gateway: link.and_then(|link| link.remote),
            routes: settings.routes.clone(),
            routes6: settings.routes6.clone(),
            redirect: settings.redirect.clone(),
            dns: dns.flatten().map(Into::into).collect(),
            ping: keepalive,
            ping_restart: keepalive.map(|count| 2 * count),
            ..Push::default()
        },
        ping: keepalive.map(seconds),
        timeout: keepalive.map(|count| seconds(2 * count)),
    }
}

/// Addresses that a server assigned.
#[derive(Clone, Copy)]
struct Addresses {
    local: Ipv4Addr,
    /// Address of the server in the tunnel.
    remote: Ipv4Addr,
}

impl Addresses {
    /// Returns what the PPP end that stands for the server assigns.
    fn grant(self, push: &Push) -> Ipv4Grant {
        let mut dns = push.dns.iter().filter_map(|server| match server {
            IpAddr::V4(server) => Some(*server),
            IpAddr::V6(_) => None,
        });
        Ipv4Grant {
            local: self.remote,
            remote: self.local,
            dns: [dns.next(), dns.next()],
            wins: [None; 2],
        }
    }
}

/// Returns the addresses of this end and of the server.
fn addresses(push: &Push) -> Option<Addresses> {
    let (local, other) = push.address?;
    let remote = match push.topology {
        Topology::Subnet => push.gateway.unwrap_or(local),
        // Frames need a netmask: `ifconfig` of a tap device has it.
        _ if push.gateway.is_some() && is_netmask(other) => push.gateway?,
        Topology::Net30 | Topology::PointToPoint => other,
    };
    Some(Addresses { local, remote })
}

/// Returns true for a netmask.
const fn is_netmask(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    bits.leading_ones() + bits.trailing_zeros() == 32 && bits != 0
}

/// Owner of the routes that a server pushed.
const fn owner(link: LinkId) -> Owner {
    Owner {
        feature: "ovpn-route",
        number: link.0,
    }
}

/// Adds the network of the clients and the pushed routes, over the client's interface. The gateway of a pushed route is
/// the server; `gateway` is its address in a tunnel of frames.
fn add_routes(
    link: LinkId,
    interface: &Name,
    push: &Push,
    gateway: Option<Ipv4Addr>,
    out: &mut Effects,
) {
    let network = match push.address {
        Some((own, mask)) if is_netmask(mask) => Some(Net::new(own & mask, prefix(mask))),
        _ => None,
    };
    if let Some(net) = network {
        let route = route_text::over::<V4>(net, None, interface, 1);
        out.object(owner(link), Made::Route4(route));
    }
    for route in &push.routes {
        let net = Net::new(route.network, prefix(route.mask));
        let distance = route.metric.and_then(|metric| u8::try_from(metric).ok());
        let distance = distance.unwrap_or(1).max(1);
        let route = route_text::over::<V4>(net, gateway, interface, distance);
        out.object(owner(link), Made::Route4(route));
    }
    for route in &push.routes6 {
        let net = Net::new(route.network, route.len);
        let via = push.address6.map(|own: Address6| own.remote);
        let via = via.filter(|_| gateway.is_some());
        let route = route_text::over::<V6>(net, via, interface, 1);
        out.object(owner(link), Made::Route6(route));
    }
}

const fn prefix(mask: Ipv4Addr) -> u8 {
    mask.to_bits().leading_ones() as u8
}
