//! Spanning tree of one bridge: STP, RSTP and MSTP (IEEE 802.1Q-2018, clause 13).
//!
//! ```text
//! BPDU ─▶ receive ─▶ information ─▶ selection ─▶ transitions ─▶ State, Flush
//!           │        (port           (role of     (may it        │
//!       migration     information)    each port)   forward?)     ▼
//!       edge                                        topology ─▶ transmit ─▶ Send
//! ```
//!
//! The machines of the standard are files and functions, and its variables are fields in `port.rs`, under the
//! standard's names. A machine's state is stored only if its variables do not imply it. After each event all machines
//! run until none changes state ([`Bridge::settle`]). Timers count seconds, as in the standard.
//!
//! RSTP is MSTP with one tree, where each bridge is its own region; STP is RSTP that sends configuration BPDUs.

mod config;
mod information;
mod migration;
mod port;
mod receive;
mod schedule;
mod selection;
#[cfg(test)]
mod tests;
mod topology;
mod transitions;
mod transmit;
mod vector;

use machine::{Duration, Instant, Machine};
use wire::bpdu::{BridgeId, PortId, Region};

pub use config::{Config, CostMode, Edge, Instance, Link, PortConfig, Protocol};
pub use port::{Counters, Role, State};
use port::{Info, Port, TreePort};
use schedule::{PortSet, Schedule};
pub use vector::{Times, Vector};

/// Maximum number of rounds per event; the machines settle within far fewer.
const ROUNDS: usize = 10_000;
/// `BridgeHelloTime` in seconds (table 13-5).
const HELLO: u16 = 2;
/// `MigrateTime` in seconds: delay before a port checks whether its neighbour uses RSTP.
const MIGRATE: u16 = 3;

/// Spanning tree of a bridge. It has no ports initially.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub struct Bridge {
    config: Config,
    region: Region,
    trees: Vec<Tree>,
    /// Sorted by number.
    ports: Vec<Port>,
    schedule: Schedule,
    next_second: Option<Instant>,
    /// Number of rounds so far.
    rounds: u64,
    unsettled: u64,
    changes: u64,
    changed_at: Option<Instant>,
}

/// A tree: the common one, or an instance.
#[derive(Clone, Debug)]
struct Tree {
    /// Instance number; 0 for the common tree.
    number: u16,
    bridge: BridgeId,
    /// Priority vector of the bridge.
    root: Vector,
    root_times: Times,
    root_port: PortId,
    /// A port requested a role selection.
    reselect: bool,
    /// All ports await a role selection, whatever `selected` says.
    reselect_all: bool,
    /// Ports whose variables may have changed since the last role selection.
    unselected: PortSet,
    /// Ports with received information.
    informed: PortSet,
    /// Ports whose next step depends on other ports.
    waiting: PortSet,
}

impl Tree {
    fn port_sets(&mut self) -> [&mut PortSet; 3] {
        [&mut self.unselected, &mut self.informed, &mut self.waiting]
    }
}

/// Events of a bridge.
#[derive(Debug)]
pub enum Event<'a> {
    /// The configuration changed.
    Configure(Config),
    /// A port was added or its settings changed; its number is 1 to 4095.
    Port(u16, PortConfig),
    /// A port was added or its settings changed, and its link is known: [`Self::Port`] and [`Self::Link`] at once.
    PortWithLink(u16, PortConfig, Link),
    /// A port was removed.
    PortGone(u16),
    /// The link of a port changed.
    Link(u16, Link),
    /// Re-enables a port that BPDU guard disabled.
    Unguard(u16),
    /// `mcheck`: the port checks again whether its neighbour uses RSTP.
    Migrate(u16),
    /// A BPDU arrived on a port; holds the bytes after the LLC header.
    Received(u16, &'a [u8]),
}

