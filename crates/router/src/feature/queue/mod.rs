//! Queues, `/queue`: rate limits and queue disciplines.
//!
//! ```text
//! items ──read──▶ simple.rs, tree.rs: the hierarchy ──▶ branch.rs: nodes and leaves ──Effect::Queues──▶ workers
//! interfaces ──lay_out──▶ ids of interface names; interfaces with queues (QueueRequest::Before)
//! ```
//! Every change goes to all workers. Nodes are shared with them, so that control reads their counters.

mod branch;
mod dynamic;
mod read;
mod request;
mod show;
mod simple;
#[cfg(test)]
mod tests;
mod tree;

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use dataplane::rule::Clock;
use frame::InterfaceId;
use machine::Instant;
use menu::{Call, Changes, Id, Menu, Reason, Reply, Row};
use queue::{Direction, Fifo, Kind, Match, PacketFields};

use self::branch::{LOOK, Numbers};
pub(crate) use self::dynamic::queue_limits;
pub(crate) use self::request::QueueRequest;
use self::simple::Simples;
use self::tree::Trees;
use super::{Effect, Effects, Feature, View, each_item};
use crate::clock::DayClock;
use crate::intent::{ItemId, Name};
use crate::object::DynamicQueue;
use crate::running::Running;

const SIMPLE: &str = "/queue/simple";
const TREE: &str = "/queue/tree";
const TYPE: &str = "/queue/type";
const INTERFACE: &str = "/queue/interface";
/// Maximum nesting of queues, the outermost included. Workers support one level more.
const DEEP: usize = 7;

/// All queues of `/queue`, and dynamic simple queues.
#[derive(Debug)]
pub(crate) struct Queues {
    simple: Simples,
    trees: Trees,
    types: BTreeMap<Name, Kind>,
    type_names: BTreeMap<u64, Name>,
    interface_names: BTreeMap<u64, Name>,
    interfaces: BTreeMap<Name, InterfaceId>,
    named: BTreeMap<InterfaceId, Name>,
    numbers: Numbers,
    /// Control knows that packets pass queues.
    told: bool,
    /// Time of the next rate computation.
    look: Option<Instant>,
    /// Dynamic simple queues, by object id.
    dynamic: BTreeMap<ItemId, DynamicQueue>,
    /// The time of day, for queues with `time=`.
    clock: DayClock,
}

/// Inputs for building a branch: queue types, interfaces and node numbers.
#[derive(Debug)]
struct BranchInputs<'a> {
    types: &'a BTreeMap<Name, Kind>,
    interfaces: &'a BTreeMap<Name, InterfaceId>,
    numbers: &'a mut Numbers,
    /// The present time for `time=` matchers.
    clock: Clock,
}

impl BranchInputs<'_> {
    /// Returns the discipline of a queue type.
    fn kind(&self, name: &Name) -> Kind {
        self.types.get(name).cloned().unwrap_or_else(usual)
    }
}

/// Returns the name of the default queue type.
fn usual_name() -> Name {
    Name::from("default-small")
}

/// Returns the discipline of `default-small`.
fn usual() -> Kind {
    Kind::Fifo(Fifo {
        packets: 10,
        bytes: u64::MAX,
    })
}

/// Borrows the fields that form a [`BranchInputs`], so that other fields of the feature stay mutable.
macro_rules! ground {
    ($of:ident) => {
        &mut BranchInputs {
            types: &$of.types,
            interfaces: &$of.interfaces,
            numbers: &mut $of.numbers,
            clock: Clock::at(Instant::ZERO, $of.clock.local_seconds()),
        }
    };
}

impl Queues {
    /// Returns an instance without queues.
    pub(crate) fn new(clock: DayClock) -> Self {
        Self {
            simple: Simples::default(),
            trees: Trees::default(),
            types: BTreeMap::new(),
            type_names: BTreeMap::new(),
            interface_names: BTreeMap::new(),
            interfaces: BTreeMap::new(),
            named: BTreeMap::new(),
            numbers: Numbers::default(),
            told: false,
            look: None,
            dynamic: BTreeMap::new(),
            clock,
        }
    }

    /// Sets the number of workers that trees are spread over.
    pub(crate) fn set_workers(&mut self, workers: usize) {
        self.numbers.workers = u16::try_from(workers).unwrap_or(1);
    }

