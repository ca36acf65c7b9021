//! One field of a block: the ranges of its key and the rules that can match in each range.

use std::collections::HashMap;

use kernels::Lanes;

use super::LINE;
use super::dimension::{self, Of, Packets, Spans, TOGETHER};
use super::few::WideFew;
use super::ranks::{Ranks, WideRanks};
use super::sparse::Runs;

/// Fewer packets than this are looked up individually; batch lookups have a fixed cost.
const BATCH_MIN: usize = 4;

/// A selection of a vector's packets.
#[derive(Clone, Copy)]
pub(super) struct ChosenFields<'a> {
    /// Indices of the packets, at most [`TOGETHER`].
    pub(super) which: &'a [u16],
    /// True if the selection is the whole vector in order.
    pub(super) all: bool,
}

/// The ranges and rows of one field.
#[derive(Debug)]
pub(super) struct Part {
    of: Of,
    search: Search,
    /// For each range: its row, or the start of its row in `bits`.
    rows: Box<[u64]>,
    bits: Box<[u64]>,
    /// The lookup for few long keys with rows of one word.
    few: Option<Box<WideFew>>,
}

#[derive(Debug)]
enum Search {
    Narrow(Box<Ranks>),
    Wide(Box<WideRanks>),
}

impl Part {
    /// Compiles a field; `wanted` has the accepted key ranges of each rule, or `None` for rules without a
    /// matcher on the field. Also returns the accepted keys of each rule as runs of the field's ranges.
    pub(super) fn new(of: Of, wanted: &[Option<Spans>], words: usize) -> (Self, Vec<Runs>) {
        // The changes of rule bits in order of the key; `row` is the row before the first boundary.
        let (mut row, mut changes) = (vec![0_u64; words], Vec::new());
        for (place, spans) in wanted.iter().enumerate() {
            let Some(spans) = spans else {
                row[place / 64] |= 1 << (place % 64);
                continue;
            };
            for (from, to) in spans {
                match from {
                    0 => row[place / 64] |= 1 << (place % 64),
                    _ => changes.push((*from, place)),
                }
                changes.extend(to.checked_add(1).map(|end| (end, place)));
            }
        }
        changes.sort_unstable();
        let mut found = RowInterner::default();
        let (mut boundaries, mut rows) = (Vec::new(), vec![found.offset(&row)]);
        for group in changes.chunk_by(|(one, _), (other, _)| one == other) {
            for (_, place) in group {
                row[place / 64] ^= 1 << (place % 64);
            }
            boundaries.push(group[0].0);
            rows.push(found.offset(&row));
        }
        let bits = found.bits;
        if words == 1 {
            rows = rows.iter().map(|row| bits[*row as usize]).collect();
        }
        // The range of a key is the number of boundaries that are at most equal to the key.
        let span = |number: u128| boundaries.partition_point(|one| *one <= number) as u16;
        let run = |(from, to): &(u128, u128)| (span(*from), span(*to));
        let of_rule = |spans: &Option<Spans>| -> Runs {
            let spans = spans.as_ref()?;
            Some(spans.iter().map(run).collect())
        };
        let runs = wanted.iter().map(of_rule).collect();
        let search = Search::new(of, &boundaries);
        let few = matches!(search, Search::Wide(_)) && words == 1;
        let few = few.then(|| WideFew::of(&boundaries, &rows)).flatten();
        let part = Self {
            of,
            search,
            rows: rows.into(),
            bits: bits.into(),
            few: few.map(Box::new),
        };
        (part, runs)
    }

    /// Returns the field.
    pub(super) const fn of(&self) -> Of {
        self.of
    }

