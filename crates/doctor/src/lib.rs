//! The doctor: finds common mistakes in configurations, and explains symptom, cause and correction.
//!
//! ```text
//!  store ─► Config: indices over items ─► RULES, one after the other ─► findings
//!                                         (name, severity, cause, mend, function)
//! ```
//!
//! Rules see the configuration alone; programs that show findings may add measurements of a running router.
//! Sources are MikroTik's manual ("Layer2 misconfiguration" and the pages of each menu) and MikroTik's talks
//! about FastPath, throughput and "My holy war against masquerade".

pub mod config;
mod cost;
pub mod joined;
mod modern;
mod packet;
pub mod routes;
mod rule;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use board::Board;
use menu::Store;

use config::Config;
pub use cost::{Cost, Row};
pub use modern::{MODERN, OLD_FORMS, OldForm, OldLine, old_forms};
use rule::RuleFindings;
pub use rule::{Finding, ItemId, Rule, Severity};
pub use rules::{BOARD_RULES, RULES};

/// Returns the mistakes of a configuration: by rule, then in item order.
pub fn examine(store: &Store) -> Vec<Finding> {
    apply(RULES, &Config::of(store))
}

/// Returns the findings of some rules, such as [`MODERN`]: by rule, then in item order.
pub fn examine_by(store: &Store, rules: &'static [Rule]) -> Vec<Finding> {
    apply(rules, &Config::of(store))
}

/// Returns the mistakes of a configuration on a board whose chips switch the devices `switched`: those that other
/// boards do not have.
pub fn examine_board(
    store: &Store,
    board: &'static Board,
    switched: &BTreeSet<&str>,
) -> Vec<Finding> {
    apply(BOARD_RULES, &Config::on(store, board, switched))
}

fn apply(rules: &'static [Rule], config: &Config<'_>) -> Vec<Finding> {
    let mut all = Vec::new();
    for rule in rules {
        let mut found = RuleFindings::default();
        (rule.find)(config, &mut found);
        all.extend(found.0.into_iter().map(|one| Finding {
            rule,
            places: one.places,
            said: one.said,
            fix: one.fix,
        }));
    }
    all
}
