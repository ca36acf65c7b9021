//! Replaced snapshots, firewalls, bridges, bonds and interface details that workers may still hold.
//!
//! A worker takes the newest snapshot when a step begins. If the worker held the last reference to the previous
//! snapshot, it would free the snapshot with all rules while packets wait. So control keeps a reference until no worker
//! has one, and frees the snapshot.

use std::sync::Arc;

use dataplane::bond::Bond;
use dataplane::bridge::Bridge;
use dataplane::firewall::Firewall;
use dataplane::interface::Details;
use dataplane::snapshot::Snapshot;

/// Replaced snapshots and tables that workers may hold.
#[derive(Debug, Default)]
pub(super) struct Retired {
    snapshots: Vec<Arc<Snapshot>>,
    /// Firewalls of replaced snapshots: a worker releases its firewall after its snapshot.
    firewalls: Vec<Arc<Firewall>>,
    /// Replaced details of interfaces.
    details: Vec<Arc<Details>>,
    /// Replaced bridges and bonds.
    bridges: Vec<Arc<Bridge>>,
    bonds: Vec<Arc<Bond>>,
}

impl Retired {
    /// Adds a snapshot that was replaced: workers can no longer load it, but each may still hold it.
    pub(super) fn push(&mut self, snapshot: Arc<Snapshot>) {
        let firewall = Arc::clone(&snapshot.firewall);
        self.snapshots.push(snapshot);
        if !self.firewalls.iter().any(|one| Arc::ptr_eq(one, &firewall)) {
            self.firewalls.push(firewall);
        }
        self.free();
    }

    /// Adds replaced details of an interface.
    pub(super) fn push_details(&mut self, replaced: Option<Arc<Details>>) {
        self.details
            .extend(replaced.filter(|one| Arc::strong_count(one) > 1));
    }

    /// Adds a replaced bridge.
    pub(super) fn push_bridge(&mut self, replaced: Option<Arc<Bridge>>) {
        self.bridges
            .extend(replaced.filter(|one| Arc::strong_count(one) > 1));
    }

    /// Adds a replaced bond.
    pub(super) fn push_bond(&mut self, replaced: Option<Arc<Bond>>) {
        self.bonds
            .extend(replaced.filter(|one| Arc::strong_count(one) > 1));
    }

    /// Frees everything that only control holds.
    pub(super) fn free(&mut self) {
        // A count of one is final: workers can no longer load the snapshot.
        self.snapshots.retain(|one| Arc::strong_count(one) > 1);
        self.firewalls.retain(|one| Arc::strong_count(one) > 1);
        self.details.retain(|one| Arc::strong_count(one) > 1);
        self.bridges.retain(|one| Arc::strong_count(one) > 1);
        self.bonds.retain(|one| Arc::strong_count(one) > 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_freed_only_after_the_last_worker_dropped_it() {
        let mut retired = Retired::default();
        let firewall = Arc::new(Firewall::default());
        let snapshot = Arc::new(Snapshot {
            firewall: Arc::clone(&firewall),
            ..Snapshot::default()
        });
        let held = Arc::clone(&snapshot);
        let alive = Arc::downgrade(&snapshot);

        retired.push(snapshot);
        assert!(alive.upgrade().is_some());
        drop(held);
        assert!(alive.upgrade().is_some(), "a worker frees nothing");
        retired.free();

        assert!(alive.upgrade().is_none());
        assert_eq!(
            Arc::strong_count(&firewall),
            2,
            "a worker may have it still"
        );
        let alive = Arc::downgrade(&firewall);
        drop(firewall);
        assert!(alive.upgrade().is_some());
        retired.free();
        assert!(alive.upgrade().is_none());
    }
}
