//! Packet classifier: finds the rules that can match a packet, by bit vectors over blocks of rules.
//!
//! ```text
//! source address ─ ranges ─▶ row 0010…1 ┐
//! destination    ─ ranges ─▶ row 1011…1 ├─ and ─▶ 0010…1: the first set bit is the candidate
//! service        ─ ranges ─▶ row 0110…1 ┘
//! ```
//!
//! A block has up to [`RULES`] rules of one chain. Each field that a rule matches is encoded as a number, and the
//! numbers are divided into ranges within which the set of matching rules is constant. Each range has a row: a bit
//! for each rule that can match there. The AND of a packet's rows gives the candidate rules; fields that no rule
//! matches cost nothing. Matchers without a field (lists, limits, contents) are evaluated for candidates only.
//!
//! A vector of packets is classified field by field, so that the searches of many packets overlap.

mod dimension;
mod few;
mod many;
mod part;
mod ranks;
mod runs;
mod sparse;

use std::sync::Arc;

use kernels::{Lanes, Work, widest};

use dimension::PARTS;
pub(super) use dimension::Spans;
pub use dimension::{Of, Packets, Parts, TOGETHER};
pub(super) use many::Many;
use part::Part;
use runs::StreamRuns;
use sparse::{Runs, Sparse};

use super::stream::StreamResult;
use super::table::{NONE, Rule, Summary};

/// Maximum number of rules per block.
pub(super) const RULES: usize = 1024;
/// Words per cache line.
const LINE: usize = 8;

/// Rows of a packet, by the index of the field in the block: the row itself if it is one word, else its
/// start.
type Rows = [u64; PARTS];

/// The candidate rules of a packet in a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Candidates {
    /// A bit for each candidate.
    Word(u64),
    /// The rows whose AND gives the candidates.
    Rows(Rows),
}

/// The first candidate rule of a packet in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// The rule's index in the chain, or [`NONE`].
    pub place: u32,
    /// A bit for each candidate of the block if a row is one word. Otherwise nonzero if no other rule of the
    /// block can match.
    pub(super) left: u64,
}

impl First {
    /// Returns the first of the candidates `left`; bit 0 is the rule at index `start`.
    #[inline(always)]
    fn of(start: u32, left: u64) -> Self {
        let place = start + left.trailing_zeros();
        Self {
            place: if left == 0 { NONE } else { place },
            left,
        }
    }

    /// Returns the next candidate in the block; `None` after the last, and if the bits are unknown.
    #[inline(always)]
    pub(super) fn next(&self) -> Option<Self> {
        let left = self.left & self.left.wrapping_sub(1);
        (left != 0).then(|| Self {
            place: self.place + left.trailing_zeros() - self.left.trailing_zeros(),
            left,
        })
    }

    /// No rule can match.
    pub const NOBODY: Self = Self {
        place: NONE,
        left: 0,
    };
}

/// A compiled block of rules.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) rules: Box<[Arc<Rule>]>,
    parts: Box<[Part]>,
    /// Words per row: one, or whole cache lines.
    words: usize,
    /// For each rule: the indices of the matchers that no field represents.
    rest: Box<[Box<[u8]>]>,
    alike: StreamRuns,
    pub(super) summary: Summary,
    /// Where rows are long.
    sparse: Option<Sparse>,
    /// True if a field is a mark: a rule may change it for later rules.
    pub(super) reads_marks: bool,
    /// True if a field is the packet mark.
    pub(super) reads_packet_marks: bool,
}

