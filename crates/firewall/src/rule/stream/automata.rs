//! Simultaneous search for many regular expressions in data that arrives in pieces.
//!
//! The expressions of a set are joined into as few automata as a size limit permits: one, or one for each
//! half if one would be too large, and so on. Such an automaton costs one table lookup per byte, and its
//! position is one number that any worker can continue from. An expression that is too large by itself is
//! searched separately in a copy of the data, by a lazily built automaton with bounded memory.
//!
//! Joining expressions with multiplying gaps takes seconds. A set that is needed at once
//! ([`Automata::after`]) keeps the automata of its predecessor and searches new expressions separately, or in
//! small groups if there are many; it is joined later ([`Automata::joined`]). Both forms find the same
//! expressions.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::hybrid::dfa as lazy;
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind, PatternSet, nfa::thompson};

/// Maximum memory of an expression's NFA in bytes.
const NFA_MAX: usize = 1 << 20;
/// Maximum size of an automaton in bytes.
const SIZE_MAX: usize = 1 << 20;
/// Size per expression that an automaton may have, so that a set whose joint automaton explodes is detected
/// early.
const SIZE_EACH: usize = 1 << 14;
/// Base size of an automaton in bytes.
const SIZE_FIRST: usize = 1 << 16;
/// Memory that a worker keeps per lazily built automaton, in bytes.
const CACHE: usize = 1 << 18;
/// Maximum number of lazily built automata per worker.
const CACHES: usize = 256;
/// Maximum number of separate automata until they are joined: each reads every byte. With more expressions,
/// half as many automata search for several expressions each.
const ALONE_MAX: usize = 128;
/// Stands for the index of an expression that is no longer in the set.
const REMOVED: u32 = u32::MAX;

/// An expression in the library's syntax.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    /// Its text.
    pub(super) text: Arc<str>,
    /// Identifier: a hash of the text.
    pub(super) number: u64,
}

/// Options of parsing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// True to ignore case.
    pub(super) any_case: bool,
}

impl Reading {
    fn syntax(self) -> syntax::Config {
        syntax::Config::new()
            .unicode(false)
            .utf8(false)
            .case_insensitive(self.any_case)
            .dot_matches_new_line(true)
    }

    fn nfa() -> thompson::Config {
        thompson::Config::new()
            .utf8(false)
            .nfa_size_limit(Some(NFA_MAX))
    }

    /// Checks whether an expression can be compiled.
    ///
    /// # Errors
    /// Returns the reason if it is malformed or too large.
    pub(super) fn check(self, text: &str) -> Result<(), String> {
        let made = thompson::NFA::compiler()
            .syntax(self.syntax())
            .configure(Self::nfa())
            .build(text);
        made.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Builds one automaton for all expressions, if it is small enough.
    fn join(self, texts: &[&str]) -> Option<dense::DFA<Vec<u32>>> {
        let size = (SIZE_FIRST + SIZE_EACH * texts.len()).min(SIZE_MAX);
        let config = dense::Config::new()
            .match_kind(MatchKind::All)
            .start_kind(StartKind::Unanchored)
            .accelerate(false)
            .dfa_size_limit(Some(size))
            .determinize_size_limit(Some(2 * size));
        let mut builder = dense::Builder::new();
        builder.configure(config).syntax(self.syntax());
        builder.thompson(Self::nfa()).build_many(texts).ok()
    }

    fn alone(self, texts: &[&str]) -> Option<lazy::DFA> {
        let config = lazy::DFA::config()
            .match_kind(MatchKind::All)
            .cache_capacity(CACHE)
            .skip_cache_capacity_check(true);
        lazy::DFA::builder()
            .configure(config)
            .syntax(self.syntax())
            .thompson(Self::nfa())
            .build_many(texts)
            .ok()
    }
}

/// Expressions with a joint automaton.
#[derive(Debug)]
struct Group {
    automaton: Arc<dense::DFA<Vec<u32>>>,
    start: StateID,
    /// The index in the set of each expression.
    places: Box<[u32]>,
}

/// One or a few expressions with a separate, lazily built automaton.
#[derive(Clone, Debug)]
struct Alone {
    automaton: Arc<lazy::DFA>,
    /// The index in the set of each expression.
    places: Box<[u32]>,
    /// Unique number of this automaton: key of the worker's cache.
    number: u64,
}

/// A set of expressions, which are identified by their index.
#[derive(Debug, Default)]
pub(super) struct Automata {
    expressions: Arc<[Expression]>,
    groups: Vec<Group>,
    alone: Vec<Alone>,
    /// True if the set could have fewer automata.
    apart: bool,
}

impl Automata {
    /// Builds as few automata as possible; the expressions must have passed the check.
    pub(super) fn new(expressions: Arc<[Expression]>, reading: Reading) -> Self {
        let mut automata = Self {
            expressions: Arc::clone(&expressions),
            ..Self::default()
        };
        automata.add(&expressions, 0, reading);
        automata
    }