/// Actions that the owner of the machine carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a BPDU on a port.
    Send {
        /// Port.
        port: u16,
        /// Bytes after the LLC header.
        bpdu: Vec<u8>,
    },
    /// The state of a port in a tree changed.
    Become {
        /// Port.
        port: u16,
        /// Instance number; 0 for the common tree.
        tree: u16,
        /// New state.
        state: State,
    },
    /// Remove the addresses learnt on a port in a tree.
    Flush {
        /// Port.
        port: u16,
        /// Instance number.
        tree: u16,
    },
    /// BPDU guard disabled a port.
    Guarded {
        /// Port.
        port: u16,
    },
}

/// Timer of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Next second.
    Second,
}

/// State of a tree, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeView {
    /// Bridge id in the tree.
    pub bridge: BridgeId,
    /// Priority vector of the bridge.
    pub root: Vector,
    /// Root port; `None` if this bridge is the root.
    pub root_port: Option<u16>,
}

/// State of a port in a tree, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortView {
    /// Port id.
    pub id: PortId,
    /// Role.
    pub role: Role,
    /// State.
    pub state: State,
    /// Edge port.
    pub edge: bool,
    /// Point-to-point link.
    pub point_to_point: bool,
    /// Sends RSTP or MSTP BPDUs.
    pub sends_rstp: bool,
    /// Disabled by BPDU guard.
    pub guarded: bool,
    /// External path cost.
    pub cost: u32,
    /// Internal path cost.
    pub internal_cost: u32,
    /// Vector of the designated port of the segment.
    pub designated: Vector,
    /// Counters.
    pub counters: Counters,
}

impl Bridge {
    /// Creates a bridge with this configuration.
    pub fn new(config: Config) -> Self {
        let mut bridge = Self {
            region: config.region(),
            config,
            trees: Vec::new(),
            ports: Vec::new(),
            schedule: Schedule::default(),
            next_second: None,
            rounds: 0,
            unsettled: 0,
            changes: 0,
            changed_at: None,
        };
        bridge.begin();
        bridge
    }

    /// Returns the state of a tree.
    pub fn tree(&self, number: u16) -> Option<TreeView> {
        let tree = self.trees.iter().find(|tree| tree.number == number)?;
        Some(TreeView {
            bridge: tree.bridge,
            root: tree.root,
            root_port: (tree.root_port != PortId::default()).then(|| tree.root_port.number()),
        })
    }

    /// Returns the state of a port in a tree.
    pub fn port(&self, number: u16, tree: u16) -> Option<PortView> {
        let tree = self.trees.iter().position(|known| known.number == tree)?;
        let port = &self.ports[self.place(number)?];
        let its = &port.trees[tree];
        Some(PortView {
            id: its.id,
            role: its.role,
            state: its.state(),
            edge: port.oper_edge,
            point_to_point: port.is_point_to_point(),
            sends_rstp: port.send_rstp,
            guarded: port.guarded,
            cost: port.external_cost,
            internal_cost: its.internal_cost,
            designated: its.known,
            counters: port.counters,
        })
    }

    /// Number of topology changes, and time of the last one.
    pub fn topology_changes(&self) -> (u64, Option<Instant>) {
        (self.changes, self.changed_at)
    }

    /// Number of events after which the machines did not settle; always 0 unless there is a bug.
    pub fn unsettled(&self) -> u64 {
        self.unsettled
    }

    fn place(&self, number: u16) -> Option<usize> {
        self.ports
            .binary_search_by_key(&number, |port| port.number)
            .ok()
    }

    /// `rstpVersion`: true for RSTP and MSTP.
    fn is_rapid(&self) -> bool {
        self.config.protocol >= Protocol::Rstp
    }

    /// Timer values that this bridge announces as root.
    fn own_times(&self) -> Times {
        Times {
            message_age: 0,
            max_age: self.config.max_age,
            hello: HELLO,
            forward_delay: self.config.forward_delay,
            hops: self.config.max_hops,
        }
    }

