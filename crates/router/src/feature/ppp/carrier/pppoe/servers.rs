//! Items of `/interface/pppoe-server/server`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::DropReason;
use frame::InterfaceId;
use machine::{Duration, Instant, Machine, Rng};
use menu::{Changes, Item, Row};
use ppp::{Keepalive, Methods, Role};
use service::pppoe::server::{Action, Event, Opened, Server, Service, SessionId};
use wire::pppoe::{MRU, Packet};

use super::super::budget::Budget;
use super::super::{CarrierOutput, LinkDown, LinkEnd, LinkEvent, LinkId, LinkSetup};
use super::clients::keepalive;
use super::links::{Key, Link, LinkRole, Links};
use super::ports::{Port, Ports};
use super::vlans::VlanKey;
use super::{Arrival, IDENTITY, PortsOfServers, SERVERS, server_drop};
use crate::drive::timers::Timers;
use crate::feature::hear::{Outgoing, ReceiveOutcome};
use crate::feature::ppp::dial;
use crate::feature::{View, concerns, each_item};
use crate::intent::{ItemId, Name};
use crate::lists::{Chosen, Lists};
use crate::read;

/// How long PPP waits for the first packet of a client that waits for the server.
const FIRST_PACKET: Duration = Duration::from_secs(2);

/// Settings of a server item.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Settings {
    name: Arc<str>,
    /// An interface, or a list of interfaces.
    on: Name,
    chosen: Chosen,
    profile: Name,
    methods: Methods,
    /// `max-mtu` and `max-mru`; `None` for `auto`.
    max_mtu: Option<u16>,
    max_mru: Option<u16>,
    mrru: Option<u16>,
    keepalive: Option<Keepalive>,
    accepts_empty: bool,
    pado_delay: Duration,
    max_sessions: Option<u32>,
    one_session_per_host: bool,
    /// Serves clients without a VLAN.
    untagged: bool,
    /// VLANs of clients that have no VLAN interface.
    vlans: Vec<(u16, u16)>,
}

impl Settings {
    fn serves_vlan(&self, vlan_id: u16) -> bool {
        let mut ranges = self.vlans.iter();
        ranges.any(|(first, last)| (*first..=*last).contains(&vlan_id))
    }
}

/// A server item.
#[derive(Debug)]
struct ServerItem {
    settings: Settings,
    /// PPP settings that its sessions share.
    of_ppp: Arc<ppp::Settings>,
}

/// An interface with services.
#[derive(Debug, PartialEq, Eq)]
struct Serving {
    name: Name,
    /// Largest PPP payload that the interface carries, in bytes.
    payload: u16,
    services: Vec<Service>,
}

/// All server items.
#[derive(Debug)]
pub(super) struct Servers {
    all: BTreeMap<ItemId, ServerItem>,
    lists: Lists,
    machine: Server,
    /// Interfaces with services.
    serving: BTreeMap<InterfaceId, Serving>,
    /// Interfaces with services, by name.
    names: BTreeMap<Name, InterfaceId>,
    /// Interfaces on which servers serve VLANs, by name.
    tagged: BTreeMap<Name, InterfaceId>,
    identity: Arc<str>,
    /// Links that wait for their first PPP packet.
    waiting: Timers<LinkId>,
}

impl Servers {
    pub(super) fn new(secrets: &mut Rng) -> Self {
        Self {
            all: BTreeMap::new(),
            lists: Lists::default(),
            machine: Server::new(secrets),
            serving: BTreeMap::new(),
            names: BTreeMap::new(),
            tagged: BTreeMap::new(),
            identity: "".into(),
            waiting: Timers::default(),
        }
    }

    pub(super) fn apply_changes(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        of: PortsOfServers<'_>,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        let ports = of.ports;
        let mut names = BTreeSet::new();
        if concerns(&[IDENTITY], changes) {
            self.set_identity(view);
        }
        let concerned = self.lists.follow(view, changes);
        if !concerned.lists.is_empty() {
            let of_lists = |name: &&Name| self.is_in_any(name);
            names.extend(ports.all().map(|(name, _)| name).filter(of_lists).cloned());
            names.extend(self.names.keys().cloned());
        }
        names.extend(concerned.interfaces);
        let mut is_changed = false;
        let identity = &self.identity;
        let all = &mut self.all;
        each_item(view, SERVERS, changes, |id, item| {
            is_changed = true;
            all.remove(&id);
            if let Some(settings) = item.and_then(settings) {
                let of_ppp = Arc::new(of_ppp(&settings, identity));
                all.insert(id, ServerItem { settings, of_ppp });
            }
        });
        if is_changed {
            names.extend(self.names.keys().cloned());
            names.extend({ ports.all() }.map(|(name, _)| name.clone()));
        }
        for name in names {
            self.interface_changed(&name, view.now, of, links, out);
        }
    }

