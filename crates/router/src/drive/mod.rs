//! Control: keeps configuration and running state in step, and drives the protocol machines.
//!
//! Changes come in by `apply`: routes one by one (`items`), the firewall change by change, everything else by
//! `reconcile`, which works out anew what hangs on the items that changed and carries out the difference: `machines`
//! and `addresses` have the parts of it. `publish` tells the workers: interfaces one by one (`published`), and the
//! snapshot if it is other. `punt` takes packets from the workers; features hear those of the services that they
//! registered (`hear`); `icmp` and `reset` answer others. `half` holds one address family's routes and neighbours, and
//! `workers` sends commands back.
//! `retired` frees replaced snapshots when no worker holds them.
//!
//! Files by what they hold:
//! - following changes: `apply.rs`, `reconcile.rs`, `machines.rs`, `addresses.rs`, `claims.rs`,
//!   `items.rs`
//! - telling workers: `publish.rs`, `published.rs`, `retired.rs`
//! - workers: `workers.rs` (rings, pool, counters), `punt.rs`, `output.rs`, `pieces.rs`
//!   (reassembly), `build.rs`
//! - address families: `half.rs` (routes and neighbours), `sink.rs` (RIB to FIB), `timers.rs`
//! - services: `hear.rs` (registry, hearing, sending), `groups.rs` (multicast groups that are joined)
//! - answers: `icmp.rs`, `reset.rs`, `check.rs` (ways to checked gateways), `ping.rs`
//! - bridges: `offload.rs` (what is switched below the workers)
//! - watching: `flows.rs` (what connections counted, for collectors), `netwatch.rs` (trials of the owner),
//!   `fetches.rs` (pages), `sniff/` (torch, sniffer)
//! - firewall: `told.rs` (events of rules), `copy.rs` (sniffed copies), `names.rs` (DNS names),
//!   `patterns.rs`
//! - other: `log/mod.rs`, `keep.rs` (what outlives a restart), `rate.rs`, `asking.rs`, `effects.rs` and `objects.rs`
//!   (what features want done)

mod addresses;
mod apply;
pub(crate) mod asking;
mod build;
pub(crate) mod check;
mod claims;
mod copy;
mod effects;
mod fetches;
mod flows;
mod groups;
pub mod half;
pub(crate) mod hear;
mod icmp;
mod items;
mod keep;
pub mod log;
mod machines;
mod meanwhile;
pub mod names;
pub mod netwatch;
mod objects;
pub(crate) mod offload;
mod output;
pub mod patterns;
mod pieces;
mod ping;
mod publish;
mod published;
mod pulse;
mod punt;
mod rate;
mod reconcile;
mod reset;
mod resources;
mod retired;
pub mod sink;
mod sniff;
pub mod timers;
mod told;
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

use crate::board::Board;
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

use half::{Half, Means, TimerKey, Waiting};
use log::Log;
use published::Published;
use reconcile::Due;
use retired::Retired;
use timers::Timers;
use workers::Workers;

/// What a port is like when it is attached or changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortNews {
    /// The link is up.
    pub up: bool,
    /// The device's own link address.
    pub mac: Mac,
    /// The most that the device carries behind an Ethernet header, in bytes; 0 if it does not say.
    pub mtu: u32,
}

/// When a link came and went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkTimes {
    /// How often it went down.
    pub(crate) downs: u64,
    /// When it last came up.
    pub(crate) up: Option<Clock>,
    /// When it last went down.
    pub(crate) down: Option<Clock>,
}

/// The time of day when the router's own clock, which shows `now`, was at its origin: nanoseconds since 1970.
fn began(clock: &DayClock, now: Instant) -> i64 {
    let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
    clock.unix_nanos().saturating_sub(now)
}

/// One queue of a port, and the worker that is to have it.
pub type Queue = (u16, Box<dyn Port>);

