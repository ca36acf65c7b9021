//! Bonds, `/interface/bonding`: several links aggregated to one interface.
//!
//! ```text
//! items ──read──▶ settings ──▶ which interface is a slave of which bond (Effect::Slave)
//!                    │
//! layout ──slaves──▶ links, addresses ──▶ machines: service::bond (monitoring), service::lacp
//! frames of LACP ────────────────────────────┤
//! counters ──▶ receive activity, load ───────┴──publish──▶ the bond of the workers (Effect::Bond)
//! ```
//! Workers choose slaves by `dataplane::bond::Bond`; every change replaces this value as a whole.

mod publish;
mod read;
mod show;
mod slaves;

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::bond::{BUCKETS, Loads};
use dataplane::interface::Above;
use dataplane::service::{FrameContent, Match, Rate, Scope, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Machine};
use menu::{Call, Changes, Id, Menu, Reason, Reply, Row};
use service::bond::{Action, Config, Event, Links};
use service::lacp::{self, Lacp};
use wire::{EtherType, Mac};

use self::read::{Mode, Settings};
use super::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View, each_item};
use crate::drive::timers::Timers;
use crate::intent::{Interface, ItemId, ItemState, Name};
use crate::kind::bond::MENU;
use crate::running::Running;

const SERVICE: &str = "lacp";
/// Each of up to 32 slaves receives at most three LACPDUs per second.
const RATE: Rate = Rate {
    per_second: 1_000,
    burst: 256,
};
/// Interval after which peers are redistributed over the slaves, as in Linux.
const SHARE: Duration = Duration::from_secs(10);

/// All bonds.
#[derive(Debug, Default)]
pub(crate) struct Bonds {
    all: BTreeMap<ItemId, BondState>,
    /// Bonds by bond name and by slave name.
    near: BTreeSet<(Name, ItemId)>,
    /// Bond of each interface that is a bond or a slave, and its slave number (0 for the bond).
    ids: BTreeMap<InterfaceId, (ItemId, u16)>,
    timers: Timers<ItemId>,
}

/// A bond.
#[derive(Debug)]
struct BondState {
    settings: Settings,
    /// Interface id, while the interface exists and is enabled.
    id: Option<InterfaceId>,
    mac: Mac,
    /// Slaves in configured order.
    slaves: Vec<Slave>,
    links: Links,
    lacp: Option<Lacp>,
    loads: Arc<Loads>,
    shares: Shares,
    /// Addresses to announce when another slave becomes active, with their interfaces.
    own: Vec<(InterfaceId, IpAddr)>,
    /// ARP monitoring: source and target addresses of the requests.
    asks: Vec<(core::net::Ipv4Addr, core::net::Ipv4Addr)>,
    /// The bond as last passed to the layout, and the L2 MTU of its slaves then.
    told: Option<(Interface, u32)>,
    /// The bond as published to the workers.
    published: Option<(InterfaceId, Arc<dataplane::bond::Bond>)>,
}

/// A slave of a bond.
#[derive(Debug)]
struct Slave {
    name: Name,
    /// Number of the slave in the machines, from 1.
    number: u16,
    /// State of its interface, while the bond receives its frames.
    link: Option<slaves::Link>,
    /// Interface on which LACP is received.
    heard: Option<InterfaceId>,
    collecting: bool,
    distributing: bool,
    /// Number of received frames at the last check.
    received: u64,
}

/// Distribution of peers over slaves.
#[derive(Debug)]
struct Shares {
    of: Box<[u8; BUCKETS]>,
    /// Bytes sent to each bucket up to the last distribution.
    sent: Box<[u64; BUCKETS]>,
    /// Bytes sent to each bucket in the last interval.
    lately: Box<[u64; BUCKETS]>,
    due: Option<Instant>,
}

