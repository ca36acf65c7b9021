//! PPP sessions of clients and of users, whatever protocol carries them.
//!
//! ```text
//! carrier (PPPoE …) ──LinkEvent──▶ session (`ppp::Session`) ──Action──▶ secret, profile, RADIUS
//!                                                             └──────▶ interface, addresses, routes, lists, queue
//! ```
//! `carrier/` has the protocols below PPP. `session.rs` is one session; `drive.rs` passes events to sessions and
//! carries out their actions; `login.rs` and `radius.rs` authenticate users, `grant.rs` computes their settings;
//! `open.rs` and `objects.rs` make what an open session has, with the session as owner. Every event costs what its
//! session costs, however many there are.

mod aaa;
mod active;
mod bindings;
mod bridging;
mod carrier;
mod demand;
mod dial;
mod drive;
mod grant;
mod guesses;
mod login;
mod monitor;
mod names;
mod objects;
mod open;
mod prefix;
mod profile;
mod radius;
mod route_text;
mod rules;
mod scripts;
mod secret;
mod session;

use core::net::{IpAddr, Ipv4Addr};
use core::ops::ControlFlow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use dataplane::counters::InterfaceTraffic;
use dataplane::service::Service;
use frame::InterfaceId;
use machine::{Instant, Rng};
use menu::{Call, Changes, Id, Menu, Reason, Reply, Row, RowFilter};
use ppp::DownReason;
use service::dhcp6::pools::Pools as PrefixPools;
use service::pool::Pools;
use service::radius::{Answer, ErrorCause, SessionRequest};

use self::aaa::Aaa;
use self::bindings::Bindings;
pub(super) use self::carrier::LinkId;
pub(super) use self::carrier::clients::{ClientSettings, Clients, Remote, Step};
use self::carrier::{Carrier, CarrierOutput, LinkEvent, SharedTrust};
use self::demand::Demands;
pub(super) use self::dial::Dial;
use self::guesses::Guesses;
pub(super) use self::names::InterfaceNames;
pub(super) use self::objects::member;
use self::prefix::LastPrefixes;
use self::profile::Profiles;
use self::rules::SharedRules;
use self::secret::Secrets;
use self::session::Session;
use super::hear::{ReceiveOutcome, ReceivedPacket};
use super::stream::StreamEvent;
use super::{Effect, Effects, Feature, View, concerns, each_item};
use crate::clock::DayClock;
use crate::drive::timers::Timers;
use crate::intent::{Interface, ItemId, Name};
use crate::kind;
use crate::object::DYNAMIC;
use crate::running::Running;

/// Menus of PPP itself.
const OWN_MENUS: [&str; 4] = [aaa::MENU, active::MENU, profile::MENU, secret::MENU];
/// Menus of PPP and of all carriers; several carriers follow `/system/identity`.
static MENUS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    const ALL: [&str; OWN_MENUS.len() + carrier::MENU_COUNT] = carrier::with_menus(OWN_MENUS);
    let all: BTreeSet<_> = ALL.into_iter().collect();
    all.into_iter().collect()
});

/// Maximum number of queued commands.
const MAX_COMMANDS: usize = 65_536;

/// Handles of the pools that sessions use.
#[derive(Clone, Debug)]
pub(crate) struct SessionPools {
    /// Pools of IPv4 addresses.
    pub(crate) addresses: Pools,
    /// Pools of IPv6 prefixes.
    pub(crate) prefixes: PrefixPools,
}

/// All PPP sessions.
#[derive(Debug)]
pub(crate) struct Ppp {
    carriers: Vec<Box<dyn Carrier>>,
    profiles: Profiles,
    secrets: Secrets,
    aaa: Aaa,
    pools: Pools,
    prefix_pools: PrefixPools,
    last_prefixes: LastPrefixes,
    /// Boxed: a node of the tree has room for eleven values.
    sessions: BTreeMap<u64, Box<Session>>,
    /// Sessions by carrier and link.
    links: BTreeMap<(usize, LinkId), u64>,
    /// Client items, as interfaces without a session.
    clients: BTreeMap<ItemId, Interface>,
    bindings: Bindings,
    demands: Demands,
    names: InterfaceNames,
    guesses: Guesses,
    /// Authenticated sessions by user.
    users: BTreeSet<(Name, u64)>,
    /// Sessions by the address of the user.
    addresses: BTreeMap<Ipv4Addr, u64>,
    /// Sessions by the name of their interface.
    interfaces: BTreeMap<Name, u64>,
    rules: SharedRules,
    timers: Timers<u64>,
    /// Sessions whose timer is due.
    due: Vec<u64>,
    /// Sessions that users removed.
    removed: Vec<u64>,
    /// Number of the last session.
    serial: u64,
    /// Number of this start of the router, for accounting ids.
    start: u64,
    rng: Rng,
    clock: DayClock,
}

