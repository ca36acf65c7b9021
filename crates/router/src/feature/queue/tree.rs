//! Queue trees (`/queue/tree`), and the queue of each interface (`/queue/interface`).

use std::collections::{BTreeMap, BTreeSet};

use dataplane::queueing::Change;
use frame::InterfaceId;
use queue::Leaf;

use super::branch::{Branch, tell};
use super::read::{Side, Tree};
use super::simple::of;
use super::{BranchInputs, DEEP, QueueRequest};
use crate::feature::{Effect, Effects};
use crate::intent::{ItemId, Name};

/// Id of the leaf of an interface without a tree: above the ids of items.
const OWN: u64 = 1 << 62;

/// Attachment point of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Root {
    Global,
    Interface(Name, InterfaceId),
}

/// All queue trees, and the queues of interfaces without trees.
#[derive(Debug, Default)]
pub(super) struct Trees {
    all: BTreeMap<ItemId, TreeQueue>,
    by_name: BTreeMap<Name, ItemId>,
    /// Queues by the name of their parent: a queue or an interface.
    within: BTreeSet<(Name, ItemId)>,
    /// Number of active trees of each interface, and at `global`.
    roots: BTreeMap<Name, usize>,
    global: usize,
    /// Queue type of each interface in `/queue/interface`.
    types: BTreeMap<Name, Name>,
    /// Queues of interfaces without a tree whose type shapes.
    own: BTreeMap<Name, InterfaceQueue>,
    /// Interfaces that the layout knows to have queues.
    queued: BTreeSet<Name>,
    /// Interfaces whose type or tree changed since [`Self::settle`].
    unsettled: BTreeSet<Name>,
}

/// The queue of an interface without a tree.
#[derive(Debug)]
struct InterfaceQueue {
    interface: InterfaceId,
    /// Name of its queue type.
    kind: Name,
    branch: Branch,
}

impl InterfaceQueue {
    fn end(self, out: &mut Effects) {
        tell(out, Change::NoLeaf(self.interface, OWN));
        self.branch.end(out);
    }
}

/// A queue of a tree.
#[derive(Debug)]
pub(super) struct TreeQueue {
    settings: Tree,
    pub(super) branch: Option<Branch>,
    root: Root,
    parts: bool,
}

impl Trees {
    /// Whether a tree at `global` is active.
    pub(super) fn any_global(&self) -> bool {
        self.global > 0
    }

    pub(super) fn get(&self, id: ItemId) -> Option<&TreeQueue> {
        self.all.get(&id)
    }

