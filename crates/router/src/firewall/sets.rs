//! What rules know interfaces by: classes, and sets of them: the lists of `/interface/list`, and all interfaces of a
//! kind.
//!
//! Interfaces share a class where rules cannot tell them from each other: they are of the same kind, members of the
//! same lists, and no rule names one of them alone. So an interface that is like one before needs no rule compiled
//! anew. A class comes when such interfaces are first seen, and goes, once there are none, when another one comes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::rule::{Class, ClassSet};
use frame::InterfaceId;

use crate::compile::Layout;
use crate::intent::{self, Intent, InterfaceList, Name};
use crate::object::DYNAMIC;

/// How deep lists include lists.
const DEPTH: usize = 32;

/// What rules can tell an interface by.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// The word for all interfaces of its kind; empty where there is none.
    kind: &'static str,
    /// The lists that it is a member of by itself.
    lists: BTreeSet<Name>,
    /// Its name, if rules name it.
    named: Option<Name>,
    /// A feature has made it.
    dynamic: bool,
}

/// All classes, and all sets by name.
#[derive(Debug, Default)]
pub struct Sets {
    lists: BTreeMap<Name, Arc<ClassSet>>,
    kinds: BTreeMap<&'static str, Arc<ClassSet>>,
    /// The classes of interfaces that rules name.
    named: BTreeMap<Name, Class>,
    classes: BTreeMap<Key, Class>,
    keys: BTreeMap<InterfaceId, Key>,
    interfaces: BTreeMap<InterfaceId, Class>,
    without: usize,
}

impl Sets {
    /// The classes and sets that a configuration comes to, with rules that name interfaces for which `is_named` holds.
    /// A set that is the same as before is the same value.
    pub fn new(
        intent: &Intent,
        layout: &Layout,
        is_named: impl Fn(&Name) -> bool,
        before: &Self,
    ) -> Self {
        let keys = keys(intent, layout, is_named);
        let classes = classes(&keys, before);
        let interfaces: BTreeMap<_, _> = { keys.iter() }
            .filter_map(|(id, key)| Some((*id, *classes.get(key)?)))
            .collect();
        let of_named = |key: &Key| Some((key.named.clone()?, *classes.get(key)?));
        let those = |holds: &dyn Fn(&Key) -> bool| -> ClassSet {
            let those = classes.iter().filter(|(key, _)| holds(key));
            those.map(|(_, class)| *class).collect()
        };
        let list = |name: &Name| {
            let set = those(&|key| has(&intent.lists, name, key));
            (name.clone(), keep(set, before.lists.get(name)))
        };
        let kind = |kind: &&'static str| {
            let set = those(&|key| key.kind == *kind);
            (*kind, keep(set, before.kinds.get(kind)))
        };
        Self {
            lists: intent.lists.keys().map(list).collect(),
            kinds: intent::Class::WORDS.iter().map(kind).collect(),
            named: keys.values().filter_map(of_named).collect(),
            without: keys.len() - interfaces.len(),
            interfaces,
            classes,
            keys,
        }
    }

    /// Finds the classes of these interfaces anew where no set changes by that: each is like one before, or gone, and
    /// no rule names one of them. Says whether it is so.
    pub fn follow(
        &mut self,
        touched: &BTreeSet<InterfaceId>,
        intent: &Intent,
        layout: &Layout,
        is_named: impl Fn(&Name) -> bool,
    ) -> bool {
        let now: Vec<_> = { touched.iter() }
            .map(|id| (*id, key(*id, intent, layout, &is_named)))
            .collect();
        let changed = |(id, key): &&(InterfaceId, Option<Key>)| self.keys.get(id) != key.as_ref();
        let is_named = |key: Option<&Key>| key.is_some_and(|key| key.named.is_some());
        let fits = |(id, key): &(InterfaceId, Option<Key>)| {
            let is_known = key
                .as_ref()
                .is_none_or(|key| self.classes.contains_key(key));
            is_known && !is_named(key.as_ref()) && !is_named(self.keys.get(id))
        };
        if !now.iter().filter(changed).all(fits) {
            return false;
        }
        for (id, key) in now {
            let class = key.as_ref().and_then(|key| self.classes.get(key));
            match class {
                Some(class) => _ = self.interfaces.insert(id, *class),
                None => _ = self.interfaces.remove(&id),
            }
            match key {
                Some(key) => _ = self.keys.insert(id, key),
                None => _ = self.keys.remove(&id),
            }
        }
        true
    }

    /// The interfaces that have another class here than there.
    pub fn others(&self, before: &Self) -> BTreeSet<InterfaceId> {
        let both = self.interfaces.keys().chain(before.interfaces.keys());
        both.filter(|id| self.interfaces.get(id) != before.interfaces.get(id))
            .copied()
            .collect()
    }

    /// Whether rules are the same with these as with others.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.lists, &self.kinds, &self.named) == (&other.lists, &other.kinds, &other.named)
    }

    /// The members of a list.
    pub fn list(&self, name: &str) -> Option<&Arc<ClassSet>> {
        self.lists.get(name)
    }

    /// The interfaces of a kind, such as `all-ethernet`.
    pub fn kind(&self, word: &str) -> Option<&Arc<ClassSet>> {
        self.kinds.get(word)
    }

    /// The interface of this name, which a rule names.
    pub fn named(&self, name: &str) -> Option<Class> {
        self.named.get(name).copied()
    }

    /// What rules know an interface by.
    pub fn class(&self, id: InterfaceId) -> Class {
        self.interfaces.get(&id).copied().unwrap_or_default()
    }

    /// The lists and kinds that an interface is in, and the name that rules name it by.
    #[cfg(test)]
    pub(super) fn known(&self, id: InterfaceId) -> Vec<Name> {
        let class = self.class(id);
        let lists = self.lists.iter().filter(|(_, set)| set.has(class));
        let kinds = self.kinds.iter().filter(|(_, set)| set.has(class));
        let named = self.named.iter().filter(|(_, of)| **of == class);
        let lists = lists.map(|(name, _)| name.clone());
        let others = kinds.map(|(word, _)| Name::from(*word));
        lists
            .chain(others)
            .chain(named.map(|(name, _)| name.clone()))
            .collect()
    }

    /// How many interfaces have no class, as there is none left for them.
    pub fn without_class(&self) -> usize {
        self.without
    }
}

