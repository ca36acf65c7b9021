//! SNMP, `/snmp` and `/snmp/community`: the agent of `service::snmp` over the running router.
//!
//! ```text
//! items ──read──▶ communities, targets ─┐
//! interfaces, addresses ──lay_out──▶ index ─┴─ hear ──▶ requests ─answer─▶ Agent::handle with a `source` ─▶ datagram
//! rows of menus ──────────rows─────────────────────────────────────────────────▲
//! ```
//! Requests wait until the end of the step of control: the tables of queues, ARP, routes and bridges are built from
//! menu rows, which need the store and all features.
//!
//! Requests arrive at UDP port 161, after the rules of `input`. The number of an interface is the number of its item.
//! The number of a dynamic interface is derived from its name, so that it is stable when the interface reappears.

mod index;
mod packet;
mod read;
mod rows;
mod source;

use core::cell::RefCell;
use core::net::IpAddr;
use std::collections::BTreeSet;

use dataplane::DropReason;
use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use machine::Instant;
use menu::{Call, Changes, Id, Menu, Reason, Reply, Row, Store, Value, quote_always};
use service::snmp::mib::{self, Tree};
use service::snmp::{self, Agent, Datagram, Fault, Set, Trap};

use self::index::Index;
use self::read::Settings;
use self::rows::{Cache, Menus};
use self::source::Live;
use super::hear::{Outgoing, ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View, concerns};
use crate::running::Running;

const MENU: &str = "/snmp";
const COMMUNITIES: &str = "/snmp/community";
const NAME: &str = "snmp";
/// UDP ports of SNMP requests and of traps.
const PORT: u16 = 161;
const TRAP_PORT: u16 = 162;
/// Limit of requests to control, per second and as a burst: a manager that walks sends the next
/// request after each answer.
const RATE: Rate = Rate {
    per_second: 20_000,
    burst: 512,
};
/// Start of the engine boots counter, 2020-01-01: the counter is the number of seconds since then
/// at start. It grows with every start and needs no storage (RFC 3414, 2.2.2).
const BOOTS_SINCE: i64 = 1_577_836_800;
/// Maximum number of queued traps.
const WAITING: usize = 64;
/// Maximum number of requests queued for the end of a step: the burst of [`RATE`].
const QUESTIONS: usize = 512;

/// The SNMP agent, its settings and queued requests.
#[derive(Debug)]
pub(crate) struct Snmp {
    settings: Settings,
    agent: Agent,
    started: bool,
    /// The start trap was sent.
    told_start: bool,
    index: Index,
    waiting: Vec<Trap>,
    questions: Vec<Question>,
    cache: RefCell<Cache>,
}

/// A request that waits for its answer.
#[derive(Debug)]
struct Question {
    /// The IP packet.
    packet: Vec<u8>,
    interface: InterfaceId,
}

impl Default for Snmp {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            agent: Agent::new(read::engine(""), 1, Instant::ZERO),
            started: false,
            told_start: false,
            index: Index::default(),
            waiting: Vec::new(),
            questions: Vec::new(),
            cache: RefCell::default(),
        }
    }
}