    /// Reads the name of this router.
    fn set_identity(&mut self, view: &View<'_>) {
        let item = view.store.settings(IDENTITY);
        let identity = item.map_or("MikroTik", |item| item.text("name"));
        if *self.identity == *identity {
            return;
        }
        self.identity = identity.into();
        self.machine
            .handle(Event::Name(identity), view.now, &mut Vec::new());
        for server in self.all.values_mut() {
            server.of_ppp = Arc::new(of_ppp(&server.settings, &self.identity));
        }
    }

    fn is_in_any(&self, name: &Name) -> bool {
        let mut all = self.all.values();
        all.any(|server| self.lists.has(&server.settings.chosen, name, false))
    }

    /// Starts, restarts or stops the servers of an interface after a change of the interface or of its servers.
    pub(super) fn interface_changed(
        &mut self,
        name: &Name,
        now: Instant,
        of: PortsOfServers<'_>,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        let port = of.ports.running(name);
        match port.filter(|_| self.has_vlans(name, of.ports)) {
            Some(port) => _ = self.tagged.insert(name.clone(), port.id),
            None => _ = self.tagged.remove(name),
        }
        let before = self.names.get(name).copied();
        // The name may have belonged to another interface.
        if let Some(id) = before.filter(|id| port.is_none_or(|port| port.id != *id)) {
            self.configure(id, None, now, links, out);
        }
        if let Some(port) = port {
            let services = self.services_on(name, &port, of);
            let serving = (!services.is_empty()).then(|| Serving {
                name: name.clone(),
                payload: port.payload(),
                services,
            });
            self.configure(port.id, serving, now, links, out);
        }
    }

    /// Returns the services of an interface.
    fn services_on(&self, name: &Name, port: &Port, of: PortsOfServers<'_>) -> Vec<Service> {
        let vlan = of.vlans.vlan_of(name);
        let its = self.all.iter().filter(|(_, server)| match vlan {
            Some(VlanKey { on, tag }) => {
                server.settings.serves_vlan(tag.1) && self.is_on(&server.settings, on, of.ports)
            }
            None => server.settings.untagged && self.is_on(&server.settings, name, of.ports),
        });
        its.map(|(id, server)| service(*id, &server.settings, port))
            .collect()
    }

    /// Whether a server serves an interface: `interface` names the interface, or a list with this member.
    fn is_on(&self, settings: &Settings, name: &Name, ports: &Ports) -> bool {
        match (ports.get(&settings.on), ports.get(name)) {
            (Some(_), _) => settings.on == *name,
            (None, Some(port)) => self.lists.has(&settings.chosen, name, port.is_dynamic),
            (None, None) => false,
        }
    }

    /// Whether a server serves VLANs of an interface.
    fn has_vlans(&self, name: &Name, ports: &Ports) -> bool {
        let mut all = self.all.values().map(|server| &server.settings);
        all.any(|settings| !settings.vlans.is_empty() && self.is_on(settings, name, ports))
    }

    /// Whether a server serves a VLAN of an interface.
    pub(super) fn serves_vlan(&self, name: &Name, vlan_id: u16, ports: &Ports) -> bool {
        let mut all = self.all.values().map(|server| &server.settings);
        all.any(|settings| settings.serves_vlan(vlan_id) && self.is_on(settings, name, ports))
    }

    /// Returns the interfaces on which servers serve VLANs.
    pub(super) fn tagged(&self) -> impl Iterator<Item = InterfaceId> {
        self.tagged.values().copied()
    }

    /// Whether an interface has sessions.
    pub(super) fn has_sessions(&self, id: InterfaceId) -> bool {
        self.machine.sessions().has_port(u64::from(id.0))
    }