impl Feature for Ppp {
    fn name(&self) -> &'static str {
        radius::FEATURE
    }

    fn menus(&self) -> &'static [&'static str] {
        &MENUS
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        each_item(view, profile::MENU, changes, |id, item| {
            self.profiles.put(id, item);
        });
        each_item(view, secret::MENU, changes, |id, item| {
            self.secrets.put(id, item);
        });
        if concerns(&[aaa::MENU], changes) {
            let settings = view.store.settings(aaa::MENU);
            self.aaa = settings.map_or_else(Aaa::default, |item| Aaa::read(item));
            let is_on = self.aaa.use_radius && self.aaa.accounting;
            out.push(Effect::RadiusAccounting(
                service::radius::Service::Ppp,
                is_on,
            ));
        }
        for at in 0..self.carriers.len() {
            self.follow_interfaces(at, view, changes, out);
            if concerns(self.carriers[at].menus(), changes) {
                self.of_carrier(at, view.now, out, |carrier, out| {
                    carrier.apply_changes(view, changes, out);
                });
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        for at in 0..self.carriers.len() {
            if { self.carriers[at].deadline() }.is_some_and(|due| due <= now) {
                self.of_carrier(at, now, out, |carrier, out| carrier.tick(now, out));
            }
        }
        for serial in core::mem::take(&mut self.removed) {
            self.close(serial, ppp::CloseReason::Administrator, now, out);
        }
        for serial in core::mem::take(&mut self.due) {
            self.tick_session(serial, now, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if !(self.due.is_empty() && self.removed.is_empty()) {
            return Some(Instant::ZERO);
        }
        let carriers = self.carriers.iter().filter_map(|of| of.deadline());
        carriers.chain(self.timers.deadline()).min()
    }

    fn rows_at(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        now: Instant,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match menu.path {
            active::MENU => self.active_rows(filter, now, each),
            _ => ControlFlow::Continue(()),
        }
    }

    fn annotate_at(&self, menu: &'static Menu, id: Id, now: Instant, row: &mut Row) {
        match menu.path {
            secret::MENU => self.secrets.annotate(id.0, row),
            path if OWN_MENUS.contains(&path) => {}
            _ => {
                self.annotate_interface(now, row);
                let carriers = self.carriers.iter();
                let its = carriers.filter(|of| of.menus().contains(&menu.path));
                its.for_each(|carrier| carrier.annotate(menu, id, now, row));
            }
        }
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        if (call.menu.path, call.command) == (active::MENU, "remove") {
            let room = MAX_COMMANDS.saturating_sub(self.removed.len());
            let serials = call.items.iter().map(|id| id.0 & !DYNAMIC).take(room);
            self.removed.extend(serials);
            return Some(Ok(Reply::default()));
        }
        if call.command == "monitor" {
            return Some(Ok(self.monitor(view, call)));
        }
        let carriers = self.carriers.iter_mut();
        let mut its = carriers.filter(|of| of.menus().contains(&call.menu.path));
        its.find_map(|carrier| carrier.act(view, call))
    }

    fn services(&self) -> Vec<Service> {
        self.carriers.iter().flat_map(|of| of.services()).collect()
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        for at in 0..self.carriers.len() {
            let mut outcome = CarrierOutput::new(out);
            let hearing = self.carriers[at].receive(heard, running, &mut outcome);
            let events = outcome.events;
            self.read_traffic(at, &events, running);
            self.handle_links(at, events, running.now, out);
            if hearing != ReceiveOutcome::NotMine {
                return hearing;
            }
        }
        ReceiveOutcome::NotMine
    }

    fn resolved(&mut self, name: &str, addresses: &[IpAddr], now: Instant, out: &mut Effects) {
        for at in 0..self.carriers.len() {
            self.of_carrier(at, now, out, |carrier, out| {
                carrier.resolved(name, addresses, now, out);
            });
        }
    }

    fn stream(&mut self, event: &StreamEvent, now: Instant, out: &mut Effects) {
        for at in 0..self.carriers.len() {
            self.of_carrier(at, now, out, |carrier, out| {
                carrier.stream(event, now, out);
            });
        }
    }

    fn radius_answered(&mut self, number: u64, answer: Answer, now: Instant, out: &mut Effects) {
        self.answered(number, answer, now, out);
    }

    fn radius_requested(
        &mut self,
        request: &SessionRequest,
        now: Instant,
        out: &mut Effects,
    ) -> Option<Result<(), ErrorCause>> {
        self.requested(request, now, out)
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        if !self.interfaces.is_empty() {
            for id in others {
                let laid = running.layout.interfaces.get(id);
                let serial = laid.and_then(|laid| self.interfaces.get(&laid.name));
                let session = serial.and_then(|serial| self.sessions.get_mut(serial));
                if let Some(session) = session {
                    session.laid_out(*id);
                }
            }
        }
        for at in 0..self.carriers.len() {
            let mut outcome = CarrierOutput::new(out);
            self.carriers[at].interfaces_changed(others, running, &mut outcome);
            let events = outcome.events;
            self.read_traffic(at, &events, running);
            self.handle_links(at, events, running.now, out);
        }
    }
}

impl Ppp {
    /// Returns an instance without sessions. Magic numbers and challenges come from `secrets`.
    pub(crate) fn new(
        mut secrets: Rng,
        pools: SessionPools,
        trust: &SharedTrust,
        clock: DayClock,
    ) -> Self {
        Self {
            carriers: carrier::carriers(&mut secrets, trust, &clock),
            profiles: Profiles::default(),
            secrets: Secrets::default(),
            aaa: Aaa::default(),
            pools: pools.addresses,
            prefix_pools: pools.prefixes,
            last_prefixes: LastPrefixes::default(),
            sessions: BTreeMap::new(),
            links: BTreeMap::new(),
            clients: BTreeMap::new(),
            bindings: Bindings::default(),
            demands: Demands::default(),
            names: InterfaceNames::default(),
            guesses: Guesses::default(),
            users: BTreeSet::new(),
            addresses: BTreeMap::new(),
            interfaces: BTreeMap::new(),
            rules: SharedRules::default(),
            timers: Timers::default(),
            due: Vec::new(),
            removed: Vec::new(),
            serial: 0,
            start: secrets.next_u64(),
            rng: secrets,
            clock,
        }
    }

    /// Collects the sessions whose timers are due, and reads the traffic of their interfaces. Control calls this before
    /// `tick`.
    pub(crate) fn collect_due(
        &mut self,
        now: Instant,
        traffic: impl Fn(InterfaceId) -> InterfaceTraffic,
    ) {
        while let Some(serial) = self.timers.due(now) {
            self.due.push(serial);
        }
        for serial in self.due.iter().chain(&self.removed) {
            if let Some(session) = self.sessions.get_mut(serial) {
                session.read_traffic(&traffic);
            }
        }
    }

    /// Reports the end of all accounted sessions to RADIUS servers, before an orderly end of the router.
    pub(crate) fn end_accounting(
        &mut self,
        now: Instant,
        traffic: impl Fn(InterfaceId) -> InterfaceTraffic,
        out: &mut Effects,
    ) {
        for session in self.sessions.values_mut() {
            session.read_traffic(&traffic);
        }
        let reason = DownReason::Closed(ppp::CloseReason::Reboot);
        for (serial, session) in &self.sessions {
            if let Some(login) = session.login.as_deref() {
                self.stop_accounting(*serial, session, login, &reason, now, out);
            }
        }
        let sessions = self.sessions.values_mut();
        for login in sessions.filter_map(|session| session.login.as_deref_mut()) {
            (login.is_accounted, login.next_interim) = (false, None);
        }
    }

    /// Reads the traffic of sessions before a packet or the loss of a link may end them.
    fn read_traffic(&mut self, at: usize, events: &[LinkEvent], running: &Running<'_>) {
        for event in events {
            let serial = self.links.get(&(at, event.link()));
            let session = serial.and_then(|serial| self.sessions.get_mut(serial));
            if let Some(session) = session {
                session.read_traffic(|id| running.counted.workers.traffic(id, running.now));
            }
        }
    }

    /// Reads client items and bindings of a carrier, and announces those with a session again: control has read the
    /// changed items as interfaces without a session.
    fn follow_interfaces(
        &mut self,
        at: usize,
        view: &View<'_>,
        changes: Option<&Changes>,
        out: &mut Effects,
    ) {
        let service = self.carriers[at].service();
        if let Some(menu) = self.carriers[at].client_menu() {
            each_item(view, menu, changes, |id, item| {
                match item.and_then(kind::read_item) {
                    Some(interface) => _ = self.clients.insert(id, interface),
                    None => _ = self.clients.remove(&id),
                }
                self.follow_demand(id, item, out);
                self.announce_again(id, out);
            });
        }
        if let Some(menu) = self.carriers[at].binding_menu() {
            each_item(view, menu, changes, |id, item| {
                let before = self.bindings.put(service, id, item);
                match before.filter(|_| !self.bindings.has_session(id)) {
                    Some(serial) => {
                        self.close(serial, ppp::CloseReason::Administrator, view.now, out);
                    }
                    None => self.announce_again(id, out),
                }
            });
        }
    }

    /// Lets a carrier run, then handles the events of its links.
    fn of_carrier(
        &mut self,
        at: usize,
        now: Instant,
        out: &mut Effects,
        run: impl FnOnce(&mut dyn Carrier, &mut CarrierOutput<'_>),
    ) {
        let mut outcome = CarrierOutput::new(out);
        run(&mut *self.carriers[at], &mut outcome);
        let events = outcome.events;
        self.handle_links(at, events, now, out);
    }
}
