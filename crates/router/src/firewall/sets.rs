//! Classes of interfaces for rules, and sets of classes: the lists of `/interface/list`, and all interfaces of a kind.
//!
//! Interfaces that rules cannot distinguish share a class: kind and lists are equal, and no rule names one of the
//! interfaces directly. So adding another such interface recompiles no rule. A class is created with its first
//! interface. A class without interfaces is removed when a new class is created.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::rule::{Class, ClassSet};
use frame::InterfaceId;

use crate::compile::Layout;
use crate::intent::{self, Intent, InterfaceList, Name};
use crate::object::DYNAMIC;

/// Maximum depth of lists that include lists.
const DEPTH: usize = 32;

/// Properties by which rules can distinguish interfaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Word for all interfaces of its kind; empty without one.
    kind: &'static str,
    /// Lists that it is a direct member of.
    lists: BTreeSet<Name>,
    /// Its name, if rules name it directly.
    named: Option<Name>,
    /// True if a feature created the interface.
    dynamic: bool,
}

/// All classes, and all sets by name.
///
/// The cost of a change depends on the change: interfaces are counted by class, and sets are changed by added and
/// removed classes.
#[derive(Debug, Default)]
pub struct Sets {
    lists: BTreeMap<Name, Arc<ClassSet>>,
    /// By list: the lists that include or exclude it.
    dependents: BTreeMap<Name, BTreeSet<Name>>,
    /// By list: the lists that it includes or excludes.
    dependencies: BTreeMap<Name, BTreeSet<Name>>,
    kinds: BTreeMap<&'static str, Arc<ClassSet>>,
    /// Classes of interfaces that rules name directly.
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

/// A class, and the number of its interfaces.
#[derive(Clone, Copy, Debug)]
struct Counted {
    class: Class,
    interfaces: usize,
}

/// Interfaces and lists that a change may concern.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// Interfaces that may have changed, changed their lists, or been removed.
    pub interfaces: BTreeSet<InterfaceId>,
    /// Lists that may have changed or been removed.
    pub lists: BTreeSet<Name>,
}

/// Differences for rules after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Lists whose members changed.
    pub lists: BTreeSet<Name>,
    /// Words of kinds whose members changed.
    pub kinds: BTreeSet<&'static str>,
    /// Interfaces that rules name directly, whose class changed.
    pub named: BTreeSet<Name>,
    /// Interfaces whose class changed.
    pub reclassified: BTreeSet<InterfaceId>,
}

impl Difference {
    /// Whether no rule needs recompilation.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.kinds.is_empty() && self.named.is_empty()
    }
}

/// Free class numbers.
#[derive(Debug, Default)]
struct ClassNumbers {
    /// Released numbers.
    free: BTreeSet<u16>,
    /// The highest number ever assigned.
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

/// Classes to add to a set, and classes to remove.
#[derive(Debug, Default)]
struct Edit {
    add: BTreeSet<Class>,
    remove: BTreeSet<Class>,
}

/// Sets that a change of classes concerns.
#[derive(Debug, Default)]
struct Edits {
    lists: BTreeMap<Name, Edit>,
    kinds: BTreeMap<&'static str, Edit>,
}

impl Sets {
    /// Returns all interfaces and lists, present and previous.
    pub fn everything(&self, intent: &Intent, layout: &Layout) -> Others {
        let interfaces = self.keys.keys().chain(layout.interfaces.keys());
        let lists = self.lists.keys().chain(intent.lists.keys());
        Others {
            interfaces: interfaces.copied().collect(),
            lists: lists.cloned().collect(),
        }
    }

    /// Applies changes of interfaces and lists. `is_named` returns whether rules name an interface directly; `others`
    /// contains the interfaces for which the answer changed. An unchanged set keeps its value.
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

    /// Removes interfaces from their classes. Returns the classes of interfaces that rules name directly.
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

    /// Creates missing classes, as far as numbers are free. Removes unused classes if new ones need their place.
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
        // A released number pauses for one round, so that the two classes are not confused.
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

    /// Adds interfaces to their classes. Returns the names of interfaces that rules name directly.
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

    /// Updates the included and excluded lists of these lists. Returns these lists with all lists that depend on them.
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

    /// Returns these lists, and all lists that include or exclude one of them, directly or indirectly.
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

    /// Returns the lists that may contain interfaces with this key.
    fn reachable(&self, key: &Key) -> BTreeSet<Name> {
        let word = if key.dynamic { "dynamic" } else { "static" };
        let words = ["all", word].map(Name::from);
        self.dependent(key.lists.iter().cloned().chain(words))
    }

    /// Recomputes the classes of lists.
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

    /// Returns the classes of a list.
    pub fn list(&self, name: &str) -> Option<&Arc<ClassSet>> {
        self.lists.get(name)
    }

    /// Returns the classes of a kind, such as `all-ethernet`.
    pub fn kind(&self, word: &str) -> Option<&Arc<ClassSet>> {
        self.kinds.get(word)
    }

    /// Returns the class of an interface that a rule names directly.
    pub fn named(&self, name: &str) -> Option<Class> {
        self.named.get(name).copied()
    }

    /// Returns the class of an interface.
    pub fn class(&self, id: InterfaceId) -> Class {
        self.interfaces.get(&id).copied().unwrap_or_default()
    }

    /// Returns the lists and kinds of an interface, and its name if rules name it directly.
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

    /// Returns the number of interfaces for which no class was left.
    pub fn without_class(&self) -> usize {
        self.without.len()
    }
}

impl Edit {
    /// Applies the edit to a set; returns whether its classes changed.
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

/// Returns the key of an interface; `None` if it does not exist.
fn key(
    id: InterfaceId,
    intent: &Intent,
    layout: &Layout,
    is_named: impl Fn(&Name) -> bool,
) -> Option<Key> {
    let laid = layout.interfaces.get(&id)?;
    let interface = intent.interfaces.get(&laid.item);
    // If several interfaces have one name, it belongs to the first.
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

/// Whether a list contains the interfaces of a class.
fn has(lists: &BTreeMap<Name, InterfaceList>, name: &str, key: &Key) -> bool {
    let own = |list: &str| key.lists.contains(list);
    is_in(lists, name, &own, key.dynamic, 0)
}

/// Whether a list contains an interface; `own` returns whether it is a direct member of a list. RouterOS: members of
/// included lists are added first, members of excluded lists are then removed, and direct members are always contained.
pub(crate) fn is_in(
    lists: &BTreeMap<Name, InterfaceList>,
    name: &str,
    own: &dyn Fn(&str) -> bool,
    dynamic: bool,
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
        names.any(|name| is_in(lists, name, own, dynamic, depth + 1))
    };
    own(name) || any(&list.include) && !any(&list.exclude)
}
