//! Destinations of which the slots of the root say all, as where there are few routes: 16 at a time.

use kernels::Lanes;

use super::adjacency::NextHopId;
use super::entry::Entry;
use super::heap::Words;
use super::lpm::{ABREAST, OTHER_SLOT, SHORT_SLOTS};
use super::network::Address;

/// The places of some of the destinations that are looked up together.
pub(super) struct Places {
    /// With room for what is written of 16.
    places: [u8; ABREAST + 16],
    count: usize,
}

impl Default for Places {
    #[inline(always)]
    fn default() -> Self {
        Self {
            places: [0; ABREAST + 16],
            count: 0,
        }
    }
}

impl Places {
    #[inline(always)]
    pub(super) fn push(&mut self, place: usize) {
        self.places[self.count % ABREAST] = place as u8;
        self.count += 1;
    }

    /// Those of 16 of which `bits` has one, the first of them at `from`.
    #[inline(always)]
    fn push_16<L: Lanes>(&mut self, lanes: L, from: usize, bits: u32) {
        let behind = self.places.get_mut(self.count..).unwrap_or_default();
        if let Some(to) = behind.first_chunk_mut::<16>() {
            *to = lanes.places(bits);
            for place in to {
                *place += from as u8;
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
        let places = self.places.iter().take(self.count);
        places.map(|place| usize::from(*place) % ABREAST)
    }
}

/// Looks destinations up of which slots say all, and tells which are left; none where that is most of the
/// first: with many routes slots say little.
#[inline(always)]
pub(super) fn by_slots<A: Address, L: Lanes>(
    lanes: L,
    words: Words<'_>,
    destinations: &[A],
    out: &mut [NextHopId],
) -> Option<Places> {
    let (parts, rest) = destinations.as_chunks();
    let (outs, _) = out.as_chunks_mut();
    let mut left = Places::default();
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

/// The same of 16: a bit for each that is left, the first in bit 0.
#[inline(always)]
fn by_slots_16<A: Address, L: Lanes>(
    lanes: L,
    words: Words<'_>,
    destinations: &[A; 16],
    out: &mut [NextHopId; 16],
) -> u32 {
    // The first 32 bits tell all slots.
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
