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
///
/// A change costs what it touches: interfaces are counted by class, and sets are changed by the classes that come and
/// go.
#[derive(Debug, Default)]
pub struct Sets {
    lists: BTreeMap<Name, Arc<ClassSet>>,
    /// Lists by the names that they include or exclude.
    dependents: BTreeMap<Name, BTreeSet<Name>>,
    /// Names that each list includes or excludes.
    dependencies: BTreeMap<Name, BTreeSet<Name>>,
    kinds: BTreeMap<&'static str, Arc<ClassSet>>,
    /// The classes of interfaces that rules name.
    named: BTreeMap<Name, Class>,
    classes: BTreeMap<Key, Counted>,
    /// Keys of classes without interfaces.
    unused: BTreeSet<Key>,
    keys: BTreeMap<InterfaceId, Key>,
    interfaces: BTreeMap<InterfaceId, Class>,
    /// Interfaces for which no class was left.
    without: BTreeSet<InterfaceId>,
    numbers: ClassNumbers,
}

/// A class, and how many interfaces are of it.
#[derive(Clone, Copy, Debug)]
struct Counted {
    class: Class,
    interfaces: usize,
}

/// What a change concerns: interfaces by id, lists by name.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// Interfaces that may be other, or members of other lists, or gone.
    pub interfaces: BTreeSet<InterfaceId>,
    /// Lists that may be other, or gone.
    pub lists: BTreeSet<Name>,
}

/// What rules know otherwise after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Lists with other members.
    pub lists: BTreeSet<Name>,
    /// Words for kinds with other members.
    pub kinds: BTreeSet<&'static str>,
    /// Interfaces that rules name, with another class.
    pub named: BTreeSet<Name>,
    /// Interfaces with another class.
    pub reclassified: BTreeSet<InterfaceId>,
}

impl Difference {
    /// Whether no rule has to be compiled anew.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.kinds.is_empty() && self.named.is_empty()
    }
}

/// The numbers that no class has.
#[derive(Debug, Default)]
struct ClassNumbers {
    /// Numbers that were given back.
    free: BTreeSet<u16>,
    /// The highest number that was ever given.
    highest: u16,
}

impl ClassNumbers {
    /// Returns the lowest free number; `None` if all are in use.
    fn give(&mut self) -> Option<Class> {
        let number = match self.free.pop_first() {
            Some(number) => number,
            None => self.highest.checked_add(1)?,
        };
        self.highest = self.highest.max(number);
        Some(Class(number))
    }
}

/// Classes that come into a set and leave it.
#[derive(Debug, Default)]
struct Edit {
    add: BTreeSet<Class>,
    remove: BTreeSet<Class>,
}

/// The sets that a change of classes concerns.
#[derive(Debug, Default)]
struct Edits {
    lists: BTreeMap<Name, Edit>,
    kinds: BTreeMap<&'static str, Edit>,
}

impl Sets {
    /// All interfaces and lists, those that are there and those that were.
    pub fn everything(&self, intent: &Intent, layout: &Layout) -> Others {
        let interfaces = self.keys.keys().chain(layout.interfaces.keys());
        let lists = self.lists.keys().chain(intent.lists.keys());
        Others {
            interfaces: interfaces.copied().collect(),
            lists: lists.cloned().collect(),
        }
    }

    /// Takes over interfaces and lists. `is_named` says whether rules name an interface; interfaces for which it has
    /// another answer are among `others`. A set that is the same as before is the same value.
    pub fn change(
        &mut self,
        others: &Others,
        intent: &Intent,
        layout: &Layout,
        is_named: impl Fn(&Name) -> bool,
    ) -> Difference {
        let mut difference = Difference::default();
        let affected = self.change_dependencies(&others.lists, intent);
        let again = core::mem::take(&mut self.without);
        let keys: Vec<_> = { others.interfaces.union(&again) }
            .map(|id| (*id, key(*id, intent, layout, &is_named)))
            .filter(|(id, key)| again.contains(id) || self.keys.get(id) != key.as_ref())
            .collect();
        let before: BTreeMap<_, _> = { keys.iter() }
            .filter_map(|(id, _)| Some((*id, self.interfaces.remove(id)?)))
            .collect();
        let named_before = self.detach(&keys, &before);
        let edits = self.make_classes(&keys, intent);
        let names = self.attach(keys, &before, &mut difference);
        for name in names.into_iter().chain(named_before.keys().cloned()) {
            if self.named.get(&name) != named_before.get(&name) {
                difference.named.insert(name);
            }
        }
        for (name, edit) in edits.lists {
            if !affected.contains(&name)
                && let Some(set) = self.lists.get_mut(&name)
                && edit.apply(set)
            {
                difference.lists.insert(name);
            }
        }
        for word in intent::Class::WORDS {
            let set = self.kinds.entry(word).or_default();
            if edits.kinds.get(word).is_some_and(|edit| edit.apply(set)) {
                difference.kinds.insert(word);
            }
        }
        self.find_lists(affected, intent, &mut difference);
        difference
    }

    /// Takes interfaces out of their classes. Returns the classes of those that rules name.
    fn detach(
        &mut self,
        keys: &[(InterfaceId, Option<Key>)],
        before: &BTreeMap<InterfaceId, Class>,
    ) -> BTreeMap<Name, Class> {
        let mut named = BTreeMap::new();
        for (id, _) in keys {
            let Some(key) = self.keys.remove(id) else {
                continue;
            };
            if !before.contains_key(id) {
                continue;
            }
            if let Some(name) = &key.named
                && let Some(class) = self.named.remove(name)
            {
                named.insert(name.clone(), class);
            }
            if let Some(counted) = self.classes.get_mut(&key) {
                counted.interfaces -= 1;
                if counted.interfaces == 0 {
                    self.unused.insert(key);
                }
            }
        }
        named
    }

