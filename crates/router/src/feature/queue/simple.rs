//! Simple queues: a packet waits in the first queue of the list that matches it, and in the
//! matching queue within that.
//!
//! Each queue changes on its own. Inner queues are built after their parent and removed before it.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use dataplane::queueing::{self, Change};
use frame::InterfaceId;
use queue::{Direction, Match, Order, PacketFields, Target};

use super::branch::{Branch, tell};
use super::read::{Side, Simple, SimpleTarget};
use super::{BranchInputs, DEEP, QueueRequest};
use crate::feature::{Effect, Effects};
use crate::intent::{ItemId, Name};

/// Position of the leaf for packets that match no inner queue: behind all inner queues.
const LAST: u64 = u64::MAX;

/// All simple queues.
#[derive(Debug, Default)]
pub(super) struct Simples {
    all: BTreeMap<ItemId, SimpleQueue>,
    by_name: BTreeMap<Name, ItemId>,
    /// Queues by the name of their parent.
    within: BTreeSet<(Name, ItemId)>,
    /// Queues by the interfaces that they name.
    near: BTreeSet<(Name, ItemId)>,
    /// Queues with `time=`.
    timed: BTreeSet<ItemId>,
    /// Number of queues that workers have.
    live: usize,
}

/// A simple queue.
#[derive(Debug)]
pub(super) struct SimpleQueue {
    settings: Simple,
    /// Its position in the list.
    position: u64,
    /// Upload, download and total branch; `None` while the queue is inactive.
    pub(super) branches: Option<[Option<Branch>; 3]>,
    /// The branches were built for a queue with inner queues.
    parts: bool,
    /// The queue is inactive because of `time=`.
    pub(super) rests: bool,
}

impl Simples {
    /// Whether workers have simple queues.
    pub(super) fn any(&self) -> bool {
        self.live > 0
    }

    pub(super) fn get(&self, id: ItemId) -> Option<&SimpleQueue> {
        self.all.get(&id)
    }

    /// Returns the queue of a packet and the packet's direction, by a walk of the list.
    pub(super) fn met(
        &self,
        seen: &PacketFields,
        matches: &dyn Fn(&Simple) -> Match,
    ) -> Option<(Direction, &Simple)> {
        let works = self.all.iter().filter(|(_, one)| one.branches.is_some());
        let way = |all: &[Match]| {
            let mut ways = [Direction::Down, Direction::Up].into_iter();
            ways.find(|way| all.iter().all(|one| one.takes(seen, *way)))
        };
        let takes = |(id, one): (&ItemId, _)| {
            let own: &SimpleQueue = one;
            // Skips the queue early if its own matchers fail.
            way(&[matches(&own.settings)])?;
            let above = self.above(*id);
            let all: Vec<_> = above.iter().map(|one| matches(&one.settings)).collect();
            Some((self.places(&above), way(&all)?, one))
        };
        let first = works
            .filter_map(takes)
            .min_by(|one, other| one.0.cmp(&other.0));
        first.map(|(_, way, one): (_, _, &SimpleQueue)| (way, &one.settings))
    }

    /// Returns the position of a queue; `above` is the path from the outermost queue to this one.
    fn places(&self, above: &[&SimpleQueue]) -> Order {
        let last = above.last().is_some_and(|one| one.parts).then_some(LAST);
        above.iter().map(|one| one.position).chain(last).collect()
    }

