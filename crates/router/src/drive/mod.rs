//! Control: keeps configuration and running state in step, and drives the protocol machines.
//!
//! Changes come in by `apply`: routes one by one (`items`), the firewall change by change, everything else by
//! `reconcile`, which recomputes everything that depends on the changed items and carries out the difference
//! (`machines` and `addresses` are parts of it). `publish` tells the workers: interfaces one by one (`published`), and
//! the snapshot if it changed. `punt` takes packets from the workers; features receive packets of their registered
//! services (`hear`); `icmp` and `reset` answer other packets. `half` holds one address family's routes and neighbours,
//! and `workers` sends commands to the workers. `retired` frees replaced snapshots when no worker holds them.
//!
//! Files by topic:
//! - following changes: `apply.rs`, `reconcile.rs`, `machines.rs`, `addresses.rs`, `claims.rs`, `items.rs`
//! - telling workers: `publish.rs`, `published.rs`, `retired.rs`
//! - workers: `workers.rs` (rings, pool, counters), `punt.rs`, `output.rs`, `pieces.rs` (reassembly), `build.rs`
//! - address families: `half.rs` (routes and neighbours), `sink.rs` (RIB to FIB), `timers.rs`
//! - services: `hear.rs` (registry, receiving, sending), `groups.rs` (joined multicast groups)
//! - answers: `icmp.rs`, `reset.rs`, `check.rs` (paths to checked gateways), `ping.rs`
//! - bridges: `offload.rs` (switching below the workers)
//! - watching: `flows.rs` (connection counters, for collectors), `netwatch.rs` (probes by the owner), `fetches.rs`
//!   (pages), `sniff/` (torch, sniffer), `generator/`
//! - firewall: `rule_events.rs` (events of rules), `copy.rs` (sniffed copies), `names.rs` (DNS names), `patterns.rs`
//! - other: `log/mod.rs`, `persistence.rs` (state that survives a restart), `rate.rs`, `asking.rs`, `effects.rs` and
//!   `objects.rs` (effects of features)

mod addresses;
mod apply;
pub(crate) mod asking;
mod bandwidth;
mod build;
pub(crate) mod check;
mod claims;
mod copy;
mod effects;
mod fetches;
mod flows;
mod generator;
mod groups;
pub mod half;
pub(crate) mod hear;
mod icmp;
mod items;
pub mod log;
mod machines;
mod meanwhile;
pub mod names;
pub mod netwatch;
mod objects;
pub(crate) mod offload;
mod output;
pub mod patterns;
mod persistence;
mod pieces;
mod ping;
mod publish;
mod published;
mod pulse;
mod punt;
pub mod radius;
mod rate;
mod reconcile;
mod reset;
mod resources;
mod retired;
mod rule_events;
pub mod sink;
mod sniff;
pub mod streams;
mod tickets;
pub mod timers;
pub mod workers;

pub use build::{Secrets, Setup};
pub use meanwhile::Pulse;
pub use resources::{Core, Resources};

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use arc_swap::ArcSwap;
use dataplane::Command;
use dataplane::connection::Table;
use dataplane::counters::InterfaceTraffic;
use dataplane::interface::InterfaceTable;
use dataplane::snapshot::Snapshot;
use dataplane::table::Fib;
use dataplane::table::fib::FibWriter;
use frame::reassembly::{self, Reassembly};
use frame::shortcut::Shortcuts;
use frame::switch::BridgeOffload;
use frame::{InterfaceId, Offloads, Port};
use machine::{Instant, Rng};
use menu::Clock;
use service::neighbour::{Arp, Discovery, Event};
use wire::Mac;

use crate::clock::DayClock;
pub(crate) use crate::compile::Dad;
pub use crate::compile::PortWish;
use crate::compile::{Addresses, Layout, Missing, Numbers, PortState, SharedMirror};
use crate::feature::Effects;
use crate::feature::services::ClosedServices;
use crate::features::Features;
use crate::firewall::Firewall;
use crate::intent::{Intent, ItemId, Name};
use crate::link_modes::PortLink;
use crate::object::Objects;
use crate::port_numbers::PortNumbers;
use crate::records::Records;
use board::Board;

