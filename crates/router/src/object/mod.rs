//! Dynamic objects that the router creates, shown with flag `D`: interfaces and members of their lists, addresses,
//! routes, neighbours, firewall rules, entries of address lists, simple queues and names.
//!
//! An object has an id, a menu and an owner. Its id is above the ids of all items and is never reused, so tables that
//! are keyed by items (interface numbers, routes) also hold objects. An owner is a feature with a number, such as a
//! session's number; removing an owner removes all of its objects, at a cost that depends on their number only.
//!
//! Interfaces, list members, addresses, neighbours and routes of features stand in the intent under their ids, among
//! the configured ones; rules stand in the firewall, before the configured ones; entries of address lists, queues and
//! names stand with the configured ones of their menu. For connected routes and link-local addresses, which follow from
//! interfaces and addresses, the registry holds a reference.

mod made;

use core::net::Ipv6Addr;
use std::collections::{BTreeMap, BTreeSet};

use frame::InterfaceId;
use menu::Value;

use crate::compile::address::OfferKey;
use crate::intent::ItemId;
use crate::rib::{V4, V6};

pub use made::{DynamicBridgePort, DynamicName, DynamicQueue, ListEntry, Made, QueueTarget};

/// First id of dynamic objects.
pub const DYNAMIC: u64 = 1 << 63;

/// Maximum number of objects: for each of a million interfaces two addresses, two routes, and three others.
const MOST: usize = 8 << 20;

/// Creator of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The feature.
    pub feature: &'static str,
    /// Number chosen by the feature: of a session, of a lease.
    pub number: u64,
}

/// Content of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// An entry of the intent with the object's id.
    Made,
    /// Connected route of an IPv4 address.
    Connected4(OfferKey<V4>),
    /// Connected route of an IPv6 address.
    Connected6(OfferKey<V6>),
    /// Link-local address that the router adds to an interface.
    LinkLocal(InterfaceId, Ipv6Addr),
    /// Link-local route of an interface.
    LinkLocalNetwork(InterfaceId),
}

impl What {
    /// Returns the menu that shows the object.
    const fn menu(self) -> Option<&'static str> {
        match self {
            Self::Made => None,
            Self::Connected4(_) => Some("/ip/route"),
            Self::Connected6(_) | Self::LinkLocalNetwork(_) => Some("/ipv6/route"),
            Self::LinkLocal(..) => Some("/ipv6/address"),
        }
    }
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// The menu that shows the object.
    pub(crate) menu: &'static str,
    /// Content.
    pub(crate) what: What,
    /// Cells that its owner adds to its row.
    pub(crate) cells: Vec<(&'static str, Value)>,
    /// Whether users may remove it.
    pub(crate) removable: bool,
    owner: Owner,
}

/// All dynamic objects.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    given: u64,
    /// Boxed: a node of the tree has room for eleven values.
    objects: BTreeMap<ItemId, Box<Object>>,
    owned: BTreeSet<(Owner, ItemId)>,
    menus: BTreeMap<&'static str, BTreeSet<ItemId>>,
    shown: BTreeMap<What, ItemId>,
}