/// The running half of a router.
#[derive(Debug)]
pub struct Control {
    pub(crate) intent: Intent,
    /// What the router makes by itself.
    pub(crate) objects: Objects,
    pub(crate) numbers: Numbers,
    pub(crate) layout: Layout,
    pub(crate) addresses: Addresses,
    pub(crate) tables: BTreeMap<Name, u16>,
    pub(crate) ports: BTreeMap<Name, PortState>,
    pub(crate) mirrors: BTreeMap<InterfaceId, u16>,
    pub(crate) mirror_ports: BTreeMap<u16, PortState>,
    /// The mirror that point-to-point interfaces share, once the host plane has made it.
    pub(crate) shared_mirror: Option<SharedMirror>,
    pub(crate) mirror_needs: crate::mirror::Needs,
    pub(crate) v4: Half<Arp>,
    pub(crate) v6: Half<Discovery>,
    /// Fragments of packets for this router, with the workers that they came by: of IPv4, of IPv6.
    pub(crate) pieces4: Reassembly<u16>,
    pub(crate) pieces6: Reassembly<u16>,
    /// The address that interfaces without one ask for neighbours with.
    fallback: Option<Ipv4Addr>,
    /// Interfaces that have neighbours and no IPv4 address.
    unnumbered: BTreeSet<InterfaceId>,
    /// What workers are to be told.
    due: Due,
    /// What features want done, while it is being done.
    wanted: effects::Wanted,
    /// An address came into use: the routes that come with it are offered before the poll ends.
    detected: bool,
    pub(crate) dad: BTreeMap<(InterfaceId, Ipv6Addr), Dad>,
    pub(crate) firewall: Firewall,
    pub(crate) connections: Arc<Table>,
    /// Whether connections of any family are tracked.
    tracks: bool,
    pub(crate) fib: FibWriter,
    pub(crate) published: Published,
    pub(crate) snapshot: Arc<ArcSwap<Snapshot>>,
    /// What was replaced, as long as workers may hold it.
    retired: Retired,
    pub(crate) workers: Workers,
    pub(crate) timers: Timers<TimerKey>,
    /// How many errors and answers the router sends.
    limits: icmp::Limits,
    tarpit_key: u64,
    told: told::Told,
    /// The features, in order.
    pub(crate) features: Features,
    /// Scripts that features want run: what started each, its name or text, and what runs before it.
    pub(crate) scripts: VecDeque<(&'static str, String, String)>,
    /// What they registered to hear.
    pub(crate) services: hear::Registry,
    pub(crate) started: Instant,
    pub(crate) now: Instant,
    /// Pages that commands fetch.
    fetches: fetches::UnderWay,
    /// What looks at frames.
    pub(crate) instruments: sniff::Instruments,
    /// The time of day. Features have clones.
    pub(crate) clock: DayClock,
    /// The time of day when this router's own clock began, in nanoseconds since 1970.
    began: i64,
    /// Numbers that nobody may guess.
    rng: Rng,
    /// What features keep over a restart.
    records: Records,
    /// When links came and went.
    pub(crate) links: BTreeMap<InterfaceId, LinkTimes>,
    /// What interfaces had counted when their counters were reset.
    pub(crate) reset: BTreeMap<InterfaceId, InterfaceTraffic>,
    /// How fast interfaces carry.
    pub(crate) rates: rate::Rates,
    /// The machine underneath.
    pub(crate) resources: Resources,
    /// What is switched below the workers.
    pub(crate) offload: offload::Offload,
    /// Rules that have no effect because they name what is not there.
    pub(crate) inactive_rules: BTreeMap<ItemId, Missing>,
    /// Ports that are configured and not there, which were warned about.
    pub(crate) missed: BTreeSet<Name>,
    pub(crate) port_numbers: PortNumbers,
    /// Safe mode, files and what is to be confirmed.
    pub(crate) manage: crate::manage::Manage,
    /// Whose command is run.
    pub(crate) asking: asking::Asking,
    epoch: u64,
    /// The next identification of this router's own IPv4 packets.
    ip_id: u16,
}

impl Control {
    /// A router without a configuration. All of its jitter follows from the seed of `setup`; what nobody may guess
    /// comes from `secrets`.
    fn new(
        workers: Workers,
        fib: FibWriter,
        (published, snapshot): (Published, Arc<ArcSwap<Snapshot>>),
        connections: Arc<Table>,
        mut secrets: Rng,
        setup: &Setup,
    ) -> Self {
        let (clock, now) = (DayClock::new(setup.clock), setup.now);
        let mut features = Features::new(&mut Rng::seeded(setup.seed), &mut secrets, &clock, now);
        features.queues.set_workers(workers.len());
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
            due: Due::default(),
            wanted: effects::Wanted::default(),
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
            told: told::Told::default(),
            services: hear::Registry::of(features.services()),
            features,
            scripts: VecDeque::new(),
            started: now,
            now,
            fetches: fetches::UnderWay::default(),
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

    /// The connections that are tracked.
    pub fn connections(&self) -> &Arc<Table> {
        &self.connections
    }

    /// What workers read of routes.
    pub fn fib(&self) -> &Arc<Fib> {
        self.fib.fib()
    }

    /// What workers read of interfaces.
    pub fn interfaces(&self) -> &Arc<InterfaceTable> {
        self.published.table()
    }

    /// What workers read of everything else.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Sets the time of day for all who read it. Rules are compiled anew where the zone has another time.
    pub fn set_clock(&mut self, clock: Clock) {
        let moved = clock.offset_seconds != self.clock.now().offset_seconds;
        self.clock.set(clock);
        if moved {
            self.due.snapshot = true;
            self.publish();
        }
    }

    /// The time of day when the machine underneath says that it is `raw`: with what time servers add to it. `now` is
    /// the router's clock at that moment.
    pub fn correct_clock(&mut self, raw: Clock, now: Instant) -> Clock {
        let (clock, jumped) = self.features.ntp.correct(raw, now.max(self.now));
        if jumped {
            // Events are due by the time of day.
            let local = Clock {
                offset_seconds: self.clock.now().offset_seconds,
                ..clock
            };
            self.features.schedule.watch(local, now);
        }
        clock
    }

    /// What the time of the machine underneath lacks, in nanoseconds, if time servers say.
    pub fn clock_lack(&self) -> Option<i64> {
        self.features.ntp.lack()
    }

    /// Tells about the machine underneath.
    pub fn set_resources(&mut self, resources: Resources) {
        self.resources = resources;
        let known = &self.resources;
        let board = match self.offload.board.is_routerboard() {
            true => self.offload.board.name,
            false => &known.board,
        };
        let system = (&*known.version, &*known.build_time, board);
        let mut out = Effects::default();
        let times = (self.started, self.now);
        { &mut self.features.neighbourhood }.set_system(system, times, &mut out);
        self.carry_out(out);
    }

    /// Takes the ports to be those of this board. The board is chosen before ports are attached.
    pub fn set_board(&mut self, board: &'static Board) {
        self.offload.board = board;
        self.features.switches.board = board;
        self.firewall.chips_have_rules = board.chips.iter().any(|on| on.chip.tables.acl > 0);
    }

    /// Tells which services are to listen and cannot; what is new is logged.
    pub fn set_closed_services(&mut self, closed: ClosedServices) {
        let mut out = Effects::default();
        self.features.services.set_closed(closed, &mut out);
        self.carry_out(out);
    }

    /// The log.
    pub fn log(&mut self) -> &mut Log {
        &mut self.features.log
    }

    /// Takes shortcuts that ports may learn.
    pub fn set_shortcuts(&mut self, shortcuts: Arc<dyn Shortcuts>) {
        self.fib.set_shortcuts(Arc::clone(&shortcuts));
        self.workers.set_shortcuts(shortcuts);
    }

    /// Takes what switches between ports of bridges below the workers.
    pub fn set_switch(&mut self, switch: Arc<dyn BridgeOffload>) {
        self.interfaces().bridges().set_switch(Arc::clone(&switch));
        self.workers.set_switch(switch);
    }

    /// The workers.
    pub fn workers(&mut self) -> &mut Workers {
        &mut self.workers
    }

    /// Takes a port: its queues go to their workers under the number that is returned; 65,535 if no number is free,
    /// and the port is not taken then.
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
            // With a queue on every worker the device spreads the flows itself.
            steer: on.len() < self.workers.len(),
            workers: on,
            ..PortState::default()
        };
        self.missed.remove(&name);
        self.ports.insert(name.clone(), state);
        // Workers look a port's number up in the snapshot: it is there before the port is.
        self.port_changed(&name);
        for (worker, port) in queues {
            self.workers.send(worker, Command::Attach { number, port });
        }
        number
    }

