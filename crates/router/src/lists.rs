//! Interface lists (`/interface/list`), for features with a list setting.

use std::collections::{BTreeMap, BTreeSet};

use menu::{Changes, Item, Value};

use crate::feature::{View, concerns, each_item};
use crate::firewall::is_in;
use crate::intent::{InterfaceList, ItemId, Member, Name};
use crate::read;

/// Menus that define the members of lists. Features with a list setting follow them.
pub(crate) const MENUS: [&str; 2] = ["/interface/list", "/interface/list/member"];

/// Members of the interface lists.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    lists: BTreeMap<Name, InterfaceList>,
    members: BTreeMap<ItemId, Member>,
    /// By interface: the lists with the interface as a direct member.
    of: BTreeMap<Name, BTreeSet<(Name, ItemId)>>,
}

/// Lists and interfaces that a transaction changed.
#[derive(Debug, Default)]
pub(crate) struct Concerned {
    /// Lists that were added or removed, or whose included lists changed.
    pub(crate) lists: BTreeSet<Name>,
    /// Interfaces whose list membership changed.
    pub(crate) interfaces: BTreeSet<Name>,
}

/// Value of a list setting: a list, all interfaces, or all interfaces except those of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    name: Name,
    others: bool,
}

impl Chosen {
    /// Parses a setting; without a value, all interfaces.
    pub(crate) fn read(value: Option<&Value>) -> Self {
        let (value, others) = match value {
            Some(Value::Not(value)) => (Some(&**value), true),
            value => (value, false),
        };
        let name = value.and_then(Value::as_str).unwrap_or("all").into();
        Self { name, others }
    }

    /// A choice without any interface.
    pub(crate) fn none() -> Self {
        let (name, others) = ("none".into(), false);
        Self { name, others }
    }
}

impl Lists {
    /// Applies the changes of a transaction to lists and their members; without `changes`, reads all of them.
    pub(crate) fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>) -> Concerned {
        let mut concerned = Concerned::default();
        if !concerns(&MENUS, changes) {
            return concerned;
        }
        let [lists, members] = MENUS;
        match changes {
            Some(changes) => changes.of(lists).for_each(|change| {
                let name = |item: &Item| item.name().map(Name::from);
                if let Some(before) = change.before.as_deref().and_then(name) {
                    self.lists.remove(&before);
                    concerned.lists.insert(before);
                }
                if let Some(item) = change.after.as_deref()
                    && let Some(name) = name(item)
                {
                    self.lists.insert(name.clone(), read::list(item));
                    concerned.lists.insert(name);
                }
            }),
            None => {
                let all = view.store.items(lists);
                let all = all.filter_map(|item| Some((item.name()?.into(), read::list(item))));
                self.lists = all.collect();
                concerned.lists.extend(self.lists.keys().cloned());
            }
        }
        each_item(view, members, changes, |id, item| {
            if let Some(gone) = self.members.remove(&id) {
                if let Some(of) = self.of.get_mut(&gone.interface) {
                    of.remove(&(gone.list, id));
                    if of.is_empty() {
                        self.of.remove(&gone.interface);
                    }
                }
                concerned.interfaces.insert(gone.interface);
            }
            let member = item.and_then(read::member);
            if let Some(member) = member.filter(|member| !member.disabled) {
                let of = self.of.entry(member.interface.clone()).or_default();
                of.insert((member.list.clone(), id));
                concerned.interfaces.insert(member.interface.clone());
                self.members.insert(id, member);
            }
        });
        concerned
    }

    /// Returns whether the members of `lists` decide which interfaces a choice names, directly or by inclusion.
    pub(crate) fn depends(&self, chosen: &Chosen, lists: &BTreeSet<Name>) -> bool {
        let mut found = BTreeSet::new();
        let mut waiting = vec![&chosen.name];
        while let Some(name) = waiting.pop().filter(|_| !lists.is_empty()) {
            if lists.contains(name) {
                return true;
            }
            if found.insert(name)
                && let Some(list) = self.lists.get(name)
            {
                waiting.extend(list.include.iter().chain(&list.exclude));
            }
        }
        false
    }

    /// Whether the choice contains an interface; `dynamic` is true if the interface is not an item of the
    /// configuration.
    pub(crate) fn has(&self, chosen: &Chosen, interface: &Name, dynamic: bool) -> bool {
        let own = |list: &str| {
            let of = self.of.get(interface);
            of.is_some_and(|of| of.iter().any(|(name, _)| **name == *list))
        };
        is_in(&self.lists, &chosen.name, &own, dynamic, 0) != chosen.others
    }
}