    /// Returns the node numbers of all queues with their names.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (u64, &Name)> {
        self.all.values().flat_map(|one| {
            let branches = one.branch.iter();
            branches.flat_map(|branch| branch.nodes().map(|node| (node, &one.settings.name)))
        })
    }

    pub(super) fn branches(&mut self) -> impl Iterator<Item = (&ItemId, &mut Branch)> {
        let all = self.all.iter_mut();
        all.filter_map(|(id, one)| Some((id, one.branch.as_mut()?)))
    }

    /// Returns the queue for a packet at `global` (`at` is `None`) or at an interface: the first
    /// leaf with one of the packet's marks, otherwise a leaf without marks.
    pub(super) fn met(
        &self,
        at: Option<InterfaceId>,
        has: &dyn Fn(&[Name]) -> bool,
    ) -> Option<&Tree> {
        let stands = |root: &Root| match (root, at) {
            (Root::Global, None) => true,
            (Root::Interface(_, id), Some(at)) => *id == at,
            _ => false,
        };
        let leaf = |one: &&TreeQueue| {
            let branch = one.branch.as_ref();
            stands(&one.root) && branch.is_some_and(|branch| branch.leaf.is_some())
        };
        let mut leaves: Vec<_> = self.all.values().filter(leaf).collect();
        leaves.sort_by_key(|one| one.settings.marks.is_empty());
        let mut takes = leaves.into_iter().map(|one| &one.settings);
        takes.find(|settings| settings.marks.is_empty() || has(&settings.marks))
    }

    /// Whether any tree is active.
    pub(super) fn any(&self) -> bool {
        self.global > 0 || !self.roots.is_empty()
    }

    /// Returns the active queue of an interface, for `/queue/interface`.
    pub(super) fn active(&self, interface: &str) -> Option<&str> {
        match self.roots.contains_key(interface) {
            true => Some("queue-tree"),
            false => self.types.get(interface).map(|kind| &**kind),
        }
    }

    pub(super) fn put(
        &mut self,
        id: ItemId,
        settings: Tree,
        ground: &mut BranchInputs<'_>,
        out: &mut Effects,
    ) {
        let place = |one: &Tree| (one.name.clone(), one.disabled, one.parent.clone());
        let same = { self.all.get_mut(&id) }.filter(|one| place(&one.settings) == place(&settings));
        if let Some(one) = same {
            let before = core::mem::replace(&mut one.settings, settings);
            let marks = before.marks != one.settings.marks;
            let kind = ground.kind(&one.settings.side.kind);
            let limits = one.settings.side.limits;
            let other = one.branch.as_mut().is_some_and(|branch| {
                branch.node.set(&limits);
                branch.wait_in(&kind, out)
            });
            if marks || other {
                self.emit(id, out);
            }
            return;
        }
        self.take_away(id, out);
        self.by_name.insert(settings.name.clone(), id);
        self.within.insert((settings.parent.clone(), id));
        let one = TreeQueue {
            settings,
            branch: None,
            root: Root::Global,
            parts: false,
        };
        self.all.insert(id, one);
        self.begin(id, ground, out);
    }

    pub(super) fn take_away(&mut self, id: ItemId, out: &mut Effects) {
        self.end(id, out);
        let Some(one) = self.all.remove(&id) else {
            return;
        };
        if self.by_name.get(&one.settings.name) == Some(&id) {
            self.by_name.remove(&one.settings.name);
        }
        self.within.remove(&(one.settings.parent, id));
    }

    /// Sets the queue type of an interface from `/queue/interface`.
    pub(super) fn set_type(&mut self, interface: Name, kind: Option<Name>) {
        self.unsettled.insert(interface.clone());
        match kind {
            Some(kind) => self.types.insert(interface, kind),
            None => self.types.remove(&interface),
        };
    }

    /// Rebuilds the queues of an interface that changed or went.
    pub(super) fn moved(&mut self, name: &Name, ground: &mut BranchInputs<'_>, out: &mut Effects) {
        if self.by_name.contains_key(name) {
            return;
        }
        for id in of(&self.within, name) {
            self.end(id, out);
            self.begin(id, ground, out);
        }
        self.unsettled.insert(name.clone());
        if let Some(own) = self.own.remove(name) {
            own.end(out);
        }
    }

    /// Applies a changed queue type.
    pub(super) fn retyped(
        &mut self,
        name: &Name,
        ground: &mut BranchInputs<'_>,
        out: &mut Effects,
    ) {
        let with = self
            .all
            .iter()
            .filter(|(_, one)| one.settings.side.kind == *name);
        for id in with.map(|(id, _)| *id).collect::<Vec<_>>() {
            let kind = ground.kind(name);
            let branch = self.all.get_mut(&id).and_then(|one| one.branch.as_mut());
            if branch.is_some_and(|branch| branch.wait_in(&kind, out)) {
                self.emit(id, out);
            }
        }
        let of_type = self.types.iter().filter(|(_, kind)| *kind == name);
        for interface in of_type
            .map(|(interface, _)| interface.clone())
            .collect::<Vec<_>>()
        {
            if let Some(own) = self.own.remove(&interface) {
                own.end(out);
            }
            self.unsettled.insert(interface);
        }
    }

    /// Gives interfaces without a tree their own queue if its type shapes, and tells the layout
    /// which interfaces have queues.
    pub(super) fn settle(&mut self, ground: &mut BranchInputs<'_>, out: &mut Effects) {
        for name in core::mem::take(&mut self.unsettled) {
            self.settle_interface(&name, ground, out);
        }
    }

    fn settle_interface(&mut self, name: &Name, ground: &mut BranchInputs<'_>, out: &mut Effects) {
        let has_tree = self.roots.contains_key(name);
        let kind = self.types.get(name).filter(|_| !has_tree);
        let kind = kind.filter(|kind| Leaf::shapes(&ground.kind(kind)));
        let wanted = kind.zip(ground.interfaces.get(name).copied());
        let stays = { self.own.get(name).zip(wanted) }
            .is_some_and(|(own, (kind, id))| own.kind == *kind && own.interface == id);
        let wanted = wanted.map(|(kind, id)| (kind.clone(), id));
        if !stays && let Some(own) = self.own.remove(name) {
            own.end(out);
        }
        if let Some((kind, interface)) = wanted.filter(|_| !stays) {
            let side = Side {
                limits: queue::Limits::default(),
                kind: kind.clone(),
            };
            let waits = ground.kind(&kind);
            let branch = Branch::new(ground.numbers, None, &side, Some(&waits), false);
            if let Some(leaf) = branch.leaf.clone() {
                tell(out, Change::Leaf(interface, OWN, Vec::new(), leaf));
            }
            let own = InterfaceQueue {
                interface,
                kind,
                branch,
            };
            self.own.insert(name.clone(), own);
        }
        let queued = has_tree || self.own.contains_key(name);
        let is_other = match queued {
            true => self.queued.insert(name.clone()),
            false => self.queued.remove(name),
        };
        if is_other {
            out.push(Effect::Queues(QueueRequest::Before(name.clone(), queued)));
        }
    }

    /// Whether the queue itself is enabled.
    fn is_complete(&self, id: ItemId) -> bool {
        self.all.get(&id).is_some_and(|one| !one.settings.disabled)
    }

    fn begin(&mut self, id: ItemId, ground: &mut BranchInputs<'_>, out: &mut Effects) {
        let Some(one) = self.all.get(&id).filter(|one| one.branch.is_none()) else {
            return;
        };
        if !self.is_complete(id) || self.depth(id) > DEEP {
            return;
        }
        let parent = one.settings.parent.clone();
        let above = self
            .by_name
            .get(&parent)
            .copied()
            .filter(|above| *above != id);
        let (root, branch) = match above {
            Some(above) => {
                let Some(built) = self.all.get(&above).filter(|built| built.branch.is_some())
                else {
                    return;
                };
                if !built.parts {
                    self.end(above, out);
                    return self.begin(above, ground, out);
                }
                (built.root.clone(), built.branch.as_ref())
            }
            // RouterOS 6 merged the `global-*` parents of version 5 into `global`.
            None if parent.starts_with("global") => (Root::Global, None),
            None => match ground.interfaces.get(&parent) {
                Some(interface) => (Root::Interface(parent.clone(), *interface), None),
                None => return,
            },
        };
        let inner = of(&self.within, &one.settings.name);
        let parts = inner
            .iter()
            .any(|inner| *inner != id && self.is_complete(*inner));
        let kind = ground.kind(&one.settings.side.kind);
        let own = (!parts).then_some(&kind);
        let branch = Branch::new(ground.numbers, branch, &one.settings.side, own, parts);
        match &root {
            _ if above.is_some() => {}
            Root::Global => self.global += 1,
            Root::Interface(name, _) => {
                self.unsettled.insert(name.clone());
                *self.roots.entry(name.clone()).or_default() += 1;
            }
        }
        if let Some(one) = self.all.get_mut(&id) {
            (one.branch, one.root, one.parts) = (Some(branch), root, parts);
        }
        self.emit(id, out);
        for id in inner {
            self.begin(id, ground, out);
        }
    }

    fn end(&mut self, id: ItemId, out: &mut Effects) {
        let Some(one) = self.all.get(&id).filter(|one| one.branch.is_some()) else {
            return;
        };
        let (name, root, parent) = (
            one.settings.name.clone(),
            one.root.clone(),
            one.settings.parent.clone(),
        );
        for inner in of(&self.within, &name) {
            if inner != id {
                self.end(inner, out);
            }
        }
        let change = match &root {
            Root::Global => Change::NoGlobal(id),
            Root::Interface(_, interface) => Change::NoLeaf(*interface, id),
        };
        tell(out, change);
        if let Some(branch) = { self.all.get_mut(&id) }.and_then(|one| one.branch.take()) {
            branch.end(out);
        }
        match root {
            _ if self.by_name.contains_key(&parent) && !parent.starts_with("global") => {}
            Root::Global => self.global -= 1,
            Root::Interface(name, _) => {
                if let Some(count) = self.roots.get_mut(&name) {
                    *count -= 1;
                    if *count == 0 {
                        self.roots.remove(&name);
                    }
                }
                self.unsettled.insert(name);
            }
        }
    }

    /// Returns the number of queues on the path to the root, this one included.
    fn depth(&self, id: ItemId) -> usize {
        let mut depth = 0;
        let mut next = self.all.get(&id);
        while let Some(one) = next.filter(|_| depth <= DEEP + 1) {
            depth += 1;
            let parent = self.by_name.get(&one.settings.parent);
            next = parent.and_then(|id| self.all.get(id));
        }
        depth
    }

    fn emit(&self, id: ItemId, out: &mut Effects) {
        let Some(one) = self.all.get(&id) else { return };
        let leaf = one.branch.as_ref().and_then(|branch| branch.leaf.clone());
        let Some(leaf) = leaf else { return };
        let change = match &one.root {
            Root::Global => Change::Global(id, Vec::new(), leaf),
            Root::Interface(_, interface) => Change::Leaf(*interface, id, Vec::new(), leaf),
        };
        out.push(Effect::Queues(QueueRequest::Change {
            change,
            marks: one.settings.marks.clone(),
            within: Vec::new(),
        }));
    }
}
