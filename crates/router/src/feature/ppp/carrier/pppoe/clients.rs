//! Items of `/interface/pppoe-client`.

use std::collections::BTreeMap;
use std::sync::Arc;

use frame::InterfaceId;
use machine::{Duration, Instant, Machine, Rng};
use menu::{Changes, Item, Row, Value};
use ppp::{Keepalive, Role};
use service::pppoe::client::{Action, Client, Config, Event, Reason, Session, Status};
use wire::pppoe::{MRU, Packet};

use super::super::budget::Budget;
use super::super::{CarrierOutput, LinkDown, LinkEnd, LinkEvent, LinkId, LinkSetup};
use super::links::{Key, Link, LinkRole, Links};
use super::ports::{Port, Ports};
use super::{Arrival, ItemsOn, client_drop, items_on};
use crate::drive::timers::Timers;
use crate::feature::hear::{Outgoing, ReceiveOutcome};
use crate::feature::ppp::dial::{self, Dial};
use crate::feature::{View, each_item};
use crate::intent::{ItemId, Name};
use crate::kind::pppoe as kind;
use crate::read;

/// Settings of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Settings {
    dial: Arc<Dial>,
    /// Interface that carries its frames.
    on: Name,
    discovery: Config,
    /// `max-mtu` and `max-mru`; `None` for `auto`.
    max_mtu: Option<u16>,
    max_mru: Option<u16>,
    mrru: Option<u16>,
    keepalive: Option<Keepalive>,
    /// Dials when a packet is routed to its interface.
    on_demand: bool,
}

/// A client item.
#[derive(Debug)]
struct ClientItem {
    /// Its settings; `None` for a disabled or removed item.
    wanted: Option<Arc<Settings>>,
    /// Interface and settings of the machine.
    active: Option<(Port, Arc<Settings>)>,
    machine: Client,
    link: Option<LinkId>,
    /// A packet was routed to its interface since the last session; for clients that dial on demand.
    is_demanded: bool,
    /// PPPoE session of the last link, and its maximum payload in bytes.
    session: Option<(Session, u16)>,
}

impl ClientItem {
    /// Returns true if the client has no link and its machine runs with outdated settings.
    fn is_outdated(&self) -> bool {
        let active = self.active.as_ref().map(|(_, settings)| settings);
        self.link.is_none() && active.is_some() && active != self.wanted.as_ref()
    }

    /// Returns true if the client dials on demand and no packet has arrived since its last session.
    fn waits_for_packets(&self) -> bool {
        let active = self.active.as_ref();
        active.is_some_and(|(_, settings)| settings.on_demand) && !self.is_demanded
    }

    /// Stops dialling until the next packet, after the other end has closed the session.
    fn hang_up(&mut self) {
        self.is_demanded = false;
        self.machine
            .handle(Event::Stop, Instant::ZERO, &mut Vec::new());
    }
}

/// All client items.
#[derive(Debug)]
pub(super) struct Clients {
    all: BTreeMap<ItemId, ClientItem>,
    /// Enabled items by the name of their interface.
    on: ItemsOn,
    timers: Timers<ItemId>,
    rng: Rng,
}

impl Clients {
    pub(super) fn new(rng: Rng) -> Self {
        Self {
            all: BTreeMap::new(),
            on: ItemsOn::new(),
            timers: Timers::default(),
            rng,
        }
    }

    pub(super) fn apply_changes(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        ports: &Ports,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        let mut changed = Vec::new();
        each_item(view, kind::CLIENT_MENU, changes, |id, item| {
            changed.push((id, item.and_then(settings)));
        });
        for (id, wanted) in changed {
            self.set(id, wanted.map(Arc::new));
            self.update(id, view.now, ports, links, out);
        }
    }

