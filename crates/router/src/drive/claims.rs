//! The routes that come with addresses. An address claims some; of several addresses that claim the same one, the
//! first has it: two would share the flows.

use std::collections::{BTreeMap, BTreeSet};

use frame::InterfaceId;

use super::half::{Half, Side};
use super::sink::FibSink;
use crate::compile::address::{self, OfferKey};
use crate::rib::{Family, RouteSink};

/// Which address claims what.
#[derive(Debug)]
pub(super) struct Claims<F: Family> {
    by_address: BTreeMap<(InterfaceId, F::Addr), Vec<OfferKey<F>>>,
    by_key: BTreeSet<(OfferKey<F>, InterfaceId, F::Addr)>,
    /// What somebody has claimed or given up since it was offered last.
    changed: BTreeSet<OfferKey<F>>,
}

impl<F: Family> Default for Claims<F> {
    fn default() -> Self {
        Self {
            by_address: BTreeMap::new(),
            by_key: BTreeSet::new(),
            changed: BTreeSet::new(),
        }
    }
}

impl<F: Family> Claims<F> {
    /// Lets an address of an interface claim these, and no others.
    pub(super) fn set(&mut self, (id, addr): (InterfaceId, F::Addr), keys: Vec<OfferKey<F>>) {
        let before = match keys.is_empty() {
            true => self.by_address.remove(&(id, addr)),
            false => self.by_address.insert((id, addr), keys.clone()),
        };
        for key in before.unwrap_or_default() {
            self.by_key.remove(&(key, id, addr));
            self.changed.insert(key);
        }
        for key in keys {
            self.by_key.insert((key, id, addr));
            self.changed.insert(key);
        }
    }

    /// The address that has a route.
    fn first(&self, key: OfferKey<F>) -> Option<(InterfaceId, F::Addr)> {
        let from = (key, InterfaceId(0), F::UNSPECIFIED);
        let (first, id, addr) = self.by_key.range(from..).next()?;
        (*first == key).then_some((*id, *addr))
    }
}

impl<S: Side> Half<S>
where
    for<'a> FibSink<'a>: RouteSink<S::Net>,
{
    /// Offers what addresses claim now, and takes back what none does.
    /// Gives the keys of those that may have come or gone.
    pub(super) fn offer_claimed(&mut self) -> BTreeSet<OfferKey<S::Net>> {
        let changed = core::mem::take(&mut self.claims.changed);
        let wanted = changed.iter().copied().map(|key| {
            let first = self.claims.first(key);
            (key, first.map(|(id, addr)| address::offer(key, id, addr)))
        });
        let wanted: Vec<_> = wanted.collect();
        for (key, offer) in &wanted {
            let running = self.dynamic.get(key);
            if running.map(|(offer, _)| offer) != offer.as_ref()
                && let Some((_, route)) = self.dynamic.remove(key)
            {
                self.rib.remove(route);
            }
        }
        for (key, offer) in wanted {
            if let Some(offer) = offer
                && !self.dynamic.contains_key(&key)
            {
                let route = self.rib.add(&offer);
                self.dynamic.insert(key, (offer, route));
            }
        }
        changed
    }
}
