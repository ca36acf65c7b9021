//! Batch lookup of destinations whose slot in the root is a leaf, as in tables with few routes: 16 at a time.

use kernels::Lanes;

use super::adjacency::NextHopId;
use super::entry::Entry;
use super::heap::Words;
use super::lpm::{BATCH_MAX, OTHER_SLOT, SHORT_SLOTS};
use super::network::Address;

/// Indices of destinations in a batch.
pub(super) struct BatchIndices {
    /// 16 extra indices, because 16 are written at once.
    indices: [u8; BATCH_MAX + 16],
    count: usize,
}

impl Default for BatchIndices {
    #[inline(always)]
    fn default() -> Self {
        Self {
            indices: [0; BATCH_MAX + 16],
            count: 0,
        }
    }
}

impl BatchIndices {
    #[inline(always)]
    pub(super) fn push(&mut self, index: usize) {
        self.indices[self.count % BATCH_MAX] = index as u8;
        self.count += 1;
    }

    /// Adds the indices, from `from` on, whose bit is set.
    #[inline(always)]
    fn push_16<L: Lanes>(&mut self, lanes: L, from: usize, bits: u32) {
        let behind = self.indices.get_mut(self.count..).unwrap_or_default();
        if let Some(to) = behind.first_chunk_mut::<16>() {
            *to = lanes.places(bits);
            for index in to {
                *index += from as u8;
            }
        }
        self.count += bits.count_ones() as usize;
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + Clone {
        let indices = self.indices.iter().take(self.count);
        indices.map(|index| usize::from(*index) % BATCH_MAX)
    }
}

/// Looks up the destinations whose slot is a leaf; returns the indices of the others, or `None` if most of
/// the first are among them: with many routes slots are rarely leaves.
#[inline(always)]
pub(super) fn by_slots<A: Address, L: Lanes>(
    lanes: L,
    words: Words<'_>,
    destinations: &[A],
    out: &mut [NextHopId],
) -> Option<BatchIndices> {
    let (parts, rest) = destinations.as_chunks();
    let (outs, _) = out.as_chunks_mut();
    let mut left = BatchIndices::default();
    for (number, (part, out)) in parts.iter().zip(outs).enumerate() {
        let open = by_slots_16(lanes, words, part, out);
        if number == 0 && open.count_ones() > 8 {
            return None;
        }
        if open != 0 {
            left.push_16(lanes, number * 16, open);
        }
    }
    let end = destinations.len().min(out.len());
    for at in (destinations.len() - rest.len()).min(end)..end {
        left.push(at);
    }
    Some(left)
}

/// Looks up 16 destinations; returns a bit for each that has no leaf, the first in bit 0.
#[inline(always)]
fn by_slots_16<A: Address, L: Lanes>(
    lanes: L,
    words: Words<'_>,
    destinations: &[A; 16],
    out: &mut [NextHopId; 16],
) -> u32 {
    // The first 32 bits determine all slots.
    let tops = A::tops(lanes, destinations);
    let (mut slots, mut short) = ([0; 16], [0; 16]);
    for ((slot, short), top) in slots.iter_mut().zip(&mut short).zip(tops) {
        *slot = A::slot_of(top).unwrap_or(OTHER_SLOT);
        *short = SHORT_SLOTS + (top << A::SHORT_DEPTH >> 24);
    }
    let mut entries = words.slots(lanes, &slots);
    let short = words.slots(lanes, &short);
    let mut said = [0; 16];
    for (((said, entry), short), slot) in said.iter_mut().zip(&mut entries).zip(&short).zip(&slots)
    {
        if (*entry == Entry::NONE.0) & (*slot != OTHER_SLOT) {
            *entry = *short;
        }
        let found = Entry(*entry);
        *said = u32::from(found.is_leaf() & (found.id() != NextHopId::NO_ROUTE));
    }
    for (out, entry) in out.iter_mut().zip(&entries) {
        *out = Entry(*entry).id();
    }
    lanes.zeros(&said)
}