    /// Resets all machines.
    fn begin(&mut self) {
        let (config, times) = (&self.config, self.own_times());
        let instances = match config.protocol {
            Protocol::Mstp => config
                .instances
                .iter()
                .take(wire::bpdu::INSTANCES)
                .collect(),
            _ => Vec::new(),
        };
        let numbers = instances
            .into_iter()
            .map(|(number, it)| (*number, it.priority));
        let numbers = [(0, config.priority)].into_iter().chain(numbers);
        self.trees = numbers
            .map(|(number, priority)| {
                let bridge = BridgeId::new(priority, number, config.address);
                Tree {
                    number,
                    bridge,
                    root: Vector::of_root(bridge, number == 0),
                    root_times: times,
                    root_port: PortId::default(),
                    reselect: false,
                    reselect_all: false,
                    unselected: PortSet::default(),
                    informed: PortSet::default(),
                    waiting: PortSet::default(),
                }
            })
            .collect();
        for place in 0..self.ports.len() {
            self.begin_port(place);
        }
    }

    /// Resets the machines of a port.
    fn begin_port(&mut self, place: usize) {
        let (times, cost_mode) = (self.own_times(), self.config.cost_mode);
        let rapid = self.is_rapid();
        let port = &mut self.ports[place];
        port.oper_edge = port.config.edge.is_admin();
        port.info_internal = false;
        (port.rcvd_tcn, port.rcvd_tc_ack, port.tc_ack) = (false, false, false);
        (port.new_info, port.new_info_msti, port.tx_count) = (true, true, 0);
        port.edge_delay_while = MIGRATE;
        port.begin_migration(rapid);
        port.trees.truncate(self.trees.len());
        port.trees.resize_with(self.trees.len(), TreePort::default);
        for place in 0..self.trees.len() {
            let (id, cost) = port.of_tree(self.trees[place].number, cost_mode);
            port.trees[place].begin(id, cost, times);
        }
        port.external_cost = port.cost(port.config.path_cost, cost_mode);
        self.stir(place);
        self.reselect();
    }

    /// Requests a new role selection for all ports.
    fn reselect(&mut self) {
        for tree in &mut self.trees {
            (tree.reselect, tree.reselect_all) = (true, true);
        }
    }

    fn configure(&mut self, config: Config) {
        if config == self.config {
            return;
        }
        self.region = config.region();
        self.config = config;
        self.begin();
    }

    fn configure_port(&mut self, number: u16, config: PortConfig) {
        let place = match self.ports.binary_search_by_key(&number, |port| port.number) {
            Ok(place) if self.ports[place].config == config => return,
            Ok(place) => place,
            Err(place) => {
                let port = Port {
                    number,
                    ..Port::default()
                };
                self.ports.insert(place, port);
                self.schedule.port_inserted(place);
                let trees = self.trees.iter_mut().flat_map(Tree::port_sets);
                trees.for_each(|places| places.port_inserted(place));
                place
            }
        };
        self.ports[place].config = config;
        self.ports[place].guarded = false;
        self.begin_port(place);
    }

    fn change_link(&mut self, number: u16, link: Link) {
        let (cost_mode, rapid) = (self.config.cost_mode, self.is_rapid());
        let Some(place) = self.place(number) else {
            return;
        };
        if self.ports[place].link == link {
            return;
        }
        let port = &mut self.ports[place];
        port.link = link;
        if !port.is_enabled() {
            port.disable(rapid);
        }
        port.external_cost = port.cost(port.config.path_cost, cost_mode);
        for at in 0..self.trees.len() {
            (port.trees[at].id, port.trees[at].internal_cost) =
                port.of_tree(self.trees[at].number, cost_mode);
        }
        self.stir(place);
        self.reselect();
    }