    /// Sets the settings of an item.
    fn set(&mut self, id: ItemId, wanted: Option<Arc<Settings>>) {
        if wanted.is_none() && !self.all.contains_key(&id) {
            return;
        }
        let rng = &mut self.rng;
        let client = self.all.entry(id).or_insert_with(|| ClientItem {
            wanted: None,
            active: None,
            machine: Client::new(Config::default(), rng.split()),
            link: None,
            is_demanded: false,
            session: None,
        });
        if let Some(before) = &client.wanted {
            self.on.remove(&(before.on.clone(), id));
        }
        if let Some(wanted) = &wanted {
            self.on.insert((wanted.on.clone(), id));
        }
        client.wanted = wanted;
    }

    /// Handles a change of an interface.
    pub(super) fn interface_changed(
        &mut self,
        name: &Name,
        now: Instant,
        ports: &Ports,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        for id in items_on(&self.on, name) {
            self.update(id, now, ports, links, out);
        }
    }

    /// Brings a client in line with its settings and its interface.
    fn update(
        &mut self,
        id: ItemId,
        now: Instant,
        ports: &Ports,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        let Some(client) = self.all.get_mut(&id) else {
            return;
        };
        let wanted = client.wanted.clone();
        let wanted = wanted.and_then(|wanted| Some((ports.running(&wanted.on)?, wanted)));
        if client.active == wanted {
            return;
        }
        if let (Some(link), Some((port, active))) = (client.link, &client.active) {
            if ports
                .running(&active.on)
                .is_some_and(|now| now.id == port.id)
            {
                // PPP ends the session; the client goes on when its link is closed.
                out.events.push(LinkEvent::Close(link));
                return;
            }
            links.remove(link);
            client.link = None;
            out.events.push(LinkEvent::Down(link, LinkDown::Interface));
        }
        self.restart(id, wanted, now, links, out);
    }

    /// Stops a client without a link, and starts it with other settings.
    fn restart(
        &mut self,
        id: ItemId,
        wanted: Option<(Port, Arc<Settings>)>,
        now: Instant,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        let Some(client) = self.all.get_mut(&id) else {
            return;
        };
        client.active = wanted;
        let Some((port, settings)) = &client.active else {
            client.machine = Client::new(Config::default(), self.rng.split());
            client.is_demanded = false;
            self.timers.set(id, None);
            if client.wanted.is_none() {
                self.all.remove(&id);
            }
            return;
        };
        let units = [settings.max_mtu, settings.max_mru].into_iter().flatten();
        let config = Config {
            max_payload: port.max_payload(units.max().unwrap_or(MRU)),
            ..settings.discovery.clone()
        };
        client.machine = Client::new(config, self.rng.split());
        self.start(id, now, links, out);
    }

    /// Starts a client, unless it waits for packets.
    fn start(&mut self, id: ItemId, now: Instant, links: &mut Links, out: &mut CarrierOutput<'_>) {
        let Some(client) = self.all.get(&id) else {
            return;
        };
        let Some((_, settings)) = &client.active else {
            return;
        };
        let (label, waits) = (
            &settings.dial.name,
            settings.on_demand && !client.is_demanded,
        );
        let state = match waits {
            true => "waiting for packets...",
            false => "initializing...",
        };
        let message = format!("{label}: {state}");
        out.effects.log("pppoe,ppp,info", message);
        if waits {
            self.timers.set(id, None);
        } else {
            self.feed(id, Event::Start, now, links, out);
        }
    }

    /// Dials for a packet that was routed to the interface of a client that dials on demand.
    pub(super) fn dial(
        &mut self,
        id: ItemId,
        now: Instant,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        let client = self.all.get_mut(&id);
        if let Some(client) = client.filter(|client| client.waits_for_packets()) {
            client.is_demanded = true;
            self.start(id, now, links, out);
        }
    }

    /// Passes an event to the machine of a client, and carries out its actions.
    fn feed(
        &mut self,
        id: ItemId,
        event: Event<'_>,
        now: Instant,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        let mut actions = Vec::new();
        if let Some(client) = self.all.get_mut(&id) {
            client.machine.handle(event, now, &mut actions);
        }
        self.carry_out(id, actions, links, out);
    }