/// What rules can tell each interface by.
fn keys(
    intent: &Intent,
    layout: &Layout,
    is_named: impl Fn(&Name) -> bool,
) -> BTreeMap<InterfaceId, Key> {
    let ids = layout.interfaces.keys();
    ids.filter_map(|id| Some((*id, key(*id, intent, layout, &is_named)?)))
        .collect()
}

/// What rules can tell an interface by; none if it is not there.
fn key(
    id: InterfaceId,
    intent: &Intent,
    layout: &Layout,
    is_named: impl Fn(&Name) -> bool,
) -> Option<Key> {
    let laid = layout.interfaces.get(&id)?;
    let interface = intent.interfaces.get(&laid.item);
    // Of several interfaces with one name the first has it.
    let name = Some(&laid.name).filter(|name| layout.by_name.get(*name) == Some(&id));
    let members = name.into_iter().flat_map(|name| intent.members.on(name));
    let members = members.filter(|(_, member)| !member.disabled);
    Some(Key {
        kind: interface.map_or("", |interface| interface.class.word()),
        lists: members.map(|(_, member)| member.list.clone()).collect(),
        named: name.filter(|name| is_named(name)).cloned(),
        dynamic: laid.item >= DYNAMIC,
    })
}

/// The classes of these. Those of before stay while no other comes.
fn classes(keys: &BTreeMap<InterfaceId, Key>, before: &Sets) -> BTreeMap<Key, Class> {
    if keys.values().all(|key| before.classes.contains_key(key)) {
        return before.classes.clone();
    }
    let used: BTreeSet<_> = keys.values().collect();
    // A number that has been let go of rests once, so that nobody takes the one class for the other.
    let taken: BTreeSet<_> = before.classes.values().map(|class| class.0).collect();
    let mut free = (1..=u16::MAX).filter(|number| !taken.contains(number));
    let class = |key: &Key| match before.classes.get(key) {
        Some(class) => Some(*class),
        None => free.next().map(Class),
    };
    let mut class = class;
    { used.into_iter() }
        .filter_map(|key| Some((key.clone(), class(key)?)))
        .collect()
}

/// The old value where nothing has changed.
fn keep(set: ClassSet, before: Option<&Arc<ClassSet>>) -> Arc<ClassSet> {
    match before {
        Some(before) if **before == set => Arc::clone(before),
        _ => Arc::new(set),
    }
}

/// Whether a list has the interfaces of a class.
fn has(lists: &BTreeMap<Name, InterfaceList>, name: &str, key: &Key) -> bool {
    let own = |list: &str| key.lists.contains(list);
    is_in(lists, name, (&own, key.dynamic), 0)
}

/// Whether an interface is in a list, of which `own` says that it is a member of its own. RouterOS: those of included
/// lists come first, those of excluded lists are taken out, and a list's own members are in it in any case.
pub(crate) fn is_in(
    lists: &BTreeMap<Name, InterfaceList>,
    name: &str,
    (own, dynamic): (&dyn Fn(&str) -> bool, bool),
    depth: usize,
) -> bool {
    match name {
        "all" => return true,
        "static" => return !dynamic,
        "dynamic" => return dynamic,
        "none" => return false,
        _ => {}
    }
    let (Some(list), true) = (lists.get(name), depth < DEPTH) else {
        return false;
    };
    let any = |names: &[Name]| {
        let mut names = names.iter();
        names.any(|name| is_in(lists, name, (own, dynamic), depth + 1))
    };
    own(name) || any(&list.include) && !any(&list.exclude)
}
