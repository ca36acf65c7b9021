//! The objects to recompute after a change: items that changed, and names that other items refer to.

use std::collections::BTreeSet;

use crate::intent::{Indexed, Intent, ItemId, ItemState, Items, Name, Neighbour};
use crate::rib::{Family, V4, V6};

/// Objects to recompute. Names are interface names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecomputeSet {
    /// Interfaces.
    pub(crate) interfaces: BTreeSet<ItemId>,
    /// Interfaces whose addresses changed.
    pub(crate) addresses: BTreeSet<Name>,
    /// Items of IPv4 addresses that changed or were removed.
    pub(crate) items4: BTreeSet<ItemId>,
    /// Items of IPv6 addresses that changed or were removed.
    pub(crate) items6: BTreeSet<ItemId>,
    /// Configured IPv4 neighbours that changed: interface and address.
    pub(crate) neighbours4: BTreeSet<(Name, <V4 as Family>::Addr)>,
    /// Configured IPv6 neighbours that changed: interface and address.
    pub(crate) neighbours6: BTreeSet<(Name, <V6 as Family>::Addr)>,
    /// Interfaces whose advertisements changed.
    pub(crate) advertised: BTreeSet<Name>,
    /// Interface lists that were added or removed, or whose included or excluded lists changed.
    pub(crate) lists: BTreeSet<Name>,
    /// Interfaces whose list membership changed.
    pub(crate) members: BTreeSet<Name>,
    /// Routing tables.
    pub(crate) tables: bool,
    /// Routing rules.
    pub(crate) rules: bool,
    /// Settings of the router.
    pub(crate) settings: bool,
    /// Settings that each interface uses.
    pub(crate) of_all: bool,
}

impl RecomputeSet {
    /// Marks all of the intent.
    pub(crate) fn everything(&mut self, intent: &Intent) {
        self.interfaces.extend(intent.interfaces.keys());
        let addresses = intent.addresses4.grounds();
        let addresses = addresses.chain(intent.addresses6.grounds());
        self.addresses.extend(addresses.cloned());
        self.items4.extend(intent.addresses4.keys());
        self.items6.extend(intent.addresses6.keys());
        self.neighbours4
            .extend(intent.neighbours4.values().map(neighbour));
        self.neighbours6
            .extend(intent.neighbours6.values().map(neighbour));
        self.lists.extend(intent.lists.keys().cloned());
        self.members.extend(intent.members.grounds().cloned());
        (self.tables, self.rules) = (true, true);
        (self.settings, self.of_all) = (true, true);
    }

    /// Adds the marks of another change.
    pub(crate) fn merge(&mut self, other: Self) {
        self.interfaces.extend(other.interfaces);
        self.addresses.extend(other.addresses);
        self.items4.extend(other.items4);
        self.items6.extend(other.items6);
        self.neighbours4.extend(other.neighbours4);
        self.neighbours6.extend(other.neighbours6);
        self.advertised.extend(other.advertised);
        self.lists.extend(other.lists);
        self.members.extend(other.members);
        self.tables |= other.tables;
        self.rules |= other.rules;
        self.settings |= other.settings;
        self.of_all |= other.of_all;
    }

    /// Whether nothing is marked.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Intent {
    /// Inserts or removes an item of the intent, and marks its dependants.
    pub(crate) fn put(&mut self, item: ItemId, wanted: ItemState, touched: &mut RecomputeSet) {
        match wanted {
            ItemState::Interface(wanted) => {
                self.interfaces.set(item, wanted);
                touched.interfaces.insert(item);
            }
            ItemState::Address4(wanted) => {
                swap(&mut self.addresses4, item, wanted, &mut touched.addresses);
                touched.items4.insert(item);
            }
            ItemState::Address6(wanted) => {
                swap(&mut self.addresses6, item, wanted, &mut touched.addresses);
                touched.items6.insert(item);
            }
            ItemState::Member(wanted) => {
                swap(&mut self.members, item, wanted, &mut touched.members);
            }
            ItemState::Neighbour4(wanted) => {
                let before = self.neighbours4.set(item, wanted);
                let both = before.iter().chain(self.neighbours4.get(&item));
                touched.neighbours4.extend(both.map(neighbour));
            }
            ItemState::Neighbour6(wanted) => {
                let before = self.neighbours6.set(item, wanted);
                let both = before.iter().chain(self.neighbours6.get(&item));
                touched.neighbours6.extend(both.map(neighbour));
            }
        }
    }

    /// Adds or removes the queues of an interface, and marks its dependants.
    pub(crate) fn queue(&mut self, interface: &Name, on: bool, touched: &mut RecomputeSet) {
        let is_other = match on {
            true => self.queued.insert(interface.clone()),
            false => self.queued.remove(interface),
        };
        if is_other {
            let named = self.interfaces.first_named(interface);
            touched.interfaces.extend(named);
        }
    }

    /// Adds or removes a reason that holds an interface down.
    pub(crate) fn hold(
        &mut self,
        held: (ItemId, &'static str),
        is_held: bool,
        touched: &mut RecomputeSet,
    ) {
        let is_other = match is_held {
            true => self.held.insert(held),
            false => self.held.remove(&held),
        };
        if is_other {
            touched.interfaces.insert(held.0);
        }
    }
}

/// Returns the interface and the address of a neighbour.
fn neighbour<F: Family>(neighbour: &Neighbour<F>) -> (Name, F::Addr) {
    (neighbour.interface.clone(), neighbour.addr)
}

/// Inserts or removes an item, and marks the interfaces that it referred to and refers to.
pub(crate) fn swap<T: Indexed>(
    items: &mut Items<T>,
    item: ItemId,
    wanted: Option<T>,
    names: &mut BTreeSet<Name>,
) {
    let before = items.set(item, wanted);
    let named = [before.as_ref(), items.get(&item)].into_iter().flatten();
    names.extend(named.filter_map(T::stands_on).cloned());
}