    fn carry_out(
        &mut self,
        id: ItemId,
        actions: Vec<Action>,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        let Some(client) = self.all.get_mut(&id) else {
            return;
        };
        let Some((port, settings)) = client.active.clone() else {
            return;
        };
        let label = &settings.dial.name;
        for action in actions {
            match action {
                Action::Send(frame) => out.effects.send(Outgoing::frame(port.id, frame)),
                Action::Opened(session) => {
                    let link = links.add(link(id, port, &settings, &session));
                    let Some(link) = link else { continue };
                    let payload = session.max_payload.unwrap_or(MRU).min(port.payload());
                    let setup = setup(&settings, &session, payload);
                    client.link = Some(link);
                    client.session = Some((*session, payload));
                    out.events.push(LinkEvent::Up(link, Box::new(setup)));
                }
                Action::Closed(_) => {
                    if settings.on_demand {
                        client.hang_up();
                    }
                    if let Some(link) = client.link.take() {
                        links.remove(link);
                        out.events.push(LinkEvent::Down(link, LinkDown::Peer));
                    }
                }
                Action::Failed(reason) => {
                    let message = format!("{label}: terminating... - {}", reason_text(&reason));
                    out.effects.log("pppoe,ppp,info", message);
                }
            }
        }
        let deadline = match client.is_outdated() {
            true => Some(Instant::ZERO),
            false => client.machine.deadline().map(|(at, _)| at),
        };
        self.timers.set(id, deadline);
    }

    /// Passes a discovery packet to the clients on an interface, until one accepts it.
    pub(super) fn receive(
        &mut self,
        on: &Name,
        arrival: Arrival,
        packet: &Packet<'_>,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        let mut hearing = ReceiveOutcome::NotMine;
        for id in items_on(&self.on, on) {
            let Some(client) = self.all.get_mut(&id) else {
                continue;
            };
            let mut actions = Vec::new();
            let (from, now) = (arrival.from, arrival.now);
            match client.machine.receive(from, packet, now, &mut actions) {
                Ok(()) => {
                    self.carry_out(id, actions, links, out);
                    return ReceiveOutcome::Taken;
                }
                Err(fault) => hearing = ReceiveOutcome::Bad(client_drop(fault)),
            }
        }
        hearing
    }

    pub(super) fn tick(
        &mut self,
        now: Instant,
        ports: &Ports,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        while let Some(id) = self.timers.due(now) {
            if self.all.get(&id).is_some_and(ClientItem::is_outdated) {
                self.update(id, now, ports, links, out);
                continue;
            }
            let mut actions = Vec::new();
            if let Some(client) = self.all.get_mut(&id) {
                client.machine.tick(now, &mut actions);
            }
            self.carry_out(id, actions, links, out);
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timers.deadline()
    }

    /// Ends the session of a client whose link was removed: sends the PADT, and dials again.
    pub(super) fn close(
        &mut self,
        id: ItemId,
        now: Instant,
        ports: &Ports,
        links: &mut Links,
        out: &mut CarrierOutput<'_>,
    ) {
        let Some(client) = self.all.get_mut(&id) else {
            return;
        };
        client.link = None;
        let active = client.active.as_ref();
        match active.is_some_and(|(_, settings)| settings.on_demand) {
            true => {
                self.feed(id, Event::Stop, now, links, out);
                if let Some(client) = self.all.get_mut(&id) {
                    client.is_demanded = false;
                }
                self.start(id, now, links, out);
            }
            false => self.feed(id, Event::Close, now, links, out),
        }
        // Settings that changed meanwhile take effect now.
        self.update(id, now, ports, links, out);
    }

    /// Returns the interfaces of clients, also of those whose session is ending.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = InterfaceId> {
        let active = self
            .all
            .values()
            .filter_map(|client| client.active.as_ref());
        active.map(|(port, _)| port.id)
    }

