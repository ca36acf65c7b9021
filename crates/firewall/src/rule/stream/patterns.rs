//! Stream patterns of a firewall's rules: compiled quickly first, then again into fewer automata.

use std::sync::Arc;

use super::host::Hosts;
use super::layer7::Patterns;
use crate::rule::matcher::Match;
use crate::rule::table::Table;

/// The compiled stream patterns of all rules.
#[derive(Clone, Debug, Default)]
pub struct StreamPatterns {
    pub(super) patterns: Arc<Patterns>,
    pub(super) hosts: Arc<Hosts>,
}

/// How patterns are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompileMode {
    /// Into as few automata as possible, which may take seconds.
    Joined,
    /// Quickly: new patterns are searched separately until they are joined ([`StreamPatterns::to_join`]). The results
    /// are the same, at a higher cost per byte.
    Apart,
}

/// Patterns to be joined. Contains all data, so that any thread can join the patterns.
#[derive(Clone, Debug)]
pub struct Joining(StreamPatterns);

/// Result of joining.
#[derive(Clone, Debug)]
pub struct Joined {
    of: StreamPatterns,
    patterns: Option<Arc<Patterns>>,
    hosts: Option<Arc<Hosts>>,
}

impl Joining {
    /// Joins the automata, which may take seconds.
    pub fn run(self) -> Joined {
        Joined {
            patterns: self.0.patterns.joined(),
            hosts: self.0.hosts.joined(),
            of: self.0,
        }
    }
}

impl StreamPatterns {
    /// Returns the patterns to be joined, if they differ from those of `before`.
    pub fn to_join(&self, before: &Self) -> Option<Joining> {
        let patterns = self.patterns.is_apart() && !Arc::ptr_eq(&self.patterns, &before.patterns);
        let hosts = self.hosts.is_apart() && !Arc::ptr_eq(&self.hosts, &before.hosts);
        (patterns || hosts).then(|| Joining(self.clone()))
    }

    /// Returns the patterns with the joined automata; `None` if neither is still in use.
    #[must_use]
    pub fn with(&self, joined: &Joined) -> Option<Self> {
        let patterns = joined.patterns.as_ref();
        let patterns = patterns.filter(|_| Arc::ptr_eq(&joined.of.patterns, &self.patterns));
        let hosts = joined.hosts.as_ref();
        let hosts = hosts.filter(|_| Arc::ptr_eq(&joined.of.hosts, &self.hosts));
        (patterns.is_some() || hosts.is_some()).then(|| Self {
            patterns: Arc::clone(patterns.unwrap_or(&self.patterns)),
            hosts: Arc::clone(hosts.unwrap_or(&self.hosts)),
        })
    }

    /// Compiles the patterns of the tables' rules; reuses unchanged patterns.
    pub fn follow<'a>(
        &self,
        tables: impl Iterator<Item = &'a Table> + Clone,
        making: CompileMode,
    ) -> Self {
        let matchers = tables
            .flat_map(Table::seeking)
            .flat_map(|rule| &rule.matchers);
        let patterns = matchers.clone().filter_map(|matcher| match &matcher.what {
            Match::Layer7(pattern) => Some(pattern),
            _ => None,
        });
        let globs = matchers.filter_map(|matcher| match &matcher.what {
            Match::TlsHost(glob) => Some(glob),
            _ => None,
        });
        Self {
            patterns: Patterns::follow(&self.patterns, patterns, making),
            hosts: Hosts::follow(&self.hosts, globs, making),
        }
    }
}
