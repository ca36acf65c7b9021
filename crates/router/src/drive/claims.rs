//! Routes that belong to addresses. Each address claims its routes. If several addresses claim one route, the first
//! address has the route: a route of two addresses would split the flows.

use std::collections::{BTreeMap, BTreeSet};

use frame::InterfaceId;

use super::half::{Half, Side};
use super::sink::FibSink;
use crate::compile::address::{self, OfferKey};
use crate::rib::{Family, RouteSink};

/// The claims of all addresses.
#[derive(Debug)]
pub(super) struct Claims<F: Family> {
    by_address: BTreeMap<(InterfaceId, F::Addr), Vec<OfferKey<F>>>,
    by_key: BTreeSet<(OfferKey<F>, InterfaceId, F::Addr)>,
    /// Keys that were claimed or given up since the last offer.
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
    /// Replaces the claims of an interface address.
    pub(super) fn set(&mut self, id: InterfaceId, addr: F::Addr, keys: Vec<OfferKey<F>>) {
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

    /// Returns the address that has a route.
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
    /// Offers the routes that addresses claim, and withdraws routes without a claim. Returns the keys of routes that
    /// may have changed.
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
