//! Applies changes of policies and publishes policies to the workers.
//!
//! A change costs as much as the policies it names. Only changes of peers, proposals and other
//! items that policies refer to cause a full read.

use std::collections::BTreeSet;
use std::sync::Arc;

use dataplane::ipsec::{Action as Does, Policy, Position};
use ike::{Event, PolicyId};
use machine::{Instant, Machine as _};
use menu::{Change, Changes};

use super::sources::open_remote;
use super::{Ipsec, read};
use crate::feature::{Effect, Effects};

impl Ipsec {
    /// Applies the changed policies of a transaction that changed no item that policies refer to.
    pub(super) fn change_policies(&mut self, changes: &Changes, now: Instant, out: &mut Effects) {
        let ids = changes.of(read::POLICY).map(|change| PolicyId(change.id.0));
        let ids: BTreeSet<_> = ids.collect();
        if ids.is_empty() {
            return;
        }
        let (mut gone, mut there) = (Vec::new(), Vec::new());
        for change in changes.of(read::POLICY) {
            match self.change_policy(change) {
                Some(event @ Event::Policy(_, None)) => gone.push(event),
                event => there.extend(event),
            }
        }
        let mut actions = Vec::new();
        for event in gone.into_iter().chain(there) {
            self.engine.handle(event, now, &mut actions);
        }
        self.act_all(actions, now, out);
        self.publish(ids, out);
    }

    /// Applies one changed policy. Returns the event for the IKE engine.
    fn change_policy(&mut self, change: &Change) -> Option<Event<'static>> {
        let id = PolicyId(change.id.0);
        self.read.put_policy(id, change.after.as_deref());
        let mut policy = self.read.policies.get(&id).cloned();
        if let Some(policy) = &mut policy {
            self.fill_name(policy, &self.read.named);
        }
        self.follow_remote(id, policy.as_ref().and_then(open_remote));
        if let Some(policy) = &mut policy {
            self.fill_source(policy);
        }
        match self.read.met.get(&id) {
            Some(met) => drop(self.config.met.insert(id, met.clone())),
            None => drop(self.config.met.remove(&id)),
        }
        let before = match &policy {
            Some(policy) => self.config.policies.insert(id, policy.clone()),
            None => self.config.policies.remove(&id),
        };
        (before != policy).then(|| Event::Policy(id, policy.map(Box::new)))
    }

    /// Updates all policies that the workers have.
    pub(super) fn publish_all(&mut self, out: &mut Effects) {
        let known = self.published.keys().copied();
        let generated = self.generated.all().map(|(id, _)| id);
        let ids = known
            .chain(generated)
            .chain(self.config.met.keys().copied());
        self.publish(ids.collect(), out);
    }

    /// Updates these policies of the workers.
    pub(super) fn publish(&mut self, ids: BTreeSet<PolicyId>, out: &mut Effects) {
        let is_met = |id: &PolicyId| self.config.met.contains_key(id) || self.generated.has(*id);
        let (there, gone): (Vec<_>, Vec<_>) = ids.into_iter().partition(is_met);
        let mut is_other = false;
        // Releases the slots of removed policies first, so that new ones can use them.
        for id in gone {
            self.installed.release(id);
            is_other |= self.replace(id, Vec::new());
        }
        for id in there {
            let now = self.positioned(id, out);
            is_other |= self.replace(id, now);
        }
        if is_other {
            out.push(Effect::Policies(Arc::clone(&self.policies)));
        }
    }

    /// Replaces the entries of a policy in the published table. Returns whether they changed.
    fn replace(&mut self, id: PolicyId, now: Vec<(Position, Policy)>) -> bool {
        let before = match now.is_empty() {
            true => self.published.remove(&id),
            false => self.published.insert(id, now.clone()),
        };
        let before = before.unwrap_or_default();
        if before == now {
            return false;
        }
        let policies = Arc::make_mut(&mut self.policies);
        for (position, policy) in before {
            policies.remove(position, &policy.selector);
        }
        for (position, policy) in now {
            policies.insert(position, policy);
        }
        true
    }

    /// Returns the entries of a policy in the published table: one for each pair of selectors.
    fn positioned(&mut self, id: PolicyId, out: &mut Effects) -> Vec<(Position, Policy)> {
        let configured = self.config.met.get(&id).cloned();
        let all: Vec<_> = self.generated.met(id).chain(configured).collect();
        let policies = all.into_iter().map(|met| {
            let action = match met.does {
                read::Does::Pass => Does::Pass,
                read::Does::Discard => Does::Discard,
                read::Does::Protect { required } => match self.installed.slot(id) {
                    Some(slot) => Does::Protect { slot, required },
                    None => {
                        out.log(
                            "ipsec,error",
                            "too many policies: one of them discards its packets".to_owned(),
                        );
                        Does::Discard
                    }
                },
            };
            let policy = Policy {
                selector: met.selector,
                action,
            };
            (met.position, policy)
        });
        policies.collect()
    }
}
