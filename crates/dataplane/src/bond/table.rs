//! Bonds by the slots of their interfaces: one writer (control), any number of readers, no lock.

use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwapOption, Guard};
use frame::InterfaceId;

use super::Bond;
use crate::interface::INTERFACES;

/// Slots that are made together.
const PAGE: usize = 256;

/// All bonds.
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
    /// The bond in this slot, as it is now. To be held for one vector at most.
    #[inline]
    pub fn get(&self, slot: usize) -> Option<Guard<Option<Arc<Bond>>>> {
        let page = self.pages.get(slot / PAGE)?.get()?;
        Some(page[slot % PAGE].load())
    }

    /// Makes a bond, or replaces it as a whole; none takes it away. Slaves' lines say [`Above::Bond`] only while it
    /// is there. Returns what was replaced: hold it until no worker can be reading it, so that none frees it. Only
    /// control calls this.
    ///
    /// [`Above::Bond`]: crate::interface::Above::Bond
    pub fn set(&self, id: InterfaceId, bond: Option<Arc<Bond>>) -> Option<Arc<Bond>> {
        let page = self.pages.get(id.slot() / PAGE)?;
        let page = page.get_or_init(|| (0..PAGE).map(|_| Slot::default()).collect());
        page[id.slot() % PAGE].swap(bond)
    }
}
