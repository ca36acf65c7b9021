//! What the rules of a firewall look for in streams: compiled at once, and a second time into fewer automata.

use std::sync::Arc;

use super::host::Hosts;
use super::layer7::Patterns;
use crate::rule::matcher::Match;
use crate::rule::table::Table;

/// What rules look for in streams, compiled together.
#[derive(Clone, Debug, Default)]
pub struct Sought {
    pub(super) patterns: Arc<Patterns>,
    pub(super) hosts: Arc<Hosts>,
}

/// How what rules look for is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// Into as few automata as there can be, which may take seconds.
    Joined,
    /// At once: what is new is searched for by itself until it is joined ([`Sought::to_join`]). The
    /// same is found, at a higher price.
    Apart,
}

/// What is compiled a second time, into fewer automata. It needs nothing else, so that any thread can do it.
#[derive(Clone, Debug)]
pub struct Joining(Sought);

/// What came of it.
#[derive(Clone, Debug)]
pub struct Joined {
    of: Sought,
    patterns: Option<Arc<Patterns>>,
    hosts: Option<Arc<Hosts>>,
}

impl Joining {
    /// Compiles. It may take seconds.
    pub fn run(self) -> Joined {
        Joined {
            patterns: self.0.patterns.joined(),
            hosts: self.0.hosts.joined(),
            of: self.0,
        }
    }
}

impl Sought {
    /// What is to be joined and was not so before.
    pub fn to_join(&self, before: &Self) -> Option<Joining> {
        let patterns = self.patterns.is_apart() && !Arc::ptr_eq(&self.patterns, &before.patterns);
        let hosts = self.hosts.is_apart() && !Arc::ptr_eq(&self.hosts, &before.hosts);
        (patterns || hosts).then(|| Joining(self.clone()))
    }

    /// The same with what was joined of it; none if all of that is looked for no more.
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

    /// What the rules of these tables look for. What is the same as before is not compiled anew.
    pub fn follow<'a>(
        &self,
        tables: impl Iterator<Item = &'a Table> + Clone,
        making: Making,
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
