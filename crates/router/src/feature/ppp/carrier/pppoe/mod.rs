//! PPPoE (RFC 2516): clients, and servers on any number of interfaces.
//!
//! Discovery is `service::pppoe`; `clients.rs` and `servers.rs` run its machines for the items of their menus. A link
//! is a session of PPPoE: an interface, the address of the other end, and a number.

mod clients;
mod links;
mod ports;
mod scan;
mod servers;
mod vlans;

use std::collections::BTreeSet;

use dataplane::DropReason;
use dataplane::gate::PerSender;
use dataplane::service::{FrameContent, Match, Rate, Scope, Service};
use frame::InterfaceId;
use machine::{Instant, Rng};
use menu::{Call, Changes, Id, Menu, Reason, Reply, Row};
use service::pppoe::client::Fault as ClientFault;
use service::pppoe::server::Fault as ServerFault;
use wire::pppoe::{Malformed, Packet, code};
use wire::{EtherType, Mac};

use self::clients::Clients;
use self::links::{Key, LinkRole, Links};
use self::ports::Ports;
use self::scan::Scans;
use self::servers::Servers;
use self::vlans::{TaggedPacket, VlanKey, Vlans};
use super::{Carrier, CarrierOutput, LinkEvent, LinkId, Registration};
use crate::feature::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use crate::feature::{Effect, Effects, View};
use crate::intent::{ItemId, Name};
use crate::kind::{AnyKind, pppoe as kind};
use crate::lists;
use crate::running::Running;

/// Menu of servers.
const SERVERS: &str = "/interface/pppoe-server/server";
/// Menu with the name of this router.
const IDENTITY: &str = "/system/identity";

pub(super) const CARRIER: Registration = Registration {
    menus: &[
        kind::CLIENT_MENU,
        kind::SERVER_MENU,
        SERVERS,
        lists::MENUS[0],
        lists::MENUS[1],
        IDENTITY,
    ],
    create: |sources| Box::new(Pppoe::new(sources.secrets)),
};

/// Names of the services.
const DISCOVERY: &str = "pppoe-discovery";
const SESSION: &str = "pppoe-session";
const VLAN_DISCOVERY: &str = "pppoe-vlan-discovery";
/// Rate of each service on a worker. For session data a link address has half of it: a host may have many sessions.
const RATE: Rate = Rate {
    per_second: 50_000,
    burst: 4096,
};
/// Rate of discovery from one link address on a worker. A client sends two packets for a session, and a server as many
/// to each of the clients that this router has.
const OF_SENDER: Rate = Rate {
    per_second: 100,
    burst: 400,
};
/// Rate of discovery on one interface on a worker.
const OF_INTERFACE: Rate = Rate {
    per_second: 25_000,
    burst: 4096,
};

/// Clients and servers of PPPoE.
#[derive(Debug)]
struct Pppoe {
    ports: Ports,
    links: Links,
    clients: Clients,
    servers: Servers,
    scans: Scans,
    vlans: Vlans,
    /// Interfaces whose PPPoE frames control receives, by service.
    listening: BTreeSet<(InterfaceId, &'static str)>,
}

impl Pppoe {
    fn new(secrets: &mut Rng) -> Self {
        Self {
            ports: Ports::default(),
            links: Links::default(),
            clients: Clients::new(secrets.split()),
            servers: Servers::new(secrets),
            scans: Scans::new(secrets.split()),
            vlans: Vlans::default(),
            listening: BTreeSet::new(),
        }
    }

    /// Starts and stops the delivery of frames, by the interfaces of clients, servers and scans.
    fn listen(&mut self, out: &mut Effects) {
        let wanted = { self.clients.interfaces() }.chain(self.servers.interfaces());
        let wanted = wanted.chain(self.scans.interfaces());
        let untagged = wanted.flat_map(|id| [(id, DISCOVERY), (id, SESSION)]);
        let tagged = { self.servers.tagged() }.map(|id| (id, VLAN_DISCOVERY));
        let wanted: BTreeSet<_> = untagged.chain(tagged).collect();
        for (interface, service) in wanted.symmetric_difference(&self.listening) {
            out.push(Effect::Hear {
                service,
                interface: *interface,
                on: wanted.contains(&(*interface, *service)),
            });
        }
        self.listening = wanted;
    }

