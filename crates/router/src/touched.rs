//! What has to be worked out anew after a change: the items that changed, and the names that they are found by.

use std::collections::BTreeSet;

use crate::intent::{Indexed, Intent, ItemId, Items, Name, Wanted};

/// See the module. Names are those of interfaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Interfaces.
    pub(crate) interfaces: BTreeSet<ItemId>,
    /// Interfaces whose addresses are others.
    pub(crate) addresses: BTreeSet<Name>,
    /// Items of IPv4 addresses that are others, or gone.
    pub(crate) items4: BTreeSet<ItemId>,
    /// The same of IPv6.
    pub(crate) items6: BTreeSet<ItemId>,
    /// Interfaces whose configured neighbours are others.
    pub(crate) neighbours: BTreeSet<Name>,
    /// Interfaces of which something else is advertised.
    pub(crate) advertised: BTreeSet<Name>,
    /// Lists of interfaces that include or exclude other lists, that came or went.
    pub(crate) lists: BTreeSet<Name>,
    /// Interfaces that are members of other lists.
    pub(crate) members: BTreeSet<Name>,
    /// Routing tables.
    pub(crate) tables: bool,
    /// Routing rules.
    pub(crate) rules: bool,
    /// Settings of the router.
    pub(crate) settings: bool,
    /// Settings that each interface follows.
    pub(crate) of_all: bool,
}

impl Touched {
    /// Everything that this intent has.
    pub(crate) fn everything(&mut self, intent: &Intent) {
        self.interfaces.extend(intent.interfaces.keys());
        let addresses = intent.addresses4.grounds();
        let addresses = addresses.chain(intent.addresses6.grounds());
        self.addresses.extend(addresses.cloned());
        self.items4.extend(intent.addresses4.keys());
        self.items6.extend(intent.addresses6.keys());
        let neighbours = intent.neighbours4.grounds();
        let neighbours = neighbours.chain(intent.neighbours6.grounds());
        self.neighbours.extend(neighbours.cloned());
        self.lists.extend(intent.lists.keys().cloned());
        self.members.extend(intent.members.grounds().cloned());
        (self.tables, self.rules) = (true, true);
        (self.settings, self.of_all) = (true, true);
    }

    /// Adds what was touched by somebody else.
    pub(crate) fn merge(&mut self, other: Self) {
        self.interfaces.extend(other.interfaces);
        self.addresses.extend(other.addresses);
        self.items4.extend(other.items4);
        self.items6.extend(other.items6);
        self.neighbours.extend(other.neighbours);
        self.advertised.extend(other.advertised);
        self.lists.extend(other.lists);
        self.members.extend(other.members);
        self.tables |= other.tables;
        self.rules |= other.rules;
        self.settings |= other.settings;
        self.of_all |= other.of_all;
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Intent {
    /// Puts in what is wanted of an item, or takes it out, and notes what hangs on it.
    pub(crate) fn put(&mut self, item: ItemId, wanted: Wanted, touched: &mut Touched) {
        match wanted {
            Wanted::Interface(wanted) => {
                self.interfaces.set(item, wanted);
                touched.interfaces.insert(item);
            }
            Wanted::Address4(wanted) => {
                swap(&mut self.addresses4, item, wanted, &mut touched.addresses);
                touched.items4.insert(item);
            }
            Wanted::Address6(wanted) => {
                swap(&mut self.addresses6, item, wanted, &mut touched.addresses);
                touched.items6.insert(item);
            }
        }
    }

    /// Notes that an interface has queues, or has none any more.
    pub(crate) fn queue(&mut self, interface: &Name, on: bool, touched: &mut Touched) {
        let is_other = match on {
            true => self.queued.insert(interface.clone()),
            false => self.queued.remove(interface),
        };
        if is_other {
            let named = self.interfaces.first_named(interface);
            touched.interfaces.extend(named);
        }
    }

    /// Holds an interface down for a reason, or not any more.
    pub(crate) fn hold(
        &mut self,
        held: (ItemId, &'static str),
        is_held: bool,
        touched: &mut Touched,
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

/// Puts an item in, or takes it out, and notes the interfaces that it named and names.
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