    /// Runs all machines until none changes state, then reports changed port states.
    fn settle(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.config.protocol == Protocol::None {
            let changed = core::mem::take(&mut self.schedule).take_unreported();
            self.forward(&changed);
            self.report_states(&changed, out);
        } else {
            let mut rounds = 0;
            while self.round(now, out) {
                rounds += 1;
                if rounds == ROUNDS {
                    self.unsettled += 1;
                    break;
                }
            }
            #[cfg(test)]
            if self.rounds.is_multiple_of(16) {
                self.assert_settled(now);
            }
            let changed = self.schedule.take_unreported();
            self.report_states(&changed, out);
        }
        let any = self.config.protocol != Protocol::None
            && self.ports.iter().any(|port| port.is_enabled());
        match any {
            true => {
                self.next_second.get_or_insert(now + Duration::from_secs(1));
            }
            false => self.next_second = None,
        }
    }

    /// Schedules the machines of a port, whose variables changed, for this round and the next.
    fn stir(&mut self, place: usize) {
        self.schedule.add(place);
        for tree in &mut self.trees {
            tree.unselected.insert(place);
        }
        self.index(place);
    }

    fn stir_all(&mut self) {
        (0..self.ports.len()).for_each(|place| self.stir(place));
    }

    /// Updates the sets of ports by the variables of a port.
    fn index(&mut self, place: usize) {
        for (tree, its) in self.trees.iter_mut().zip(&self.ports[place].trees) {
            tree.informed.set(place, its.info == Info::Received);
            tree.waiting.set(place, its.looks_at_others());
        }
    }

    /// Runs each scheduled machine once. Returns true if any of them changed state.
    fn round(&mut self, now: Instant, out: &mut Vec<Action>) -> bool {
        self.rounds += 1;
        self.schedule.advance();
        let mut from = 0;
        while let Some(place) = self.schedule.now.next(from) {
            self.index(place);
            from = place + 1;
        }
        let rapid = self.is_rapid();
        let mut busy = self.run(|its, place| {
            let port = &mut its.ports[place];
            port.migrate(rapid) | port.detect_edge()
        });
        for tree in 0..self.trees.len() {
            let mut moved = self.run(|its, place| its.inform(tree, place));
            moved |= self.select_roles(tree);
            if moved {
                self.stir_waiting(tree);
            }
            let mut changed = false;
            busy |= moved
                | self.run(|its, place| {
                    let role = its.change_role(tree, place);
                    changed |= role;
                    let state = its.ports[place].change_state(tree);
                    role | state | its.change_topology(tree, place, now)
                });
            if changed {
                self.stir_waiting(tree);
            }
        }
        busy | self.run(|its, place| its.transmit(place, out))
    }

    /// Runs a machine of each scheduled port. Returns true if any changed state; that port is scheduled again.
    fn run(&mut self, mut machine: impl FnMut(&mut Self, usize) -> bool) -> bool {
        let (mut busy, mut from) = (false, 0);
        // The machine of a port may schedule ports behind it.
        while let Some(place) = self.schedule.now.next(from) {
            if machine(self, place) {
                self.stir(place);
                busy = true;
            }
            from = place + 1;
        }
        busy
    }

    /// Schedules the ports whose next step depends on other ports.
    fn stir_waiting(&mut self, tree: usize) {
        let waiting = self.trees[tree].waiting.iter();
        waiting.for_each(|place| self.schedule.add(place));
    }

    /// Asserts that no machine of any port, scheduled or not, has a transition left.
    #[cfg(test)]
    fn assert_settled(&self, now: Instant) {
        let mut all = self.clone();
        all.stir_all();
        assert!(!all.round(now, &mut Vec::new()), "a port was not stirred");
        if !self.rounds.is_multiple_of(64) {
            return;
        }
        // Nor does a selection among all ports find other roles.
        all.reselect();
        for tree in 0..self.trees.len() {
            let pending = &self.trees[tree].unselected;
            let known = (0..self.ports.len()).filter(|place| pending.next(*place) != Some(*place));
            let known: Vec<_> = known.collect();
            (0..self.ports.len()).for_each(|place| all.trees[tree].unselected.insert(place));
            all.select_roles(tree);
            for place in known {
                let selected = |of: &Self| {
                    let its = &of.ports[place].trees[tree];
                    (its.selected_role, its.update, its.designated)
                };
                assert_eq!(selected(&all), selected(self), "a port was not selected");
            }
        }
    }