    /// Builds the automata quickly: keeps the automata of `before`, and searches for other expressions separately,
    /// in groups if there are many. The expressions must have passed the check.
    pub(super) fn after(before: &Self, expressions: Arc<[Expression]>, reading: Reading) -> Self {
        let places: HashMap<u64, u32> = { expressions.iter() }
            .zip(0..)
            .map(|(one, place)| (one.number, place))
            .collect();
        let place = |old: &u32| {
            let one = before.expressions.get(*old as usize);
            let place = one.and_then(|one| places.get(&one.number));
            place.copied().unwrap_or(REMOVED)
        };
        let mut automata = Self {
            apart: !expressions.is_empty(),
            expressions,
            ..Self::default()
        };
        let mut has = vec![false; automata.expressions.len()];
        let mut take = |place: u32| {
            let has = has.get_mut(place as usize);
            has.is_some_and(|has| !core::mem::replace(has, true))
        };
        for group in &before.groups {
            let places: Box<[u32]> = group.places.iter().map(place).collect();
            let taken = places.iter().filter(|place| take(**place)).count();
            if taken > 0 {
                let automaton = Arc::clone(&group.automaton);
                automata.groups.push(Group {
                    automaton,
                    places,
                    ..*group
                });
            }
        }
        for alone in &before.alone {
            let places: Box<[u32]> = alone.places.iter().map(place).collect();
            let taken = places.iter().filter(|place| take(**place)).count();
            if taken > 0 {
                let automaton = Arc::clone(&alone.automaton);
                automata.alone.push(Alone {
                    automaton,
                    places,
                    ..*alone
                });
            }
        }
        let new = has.iter().zip(0..).filter(|(has, _)| !**has);
        let new: Vec<u32> = new.map(|(_, place)| place).collect();
        automata.search_apart(new, reading);
        automata
    }

    /// Adds separate automata for the expressions at these indices; regroups the separate automata if
    /// there are too many.
    fn search_apart(&mut self, mut places: Vec<u32>, reading: Reading) {
        let mut each = 1;
        if self.alone.len() + places.len() > ALONE_MAX {
            let known = core::mem::take(&mut self.alone);
            let known = known.iter().flat_map(|alone| alone.sought());
            places.extend(known);
            places.sort_unstable();
            each = places.len().div_ceil(ALONE_MAX / 2);
        }
        for places in places.chunks(each) {
            self.search_alone(places, reading);
        }
    }

    /// Returns the set with as few automata as possible, if it could have fewer.
    pub(super) fn joined(&self, reading: Reading) -> Option<Self> {
        let expressions = self.apart.then(|| Arc::clone(&self.expressions))?;
        Some(Self::new(expressions, reading))
    }

    /// Returns true if the set could have fewer automata.
    pub(super) fn is_apart(&self) -> bool {
        self.apart
    }

    /// Adds expressions whose indices begin with `first`.
    fn add(&mut self, expressions: &[Expression], first: u32, reading: Reading) {
        if expressions.is_empty() {
            return;
        }
        let texts: Vec<&str> = expressions.iter().map(|one| &*one.text).collect();
        let joined = reading.join(&texts).and_then(|automaton| {
            let start = automaton.start_state_forward(&Input::new(b"")).ok()?;
            Some((automaton, start))
        });
        match (joined, expressions) {
            (Some((automaton, start)), _) => self.groups.push(Group {
                automaton: Arc::new(automaton),
                start,
                places: (first..).take(expressions.len()).collect(),
            }),
            (None, [_]) => self.search_alone(&[first], reading),
            (None, many) => {
                let (front, back) = many.split_at(many.len() / 2);
                self.add(front, first, reading);
                self.add(back, first + front.len() as u32, reading);
            }
        }
    }