    /// A port of this name is about to come: nobody is warned that it is not there.
    pub fn expect_port(&mut self, name: &str) {
        self.missed.insert(Name::from(name));
    }

    /// Lets a port go: it vanished, or another takes its place.
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

    /// Hears of a change of a port's link.
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

    /// Hears what the link of a port does and offers.
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

    /// What the configuration asks of the device behind a port.
    pub fn port_wish(&self, name: &str) -> PortWish {
        self.layout.wishes.get(name).copied().unwrap_or_default()
    }

    /// Keeps the time of day at which the router's own clock began, so that what happened has one date:
    /// the two clocks are never read in the same moment. Who sets the time of day sets that, too.
    fn anchor(&mut self) {
        const SET: u64 = 1_000_000_000;
        let began = began(&self.clock, self.now);
        if began.abs_diff(self.began) >= SET {
            self.began = began;
        }
    }

    /// The time of day of something that happened.
    pub(crate) fn date_of(&self, at: Instant) -> String {
        let at = Clock {
            unix_seconds: self.time_of(at).div_euclid(1_000_000_000),
            ..self.clock.now()
        };
        at.date_time()
    }

    /// The time of day of a moment, in nanoseconds since 1970.
    pub(crate) fn time_of(&self, at: Instant) -> i64 {
        let at = i64::try_from(at.as_nanos()).unwrap_or(i64::MAX);
        self.began.saturating_add(at)
    }

