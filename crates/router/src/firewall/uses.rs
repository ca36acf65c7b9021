//! Counts over the rules of a menu, updated as rules are added and removed.

use std::collections::BTreeMap;

use dataplane::rule::Action;

use super::rule::{Rule, UnresolvedAction};
use crate::intent::Name;

/// Counts of properties of rules.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// Chains that contain rules or that rules jump to, with the number of uses.
    pub(super) chains: BTreeMap<Name, usize>,
    pub(super) enabled: usize,
    /// Enabled rules that fasttrack connections.
    pub(super) fasttracking: usize,
    /// True if a jump rule was added, removed or moved.
    pub(super) jumps_changed: bool,
}

impl Uses {
    /// Counts an added rule, or a removed rule.
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
            if matches!(deed, Some(UnresolvedAction::Plain(Action::Fasttrack))) {
                change(&mut self.fasttracking, comes);
            }
        }
    }
}

/// Increments or decrements a count.
const fn change(count: &mut usize, up: bool) {
    match up {
        true => *count += 1,
        false => *count -= 1,
    }
}
