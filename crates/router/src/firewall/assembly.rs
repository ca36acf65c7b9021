//! The compiled table of a menu of rules, updated rule by rule.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::rule::{ChainId, Rule, Table};
use menu::Item;

use crate::intent::{ItemId, Name};

/// Position of a rule in its menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order {
    /// Rules of features precede rules of items.
    is_configured: bool,
    position: u64,
    item: ItemId,
}

impl Order {
    /// Position of a configured rule.
    pub(super) const fn configured(item: &Item) -> Self {
        Self {
            is_configured: true,
            position: item.position(),
            item: item.id.0,
        }
    }

    /// Position of a rule of a feature; a later rule has a higher id.
    pub(super) const fn made(item: &Item) -> Self {
        Self {
            is_configured: false,
            position: 0,
            item: item.id.0,
        }
    }
}

/// A compiled rule in its chain.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) chain: ChainId,
    pub(super) order: Order,
    pub(super) rule: Arc<Rule>,
}

/// The compiled rules of a menu, by chain.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    table: Arc<Table>,
    by_item: BTreeMap<ItemId, Placed>,
    /// By chain: positions of its rules, in the order of the table.
    chains: Vec<Vec<Order>>,
}

impl Assembly {
    /// The table.
    pub(super) const fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Returns the number of chains of the table.
    pub(super) fn chain_count(&self) -> usize {
        self.chains.len()
    }

    /// Replaces all rules; `placed` is sorted by position.
    pub(super) fn rebuild(
        &mut self,
        names: &[Name],
        rules: impl Iterator<Item = (ItemId, Placed)>,
    ) {
        let mut chains: Vec<_> = names
            .iter()
            .map(|name| (name.clone(), Vec::new()))
            .collect();
        self.chains = vec![Vec::new(); names.len()];
        self.by_item.clear();
        for (item, placed) in rules {
            let chain = usize::from(placed.chain.0);
            chains[chain].1.push(Arc::clone(&placed.rule));
            self.chains[chain].push(placed.order);
            self.by_item.insert(item, placed);
        }
        self.table = Arc::new(Table::compile(Some(&self.table), chains));
    }

    /// Replaces the rule of an item; `None` removes it.
    pub(super) fn replace(&mut self, item: ItemId, now: Option<Placed>) {
        let before = self.by_item.remove(&item);
        match (&before, &now) {
            (Some(before), Some(now)) if (before.chain, before.order) == (now.chain, now.order) => {
                if !Arc::ptr_eq(&before.rule, &now.rule)
                    && let Ok(place) = self.place(now)
                {
                    self.splice(now.chain, place, 1, &[Arc::clone(&now.rule)]);
                }
            }
            _ => {
                if let Some(before) = &before
                    && let Ok(place) = self.place(before)
                {
                    self.chains[usize::from(before.chain.0)].remove(place);
                    self.splice(before.chain, place, 1, &[]);
                }
                if let Some(now) = &now
                    && let Err(place) = self.place(now)
                {
                    self.chains[usize::from(now.chain.0)].insert(place, now.order);
                    self.splice(now.chain, place, 0, &[Arc::clone(&now.rule)]);
                }
            }
        }
        self.by_item.extend(now.map(|now| (item, now)));
    }

    /// Returns the index of a rule in its chain, or the index to insert it at.
    fn place(&self, placed: &Placed) -> Result<usize, usize> {
        self.chains[usize::from(placed.chain.0)].binary_search(&placed.order)
    }

    fn splice(&mut self, chain: ChainId, at: usize, removed: usize, inserted: &[Arc<Rule>]) {
        self.table = Arc::new(self.table.splice(chain, at, removed, inserted));
    }
}
