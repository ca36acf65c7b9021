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
mod ranks;
mod sparse;

use std::collections::HashMap;
use std::sync::Arc;

use kernels::{Lanes, Work, widest};

use alike::Alike;
pub use dimension::{Of, Packets, TOGETHER};
use dimension::{PARTS, Spans};
use ranks::{BROAD, FLAT, PAIR, Ranks, WideRanks};
use sparse::{Runs, SpansOf, Sparse};

use super::stream::Looked;
use super::table::{NONE, Rule};

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
    /// A bit for each rule of its block that the packet fits, where one word has a bit for each.
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
    /// Where rows are long.
    sparse: Option<Sparse>,
    /// A part is a mark: what rules change there, they change for the rules behind them.
    pub(super) reads_marks: bool,
}

/// One part of packets.
#[derive(Debug)]
struct Part {
    of: Of,
    spans: Search,
    /// By span: its row, or where that begins in `bits`.
    rows: Box<[u64]>,
    bits: Box<[u64]>,
    few: Option<Box<Few>>,
}

/// A few spans of rows of one word, for many packets at once.
#[derive(Debug)]
struct Few {
    /// Where spans begin but for the first; behind the last of them numbers that say nothing.
    boundaries: [u32; 32],
    /// By span: its row; behind the last span that of the last.
    rows: [u64; 32],
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
        let (parts, runs): (Vec<Part>, Vec<Vec<Runs>>) = parts
            .map(|(of, wanted)| Part::new(*of, wanted, words))
            .unzip();
        let spans: Vec<usize> = parts.iter().map(|part| part.rows.len()).collect();
        let sparse = (words > 1).then(|| Sparse::new(&runs, &spans, rules.len()));
        Self {
            sparse: sparse.flatten(),
            reads_marks: wanted.iter().any(|(of, _)| of.is_mark()),
            parts: parts.into(),
            words,
            rest: rest.into_iter().map(Into::into).collect(),
            alike: Alike::new(&rules),
            rules,
        }
    }

    /// Whether its first candidates are found by lists.
    #[cfg(test)]
    pub(super) fn is_sparse(&self) -> bool {
        self.sparse.is_some()
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

    /// The first rule whose bit is set in all rows of a packet of a batch.
    #[inline(always)]
    fn first(&self, rows: &[[u64; BATCH]], at: usize) -> Option<usize> {
        for line in 0..self.words / LINE {
            let both = self.line(rows.iter().map(|rows| rows[at % BATCH]), line);
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
            if let Some(bits) = part.bits.get(start..start + LINE) {
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

impl Part {
    /// `wanted` has for each rule the spans that it fits; none where it does not ask. With the same as
    /// runs of the part's own spans.
    fn new(of: Of, wanted: &[Option<Spans>], words: usize) -> (Self, Vec<Runs>) {
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
        let spans = Search::new(of, &boundaries);
        let part = Self {
            of,
            few: (words == 1)
                .then(|| Few::of(&spans, &boundaries, &rows).map(Box::new))
                .flatten(),
            spans,
            rows: rows.into(),
            bits: bits.into(),
        };
        (part, runs)
    }

    /// The span of a packet. `of` and `levels` are the part's own, as constants where the caller has
    /// them.
    #[inline(always)]
    fn span<L: Lanes, P: Packets>(
        &self,
        lanes: L,
        of: Of,
        levels: usize,
        packets: &P,
        at: usize,
    ) -> usize {
        match &self.spans {
            Search::Narrow(ranks) => ranks.rank(lanes, levels, dimension::key(of, packets, at)),
            Search::Wide(ranks) => {
                let tuple = &packets.fields(at).tuple;
                let address = match of {
                    Of::Source => tuple.source,
                    _ => tuple.destination,
                };
                ranks.rank(lanes, levels, address)
            }
        }
    }

    /// Takes from each packet the rules that this part does not leave it; none where there is no way
    /// to do that for many at once. `all` are looked up, and not some of them.
    #[inline(always)]
    fn narrow<L: Lanes, P: Packets>(
        &self,
        lanes: L,
        packets: &P,
        (which, all): (&[u16], bool),
        left: &mut [u64; BATCH],
    ) -> Option<()> {
        let few = self.few.as_ref()?;
        let mut keys = [0; BATCH];
        let column = packets.column(self.of).filter(|_| all);
        let keys = match column {
            Some(column) => column,
            None => {
                self.fill_keys(packets, which, &mut keys);
                &keys
            }
        };
        let (keys, _) = keys.as_chunks();
        let (left, _) = left.as_chunks_mut::<16>();
        let used = which.len().div_ceil(16);
        for (keys, left) in keys.iter().zip(left).take(used) {
            let rows = lanes.rows(&few.boundaries, &few.rows, keys);
            for (left, row) in left.iter_mut().zip(rows) {
                *left &= row;
            }
        }
        Some(())
    }

    /// The packets' numbers of this part.
    #[inline(always)]
    fn fill_keys<P: Packets>(&self, packets: &P, which: &[u16], keys: &mut [u32; BATCH]) {
        match self.of {
            Of::Source => fill_keys(Of::Source, packets, which, keys),
            Of::Destination => fill_keys(Of::Destination, packets, which, keys),
            Of::Service => fill_keys(Of::Service, packets, which, keys),
            Of::Ingress => fill_keys(Of::Ingress, packets, which, keys),
            Of::Egress => fill_keys(Of::Egress, packets, which, keys),
            Of::State => fill_keys(Of::State, packets, which, keys),
            other => fill_keys(other, packets, which, keys),
        }
    }

    /// The spans of many packets: the loop for the usual parts and depths each by itself. `all` are
    /// looked up, and not some of them.
    #[inline(always)]
    fn spans<L: Lanes, P: Packets>(
        &self,
        lanes: L,
        packets: &P,
        (which, all): (&[u16], bool),
        spans: &mut [u32; BATCH],
    ) {
        if let Search::Narrow(ranks) = &self.spans
            && let Some(column) = packets.column(self.of).filter(|_| all)
        {
            let column = &column[..which.len().min(BATCH)];
            return match ranks.levels() {
                BROAD => fill_column(lanes, ranks, BROAD, column, spans),
                levels => fill_column(lanes, ranks, levels, column, spans),
            };
        }
        match self.of {
            Of::Source => self.spans_of(lanes, Of::Source, packets, which, spans),
            Of::Destination => self.spans_of(lanes, Of::Destination, packets, which, spans),
            Of::Service => self.spans_of(lanes, Of::Service, packets, which, spans),
            Of::Ingress => self.fill_alike(lanes, Of::Ingress, packets, which, spans),
            Of::Egress => self.fill_alike(lanes, Of::Egress, packets, which, spans),
            Of::State => self.fill_alike(lanes, Of::State, packets, which, spans),
            Of::Ipsec => self.fill_alike(lanes, Of::Ipsec, packets, which, spans),
            other => self.fill_alike(lanes, other, packets, which, spans),
        }
    }

    /// The spans of a part that differs little from packet to packet: what is the same as before lies
    /// in the same one.
    #[inline(always)]
    fn fill_alike<L: Lanes, P: Packets>(
        &self,
        lanes: L,
        of: Of,
        packets: &P,
        which: &[u16],
        spans: &mut [u32; BATCH],
    ) {
        let mut last = None;
        for (span, at) in spans.iter_mut().zip(which) {
            let at = usize::from(*at);
            let key = dimension::key(of, packets, at);
            *span = match last {
                Some((known, span)) if known == key => span,
                _ => self.span(lanes, of, self.spans.levels(), packets, at) as u32,
            };
            last = Some((key, *span));
        }
    }

    #[inline(always)]
    fn spans_of<L: Lanes, P: Packets>(
        &self,
        lanes: L,
        of: Of,
        packets: &P,
        which: &[u16],
        spans: &mut [u32; BATCH],
    ) {
        match self.spans.levels() {
            FLAT => self.fill(lanes, of, FLAT, packets, which, spans),
            PAIR => self.fill(lanes, of, PAIR, packets, which, spans),
            BROAD => self.fill(lanes, of, BROAD, packets, which, spans),
            2 => self.fill(lanes, of, 2, packets, which, spans),
            3 => self.fill(lanes, of, 3, packets, which, spans),
            levels => self.fill(lanes, of, levels, packets, which, spans),
        }
    }

    #[inline(always)]
    fn fill<L: Lanes, P: Packets>(
        &self,
        lanes: L,
        of: Of,
        levels: usize,
        packets: &P,
        which: &[u16],
        spans: &mut [u32; BATCH],
    ) {
        for (span, at) in spans.iter_mut().zip(which) {
            *span = self.span(lanes, of, levels, packets, usize::from(*at)) as u32;
        }
    }
}

impl Search {
    #[inline(always)]
    const fn levels(&self) -> usize {
        match self {
            Self::Narrow(ranks) => ranks.levels(),
            Self::Wide(ranks) => ranks.levels(),
        }
    }

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

/// The spans of numbers.
#[inline(always)]
fn fill_column<L: Lanes>(
    lanes: L,
    ranks: &Ranks,
    levels: usize,
    column: &[u32],
    spans: &mut [u32; BATCH],
) {
    for (span, key) in spans.iter_mut().zip(column) {
        *span = ranks.rank(lanes, levels, *key) as u32;
    }
}

/// The packets' numbers of a part.
#[inline(always)]
fn fill_keys<P: Packets>(of: Of, packets: &P, which: &[u16], keys: &mut [u32; BATCH]) {
    for (key, at) in keys.iter_mut().zip(which) {
        *key = dimension::key(of, packets, usize::from(*at));
    }
}

impl Few {
    fn of(spans: &Search, boundaries: &[u128], rows: &[u64]) -> Option<Self> {
        // As in `Search`, what lies beyond a number's bits separates nothing.
        let within = boundaries.iter().map_while(|one| u32::try_from(*one).ok());
        let within: Vec<u32> = within.collect();
        if matches!(spans, Search::Wide(_)) || within.len() > 31 {
            return None;
        }
        let last = rows[within.len()];
        Some(Self {
            boundaries: core::array::from_fn(|at| within.get(at).copied().unwrap_or(u32::MAX)),
            rows: core::array::from_fn(|at| match at <= within.len() {
                true => rows[at],
                false => last,
            }),
        })
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
            *row = part.rows[part.span(lanes, part.of, part.spans.levels(), self.packet, 0)];
        }
        rows
    }
}

const BATCH: usize = TOGETHER;

/// The first candidates of many packets in a block.
pub(super) struct Many<'a, P> {
    pub(super) block: &'a Block,
    pub(super) packets: &'a P,
    /// Those that are looked up.
    pub(super) which: &'a [u16],
    /// Where the block begins in its chain.
    pub(super) start: u32,
    /// By packet; untouched where there is none in this block.
    pub(super) firsts: &'a mut [First],
}

impl<P: Packets> Work for Many<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match self.block.words {
            1 => self.of_words(lanes),
            _ => self.of_lines(lanes),
        }
    }
}

impl<P: Packets> Many<'_, P> {
    /// Whether all packets are looked up at once, and not some of them.
    #[inline(always)]
    fn takes_all(&self) -> bool {
        (self.which.len() == self.packets.len()) & (self.which.len() <= BATCH)
    }

    /// A row is one word.
    #[inline(always)]
    fn of_words<L: Lanes>(self, lanes: L) {
        let block = self.block;
        // A part says nothing of rules that there are not.
        let rules = u64::MAX >> (64 - block.rules.len().clamp(1, 64));
        let all = self.takes_all();
        for which in self.which.chunks(BATCH) {
            let mut left = [rules; BATCH];
            for part in &block.parts {
                let narrowed = part.narrow(lanes, self.packets, (which, all), &mut left);
                if narrowed.is_some() {
                    continue;
                }
                let mut spans = [0; BATCH];
                part.spans(lanes, self.packets, (which, all), &mut spans);
                for (left, span) in left.iter_mut().zip(&spans) {
                    *left &= part.rows[*span as usize];
                }
            }
            if all {
                let firsts = self.firsts.iter_mut().zip(&left);
                for (first, left) in firsts.take(which.len()) {
                    *first = First::of(self.start, *left);
                }
                return;
            }
            for (packet, left) in which.iter().zip(&left) {
                if *left != 0
                    && let Some(first) = self.firsts.get_mut(usize::from(*packet))
                {
                    *first = First::of(self.start, *left);
                }
            }
        }
    }

    /// A row is some lines.
    #[inline(always)]
    fn of_lines<L: Lanes>(mut self, lanes: L) {
        let all = self.takes_all();
        for which in self.which.chunks(BATCH) {
            match &self.block.sparse {
                Some(sparse) => self.of_lists(lanes, sparse, (which, all)),
                None => self.of_rows(lanes, (which, all)),
            }
        }
    }

    #[inline(always)]
    fn of_lists<L: Lanes>(&mut self, lanes: L, sparse: &Sparse, which: (&[u16], bool)) {
        let mut all = [SpansOf::default(); BATCH];
        let mut spans = [0; BATCH];
        for (number, part) in self.block.parts.iter().enumerate() {
            part.spans(lanes, self.packets, which, &mut spans);
            for (all, span) in all.iter_mut().zip(&spans) {
                all[number % all.len()] = *span as u16;
            }
        }
        for (spans, packet) in all.iter().zip(which.0) {
            self.found(*packet, sparse.first(spans));
        }
    }

    #[inline(always)]
    fn of_rows<L: Lanes>(&mut self, lanes: L, which: (&[u16], bool)) {
        let block = self.block;
        let mut rows = [[0; BATCH]; PARTS];
        let rows = &mut rows[..block.parts.len()];
        let mut spans = [0; BATCH];
        for (part, rows) in block.parts.iter().zip(rows.iter_mut()) {
            part.spans(lanes, self.packets, which, &mut spans);
            for (row, span) in rows.iter_mut().zip(&spans) {
                *row = part.rows[*span as usize];
            }
        }
        for (at, packet) in which.0.iter().enumerate() {
            self.found(*packet, block.first(&*rows, at).map(|place| place as u32));
        }
    }

    #[inline(always)]
    fn found(&mut self, packet: u16, place: Option<u32>) {
        if let Some(place) = place
            && let Some(first) = self.firsts.get_mut(usize::from(packet))
        {
            let place = self.start + place;
            *first = First { place, left: 0 };
        }
    }
}
