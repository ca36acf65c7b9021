//! What has to be worked out anew after a change: the items that changed, and the names that they are found by.

use std::collections::BTreeSet;

use crate::intent::{Intent, ItemId, Name};

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
    /// Lists of interfaces and their members.
    pub(crate) lists: bool,
    /// Routing tables.
    pub(crate) tables: bool,
    /// Routing rules.
    pub(crate) rules: bool,
    /// Settings that hold for all interfaces.
    pub(crate) settings: bool,
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
        (self.lists, self.tables) = (true, true);
        (self.rules, self.settings) = (true, true);
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