    /// Protocol `none`: ports with a link forward.
    fn forward(&mut self, changed: &PortSet) {
        for place in changed.iter() {
            let port = &mut self.ports[place];
            let up = port.link.up;
            for tree in &mut port.trees {
                (tree.learning, tree.forwarding) = (up, up);
                tree.role = if up { Role::Designated } else { Role::Disabled };
            }
        }
    }

    /// Reports changed states of these ports to the owner.
    fn report_states(&mut self, changed: &PortSet, out: &mut Vec<Action>) {
        for place in changed.iter() {
            let port = &mut self.ports[place];
            for (at, tree) in port.trees.iter_mut().enumerate() {
                let (number, state) = (self.trees[at].number, tree.state());
                if tree.told != Some(state) {
                    if at == 0 {
                        let was = tree.told == Some(State::Forwarding);
                        port.counters.discarded += u64::from(was);
                        port.counters.forwarded += u64::from(state == State::Forwarding);
                    }
                    tree.told = Some(state);
                    out.push(Action::Become {
                        port: port.number,
                        tree: number,
                        state,
                    });
                }
                if core::mem::take(&mut tree.flush) {
                    out.push(Action::Flush {
                        port: port.number,
                        tree: number,
                    });
                }
            }
        }
    }
}

impl Port {
    /// Path cost: the configured one, else by speed.
    fn cost(&self, said: Option<u32>, mode: CostMode) -> u32 {
        said.unwrap_or_else(|| mode.cost(self.link.megabits)).max(1)
    }

    /// Port id and internal path cost in a tree.
    fn of_tree(&self, number: u16, mode: CostMode) -> (PortId, u32) {
        let config = &self.config;
        let (priority, cost) = config.overrides.get(&number).copied().unwrap_or_default();
        let id = PortId::new(priority.unwrap_or(config.priority), self.number);
        (id, self.cost(cost.or(config.internal_path_cost), mode))
    }
}

impl Machine for Bridge {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Configure(config) => self.configure(config),
            Event::Port(number, config) => self.configure_port(number, config),
            Event::PortWithLink(number, config, link) => {
                self.configure_port(number, config);
                self.change_link(number, link);
            }
            Event::PortGone(number) => {
                if let Some(place) = self.place(number) {
                    self.ports.remove(place);
                    self.schedule.port_removed(place);
                    let trees = self.trees.iter_mut().flat_map(Tree::port_sets);
                    trees.for_each(|places| places.port_removed(place));
                    self.reselect();
                    // A removed port may have been the last one that others waited for.
                    for tree in 0..self.trees.len() {
                        self.stir_waiting(tree);
                    }
                }
            }
            Event::Link(number, link) => self.change_link(number, link),
            Event::Unguard(number) => {
                if let Some(place) = self.place(number) {
                    self.ports[place].guarded = false;
                    self.stir(place);
                }
            }
            Event::Migrate(number) => {
                if let Some(place) = self.place(number) {
                    self.ports[place].mcheck = self.is_rapid();
                    self.stir(place);
                }
            }
            Event::Received(number, bytes) => self.receive(number, bytes, out),
        }
        self.settle(now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        let mut due = false;
        // After a long sleep the machines run once, not for each second.
        while let Some(next) = self.next_second
            && next <= now
        {
            due = true;
            let next = next + Duration::from_secs(1);
            self.next_second = Some(if next + Duration::from_secs(5) < now {
                now
            } else {
                next
            });
            let ports = self.ports.iter_mut().enumerate();
            for (place, port) in ports.filter(|(_, port)| port.is_enabled()) {
                port.count_down();
                self.schedule.add(place);
            }
            self.settle(now, out);
            if self.next_second == Some(now) {
                self.next_second = Some(now + Duration::from_secs(1));
            }
        }
        debug_assert!(!due || self.next_second.is_none_or(|next| next > now));
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        self.next_second.map(|next| (next, Timer::Second))
    }
}
