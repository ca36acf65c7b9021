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

mod config;
mod packet;
mod routes;
mod rule;
mod rules;
#[cfg(test)]
mod tests;

use menu::Store;

use config::Config;
use rule::RuleFindings;
pub use rule::{Finding, ItemId, Rule, Severity};
pub use rules::RULES;

/// Returns the mistakes of a configuration: by rule, then in item order.
pub fn examine(store: &Store) -> Vec<Finding> {
    let config = Config::of(store);
    let mut all = Vec::new();
    for rule in RULES {
        let mut found = RuleFindings::default();
        (rule.find)(&config, &mut found);
        all.extend(found.0.into_iter().map(|one| Finding {
            rule,
            places: one.places,
            said: one.said,
            fix: one.fix,
        }));
    }
    all
}