    /// Returns the names of the queues by the numbers of their nodes.
    pub(crate) fn node_names(&self, keys: &BTreeSet<u64>) -> BTreeMap<u64, String> {
        let names = self.simple.nodes().chain(self.trees.nodes());
        let named = names.filter(|(node, _)| keys.contains(node));
        named.map(|(node, name)| (node, name.to_string())).collect()
    }

    /// Returns the bytes that simple queues passed since the start (upload, download), of at most `most` queues: those
    /// with these names, then others if `all` is true.
    pub(crate) fn totals<'a>(
        &self,
        named: impl Iterator<Item = &'a str>,
        all: bool,
        most: usize,
    ) -> Vec<(String, [u64; 2])> {
        self.simple.totals(named, all, most)
    }

    /// Returns true if a client is a target of the simple queue with this name.
    pub(crate) fn is_target(&self, name: &str, client: IpAddr) -> bool {
        self.simple.is_target(name, client)
    }

    /// Describes the queues that a packet passes, in order. `egress` is the egress interface of
    /// forwarded and sent packets; packets of FastTrack only pass the queues of this interface.
    /// `number` returns the number of a named mark.
    pub(crate) fn met(
        &self,
        seen: &PacketFields,
        egress: Option<InterfaceId>,
        is_fasttracked: bool,
        number: &dyn Fn(&str) -> Option<u32>,
    ) -> Vec<String> {
        let mut said = Vec::new();
        let has = |marks: &[Name]| marks.iter().any(|mark| number(mark) == Some(seen.mark));
        let tree = |what: &str, tree: &read::Tree| {
            format!("{what} {}: {}", tree.name, show::limits(&tree.side.limits))
        };
        if !is_fasttracked {
            said.extend(
                self.trees
                    .met(None, &has)
                    .map(|met| tree("queue tree of global", met)),
            );
            let matches = |one: &read::Simple| {
                let marks = one
                    .marks
                    .iter()
                    .map(|mark| number(mark).unwrap_or(u32::MAX));
                Match {
                    marks: marks.collect(),
                    ..simple::matches(&self.interfaces, one)
                }
            };
            if let Some((way, one)) = self.simple.met(seen, &matches) {
                let (way, side) = match way {
                    Direction::Up => ("upload", &one.sides[0]),
                    Direction::Down => ("download", &one.sides[1]),
                };
                said.push(format!(
                    "simple queue {}, {way}: {}",
                    one.name,
                    show::limits(&side.limits)
                ));
            }
        }
        let own = egress.and_then(|egress| self.trees.met(Some(egress), &has));
        said.extend(own.map(|met| tree("queue tree of the interface", met)));
        said
    }

    fn follow_types(&mut self, view: &View<'_>, changes: Option<&Changes>) -> BTreeSet<Name> {
        let mut others = BTreeSet::new();
        each_item(view, TYPE, changes, |id, item| {
            others.extend(self.type_names.remove(&id));
            if let Some(name) = item.and_then(|item| item.name()) {
                let name = Name::from(name);
                self.type_names.insert(id, name.clone());
                others.insert(name);
            }
        });
        for name in &others {
            let item = view.store.named("queue-type", name);
            match item {
                Some(item) => self.types.insert(name.clone(), read::kind(item)),
                None => self.types.remove(name),
            };
        }
        others
    }

    fn follow_interfaces(&mut self, view: &View<'_>, changes: Option<&Changes>) {
        each_item(view, INTERFACE, changes, |id, item| {
            if let Some(name) = self.interface_names.remove(&id) {
                self.trees.set_type(name, None);
            }
            let said = item.and_then(|item| {
                let kind = item.text("queue");
                Some((crate::read::name(item, "interface")?, Name::from(kind)))
            });
            if let Some((name, kind)) = said {
                self.interface_names.insert(id, name.clone());
                self.trees.set_type(name, Some(kind));
            }
        });
    }

    /// Removes the queues that a load no longer contains.
    fn forget_gone(&mut self, view: &View<'_>, out: &mut Effects) {
        let is_gone = |path: &str, id: &u64| view.store.item(path, Id(*id)).is_none();
        let simple: BTreeSet<_> = self.simple.branches().map(|(id, _)| *id).collect();
        let simple = simple
            .into_iter()
            .filter(|id| !self.dynamic.contains_key(id));
        for id in simple.filter(|id| is_gone(SIMPLE, id)).collect::<Vec<_>>() {
            self.simple.take_away(id, ground!(self), out);
        }
        let trees: BTreeSet<_> = self.trees.branches().map(|(id, _)| *id).collect();
        for id in trees.into_iter().filter(|id| is_gone(TREE, id)) {
            self.trees.take_away(id, out);
        }
    }

    /// Reports whether packets pass queues, and sets the time of the next rate computation.
    fn settle(&mut self, now: Instant, out: &mut Effects) {
        self.trees.settle(ground!(self), out);
        let any = self.simple.any() || self.trees.any_global();
        if core::mem::replace(&mut self.told, any) != any {
            out.push(Effect::Queues(QueueRequest::Packets(any)));
        }
        self.look = match any || self.trees.any() || self.simple.any_timed() {
            true => Some(self.look.unwrap_or(now + LOOK)),
            false => None,
        };
    }
}