    /// Returns the number of ranges.
    pub(super) fn spans_count(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if keys of this field may be precomputed for a vector.
    pub(super) const fn is_column(&self) -> bool {
        matches!(
            self.of,
            Of::Source
                | Of::Destination
                | Of::Service
                | Of::Ingress
                | Of::Egress
                | Of::State
                | Of::Ipsec
                | Of::PacketMark
                | Of::RoutingMark
                | Of::ConnectionMark
        )
    }

    /// Returns the row of a range, or the start of the row.
    #[inline(always)]
    pub(super) fn row(&self, span: u32) -> u64 {
        self.rows[span as usize]
    }

    /// Returns one line of the row that begins before `start`.
    #[inline(always)]
    pub(super) fn line(&self, start: usize) -> Option<&[u64]> {
        self.bits.get(start..start + LINE)
    }

    /// Returns the range of one packet's key.
    #[inline(always)]
    pub(super) fn span<L: Lanes, P: Packets>(&self, lanes: L, packets: &P, at: usize) -> usize {
        match &self.search {
            Search::Narrow(ranks) => ranks.rank(lanes, dimension::key(self.of, packets, at)),
            Search::Wide(ranks) => ranks.rank(lanes, dimension::address(self.of, packets, at)),
        }
    }

    /// Intersects the candidates of each packet with the row of this field. Rows must be one word.
    #[inline(always)]
    pub(super) fn narrow<L: Lanes, P: Packets>(
        &self,
        lanes: L,
        packets: &P,
        chosen: ChosenFields<'_>,
        left: &mut [u64; TOGETHER],
    ) {
        let (sixteens, _) = left.as_chunks_mut::<16>();
        let used = chosen.which.len().div_ceil(16);
        match &self.few {
            Some(few) => {
                let own;
                let addresses = match self.addresses_at_hand(packets, chosen) {
                    Some(addresses) => addresses,
                    None => {
                        own = self.addresses(packets, chosen);
                        &own
                    }
                };
                let (addresses, _) = addresses.as_chunks();
                for (addresses, left) in addresses.iter().zip(sixteens).take(used) {
                    few.narrow(lanes, addresses, left);
                }
            }
            None => {
                if let Some(span) = self.one_span(lanes, packets, chosen) {
                    let row = self.row(span);
                    left.iter_mut().for_each(|left| *left &= row);
                    return;
                }
                let mut spans = [0; TOGETHER];
                self.spans(lanes, packets, chosen, &mut spans);
                for (left, span) in left.iter_mut().zip(&spans) {
                    *left &= self.row(*span);
                }
            }
        }
    }

    /// Returns the range of all packets if their keys are precomputed and equal.
    #[inline(always)]
    fn one_span<L: Lanes, P: Packets>(
        &self,
        lanes: L,
        packets: &P,
        chosen: ChosenFields<'_>,
    ) -> Option<u32> {
        let Search::Narrow(ranks) = &self.search else {
            return None;
        };
        let number = alike(self.numbers_at_hand(packets, chosen)?, chosen)?;
        Some(ranks.rank(lanes, number) as u32)
    }

    /// Looks up the ranges of many packets.
    #[inline(always)]
    pub(super) fn spans<L: Lanes, P: Packets>(
        &self,
        lanes: L,
        packets: &P,
        chosen: ChosenFields<'_>,
        spans: &mut [u32; TOGETHER],
    ) {
        match &self.search {
            Search::Narrow(ranks) if chosen.which.len() >= BATCH_MIN => {
                let own;
                let numbers = match self.numbers_at_hand(packets, chosen) {
                    Some(numbers) => numbers,
                    None => {
                        own = self.numbers(packets, chosen);
                        &own
                    }
                };
                if let Some(number) = alike(numbers, chosen) {
                    return spans.fill(ranks.rank(lanes, number) as u32);
                }
                let (numbers, _) = numbers.as_chunks();
                let (spans, _) = spans.as_chunks_mut::<16>();
                let used = chosen.which.len().div_ceil(16);
                for (numbers, spans) in numbers.iter().zip(spans).take(used) {
                    *spans = ranks.ranks(lanes, numbers);
                }
            }
            Search::Wide(ranks) if chosen.which.len() >= BATCH_MIN => {
                let own;
                let addresses = match self.addresses_at_hand(packets, chosen) {
                    Some(addresses) => addresses,
                    None => {
                        own = self.addresses(packets, chosen);
                        &own
                    }
                };
                let (addresses, _) = addresses.as_chunks();
                let (spans, _) = spans.as_chunks_mut::<16>();
                let used = chosen.which.len().div_ceil(16);
                for (addresses, spans) in addresses.iter().zip(spans).take(used) {
                    *spans = ranks.ranks(lanes, addresses);
                }
            }
            _ => {
                for (span, at) in spans.iter_mut().zip(chosen.which) {
                    *span = self.span(lanes, packets, usize::from(*at)) as u32;
                }
            }
        }
    }

    /// Returns the precomputed addresses of all packets, if they exist.
    #[inline(always)]
    fn addresses_at_hand<'a, P: Packets>(
        &self,
        packets: &'a P,
        chosen: ChosenFields<'_>,
    ) -> Option<&'a [u128; TOGETHER]> {
        packets.addresses(self.of).filter(|_| chosen.all)
    }

    /// Reads the addresses of each packet.
    #[inline(always)]
    fn addresses<P: Packets>(&self, packets: &P, chosen: ChosenFields<'_>) -> [u128; TOGETHER] {
        let mut addresses = [0; TOGETHER];
        for (address, at) in addresses.iter_mut().zip(chosen.which) {
            *address = dimension::address(self.of, packets, usize::from(*at));
        }
        addresses
    }

    /// Returns the precomputed keys of all packets, if they exist.
    #[inline(always)]
    fn numbers_at_hand<'a, P: Packets>(
        &self,
        packets: &'a P,
        chosen: ChosenFields<'_>,
    ) -> Option<&'a [u32; TOGETHER]> {
        packets.column(self.of).filter(|_| chosen.all)
    }

    /// Computes the keys from precomputed addresses, or reads them one by one.
    #[inline(always)]
    fn numbers<P: Packets>(&self, packets: &P, chosen: ChosenFields<'_>) -> [u32; TOGETHER] {
        if let Some(addresses) = self.addresses_at_hand(packets, chosen) {
            return addresses.map(dimension::narrow);
        }
        match self.of {
            Of::Source => numbers(Of::Source, packets, chosen.which),
            Of::Destination => numbers(Of::Destination, packets, chosen.which),
            Of::Service => numbers(Of::Service, packets, chosen.which),
            Of::Ingress => numbers(Of::Ingress, packets, chosen.which),
            Of::Egress => numbers(Of::Egress, packets, chosen.which),
            Of::State => numbers(Of::State, packets, chosen.which),
            other => numbers(other, packets, chosen.which),
        }
    }
}