impl Feature for Bonds {
    fn name(&self) -> &'static str {
        "bonding"
    }

    fn menus(&self) -> &'static [&'static str] {
        &[MENU]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        if changes.is_none() {
            let gone = self.all.keys().copied();
            let gone = gone.filter(|id| view.store.item(MENU, Id(*id)).is_none());
            for id in gone.collect::<Vec<_>>() {
                self.take_away(id, out);
            }
        }
        each_item(view, MENU, changes, |id, item| {
            match item.and_then(read::settings) {
                Some(settings) => self.put(id, settings, view.now, out),
                None => self.take_away(id, out),
            }
        });
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        while let Some(item) = self.timers.due(now) {
            let Some(one) = self.all.get_mut(&item) else {
                continue;
            };
            let (mut links, mut lacp) = (Vec::new(), Vec::new());
            one.links.tick(now, &mut links);
            if let Some(machine) = &mut one.lacp {
                machine.tick(now, &mut lacp);
            }
            if one.shares.due.is_some_and(|at| at <= now) {
                one.share_out_by_load(now);
            }
            one.do_links(links, out);
            one.do_lacp(lacp, out);
            self.settle(item, now, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timers.deadline()
    }

    fn annotate(&self, _: &'static Menu, id: Id, row: &mut Row) {
        if let Some(one) = self.all.get(&id.0) {
            one.annotate(row);
        }
    }

    fn act(&mut self, _: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        let bonds = call.items.iter().filter_map(|id| self.all.get(&id.0));
        let rows = match call.command {
            "monitor" => bonds.map(BondState::monitor).collect(),
            "monitor-slaves" => bonds.flat_map(BondState::monitor_slaves).collect(),
            _ => return None,
        };
        Some(Ok(Reply { rows, made: None }))
    }

    fn services(&self) -> Vec<Service> {
        let speaks = |one: &BondState| one.settings.mode == Mode::Lacp;
        if !self.all.values().any(speaks) {
            return Vec::new();
        }
        let slow = Match::Frame(FrameContent::EtherType(EtherType::SLOW.0));
        let service = Service {
            scope: Scope::Asked,
            ..Service::new(SERVICE, [slow], RATE)
        };
        vec![service]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some((item, number)) = self.ids.get(&heard.interface).copied() else {
            return ReceiveOutcome::Taken;
        };
        let Some(one) = self.all.get_mut(&item) else {
            return ReceiveOutcome::Taken;
        };
        let mut actions = Vec::new();
        if let Some(lacp) = &mut one.lacp {
            let event = lacp::Event::Received(number, heard.packet());
            lacp.handle(event, running.now, &mut actions);
        }
        one.do_lacp(actions, out);
        self.settle(item, running.now, out);
        ReceiveOutcome::Taken
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        if self.all.is_empty() {
            return;
        }
        let mut items = BTreeSet::new();
        for id in others {
            items.extend(self.ids.get(id).map(|(item, _)| *item));
            if let Some(laid) = running.layout.interfaces.get(id) {
                items.extend(self.near(&laid.name));
                // A bond also announces the addresses of interfaces on it.
                items.extend(self.ids.get(&laid.under).map(|(item, _)| *item));
            }
        }
        for item in items {
            self.bring_up_to_date(item, running, out);
        }
    }
}

impl Bonds {
    /// Returns the bonds with this name, or with a slave of this name.
    fn near(&self, name: &Name) -> impl Iterator<Item = ItemId> {
        let range = (name.clone(), ItemId::MIN)..=(name.clone(), ItemId::MAX);
        self.near.range(range).map(|(_, item)| *item)
    }

    /// Whether a bond needs the receive counters of its slaves now.
    pub(crate) fn listens(&self, now: Instant) -> bool {
        self.timers.deadline().is_some_and(|at| at <= now)
            && self.all.values().any(BondState::listens)
    }

    /// Passes the present receive counters of slaves, in frames, to the bonds.
    pub(crate) fn listen(&mut self, now: Instant, received: impl Fn(InterfaceId) -> u64) {
        for one in self.all.values_mut().filter(|one| one.listens()) {
            for slave in &mut one.slaves {
                let Some(link) = &slave.link else { continue };
                let received = received(link.id);
                if core::mem::replace(&mut slave.received, received) != received {
                    let event = Event::Heard(slave.number);
                    one.links.handle(event, now, &mut Vec::new());
                }
            }
        }
    }

    fn put(&mut self, id: ItemId, settings: Settings, now: Instant, out: &mut Effects) {
        if settings.unwatched {
            let name = &settings.interface.name;
            let message =
                format!("{name}: this mode does not support link-monitoring=arp: mii is used");
            out.log("interface,warning", message);
        }
        self.forget_names(id);
        let names = settings.slaves.iter().chain([&settings.interface.name]);
        self.near.extend(names.map(|name| (name.clone(), id)));
        let mut freed = Vec::new();
        let one = match self.all.remove(&id) {
            Some(mut one) => {
                let is_kept = |slave: &Slave| settings.slaves.contains(&slave.name);
                let gone = one.slaves.iter().filter(|slave| !is_kept(slave));
                freed.extend(gone.map(|slave| slave.name.clone()));
                one.settings = settings;
                one
            }
            None => BondState::new(settings),
        };
        self.all.insert(id, one);
        for name in freed {
            self.free(&name, out);
        }
        let Some(one) = self.all.get_mut(&id) else {
            return;
        };
        one.configure(now, out);
        one.told = None;
        let (master, slaves) = (
            one.settings.interface.name.clone(),
            one.settings.slaves.clone(),
        );
        for slave in slaves {
            // If several bonds name a slave, the first one has it.
            if self.near(&slave).next() == Some(id) {
                out.push(Effect::Slave {
                    slave,
                    above: Above::Bond,
                    master: Some(master.clone()),
                });
            }
        }
        self.settle(id, now, out);
    }

    fn take_away(&mut self, id: ItemId, out: &mut Effects) {
        self.forget_names(id);
        self.timers.set(id, None);
        self.ids.retain(|_, (item, _)| *item != id);
        let Some(mut gone) = self.all.remove(&id) else {
            return;
        };
        for slave in &gone.slaves {
            slave.heard.into_iter().for_each(|id| hear(id, false, out));
        }
        for slave in core::mem::take(&mut gone.settings.slaves) {
            self.free(&slave, out);
        }
        if let Some((id, _)) = gone.published {
            out.push(Effect::Bond(id, None));
        }
        out.push(Effect::Item(id, ItemState::Interface(None)));
    }

    /// Releases a slave. Another bond that names it takes it.
    fn free(&self, name: &Name, out: &mut Effects) {
        let next = self.near(name).find_map(|item| {
            let one = self.all.get(&item)?;
            let wants = one.settings.slaves.contains(name);
            wants.then(|| one.settings.interface.name.clone())
        });
        out.push(Effect::Slave {
            slave: name.clone(),
            above: Above::Bond,
            master: next,
        });
    }

    fn forget_names(&mut self, id: ItemId) {
        if let Some(one) = self.all.get(&id) {
            let names = one.settings.slaves.iter();
            for name in names.chain([&one.settings.interface.name]) {
                self.near.remove(&(name.clone(), id));
            }
        }
    }

    /// Publishes a bond to the workers and the layout, and sets its timer.
    fn settle(&mut self, item: ItemId, now: Instant, out: &mut Effects) {
        let Some(one) = self.all.get_mut(&item) else {
            return;
        };
        one.share_out(now);
        one.publish(out);
        let is = Some((one.interface(), one.carried()));
        if one.told != is {
            one.told = is;
            let wanted = ItemState::Interface(Some(one.interface()));
            out.push(Effect::Item(item, wanted));
        }
        self.timers.set(item, one.deadline());
    }
}

impl BondState {
    fn new(settings: Settings) -> Self {
        let links = Links::new(config(&settings, None));
        Self {
            settings,
            id: None,
            mac: Mac::ZERO,
            slaves: Vec::new(),
            links,
            lacp: None,
            loads: Arc::default(),
            shares: Shares {
                of: Box::new([0; BUCKETS]),
                sent: Box::new([0; BUCKETS]),
                lately: Box::new([0; BUCKETS]),
                due: None,
            },
            own: Vec::new(),
            asks: Vec::new(),
            told: None,
            published: None,
        }
    }

    /// Applies the settings to the machines.
    fn configure(&mut self, now: Instant, out: &mut Effects) {
        let mut actions = slaves::SlaveActions::default();
        self.order_slaves(now, &mut actions);
        let primary = self.settings.primary.as_ref();
        let primary = primary.and_then(|name| self.slaves.iter().find(|one| one.name == *name));
        let config = config(&self.settings, primary.map(|slave| slave.number));
        self.links
            .handle(Event::Configure(config), now, &mut actions.links);
        let lacp = self.lacp_config();
        match (&mut self.lacp, self.settings.mode == Mode::Lacp) {
            (Some(machine), true) => {
                machine.handle(lacp::Event::Configure(lacp), now, &mut actions.lacp);
            }
            (None, true) => {
                let mut machine = Lacp::new(lacp);
                for slave in &self.slaves {
                    if let Some(link) = &slave.link {
                        machine.handle(lacp::Event::Port(slave.number), now, &mut actions.lacp);
                        let event = lacp::Event::Link(slave.number, link.lacp());
                        machine.handle(event, now, &mut actions.lacp);
                    }
                }
                self.lacp = Some(machine);
            }
            (_, false) => {
                self.lacp = None;
                for slave in &mut self.slaves {
                    (slave.collecting, slave.distributing) = (false, false);
                }
            }
        }
        self.do_links(actions.links, out);
        self.do_lacp(actions.lacp, out);
    }

    fn lacp_config(&self) -> lacp::Config {
        let settings = &self.settings.lacp;
        lacp::Config {
            system_priority: settings.priority,
            user_key: settings.user_key,
            active: settings.active,
            fast: settings.fast,
            ..lacp::Config::new(settings.system.unwrap_or(self.mac))
        }
    }

    /// Whether the bond uses the receive counters of its slaves.
    fn listens(&self) -> bool {
        matches!(self.settings.watch, service::bond::Watch::Arp(_)) && !self.slaves.is_empty()
    }

    fn deadline(&self) -> Option<Instant> {
        let links = self.links.deadline().map(|(at, _)| at);
        let lacp = self.lacp.as_ref().and_then(Lacp::deadline);
        let lacp = lacp.map(|(at, _)| at);
        [links, lacp, self.shares.due].into_iter().flatten().min()
    }

    fn do_links(&mut self, actions: Vec<Action>, out: &mut Effects) {
        for action in actions {
            match action {
                Action::Become(number, up) => {
                    // Peers that used the address of this slave must learn the address of the bond
                    // again.
                    if !up && self.settings.mode == Mode::Alb {
                        self.publish(out);
                        self.announce(out);
                    }
                    let slave = self.slaves.iter().find(|slave| slave.number == number);
                    if let Some(slave) = slave {
                        let state = if up { "up" } else { "down" };
                        let (bond, name) = (&self.settings.interface.name, &slave.name);
                        out.log("interface,info", format!("{bond}: slave {name} is {state}"));
                    }
                }
                Action::Active(Some(_)) if self.settings.mode.has_active() => {
                    // The announcements must leave by the new active slave.
                    self.publish(out);
                    self.announce(out);
                }
                Action::Active(_) => {}
                Action::Ask => self.ask(out),
            }
        }
    }

    fn do_lacp(&mut self, actions: Vec<lacp::Action>, out: &mut Effects) {
        let bond = &self.settings.interface.name;
        for action in actions {
            let (lacp::Action::Send { port, .. }
            | lacp::Action::Become { port, .. }
            | lacp::Action::Looped { port }) = action;
            let mut slaves = self.slaves.iter_mut();
            let Some(slave) = slaves.find(|slave| slave.number == port) else {
                continue;
            };
            match action {
                lacp::Action::Send { pdu, .. } => {
                    if let Some(link) = &slave.link {
                        out.send(Outgoing {
                            interface: link.id,
                            bytes: pdu.to_vec(),
                            how: How::Frame(wire::lacp::GROUP, EtherType::SLOW),
                        });
                    }
                }
                lacp::Action::Become {
                    collecting,
                    distributing,
                    ..
                } => (slave.collecting, slave.distributing) = (collecting, distributing),
                lacp::Action::Looped { .. } => {
                    let name = &slave.name;
                    out.log(
                        "interface,warning",
                        format!("{bond}: slave {name} receives its own frames"),
                    );
                }
            }
        }
    }
}

fn config(settings: &Settings, primary: Option<u16>) -> Config {
    Config {
        watch: settings.watch,
        up_delay: settings.up_delay,
        down_delay: settings.down_delay,
        primary,
    }
}

/// Starts or stops the reception of LACP on an interface.
fn hear(interface: InterfaceId, on: bool, out: &mut Effects) {
    out.push(Effect::Hear {
        service: SERVICE,
        interface,
        on,
    });
}