impl Feature for Queues {
    fn name(&self) -> &'static str {
        "queue"
    }

    fn menus(&self) -> &'static [&'static str] {
        &[SIMPLE, TREE, TYPE, INTERFACE]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        if changes.is_none() {
            self.forget_gone(view, out);
        }
        for name in self.follow_types(view, changes) {
            self.simple.retyped(&name, ground!(self), out);
            self.trees.retyped(&name, ground!(self), out);
        }
        self.follow_interfaces(view, changes);
        each_item(view, SIMPLE, changes, |id, item| {
            match item.and_then(|item| Some((read::simple(item)?, item.position()))) {
                Some((settings, position)) => {
                    self.simple.put(id, settings, position, ground!(self), out);
                }
                None => self.simple.take_away(id, ground!(self), out),
            }
        });
        each_item(view, TREE, changes, |id, item| {
            match item.and_then(read::tree) {
                Some(settings) => self.trees.put(id, settings, ground!(self), out),
                None => self.trees.take_away(id, out),
            }
        });
        self.settle(view.now, out);
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        let mut names = BTreeSet::new();
        for id in others {
            let now = running
                .layout
                .interfaces
                .get(id)
                .map(|laid| laid.name.clone());
            let now = now.filter(|name| running.layout.by_name.get(name) == Some(id));
            if self.named.get(id) == now.as_ref() {
                continue;
            }
            if let Some(before) = self.named.remove(id) {
                if self.interfaces.get(&before) == Some(id) {
                    self.interfaces.remove(&before);
                }
                names.insert(before);
            }
            if let Some(name) = now {
                self.named.insert(*id, name.clone());
                self.interfaces.insert(name.clone(), *id);
                names.insert(name);
            }
        }
        if names.is_empty() {
            return;
        }
        for name in names {
            self.simple.moved(&name, ground!(self), out);
            self.trees.moved(&name, ground!(self), out);
        }
        self.settle(running.now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        if self.look.is_some_and(|at| at <= now) {
            self.look = Some(now + LOOK);
            let simple = self.simple.branches().map(|(_, branch)| branch);
            simple.for_each(|branch| branch.look(now));
            let trees = self.trees.branches().map(|(_, branch)| branch);
            trees.for_each(|branch| branch.look(now));
            self.simple.keep_time(ground!(self), out);
            self.settle(now, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.look
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        match menu.path {
            SIMPLE => show::simple(self.simple.get(id.0), row),
            TREE => show::tree(self.trees.get(id.0), row),
            INTERFACE => {
                let name = row.get("interface").and_then(|name| name.as_str());
                let active = name.and_then(|name| self.trees.active(name));
                if let Some(active) = active {
                    row.set("active-queue", menu::Value::text(active));
                }
            }
            _ => {}
        }
    }

    fn act(&mut self, _: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        let all = match call.command {
            "reset-counters" => false,
            "reset-counters-all" => true,
            _ => return None,
        };
        let is_meant = |id: &u64| all || call.items.contains(&Id(*id));
        let reset = |(id, branch): (&u64, &mut branch::Branch)| {
            if is_meant(id) {
                branch.reset();
            }
        };
        match call.menu.path {
            SIMPLE => self.simple.branches().for_each(reset),
            TREE => self.trees.branches().for_each(reset),
            _ => return None,
        }
        Some(Ok(Reply::default()))
    }
}
