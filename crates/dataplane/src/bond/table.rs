//! Bonds by the slots of their interfaces: written by control, read by workers without a lock.

use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwapOption, Guard};
use frame::InterfaceId;

use super::Bond;
use crate::interface::INTERFACES;

/// Slots that are allocated together.
const PAGE: usize = 256;

/// The table of all bonds.
#[derive(Debug)]
pub struct Bonds {
    pages: Box<[OnceLock<Box<[Slot]>>]>,
}

type Slot = ArcSwapOption<Bond>;

impl Default for Bonds {
    fn default() -> Self {
        Self {
            pages: (0..INTERFACES / PAGE).map(|_| OnceLock::new()).collect(),
        }
    }
}

impl Bonds {
    /// Returns the current bond in this slot. Hold it for one vector at most.
    #[inline]
    pub fn get(&self, slot: usize) -> Option<Guard<Option<Arc<Bond>>>> {
        let page = self.pages.get(slot / PAGE)?.get()?;
        Some(page[slot % PAGE].load())
    }

    /// Sets or replaces a bond; `None` removes it. Interfaces of slaves say [`Above::Bond`] only
    /// while the bond exists. Returns the previous bond: the caller holds it until no worker can be
    /// reading it, so that no worker frees it. Only control calls this.
    ///
    /// [`Above::Bond`]: crate::interface::Above::Bond
    pub fn set(&self, id: InterfaceId, bond: Option<Arc<Bond>>) -> Option<Arc<Bond>> {
        let page = self.pages.get(id.slot() / PAGE)?;
        let page = page.get_or_init(|| (0..PAGE).map(|_| Slot::default()).collect());
        page[id.slot() % PAGE].swap(bond)
    }
}
