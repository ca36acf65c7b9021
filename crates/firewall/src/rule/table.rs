//! Rules, chains and tables.
//!
//! A chain consists of blocks, each compiled separately. A recompiled table reuses the blocks of the previous table
//! whose rules are unchanged, from both ends of each chain. So a change of one rule among thousands compiles one block,
//! or two if a small block is joined to its neighbour. [`Table::splice`] changes one chain and does not examine the
//! rules of other blocks.

use std::sync::Arc;

use kernels::widest;
use packet::Tuple;

use super::action::Action;
use super::classify::{Block, First, Many, Packets, Parts, RULES};
use super::limit::ConnectionLimit;
use super::matcher::{Match, Matcher};

/// Maximum nesting depth of jumps.
pub const DEPTH: usize = 16;
/// Index that stands for no rule.
pub const NONE: u32 = u32::MAX;
/// Number of rules of a new block, which leaves room for later additions.
const FILL: usize = RULES - RULES / 32;
/// A block with at most this many rules takes in rules that are inserted next to it. Two such blocks are joined later.
const SMALL: usize = FILL / 2;

/// A compiled rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Number of the configuration item, constant for its lifetime: index of the rule's counters.
    pub id: u32,
    /// All matchers must match. Sorted by `Match::order`; [`Rule::new`] sorts them.
    pub matchers: Box<[Matcher]>,
    /// The action of a match.
    pub action: Action,
    /// Mangle: true to continue with the next rule, false to end the chain as with `accept`.
    pub passthrough: bool,
    /// Log prefix, if matching packets are logged.
    pub log: Option<Arc<str>>,
}

impl Rule {
    /// Creates a rule that passes packets through where the action permits it, and does not log.
    pub fn new(id: u32, mut matchers: Vec<Matcher>, action: Action) -> Self {
        matchers.sort_by_key(|matcher| matcher.what.order());
        Self {
            id,
            matchers: matchers.into(),
            action,
            passthrough: true,
            log: None,
        }
    }
}

impl Rule {
    /// Returns true if the rule marks connections, or matches their counters.
    fn follows(&self) -> bool {
        let reads = |matcher: &Matcher| {
            let what = &matcher.what;
            matches!(
                what,
                Match::ConnectionBytes { .. } | Match::ConnectionRate { .. }
            )
        };
        matches!(self.action, Action::MarkConnection(_)) || self.matchers.iter().any(reads)
    }

    fn seeks(&self) -> bool {
        let seeks = |what: &Match| matches!(what, Match::TlsHost(_) | Match::Layer7(_));
        self.matchers.iter().any(|matcher| seeks(&matcher.what))
    }

    const fn jumps(&self) -> bool {
        matches!(self.action, Action::Jump(_))
    }

    /// Returns the packet mark that the rule sets, if any.
    const fn mark(&self) -> Option<u32> {
        match self.action {
            Action::MarkPacket(mark) => Some(mark),
            _ => None,
        }
    }

    /// Returns true if the rule reports packets to the control plane, or reads payload.
    fn tells(&self) -> bool {
        let reads = |matcher: &Matcher| {
            let what = &matcher.what;
            matches!(
                what,
                Match::TlsHost(_) | Match::Layer7(_) | Match::ConnectionLimit(_)
            )
        };
        self.log.is_some() || self.action.tells() || self.matchers.iter().any(reads)
    }
}

/// Common properties of the rules of a block, so that a chain need not examine each rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    /// The outcome of a first candidate, by rule index.
    quick: Box<[Quick]>,
    /// The packet mark that each rule sets, if any.
    marks: Box<[Option<u32>]>,
    censuses: Box<[Arc<ConnectionLimit>]>,
    decides: bool,
    tells: bool,
    follows: bool,
    jumps: bool,
    /// True if a rule searches streams.
    seeks: bool,
}

impl Summary {
    /// Summarizes these rules. `rest` has for each rule the indices of the matchers that no field of the block covers.
    pub(super) fn new(rules: &[Arc<Rule>], rest: &[Box<[u8]>]) -> Self {
        let quick = rules.iter().zip(rest);
        let matchers = rules.iter().flat_map(|rule| &rule.matchers);
        let censuses = matchers.filter_map(|matcher| match &matcher.what {
            Match::ConnectionLimit(limit) => Some(Arc::clone(limit)),
            _ => None,
        });
        Self {
            quick: quick
                .map(|(rule, rest)| Quick::of(rule, rest.is_empty()))
                .collect(),
            marks: rules.iter().map(|rule| rule.mark()).collect(),
            censuses: censuses.collect(),
            decides: rules.iter().any(|rule| rule.action.decides()),
            tells: rules.iter().any(|rule| rule.tells()),
            follows: rules.iter().any(|rule| rule.follows()),
            jumps: rules.iter().any(|rule| rule.jumps()),
            seeks: rules.iter().any(|rule| rule.seeks()),
        }
    }
}

