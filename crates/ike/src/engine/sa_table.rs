//! The IKE SAs, found by id, peer, remote address, and identity of the peer: no look-up scans the SAs of other peers.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Id, PeerId};
use crate::event::SaId;

/// An IKE SA, as far as it is found by its fields.
pub(super) trait Listed {
    fn id(&self) -> SaId;
    /// The peer of the configuration.
    fn peer(&self) -> PeerId;
    /// The peer's present address.
    fn remote(&self) -> IpAddr;
    /// The identity that the peer proved or claims.
    fn identity(&self) -> Option<&Id>;
}

/// Fields under which the indices list an IKE SA.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Keys {
    peer: PeerId,
    remote: IpAddr,
    identity: Option<Id>,
}

/// IKE SAs with their indices. An SA is taken out while it works, and put back: the indices still list it meanwhile,
/// and look-ups skip it.
pub(super) struct SaTable<S> {
    all: BTreeMap<SaId, S>,
    keys: BTreeMap<SaId, Keys>,
    by_peer: BTreeSet<(PeerId, SaId)>,
    by_remote: BTreeSet<(IpAddr, SaId)>,
    by_identity: BTreeMap<Id, BTreeSet<SaId>>,
}

const FIRST: SaId = SaId(0);
const LAST: SaId = SaId(u64::MAX);

impl<S> Default for SaTable<S> {
    fn default() -> Self {
        Self {
            all: BTreeMap::new(),
            keys: BTreeMap::new(),
            by_peer: BTreeSet::new(),
            by_remote: BTreeSet::new(),
            by_identity: BTreeMap::new(),
        }
    }
}

impl<S: Listed> SaTable<S> {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, id: SaId) -> Option<&S> {
        self.all.get(&id)
    }

    pub(super) fn contains(&self, id: SaId) -> bool {
        self.all.contains_key(&id)
    }

    /// Returns all SAs, oldest first.
    pub(super) fn values(&self) -> impl Iterator<Item = &S> {
        self.all.values()
    }

    /// Takes an SA out, to be put back or forgotten.
    pub(super) fn take(&mut self, id: SaId) -> Option<S> {
        self.all.remove(&id)
    }

    /// Adds an SA, or puts it back, and updates its indices.
    pub(super) fn put(&mut self, sa: S) {
        let id = sa.id();
        let is_listed = self.keys.get(&id).is_some_and(|keys| {
            (keys.peer, keys.remote) == (sa.peer(), sa.remote())
                && keys.identity.as_ref() == sa.identity()
        });
        if !is_listed {
            self.forget(id);
            let keys = Keys {
                peer: sa.peer(),
                remote: sa.remote(),
                identity: sa.identity().cloned(),
            };
            self.by_peer.insert((keys.peer, id));
            self.by_remote.insert((keys.remote, id));
            if let Some(identity) = &keys.identity {
                let alike = self.by_identity.entry(identity.clone()).or_default();
                alike.insert(id);
            }
            self.keys.insert(id, keys);
        }
        self.all.insert(id, sa);
    }

    /// Removes an SA that was taken out from the indices.
    pub(super) fn forget(&mut self, id: SaId) {
        let Some(keys) = self.keys.remove(&id) else {
            return;
        };
        self.by_peer.remove(&(keys.peer, id));
        self.by_remote.remove(&(keys.remote, id));
        if let Some(identity) = keys.identity
            && let Some(alike) = self.by_identity.get_mut(&identity)
        {
            alike.remove(&id);
            if alike.is_empty() {
                self.by_identity.remove(&identity);
            }
        }
    }

    /// Returns the SAs of a peer of the configuration, oldest first.
    pub(super) fn of_peer(&self, peer: PeerId) -> impl Iterator<Item = &S> {
        let ids = self.by_peer.range((peer, FIRST)..=(peer, LAST));
        ids.filter_map(|(_, id)| self.all.get(id))
    }

    /// Returns the SAs with a remote address, oldest first.
    pub(super) fn with_remote(&self, remote: IpAddr) -> impl Iterator<Item = &S> {
        let ids = self.by_remote.range((remote, FIRST)..=(remote, LAST));
        ids.filter_map(|(_, id)| self.all.get(id))
    }

    /// Returns the SAs whose peer proved or claims an identity, oldest first.
    pub(super) fn with_identity(&self, identity: &Id) -> impl Iterator<Item = &S> {
        let ids = self.by_identity.get(identity).into_iter().flatten();
        ids.filter_map(|id| self.all.get(id))
    }
}
