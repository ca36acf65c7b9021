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

mod alike;
mod dimension;
mod few;
mod many;
mod part;
mod ranks;
mod sparse;

use std::sync::Arc;

use kernels::{Lanes, Work, widest};

use alike::Alike;
use dimension::PARTS;
pub(super) use dimension::Spans;
pub use dimension::{Of, Packets, Parts, TOGETHER};
pub(super) use many::Many;
use part::Part;
use sparse::{Runs, Sparse};

use super::stream::Looked;
use super::table::{NONE, Rule, Summary};

/// How many rules a block has at most.
pub(super) const RULES: usize = 1024;
/// Words of a cache line.
const LINE: usize = 8;

/// What each part of a packet leaves of a block's rules, by the number of the part in the block:
/// the bits themselves where a row is one word, else where the row begins.
type Rows = [u64; PARTS];

/// What a packet leaves of a block's rules.
#[derive(Clone, Copy, Debug)]
pub(super) enum Left {
    /// A bit for each rule that it fits.
    Word(u64),
    /// What is to be joined for that.
    Rows(Rows),
}

/// The first candidate of a packet in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// The rule's place in the chain, or [`NONE`].
    pub place: u32,
    /// A bit for each rule of its block that the packet fits, where one word has a bit for each; else any
    /// bit where it is known to fit no other.
    pub(super) left: u64,
}

impl First {
    /// That of a packet which fits these rules of a block; the first bit is the rule at `start`.
    #[inline(always)]
    fn of(start: u32, left: u64) -> Self {
        let place = start + left.trailing_zeros();
        Self {
            place: if left == 0 { NONE } else { place },
            left,
        }
    }

    /// The next candidate of its block; none behind the last, and where that is not known, for which there
    /// is no bit left at all.
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

/// See the module.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) rules: Box<[Arc<Rule>]>,
    parts: Box<[Part]>,
    /// Words of a row: one, or whole lines.
    words: usize,
    /// By rule: the matchers that no part says, by place.
    rest: Box<[Box<[u8]>]>,
    alike: Alike,
    pub(super) summary: Summary,
    /// Where rows are long.
    sparse: Option<Sparse>,
    /// A part is a mark: what rules change there, they change for the rules behind them.
    pub(super) reads_marks: bool,
    /// One of them is the packet's mark.
    pub(super) reads_packet_marks: bool,
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
            alike: Alike::new(&rules),
            rules,
        }
    }

    /// Whether its first candidates are found by lists.
    #[cfg(test)]
    pub(super) fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// What it asks of packets.
    pub(super) fn parts(&self) -> impl Iterator<Item = Of> {
        self.parts.iter().map(Part::of)
    }

    /// Whether packets are told apart by numbers alone that are kept as columns.
    pub(super) fn by_columns(&self) -> bool {
        self.parts.iter().all(Part::is_column)
    }

    /// The places of a rule's matchers that its bit does not answer for.
    #[inline(always)]
    pub(super) fn rest(&self, place: usize) -> &[u8] {
        &self.rest[place]
    }

    /// Where to go on behind a rule that did not match: rules fail with it that look for the same in a
    /// stream in which nothing is.
    #[inline(always)]
    pub(super) fn behind(&self, place: usize, looked: &Looked) -> usize {
        self.alike.behind(place, looked)
    }

    /// What one packet leaves.
    #[inline]
    pub(super) fn left<P: Packets>(&self, packet: &P) -> Left {
        let rows = widest(One {
            block: self,
            packet,
        });
        match self.words {
            1 => {
                let rows = rows.iter().take(self.parts.len());
                Left::Word(rows.fold(u64::MAX, |bits, row| bits & row))
            }
            _ => Left::Rows(rows),
        }
    }

    /// The same of the packet that this is the first candidate of, and that lies in this block; none
    /// where that does not say it.
    #[inline(always)]
    pub(super) fn left_of(&self, first: &First) -> Option<Left> {
        (self.words == 1).then_some(Left::Word(first.left))
    }

    /// The first rule from `from` on that the packet fits.
    #[inline(always)]
    pub(super) fn next(&self, left: &Left, from: usize) -> Option<usize> {
        if from >= self.rules.len() {
            return None;
        }
        let rows = match left {
            Left::Word(bits) => return self.place(0, bits & u64::MAX << (from % 64)),
            Left::Rows(rows) => rows,
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

    /// The first rule whose bit is set in all rows of a packet of many.
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

    /// What all rows of a packet leave in a line of words.
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

    /// The rule of the first bit; a block without parts has bits beyond its rules.
    #[inline(always)]
    fn place(&self, word: usize, bits: u64) -> Option<usize> {
        let place = word * 64 + bits.trailing_zeros() as usize;
        (bits != 0 && place < self.rules.len()).then_some(place)
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
            *row = part.row(part.span(lanes, self.packet, 0) as u32);
        }
        rows
    }
}
