//! Applies added and removed interface addresses to neighbour machines, mirrors and routes.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use frame::InterfaceId;
use service::neighbour::{DuplicateDetection, Event};

use super::{Control, Dad};
use crate::compile::{LayoutUpdate, Moved, Own4, Own6, address};
use crate::object::What;
use crate::plan::{Step, plan};

impl Control {
    /// Announces the interface addresses that were added, changed or removed.
    pub(super) fn change_addresses(
        &mut self,
        update: &LayoutUpdate,
        moved: &BTreeMap<InterfaceId, Moved>,
    ) {
        for (id, moved) in moved {
            self.change_addresses4(*id, moved);
            self.change_addresses6(*id, moved);
        }
        let others: BTreeSet<_> = update.before.keys().chain(moved.keys()).collect();
        for id in others {
            self.show_link_local_network(*id);
        }
    }

    fn show_link_local_network(&mut self, id: InterfaceId) {
        let laid = self.layout.interfaces.get(&id);
        let mut own = self.addresses.of6(id).map(|(addr, _)| addr);
        let is_there = laid.is_some_and(|laid| laid.link.running)
            && own.any(|addr| addr.is_unicast_link_local());
        drop(own);
        self.objects.show(What::LinkLocalNetwork(id), is_there);
    }

    fn change_addresses4(&mut self, id: InterfaceId, moved: &Moved) {
        for step in plan(&moved.before4, &moved.now4) {
            match step {
                Step::Remove(addr, _) => self.lose4(id, *addr),
                Step::Add(addr, own) => self.gain4(id, *addr, own),
                Step::Change(addr, _, own) => {
                    self.lose4(id, *addr);
                    self.gain4(id, *addr, own);
                }
            }
        }
    }

    fn change_addresses6(&mut self, id: InterfaceId, moved: &Moved) {
        for addr in moved.before6.keys().chain(moved.now6.keys()) {
            let own = moved.now6.get(addr);
            let comes_by_itself = own.is_some_and(|own| own.item.is_none());
            self.objects
                .show(What::LinkLocal(id, *addr), comes_by_itself);
        }
        for step in plan(&moved.before6, &moved.now6) {
            match step {
                Step::Remove(addr, _) => self.lose6(id, *addr),
                Step::Add(addr, own) => self.gain6(id, *addr, own),
                // Only the settings for routes and advertisements have changed.
                Step::Change(addr, old, own) if (old.len, old.detect) == (own.len, own.detect) => {
                    self.claim6(id, *addr);
                }
                Step::Change(addr, _, own) => {
                    self.lose6(id, *addr);
                    self.gain6(id, *addr, own);
                }
            }
        }
    }

    fn gain4(&mut self, id: InterfaceId, address: Ipv4Addr, own: &Own4) {
        let event = Event::AddressAdded {
            address,
            prefix_len: own.len,
            detect: DuplicateDetection::Skip,
        };
        self.feed4(id, event);
        self.mirror_addresses(id);
        self.use_address(id, address.into());
        let keys = address::keys4(id, address, own);
        self.v4.claims.set(id, address, keys);
    }

    fn lose4(&mut self, id: InterfaceId, address: Ipv4Addr) {
        self.purge_masquerade(id, Some(u128::from(u32::from(address))));
        self.feed4(id, Event::AddressRemoved { address });
        self.mirror_addresses(id);
        self.give_up_address(id, address.into());
        self.v4.claims.set(id, address, Vec::new());
    }

    fn gain6(&mut self, id: InterfaceId, address: Ipv6Addr, own: &Own6) {
        let (detect, state) = match own.detect {
            true => (DuplicateDetection::Run, Dad::Tentative),
            false => (DuplicateDetection::Skip, Dad::Done),
        };
        self.set_dad(id, address, Some(state));
        let event = Event::AddressAdded {
            address,
            prefix_len: own.len,
            detect,
        };
        self.feed6(id, event);
        self.mirror_addresses(id);
    }

    fn lose6(&mut self, id: InterfaceId, address: Ipv6Addr) {
        self.set_dad(id, address, None);
        self.purge_masquerade(id, Some(u128::from(address)));
        self.feed6(id, Event::AddressRemoved { address });
        self.mirror_addresses(id);
    }

    /// Records the state of duplicate address detection for an address; `None` if the address was removed.
    pub(super) fn set_dad(&mut self, id: InterfaceId, address: Ipv6Addr, dad: Option<Dad>) {
        let before = match dad {
            Some(dad) => self.dad.insert((id, address), dad),
            None => self.dad.remove(&(id, address)),
        };
        let used = dad == Some(Dad::Done);
        if used != (before == Some(Dad::Done)) {
            match used {
                true => self.use_address(id, address.into()),
                false => self.give_up_address(id, address.into()),
            }
        }
        self.due.interfaces.insert(id);
        self.claim6(id, address);
    }

    /// Updates the routes that an IPv6 address claims.
    fn claim6(&mut self, id: InterfaceId, addr: Ipv6Addr) {
        let own = self.addresses.ipv6.get(&(id, addr));
        let keys = own.zip(self.dad.get(&(id, addr))).map(|(own, dad)| {
            let forward = self.intent.ipv6.forward;
            address::keys6(id, addr, own, forward, *dad)
        });
        self.v6.claims.set(id, addr, keys.unwrap_or_default());
    }

    /// Updates the routes that all IPv6 addresses claim, after IPv6 forwarding may have been switched on or off.
    pub(super) fn claim_all6(&mut self) {
        let all: Vec<_> = self.addresses.ipv6.keys().copied().collect();
        for (id, address) in all {
            self.claim6(id, address);
        }
    }
}
