//! Bitmap of the pool's slots that a port has lent to its rings.

use frame::Class;

const SLOT_BYTES: u64 = Class::Small.slot_bytes() as u64;

/// One mark per slot. Addresses are offsets into the UMEM and may point anywhere in a slot.
#[derive(Debug)]
pub(super) struct LentSlots {
    marks: Box<[u64]>,
}

impl LentSlots {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            marks: vec![0; slots.div_ceil(64)].into_boxed_slice(),
        }
    }

    /// Marks a slot.
    #[inline]
    pub(super) fn mark(&mut self, address: u64) {
        let slot = address / SLOT_BYTES;
        if let Some(word) = self.marks.get_mut((slot / 64) as usize) {
            *word |= 1 << (slot % 64);
        }
    }

    /// Clears the mark of a slot; returns whether it was marked.
    #[inline]
    pub(super) fn take(&mut self, address: u64) -> bool {
        let slot = address / SLOT_BYTES;
        let Some(word) = self.marks.get_mut((slot / 64) as usize) else {
            return false;
        };
        let mark = 1 << (slot % 64);
        let marked = *word & mark != 0;
        *word &= !mark;
        marked
    }

    /// Clears any mark and returns the slot's address.
    pub(super) fn take_any(&mut self) -> Option<u64> {
        let (at, word) = self
            .marks
            .iter_mut()
            .enumerate()
            .find(|(_, word)| **word != 0)?;
        let bit = word.trailing_zeros();
        *word &= *word - 1;
        Some((at as u64 * 64 + u64::from(bit)) * SLOT_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lent_slot_is_reclaimed_exactly_once() {
        let mut lent = LentSlots::new(100);
        lent.mark(99 * SLOT_BYTES);
        lent.mark(3 * SLOT_BYTES + 256);

        assert!(lent.take(3 * SLOT_BYTES + 2047));
        assert!(!lent.take(3 * SLOT_BYTES));
        assert!(!lent.take(u64::MAX));
        assert_eq!(lent.take_any(), Some(99 * SLOT_BYTES));
        assert_eq!(lent.take_any(), None);
    }
}