    /// Sets the services of an interface.
    fn configure(
        &mut self,
        id: InterfaceId,
        serving: Option<Serving>,
        now: Instant,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        if self.serving.get(&id) == serving.as_ref() {
            return;
        }
        if let Some(before) = self.serving.remove(&id) {
            self.names.remove(&before.name);
        }
        let mut services = Vec::new();
        if let Some(serving) = serving {
            services.clone_from(&serving.services);
            self.names.insert(serving.name.clone(), id);
            self.serving.insert(id, serving);
        }
        let event = Event::Configure(u64::from(id.0), services);
        self.feed(event, now, links, out);
    }

    /// Returns the interfaces with servers.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = InterfaceId> {
        self.serving.keys().copied()
    }

    /// Passes an event to the machine and carries out its actions. Returns the drop of an ignored packet.
    fn feed(
        &mut self,
        event: Event<'_>,
        now: Instant,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) -> Option<DropReason> {
        let mut actions = Vec::new();
        self.machine.handle(event, now, &mut actions);
        self.carry_out(actions, now, links, out)
    }

    fn carry_out(
        &mut self,
        actions: Vec<Action>,
        now: Instant,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) -> Option<DropReason> {
        let mut dropped = None;
        for action in actions {
            match action {
                Action::Send(port, frame) => {
                    let interface = InterfaceId(port as u32);
                    out.effects.send(Outgoing::frame(interface, frame));
                }
                Action::Opened(opened) => self.opened(&opened, now, links, out),
                Action::Closed(id, reason) => {
                    let link = links.find(&key(id)).map(|(link, _)| link);
                    let Some(link) = link else { continue };
                    self.waiting.set(link, None);
                    // Links on which PPP has not begun are unknown to the sessions.
                    let gone = links.remove(link);
                    if gone.is_some_and(|gone| gone.pending.is_none()) {
                        let down = match reason {
                            service::pppoe::server::Reason::Terminated => LinkDown::Peer,
                            _ => LinkDown::Removed,
                        };
                        out.events.push(LinkEvent::Down(link, down));
                    }
                }
                Action::Ignored(fault) => dropped = Some(server_drop(fault)),
            }
        }
        dropped
    }

    /// Adds the link of a new session. PPP begins with the first packet of the client: before it, the client may not
    /// receive yet, and would miss the first request of this end.
    fn opened(
        &mut self,
        opened: &Opened,
        now: Instant,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        let key = key(opened.session);
        let Some(server) = self.all.get(&opened.service) else {
            return;
        };
        let Some(serving) = self.serving.get(&key.interface) else {
            return;
        };
        let peer = key.session.peer.to_string();
        let message = format!("PPPoE connection established from {peer}");
        out.effects.log("pppoe,info", message);
        let text = |id: &Option<Box<[u8]>>| id.as_deref().map(service::pppoe::text);
        let setup = LinkSetup {
            end: LinkEnd::Server {
                profile: server.settings.profile.clone(),
                service: Arc::clone(&server.settings.name),
            },
            settings: Arc::clone(&server.of_ppp),
            payload: opened.max_payload.unwrap_or(MRU).min(serving.payload),
            caller_id: peer.into(),
            called_id: Arc::clone(&server.settings.name),
            port: serving.name.trim_matches(['<', '>']).into(),
            circuit_id: text(&opened.circuit_id),
            remote_id: text(&opened.remote_id),
            number: key.session.number.into(),
            ipv6: None,
        };
        let link = Link {
            key,
            on: serving.name.clone(),
            role: LinkRole::Server,
            pending: Some(Box::new(setup)),
            budget: Budget::default(),
        };
        if let Some(link) = links.add(link) {
            self.waiting.set(link, Some(now + FIRST_PACKET));
        }
    }

    pub(super) fn receive(
        &mut self,
        arrival: Arrival,
        packet: &Packet<'_>,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        if !self.serving.contains_key(&arrival.interface) {
            return ReceiveOutcome::NotMine;
        }
        let event = Event::Received {
            port: u64::from(arrival.interface.0),
            from: arrival.from,
            packet: *packet,
        };
        match self.feed(event, arrival.now, links, out) {
            Some(reason) => ReceiveOutcome::Bad(reason),
            None => ReceiveOutcome::Taken,
        }
    }

    /// Answers a PPP control packet of an unknown session.
    pub(super) fn stray(
        &mut self,
        arrival: Arrival,
        number: u16,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        let id = SessionId {
            port: u64::from(arrival.interface.0),
            peer: arrival.from,
            number,
        };
        self.feed(Event::Stray(id), arrival.now, links, out);
    }

    /// Notes that the first PPP packet of a link has arrived.
    pub(super) fn begin(&mut self, link: LinkId, key: Key, now: Instant) {
        self.waiting.set(link, None);
        self.machine
            .handle(Event::Heard(session_id(key)), now, &mut Vec::new());
    }

    /// Notes that the user of a link is authenticated.
    pub(super) fn established(&mut self, key: Key) {
        let event = Event::Established(session_id(key));
        self.machine.handle(event, Instant::ZERO, &mut Vec::new());
    }

    /// Sends the PADT of a link that was removed.
    pub(super) fn close(
        &mut self,
        key: Key,
        now: Instant,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        self.feed(Event::Close(session_id(key)), now, links, out);
    }

    pub(super) fn tick(&mut self, now: Instant, links: &mut Links, out: &mut CarrierOutput<'_>) {
        let mut actions = Vec::new();
        self.machine.tick(now, &mut actions);
        self.carry_out(actions, now, links, out);
        while let Some(id) = self.waiting.due(now) {
            let link = links.get_mut(id);
            if let Some(setup) = link.and_then(|link| link.pending.take()) {
                out.events.push(LinkEvent::Up(id, setup));
            }
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let machine = self.machine.deadline().map(|(at, _)| at);
        machine.into_iter().chain(self.waiting.deadline()).min()
    }

    /// Adds the flag of an item whose interface does not exist or cannot carry sessions.
    pub(super) fn annotate(&self, id: ItemId, ports: &Ports, row: &mut Row) {
        if let Some(server) = self.all.get(&id) {
            let settings = &server.settings;
            let is_port = ports.get(&settings.on).is_some();
            let is_in = |(name, port): (&Name, &Port)| {
                self.lists.has(&settings.chosen, name, port.is_dynamic)
            };
            row.flag("invalid", !is_port && !ports.all().any(is_in));
        }
    }
}