impl Block {
    /// Compiles at most [`RULES`] rules.
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
        let (parts, runs): (Vec<Part>, Vec<Vec<Runs>>) = parts
            .map(|(of, wanted)| Part::new(*of, wanted, words))
            .unzip();
        let spans: Vec<usize> = parts.iter().map(Part::spans_count).collect();
        let sparse = (words > 1).then(|| Sparse::new(&runs, &spans, rules.len()));
        let rest: Box<[Box<[u8]>]> = rest.into_iter().map(Into::into).collect();
        Self {
            summary: Summary::new(&rules, &rest),
            sparse: sparse.flatten(),
            reads_marks: wanted.iter().any(|(of, _)| of.is_mark()),
            reads_packet_marks: wanted.iter().any(|(of, _)| *of == Of::PacketMark),
            parts: parts.into(),
            words,
            rest,
            alike: StreamRuns::new(&rules),
            rules,
        }
    }

    /// Returns true if lists find the first candidates.
    #[cfg(test)]
    pub(super) fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// Returns the fields of the block.
    pub(super) fn parts(&self) -> impl Iterator<Item = Of> {
        self.parts.iter().map(Part::of)
    }

    /// Returns true if precomputed columns exist for all fields.
    pub(super) fn by_columns(&self) -> bool {
        self.parts.iter().all(Part::is_column)
    }

    /// Returns the indices of a rule's matchers that its bit does not cover.
    #[inline(always)]
    pub(super) fn rest(&self, place: usize) -> &[u8] {
        &self.rest[place]
    }

    /// Returns the index of the next rule to evaluate after a rule did not match: rules that need the same
    /// missing stream data are skipped.
    #[inline(always)]
    pub(super) fn behind(&self, place: usize, looked: &StreamResult) -> usize {
        self.alike.behind(place, looked)
    }

    /// Returns the candidates of one packet.
    #[inline]
    pub(super) fn left<P: Packets>(&self, packet: &P) -> Candidates {
        let rows = widest(PacketRows {
            block: self,
            packet,
        });
        match self.words {
            1 => {
                let rows = rows.iter().take(self.parts.len());
                Candidates::Word(rows.fold(u64::MAX, |bits, row| bits & row))
            }
            _ => Candidates::Rows(rows),
        }
    }

    /// Returns the candidates from a packet's first candidate in this block; `None` if its bits are not the
    /// candidates.
    #[inline(always)]
    pub(super) fn left_of(&self, first: &First) -> Option<Candidates> {
        (self.words == 1).then_some(Candidates::Word(first.left))
    }

    /// Returns the first candidate from index `from` on.
    #[inline(always)]
    pub(super) fn next(&self, left: &Candidates, from: usize) -> Option<usize> {
        if from >= self.rules.len() {
            return None;
        }
        let rows = match left {
            Candidates::Word(bits) => return self.place(0, bits & u64::MAX << (from % 64)),
            Candidates::Rows(rows) => rows,
        };
        for line in from / 64 / LINE..self.words / LINE {
            let mut both = self.line(rows.iter().copied(), line);
            if line == from / 64 / LINE {
                let word = from / 64 % LINE;
                both[..word].fill(0);
                both[word] &= u64::MAX << (from % 64);
            }
            let any = both.iter().fold(0, |any, word| any | word);
            if any != 0 {
                let word = both.iter().take_while(|word| **word == 0).count() % LINE;
                return self.place(line * LINE + word, both[word]);
            }
        }
        None
    }

    /// Returns the first rule whose bit is set in all rows of packet `at`.
    #[inline(always)]
    fn first(&self, rows: &[[u64; TOGETHER]], at: usize) -> Option<usize> {
        for line in 0..self.words / LINE {
            let both = self.line(rows.iter().map(|rows| rows[at % TOGETHER]), line);
            let any = both.iter().fold(0, |any, word| any | word);
            if any != 0 {
                let word = both.iter().take_while(|word| **word == 0).count() % LINE;
                return self.place(line * LINE + word, both[word]);
            }
        }
        None
    }

    /// Returns the AND of a packet's rows for one line of words.
    #[inline(always)]
    fn line(&self, rows: impl Iterator<Item = u64>, line: usize) -> [u64; LINE] {
        let mut both = [u64::MAX; LINE];
        for (part, row) in self.parts.iter().zip(rows) {
            let start = row as usize + line * LINE;
            if let Some(bits) = part.line(start) {
                for (one, other) in both.iter_mut().zip(bits) {
                    *one &= other;
                }
            }
        }
        both
    }

    /// Returns the rule of the lowest bit; a block without fields has bits beyond its rules.
    #[inline(always)]
    fn place(&self, word: usize, bits: u64) -> Option<usize> {
        let place = word * 64 + bits.trailing_zeros() as usize;
        (bits != 0 && place < self.rules.len()).then_some(place)
    }
}

/// Computes the rows of one packet.
struct PacketRows<'a, P> {
    block: &'a Block,
    packet: &'a P,
}

impl<P: Packets> Work for PacketRows<'_, P> {
    type Output = Rows;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Rows {
        let mut rows = [0; PARTS];
        for (part, row) in self.block.parts.iter().zip(&mut rows) {
            *row = part.row(part.span(lanes, self.packet, 0) as u32);
        }
        rows
    }
}