    /// Returns the node numbers of all queues with their names.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (u64, &Name)> {
        self.all.values().flat_map(|one| {
            let branches = one.branches.iter().flatten().flatten();
            branches.flat_map(|branch| branch.nodes().map(|node| (node, &one.settings.name)))
        })
    }

    /// Returns the bytes of at most `most` queues: named queues first, then all other queues if `all` is true.
    pub(super) fn totals<'a>(
        &self,
        named: impl Iterator<Item = &'a str>,
        all: bool,
        most: usize,
    ) -> Vec<(String, [u64; 2])> {
        let named = named.filter_map(|name| self.by_name.get(name).copied());
        let others = self.all.keys().copied().filter(|_| all);
        let mut chosen = BTreeSet::new();
        chosen.extend(named.take(most));
        chosen.extend(others.take(most - chosen.len()));
        let total = |id: ItemId| {
            let one = self.all.get(&id)?;
            let bytes = |at: usize| {
                let branches = one.branches.as_ref()?;
                Some(branches[at].as_ref()?.node.counts().bytes)
            };
            let both = [0, 1].map(|at| bytes(at).unwrap_or(0));
            Some((one.settings.name.to_string(), both))
        };
        chosen.into_iter().filter_map(total).collect()
    }

    /// Returns true if an address is in a target network of the queue with this name.
    pub(super) fn is_target(&self, name: &str, address: IpAddr) -> bool {
        let queue = self.by_name.get(name).and_then(|id| self.all.get(id));
        let (ipv6, bits) = match address.to_canonical() {
            IpAddr::V4(address) => (false, u128::from(u32::from(address))),
            IpAddr::V6(address) => (true, address.into()),
        };
        queue.is_some_and(|queue| {
            let mut targets = queue.settings.targets.iter();
            targets.any(|target| match target {
                SimpleTarget::Network(network) => network.covers(ipv6, bits, 0),
                SimpleTarget::Interface(_) => false,
            })
        })
    }

    pub(super) fn branches(&mut self) -> impl Iterator<Item = (&ItemId, &mut Branch)> {
        let all = self.all.iter_mut();
        all.flat_map(|(id, one)| {
            one.branches
                .iter_mut()
                .flatten()
                .flatten()
                .map(move |branch| (id, branch))
        })
    }

    /// Adds or changes an item.
    pub(super) fn put(
        &mut self,
        id: ItemId,
        settings: Simple,
        position: u64,
        ground: &mut BranchInputs<'_>,
        out: &mut Effects,
    ) {
        let place = |one: &Simple| (one.name.clone(), one.disabled, one.parent.clone(), one.time);
        let is_same =
            { self.all.get(&id) }.is_some_and(|one| place(&one.settings) == place(&settings));
        if is_same {
            return self.refresh(id, settings, position, ground, out);
        }
        self.take_away(id, ground, out);
        self.by_name.insert(settings.name.clone(), id);
        if settings.time.is_some() {
            self.timed.insert(id);
        }
        self.within
            .extend(settings.parent.clone().map(|parent| (parent, id)));
        self.near
            .extend(interfaces(&settings).map(|name| (name, id)));
        let rests = !settings.is_on(&ground.clock);
        let one = SimpleQueue {
            settings,
            position,
            branches: None,
            parts: false,
            rests,
        };
        self.all.insert(id, one);
        self.begin(id, ground, out);
    }

    /// Removes an item.
    pub(super) fn take_away(
        &mut self,
        id: ItemId,
        ground: &mut BranchInputs<'_>,
        out: &mut Effects,
    ) {
        self.end(id, out);
        self.timed.remove(&id);
        let Some(one) = self.all.remove(&id) else {
            return;
        };
        let settings = one.settings;
        if self.by_name.get(&settings.name) == Some(&id) {
            self.by_name.remove(&settings.name);
        }
        for name in interfaces(&settings) {
            self.near.remove(&(name, id));
        }
        if let Some(parent) = settings.parent {
            self.within.remove(&(parent, id));
        }
        _ = ground;
    }

    /// Rebuilds the queues that name an interface which changed or went.
    pub(super) fn moved(&mut self, name: &Name, ground: &mut BranchInputs<'_>, out: &mut Effects) {
        for id in of(&self.near, name) {
            self.end(id, out);
            self.begin(id, ground, out);
        }
    }

    /// Whether some queues have `time=`.
    pub(super) fn any_timed(&self) -> bool {
        !self.timed.is_empty()
    }

    /// Activates and deactivates queues with `time=`.
    pub(super) fn keep_time(&mut self, ground: &mut BranchInputs<'_>, out: &mut Effects) {
        for id in self.timed.clone() {
            let Some(one) = self.all.get_mut(&id) else {
                continue;
            };
            one.rests = !one.settings.is_on(&ground.clock);
            match one.rests {
                true => self.end(id, out),
                false => self.begin(id, ground, out),
            }
        }
    }

    /// Applies a changed queue type.
    pub(super) fn retyped(
        &mut self,
        name: &Name,
        ground: &mut BranchInputs<'_>,
        out: &mut Effects,
    ) {
        let has = |one: &SimpleQueue| one.settings.sides.iter().any(|side| side.kind == *name);
        let with = self
            .all
            .iter()
            .filter(|(_, one)| has(one))
            .map(|(id, _)| *id);
        for id in with.collect::<Vec<_>>() {
            self.wait_as_said(id, ground, out);
        }
    }

    /// Changes limits, position or matchers of a queue whose place in the hierarchy is unchanged.
    fn refresh(
        &mut self,
        id: ItemId,
        settings: Simple,
        position: u64,
        ground: &mut BranchInputs<'_>,
        out: &mut Effects,
    ) {
        let Some(one) = self.all.get_mut(&id) else {
            return;
        };
        let before = core::mem::replace(&mut one.settings, settings);
        let was = core::mem::replace(&mut one.position, position);
        let now = &one.settings;
        let sees = |one: &Simple| (one.targets.clone(), one.peer.clone(), one.marks.clone());
        let sees_others = sees(&before) != sees(now);
        let total = |one: &Simple| is_limited(&one.sides[2]);
        let rebuilds = total(&before) != total(now) || sees_others && one.branches.is_none();
        for name in interfaces(&before) {
            self.near.remove(&(name, id));
        }
        self.near.extend(interfaces(now).map(|name| (name, id)));
        if rebuilds || sees_others && !self.is_complete(id, ground) {
            self.end(id, out);
            return self.begin(id, ground, out);
        }
        let Some(one) = self.all.get_mut(&id) else {
            return;
        };
        for (branch, side) in one.branches.iter().flatten().zip(&one.settings.sides) {
            if let Some(branch) = branch {
                branch.node.set(&side.limits);
            }
        }
        self.wait_as_said(id, ground, out);
        if sees_others || was != position {
            self.emit_all(id, ground, out);
        }
    }

    /// Applies the queue types of the queue's sides.
    fn wait_as_said(&mut self, id: ItemId, ground: &BranchInputs<'_>, out: &mut Effects) {
        let Some(one) = self.all.get_mut(&id) else {
            return;
        };
        let sides = one.settings.sides.clone();
        let mut others = false;
        for (branch, side) in one.branches.iter_mut().flatten().zip(sides) {
            let branch = branch.as_mut();
            others |= branch.is_some_and(|branch| branch.wait_in(&ground.kind(&side.kind), out));
        }
        if others {
            self.emit(id, ground, out);
        }
    }

    /// Whether the queue is enabled, has targets, is active by time, and all its interfaces exist.
    fn is_complete(&self, id: ItemId, ground: &BranchInputs<'_>) -> bool {
        let Some(SimpleQueue { settings, .. }) = self.all.get(&id) else {
            return false;
        };
        !settings.disabled
            && !settings.targets.is_empty()
            && settings.is_on(&ground.clock)
            && interfaces(settings).all(|name| ground.interfaces.contains_key(&name))
    }

    /// Builds a queue and its inner queues, if the queue can be active.
    fn begin(&mut self, id: ItemId, ground: &mut BranchInputs<'_>, out: &mut Effects) {
        let Some(one) = self.all.get(&id).filter(|one| one.branches.is_none()) else {
            return;
        };
        if !self.is_complete(id, ground) || self.above(id).len() > DEEP {
            return;
        }
        let mut parent = None;
        if let Some(name) = &one.settings.parent {
            let above = self.by_name.get(name).copied();
            let Some((above, built)) = above.and_then(|above| Some((above, self.all.get(&above)?)))
            else {
                return;
            };
            let Some(branches) = &built.branches else {
                return;
            };
            if !built.parts {
                // Rebuilds the parent as a queue with inner queues; this builds the present queue,
                // too.
                self.end(above, out);
                return self.begin(above, ground, out);
            }
            parent = Some(branches);
        }
        let name = one.settings.name.clone();
        let inner = of(&self.within, &name);
        let parts = inner.iter().any(|id| self.is_complete(*id, ground));
        let sides = one.settings.sides.clone();
        let mut at = 0;
        let branches = sides.each_ref().map(|side| {
            let above = parent.and_then(|parent| parent[at].as_ref());
            let wanted = at < 2 || is_limited(side) || above.is_some();
            at += 1;
            let kind = ground.kind(&side.kind);
            wanted.then(|| Branch::new(ground.numbers, above, side, Some(&kind), parts))
        });
        if let Some(one) = self.all.get_mut(&id) {
            (one.branches, one.parts) = (Some(branches), parts);
            self.live += 1;
        }
        self.emit(id, ground, out);
        for id in inner {
            self.begin(id, ground, out);
        }
    }

    /// Removes a queue from the workers, inner queues first.
    fn end(&mut self, id: ItemId, out: &mut Effects) {
        let Some(one) = self.all.get(&id).filter(|one| one.branches.is_some()) else {
            return;
        };
        for inner in of(&self.within, &one.settings.name.clone()) {
            self.end(inner, out);
        }
        tell(out, Change::NoSimple(id));
        let branches = { self.all.get_mut(&id) }.and_then(|one| one.branches.take());
        for branch in branches.iter().flatten().flatten() {
            branch.end(out);
        }
        self.live -= 1;
    }

    /// Returns the path from the outermost queue to this one.
    fn above(&self, id: ItemId) -> Vec<&SimpleQueue> {
        let mut all = Vec::new();
        let mut next = self.all.get(&id);
        while let Some(one) = next {
            all.push(one);
            let parent = one
                .settings
                .parent
                .as_ref()
                .filter(|_| all.len() <= DEEP + 1);
            let parent = parent.and_then(|name| self.by_name.get(name));
            next = parent.and_then(|id| self.all.get(id));
        }
        all.reverse();
        all
    }

    /// Sends a queue and all its inner queues to the workers.
    fn emit_all(&self, id: ItemId, ground: &BranchInputs<'_>, out: &mut Effects) {
        self.emit(id, ground, out);
        if let Some(one) = self.all.get(&id) {
            for inner in of(&self.within, &one.settings.name) {
                self.emit_all(inner, ground, out);
            }
        }
    }

    fn emit(&self, id: ItemId, ground: &BranchInputs<'_>, out: &mut Effects) {
        let Some(one) = self.all.get(&id) else { return };
        let Some(branches) = &one.branches else {
            return;
        };
        let above = self.above(id);
        let outer = &above[..above.len().saturating_sub(1)];
        let [up, down, total] = branches.each_ref().map(|branch| {
            let branch = branch.as_ref();
            branch.and_then(|branch| branch.leaf.clone())
        });
        out.push(Effect::Queues(QueueRequest::Change {
            change: Change::Simple {
                id,
                order: self.places(&above),
                matches: matches(ground.interfaces, &one.settings),
                within: outer
                    .iter()
                    .map(|one| matches(ground.interfaces, &one.settings))
                    .collect(),
                queue: queueing::Simple { up, down, total },
            },
            marks: one.settings.marks.clone(),
            within: outer.iter().map(|one| one.settings.marks.clone()).collect(),
        }));
    }
}

