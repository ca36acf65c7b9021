//! Pairs of SAs: their timers, which of several for the same traffic is used, and their end.

use machine::Duration;

use super::core::{Context, Core, Key, Order};
use super::pair_table::{ChildState, PairTraffic};
use crate::config::PolicyId;
use crate::event::{Action, Child, ChildId, Phase2, SaId, Why};

/// Time that the inbound SA of a deleted pair stays, for packets under way.
const FADING_TIME: Duration = Duration::from_secs(3);
/// Time that a replaced pair stays if nobody deletes it.
const REPLACED_LIFETIME: Duration = Duration::from_secs(60);

impl Core {
    /// Counts the pairs of a policy that are not replaced.
    pub(crate) fn pairs_of(&self, policy: PolicyId) -> usize {
        let pairs = self.children.of_policy(policy);
        pairs.filter(|kept| !kept.replaced).count()
    }

    /// Returns the pairs of an IKE SA.
    pub(crate) fn pairs_with(&self, sa: SaId) -> Vec<ChildId> {
        let pairs = self.children.of_sa(sa);
        pairs.map(|kept| kept.child.id).collect()
    }

    /// Returns the pair of an IKE SA with this outbound SPI.
    pub(crate) fn pair_out(&self, sa: SaId, spi: u32) -> Option<ChildId> {
        let mut pairs = self.children.of_sa(sa);
        let found = pairs.find(|kept| kept.child.outbound.spi == spi)?;
        Some(found.child.id)
    }

    /// Returns `ph2-state` and `ph2-count`, as far as pairs determine them.
    pub(crate) fn phase2(&self, policy: PolicyId) -> (Phase2, usize) {
        match self.pairs_of(policy) {
            0 => (Phase2::NoPhase2, 0),
            count => (Phase2::Established, count),
        }
    }

    /// Returns true if an active pair exists for this traffic.
    pub(crate) fn is_served(&self, policy: PolicyId, traffic: PairTraffic<'_>) -> bool {
        let mut pairs = self.children.of_traffic(traffic);
        pairs.any(|kept| kept.child.policy == policy && kept.child.active)
    }

    /// Returns the pair to use for the traffic of another that ends: the newest one, preferably one that is active
    /// and not replaced.
    fn best_like<'a>(&'a self, gone: &'a Child) -> Option<&'a ChildState> {
        let alike = self.children.of_traffic(PairTraffic::of(gone));
        let alike = alike.filter(|kept| {
            kept.child.policy == gone.policy && kept.child.id != gone.id && !kept.ends
        });
        alike.max_by_key(|kept| (!kept.replaced, kept.child.active, kept.child.id))
    }

    pub(crate) fn reschedule(&mut self, id: ChildId) {
        let at = self.children.get(&id).map(ChildState::due);
        self.agenda.set(Key::Child(id), at);
    }
}

impl Context<'_> {
    /// Installs a pair of SAs. `soft` is the time until this side rekeys it, or `None` if the peer does.
    pub(crate) fn install(&mut self, child: Child, soft: Option<Duration>) {
        let id = child.id;
        self.core.spis.insert(child.inbound.spi);
        if child.active {
            self.core.orders.push_back(Order::Active(id));
        }
        let replaces = child.replaces;
        let kept = ChildState {
            soft_at: soft.map(|soft| child.born + soft),
            hard_at: child.born + child.hard,
            active_at: None,
            replaced: false,
            inherited: false,
            ends: false,
            child: child.clone(),
        };
        self.core.children.insert(kept);
        self.core.reschedule(id);
        self.out.push(Action::Install(Box::new(child)));
        if let Some(old) = replaces.and_then(|old| self.core.children.get_mut(&old)) {
            old.replaced = true;
            old.hard_at = old.hard_at.min(self.now + REPLACED_LIFETIME);
            old.soft_at = None;
            let old = old.child.id;
            self.core.reschedule(old);
        }
    }

    /// Switches outbound traffic to this pair.
    pub(crate) fn activate(&mut self, id: ChildId) {
        let Some(kept) = self.core.children.get_mut(&id) else {
            return;
        };
        kept.active_at = None;
        if !kept.child.active {
            kept.child.active = true;
            self.core.orders.push_back(Order::Active(id));
            self.out.push(Action::Activate(id));
        }
        self.core.reschedule(id);
    }

    /// Takes a replaced pair back into use, with its own lifetimes.
    pub(super) fn restore(&mut self, id: ChildId) {
        let Some(kept) = self.core.children.get_mut(&id) else {
            return;
        };
        kept.replaced = false;
        kept.hard_at = kept.child.born + kept.child.hard;
        kept.soft_at = Some(kept.child.born + kept.child.soft);
        self.activate(id);
    }

    /// Switches outbound traffic to this pair after a delay, or at the first packet that arrives under it.
    pub(crate) fn activate_later(&mut self, id: ChildId, after: Duration) {
        if let Some(kept) = self.core.children.get_mut(&id) {
            kept.active_at = (!kept.child.active).then(|| self.now + after);
        }
        self.core.reschedule(id);
    }

    /// Stops sending under a pair that another one replaced, and keeps its inbound SA for a while. Returns false
    /// and changes nothing if no other pair takes its traffic, or if it ends already.
    pub(crate) fn fade(&mut self, id: ChildId) -> bool {
        let Some(kept) = self.core.children.get(&id).filter(|kept| !kept.ends) else {
            return false;
        };
        let Some(heir) = self.core.best_like(&kept.child).map(|heir| heir.child.id) else {
            return false;
        };
        if let Some(kept) = self.core.children.get_mut(&id) {
            (kept.ends, kept.soft_at, kept.active_at) = (true, None, None);
            kept.hard_at = self.now + FADING_TIME;
        }
        self.core.reschedule(id);
        self.restore(heir);
        self.out.push(Action::Activate(heir));
        true
    }

    /// Removes a pair, and activates the best remaining pair with the same selectors, if any. Where only replaced
    /// pairs remain, the engine also negotiates a new one, because the peer may have stopped using these.
    pub(crate) fn remove(&mut self, id: ChildId, why: Why) -> Option<Child> {
        let heirs = self.core.children.heirs_of(id);
        let newest = heirs.map(|kept| (kept.child.active, kept.child.id)).max();
        if let Some((false, heir)) = newest {
            self.activate(heir);
        }
        let kept = self.core.children.remove(&id)?;
        if let Some(heir) = self.core.best_like(&kept.child).map(|heir| heir.child.id) {
            self.activate(heir);
        }
        self.core.spis.remove(&kept.child.inbound.spi);
        self.core.agenda.set(Key::Child(id), None);
        self.out.push(Action::Remove {
            child: id,
            spis: (kept.child.inbound.spi, kept.child.outbound.spi),
            why,
        });
        Some(kept.child)
    }
}
