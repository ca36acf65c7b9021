//! Which rules of many can match a packet: blocks of rules, compiled into vectors of bits.
//!
//! ```text
//! source address ─ spans ─▶ row 0010…1 ┐
//! destination    ─ spans ─▶ row 1011…1 ├─ and ─▶ 0010…1: the first set bit is the candidate
//! service        ─ spans ─▶ row 0110…1 ┘
//! ```
//!
//! A block has up to [`RULES`] rules of one chain. For each part of a packet that some rule asks
//! about, the spans of its number between which nothing changes have a row with a bit for each rule
//! that can match there. The rows of a packet's parts, and'ed, leave the rules that it fits; a
//! part that no rule of the block asks about costs nothing. What spans cannot say (lists, limits,
//! contents) is left to a rule's other matchers, which are asked for candidates alone.
//!
//! A vector is looked up part by part, so that the searches of many packets overlap (`ahead`).

mod dimension;
mod ranks;

use std::collections::HashMap;
use std::sync::Arc;

use kernels::{Lanes, Work, widest};

pub use dimension::Packets;
use dimension::{Of, PARTS, Spans};
use ranks::{Ranks, WideRanks};

use super::table::Rule;

/// How many rules a block has at most.
pub(super) const RULES: usize = 1024;
/// Words of a cache line.
const LINE: usize = 8;

/// The row of each part that a packet's numbers lie in, as the place of its first word.
pub(super) type Rows = [u32; PARTS];

/// See the module.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) rules: Box<[Arc<Rule>]>,
    parts: Box<[Part]>,
    /// Words of a row: one, or whole lines.
    words: usize,
    /// By rule: the matchers that no part says, by place.
    rest: Box<[Box<[u8]>]>,
}

/// One part of packets.
#[derive(Debug)]
struct Part {
    of: Of,
    spans: Search,
    /// By span: where its row begins.
    rows: Box<[u32]>,
    bits: Box<[u64]>,
}

#[derive(Debug)]
enum Search {
    Narrow(Ranks),
    Wide(WideRanks),
}

impl Block {
    /// Compiles some rules, [`RULES`] at most.
    pub(super) fn new(rules: Box<[Arc<Rule>]>) -> Self {
        let words = match rules.len() {
            0..=64 => 1,
            more => more.div_ceil(64 * LINE) * LINE,
        };
        let mut wanted: Vec<(Of, Vec<Option<Spans>>)> = Vec::new();
        let mut rest: Vec<Vec<u8>> = vec![Vec::new(); rules.len()];
        for (place, rule) in rules.iter().enumerate() {
            for (matcher, number) in rule.matchers.iter().zip(0..) {
                let Some((of, spans)) = dimension::spans(matcher) else {
                    rest[place].push(number);
                    continue;
                };
                let at = wanted.iter().position(|(other, _)| *other == of);
                let at = at.unwrap_or_else(|| {
                    wanted.push((of, vec![None; rules.len()]));
                    wanted.len() - 1
                });
                let before = &mut wanted[at].1[place];
                *before = Some(match before {
                    Some(before) => dimension::common(before, &spans),
                    None => spans,
                });
            }
        }
        wanted.sort_by_key(|(of, _)| *of);
        let parts = wanted.iter();
        let parts = parts
            .map(|(of, wanted)| Part::new(*of, wanted, words))
            .collect();
        Self {
            parts,
            words,
            rest: rest.into_iter().map(Into::into).collect(),
            rules,
        }
    }

    /// The places of a rule's matchers that its bit does not answer for.
    #[inline(always)]
    pub(super) fn rest(&self, place: usize) -> &[u8] {
        &self.rest[place]
    }

    /// The rows of one packet.
    #[inline]
    pub(super) fn rows<P: Packets>(&self, packet: &P) -> Rows {
        widest(One {
            block: self,
            packet,
        })
    }