/// Index of a chain in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(pub u16);

/// A chain: an ordered list of rules.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The chain's name in the configuration.
    pub name: Arc<str>,
    pub(super) blocks: Box<[Arc<Block>]>,
    /// Index of the first rule of each block.
    pub(super) starts: Box<[u32]>,
    /// The outcome by index of a packet's first candidate; the last element is for no candidate.
    quick: Box<[Quick]>,
    /// The packet mark that each rule sets, if any.
    marks: Box<[Option<u32>]>,
    /// The fields that determine first candidates.
    pub parts: Parts,
    /// True if [`Packets`] may have columns for all these fields.
    pub by_columns: bool,
    /// True if rules match packet marks.
    pub reads_packet_marks: bool,
    /// True if the outcome of some first candidate requires evaluation.
    pub has_to_ask: bool,
}

/// Outcome of a packet's first candidate in a chain, if its bit alone determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quick {
    /// The rule must be evaluated, or has further effects.
    Ask,
    /// Accepts the packet, which the rule with this id counts; [`NOBODY`] if there is none.
    Accept(u32),
    /// Drops the packet, which the rule with this id counts.
    Drop(u32),
    /// Accepts the packet untracked; the rule with this id counts it.
    Notrack(u32),
    /// The rule with this id counts the packet, and the chain continues.
    Pass(u32),
    /// The rule with this id counts and marks the packet, and the chain continues.
    MarkAndPass(u32),
    /// Accepts the packet, which the rule with this id counts and marks.
    MarkAndAccept(u32),
}

/// The id of no rule; its counter has no meaning.
pub const NOBODY: u32 = 0;

impl Quick {
    fn of(rule: &Rule, is_exact: bool) -> Self {
        match (&rule.action, is_exact && rule.log.is_none()) {
            (Action::Accept, true) => Self::Accept(rule.id),
            (Action::Drop, true) => Self::Drop(rule.id),
            (Action::Notrack, true) => Self::Notrack(rule.id),
            (Action::Passthrough, true) => Self::Pass(rule.id),
            (Action::MarkPacket(_), true) if rule.passthrough => Self::MarkAndPass(rule.id),
            (Action::MarkPacket(_), true) => Self::MarkAndAccept(rule.id),
            _ => Self::Ask,
        }
    }
}

impl Chain {
    fn compile(previous: Option<&Self>, name: Arc<str>, rules: &[Arc<Rule>]) -> Self {
        let old = previous.map_or(&[][..], |chain| &chain.blocks);
        Self::new(name, cut(old, rules))
    }

    fn new(name: Arc<str>, blocks: Vec<Arc<Block>>) -> Self {
        let starts = blocks.iter().scan(0, |next, block| {
            let start = *next;
            *next += block.rules.len() as u32;
            Some(start)
        });
        let (mut quick, mut marks) = (Vec::new(), Vec::new());
        for block in &blocks {
            quick.extend_from_slice(&block.summary.quick);
            marks.extend_from_slice(&block.summary.marks);
        }
        quick.push(Quick::Accept(NOBODY));
        let asks = |block: &Arc<Block>| block.summary.quick.contains(&Quick::Ask);
        Self {
            name,
            has_to_ask: blocks.len() > 1 || blocks.iter().any(asks),
            starts: starts.collect(),
            parts: blocks.iter().flat_map(|block| block.parts()).collect(),
            by_columns: blocks.iter().all(|block| block.by_columns()),
            reads_packet_marks: blocks.iter().any(|block| block.reads_packet_marks),
            marks: marks.into(),
            quick: quick.into(),
            blocks: blocks.into(),
        }
    }

    /// Returns the number of rules.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Returns true if the chain has no rules.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the rule at an index below [`Self::len`].
    #[inline]
    pub(super) fn rule(&self, place: usize) -> &Arc<Rule> {
        let block = self.block_of(place);
        &self.blocks[block].rules[place - self.starts[block] as usize]
    }