use half::{Half, Means, TimerKey, Waiting};
use log::Log;
use published::Published;
use reconcile::PendingPublication;
use retired::Retired;
use tickets::CommandWork;
use timers::Timers;
use workers::Workers;

/// State of a port when it is attached or changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortNews {
    /// The link is up.
    pub up: bool,
    /// The device's own link address.
    pub mac: Mac,
    /// Largest payload behind an Ethernet header that the device carries, in bytes; 0 if unknown.
    pub mtu: u32,
}

/// Link changes of an interface.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkTimes {
    /// Number of times that the link went down.
    pub(crate) downs: u64,
    /// When it last came up.
    pub(crate) up: Option<Clock>,
    /// When it last went down.
    pub(crate) down: Option<Clock>,
}

/// Returns the time of day at the origin of the router's clock, in nanoseconds since 1970.
fn began(clock: &DayClock, now: Instant) -> i64 {
    let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
    clock.unix_nanos().saturating_sub(now)
}

/// One queue of a port, and the worker that serves it.
pub type Queue = (u16, Box<dyn Port>);

/// Control: the running half of a router.
#[derive(Debug)]
pub struct Control {
    pub(crate) intent: Intent,
    /// Dynamic objects.
    pub(crate) objects: Objects,
    pub(crate) numbers: Numbers,
    pub(crate) layout: Layout,
    pub(crate) addresses: Addresses,
    pub(crate) tables: BTreeMap<Name, u16>,
    pub(crate) ports: BTreeMap<Name, PortState>,
    pub(crate) mirrors: BTreeMap<InterfaceId, u16>,
    pub(crate) mirror_ports: BTreeMap<u16, PortState>,
    /// Mirror shared by point-to-point interfaces, once the host plane has created it.
    pub(crate) shared_mirror: Option<SharedMirror>,
    pub(crate) mirror_needs: crate::mirror::Needs,
    pub(crate) v4: Half<Arp>,
    pub(crate) v6: Half<Discovery>,
    /// Fragments of IPv4 packets for this router, with the workers that received them.
    pub(crate) pieces4: Reassembly<u16>,
    pub(crate) pieces6: Reassembly<u16>,
    /// Sender address of ARP requests on interfaces without an address.
    fallback: Option<Ipv4Addr>,
    /// Interfaces with a neighbour machine and without an IPv4 address.
    unnumbered: BTreeSet<InterfaceId>,
    /// Changes to publish to workers.
    due: PendingPublication,
    /// Effects that are being carried out.
    wanted: effects::PendingEffects,
    /// An address passed duplicate address detection: its routes are offered before the poll ends.
    detected: bool,
    pub(crate) dad: BTreeMap<(InterfaceId, Ipv6Addr), Dad>,
    pub(crate) firewall: Firewall,
    pub(crate) connections: Arc<Table>,
    /// Whether connection tracking is active for any family.
    tracks: bool,
    pub(crate) fib: FibWriter,
    pub(crate) published: Published,
    pub(crate) snapshot: Arc<ArcSwap<Snapshot>>,
    /// Replaced snapshots and tables, kept while workers may hold them.
    retired: Retired,
    pub(crate) workers: Workers,
    pub(crate) timers: Timers<TimerKey>,
    /// Rate limits of ICMP errors and answers.
    limits: icmp::Limits,
    tarpit_key: u64,
    told: rule_events::RuleEventState,
    /// The features, in order.
    pub(crate) features: Features,
    /// Scripts that features start: the trigger, the script's name or text, and statements that run before it.
    pub(crate) scripts: VecDeque<(&'static str, String, String)>,
    /// Services that features registered.
    pub(crate) services: hear::Registry,
    pub(crate) started: Instant,
    pub(crate) now: Instant,
    /// Running page transfers.
    work: CommandWork,
    /// Torch, sniffer and traffic generator.
    pub(crate) instruments: sniff::Instruments,
    /// Time of day, shared with features.
    pub(crate) clock: DayClock,
    /// Time of day at the origin of the router's clock, in nanoseconds since 1970.
    began: i64,
    /// Source of unpredictable numbers.
    rng: Rng,
    /// Records of features that survive a restart.
    records: Records,
    /// Link changes by interface.
    pub(crate) links: BTreeMap<InterfaceId, LinkTimes>,
    /// Interface counters at their last reset.
    pub(crate) reset: BTreeMap<InterfaceId, InterfaceTraffic>,
    /// Rates of interfaces, and the history of traffic and load.
    pub(crate) rates: rate::Rates,
    /// Resources of the host.
    pub(crate) resources: Resources,
    /// Bridge ports that are switched below the workers.
    pub(crate) offload: offload::Offload,
    /// Rules without effect because they name something that does not exist.
    pub(crate) inactive_rules: BTreeMap<ItemId, Missing>,
    /// Configured ports without a device, for which a warning was logged.
    pub(crate) missed: BTreeSet<Name>,
    pub(crate) port_numbers: PortNumbers,
    /// State of safe mode, files and unconfirmed changes.
    pub(crate) manage: crate::manage::Manage,
    /// Caller of the current command.
    pub(crate) asking: asking::Asking,
    epoch: u64,
    /// The next identification of this router's own IPv4 packets.
    ip_id: u16,
}

/// Creates the features. Their jitter follows from the seed of `setup`.
fn new_features(workers: &Workers, secrets: &mut Rng, clock: &DayClock, setup: &Setup) -> Features {
    let jitter = &mut Rng::seeded(setup.seed);
    let mut features = Features::new(jitter, secrets, clock, setup.now);
    features.queues.set_workers(workers.len());
    features
}

impl Control {
    /// Creates a router without a configuration. All jitter follows from the seed of `setup`; `secrets` gives
    /// unpredictable values.
    fn new(
        workers: Workers,
        fib: FibWriter,
        published: Published,
        snapshot: Arc<ArcSwap<Snapshot>>,
        connections: Arc<Table>,
        mut secrets: Rng,
        setup: &Setup,
    ) -> Self {
        let (clock, now) = (DayClock::new(setup.clock), setup.now);
        let features = new_features(&workers, &mut secrets, &clock, setup);
        Self {
            intent: Intent::default(),
            objects: Objects::default(),
            numbers: Numbers::default(),
            layout: Layout::default(),
            addresses: Addresses::default(),
            tables: BTreeMap::from([(Name::from("main"), crate::rib::MAIN)]),
            ports: BTreeMap::new(),
            mirrors: BTreeMap::new(),
            mirror_ports: BTreeMap::new(),
            shared_mirror: None,
            mirror_needs: crate::mirror::Needs::default(),
            v4: Half::default(),
            v6: Half::default(),
            pieces4: Reassembly::new(reassembly::Config::V4),
            pieces6: Reassembly::new(reassembly::Config::V6),
            fallback: None,
            unnumbered: BTreeSet::new(),
            due: PendingPublication::default(),
            wanted: effects::PendingEffects::default(),
            detected: false,
            dad: BTreeMap::new(),
            firewall: Firewall::new(workers.rule_counters()),
            connections,
            tracks: false,
            fib,
            published,
            snapshot,
            retired: Retired::default(),
            workers,
            timers: Timers::default(),
            limits: icmp::Limits::new(&mut secrets),
            tarpit_key: secrets.next_u64(),
            told: rule_events::RuleEventState::default(),
            services: hear::Registry::of(features.services()),
            features,
            scripts: VecDeque::new(),
            started: now,
            now,
            work: CommandWork::default(),
            instruments: sniff::Instruments::default(),
            began: began(&clock, now),
            rng: secrets,
            records: Records::default(),
            links: BTreeMap::new(),
            reset: BTreeMap::new(),
            rates: rate::Rates::default(),
            resources: Resources::default(),
            offload: offload::Offload::default(),
            inactive_rules: BTreeMap::new(),
            missed: BTreeSet::new(),
            port_numbers: PortNumbers::default(),
            manage: crate::manage::Manage::new(&clock),
            clock,
            asking: asking::Asking::default(),
            epoch: 0,
            ip_id: 0,
        }
    }

