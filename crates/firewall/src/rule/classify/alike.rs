//! Runs of consecutive rules that need the same data from a stream: if a packet lacks that data, all of them
//! fail at once.

use std::sync::Arc;

use super::super::matcher::Match;
use super::super::stream::Looked;
use super::super::table::Rule;

/// The stream data that a rule needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seeks {
    Nothing,
    /// A TLS server name.
    Host,
    /// A layer-7 pattern.
    Pattern,
}

impl Seeks {
    fn of(rule: &Rule) -> Self {
        // A negated matcher matches where the data differs, so only positive matchers count.
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

/// For each rule: the stream data that it needs, and the index of the next rule that needs other data. Empty
/// if no rule needs stream data.
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

    /// Returns the index of the next rule to evaluate after a rule did not match.
    #[inline(always)]
    pub(super) fn behind(&self, place: usize, looked: &Looked) -> usize {
        match self.0.get(place) {
            Some((Seeks::Host, end)) if looked.has_no_host() => usize::from(*end),
            Some((Seeks::Pattern, end)) if looked.has_no_pattern() => usize::from(*end),
            _ => place + 1,
        }
    }
}
