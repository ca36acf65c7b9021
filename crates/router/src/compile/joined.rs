//! Joins: bridges and bonds, as their features say that they are, and the interfaces whose frames they take.

use std::collections::BTreeSet;

use dataplane::interface::Above;
use frame::InterfaceId;

use super::layout::{Laid, Layout};
use crate::intent::{Intent, ItemId, Name};

impl Laid {
    /// The most that the device below carries behind an Ethernet header, in bytes; 0 if it does not say.
    pub(crate) const fn carries(&self) -> u32 {
        self.carries
    }

    /// Whether another interface takes its frames. Then it has no addresses and no routes of its own.
    pub const fn is_slave(&self) -> bool {
        self.above.is_some()
    }

    /// Its link, as routes see it: they do not lead by slaves.
    pub(crate) fn link_of_routes(&self) -> crate::rib::Link {
        let mut link = self.link.clone();
        link.running &= !self.is_slave();
        link
    }
}

impl Layout {
    /// What takes the frames of an interface before it does: its master, if that is there and in use. Frames without
    /// an Ethernet header are nobody's to take, and neither are those of a master.
    pub(super) fn master(&self, laid: &Laid, intent: &Intent) -> Option<(Above, InterfaceId)> {
        if laid.disabled || laid.invalid || !laid.link.ethernet || laid.loopback {
            return None;
        }
        let (above, name) = intent.slaves.master(&laid.name)?;
        let (id, master) = self.named(name)?;
        let kind = &intent.interfaces.get(&master.item)?.kind;
        let own = intent.interfaces.get(&laid.item);
        // Bridges are no ports of bridges; a bond may be one.
        let is_alike = own.is_some_and(|own| own.kind.master_of() == above);
        let may_take = kind.master_of() == above && !is_alike && !master.disabled;
        may_take.then_some((above, id))
    }

    /// The items of slaves that are laid out otherwise when their master becomes this.
    pub(super) fn freed_or_taken(
        &self,
        id: InterfaceId,
        laid: &Laid,
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

    /// The MTU that the bond needs of an interface that is its slave; 0: it is nobody's.
    pub(super) fn mtu_of_bond(&self, laid: &Laid) -> u32 {
        let bond = laid.above.filter(|(above, _)| *above == Above::Bond);
        let bond = bond.and_then(|(_, id)| self.interfaces.get(&id));
        bond.map_or(0, |bond| bond.given_mtu)
    }

    /// The names under which addresses of an interface are configured: its own, and those of its slaves.
    ///
    /// RouterOS: an address of a port of a bridge is the bridge's (`actual-interface`).
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

    /// The interface that the addresses of one belong to: its master, if it is a slave.
    pub fn owner(&self, id: InterfaceId) -> InterfaceId {
        let mut id = id;
        // A slave of a bond that is a port of a bridge: two steps at most.
        for _ in 0..2 {
            let above = self.interfaces.get(&id).and_then(|laid| laid.above);
            id = above.map_or(id, |(_, master)| master);
        }
        id
    }
}

/// The items of what has this name for a master.
pub(super) fn slaves(name: &str, intent: &Intent) -> BTreeSet<ItemId> {
    let named = intent.slaves.of(name);
    named
        .filter_map(|name| intent.interfaces.first_named(name))
        .collect()
}
