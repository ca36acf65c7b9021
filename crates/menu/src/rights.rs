//! Current rights of users. A change of a user's group takes effect immediately in all sessions and jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Policies;

/// The current policies of a user. Clones share their state: a change affects all of them.
#[derive(Clone, Debug, Default)]
pub struct Grant(Arc<AtomicU32>);

impl Grant {
    /// Creates a grant of these policies.
    pub fn new(policies: Policies) -> Self {
        Self(Arc::new(AtomicU32::new(policies.bits())))
    }

    /// Returns the current policies.
    pub fn now(&self) -> Policies {
        Policies::from_bits(self.0.load(Ordering::SeqCst))
    }

    /// Replaces the granted policies.
    pub fn set(&self, policies: Policies) {
        self.0.store(policies.bits(), Ordering::SeqCst);
    }
}

/// The rights of a session or a script: the intersection of several grants.
#[derive(Clone, Debug)]
pub struct Rights {
    most: Policies,
    grants: Vec<Grant>,
}

impl Rights {
    /// All rights; for the owner of the machine.
    pub const FULL: Self = Self::fixed(Policies::ALL);

    /// Creates rights that do not depend on users.
    pub const fn fixed(most: Policies) -> Self {
        Self {
            most,
            grants: Vec::new(),
        }
    }

    /// Creates rights limited to `most` and to a grant.
    pub fn of(most: Policies, grant: Grant) -> Self {
        Self {
            most,
            grants: vec![grant],
        }
    }

    /// Returns the intersection.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut grants = self.grants.clone();
        for grant in &other.grants {
            if !grants.iter().any(|own| Arc::ptr_eq(&own.0, &grant.0)) {
                grants.push(grant.clone());
            }
        }
        Self {
            most: self.most.and(other.most),
            grants,
        }
    }

    /// Returns the current policies.
    pub fn now(&self) -> Policies {
        let grants = self.grants.iter().map(Grant::now);
        grants.fold(self.most, Policies::and)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_the_current_intersection_of_all_grants() {
        let (owner, caller) = (Grant::new(Policies::ALL), Grant::new(Policies::ALL));
        let script = Rights::of(Policies::READ | Policies::WRITE, owner.clone());

        let both = script.and(&Rights::of(Policies::ALL, caller.clone()));

        assert_eq!(both.now(), Policies::READ | Policies::WRITE);
        caller.set(Policies::READ | Policies::TEST);
        assert_eq!(both.now(), Policies::READ);
        assert_eq!(script.now(), Policies::READ | Policies::WRITE);
        owner.set(Policies::NONE);
        assert_eq!(both.now(), Policies::NONE);
    }
}