impl Objects {
    /// Adds an object, and returns its id; `None` if there are too many.
    pub(crate) fn add(
        &mut self,
        owner: Owner,
        menu: &'static str,
        cells: Vec<(&'static str, Value)>,
        removable: bool,
    ) -> Option<ItemId> {
        self.enter(Object {
            menu,
            what: What::Made,
            cells,
            removable,
            owner,
        })
    }

    fn enter(&mut self, object: Object) -> Option<ItemId> {
        if self.objects.len() >= MOST {
            return None;
        }
        self.given += 1;
        let id = DYNAMIC | self.given;
        self.owned.insert((object.owner, id));
        self.menus.entry(object.menu).or_default().insert(id);
        self.objects.insert(id, Box::new(object));
        Some(id)
    }

    /// Adds or removes the row of a route or address that follows from an interface or an address.
    pub(crate) fn show(&mut self, what: What, is_there: bool) {
        let Some(menu) = what.menu() else {
            return;
        };
        match (self.shown.get(&what).copied(), is_there) {
            (None, true) => {
                let object = Object {
                    menu,
                    what,
                    cells: Vec::new(),
                    removable: false,
                    owner: ROUTER,
                };
                let id = self.enter(object);
                self.shown.extend(id.map(|id| (what, id)));
            }
            (Some(id), false) => _ = self.remove(id),
            _ => {}
        }
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, id: ItemId) -> Option<Object> {
        let object = *self.objects.remove(&id)?;
        self.owned.remove(&(object.owner, id));
        if let Some(of_menu) = self.menus.get_mut(object.menu) {
            of_menu.remove(&id);
        }
        self.shown.remove(&object.what);
        Some(object)
    }

    /// Returns the ids of an owner's objects.
    pub(crate) fn owned_by(&self, owner: Owner) -> impl Iterator<Item = ItemId> {
        let owned = self.owned.range((owner, 0)..=(owner, ItemId::MAX));
        owned.map(|(_, id)| *id)
    }

    /// Returns an object.
    pub(crate) fn get(&self, id: ItemId) -> Option<&Object> {
        self.objects.get(&id).map(|object| &**object)
    }

    /// Returns the objects of a menu, the oldest first.
    pub(crate) fn of(&self, menu: &str) -> impl Iterator<Item = (ItemId, &Object)> {
        let ids = self.menus.get(menu).into_iter().flatten();
        ids.filter_map(|id| Some((*id, &**self.objects.get(id)?)))
    }

    /// Returns the menus that have or had objects.
    pub(crate) fn menus(&self) -> impl Iterator<Item = &'static str> {
        self.menus.keys().copied()
    }

    /// Returns the number of objects.
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }
}

/// Owner of routes and addresses that follow from interfaces and addresses.
const ROUTER: Owner = Owner {
    feature: "router",
    number: 0,
};

#[cfg(test)]
mod tests {
    use super::*;

    fn session(number: u64) -> Owner {
        Owner {
            feature: "ppp",
            number,
        }
    }

    #[test]
    fn objects_are_found_by_owner_and_ids_are_never_used_twice() {
        let mut objects = Objects::default();
        let mut seen = BTreeSet::new();
        for round in 0..3 {
            for number in 0..100 {
                for menu in ["/ip/address", "/ip/route"] {
                    let id = objects.add(session(number), menu, Vec::new(), false);
                    assert!(seen.insert(id.expect("room")), "round {round}");
                }
            }
            assert_eq!(objects.of("/ip/route").count(), 100);
            let owned: Vec<_> = objects.owned_by(session(7)).collect();
            assert_eq!(owned.len(), 2);
            for id in owned {
                objects.remove(id);
            }
            assert_eq!(objects.owned_by(session(7)).count(), 0);
            assert_eq!(objects.len(), 198);
            for number in 0..100 {
                let owned: Vec<_> = objects.owned_by(session(number)).collect();
                assert!(owned.into_iter().all(|id| objects.remove(id).is_some()));
            }
            assert_eq!((objects.len(), objects.owned.len()), (0, 0));
        }
    }

    #[test]
    fn objects_of_the_router_are_shown_once_and_keep_their_id() {
        let mut objects = Objects::default();
        let what = What::LinkLocalNetwork(InterfaceId(3));
        objects.show(what, true);
        let first: Vec<_> = objects.of("/ipv6/route").map(|(id, _)| id).collect();
        objects.show(what, true);
        let again: Vec<_> = objects.of("/ipv6/route").map(|(id, _)| id).collect();

        assert_eq!((first.len(), &first), (1, &again));
        objects.show(what, false);
        assert_eq!((objects.len(), objects.shown.len()), (0, 0));
    }
}
