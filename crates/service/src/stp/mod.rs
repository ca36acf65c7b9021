//! Spanning tree of one bridge: STP, RSTP and MSTP (IEEE 802.1Q-2018, clause 13), as a machine.
//!
//! ```text
//! BPDU ─▶ receive ─▶ information ─▶ selection ─▶ transitions ─▶ State, Flush
//!           │        (what a port     (role of     (may it        │
//!       migration     knows)           each port)   forward?)     ▼
//!       edge                                        topology ─▶ transmit ─▶ Send
//! ```
//!
//! The standard's machines are files and functions here, their variables fields of `port.rs`, both under the
//! standard's names. A machine's state is kept only where its variables do not say it. After an event all
//! machines run until none has anything to do ([`Bridge::settle`]). Timers count seconds, as the standard's do.
//!
//! RSTP is MSTP with one tree, each bridge a region of its own; STP is RSTP that sends configuration BPDUs.

mod config;
mod information;
mod migration;
mod port;
mod receive;
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
use port::{Port, TreePort};
pub use vector::{Times, Vector};

/// How often the machines are run for an event at most: they settle long before.
const ROUNDS: usize = 10_000;
/// Seconds between BPDUs (`BridgeHelloTime`, table 13-5).
const HELLO: u16 = 2;
/// Seconds after which a port asks whether its neighbour speaks RSTP (`MigrateTime`).
const MIGRATE: u16 = 3;

/// A bridge's spanning tree. It has no port at first.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub struct Bridge {
    config: Config,
    region: Region,
    trees: Vec<Tree>,
    /// In the order of their numbers.
    ports: Vec<Port>,
    next_second: Option<Instant>,
    /// How often the machines ran.
    rounds: u64,
    unsettled: u64,
    changes: u64,
    changed_at: Option<Instant>,
}

/// A tree: the common one, or an instance.
#[derive(Clone, Debug)]
struct Tree {
    /// 0 for the common one.
    number: u16,
    bridge: BridgeId,
    /// The bridge's way to the root.
    root: Vector,
    root_times: Times,
    root_port: PortId,
}

/// What happens to a bridge.
#[derive(Debug)]
pub enum Event<'a> {
    /// It is configured anew.
    Configure(Config),
    /// A port comes, or is configured anew; its number is 1 to 4095.
    Port(u16, PortConfig),
    /// A port comes, or is configured anew, and its link is known: [`Self::Port`] and [`Self::Link`] at once.
    PortWithLink(u16, PortConfig, Link),
    /// A port goes.
    PortGone(u16),
    /// A port's link is so from now on.
    Link(u16, Link),
    /// What a guarded port was shut for is forgotten.
    Unguard(u16),
    /// A port asks anew whether its neighbour speaks RSTP (`mcheck`).
    Migrate(u16),
    /// A BPDU arrived by a port: what follows the LLC header.
    Received(u16, &'a [u8]),
}

/// What a bridge wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a BPDU out of a port, behind an LLC header.
    Send {
        /// The port.
        port: u16,
        /// The BPDU.
        bpdu: Vec<u8>,
    },
    /// A port does this in a tree from now on.
    Become {
        /// The port.
        port: u16,
        /// The tree's number; 0 is the common one.
        tree: u16,
        /// What it does.
        state: State,
    },
    /// Forget what was learnt at a port, in a tree.
    Flush {
        /// The port.
        port: u16,
        /// The tree's number.
        tree: u16,
    },
    /// A port was shut: a BPDU came in where `bpdu-guard` forbids one.
    Guarded {
        /// The port.
        port: u16,
    },
}

/// What the only timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A second is over.
    Second,
}

/// What a bridge knows of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeView {
    /// The bridge in it.
    pub bridge: BridgeId,
    /// Its way to the root.
    pub root: Vector,
    /// The port that leads there; none if this bridge is the root.
    pub root_port: Option<u16>,
}

/// What a bridge knows of a port in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortView {
    /// Its id.
    pub id: PortId,
    /// Its role.
    pub role: Role,
    /// What it does.
    pub state: State,
    /// It leads to hosts alone.
    pub edge: bool,
    /// At most one bridge is behind it.
    pub point_to_point: bool,
    /// It speaks RSTP.
    pub sends_rstp: bool,
    /// It was shut by a BPDU.
    pub guarded: bool,
    /// What the way through it costs, outside of the region.
    pub cost: u32,
    /// The same within.
    pub internal_cost: u32,
    /// What is known there: the designated bridge, its port and its way to the root.
    pub designated: Vector,
    /// What it sent and received.
    pub counters: Counters,
}

impl Bridge {
    /// A bridge with this configuration.
    pub fn new(config: Config) -> Self {
        let mut bridge = Self {
            region: config.region(),
            config,
            trees: Vec::new(),
            ports: Vec::new(),
            next_second: None,
            rounds: 0,
            unsettled: 0,
            changes: 0,
            changed_at: None,
        };
        bridge.begin();
        bridge
    }