    /// Passes a discovery packet to the clients or the servers of its interface.
    fn receive_discovery(
        &mut self,
        arrival: Arrival,
        packet: &Packet<'_>,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        match packet.code {
            code::PADO | code::PADS => {
                self.scans.receive(arrival, packet);
                self.receive_as_client(arrival, packet, out)
            }
            code::PADT => {
                let link = self.links.find(&arrival.key(packet.session));
                match link.map(|(_, link)| link.role) {
                    Some(LinkRole::Client(_)) => self.receive_as_client(arrival, packet, out),
                    _ => match self.servers.receive(arrival, packet, &mut self.links, out) {
                        ReceiveOutcome::NotMine => ReceiveOutcome::Bad(DropReason::PppoeSession),
                        outcome => outcome,
                    },
                }
            }
            _ => self.servers.receive(arrival, packet, &mut self.links, out),
        }
    }

    /// Makes the interface of a VLAN for a tagged discovery packet, if a server serves the VLAN.
    fn receive_tagged(
        &mut self,
        arrival: Arrival,
        heard: &ReceivedPacket<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let unknown = ReceiveOutcome::Bad(DropReason::VlanUnknown);
        let Some((tag, bytes)) = Vlans::read(heard.frame, heard.l3) else {
            return unknown;
        };
        let on = self.ports.name(arrival.interface);
        let on = on.filter(|on| self.servers.serves_vlan(on, tag.1, &self.ports));
        let Some(on) = on.cloned() else {
            return unknown;
        };
        let packet = TaggedPacket {
            from: arrival.from,
            bytes,
        };
        self.vlans
            .open(VlanKey { on, tag }, packet, arrival.now, out)
    }

    /// Handles discovery packets that waited for the interface of their VLAN.
    fn begin_vlan(&mut self, name: &Name, now: Instant, out: &mut CarrierOutput<'_>) {
        let Some(port) = self.ports.running(name) else {
            return;
        };
        for (from, bytes) in self.vlans.begin(name) {
            let arrival = Arrival {
                interface: port.id,
                from,
                now,
            };
            if let Ok(packet) = Packet::new_checked(&bytes) {
                self.receive_discovery(arrival, &packet, out);
            }
        }
    }

    fn receive_as_client(
        &mut self,
        arrival: Arrival,
        packet: &Packet<'_>,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        let on = self.ports.name(arrival.interface).cloned();
        match on {
            Some(on) => self
                .clients
                .receive(&on, arrival, packet, &mut self.links, out),
            None => ReceiveOutcome::NotMine,
        }
    }

    /// Passes a PPP packet to its link.
    fn receive_session(
        &mut self,
        arrival: Arrival,
        packet: &Packet<'_>,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        if packet.code != code::SESSION {
            return ReceiveOutcome::Bad(DropReason::PppoeMalformed);
        }
        let Some((id, link)) = self.links.find_mut(&arrival.key(packet.session)) else {
            self.servers
                .stray(arrival, packet.session, &mut self.links, out);
            return ReceiveOutcome::Bad(DropReason::PppoeSession);
        };
        if !link.budget.admits(packet.payload, arrival.now) {
            return ReceiveOutcome::Bad(DropReason::PppRate);
        }
        if let Some(setup) = link.pending.take() {
            self.servers.begin(id, link.key, arrival.now);
            out.events.push(LinkEvent::Up(id, setup));
        }
        let payload = packet.payload.to_vec();
        out.events.push(LinkEvent::Packet(id, payload));
        ReceiveOutcome::Taken
    }
}

