//! The pairs of SAs, found by id, IKE SA, policy, remote address, traffic, and the pair that they replace: no look-up
//! scans the pairs of other peers.

use core::hash::{Hash, Hasher};
use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::DefaultHasher;

use machine::Instant;

use crate::config::{PeerId, PolicyId, Selector};
use crate::event::{Child, ChildId, SaId};

/// A pair of SAs with its timers.
#[derive(Debug)]
pub(crate) struct ChildState {
    /// The pair.
    pub(crate) child: Child,
    /// Time to rekey; `None` while rekeying, or if the peer rekeys.
    pub(crate) soft_at: Option<Instant>,
    /// Time to remove.
    pub(crate) hard_at: Instant,
    /// Time to use the outbound SA even if nothing arrived under the inbound one.
    pub(crate) active_at: Option<Instant>,
    /// True if another pair replaces it.
    pub(crate) replaced: bool,
    /// True if the pair came from an IKE SA that gave way to its present one (IKEv1).
    pub(crate) inherited: bool,
    /// True after this side sent a delete: the inbound SA stays until packets under way have arrived.
    pub(crate) ends: bool,
}

impl ChildState {
    /// Returns the time of the next timer.
    pub(super) fn due(&self) -> Instant {
        let soft = self.soft_at.unwrap_or(self.hard_at);
        let active = self.active_at.unwrap_or(self.hard_at);
        self.hard_at.min(soft).min(active)
    }
}

/// Pairs with their indices. The indexed fields of a pair (IKE SA, policy, peer, selectors, remote address, replaced
/// pair) change only by [`PairTable::move_to`] and [`PairTable::set_path`].
#[derive(Debug, Default)]
pub(crate) struct PairTable {
    all: BTreeMap<ChildId, ChildState>,
    by_sa: BTreeSet<(SaId, ChildId)>,
    by_policy: BTreeSet<(PolicyId, ChildId)>,
    by_remote: BTreeSet<(IpAddr, ChildId)>,
    /// By the hash of peer, selectors and translated end.
    by_traffic: BTreeSet<(u64, ChildId)>,
    /// By the pair that the other one replaces.
    by_replaced: BTreeSet<(ChildId, ChildId)>,
}

const FIRST: ChildId = ChildId(0);
const LAST: ChildId = ChildId(u64::MAX);

impl PairTable {
    pub(crate) fn get(&self, id: &ChildId) -> Option<&ChildState> {
        self.all.get(id)
    }

    /// Returns a pair, whose indexed fields the caller leaves as they are.
    pub(crate) fn get_mut(&mut self, id: &ChildId) -> Option<&mut ChildState> {
        self.all.get_mut(id)
    }

    pub(crate) fn contains_key(&self, id: &ChildId) -> bool {
        self.all.contains_key(id)
    }

    /// Returns the ids of all pairs.
    pub(crate) fn ids(&self) -> impl Iterator<Item = ChildId> + '_ {
        self.all.keys().copied()
    }

    /// Adds a pair with an id that no pair had before.
    pub(crate) fn insert(&mut self, kept: ChildState) {
        let child = &kept.child;
        let id = child.id;
        self.by_sa.insert((child.sa, id));
        self.by_policy.insert((child.policy, id));
        self.by_remote.insert((child.remote.ip(), id));
        self.by_traffic.insert((traffic_hash(child), id));
        self.by_replaced.extend(child.replaces.map(|old| (old, id)));
        self.all.insert(id, kept);
    }

    pub(crate) fn remove(&mut self, id: &ChildId) -> Option<ChildState> {
        let kept = self.all.remove(id)?;
        let child = &kept.child;
        self.by_sa.remove(&(child.sa, *id));
        self.by_policy.remove(&(child.policy, *id));
        self.by_remote.remove(&(child.remote.ip(), *id));
        self.by_traffic.remove(&(traffic_hash(child), *id));
        if let Some(old) = child.replaces {
            self.by_replaced.remove(&(old, *id));
        }
        Some(kept)
    }

    /// Moves a pair to another IKE SA.
    pub(crate) fn move_to(&mut self, id: ChildId, to: SaId) {
        if let Some(kept) = self.all.get_mut(&id) {
            self.by_sa.remove(&(kept.child.sa, id));
            self.by_sa.insert((to, id));
            (kept.child.sa, kept.inherited) = (to, true);
        }
    }

    /// Sets the endpoints of a pair, and whether its packets travel in UDP.
    pub(crate) fn set_path(
        &mut self,
        id: ChildId,
        local: SocketAddr,
        remote: SocketAddr,
        natt: bool,
    ) {
        if let Some(kept) = self.all.get_mut(&id) {
            let child = &mut kept.child;
            self.by_remote.remove(&(child.remote.ip(), id));
            self.by_remote.insert((remote.ip(), id));
            self.by_traffic.remove(&(traffic_hash(child), id));
            (child.local, child.remote, child.natt) = (local, remote, natt);
            self.by_traffic.insert((traffic_hash(child), id));
        }
    }

    /// Returns the pairs of an IKE SA, oldest first.
    pub(crate) fn of_sa(&self, sa: SaId) -> impl Iterator<Item = &ChildState> {
        self.listed(self.by_sa.range((sa, FIRST)..=(sa, LAST)))
    }

    /// Returns the pairs of a policy, oldest first.
    pub(crate) fn of_policy(&self, policy: PolicyId) -> impl Iterator<Item = &ChildState> {
        self.listed(self.by_policy.range((policy, FIRST)..=(policy, LAST)))
    }

    /// Returns the pairs for the same traffic, of any policy, oldest first.
    pub(crate) fn of_traffic<'a>(
        &'a self,
        traffic: PairTraffic<'a>,
    ) -> impl Iterator<Item = &'a ChildState> {
        let hash = traffic.digest();
        self.listed(self.by_traffic.range((hash, FIRST)..=(hash, LAST)))
            .filter(move |kept| PairTraffic::of(&kept.child) == traffic)
    }

    /// Returns the pairs that replace another one, which may be gone.
    pub(crate) fn heirs_of(&self, old: ChildId) -> impl Iterator<Item = &ChildState> {
        self.listed(self.by_replaced.range((old, FIRST)..=(old, LAST)))
    }

    /// Returns true if a pair with a peer at this address exists.
    pub(crate) fn has_remote(&self, remote: IpAddr) -> bool {
        let mut pairs = self.by_remote.range((remote, FIRST)..=(remote, LAST));
        pairs.next().is_some()
    }

    fn listed<'a, K: 'a>(
        &'a self,
        ids: impl Iterator<Item = &'a (K, ChildId)>,
    ) -> impl Iterator<Item = &'a ChildState> {
        ids.filter_map(|(_, id)| self.all.get(id))
    }
}

/// PairTraffic of pairs: pairs with equal traffic replace each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PairTraffic<'a> {
    /// Peer of the configuration.
    pub(crate) peer: PeerId,
    /// Local and remote selectors.
    pub(crate) selectors: &'a [(Selector, Selector)],
    /// The end of a peer behind NAT, as [`Child::translated_end`] returns it.
    pub(crate) translated_end: Option<SocketAddr>,
}

impl<'a> PairTraffic<'a> {
    /// Returns the traffic of a pair.
    pub(crate) fn of(child: &'a Child) -> Self {
        Self {
            peer: child.peer,
            selectors: &child.selectors,
            translated_end: child.translated_end(),
        }
    }

    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

fn traffic_hash(child: &Child) -> u64 {
    PairTraffic::of(child).digest()
}