    /// Returns a copy of the chain whose `removed` rules from index `at` on are replaced by `inserted`.
    fn splice(&self, at: usize, removed: usize, inserted: &[Arc<Rule>]) -> Self {
        let end = at + removed;
        let start = |block: usize| {
            self.starts
                .get(block)
                .map_or(self.len(), |start| *start as usize)
        };
        let front = self.starts.partition_point(|start| (*start as usize) < at);
        // The block that begins before `at` extends beyond it, unless `at` is its end.
        let front = match front.checked_sub(1) {
            Some(block) if start(block + 1) > at => block,
            _ => front,
        };
        let back = self.starts.partition_point(|start| (*start as usize) < end);
        let back = back.max(front);
        let old = |from, to| (from..to).map(|place| Arc::clone(self.rule(place)));
        let mut changed: Vec<_> = old(start(front), at).collect();
        changed.extend_from_slice(inserted);
        changed.extend(old(end, start(back).max(end)));
        Self::new(
            Arc::clone(&self.name),
            join(&self.blocks, front, back, changed),
        )
    }

    /// Returns the outcome of a packet with this first candidate.
    #[inline(always)]
    pub fn quick(&self, first: &First) -> Quick {
        let last = self.quick.len() - 1;
        self.quick[(first.place as usize).min(last)]
    }

    /// Returns the outcome for a packet with this first candidate if its mark is not used: `Ask`, or the end
    /// of the chain. Calls `passed` with each rule that the packet passes before, in order.
    #[inline(always)]
    pub fn follow(&self, first: &First, mut passed: impl FnMut(u32)) -> Quick {
        let mut at = *first;
        loop {
            match self.quick(&at) {
                Quick::Pass(rule) | Quick::MarkAndPass(rule) => passed(rule),
                Quick::MarkAndAccept(rule) => return Quick::Accept(rule),
                end => return end,
            }
            at = match at.next() {
                Some(next) => next,
                // The next block may have candidates.
                None if at.left == 0 || self.blocks.len() > 1 => return Quick::Ask,
                None => return Quick::Accept(NOBODY),
            };
        }
    }

    /// Returns the mark that the rules of [`Self::follow`] set; `None` if they set none.
    pub fn mark(&self, first: &First) -> Option<u32> {
        let (mut at, mut mark) = (*first, None);
        loop {
            let place = at.place as usize;
            mark = self.marks.get(place).copied().flatten().or(mark);
            at = match (self.quick(&at), at.next()) {
                (Quick::Pass(_) | Quick::MarkAndPass(_), Some(next)) => next,
                _ => return mark,
            };
        }
    }

    /// Returns true if lists find the first candidates of all blocks.
    #[cfg(test)]
    pub(super) fn is_sparse(&self) -> bool {
        self.blocks.iter().all(|block| block.is_sparse())
    }

    /// Returns the rules in order.
    pub fn rules(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.blocks.iter().flat_map(|block| &*block.rules)
    }

    /// Returns the index of the block that contains a rule, or of the last block.
    #[inline]
    pub(super) fn block_of(&self, place: usize) -> usize {
        match self.starts.len() {
            0 | 1 => 0,
            _ => {
                self.starts
                    .partition_point(|start| *start as usize <= place)
                    - 1
            }
        }
    }
}

/// Divides rules into blocks; reuses old blocks if possible.
fn cut(old: &[Arc<Block>], rules: &[Arc<Rule>]) -> Vec<Arc<Block>> {
    let same = |block: &Block, rules: &[Arc<Rule>]| {
        let pairs = block.rules.iter().zip(rules);
        block.rules.len() == rules.len() && { pairs }.all(|(one, other)| Arc::ptr_eq(one, other))
    };
    let (mut front, mut from) = (0, 0);
    while let Some(block) = old.get(front)
        && rules
            .get(from..from + block.rules.len())
            .is_some_and(|rules| same(block, rules))
    {
        (front, from) = (front + 1, from + block.rules.len());
    }
    let (mut back, mut to) = (old.len(), rules.len());
    while back > front
        && let Some(start) = to.checked_sub(old[back - 1].rules.len())
        && start >= from
        && same(&old[back - 1], &rules[start..to])
    {
        (back, to) = (back - 1, start);
    }
    join(old, front, back, rules[from..to].to_vec())
}