    /// The table of tracked connections.
    pub fn connections(&self) -> &Arc<Table> {
        &self.connections
    }

    /// Routes, as workers read them.
    pub fn fib(&self) -> &Arc<Fib> {
        self.fib.fib()
    }

    /// Interfaces, as workers read them.
    pub fn interfaces(&self) -> &Arc<InterfaceTable> {
        self.published.table()
    }

    /// Settings, ports and rules, as workers read them.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Sets the time of day for all readers. Recompiles rules if the offset of the time zone changed.
    pub fn set_clock(&mut self, clock: Clock) {
        let moved = clock.offset_seconds != self.clock.now().offset_seconds;
        self.clock.set(clock);
        if moved {
            self.due.snapshot = true;
            self.publish();
        }
    }

    /// Returns the corrected time of day for the host's time `raw`: the correction comes from time servers. `now` is
    /// the router's clock at that moment.
    pub fn correct_clock(&mut self, raw: Clock, now: Instant) -> Clock {
        let (clock, jumped) = self.features.ntp.correct(raw, now.max(self.now));
        if jumped {
            // Events are scheduled in local time.
            let local = Clock {
                offset_seconds: self.clock.now().offset_seconds,
                ..clock
            };
            self.features.schedule.watch(local, now);
        }
        clock
    }