fn key(id: SessionId) -> Key {
    Key {
        interface: InterfaceId(id.port as u32),
        session: dataplane::interface::Session {
            peer: id.peer,
            number: id.number,
        },
    }
}

fn session_id(key: Key) -> SessionId {
    SessionId {
        port: u64::from(key.interface.0),
        peer: key.session.peer,
        number: key.session.number,
    }
}

fn service(id: ItemId, settings: &Settings, port: &Port) -> Service {
    let units = [settings.max_mtu, settings.max_mru].into_iter().flatten();
    Service {
        id,
        name: (&*settings.name).into(),
        accepts_empty: settings.accepts_empty,
        pado_delay: settings.pado_delay,
        max_sessions: settings.max_sessions,
        one_session_per_host: settings.one_session_per_host,
        max_payload: port.max_payload(units.max().unwrap_or(MRU)),
    }
}

/// Returns the PPP settings of a server's sessions.
fn of_ppp(settings: &Settings, identity: &Arc<str>) -> ppp::Settings {
    ppp::Settings {
        max_mru: settings.max_mru.unwrap_or(MRU),
        max_mtu: settings.max_mtu.unwrap_or(MRU),
        mrru: settings.mrru,
        methods: settings.methods,
        keepalive: settings.keepalive,
        local_name: Arc::clone(identity),
        ..ppp::Settings::pppoe(Role::Server)
    }
}

/// Reads an item; `None` for a disabled item.
fn settings(item: &Item) -> Option<Settings> {
    if item.is("disabled") {
        return None;
    }
    let millis = u64::try_from(item.number("pado-delay").unwrap_or(0)).unwrap_or(0);
    // RouterOS: 0 is no limit.
    let max_sessions = item.number("max-sessions").filter(|max| *max > 0);
    Some(Settings {
        name: item.text("service-name").into(),
        on: read::name(item, "interface")?,
        chosen: Chosen::read(item.get("interface")),
        profile: read::name(item, "default-profile").unwrap_or_else(|| "default".into()),
        methods: dial::methods(item, "authentication"),
        max_mtu: dial::unit(item, "max-mtu"),
        max_mru: dial::unit(item, "max-mru"),
        mrru: dial::unit(item, "mrru"),
        keepalive: keepalive(item),
        accepts_empty: item.is("accept-empty-service"),
        pado_delay: Duration::from_millis(millis),
        max_sessions: max_sessions.and_then(|max| u32::try_from(max).ok()),
        one_session_per_host: item.is("one-session-per-host"),
        untagged: item.is("accept-untagged"),
        vlans: read::vlan_ranges(item, "pppoe-over-vlan-range"),
    })
}