/// Replaces the blocks from `front` to `back` by these rules. Adds them to a neighbour with room; otherwise single
/// insertions would create many small blocks.
fn join(
    old: &[Arc<Block>],
    mut front: usize,
    mut back: usize,
    mut changed: Vec<Arc<Rule>>,
) -> Vec<Arc<Block>> {
    let is_insertion = front == back;
    if is_insertion && changed.is_empty() {
        return old.to_vec();
    }
    let most = if is_insertion { SMALL } else { FILL };
    let room = |block: &Block, len: usize| block.rules.len() + len <= most;
    if front > 0 && room(&old[front - 1], changed.len()) {
        front -= 1;
        changed.splice(0..0, old[front].rules.iter().cloned());
    }
    if back < old.len() && room(&old[back], changed.len()) {
        changed.extend(old[back].rules.iter().cloned());
        back += 1;
    }
    let mut blocks = old[..front].to_vec();
    // Rules added one by one sometimes start a new block. The two blocks before it are then joined if they fit into
    // one.
    if is_insertion
        && front == back
        && let [.., one, other] = &blocks[..]
        && one.rules.len() + other.rules.len() <= FILL
    {
        let both = [&one.rules[..], &other.rules[..]].concat();
        blocks.truncate(front - 2);
        blocks.push(Arc::new(Block::new(both.into())));
    }
    if changed.len() <= RULES && !changed.is_empty() {
        blocks.push(Arc::new(Block::new(changed.into())));
    } else {
        let fair = changed
            .len()
            .div_ceil(changed.len().div_ceil(FILL).max(1))
            .max(1);
        let new = changed
            .chunks(fair)
            .map(|some| Arc::new(Block::new(some.into())));
        blocks.extend(new);
    }
    blocks.extend_from_slice(&old[back..]);
    blocks
}

/// The chains of one menu, such as `/ip/firewall/filter`.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub(super) chains: Box<[Arc<Chain>]>,
    /// The ids of rules that may not jump, in order.
    refused: Box<[u32]>,
    censuses: Box<[Arc<ConnectionLimit>]>,
    /// True if a rule determines a packet's route or end by other means than marks.
    pub decides: bool,
    /// True if a rule reports packets to the control plane, or reads payload.
    pub tells: bool,
    /// True if a rule marks connections or matches their counters: the treatment of packets may then change
    /// without a change of rules, routes or neighbours.
    pub follows: bool,
}

impl Table {
    /// Compiles chains; a chain's index is its [`ChainId`]. Reuses the blocks whose rules are the same `Arc`
    /// in `previous`.
    pub fn compile(previous: Option<&Self>, chains: Vec<(Arc<str>, Vec<Arc<Rule>>)>) -> Self {
        let compiled = chains.into_iter().map(|(name, rules)| {
            let old = previous.and_then(|table| table.chain(table.find(&name)?));
            Arc::new(Chain::compile(old, name, &rules))
        });
        let mut table = Self::of(compiled.collect());
        table.refuse_jumps();
        table
    }

    /// Returns a copy of the table in which `inserted` replaces `removed` rules of a chain from index `at` on. Takes
    /// constant time, apart from a copy of a few bytes for each rule of the chain.
    #[must_use]
    pub fn splice(
        &self,
        chain: ChainId,
        at: usize,
        removed: usize,
        inserted: &[Arc<Rule>],
    ) -> Self {
        let Some(before) = self.chains.get(usize::from(chain.0)) else {
            return self.clone();
        };
        let mut leads = inserted.iter().any(|rule| rule.jumps());
        leads |= (at..at + removed).any(|place| before.rule(place).jumps());
        let mut chains = self.chains.clone();
        chains[usize::from(chain.0)] = Arc::new(before.splice(at, removed, inserted));
        let mut table = Self::of(chains);
        match leads {
            true => table.refuse_jumps(),
            false => table.refused.clone_from(&self.refused),
        }
        table
    }

    /// Creates a table of these chains and resolves its jumps.
    fn of(chains: Box<[Arc<Chain>]>) -> Self {
        let blocks = || chains.iter().flat_map(|chain| &*chain.blocks);
        let summaries = || blocks().map(|block| &block.summary);
        let censuses = summaries().flat_map(|summary| &*summary.censuses);
        Self {
            decides: summaries().any(|summary| summary.decides),
            tells: summaries().any(|summary| summary.tells),
            follows: summaries().any(|summary| summary.follows),
            censuses: censuses.cloned().collect(),
            refused: Box::default(),
            chains,
        }
    }

    /// Finds the jumps that are refused: loops, and jumps that nest too deep.
    fn refuse_jumps(&mut self) {
        let mut jumps = Jumps {
            chains: &self.chains,
            depths: vec![Depth::Unknown; self.chains.len()],
            refused: Vec::new(),
        };
        for chain in 0..self.chains.len() {
            jumps.depth(chain, DEPTH);
        }
        let mut refused = jumps.refused;
        refused.sort_unstable();
        refused.dedup();
        self.refused = refused.into();
    }

