//! Runs of consecutive rules that need the same data from a stream: if a packet lacks that data, all of them
//! fail at once.

use std::sync::Arc;

use super::super::matcher::Match;
use super::super::stream::StreamResult;
use super::super::table::Rule;

/// The stream data that a rule needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NeededData {
    Nothing,
    /// A TLS server name.
    Host,
    /// A layer-7 pattern.
    Pattern,
}

impl NeededData {
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
pub(super) struct StreamRuns(Box<[(NeededData, u16)]>);

impl StreamRuns {
    pub(super) fn new(rules: &[Arc<Rule>]) -> Self {
        let seeks: Vec<NeededData> = rules.iter().map(|rule| NeededData::of(rule)).collect();
        if seeks.iter().all(|seeks| *seeks == NeededData::Nothing) {
            return Self(Box::default());
        }
        let mut ends: Vec<(NeededData, u16)> = Vec::with_capacity(seeks.len());
        for group in seeks.chunk_by(|one, other| one == other) {
            let end = (ends.len() + group.len()) as u16;
            ends.resize(ends.len() + group.len(), (group[0], end));
        }
        Self(ends.into())
    }

    /// Returns the index of the next rule to evaluate after a rule did not match.
    #[inline(always)]
    pub(super) fn behind(&self, place: usize, looked: &StreamResult) -> usize {
        match self.0.get(place) {
            Some((NeededData::Host, end)) if looked.has_no_host() => usize::from(*end),
            Some((NeededData::Pattern, end)) if looked.has_no_pattern() => usize::from(*end),
            _ => place + 1,
        }
    }
}