impl Carrier for Pppoe {
    fn service(&self) -> &'static str {
        "pppoe"
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
        let service = |name, ether_type: EtherType| {
            let its = Match::Frame(FrameContent::EtherType(ether_type.0));
            Service {
                scope: Scope::Asked,
                ..Service::new(name, [its], RATE)
            }
        };
        let discovery = |service: Service| Service {
            per_sender: PerSender::Link(OF_SENDER),
            per_interface: Some(OF_INTERFACE),
            ..service
        };
        let mut tagged = service(VLAN_DISCOVERY, EtherType::VLAN);
        tagged
            .matches
            .push(Match::Frame(FrameContent::EtherType(EtherType::QINQ.0)));
        vec![
            discovery(service(DISCOVERY, EtherType::PPPOE_DISCOVERY)),
            discovery(tagged),
            service(SESSION, EtherType::PPPOE_SESSION),
        ]
    }

    fn apply_changes(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        out: &mut CarrierOutput<'_>,
    ) {
        let (ports, links) = (&self.ports, &mut self.links);
        self.clients.apply_changes(view, changes, ports, links, out);
        let ports = PortsOfServers {
            ports,
            vlans: &self.vlans,
        };
        self.servers.apply_changes(view, changes, ports, links, out);
        self.listen(out.effects);
    }

    fn interfaces_changed(
        &mut self,
        interfaces: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut CarrierOutput<'_>,
    ) {
        let now = running.now;
        let changed = self.ports.update(interfaces, running);
        for name in &changed {
            let (ports, links) = (&self.ports, &mut self.links);
            self.clients.interface_changed(name, now, ports, links, out);
            let ports = PortsOfServers {
                ports,
                vlans: &self.vlans,
            };
            self.servers.interface_changed(name, now, ports, links, out);
        }
        for name in &changed {
            self.begin_vlan(name, now, out);
        }
        if !changed.is_empty() {
            self.listen(out.effects);
        }
    }

    fn receive(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        if !matches!(heard.service, DISCOVERY | SESSION | VLAN_DISCOVERY) {
            return ReceiveOutcome::NotMine;
        }
        let arrival = Arrival {
            interface: heard.interface,
            from: heard.source_mac(),
            now: running.now,
        };
        if heard.service == VLAN_DISCOVERY {
            return self.receive_tagged(arrival, heard, out.effects);
        }
        match Packet::new_checked(heard.packet()) {
            Ok(packet) if heard.service == SESSION => self.receive_session(arrival, &packet, out),
            Ok(packet) => self.receive_discovery(arrival, &packet, out),
            Err(Malformed::Length) => ReceiveOutcome::Bad(DropReason::PppoeLength),
            Err(_) => ReceiveOutcome::Bad(DropReason::PppoeMalformed),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut CarrierOutput<'_>) {
        let (ports, links) = (&self.ports, &mut self.links);
        self.clients.tick(now, ports, links, out);
        self.servers.tick(now, &mut self.links, out);
        let has_sessions = |name: &Name| {
            let port = self.ports.get(name);
            port.is_some_and(|port| self.servers.has_sessions(port.id))
        };
        self.vlans.tick(now, has_sessions, out.effects);
        if self.scans.tick(now, out.effects) {
            self.listen(out.effects);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let all = [
            self.clients.deadline(),
            self.servers.deadline(),
            self.scans.deadline(),
            self.vlans.deadline(),
        ];
        all.into_iter().flatten().min()
    }

    fn send(&mut self, link: LinkId, packet: &[u8], out: &mut Effects) {
        let Some(link) = self.links.get(link) else {
            return;
        };
        let Ok(length) = u16::try_from(packet.len()) else {
            return;
        };
        let header = Packet::header(code::SESSION, link.key.session.number, length);
        out.send(Outgoing {
            interface: link.key.interface,
            bytes: [&header[..], packet].concat(),
            how: How::Frame(link.key.session.peer, EtherType::PPPOE_SESSION),
        });
    }

    fn kind(&self, link: LinkId) -> Option<AnyKind> {
        let link = self.links.get(link)?;
        let kind = kind::Pppoe {
            on: link.on.clone(),
            session: link.key.session,
        };
        Some(kind.into())
    }

    fn opened(&mut self, link: LinkId) {
        if let Some(link) = self
            .links
            .get(link)
            .filter(|link| link.role == LinkRole::Server)
        {
            self.servers.established(link.key);
        }
    }

    fn close(&mut self, link: LinkId, now: Instant, out: &mut Effects) {
        let Some(gone) = self.links.remove(link) else {
            return;
        };
        // A closed link has no further events.
        let out = &mut CarrierOutput::new(out);
        let (ports, links) = (&self.ports, &mut self.links);
        match gone.role {
            LinkRole::Client(item) => {
                self.clients.close(item, now, ports, links, out);
                self.listen(out.effects);
            }
            LinkRole::Server => self.servers.close(gone.key, now, links, out),
        }
    }

    fn dial(&mut self, item: Id, now: Instant, out: &mut CarrierOutput<'_>) {
        self.clients.dial(item.0, now, &mut self.links, out);
    }

    fn client_status(&self, item: Id) -> Option<&'static str> {
        self.clients.status(item.0)
    }

    fn annotate(&self, menu: &'static Menu, id: Id, _: Instant, row: &mut Row) {
        match menu.path {
            kind::CLIENT_MENU => self.clients.annotate(id.0, &self.ports, row),
            SERVERS => self.servers.annotate(id.0, &self.ports, row),
            _ => {}
        }
    }

    fn monitor(&self, item: Id, row: &mut Row) {
        self.clients.monitor(item.0, row);
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        match (call.menu.path, call.command) {
            (kind::CLIENT_MENU, "scan") => Some(self.scans.act(view, call, &self.ports)),
            _ => None,
        }
    }
}