    /// Adds a separate automaton for some expressions, or one for each half if it would be too large.
    fn search_alone(&mut self, places: &[u32], reading: Reading) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let ones = places.iter();
        let ones = ones.filter_map(|place| self.expressions.get(*place as usize));
        let texts: Vec<&str> = ones.map(|one| &*one.text).collect();
        match reading.alone(&texts) {
            Some(automaton) => self.alone.push(Alone {
                automaton: Arc::new(automaton),
                places: places.into(),
                number: NEXT.fetch_add(1, Ordering::Relaxed),
            }),
            None if places.len() > 1 => {
                let (front, back) = places.split_at(places.len() / 2);
                self.search_alone(front, reading);
                self.search_alone(back, reading);
            }
            None => {}
        }
    }

    /// Returns true if the set is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.expressions.is_empty()
    }

    /// Returns the number of joint and of separate automata.
    #[cfg(test)]
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.groups.len(), self.alone.len())
    }

    /// Starts a search; reuses the memory of `run`.
    pub(super) fn begin(&self, run: &mut SearchState) {
        run.states.clear();
        let starts = self.groups.iter().map(|group| Some(group.start));
        run.states.extend(starts);
        run.found.clear();
        run.found.resize(self.expressions.len().div_ceil(64), 0);
        run.count = 0;
        run.copied.clear();
    }

    /// Continues a search with more data. Returns true if further expressions were found in all data so far.
    pub(super) fn read(
        &self,
        run: &mut SearchState,
        bytes: &[u8],
        searches: &mut Searches,
    ) -> bool {
        let before = run.count;
        for (at, group) in self.groups.iter().enumerate() {
            if let Some(state) = run.states.get(at).copied().flatten() {
                let state = group.read(state, bytes, run);
                run.states[at] = state;
            }
        }
        if !self.alone.is_empty() {
            run.copied.extend_from_slice(bytes);
        }
        for alone in &self.alone {
            if !alone.is_over(run) {
                searches.search(alone, run);
            }
        }
        run.count != before
    }

    /// Returns true if no further expression can be found, whatever data follows.
    pub(super) fn is_over(&self, run: &SearchState) -> bool {
        let mut alone = self.alone.iter();
        run.states.iter().all(Option::is_none) && alone.all(|alone| alone.is_over(run))
    }

    /// Returns the numbers of the expressions found.
    pub(super) fn found<'a>(&'a self, run: &'a SearchState) -> impl Iterator<Item = u64> + 'a {
        let all = self.expressions.iter().zip(0..);
        all.filter_map(|(one, place)| run.has(place).then_some(one.number))
    }
}

impl Group {
    /// Continues from a state; returns `None` if nothing more can be found.
    fn read(&self, mut state: StateID, bytes: &[u8], run: &mut SearchState) -> Option<StateID> {
        let automaton = &self.automaton;
        for &byte in bytes {
            state = automaton.next_state(state, byte);
            if automaton.is_special_state(state) && self.is_over(state, run) {
                return None;
            }
        }
        // Matches are reported one byte late; this also finds expressions that must end here.
        let end = automaton.next_eoi_state(state);
        let over = automaton.is_match_state(end) && self.is_over(end, run);
        (!over).then_some(state)
    }

    /// Records the matches of a state; returns true if nothing more can be found.
    #[cold]
    fn is_over(&self, state: StateID, run: &mut SearchState) -> bool {
        let automaton = &self.automaton;
        if !automaton.is_match_state(state) {
            return automaton.is_dead_state(state) || automaton.is_quit_state(state);
        }
        let before = run.count;
        for at in 0..automaton.match_len(state) {
            let pattern = automaton.match_pattern(state, at);
            run.note(self.places[pattern.as_usize()]);
        }
        run.count != before && self.places.iter().all(|place| run.has(*place))
    }
}

impl Alone {
    /// Returns the indices of expressions that are still in the set.
    fn sought(&self) -> impl Iterator<Item = u32> {
        self.places
            .iter()
            .copied()
            .filter(|place| *place != REMOVED)
    }

    /// Returns true if all expressions were found.
    fn is_over(&self, run: &SearchState) -> bool {
        self.sought().all(|place| run.has(place))
    }
}

/// State of a search.
#[derive(Clone, Debug, Default)]
pub(super) struct SearchState {
    /// State of each joint automaton; `None` if it cannot find more.
    states: Vec<Option<StateID>>,
    /// A bit for each expression of the set.
    found: Vec<u64>,
    count: u32,
    /// All data so far, if there are separate automata.
    copied: Vec<u8>,
}