    /// Makes the classes that are missing, as far as there are numbers. Classes without interfaces go if others come.
    fn make_classes(&mut self, keys: &[(InterfaceId, Option<Key>)], intent: &Intent) -> Edits {
        let mut edits = Edits::default();
        let wanted = keys.iter().filter_map(|(_, key)| key.as_ref());
        let missing: BTreeSet<&Key> = { wanted.clone() }
            .filter(|key| !self.classes.contains_key(*key))
            .collect();
        if missing.is_empty() {
            return edits;
        }
        for key in wanted {
            self.unused.remove(key);
        }
        // A number that has been let go of rests once, so that nobody takes the one class for the other.
        let mut resting = BTreeSet::new();
        for key in core::mem::take(&mut self.unused) {
            let Some(Counted { class, .. }) = self.classes.remove(&key) else {
                continue;
            };
            resting.insert(class.0);
            for list in self.reachable(&key) {
                edits.lists.entry(list).or_default().remove.insert(class);
            }
            edits
                .kinds
                .entry(key.kind)
                .or_default()
                .remove
                .insert(class);
        }
        for key in missing {
            let Some(class) = self.numbers.give() else {
                break;
            };
            for list in self.reachable(key) {
                if has(&intent.lists, &list, key) {
                    edits.lists.entry(list).or_default().add.insert(class);
                }
            }
            edits.kinds.entry(key.kind).or_default().add.insert(class);
            let counted = Counted {
                class,
                interfaces: 0,
            };
            self.classes.insert(key.clone(), counted);
        }
        self.numbers.free.extend(resting);
        edits
    }

    /// Puts interfaces into their classes. Returns the names of those that rules name.
    fn attach(
        &mut self,
        keys: Vec<(InterfaceId, Option<Key>)>,
        before: &BTreeMap<InterfaceId, Class>,
        difference: &mut Difference,
    ) -> Vec<Name> {
        let mut names = Vec::new();
        for (id, key) in keys {
            if let Some(key) = key {
                match self.classes.get_mut(&key) {
                    Some(counted) => {
                        counted.interfaces += 1;
                        self.interfaces.insert(id, counted.class);
                        if let Some(name) = &key.named {
                            self.named.insert(name.clone(), counted.class);
                            names.push(name.clone());
                        }
                        self.unused.remove(&key);
                    }
                    None => _ = self.without.insert(id),
                }
                self.keys.insert(id, key);
            }
            if self.interfaces.get(&id) != before.get(&id) {
                difference.reclassified.insert(id);
            }
        }
        names
    }

    /// Takes over which lists these lists include and exclude. Returns them with all lists that depend on them.
    fn change_dependencies(&mut self, lists: &BTreeSet<Name>, intent: &Intent) -> BTreeSet<Name> {
        for name in lists {
            let wanted = intent.lists.get(name);
            let wanted = wanted.map(|list| list.include.iter().chain(&list.exclude));
            let wanted: BTreeSet<Name> = wanted.into_iter().flatten().cloned().collect();
            let before = match wanted.is_empty() {
                true => self.dependencies.remove(name),
                false => self.dependencies.insert(name.clone(), wanted.clone()),
            };
            for gone in before.iter().flatten() {
                if let Some(of) = self.dependents.get_mut(gone) {
                    of.remove(name);
                    if of.is_empty() {
                        self.dependents.remove(gone);
                    }
                }
            }
            for named in wanted {
                self.dependents
                    .entry(named)
                    .or_default()
                    .insert(name.clone());
            }
        }
        self.dependent(lists.iter().cloned())
    }

    /// These lists, and all that include or exclude one of them, over any number of steps.
    fn dependent(&self, lists: impl IntoIterator<Item = Name>) -> BTreeSet<Name> {
        let mut found = BTreeSet::new();
        let mut waiting: Vec<Name> = lists.into_iter().collect();
        while let Some(name) = waiting.pop() {
            if let Some(of) = self.dependents.get(&name) {
                waiting.extend(of.iter().filter(|name| !found.contains(*name)).cloned());
            }
            found.insert(name);
        }
        found
    }

    /// The lists that may have the interfaces with this key.
    fn reachable(&self, key: &Key) -> BTreeSet<Name> {
        let word = if key.dynamic { "dynamic" } else { "static" };
        let words = ["all", word].map(Name::from);
        self.dependent(key.lists.iter().cloned().chain(words))
    }

    /// Finds the classes of lists anew.
    fn find_lists(&mut self, lists: BTreeSet<Name>, intent: &Intent, difference: &mut Difference) {
        for name in lists {
            let now = intent.lists.contains_key(&name).then(|| -> ClassSet {
                let classes = self.classes.iter();
                let members = classes.filter(|(key, _)| has(&intent.lists, &name, key));
                members.map(|(_, counted)| counted.class).collect()
            });
            if self.lists.get(&name).map(|set| &**set) == now.as_ref() {
                continue;
            }
            match now {
                Some(set) => _ = self.lists.insert(name.clone(), Arc::new(set)),
                None => _ = self.lists.remove(&name),
            }
            difference.lists.insert(name);
        }
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
        self.without.len()
    }
}

impl Edit {
    /// Changes a set; returns whether it has other classes.
    fn apply(&self, set: &mut Arc<ClassSet>) -> bool {
        let stays = set.iter().filter(|class| !self.remove.contains(class));
        let now: ClassSet = stays.chain(self.add.iter().copied()).collect();
        let is_other = **set != now;
        if is_other {
            *set = Arc::new(now);
        }
        is_other
    }
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