    /// Returns the correction of the host's time in nanoseconds, if time servers gave one.
    pub fn clock_lack(&self) -> Option<i64> {
        self.features.ntp.lack()
    }

    /// Updates the resources of the host.
    pub fn set_resources(&mut self, resources: Resources) {
        self.resources = resources;
        let known = &self.resources;
        let board = match self.offload.board.is_routerboard() {
            true => self.offload.board.name,
            false => &known.board,
        };
        let (version, build_time) = (&*known.version, &*known.build_time);
        let mut out = Effects::default();
        let (started, now) = (self.started, self.now);
        let neighbourhood = &mut self.features.neighbourhood;
        neighbourhood.set_system(version, build_time, board, started, now, &mut out);
        self.carry_out(out);
    }

    /// Sets the board whose ports the router has. The caller sets the board before it attaches ports.
    pub fn set_board(&mut self, board: &'static Board) {
        self.offload.board = board;
        self.features.switches.board = board;
        self.firewall.chips_have_rules = board.chips.iter().any(|on| on.chip.tables.acl > 0);
    }

    /// Sets the services that should listen and cannot; logs new ones.
    pub fn set_closed_services(&mut self, closed: ClosedServices) {
        let mut out = Effects::default();
        self.features.services.set_closed(closed, &mut out);
        self.carry_out(out);
    }

    /// The log.
    pub fn log(&mut self) -> &mut Log {
        &mut self.features.log
    }

    /// Sets the shortcuts that ports can learn.
    pub fn set_shortcuts(&mut self, shortcuts: Arc<dyn Shortcuts>) {
        self.fib.set_shortcuts(Arc::clone(&shortcuts));
        self.workers.set_shortcuts(shortcuts);
    }

    /// Sets the bridge offload below the workers.
    pub fn set_switch(&mut self, switch: Arc<dyn BridgeOffload>) {
        self.interfaces().bridges().set_switch(Arc::clone(&switch));
        self.workers.set_switch(switch);
    }

    /// The workers.
    pub fn workers(&mut self) -> &mut Workers {
        &mut self.workers
    }

