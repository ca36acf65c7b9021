//! What holders may have of a pool. A holder keeps frames for longer than a step: fragments until their datagram is
//! whole, packets until their neighbour is resolved, queues. However much they hold, slots are left for receiving.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::Class;

/// The count of one pool, which all pools of its group see: a holder may be on another thread.
#[derive(Debug)]
pub(crate) struct Share {
    /// By class: slots that are held, and how many may be.
    held: [AtomicU32; 3],
    bounds: [AtomicU32; 3],
}

impl Share {
    /// Of a pool with so many slots of each class, half of them for holders until somebody says more.
    pub(crate) fn new(slots: [usize; 3]) -> Self {
        Self {
            held: Default::default(),
            bounds: slots.map(|slots| AtomicU32::new((slots / 2) as u32)),
        }
    }

    /// Of `slots` small ones, ports and frames on their way take up to `reserved`. Ports stop lending to their
    /// devices when an eighth is left. A quarter is for holders in any case.
    pub(crate) fn reserve(&self, slots: usize, reserved: usize) {
        let left = (slots - slots / 8).saturating_sub(reserved);
        let bound = left.max(slots / 4) as u32;
        self.bounds[Class::Small as usize].store(bound, Ordering::Relaxed);
    }

    /// Takes one more slot. False where holders have all that they may.
    #[must_use]
    pub(crate) fn take(&self, class: Class) -> bool {
        let bound = self.bounds[class as usize].load(Ordering::Relaxed);
        let more = |held| (held < bound).then_some(held + 1);
        let held = &self.held[class as usize];
        held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }

    /// Gives one back.
    pub(crate) fn give_back(&self, class: Class) {
        self.held[class as usize].fetch_sub(1, Ordering::Relaxed);
    }

    /// Slots of a class that are held, and how many may be.
    pub(crate) fn get(&self, class: Class) -> (usize, usize) {
        let of = |count: &[AtomicU32; 3]| count[class as usize].load(Ordering::Relaxed) as usize;
        (of(&self.held), of(&self.bounds))
    }
}
