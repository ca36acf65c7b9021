//! Limits how many slots of a pool holders may have. A holder keeps frames for longer than a step: fragments
//! until their packet is complete, packets until their neighbour is resolved, queues. The limit leaves slots
//! for receiving.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::Class;

/// Held slots of one pool, shared by all pools of the group, because a holder may be on another thread.
#[derive(Debug)]
pub(crate) struct HolderLimits {
    /// Per class: number of held slots, and their maximum.
    held: [AtomicU32; 3],
    bounds: [AtomicU32; 3],
}

impl HolderLimits {
    /// Creates the limits of a pool with `slots` slots per class: half of them for holders until `reserve` is
    /// called.
    pub(crate) fn new(slots: [usize; 3]) -> Self {
        Self {
            held: Default::default(),
            bounds: slots.map(|slots| AtomicU32::new((slots / 2) as u32)),
        }
    }

    /// Reserves up to `reserved` of `slots` small slots for ports and frames in transit. Ports stop lending
    /// to their devices when an eighth is left. A quarter is for holders in any case.
    pub(crate) fn reserve(&self, slots: usize, reserved: usize) {
        let left = (slots - slots / 8).saturating_sub(reserved);
        let bound = left.max(slots / 4) as u32;
        self.bounds[Class::Small as usize].store(bound, Ordering::Relaxed);
    }

    /// Takes one slot. Returns false if holders have their maximum.
    #[must_use]
    pub(crate) fn take(&self, class: Class) -> bool {
        let bound = self.bounds[class as usize].load(Ordering::Relaxed);
        let more = |held| (held < bound).then_some(held + 1);
        let held = &self.held[class as usize];
        held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }

    /// Returns one slot.
    pub(crate) fn give_back(&self, class: Class) {
        self.held[class as usize].fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the number of held slots of a class, and their maximum.
    pub(crate) fn get(&self, class: Class) -> (usize, usize) {
        let of = |count: &[AtomicU32; 3]| count[class as usize].load(Ordering::Relaxed) as usize;
        (of(&self.held), of(&self.bounds))
    }
}
