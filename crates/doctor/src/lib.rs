//! The doctor: mistakes that people make in configurations, each with its symptom, its cause and its mend.
//!
//! ```text
//!  store ─► Config: items as rules ask for them ─► RULES, one after the other ─► findings
//!                                                  (a value each: name, severity, cause, mend, how it is found)
//! ```
//!
//! A rule looks at the configuration alone; what is measured on a running router is added by who shows a finding.
//! Sources are MikroTik's manual ("Layer2 misconfiguration" and the pages of each menu) and its talks on FastPath,
//! throughput and "My holy war against masquerade".

mod config;
mod packet;
mod rules;
#[cfg(test)]
mod tests;

use menu::{Id, Store};

use config::Config;
pub use rules::RULES;

/// How bad a mistake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It could be better.
    Advice,
    /// It costs speed, or protects less than it seems to.
    Warning,
    /// It does not do what it was written for.
    Error,
}

impl Severity {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Advice => "advice",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A mistake that configurations have.
#[derive(Debug)]
pub struct Rule {
    /// Its name, for ever.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Why it is a mistake: what the router does, and what its user sees.
    pub cause: &'static str,
    /// What is right instead.
    pub mend: &'static str,
    find: fn(&Config<'_>, &mut Found),
}

/// An item, by its menu and number.
pub type Place = (&'static str, Id);

/// A mistake that was found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What kind of mistake it is.
    pub rule: &'static Rule,
    /// Where: the item at fault first, then those that it does not go with.
    pub places: Vec<Place>,
    /// What is wrong with these items.
    pub said: String,
    /// Commands that mend it; none where somebody has to decide.
    pub fix: Vec<String>,
}

/// What a rule has found.
#[derive(Debug, Default)]
struct Found(Vec<One>);

/// One mistake.
#[derive(Debug)]
struct One {
    places: Vec<Place>,
    said: String,
    fix: Vec<String>,
}

impl Found {
    /// A mistake of these items.
    fn add(&mut self, items: &[&menu::Item], said: String) {
        self.fixed(items, said, Vec::new());
    }

    /// A mistake that these commands mend.
    fn fixed(&mut self, items: &[&menu::Item], said: String, fix: Vec<String>) {
        let places = items.iter().map(|item| (item.menu.path, item.id)).collect();
        self.0.push(One { places, said, fix });
    }
}

/// The mistakes of a configuration, by rule, in the order of items.
pub fn examine(store: &Store) -> Vec<Finding> {
    let config = Config::of(store);
    let mut all = Vec::new();
    for rule in RULES {
        let mut found = Found::default();
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