/// Returns the key that all packets have in common: connection state and ingress interface are often equal.
#[inline(always)]
fn alike(numbers: &[u32; TOGETHER], chosen: ChosenFields<'_>) -> Option<u32> {
    let numbers = &numbers[..chosen.which.len().min(TOGETHER)];
    let first = *numbers.first()?;
    let others = numbers
        .iter()
        .fold(0, |others, number| others | (number ^ first));
    (others == 0).then_some(first)
}

/// Reads the keys of the packets for a field.
#[inline(always)]
fn numbers<P: Packets>(of: Of, packets: &P, which: &[u16]) -> [u32; TOGETHER] {
    let mut numbers = [0; TOGETHER];
    for (number, at) in numbers.iter_mut().zip(which) {
        *number = dimension::key(of, packets, usize::from(*at));
    }
    numbers
}

impl Search {
    /// Chooses the search. Addresses with 32-bit boundaries are searched as 32-bit keys: a longer address
    /// saturates, which is beyond all boundaries, unless one of them is the highest key.
    fn new(of: Of, boundaries: &[u128]) -> Self {
        let address = of.is_long();
        let edge = boundaries
            .last()
            .is_some_and(|last| *last >= u128::from(u32::MAX));
        match address && edge {
            true => Self::Wide(WideRanks::new(boundaries).into()),
            false => {
                // Boundaries beyond the key's domain separate nothing.
                let within = boundaries.iter().filter_map(|one| u32::try_from(*one).ok());
                Self::Narrow(Ranks::new(&within.collect::<Vec<_>>()).into())
            }
        }
    }
}

/// Deduplicated rows.
#[derive(Default)]
struct RowInterner {
    bits: Vec<u64>,
    offsets: HashMap<Box<[u64]>, u64>,
}

impl RowInterner {
    fn offset(&mut self, row: &[u64]) -> u64 {
        if let Some(offset) = self.offsets.get(row) {
            return *offset;
        }
        let offset = self.bits.len() as u64;
        self.bits.extend(row);
        self.offsets.insert(row.into(), offset);
        offset
    }
}
