//! One part of packets: where its number lies, and which rules that leaves.

use std::collections::HashMap;

use kernels::Lanes;

use super::LINE;
use super::dimension::{self, Of, Packets, Spans, TOGETHER};
use super::few::WideFew;
use super::ranks::{Ranks, WideRanks};
use super::sparse::Runs;

/// Fewer packets than these are looked up one by one: many at once wait for each other.
const ALONE: usize = 4;

/// Some packets of a vector.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'a> {
    /// Their places, [`TOGETHER`] at most.
    pub(super) which: &'a [u16],
    /// They are all that there are, in order.
    pub(super) all: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Part {
    of: Of,
    search: Search,
    /// By span: its row, or where that begins in `bits`.
    rows: Box<[u64]>,
    bits: Box<[u64]>,
    /// Where there are few spans of long numbers, of rows of one word.
    few: Option<Box<WideFew>>,
}

#[derive(Debug)]
enum Search {
    Narrow(Box<Ranks>),
    Wide(Box<WideRanks>),
}

impl Part {
    /// `wanted` has for each rule the spans that it fits; none where it does not ask. With the same as
    /// runs of the part's own spans.
    pub(super) fn new(of: Of, wanted: &[Option<Spans>], words: usize) -> (Self, Vec<Runs>) {
        // Where a rule's bit changes, in order; what holds before the first boundary is `row`.
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
        let mut found = Found::default();
        let (mut boundaries, mut rows) = (Vec::new(), vec![found.place(&row)]);
        for group in changes.chunk_by(|(one, _), (other, _)| one == other) {
            for (_, place) in group {
                row[place / 64] ^= 1 << (place % 64);
            }
            boundaries.push(group[0].0);
            rows.push(found.place(&row));
        }
        let bits = found.bits;
        if words == 1 {
            rows = rows.iter().map(|row| bits[*row as usize]).collect();
        }
        // Of a number, how many boundaries are at most it.
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

    /// What it is of packets.
    pub(super) const fn of(&self) -> Of {
        self.of
    }

    /// How many spans there are.
    pub(super) fn spans_count(&self) -> usize {
        self.rows.len()
    }

    /// Whether its numbers may be at hand for many packets that were not read.
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

    /// The row of a span, or where it begins.
    #[inline(always)]
    pub(super) fn row(&self, span: u32) -> u64 {
        self.rows[span as usize]
    }

    /// Words of a row that begins earlier.
    #[inline(always)]
    pub(super) fn line(&self, start: usize) -> Option<&[u64]> {
        self.bits.get(start..start + LINE)
    }

    /// The span of one packet.
    #[inline(always)]
    pub(super) fn span<L: Lanes, P: Packets>(&self, lanes: L, packets: &P, at: usize) -> usize {
        match &self.search {
            Search::Narrow(ranks) => ranks.rank(lanes, dimension::key(self.of, packets, at)),
            Search::Wide(ranks) => ranks.rank(lanes, dimension::address(self.of, packets, at)),
        }
    }

    /// Takes from each packet the rules that this part does not leave it. Rows are one word.
    #[inline(always)]
    pub(super) fn narrow<L: Lanes, P: Packets>(
        &self,
        lanes: L,
        packets: &P,
        chosen: Chosen<'_>,
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

    /// The span of all packets, where their numbers are at hand and the same.
    #[inline(always)]
    fn one_span<L: Lanes, P: Packets>(
        &self,
        lanes: L,
        packets: &P,
        chosen: Chosen<'_>,
    ) -> Option<u32> {
        let Search::Narrow(ranks) = &self.search else {
            return None;
        };
        let number = alike(self.numbers_at_hand(packets, chosen)?, chosen)?;
        Some(ranks.rank(lanes, number) as u32)
    }

    /// The spans of many packets.
    #[inline(always)]
    pub(super) fn spans<L: Lanes, P: Packets>(
        &self,
        lanes: L,
        packets: &P,
        chosen: Chosen<'_>,
        spans: &mut [u32; TOGETHER],
    ) {
        match &self.search {
            Search::Narrow(ranks) if chosen.which.len() >= ALONE => {
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
            Search::Wide(ranks) if chosen.which.len() >= ALONE => {
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

    /// The packets' addresses of this part, where they were read as such.
    #[inline(always)]
    fn addresses_at_hand<'a, P: Packets>(
        &self,
        packets: &'a P,
        chosen: Chosen<'_>,
    ) -> Option<&'a [u128; TOGETHER]> {
        packets.addresses(self.of).filter(|_| chosen.all)
    }

    /// The same, read one by one.
    #[inline(always)]
    fn addresses<P: Packets>(&self, packets: &P, chosen: Chosen<'_>) -> [u128; TOGETHER] {
        let mut addresses = [0; TOGETHER];
        for (address, at) in addresses.iter_mut().zip(chosen.which) {
            *address = dimension::address(self.of, packets, usize::from(*at));
        }
        addresses
    }

    /// The packets' numbers of this part, where they were read as such.
    #[inline(always)]
    fn numbers_at_hand<'a, P: Packets>(
        &self,
        packets: &'a P,
        chosen: Chosen<'_>,
    ) -> Option<&'a [u32; TOGETHER]> {
        packets.column(self.of).filter(|_| chosen.all)
    }

    /// The same, made of their addresses or read one by one.
    #[inline(always)]
    fn numbers<P: Packets>(&self, packets: &P, chosen: Chosen<'_>) -> [u32; TOGETHER] {
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

/// The number that all packets have: many have the same state and came by the same interface.
#[inline(always)]
fn alike(numbers: &[u32; TOGETHER], chosen: Chosen<'_>) -> Option<u32> {
    let numbers = &numbers[..chosen.which.len().min(TOGETHER)];
    let first = *numbers.first()?;
    let others = numbers
        .iter()
        .fold(0, |others, number| others | (number ^ first));
    (others == 0).then_some(first)
}

/// The packets' numbers of a part.
#[inline(always)]
fn numbers<P: Packets>(of: Of, packets: &P, which: &[u16]) -> [u32; TOGETHER] {
    let mut numbers = [0; TOGETHER];
    for (number, at) in numbers.iter_mut().zip(which) {
        *number = dimension::key(of, packets, usize::from(*at));
    }
    numbers
}

impl Search {
    /// Addresses whose boundaries fit into 32 bits are searched as such: a greater one lies behind
    /// all of them, and its number is the greatest. Only a boundary there would tell them apart.
    fn new(of: Of, boundaries: &[u128]) -> Self {
        let address = of.is_long();
        let edge = boundaries
            .last()
            .is_some_and(|last| *last >= u128::from(u32::MAX));
        match address && edge {
            true => Self::Wide(WideRanks::new(boundaries).into()),
            false => {
                // Boundaries beyond what a number can be separate nothing.
                let within = boundaries.iter().filter_map(|one| u32::try_from(*one).ok());
                Self::Narrow(Ranks::new(&within.collect::<Vec<_>>()).into())
            }
        }
    }
}

/// Rows, each kept once.
#[derive(Default)]
struct Found {
    bits: Vec<u64>,
    places: HashMap<Box<[u64]>, u64>,
}

impl Found {
    fn place(&mut self, row: &[u64]) -> u64 {
        if let Some(place) = self.places.get(row) {
            return *place;
        }
        let place = self.bits.len() as u64;
        self.bits.extend(row);
        self.places.insert(row.into(), place);
        place
    }
}