    /// Attaches a port: its queues go to their workers. Returns the port's number; 65,535 if no number is free: then
    /// the port is not attached.
    pub fn attach_port(
        &mut self,
        name: &str,
        news: PortNews,
        offloads: Offloads,
        queues: Vec<Queue>,
    ) -> u16 {
        let name = Name::from(name);
        let Some(number) = self.port_numbers.take(&name) else {
            let message = format!("port {name}: there are too many ports");
            self.features.log.add("interface,error", message);
            return u16::MAX;
        };
        let mut on: Vec<u16> = queues.iter().map(|(worker, _)| *worker).collect();
        on.sort_unstable();
        on.dedup();
        let state = PortState {
            number,
            up: news.up,
            mac: news.mac,
            mtu: news.mtu,
            offloads,
            seat: queues.first().and_then(|(_, port)| port.seat()),
            // With a queue on every worker the device distributes the flows.
            steer: on.len() < self.workers.len(),
            workers: on,
            ..PortState::default()
        };
        self.missed.remove(&name);
        self.ports.insert(name.clone(), state);
        // Workers look up a port's number in the snapshot: publish the snapshot before the port.
        self.port_changed(&name);
        for (worker, port) in queues {
            self.workers.send(worker, Command::Attach { number, port });
        }
        number
    }

    /// Announces a port that will be attached soon: no warning about a missing device is logged.
    pub fn expect_port(&mut self, name: &str) {
        self.missed.insert(Name::from(name));
    }

    /// Detaches a port that vanished or is being replaced.
    pub fn detach_port(&mut self, name: &str) {
        let Some(state) = self.ports.remove(name) else {
            return;
        };
        self.detach(&state);
        self.port_numbers.release(name);
        self.port_changed(name);
    }

    pub(crate) fn detach(&mut self, state: &PortState) {
        for worker in &state.workers {
            let number = state.number;
            self.workers.send(*worker, Command::Detach { number });
        }
    }

    /// Records a change of a port's link.
    pub fn port_news(&mut self, name: &str, news: PortNews) {
        let Some(state) = self.ports.get_mut(name) else {
            return;
        };
        let before = state.clone();
        (state.up, state.mac, state.mtu) = (news.up, news.mac, news.mtu);
        if *state != before {
            self.port_changed(name);
        }
    }

    /// Records the state and abilities of a port's link.
    pub fn port_link(&mut self, name: &str, link: PortLink) {
        let Some(state) = self.ports.get_mut(name) else {
            return;
        };
        let before = (state.speed_mbps, state.link.full_duplex);
        (state.link, state.speed_mbps) = (link, link.speed_mbps);
        if before != (link.speed_mbps, link.full_duplex) {
            self.port_changed(name);
        }
    }

    /// Returns the settings that the configuration requests for a port's device.
    pub fn port_wish(&self, name: &str) -> PortWish {
        self.layout.wishes.get(name).copied().unwrap_or_default()
    }

    /// Fixes the time of day at the origin of the router's clock, so that every event gets exactly one date: the two
    /// clocks are never read at the same moment. Setting the time of day fixes it again.
    fn anchor(&mut self) {
        const SET: u64 = 1_000_000_000;
        let began = began(&self.clock, self.now);
        if began.abs_diff(self.began) >= SET {
            self.began = began;
        }
    }

    /// Returns the date of an event, as text.
    pub(crate) fn date_of(&self, at: Instant) -> String {
        let at = Clock {
            unix_seconds: self.time_of(at).div_euclid(1_000_000_000),
            ..self.clock.now()
        };
        at.date_time()
    }

    /// Returns the time of day of an instant, in nanoseconds since 1970.
    pub(crate) fn time_of(&self, at: Instant) -> i64 {
        let at = i64::try_from(at.as_nanos()).unwrap_or(i64::MAX);
        self.began.saturating_add(at)
    }

