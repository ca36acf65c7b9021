//! Sets of interfaces: the lists of `/interface/list`, and all interfaces of a kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::rule::InterfaceSet;
use frame::InterfaceId;

use crate::compile::Layout;
use crate::intent::{Class, Intent, Interface, InterfaceList, Name};

/// How deep lists include lists.
const DEPTH: usize = 32;

/// All sets, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sets {
    lists: BTreeMap<Name, Arc<InterfaceSet>>,
    kinds: BTreeMap<&'static str, Arc<InterfaceSet>>,
}

impl Sets {
    /// The sets that a configuration comes to. A set that is the same as before is the same value.
    pub fn new(intent: &Intent, layout: &Layout, before: &Self) -> Self {
        let mut members = BTreeMap::<&str, Vec<InterfaceId>>::new();
        for member in intent.members.values().filter(|member| !member.disabled) {
            if let Some(id) = layout.by_name.get(&member.interface) {
                members.entry(&member.list).or_default().push(*id);
            }
        }
        let world = World {
            lists: &intent.lists,
            members,
            all: layout.interfaces.keys().copied().collect(),
        };
        let list = |name: &Name| {
            let set = world.list(name, 0).into_iter().collect();
            (name.clone(), keep(set, before.lists.get(name)))
        };
        let kind = |kind: &&'static str| {
            let of_kind = |interface: &&Interface| interface.class.word() == *kind;
            let of_kind = intent.interfaces.values().filter(of_kind);
            let ids = of_kind.filter_map(|interface| layout.by_name.get(&interface.name));
            (*kind, keep(ids.copied().collect(), before.kinds.get(kind)))
        };
        Self {
            lists: intent.lists.keys().map(list).collect(),
            kinds: Class::WORDS.iter().map(kind).collect(),
        }
    }

    /// The members of a list.
    pub fn list(&self, name: &str) -> Option<&Arc<InterfaceSet>> {
        self.lists.get(name)
    }

    /// The interfaces of a kind, such as `all-ethernet`.
    pub fn kind(&self, word: &str) -> Option<&Arc<InterfaceSet>> {
        self.kinds.get(word)
    }
}

/// The old value where nothing has changed.
fn keep(set: InterfaceSet, before: Option<&Arc<InterfaceSet>>) -> Arc<InterfaceSet> {
    match before {
        Some(before) if **before == set => Arc::clone(before),
        _ => Arc::new(set),
    }
}

/// What lists are worked out from.
struct World<'a> {
    lists: &'a BTreeMap<Name, InterfaceList>,
    members: BTreeMap<&'a str, Vec<InterfaceId>>,
    all: BTreeSet<InterfaceId>,
}

impl World<'_> {
    /// The members of a list. RouterOS: those of included lists come first, those of excluded lists
    /// are taken out, and its own members are in it in any case.
    fn list(&self, name: &str, depth: usize) -> BTreeSet<InterfaceId> {
        match name {
            // All interfaces are configured: the router makes none by itself.
            "all" | "static" => return self.all.clone(),
            "none" | "dynamic" => return BTreeSet::new(),
            _ => {}
        }
        let (Some(list), true) = (self.lists.get(name), depth < DEPTH) else {
            return BTreeSet::new();
        };
        let of = |names: &[Name]| -> BTreeSet<_> {
            let lists = names.iter().map(|name| self.list(name, depth + 1));
            lists.flatten().collect()
        };
        let mut ids = &of(&list.include) - &of(&list.exclude);
        ids.extend(self.members.get(name).into_iter().flatten());
        ids
    }
}
