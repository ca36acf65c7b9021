//! Interface lists (`/interface/list`), for features that work on the interfaces of a list.

use std::collections::{BTreeMap, BTreeSet};

use menu::{Changes, Value};

use crate::feature::{View, concerns, each_item};
use crate::firewall::is_in;
use crate::intent::{InterfaceList, ItemId, Member, Name};
use crate::read;

/// The menus that say which interfaces are in which lists. A feature with lists follows them.
pub(crate) const MENUS: [&str; 2] = ["/interface/list", "/interface/list/member"];

/// Which interfaces are in which lists.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    lists: BTreeMap<Name, InterfaceList>,
    members: BTreeMap<ItemId, Member>,
    /// By interface: the lists that it is a member of.
    of: BTreeMap<Name, BTreeSet<(Name, ItemId)>>,
}

/// A list as a setting names it, or all interfaces but those of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    name: Name,
    others: bool,
}

impl Chosen {
    /// What a setting says; without it all interfaces.
    pub(crate) fn read(value: Option<&Value>) -> Self {
        let (value, others) = match value {
            Some(Value::Not(value)) => (Some(&**value), true),
            value => (value, false),
        };
        let name = value.and_then(Value::as_str).unwrap_or("all").into();
        Self { name, others }
    }

    /// No interface.
    pub(crate) fn none() -> Self {
        let (name, others) = ("none".into(), false);
        Self { name, others }
    }
}

impl Lists {
    /// Takes over the lists and their members. Says whether they may be other than before.
    pub(crate) fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>) -> bool {
        if !concerns(&MENUS, changes) {
            return false;
        }
        let [lists, members] = MENUS;
        // Lists are few, and go by name: a change of one may be that of its name.
        let all = view.store.items(lists);
        self.lists =
            { all.filter_map(|item| Some((item.name()?.into(), read::list(item)))) }.collect();
        each_item(view, members, changes, |id, item| {
            if let Some(gone) = self.members.remove(&id)
                && let Some(of) = self.of.get_mut(&gone.interface)
            {
                of.remove(&(gone.list, id));
                if of.is_empty() {
                    self.of.remove(&gone.interface);
                }
            }
            let member = item.and_then(read::member);
            if let Some(member) = member.filter(|member| !member.disabled) {
                let of = self.of.entry(member.interface.clone()).or_default();
                of.insert((member.list.clone(), id));
                self.members.insert(id, member);
            }
        });
        true
    }

    /// Whether an interface is among those that were chosen; `dynamic`: it is no item of the configuration.
    pub(crate) fn has(&self, chosen: &Chosen, interface: &Name, dynamic: bool) -> bool {
        let own = |list: &str| {
            let of = self.of.get(interface);
            of.is_some_and(|of| of.iter().any(|(name, _)| **name == *list))
        };
        is_in(&self.lists, &chosen.name, (&own, dynamic), 0) != chosen.others
    }
}