    /// Does what is due at `now`, and takes what the workers hand over. Says whether it may have
    /// more to do at once.
    pub fn poll(&mut self, now: Instant) -> bool {
        self.now = self.now.max(now);
        self.anchor();
        self.features.dhcp_servers.now = self.now;
        if self.rates.is_due(self.now) {
            self.look_at_counters();
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
        // Here is time, which changes should not have to take.
        self.retired.free();
        self.fib.prepare();
        busy || self.workers.is_backed_up()
    }

    /// When `poll` is next worth calling, if no worker hands anything over before.
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

    /// Tells hosts that this router is none any more, before it ends.
    pub fn say_farewell(&mut self) {
        let mut out = Effects::default();
        self.features.links6.say_farewell(self.now, &mut out);
        self.features
            .virtual_routers
            .say_farewell(self.now, &mut out);
        self.carry_out(out);
    }

    /// What the scripts of this router share.
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

    /// Gives the IPv4 neighbours of an interface an event, and sees to what follows.
    pub(crate) fn feed4(&mut self, id: InterfaceId, event: Event<'_, Ipv4Addr, Waiting>) {
        let (half, mut means) = self.arp();
        let upcalls = half.feed(id, event, &mut means);
        self.answer4(id, upcalls);
    }

    /// Gives the IPv6 neighbours of an interface an event, and sees to what follows.
    pub(crate) fn feed6(&mut self, id: InterfaceId, event: Event<'_, Ipv6Addr, Waiting>) {
        let (half, mut means) = self.discovery();
        let upcalls = half.feed(id, event, &mut means);
        self.answer6(id, upcalls);
    }

    /// The IPv4 half, and what it works with.
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

    /// The IPv6 half, and what it works with.
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
