//! Many expressions looked for at once in bytes that come piece by piece.
//!
//! All expressions of a set become as few automata as a bound of their size allows: one, or its halves
//! where one would be too large, and so on. Such an automaton is made when control compiles the set;
//! then a byte costs one look into its table, and a reader keeps one number for its place, which any
//! worker understands. An expression that is too large by itself is searched for alone, in a copy of
//! the bytes, by an automaton that is built as far as it is needed within a fixed memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::hybrid::dfa as lazy;
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind, nfa::thompson};

/// How much memory an expression may take before it is made an automaton, in bytes.
const NFA_MAX: usize = 1 << 20;
/// The largest automaton, in bytes.
const SIZE_MAX: usize = 1 << 20;
/// What each expression adds to what an automaton may take, so that a set that grows beyond all
/// bounds when it is joined is found out early.
const SIZE_EACH: usize = 1 << 14;
/// The same for one alone.
const SIZE_FIRST: usize = 1 << 16;
/// How much memory a worker keeps of what it has built for an expression that is searched for alone.
const CACHE: usize = 1 << 18;
/// How many such a worker keeps.
const CACHES: usize = 256;

/// An expression in the words of the library.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expression<'a> {
    /// Its text.
    pub(super) text: &'a str,
    /// What it is known by; the same text has the same number.
    pub(super) number: u64,
}

/// How expressions are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Upper and lower case are alike.
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

    /// Whether an expression can be looked for at all.
    ///
    /// # Errors
    /// Why not: it is malformed or too large.
    pub(super) fn check(self, text: &str) -> Result<(), String> {
        let made = thompson::NFA::compiler()
            .syntax(self.syntax())
            .configure(Self::nfa())
            .build(text);
        made.map(|_| ()).map_err(|error| error.to_string())
    }

    /// One automaton for all of these, if it is small enough.
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

    fn alone(self, text: &str) -> Option<lazy::DFA> {
        let config = lazy::DFA::config()
            .cache_capacity(CACHE)
            .skip_cache_capacity_check(true);
        lazy::DFA::builder()
            .configure(config)
            .syntax(self.syntax())
            .thompson(Self::nfa())
            .build(text)
            .ok()
    }
}

/// Expressions that one automaton looks for.
#[derive(Debug)]
struct Group {
    automaton: dense::DFA<Vec<u32>>,
    start: StateID,
    /// The place in the set of each of its expressions.
    places: Box<[u32]>,
}

/// An expression that is searched for alone.
#[derive(Debug)]
struct Alone {
    automaton: lazy::DFA,
    place: u32,
    /// A number of this automaton alone: what a worker builds of it fits no other.
    number: u64,
}

/// See the module. A set's expressions are known by their places in it.
#[derive(Debug, Default)]
pub(super) struct Automata {
    numbers: Box<[u64]>,
    groups: Vec<Group>,
    alone: Vec<Alone>,
}

impl Automata {
    /// Makes automata of expressions that were checked.
    pub(super) fn new(expressions: &[Expression<'_>], reading: Reading) -> Self {
        let mut automata = Self {
            numbers: expressions.iter().map(|one| one.number).collect(),
            ..Self::default()
        };
        automata.add(expressions, 0, reading);
        automata
    }

    /// Adds the expressions whose places begin with `first`.
    fn add(&mut self, expressions: &[Expression<'_>], first: u32, reading: Reading) {
        if expressions.is_empty() {
            return;
        }
        let texts: Vec<&str> = expressions.iter().map(|one| one.text).collect();
        let joined = reading.join(&texts).and_then(|automaton| {
            let start = automaton.start_state_forward(&Input::new(b"")).ok()?;
            Some((automaton, start))
        });
        match (joined, expressions) {
            (Some((automaton, start)), _) => self.groups.push(Group {
                automaton,
                start,
                places: (first..).take(expressions.len()).collect(),
            }),
            (None, [one]) => {
                static NEXT: AtomicU64 = AtomicU64::new(0);
                let alone = reading.alone(one.text);
                self.alone.extend(alone.map(|automaton| Alone {
                    automaton,
                    place: first,
                    number: NEXT.fetch_add(1, Ordering::Relaxed),
                }));
            }
            (None, many) => {
                let (front, back) = many.split_at(many.len() / 2);
                self.add(front, first, reading);
                self.add(back, first + front.len() as u32, reading);
            }
        }
    }

    /// Whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// How many automata read each byte, and how many expressions are searched for alone.
    #[cfg(test)]
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.groups.len(), self.alone.len())
    }

    /// Begins a search; what `run` was used for before is forgotten, its memory is not.
    pub(super) fn begin(&self, run: &mut Run) {
        run.states.clear();
        let starts = self.groups.iter().map(|group| Some(group.start));
        run.states.extend(starts);
        run.found.clear();
        run.found.resize(self.numbers.len().div_ceil(64), 0);
        run.count = 0;
        run.copied.clear();
    }

