//! A rule, its severity, and its findings.

use menu::Id;

use crate::config::Config;

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
    pub(crate) find: fn(&Config<'_>, &mut RuleFindings),
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
pub(crate) struct RuleFindings(pub(crate) Vec<RawFinding>);

/// A finding without its rule.
#[derive(Debug)]
pub(crate) struct RawFinding {
    pub(crate) places: Vec<ItemId>,
    pub(crate) said: String,
    pub(crate) fix: Vec<String>,
}

impl RuleFindings {
    /// Adds a finding without commands.
    pub(crate) fn add(&mut self, items: &[&menu::Item], said: String) {
        self.fixed(items, said, Vec::new());
    }

    /// Adds a finding with the commands that correct it.
    pub(crate) fn fixed(&mut self, items: &[&menu::Item], said: String, fix: Vec<String>) {
        let places = items.iter().map(|item| (item.menu.path, item.id)).collect();
        self.0.push(RawFinding { places, said, fix });
    }
}