impl SearchState {
    fn has(&self, place: u32) -> bool {
        let word = self.found.get(place as usize / 64);
        word.is_some_and(|word| word >> (place % 64) & 1 != 0)
    }

    fn note(&mut self, place: u32) {
        if let Some(word) = self.found.get_mut(place as usize / 64) {
            let bit = 1 << (place % 64);
            self.count += u32::from(*word & bit == 0);
            *word |= bit;
        }
    }

    /// Frees the memory that may be large.
    pub(super) fn end(&mut self) {
        self.copied = Vec::new();
    }
}

/// A worker's caches of lazily built automata, with space for their matches.
#[derive(Clone, Debug, Default)]
pub(super) struct Searches(HashMap<u64, (lazy::Cache, PatternSet)>);

impl Searches {
    /// Records the matches of a separate automaton in all data so far.
    fn search(&mut self, alone: &Alone, run: &mut SearchState) {
        if self.0.len() >= CACHES && !self.0.contains_key(&alone.number) {
            self.0.clear();
        }
        let (cache, found) = self.0.entry(alone.number).or_insert_with(|| {
            let found = PatternSet::new(alone.places.len());
            (alone.automaton.create_cache(), found)
        });
        found.clear();
        let input = Input::new(&run.copied);
        let searched = alone
            .automaton
            .try_which_overlapping_matches(cache, &input, found);
        if searched.is_ok() {
            for pattern in found.iter() {
                run.note(alone.places[pattern.as_usize()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const READING: Reading = Reading { any_case: true };

    /// Creates expressions whose numbers are their indices.
    fn expressions(texts: &[&str]) -> Arc<[Expression]> {
        let all = texts.iter().zip(0..);
        all.map(|(text, number)| {
            let text = Arc::from(*text);
            Expression { text, number }
        })
        .collect()
    }

    fn automata(texts: &[&str]) -> Automata {
        Automata::new(expressions(texts), READING)
    }

    /// Searches pieces one after another; returns the numbers found.
    fn found(automata: &Automata, pieces: &[&[u8]]) -> Vec<u64> {
        let (mut run, mut searches) = (SearchState::default(), Searches::default());
        automata.begin(&mut run);
        for piece in pieces {
            automata.read(&mut run, piece, &mut searches);
        }
        automata.found(&run).collect()
    }

    #[test]
    fn the_search_state_is_kept_between_segments() {
        let automata = automata(&["^he.*ld$", "lo w", "^world", "x$"]);
        assert_eq!(automata.shape(), (1, 0));

        assert_eq!(found(&automata, &[b"hel", b"lo ", b"world"]), [0, 1]);
        assert_eq!(found(&automata, &[b"ax", b"b"]), [3]);
    }

    #[test]
    fn a_search_ends_when_no_pattern_can_match() {
        let automata = automata(&["^ab", "^ac"]);
        let (mut run, mut searches) = (SearchState::default(), Searches::default());
        for (bytes, over) in [(&b"a"[..], false), (b"x", true)] {
            if bytes == b"a" {
                automata.begin(&mut run);
            }
            automata.read(&mut run, bytes, &mut searches);
            assert_eq!(automata.is_over(&run), over);
        }
    }

    #[test]
    fn too_large_automata_are_split_down_to_single_patterns() {
        // Each expression has a gap of its own; joined, their states multiply.
        let gaps: Vec<String> = (b'a'..=b'p')
            .map(char::from)
            .map(|letter| format!("{letter}1.*{letter}2.*{letter}3"))
            .collect();
        let mut texts: Vec<&str> = gaps.iter().map(String::as_str).collect();
        texts.push("q[0-9]..................q");
        let automata = automata(&texts);
        let (groups, alone) = automata.shape();

        assert!(
            groups > 1 && groups < texts.len() && alone == 1,
            "{groups} {alone}"
        );
        let text = b"a1 b1 a2 p1 q5 b2 a3 p2 q7 b3 p3 . qq......q";
        assert_eq!(found(&automata, &[text]), [0, 1, 15]);
        let text = b"q5 xxxxxxxxxxxxxxxxxq";
        assert_eq!(found(&automata, &[&text[..3], &text[3..]]), [16]);
    }

    #[test]
    fn new_patterns_use_single_automata_until_merged() {
        let all = expressions(&["^he.*ld$", "lo w", "q[0-9]..................q", "^world"]);
        let before = Automata::new(all[..3].into(), READING);
        let text = [&b"hel"[..], b"lo ", b"world"];

        let after = Automata::after(&before, all[1..].into(), READING);
        assert_eq!((after.shape(), after.is_apart()), ((1, 2), true));
        assert_eq!(found(&after, &text), [1]);
        // An expression that left the set does not end a search early.
        let after = Automata::after(&after, all[..2].into(), READING);
        assert_eq!(after.shape(), (1, 1));
        assert_eq!(found(&after, &text), [0, 1]);

        let joined = after.joined(READING).expect("there could be fewer");
        assert_eq!((joined.shape(), joined.is_apart()), ((1, 0), false));
        assert_eq!(found(&joined, &text), [0, 1]);
    }

    #[test]
    fn many_new_patterns_are_searched_in_batches_until_merged() {
        let texts: Vec<String> = (0..1000).map(|number| format!("x.*{number}y")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let all = expressions(&texts);
        let pieces = [&b"..x7"[..], b"77y", b" 1999y"];
        let wanted = [7, 9, 77, 99, 777, 999];

        // Nothing is joined in the quick form.
        let at_once = Automata::after(&Automata::default(), all.clone(), READING);
        let (joined, alone) = at_once.shape();
        assert!(joined == 0 && alone <= ALONE_MAX && at_once.is_apart());
        assert_eq!(found(&at_once, &pieces), wanted);

        // One expression after another.
        let one_by_one = (1..=300).fold(Automata::default(), |before, count| {
            let after = Automata::after(&before, all[..count].into(), READING);
            let (joined, alone) = after.shape();
            assert!(joined == 0 && alone <= ALONE_MAX && after.is_apart());
            after
        });
        assert_eq!(found(&one_by_one, &pieces), [7, 9, 77, 99]);

        // Some expressions of a separate automaton have left the set.
        let odd = all.iter().skip(1).step_by(2).cloned().collect();
        let fewer = Automata::after(&at_once, odd, READING);
        assert!(fewer.shape().1 <= alone);
        assert_eq!(found(&fewer, &pieces), wanted);
        let none = Automata::after(&at_once, all[..1].into(), READING);
        assert_eq!((none.shape(), found(&none, &pieces)), ((0, 1), vec![]));
    }

    fn expression() -> impl Strategy<Value = String> {
        let atom = prop_oneof!["[abc]", Just(".".to_owned()), Just("[ab]".to_owned())];
        let piece = (
            atom,
            prop_oneof!["", Just("*".to_owned()), Just("+".to_owned())],
        );
        let piece = piece.prop_map(|(atom, times)| format!("{atom}{times}"));
        let pieces = prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat());
        ("\\^?", pieces, "\\$?").prop_map(|(begin, middle, end)| format!("{begin}{middle}{end}"))
    }

    proptest! {
        #[test]
        fn merged_patterns_match_as_single_patterns_do(
            texts in prop::collection::vec(expression(), 1..12),
            pieces in prop::collection::vec("[abc]{0,5}", 1..6),
            known in prop::collection::vec(any::<bool>(), 12),
            way in 0..3,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let all = expressions(&texts);
            let before = all.iter().zip(&known).filter_map(|(one, known)| known.then_some(one));
            let before = Automata::new(before.cloned().collect(), READING);
            let automata = match way {
                0 => Automata::new(all, READING),
                1 => Automata::after(&before, all, READING),
                _ => {
                    let places: Vec<u32> = (0..texts.len() as u32).collect();
                    let mut automata = Automata { expressions: all, ..Automata::default() };
                    automata.search_alone(&places, READING);
                    automata
                }
            };
            let (mut run, mut searches) = (SearchState::default(), Searches::default());
            automata.begin(&mut run);
            let (mut all, mut expected) = (String::new(), vec![false; texts.len()]);
            for piece in pieces {
                all.push_str(&piece);
                automata.read(&mut run, piece.as_bytes(), &mut searches);
                for (text, expected) in texts.iter().zip(&mut expected) {
                    let alone = READING.alone(&[*text]).expect("it is small");
                    let mut cache = alone.create_cache();
                    let found = alone.try_search_fwd(&mut cache, &Input::new(&all));
                    *expected |= found.expect("no byte ends it").is_some();
                }
                for (at, expected) in expected.iter().enumerate() {
                    prop_assert_eq!(run.has(at as u32), *expected, "{} in {}", texts[at], all);
                }
            }
        }
    }
}