/// Interfaces that can carry sessions, and which of them are VLANs of servers.
#[derive(Clone, Copy)]
struct PortsOfServers<'a> {
    ports: &'a Ports,
    vlans: &'a Vlans,
}

/// Where, from whom and when a packet came.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    interface: InterfaceId,
    from: Mac,
    now: Instant,
}

impl Arrival {
    /// Returns the key of a session that the sender has with this router.
    const fn key(&self, number: u16) -> Key {
        Key {
            interface: self.interface,
            session: dataplane::interface::Session {
                peer: self.from,
                number,
            },
        }
    }
}

/// Returns the drop of a packet that a server ignores.
const fn server_drop(fault: ServerFault) -> DropReason {
    match fault {
        ServerFault::Malformed => DropReason::PppoeTag,
        ServerFault::Code => DropReason::PppoeMalformed,
        ServerFault::Service => DropReason::PppoeService,
        ServerFault::NoCookie | ServerFault::Cookie | ServerFault::CookieAge => {
            DropReason::PppoeCookie
        }
        ServerFault::Rate => DropReason::PppoeRate,
        ServerFault::Full | ServerFault::Overload => DropReason::PppoeFull,
        ServerFault::NoSession => DropReason::PppoeSession,
    }
}

/// Returns the drop of a packet that a client ignores.
const fn client_drop(fault: ClientFault) -> DropReason {
    match fault {
        ClientFault::Malformed => DropReason::PppoeTag,
        ClientFault::Code => DropReason::PppoeMalformed,
        ClientFault::Name => DropReason::PppoeService,
        ClientFault::HostUniq | ClientFault::Unexpected => DropReason::PppoeUnexpected,
    }
}

/// Items by the name of the interface or list that they name.
type ItemsOn = BTreeSet<(Name, ItemId)>;

/// Returns the items that name an interface or list.
fn items_on(items: &ItemsOn, name: &Name) -> Vec<ItemId> {
    let named = items.range((name.clone(), 0)..=(name.clone(), ItemId::MAX));
    named.map(|(_, item)| *item).collect()
}