    /// Reads on, and says whether something new was found in all that was read up to here.
    pub(super) fn read(&self, run: &mut Run, bytes: &[u8], searches: &mut Searches) -> bool {
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
            if !run.has(alone.place) && searches.search(alone, &run.copied) {
                run.note(alone.place);
            }
        }
        run.count != before
    }

    /// Whether nothing more can be found, whatever comes.
    pub(super) fn is_over(&self, run: &Run) -> bool {
        let mut alone = self.alone.iter();
        run.states.iter().all(Option::is_none) && alone.all(|alone| run.has(alone.place))
    }

    /// The numbers of what was found.
    pub(super) fn found<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = u64> + 'a {
        let numbers = self.numbers.iter().zip(0..);
        numbers.filter_map(|(number, place)| run.has(place).then_some(*number))
    }
}

impl Group {
    /// Reads on from a state; none where nothing more can be found.
    fn read(&self, mut state: StateID, bytes: &[u8], run: &mut Run) -> Option<StateID> {
        let automaton = &self.automaton;
        for &byte in bytes {
            state = automaton.next_state(state, byte);
            if automaton.is_special_state(state) && self.is_over(state, run) {
                return None;
            }
        }
        // What is found one byte late, and what has to stand at the end: that is here, up to now.
        let end = automaton.next_eoi_state(state);
        let over = automaton.is_match_state(end) && self.is_over(end, run);
        (!over).then_some(state)
    }

    /// Notes what a state says was found, and says whether that is the end.
    #[cold]
    fn is_over(&self, state: StateID, run: &mut Run) -> bool {
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

/// Where a search is.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// Of each group; none where it is over.
    states: Vec<Option<StateID>>,
    /// A bit for each expression of the set.
    found: Vec<u64>,
    count: u32,
    /// What was read so far, where something is searched for alone.
    copied: Vec<u8>,
}

impl Run {
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

    /// Gives back what may be large.
    pub(super) fn end(&mut self) {
        self.copied = Vec::new();
    }
}

/// What a worker has built of automata for expressions that are searched for alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Searches(HashMap<u64, lazy::Cache>);

impl Searches {
    fn search(&mut self, alone: &Alone, bytes: &[u8]) -> bool {
        if self.0.len() >= CACHES && !self.0.contains_key(&alone.number) {
            self.0.clear();
        }
        let cache = self.0.entry(alone.number);
        let cache = cache.or_insert_with(|| alone.automaton.create_cache());
        let input = Input::new(bytes).earliest(true);
        let found = alone.automaton.try_search_fwd(cache, &input);
        found.is_ok_and(|found| found.is_some())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const READING: Reading = Reading { any_case: true };

    fn automata(texts: &[&str]) -> Automata {
        let expressions = texts.iter().zip(0..);
        let expressions: Vec<_> = expressions
            .map(|(text, number)| Expression { text, number })
            .collect();
        Automata::new(&expressions, READING)
    }

    /// What is found in these pieces, read one after the other.
    fn found(automata: &Automata, pieces: &[&[u8]]) -> Vec<u64> {
        let (mut run, mut searches) = (Run::default(), Searches::default());
        automata.begin(&mut run);
        for piece in pieces {
            automata.read(&mut run, piece, &mut searches);
        }
        automata.found(&run).collect()
    }

    #[test]
    fn a_place_is_kept_between_pieces() {
        let automata = automata(&["^he.*ld$", "lo w", "^world", "x$"]);
        assert_eq!(automata.shape(), (1, 0));

        assert_eq!(found(&automata, &[b"hel", b"lo ", b"world"]), [0, 1]);
        assert_eq!(found(&automata, &[b"ax", b"b"]), [3]);
    }

    #[test]
    fn a_search_ends_when_nothing_can_be_found_any_more() {
        let automata = automata(&["^ab", "^ac"]);
        let (mut run, mut searches) = (Run::default(), Searches::default());
        for (bytes, over) in [(&b"a"[..], false), (b"x", true)] {
            if bytes == b"a" {
                automata.begin(&mut run);
            }
            automata.read(&mut run, bytes, &mut searches);
            assert_eq!(automata.is_over(&run), over);
        }
    }

    #[test]
    fn what_grows_too_large_is_split_and_at_last_searched_for_alone() {
        // Each remembers its own gap: together they multiply.
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
        fn each_is_found_as_if_it_were_searched_for_alone_in_all_that_came(
            texts in prop::collection::vec(expression(), 1..12),
            pieces in prop::collection::vec("[abc]{0,5}", 1..6),
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let automata = automata(&texts);
            let (mut run, mut searches) = (Run::default(), Searches::default());
            automata.begin(&mut run);
            let (mut all, mut expected) = (String::new(), vec![false; texts.len()]);
            for piece in pieces {
                all.push_str(&piece);
                automata.read(&mut run, piece.as_bytes(), &mut searches);
                for (text, expected) in texts.iter().zip(&mut expected) {
                    let alone = READING.alone(text).expect("it is small");
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