    /// What it knows of a tree.
    pub fn tree(&self, number: u16) -> Option<TreeView> {
        let tree = self.trees.iter().find(|tree| tree.number == number)?;
        Some(TreeView {
            bridge: tree.bridge,
            root: tree.root,
            root_port: (tree.root_port != PortId::default()).then(|| tree.root_port.number()),
        })
    }

    /// What it knows of a port in a tree.
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

    /// How often the topology changed, and when last.
    pub fn topology_changes(&self) -> (u64, Option<Instant>) {
        (self.changes, self.changed_at)
    }

    /// How often the machines did not settle: never, if they are right.
    pub fn unsettled(&self) -> u64 {
        self.unsettled
    }

    fn place(&self, number: u16) -> Option<usize> {
        self.ports
            .binary_search_by_key(&number, |port| port.number)
            .ok()
    }

    /// Whether it speaks RSTP or MSTP (`rstpVersion`).
    fn is_rapid(&self) -> bool {
        self.config.protocol >= Protocol::Rstp
    }

    /// The times that this bridge would have as the root.
    fn own_times(&self) -> Times {
        Times {
            message_age: 0,
            max_age: self.config.max_age,
            hello: HELLO,
            forward_delay: self.config.forward_delay,
            hops: self.config.max_hops,
        }
    }

    /// Begins all machines anew.
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
                }
            })
            .collect();
        for place in 0..self.ports.len() {
            self.begin_port(place);
        }
    }

    /// Begins the machines of a port anew.
    fn begin_port(&mut self, place: usize) {
        let (times, cost_mode) = (self.own_times(), self.config.cost_mode);
        let rapid = self.is_rapid();
        self.stir(place);
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
            port.trees[place].begin((id, cost), times);
        }
        port.external_cost = port.cost(port.config.path_cost, cost_mode);
        self.reselect();
    }

    /// All roles are to be selected anew.
    fn reselect(&mut self) {
        for port in &mut self.ports {
            for tree in &mut port.trees {
                (tree.reselect, tree.selected) = (true, false);
            }
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
        self.stir(place);
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
        self.reselect();
    }

    /// Runs all machines until none has anything to do, and tells the owner what came of it.
    fn settle(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.config.protocol == Protocol::None {
            self.forward_all();
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
        }
        self.tell(out);
        let any = self.config.protocol != Protocol::None
            && self.ports.iter().any(|port| port.is_enabled());
        match any {
            true => {
                self.next_second.get_or_insert(now + Duration::from_secs(1));
            }
            false => self.next_second = None,
        }
    }

    /// The machines of a port run in this round and the next: something that they look at has changed.
    fn stir(&mut self, place: usize) {
        self.ports[place].runs_until = self.rounds + 1;
    }

    fn stir_all(&mut self) {
        for port in &mut self.ports {
            port.runs_until = self.rounds + 1;
        }
    }

    /// Runs each machine once that may have something to do. Returns whether one did anything.
    fn round(&mut self, now: Instant, out: &mut Vec<Action>) -> bool {
        self.rounds += 1;
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

    /// Runs a machine of each port that was stirred. Returns whether one did anything; that port is stirred again.
    fn run(&mut self, mut machine: impl FnMut(&mut Self, usize) -> bool) -> bool {
        let mut busy = false;
        for place in 0..self.ports.len() {
            if self.ports[place].runs_until >= self.rounds && machine(self, place) {
                self.stir(place);
                busy = true;
            }
        }
        busy
    }

    /// Stirs the ports whose next step depends on what other ports do.
    fn stir_waiting(&mut self, tree: usize) {
        for port in &mut self.ports {
            if port.trees[tree].looks_at_others() {
                port.runs_until = self.rounds + 1;
            }
        }
    }

    /// No machine of any port has anything to do, whether it was stirred or not.
    #[cfg(test)]
    fn assert_settled(&self, now: Instant) {
        let mut all = self.clone();
        all.stir_all();
        assert!(!all.round(now, &mut Vec::new()), "a port was not stirred");
    }

    /// Without a protocol, whatever has a link forwards.
    fn forward_all(&mut self) {
        for port in &mut self.ports {
            let up = port.link.up;
            for tree in &mut port.trees {
                (tree.learning, tree.forwarding) = (up, up);
                tree.role = if up { Role::Designated } else { Role::Disabled };
            }
        }
    }

    /// Tells the owner what ports do now that did something else.
    fn tell(&mut self, out: &mut Vec<Action>) {
        for port in &mut self.ports {
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
    /// What the way through it costs, if it is not said.
    fn cost(&self, said: Option<u32>, mode: CostMode) -> u32 {
        said.unwrap_or_else(|| mode.cost(self.link.megabits)).max(1)
    }

    /// Its id and internal cost in a tree.
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
                    self.reselect();
                    // A port may have waited for this one alone.
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
        // After a long sleep the machines are not run for each second of it.
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
            for port in self.ports.iter_mut().filter(|port| port.is_enabled()) {
                port.count_down();
                port.runs_until = self.rounds + 1;
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
