//! The numbers by which workers know interfaces and routing tables.

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

/// The slots of the table of interfaces. One that is given back gets its next generation, and is given
/// again when enough others have been given back since that no frame is left which names it.
#[derive(Clone, Debug, Default)]
struct Slots {
    last: u32,
    free: VecDeque<InterfaceId>,
}

/// How many slots rest.
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

/// `main` is table 0; the FIB has room for this many.
const TABLES: u16 = dataplane::table::fib::TABLES as u16;

impl Numbers {
    /// The number of a configured interface.
    pub fn interface(&mut self, item: ItemId) -> InterfaceId {
        let slots = &mut self.slots;
        *self.interfaces.entry(item).or_insert_with(|| slots.take())
    }

    /// The number of an interface that has one.
    pub fn known(&self, item: ItemId) -> Option<InterfaceId> {
        self.interfaces.get(&item).copied()
    }

    /// The number under which the walk knows the mirror of an interface.
    pub fn mirror(&mut self, interface: InterfaceId) -> InterfaceId {
        let slots = &mut self.slots;
        *self
            .mirrors
            .entry(interface)
            .or_insert_with(|| slots.take())
    }

    /// A number for the mirror that point-to-point interfaces share.
    pub fn shared_mirror(&mut self) -> InterfaceId {
        self.slots.take()
    }

    /// The highest slot given.
    pub fn last(&self) -> InterfaceId {
        InterfaceId(self.slots.last)
    }

    /// The number of a routing table; none when all are taken.
    pub fn table(&mut self, item: ItemId) -> Option<u16> {
        if let Some(number) = self.tables.get(&item) {
            return Some(*number);
        }
        let number = (1..TABLES).find(|n| !self.tables.values().any(|used| used == n))?;
        self.tables.insert(item, number);
        Some(number)
    }

    /// Forgets the numbers of tables that are gone: their routes are.
    pub fn keep_tables(&mut self, keep: impl Fn(&ItemId) -> bool) {
        self.tables.retain(|item, _| keep(item));
    }

    /// Forgets the number of an interface that is gone, and its mirror's.
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
