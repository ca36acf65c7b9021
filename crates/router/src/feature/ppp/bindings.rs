//! Bindings: interface items for the sessions of one user, such as `/interface/pppoe-server add user=anna`.

use std::collections::{BTreeMap, BTreeSet};

use menu::Item;

use crate::intent::{Interface, ItemId, Name};
use crate::kind;

/// Bindings: interface items for the sessions of one user.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    all: BTreeMap<ItemId, Binding>,
    /// Bindings without a session, by service and user.
    free: BTreeSet<(&'static str, Name, ItemId)>,
}

#[derive(Debug)]
struct Binding {
    service: &'static str,
    user: Name,
    interface: Interface,
    session: Option<u64>,
}

impl Bindings {
    /// Sets or removes the binding of an item. Returns the session that used it.
    pub(super) fn put(
        &mut self,
        service: &'static str,
        id: ItemId,
        item: Option<&Item>,
    ) -> Option<u64> {
        let before = self.all.remove(&id);
        if let Some(before) = &before {
            self.free.remove(&(before.service, before.user.clone(), id));
        }
        let session = before.as_ref().and_then(|before| before.session);
        if let Some(item) = item
            && let Some(interface) = kind::read_item(item)
        {
            let user = Name::from(item.text("user"));
            let is_same = before.is_some_and(|before| {
                before.user == user && before.interface.name == interface.name
            });
            let kept = session.filter(|_| is_same && !interface.disabled);
            if kept.is_none() && !interface.disabled {
                self.free.insert((service, user.clone(), id));
            }
            let binding = Binding {
                service,
                user,
                interface,
                session: kept,
            };
            self.all.insert(id, binding);
        }
        session
    }

    /// Whether an item has a session.
    pub(super) fn has_session(&self, id: ItemId) -> bool {
        { self.all.get(&id) }.is_some_and(|binding| binding.session.is_some())
    }

    /// Assigns a free binding of a user to a session. Returns its item and its name.
    pub(super) fn assign(
        &mut self,
        service: &'static str,
        user: &Name,
        session: u64,
    ) -> Option<(ItemId, Name)> {
        let from = (service, user.clone(), 0);
        let to = (service, user.clone(), ItemId::MAX);
        let key = self.free.range(from..=to).next()?.clone();
        let binding = self.all.get_mut(&key.2)?;
        binding.session = Some(session);
        let assigned = (key.2, binding.interface.name.clone());
        self.free.remove(&key);
        Some(assigned)
    }

    /// Frees the binding of a session.
    pub(super) fn release(&mut self, id: ItemId, session: u64) {
        if let Some(binding) = self.all.get_mut(&id)
            && binding.session == Some(session)
        {
            binding.session = None;
            let key = (binding.service, binding.user.clone(), id);
            self.free.insert(key);
        }
    }

    /// Returns the interface of a binding, without a session.
    pub(super) fn interface(&self, id: ItemId) -> Option<&Interface> {
        Some(&self.all.get(&id)?.interface)
    }
}
