//! Classifies a vector of packets, field by field, so that their searches overlap.

use kernels::{Lanes, Work};

use super::super::table::NONE;
use super::dimension::{PARTS, Packets, TOGETHER};
use super::part::ChosenFields;
use super::sparse::{PARTS as LISTED, SpansOf, Sparse};
use super::{Block, First};

/// Lookup of the first candidate rule of many packets in a block.
pub(in crate::rule) struct Many<'a, P> {
    pub(in crate::rule) block: &'a Block,
    pub(in crate::rule) packets: &'a P,
    /// Indices of the packets to classify.
    pub(in crate::rule) which: &'a [u16],
    /// Index of the block's first rule in its chain.
    pub(in crate::rule) start: u32,
    /// Result per packet; unchanged if the block has no candidate.
    pub(in crate::rule) firsts: &'a mut [First],
}

impl<P: Packets> Work for Many<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let all = (self.which.len() == self.packets.len()) & (self.which.len() <= TOGETHER);
        for which in self.which.chunks(TOGETHER) {
            let chosen = ChosenFields { which, all };
            match (self.block.words, &self.block.sparse) {
                (1, _) => self.of_words(lanes, chosen),
                (_, Some(sparse)) => self.of_lists(lanes, sparse, chosen),
                (_, None) => self.of_rows(lanes, chosen),
            }
        }
    }
}

impl<P: Packets> Many<'_, P> {
    /// Lookup with rows of one word.
    #[inline(always)]
    fn of_words<L: Lanes>(&mut self, lanes: L, chosen: ChosenFields<'_>) {
        let block = self.block;
        // Fields do not clear the bits beyond the block's rules.
        let rules = u64::MAX >> (64 - block.rules.len().clamp(1, 64));
        let mut left = [rules; TOGETHER];
        for part in &block.parts {
            part.narrow(lanes, self.packets, chosen, &mut left);
        }
        if chosen.all {
            let firsts = self.firsts.iter_mut().zip(&left);
            for (first, left) in firsts.take(chosen.which.len()) {
                *first = First::of(self.start, *left);
            }
            return;
        }
        for (packet, left) in chosen.which.iter().zip(&left) {
            if *left != 0
                && let Some(first) = self.firsts.get_mut(usize::from(*packet))
            {
                *first = First::of(self.start, *left);
            }
        }
    }

    /// Lookup with rows of several lines, by lists of rules.
    #[inline(always)]
    fn of_lists<L: Lanes>(&mut self, lanes: L, sparse: &Sparse, chosen: ChosenFields<'_>) {
        let mut spans: SpansOf = [[0; TOGETHER]; LISTED];
        for (part, spans) in self.block.parts.iter().zip(&mut spans) {
            part.spans(lanes, self.packets, chosen, spans);
        }
        let mut places = [0; TOGETHER];
        let count = chosen.which.len();
        let alone = sparse.firsts(lanes, &spans, count, self.start, &mut places);
        let first = |at: usize, place: u32| First {
            place,
            left: alone >> at & u64::from(place != NONE),
        };
        if chosen.all {
            let firsts = self.firsts.iter_mut().zip(places).take(count);
            for (at, (to, place)) in firsts.enumerate() {
                *to = first(at, place);
            }
            return;
        }
        for (at, (place, packet)) in places.iter().zip(chosen.which).enumerate() {
            if let Some(to) = self.firsts.get_mut(usize::from(*packet)) {
                *to = first(at, *place);
            }
        }
    }

    /// Lookup with rows of several lines.
    #[inline(always)]
    fn of_rows<L: Lanes>(&mut self, lanes: L, chosen: ChosenFields<'_>) {
        let block = self.block;
        let mut rows = [[0; TOGETHER]; PARTS];
        let rows = &mut rows[..block.parts.len()];
        let mut spans = [0; TOGETHER];
        for (part, rows) in block.parts.iter().zip(rows.iter_mut()) {
            part.spans(lanes, self.packets, chosen, &mut spans);
            // Entries after the last packet may be ranges of another field.
            let packets = rows.iter_mut().zip(&spans).take(chosen.which.len());
            for (row, span) in packets {
                *row = part.row(*span);
            }
        }
        for (at, packet) in chosen.which.iter().enumerate() {
            if let Some(place) = block.first(&*rows, at)
                && let Some(first) = self.firsts.get_mut(usize::from(*packet))
            {
                let place = self.start + place as u32;
                *first = First { place, left: 0 };
            }
        }
    }
}