    /// Returns the state of a client without a session, as `monitor` shows it.
    pub(super) fn status(&self, id: ItemId) -> Option<&'static str> {
        let client = self.all.get(&id)?;
        if client.waits_for_packets() {
            return Some("waiting for packets...");
        }
        Some(match client.machine.status() {
            Status::Searching | Status::Requesting => "dialing",
            Status::Open => "verifying password...",
            Status::Stopped | Status::Waiting => "disconnected",
        })
    }

    /// Adds the cells of discovery to a page of `monitor`.
    pub(super) fn monitor(&self, id: ItemId, row: &mut Row) {
        let Some(client) = self.all.get(&id) else {
            return;
        };
        if let Some((session, _)) = client.session.as_ref().filter(|_| client.link.is_some()) {
            row.set("service-name", Value::text(&*session.service_name));
            row.set("ac-name", Value::text(&*session.ac_name));
            row.set("ac-mac", Value::Mac(session.peer.0));
        }
    }

    /// Adds the flag of an item whose interface cannot carry sessions.
    pub(super) fn annotate(&self, id: ItemId, ports: &Ports, row: &mut Row) {
        if let Some(client) = self.all.get(&id)
            && let Some(wanted) = &client.wanted
        {
            row.flag("invalid", ports.get(&wanted.on).is_none());
        }
    }
}

fn link(id: ItemId, port: Port, settings: &Settings, session: &Session) -> Link {
    Link {
        key: Key {
            interface: port.id,
            session: dataplane::interface::Session {
                peer: session.peer,
                number: session.number,
            },
        },
        on: settings.on.clone(),
        role: LinkRole::Client(id),
        pending: None,
        budget: Budget::default(),
    }
}

fn setup(settings: &Settings, session: &Session, payload: u16) -> LinkSetup {
    let of_ppp = ppp::Settings {
        max_mru: settings.max_mru.unwrap_or(payload),
        max_mtu: settings.max_mtu.unwrap_or(payload),
        mrru: settings.mrru,
        methods: settings.dial.methods,
        keepalive: settings.keepalive,
        ..ppp::Settings::pppoe(Role::Client)
    };
    LinkSetup {
        end: LinkEnd::Client(Arc::clone(&settings.dial)),
        settings: Arc::new(of_ppp),
        payload,
        caller_id: session.peer.to_string().into(),
        called_id: (&*session.service_name).into(),
        port: settings.on.clone(),
        circuit_id: None,
        remote_id: None,
        number: session.number.into(),
        ipv6: None,
    }
}

/// Reads an item; `None` for a disabled or incomplete item.
fn settings(item: &Item) -> Option<Settings> {
    if item.is("disabled") {
        return None;
    }
    Some(Settings {
        dial: Arc::new(Dial::read(item)?),
        on: read::name(item, "interface")?,
        discovery: Config {
            service_name: item.text("service-name").into(),
            ac_name: item.text("ac-name").into(),
            host_uniq: hexadecimal(item.text("host-uniq")),
            max_payload: None,
        },
        max_mtu: dial::unit(item, "max-mtu"),
        max_mru: dial::unit(item, "max-mru"),
        mrru: dial::unit(item, "mrru"),
        keepalive: keepalive(item),
        on_demand: item.is("dial-on-demand"),
    })
}

/// Reads `keepalive-timeout`; `None` for `disabled`.
pub(super) fn keepalive(item: &Item) -> Option<Keepalive> {
    let seconds = u64::try_from(item.number("keepalive-timeout")?).ok()?;
    Some(Keepalive::pppoe(Duration::from_secs(seconds)))
}

/// Reads a string of hexadecimal digits; `None` for an empty or malformed string.
fn hexadecimal(text: &str) -> Option<Box<[u8]>> {
    let digits: Option<Vec<u8>> = { text.chars() }
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits.filter(|digits| !digits.is_empty() && digits.len() % 2 == 0)?;
    let bytes = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]);
    Some(bytes.collect())
}

/// Returns the text of a reason in log lines.
fn reason_text(reason: &Reason) -> String {
    let with = |what: &str, text: &str| match text {
        "" => what.to_owned(),
        text => format!("{what}: {text}"),
    };
    match reason {
        Reason::Terminated(text) => with("peer is closing", text),
        Reason::NoService(text) => with("service name error", text),
        Reason::ServerError(text) => with("AC system error", text),
        Reason::Generic(text) => with("generic error", text),
        Reason::NoAnswer => "timeout".to_owned(),
    }
}
