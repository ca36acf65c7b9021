//! Counts over the rules of a menu, kept up as rules come and go.

use std::collections::BTreeMap;

use dataplane::rule::Action;

use super::rule::{Deed, Rule};
use crate::intent::Name;

/// Counts of what rules have in common.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// The chains that rules are in or jump to, with how many times.
    pub(super) chains: BTreeMap<Name, usize>,
    pub(super) enabled: usize,
    /// Enabled rules that fasttrack connections.
    pub(super) fasttracking: usize,
    /// A rule that jumps came, went or moved.
    pub(super) jumps_changed: bool,
}

impl Uses {
    /// Counts a rule that comes, or else goes.
    pub(super) fn count(&mut self, rule: &Rule, comes: bool) {
        for name in rule.jumps_to().into_iter().chain([&rule.chain]) {
            change(self.chains.entry(name.clone()).or_default(), comes);
            if self.chains.get(name) == Some(&0) {
                self.chains.remove(name);
            }
        }
        self.jumps_changed |= rule.jumps_to().is_some();
        if !rule.disabled {
            change(&mut self.enabled, comes);
            let deed = rule.deed.as_ref();
            if matches!(deed, Some(Deed::Plain(Action::Fasttrack))) {
                change(&mut self.fasttracking, comes);
            }
        }
    }
}

/// Adds one to a count, or takes one away.
const fn change(count: &mut usize, up: bool) {
    match up {
        true => *count += 1,
        false => *count -= 1,
    }
}