    /// The first rule from `from` on whose bit is set in all rows.
    #[inline(always)]
    pub(super) fn next(&self, rows: &Rows, from: usize) -> Option<usize> {
        if self.words == 1 {
            let mut bits = u64::MAX << (from % 64);
            if from >= self.rules.len() {
                return None;
            }
            for (part, row) in self.parts.iter().zip(rows) {
                bits &= part.bits[*row as usize];
            }
            let place = bits.trailing_zeros() as usize;
            return (place < self.rules.len()).then_some(place);
        }
        let mut mask = u64::MAX << (from % 64);
        for line in from / 64 / LINE..self.words / LINE {
            let mut both = [u64::MAX; LINE];
            for (part, row) in self.parts.iter().zip(rows) {
                let start = *row as usize + line * LINE;
                let bits = part.bits[start..].first_chunk::<LINE>();
                for (one, other) in both.iter_mut().zip(bits.into_iter().flatten()) {
                    *one &= other;
                }
            }
            for (word, bits) in both.into_iter().enumerate() {
                let word = line * LINE + word;
                let bits = match word.cmp(&(from / 64)) {
                    core::cmp::Ordering::Less => 0,
                    core::cmp::Ordering::Equal => bits & core::mem::replace(&mut mask, 0),
                    core::cmp::Ordering::Greater => bits,
                };
                if bits != 0 {
                    let place = word * 64 + bits.trailing_zeros() as usize;
                    return (place < self.rules.len()).then_some(place);
                }
            }
        }
        None
    }
}

impl Part {
    /// `wanted` has for each rule the spans that it fits; none where it does not ask.
    fn new(of: Of, wanted: &[Option<Spans>], words: usize) -> Self {
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
        Self {
            of,
            spans: Search::new(of, &boundaries),
            rows: rows.into(),
            bits: found.bits.into(),
        }
    }

    /// The row of a packet.
    #[inline(always)]
    fn row<L: Lanes, P: Packets>(&self, lanes: L, packets: &P, at: usize) -> u32 {
        let span = match &self.spans {
            Search::Narrow(ranks) => ranks.rank(lanes, dimension::key(self.of, packets, at)),
            Search::Wide(ranks) => {
                let tuple = &packets.fields(at).tuple;
                let address = match self.of {
                    Of::Source => tuple.source,
                    _ => tuple.destination,
                };
                ranks.rank(lanes, address)
            }
        };
        self.rows[span]
    }
}

impl Search {
    /// Addresses whose boundaries fit into 32 bits are searched as such: a greater one lies behind
    /// all of them, and its number is the greatest. Only a boundary there would tell them apart.
    fn new(of: Of, boundaries: &[u128]) -> Self {
        let address = matches!(of, Of::Source | Of::Destination);
        let edge = boundaries
            .last()
            .is_some_and(|last| *last >= u128::from(u32::MAX));
        match address && edge {
            true => Self::Wide(WideRanks::new(boundaries)),
            false => {
                // Boundaries beyond what a number can be separate nothing.
                let within = boundaries.iter().filter_map(|one| u32::try_from(*one).ok());
                Self::Narrow(Ranks::new(&within.collect::<Vec<_>>()))
            }
        }
    }
}

/// Rows, each kept once.
#[derive(Default)]
struct Found {
    bits: Vec<u64>,
    places: HashMap<Box<[u64]>, u32>,
}

impl Found {
    fn place(&mut self, row: &[u64]) -> u32 {
        if let Some(place) = self.places.get(row) {
            return *place;
        }
        let place = self.bits.len() as u32;
        self.bits.extend(row);
        self.places.insert(row.into(), place);
        place
    }
}

/// The rows of one packet.
struct One<'a, P> {
    block: &'a Block,
    packet: &'a P,
}

impl<P: Packets> Work for One<'_, P> {
    type Output = Rows;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Rows {
        let mut rows = [0; PARTS];
        for (part, row) in self.block.parts.iter().zip(&mut rows) {
            *row = part.row(lanes, self.packet, 0);
        }
        rows
    }
}

/// How many packets are looked up together.
const BATCH: usize = 64;

/// The first candidates of many packets in a block.
pub(super) struct Many<'a, P> {
    pub(super) block: &'a Block,
    pub(super) packets: &'a P,
    /// Those that are looked up.
    pub(super) which: &'a [u16],
    /// Where the block begins in its chain.
    pub(super) start: u32,
    /// By packet: the rule's place in the chain; untouched where there is none.
    pub(super) places: &'a mut [u32],
}

impl<P: Packets> Work for Many<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let mut rows = [[0; PARTS]; BATCH];
        for which in self.which.chunks(BATCH) {
            for (number, part) in self.block.parts.iter().enumerate() {
                for (rows, at) in rows.iter_mut().zip(which) {
                    rows[number % PARTS] = part.row(lanes, self.packets, usize::from(*at));
                }
            }
            for (rows, at) in rows.iter().zip(which) {
                if let Some(place) = self.block.next(rows, 0)
                    && let Some(found) = self.places.get_mut(usize::from(*at))
                {
                    *found = self.start + place as u32;
                }
            }
        }
    }
}
