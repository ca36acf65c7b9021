//! Rules that no packet reaches, with the earlier rules that take their packets together.

use std::collections::BTreeMap;

use menu::Item;

use crate::query::Router;
use crate::ranges::Class;
use crate::walk::{MAX_CLASSES, RuleId};

/// A rule that no packet reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadowed {
    /// The rule.
    pub rule: RuleId,
    /// Earlier rules that take its packets.
    pub by: Vec<RuleId>,
}

/// Returns true if packets that match leave the chain.
fn ends(rule: &Item) -> bool {
    matches!(
        rule.text("action"),
        "" | "accept"
            | "drop"
            | "reject"
            | "tarpit"
            | "return"
            | "masquerade"
            | "src-nat"
            | "dst-nat"
            | "redirect"
    )
}

/// Returns the rules of a table whose packets earlier rules of their chain take, also where several rules take parts.
/// Jumps take nothing.
pub fn shadowed(router: &Router<'_>, menu: &str) -> Vec<Shadowed> {
    let names = &router.names;
    let mut chains: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    for rule in names.config.enabled(menu) {
        chains.entry(rule.text("chain")).or_default().push(rule);
    }
    let mut found = Vec::new();
    for rules in chains.into_values() {
        let mut earlier: Vec<(RuleId, Vec<Class>)> = Vec::new();
        for rule in rules {
            let matched = names.matched(rule);
            let id = (rule.menu.path, rule.id);
            if let Some(by) = covered(&matched.classes, &earlier) {
                found.push(Shadowed { rule: id, by });
                continue;
            }
            if matched.undecided.is_empty() && ends(rule) {
                earlier.push((id, matched.classes));
            }
        }
    }
    found
}

/// Returns the rules that take all packets of some classes.
fn covered(classes: &[Class], earlier: &[(RuleId, Vec<Class>)]) -> Option<Vec<RuleId>> {
    let mut rest = classes.to_vec();
    let mut by = Vec::new();
    for (id, taken) in earlier {
        let meets = rest
            .iter()
            .any(|class| taken.iter().any(|other| class.intersect(other).is_some()));
        if !meets {
            continue;
        }
        by.push(*id);
        rest = crate::ranges::difference(&rest, taken, MAX_CLASSES)?;
        if rest.is_empty() {
            return Some(by);
        }
    }
    None
}