/// Returns the matcher of a queue, without packet marks.
pub(super) fn matches(interfaces: &BTreeMap<Name, InterfaceId>, settings: &Simple) -> Match {
    let target = |whom: &SimpleTarget| match whom {
        SimpleTarget::Network(target) => Some(*target),
        SimpleTarget::Interface(name) => Some(Target::Interface(interfaces.get(name)?.0)),
    };
    Match {
        targets: settings.targets.iter().filter_map(target).collect(),
        peer: settings.peer.as_ref().and_then(target),
        marks: Vec::new(),
    }
}

/// Returns the interfaces that a queue names.
fn interfaces(settings: &Simple) -> impl Iterator<Item = Name> {
    let all = settings.targets.iter().chain(&settings.peer);
    all.filter_map(|whom| match whom {
        SimpleTarget::Interface(name) => Some(name.clone()),
        SimpleTarget::Network(_) => None,
    })
}

fn is_limited(side: &Side) -> bool {
    side.limits.max_limit > 0 || side.limits.limit_at > 0
}

/// Returns the items stored under a name.
pub(super) fn of(set: &BTreeSet<(Name, ItemId)>, name: &Name) -> Vec<ItemId> {
    let range = set.range((name.clone(), ItemId::MIN)..=(name.clone(), ItemId::MAX));
    range.map(|(_, id)| *id).collect()
}