    /// Returns the sorted ids of rules whose jump would form a loop or exceed the nesting depth [`DEPTH`]:
    /// such a rule matches but does not jump.
    pub fn refused(&self) -> &[u32] {
        &self.refused
    }

    /// Returns the chain with this name.
    pub fn find(&self, name: &str) -> Option<ChainId> {
        let place = self.chains.iter().position(|chain| &*chain.name == name)?;
        u16::try_from(place).ok().map(ChainId)
    }

    /// Returns the rules of all blocks with a rule that searches streams.
    pub(super) fn seeking(&self) -> impl Iterator<Item = &Arc<Rule>> + Clone {
        let blocks = self.chains.iter().flat_map(|chain| &*chain.blocks);
        let seeking = blocks.filter(|block| block.summary.seeks);
        seeking.flat_map(|block| &*block.rules)
    }

    /// Returns all chains.
    #[cfg(test)]
    pub(super) fn chains(&self) -> &[Arc<Chain>] {
        &self.chains
    }

    /// Returns true if no chain has rules.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.chains.iter().all(|chain| chain.is_empty())
    }

    /// Returns `id` if the chain has rules.
    #[inline]
    pub fn busy(&self, id: ChainId) -> Option<ChainId> {
        let chain = self.chain(id)?;
        (!chain.is_empty()).then_some(id)
    }

    /// Returns a chain by its index.
    #[inline]
    pub fn chain(&self, id: ChainId) -> Option<&Chain> {
        self.chains.get(usize::from(id.0)).map(|chain| &**chain)
    }

    /// Removes a connection from all `connection-limit` counters because it ended or its first packet was
    /// dropped. `original` is the tuple of its first packet as received.
    #[inline]
    pub fn leave(&self, original: &Tuple) {
        for census in &self.censuses {
            census.leave(original);
        }
    }

    /// Classifies a vector of at most [`frame::VECTOR_FRAMES`] packets: stores the first candidate rule of
    /// each. The packets' fields must not change before [`super::Ahead`] uses the result.
    pub fn ahead<P: Packets>(&self, chain: ChainId, packets: &P, firsts: &mut [First]) {
        firsts.fill(First::NOBODY);
        let Some(chain) = self.chain(chain) else {
            return;
        };
        let len = packets.len().min(firsts.len());
        let mut which = [0; frame::VECTOR_FRAMES];
        let mut count = len.min(which.len());
        for (at, place) in which.iter_mut().enumerate() {
            *place = at as u16;
        }
        for (block, start) in chain.blocks.iter().zip(&chain.starts) {
            widest(Many {
                block,
                packets,
                which: &which[..count],
                start: *start,
                firsts,
            });
            if chain.blocks.len() == 1 {
                return;
            }
            let mut left = 0;
            for at in 0..count {
                let packet = which[at];
                which[left] = packet;
                left += usize::from(firsts[usize::from(packet)] == First::NOBODY);
            }
            count = left;
        }
    }
}

/// Nesting depth of a chain's jumps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Unknown,
    /// Being computed: a jump to this chain is a loop.
    Open,
    Known(usize),
}

/// Search for loops of jumps.
struct Jumps<'a> {
    chains: &'a [Arc<Chain>],
    depths: Vec<Depth>,
    refused: Vec<u32>,
}

impl Jumps<'_> {
    /// Returns the nesting depth of a chain, with `left` levels permitted; `None` if it is part of a loop.
    fn depth(&mut self, chain: usize, left: usize) -> Option<usize> {
        match self.depths[chain] {
            Depth::Open => return None,
            Depth::Known(depth) => return Some(depth),
            Depth::Unknown => self.depths[chain] = Depth::Open,
        }
        let mut deepest = 0;
        let blocks = self.chains[chain].blocks.iter();
        let jumping = blocks.filter(|block| block.summary.jumps);
        for rule in jumping.flat_map(|block| &*block.rules) {
            let Action::Jump(to) = rule.action else {
                continue;
            };
            let to = usize::from(to.0);
            let below = match left.checked_sub(1) {
                Some(left) if to < self.chains.len() => self.depth(to, left),
                _ => None,
            };
            match below {
                Some(below) if below < DEPTH => deepest = deepest.max(below + 1),
                _ => self.refused.push(rule.id),
            }
        }
        self.depths[chain] = Depth::Known(deepest);
        Some(deepest)
    }
}
