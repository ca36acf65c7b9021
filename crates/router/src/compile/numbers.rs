//! Numbers of interfaces and routing tables in workers.

use std::collections::{BTreeMap, VecDeque};

use frame::InterfaceId;

use crate::intent::ItemId;

/// The numbers of interfaces and tables.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    interfaces: BTreeMap<ItemId, InterfaceId>,
    mirrors: BTreeMap<InterfaceId, InterfaceId>,
    tables: BTreeMap<ItemId, u16>,
    slots: Slots,
}

/// Slots of the interface table. A released slot gets its next generation, and is reused after enough other releases
/// that no frame refers to it any more.
#[derive(Clone, Debug, Default)]
struct Slots {
    last: u32,
    free: VecDeque<InterfaceId>,
}

/// Number of released slots that are held back.
const RESTING: usize = 64;

impl Slots {
    fn take(&mut self) -> InterfaceId {
        if self.free.len() > RESTING
            && let Some(id) = self.free.pop_front()
        {
            return id;
        }
        self.last += 1;
        InterfaceId(self.last)
    }

    fn give_back(&mut self, id: InterfaceId) {
        let next = InterfaceId::new(id.slot() as u32, id.generation().wrapping_add(1));
        self.free.push_back(next);
    }
}

/// `main` is table 0; this is the capacity of the FIB.
const TABLES: u16 = dataplane::table::fib::TABLES as u16;

impl Numbers {
    /// Returns the number of an interface, which a new interface gets here.
    pub fn interface(&mut self, item: ItemId) -> InterfaceId {
        let slots = &mut self.slots;
        *self.interfaces.entry(item).or_insert_with(|| slots.take())
    }

    /// Returns the number of a known interface.
    pub fn known(&self, item: ItemId) -> Option<InterfaceId> {
        self.interfaces.get(&item).copied()
    }

    /// Returns the number of an interface's mirror in the workers.
    pub fn mirror(&mut self, interface: InterfaceId) -> InterfaceId {
        let slots = &mut self.slots;
        *self
            .mirrors
            .entry(interface)
            .or_insert_with(|| slots.take())
    }

    /// Assigns a number to the shared mirror of point-to-point interfaces.
    pub fn shared_mirror(&mut self) -> InterfaceId {
        self.slots.take()
    }

    /// Returns the highest assigned slot.
    pub fn last(&self) -> InterfaceId {
        InterfaceId(self.slots.last)
    }

    /// Returns the number of a routing table; `None` if all are in use.
    pub fn table(&mut self, item: ItemId) -> Option<u16> {
        if let Some(number) = self.tables.get(&item) {
            return Some(*number);
        }
        let number = (1..TABLES).find(|n| !self.tables.values().any(|used| used == n))?;
        self.tables.insert(item, number);
        Some(number)
    }

    /// Releases the numbers of removed tables, whose routes are already removed.
    pub fn keep_tables(&mut self, keep: impl Fn(&ItemId) -> bool) {
        self.tables.retain(|item, _| keep(item));
    }

    /// Releases the number of a removed interface, and of its mirror.
    pub fn release(&mut self, item: ItemId) {
        let Some(id) = self.interfaces.remove(&item) else {
            return;
        };
        self.slots.give_back(id);
        if let Some(mirror) = self.mirrors.remove(&id) {
            self.slots.give_back(mirror);
        }
    }
}
