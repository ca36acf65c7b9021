//! `tls-host`: matches a server name against all globs of the rules at once.
//!
//! Literal names and `*.suffix` globs are found by hash, other globs by automata. The time depends on the
//! length of the name, not on the number of globs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::CompileMode;
use super::automata::{Automata, Expression, Reading, SearchState, Searches};
use super::glob::{Glob, GlobKind};

/// The compiled globs of all rules.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    numbers: Vec<u64>,
    /// Numbers of the globs that match every name.
    any: Vec<u64>,
    exact: HashMap<Box<[u8]>, u64>,
    /// Numbers by suffix, with the leading dot.
    below: HashMap<Box<[u8]>, u64>,
    others: Arc<Automata>,
}

/// Names are converted to lower case, and globs are stored in lower case.
const READING: Reading = Reading { any_case: false };

impl Hosts {
    /// Compiles these globs; returns `before` if it has the same.
    pub(super) fn follow<'a>(
        before: &Arc<Self>,
        globs: impl Iterator<Item = &'a Glob>,
        making: CompileMode,
    ) -> Arc<Self> {
        let wanted: BTreeMap<u64, &Glob> = globs.map(|glob| (glob.number, glob)).collect();
        let numbers: Vec<u64> = wanted.keys().copied().collect();
        if numbers == before.numbers {
            return Arc::clone(before);
        }
        let mut hosts = Self {
            numbers,
            ..Self::default()
        };
        let mut others = Vec::new();
        for (number, glob) in wanted {
            match glob.shape() {
                GlobKind::Any => hosts.any.push(number),
                GlobKind::Exact(name) => drop(hosts.exact.insert(name.into(), number)),
                GlobKind::Below(name) => drop(hosts.below.insert(name.into(), number)),
                GlobKind::Other(text) => others.push(Expression {
                    text: text.into(),
                    number,
                }),
            }
        }
        let others = others.into();
        hosts.others = Arc::new(match making {
            CompileMode::Joined => Automata::new(others, READING),
            CompileMode::Apart => Automata::after(&before.others, others, READING),
        });
        Arc::new(hosts)
    }

    /// Returns true if the automata could still be joined.
    pub(super) fn is_apart(&self) -> bool {
        self.others.is_apart()
    }

    /// Returns the globs with joined automata, if they could be joined.
    pub(super) fn joined(&self) -> Option<Arc<Self>> {
        let others = Arc::new(self.others.joined(READING)?);
        let hosts = self.clone();
        Some(Arc::new(Self { others, ..hosts }))
    }

    /// Returns true if there are no globs.
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Returns the numbers of the globs that match a name.
    pub(super) fn fitting(&self, name: &[u8], searches: &mut Searches) -> Vec<u64> {
        let name = name.to_ascii_lowercase();
        let mut found = self.any.clone();
        found.extend(self.exact.get(&*name));
        if !self.below.is_empty() {
            let dots = (0..name.len()).filter(|at| name[*at] == b'.');
            found.extend(dots.filter_map(|at| self.below.get(&name[at..])));
        }
        if !self.others.is_empty() {
            let mut run = SearchState::default();
            self.others.begin(&mut run);
            self.others.read(&mut run, &name, searches);
            found.extend(self.others.found(&run));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn names_match_together_as_they_match_alone(
            globs in prop::collection::vec("[*]?[.]?([ab.*?A]|\\[!?[]]?[a-c]?-?[ab]*\\]|\\[){0,5}[*]?", 1..12),
            names in prop::collection::vec("[abA.\\[\\]-]{0,6}", 1..12),
        ) {
            let globs: Vec<Glob> = globs.iter().map(|glob| Glob::new(glob)).collect();
            let hosts = Hosts::follow(&Arc::default(), globs.iter(), CompileMode::Joined);
            let mut searches = Searches::default();
            for name in names {
                let found = hosts.fitting(name.as_bytes(), &mut searches);
                for glob in &globs {
                    let fits = glob.fits(name.as_bytes());
                    prop_assert_eq!(found.contains(&glob.number), fits, "{:?} {}", glob, name);
                }
            }
        }
    }
}
