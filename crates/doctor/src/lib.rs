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
mod rules;
#[cfg(test)]
mod tests;

use menu::{Id, Store};

use config::Config;
pub use rules::RULES;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Possible improvement.
    Advice,
    /// Costs speed, or protects less than intended.
    Warning,
    /// Does not work as intended.
    Error,
}

impl Severity {
    /// Returns the keyword.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Advice => "advice",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A rule: a known configuration mistake.
#[derive(Debug)]
pub struct Rule {
    /// Stable name.
    pub name: &'static str,
    /// Severity of its findings.
    pub severity: Severity,
    /// Explanation: what the router does, and what the user observes.
    pub cause: &'static str,
    /// Advice.
    pub mend: &'static str,
    find: fn(&Config<'_>, &mut RuleFindings),
}

/// Menu and number of an item.
pub type ItemId = (&'static str, Id);

/// A mistake in a configuration.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Items: the faulty one first, then items that conflict with it.
    pub places: Vec<ItemId>,
    /// Message about these items.
    pub said: String,
    /// Commands that correct the mistake; empty if the user has to decide.
    pub fix: Vec<String>,
}

/// Findings of one rule.
#[derive(Debug, Default)]
struct RuleFindings(Vec<RawFinding>);

/// A finding without its rule.
#[derive(Debug)]
struct RawFinding {
    places: Vec<ItemId>,
    said: String,
    fix: Vec<String>,
}

impl RuleFindings {
    /// Adds a finding without commands.
    fn add(&mut self, items: &[&menu::Item], said: String) {
        self.fixed(items, said, Vec::new());
    }

    /// Adds a finding with the commands that correct it.
    fn fixed(&mut self, items: &[&menu::Item], said: String, fix: Vec<String>) {
        let places = items.iter().map(|item| (item.menu.path, item.id)).collect();
        self.0.push(RawFinding { places, said, fix });
    }
}

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
