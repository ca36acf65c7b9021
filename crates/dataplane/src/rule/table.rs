//! Rules, chains and the tables that they form.

use std::sync::Arc;

use super::action::Action;
use super::matcher::Matcher;

/// One rule, compiled.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The item's number, the same as long as the item is: the index of its counters.
    pub id: u32,
    /// All must hold. In the order of `Match::order`, which [`Rule::new`] makes.
    pub matchers: Box<[Matcher]>,
    /// What happens then.
    pub action: Action,
    /// Mangle: the chain goes on behind the action; else it ends there as by `accept`.
    pub passthrough: bool,
    /// The packet is logged with this prefix.
    pub log: Option<Arc<str>>,
}

impl Rule {
    /// A rule that goes on behind actions that can, and does not log.
    pub fn new(id: u32, mut matchers: Vec<Matcher>, action: Action) -> Self {
        matchers.sort_by_key(|matcher| matcher.what.order());
        Self {
            id,
            matchers: matchers.into(),
            action,
            passthrough: true,
            log: None,
        }
    }
}

/// A chain's place in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(pub u16);

/// A chain: rules in order.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Its name in the configuration.
    pub name: Arc<str>,
    pub(super) rules: Box<[Arc<Rule>]>,
}

impl Chain {
    /// Its rules, in order.
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }
}

/// The chains of one menu: `/ip/firewall/filter` and the like.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub(super) chains: Box<[Chain]>,
}

impl Table {
    /// Compiles chains; a chain's place is its [`ChainId`]. Rules that `previous` has by the same
    /// `Arc` are not compiled anew.
    pub fn compile(_previous: Option<&Self>, chains: Vec<(Arc<str>, Vec<Arc<Rule>>)>) -> Self {
        let chains = chains.into_iter().map(|(name, rules)| Chain {
            name,
            rules: rules.into(),
        });
        Self {
            chains: chains.collect(),
        }
    }

    /// The chain of this name.
    pub fn find(&self, name: &str) -> Option<ChainId> {
        let place = self.chains.iter().position(|chain| &*chain.name == name)?;
        u16::try_from(place).ok().map(ChainId)
    }

    /// Whether no chain has a rule.
    pub fn is_empty(&self) -> bool {
        self.chains.iter().all(|chain| chain.rules.is_empty())
    }

    /// A chain by its place, if it has a rule.
    #[inline]
    pub fn busy(&self, id: ChainId) -> Option<ChainId> {
        let chain = self.chain(id)?;
        (!chain.rules.is_empty()).then_some(id)
    }

    /// A chain by its place.
    #[inline]
    pub fn chain(&self, id: ChainId) -> Option<&Chain> {
        self.chains.get(usize::from(id.0))
    }
}