impl Feature for Snmp {
    fn menus(&self) -> &'static [&'static str] {
        &read::MENUS
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, _: &mut Effects) {
        self.index.follow(view, changes);
        if !concerns(&[MENU, COMMUNITIES], changes) {
            return;
        }
        if !self.started {
            self.started = true;
            let boots = (view.clock.unix_seconds - BOOTS_SINCE).clamp(1, i64::from(i32::MAX) - 1);
            self.agent = Agent::new(read::engine(""), boots as u32, view.now);
        }
        let before = core::mem::take(&mut self.settings);
        self.settings = Settings::read(view.store, &before);
        self.agent.set_engine(self.settings.engine.clone());
        let communities = self.settings.communities.iter();
        let communities = communities.map(|one| (one.name.clone(), one.community.clone()));
        self.agent.set_communities(communities);
    }

    fn services(&self) -> Vec<Service> {
        if !self.settings.enabled {
            return Vec::new();
        }
        let matches = [false, true].map(|ipv6| Match::Udp { ipv6, port: PORT });
        vec![Service::new(NAME, matches, RATE)]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        _: &Running<'_>,
        _: &mut Effects,
    ) -> ReceiveOutcome {
        if packet::read(heard.packet()).is_none() {
            return ReceiveOutcome::Bad(DropReason::SnmpMalformed);
        }
        if self.questions.len() >= QUESTIONS {
            return ReceiveOutcome::Bad(DropReason::SnmpRefused);
        }
        self.questions.push(Question {
            packet: heard.packet().to_vec(),
            interface: heard.interface,
        });
        ReceiveOutcome::Taken
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        let changed = self.index.lay_out(others, running);
        if !self.settings.enabled || self.settings.targets.is_empty() {
            return;
        }
        let mut traps = Vec::new();
        if self.settings.tells_start && !self.told_start && self.index.has_addresses() {
            self.told_start = true;
            traps.push(Trap::common(1, Vec::new()));
            if !running.counted.storage_fault.is_empty() {
                traps.push(storage_trap(running.counted.storage_fault));
            }
        }
        for change in changed
            .into_iter()
            .filter(|change| self.settings.tells_of(&change.name))
        {
            let column = |number: u32| vec![1, 3, 6, 1, 2, 1, 2, 2, 1, number, change.number];
            let state = |up: bool| snmp::Value::Integer(if up { 1 } else { 2 });
            let bindings = vec![
                (
                    column(1),
                    snmp::Value::Integer(i32::try_from(change.number).unwrap_or(i32::MAX)),
                ),
                (column(7), state(!change.disabled)),
                (column(8), state(change.runs)),
            ];
            traps.push(Trap::common(if change.runs { 4 } else { 3 }, bindings));
        }
        for trap in traps {
            self.tell(&trap, running.now, out);
        }
    }

    fn annotate(&self, menu: &'static Menu, _: Id, row: &mut Row) {
        if menu.path == MENU {
            let engine = &self.settings.engine;
            let digits: String = engine.iter().map(|byte| format!("{byte:02x}")).collect();
            row.set("engine-id", Value::text(digits));
        }
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        if (call.menu.path, call.command) != (MENU, "send-trap") {
            return None;
        }
        if !self.settings.enabled || self.settings.targets.is_empty() {
            return Some(Err(Reason::failure(
                "SNMP is disabled or no trap-target is set",
            )));
        }
        let _ = view;
        Some(read::trap(call).map(|trap| {
            if self.waiting.len() < WAITING {
                self.waiting.push(trap);
            }
            Reply::default()
        }))
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        for trap in core::mem::take(&mut self.waiting) {
            self.tell(&trap, now, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(Instant::ZERO)
    }
}

impl Snmp {
    /// Whether requests wait for [`Self::answer`].
    pub(crate) fn is_asked(&self) -> bool {
        !self.questions.is_empty()
    }

    /// Answers the queued requests. Returns the drop reasons of requests without an answer.
    pub(crate) fn answer(
        &mut self,
        store: &Store,
        live: &dyn menu::Live,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> Vec<DropReason> {
        let menus = Menus::new(store, live, &self.index, running);
        let mut refused = Vec::new();
        for question in core::mem::take(&mut self.questions) {
            let Some(asked) = packet::read(&question.packet) else {
                continue;
            };
            let tree = Tree(Live {
                settings: &self.settings,
                index: &self.index,
                running,
                menus: &menus,
                cache: &self.cache,
            });
            let datagram = Datagram {
                bytes: asked.data,
                from: asked.from,
                now: running.now,
            };
            let mut sets = Vec::new();
            match self.agent.handle(&datagram, &tree, &mut sets) {
                Ok(data) => {
                    sets.iter().for_each(|set| out.push(effect_of(set)));
                    if let Some(answer) = asked.answer(&data, running, question.interface) {
                        out.send(Outgoing::packet(question.interface, answer));
                    }
                }
                Err(Fault::Malformed | Fault::Version | Fault::Pdu) => {
                    refused.push(DropReason::SnmpMalformed);
                }
                Err(_) => refused.push(DropReason::SnmpRefused),
            }
        }
        refused
    }

    /// Sends a trap to all targets for which the router has a source address.
    fn tell(&mut self, trap: &Trap, now: Instant, out: &mut Effects) {
        for target in self.settings.targets.clone() {
            let from = self
                .settings
                .source
                .filter(|from| from.is_ipv4() == target.is_ipv4());
            let Some(from) = from.or_else(|| self.index.source(target)) else {
                continue;
            };
            let own = match from {
                IpAddr::V4(own) => own.octets(),
                IpAddr::V6(_) => [0; 4],
            };
            let (version, community) = (self.settings.trap_version, &self.settings.trap_community);
            if let Ok(data) = self.agent.notify(trap, version, community, own, now) {
                let packet = packet::write((from, PORT), (target, TRAP_PORT), &data);
                out.send(Outgoing::packet(InterfaceId::NONE, packet));
            }
        }
    }
}

/// Returns `mteTriggerFired` (RFC 2981) with cells of `dskTable`, as Net-SNMP sends for disk
/// errors.
fn storage_trap(fault: &str) -> Trap {
    let cells = [2, 100, 101].map(|column| {
        let oid = [mib::DISK, &[column, 1]].concat();
        (oid, source::stored(column, fault))
    });
    Trap {
        oid: vec![1, 3, 6, 1, 2, 1, 88, 2, 0, 1],
        bindings: cells.into(),
    }
}

/// Returns the command that carries out a Set request.
fn effect_of(set: &Set) -> Effect {
    let text = quote_always(&set.text);
    let source = match &*set.oid {
        mib::NAME => format!("/system/identity/set name={text}"),
        mib::CONTACT => format!("/snmp/set contact={text}"),
        _ => format!("/snmp/set location={text}"),
    };
    Effect::Script {
        kind: "snmp",
        before: Default::default(),
        source,
    }
}