    /// Handles due timers and packets from workers at `now`. Returns whether more work may be waiting.
    pub fn poll(&mut self, now: Instant) -> bool {
        self.now = self.now.max(now);
        self.anchor();
        self.features.dhcp_servers.now = self.now;
        if self.rates.is_due(self.now) {
            self.look_at_counters();
            self.record_history();
        }
        self.workers.push_all();
        self.warn_of_missing();
        self.features.dns.set_now(self.now);
        while let Some(key) = self.timers.due(self.now) {
            self.tick(key);
        }
        self.tick_features();
        let busy = self.take_punts();
        if self.instruments.is_due(self.now) {
            self.write_sniffed();
        }
        self.keep_leases(busy);
        if core::mem::take(&mut self.detected) {
            self.publish();
            self.offer_dynamic();
            self.settle();
        }
        self.keep_records();
        self.features.log.write(&mut self.manage.files);
        // Freed here rather than during changes, which should not pay for it.
        self.retired.free();
        self.fib.prepare();
        busy || self.workers.is_backed_up()
    }

    /// Returns the next instant at which `poll` has work, apart from packets of workers.
    pub fn deadline(&self) -> Option<Instant> {
        let confirm = self.confirm_until();
        let entries = self.firewall.next_entries();
        let timers = self.timers.deadline().into_iter();
        let features = self.features.deadline();
        let scripts = (!self.scripts.is_empty()).then_some(self.now);
        let others = { confirm.into_iter() }.chain(entries).chain(features);
        let others = others.chain(scripts).chain(self.instruments.deadline());
        let others = others.chain(self.records.deadline());
        timers.chain(others).min()
    }

    /// Announces to hosts that this router stops being their router, before the program ends.
    pub fn say_farewell(&mut self) {
        let mut out = Effects::default();
        self.features.links6.say_farewell(self.now, &mut out);
        self.features
            .virtual_routers
            .say_farewell(self.now, &mut out);
        self.carry_out(out);
    }

    /// Script state of this router.
    pub fn scripting(&self) -> &script::Scripting {
        &self.features.scripting
    }

    fn tick(&mut self, key: TimerKey) {
        match key {
            TimerKey::Arp(id) => {
                let (half, mut means) = self.arp();
                let upcalls = half.tick(id, &mut means);
                self.answer4(id, upcalls);
            }
            TimerKey::Discovery(id) => {
                let (half, mut means) = self.discovery();
                let upcalls = half.tick(id, &mut means);
                self.answer6(id, upcalls);
            }
            TimerKey::Pieces => self.expire_pieces(),
        }
    }

    /// Passes an event to the IPv4 neighbours of an interface, and handles the resulting actions.
    pub(crate) fn feed4(&mut self, id: InterfaceId, event: Event<'_, Ipv4Addr, Waiting>) {
        let (half, mut means) = self.arp();
        let upcalls = half.feed(id, event, &mut means);
        self.answer4(id, upcalls);
    }

    /// Passes an event to the IPv6 neighbours of an interface, and handles the resulting actions.
    pub(crate) fn feed6(&mut self, id: InterfaceId, event: Event<'_, Ipv6Addr, Waiting>) {
        let (half, mut means) = self.discovery();
        let upcalls = half.feed(id, event, &mut means);
        self.answer6(id, upcalls);
    }

    /// Returns the IPv4 half with access to workers, FIB and timers.
    fn arp(&mut self) -> (&mut Half<Arp>, Means<'_>) {
        let means = Means {
            workers: &mut self.workers,
            fib: &mut self.fib,
            timers: &mut self.timers,
            log: &mut self.features.log,
            layout: &self.layout,
            now: self.now,
        };
        (&mut self.v4, means)
    }

    /// Returns the IPv6 half with access to workers, FIB and timers.
    fn discovery(&mut self) -> (&mut Half<Discovery>, Means<'_>) {
        let means = Means {
            workers: &mut self.workers,
            fib: &mut self.fib,
            timers: &mut self.timers,
            log: &mut self.features.log,
            layout: &self.layout,
            now: self.now,
        };
        (&mut self.v6, means)
    }
}
