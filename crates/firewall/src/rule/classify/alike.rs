//! Rules one behind the other that read streams in the same way: where a packet has nothing that one
//! of them looks for, none of them matches.

use std::sync::Arc;

use super::super::matcher::Match;
use super::super::stream::Looked;
use super::super::table::Rule;

/// What a rule looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seeks {
    Nothing,
    /// A server's name.
    Host,
    /// A pattern.
    Pattern,
}

impl Seeks {
    fn of(rule: &Rule) -> Self {
        // One that is negated matches just where another is found.
        let positive = || rule.matchers.iter().filter(|matcher| !matcher.negated);
        let has = |seeks: fn(&Match) -> bool| positive().any(|matcher| seeks(&matcher.what));
        if has(|what| matches!(what, Match::TlsHost(_))) {
            Self::Host
        } else if has(|what| matches!(what, Match::Layer7(_))) {
            Self::Pattern
        } else {
            Self::Nothing
        }
    }
}

/// By rule: what it looks for, and the next one that looks for something else. Empty where no rule
/// looks for anything.
#[derive(Debug)]
pub(super) struct Alike(Box<[(Seeks, u16)]>);

impl Alike {
    pub(super) fn new(rules: &[Arc<Rule>]) -> Self {
        let seeks: Vec<Seeks> = rules.iter().map(|rule| Seeks::of(rule)).collect();
        if seeks.iter().all(|seeks| *seeks == Seeks::Nothing) {
            return Self(Box::default());
        }
        let mut ends: Vec<(Seeks, u16)> = Vec::with_capacity(seeks.len());
        for group in seeks.chunk_by(|one, other| one == other) {
            let end = (ends.len() + group.len()) as u16;
            ends.resize(ends.len() + group.len(), (group[0], end));
        }
        Self(ends.into())
    }

    /// The place to go on at behind a rule that did not match.
    #[inline(always)]
    pub(super) fn behind(&self, place: usize, looked: &Looked) -> usize {
        match self.0.get(place) {
            Some((Seeks::Host, end)) if looked.has_no_host() => usize::from(*end),
            Some((Seeks::Pattern, end)) if looked.has_no_pattern() => usize::from(*end),
            _ => place + 1,
        }
    }
}
