//! Bridges and bonds as masters, and the interfaces whose frames they take.

use std::collections::BTreeSet;

use dataplane::interface::Above;
use frame::InterfaceId;

use super::layout::{Layout, LayoutEntry};
use crate::intent::{Intent, ItemId, Name};

impl LayoutEntry {
    /// Maximum payload behind an Ethernet header on the device below, in bytes; 0 if unknown.
    pub(crate) const fn carries(&self) -> u32 {
        self.carries
    }

    /// Whether a master takes its frames. A slave has no addresses and no routes.
    pub const fn is_slave(&self) -> bool {
        self.above.is_some()
    }

    /// Returns its link for routes: no route leads to a slave.
    pub(crate) fn link_of_routes(&self) -> crate::rib::Link {
        let mut link = self.link.clone();
        link.running &= !self.is_slave();
        link
    }
}

impl Layout {
    /// Returns the master that takes the frames of an interface, if the master exists and is enabled. Interfaces
    /// without an Ethernet header and masters of the same kind have no master.
    pub(super) fn master(
        &self,
        laid: &LayoutEntry,
        intent: &Intent,
    ) -> Option<(Above, InterfaceId)> {
        if laid.disabled || laid.invalid || !laid.link.ethernet || laid.loopback {
            return None;
        }
        let (above, name) = intent.slaves.master(&laid.name)?;
        let (id, master) = self.named(name)?;
        let kind = &intent.interfaces.get(&master.item)?.kind;
        let own = intent.interfaces.get(&laid.item);
        // A bridge cannot be a port of a bridge; a bond can.
        let is_alike = own.is_some_and(|own| own.kind.master_of() == above);
        let may_take = kind.master_of() == above && !is_alike && !master.disabled;
        may_take.then_some((above, id))
    }

    /// Returns the items of slaves whose layout changes when their master changes to `laid`.
    pub(super) fn freed_or_taken(
        &self,
        id: InterfaceId,
        laid: &LayoutEntry,
        intent: &Intent,
    ) -> BTreeSet<ItemId> {
        let before = self.interfaces.get(&id);
        let is_same = before.is_some_and(|before| {
            (
                before.disabled,
                &before.name,
                before.is_master,
                before.given_mtu,
            ) == (laid.disabled, &laid.name, laid.is_master, laid.given_mtu)
        });
        match is_same {
            true => BTreeSet::new(),
            false => slaves(&laid.name, intent),
        }
    }

    /// Returns the MTU that a bond requires of a slave; 0 without a bond.
    pub(super) fn mtu_of_bond(&self, laid: &LayoutEntry) -> u32 {
        let bond = laid.above.filter(|(above, _)| *above == Above::Bond);
        let bond = bond.and_then(|(_, id)| self.interfaces.get(&id));
        bond.map_or(0, |bond| bond.given_mtu)
    }

    /// Returns the names under which addresses of an interface are configured: its own name, and the names of its
    /// slaves.
    ///
    /// RouterOS: the address of a bridge port belongs to the bridge (`actual-interface`).
    pub(super) fn names_of(&self, id: InterfaceId, intent: &Intent) -> Vec<Name> {
        let Some(laid) = self.interfaces.get(&id) else {
            return Vec::new();
        };
        let mut names = vec![laid.name.clone()];
        let is_own = |name: &&Name| {
            let slave = self.by_name.get(*name);
            slave.is_some_and(|slave| self.owner(*slave) == id)
        };
        let slaves: Vec<_> = intent.slaves.of(&laid.name).filter(is_own).collect();
        let below = slaves.iter().flat_map(|name| intent.slaves.of(name));
        names.extend(below.filter(is_own).cloned());
        names.extend(slaves.into_iter().cloned());
        names
    }

    /// Returns the interface that owns the addresses of an interface: for a slave, its master.
    pub fn owner(&self, id: InterfaceId) -> InterfaceId {
        let mut id = id;
        // Two steps at most: from a slave to its bond, and from the bond to its bridge.
        for _ in 0..2 {
            let above = self.interfaces.get(&id).and_then(|laid| laid.above);
            id = above.map_or(id, |(_, master)| master);
        }
        id
    }
}

/// Returns the items of the slaves of a master with this name.
pub(super) fn slaves(name: &str, intent: &Intent) -> BTreeSet<ItemId> {
    let named = intent.slaves.of(name);
    named
        .filter_map(|name| intent.interfaces.first_named(name))
        .collect()
}
