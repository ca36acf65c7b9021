//! Current policies of users: one shared grant per user, used by all sessions and scripts of the user.

use std::collections::BTreeMap;

use menu::{Grant, Id, Policies, Store};

use crate::user::User;

/// Grants by user.
#[derive(Debug, Default)]
pub(crate) struct Grants(BTreeMap<Id, Grant>);

impl Grants {
    /// Updates and returns the grant of a user.
    pub(crate) fn of(&mut self, user: &User) -> Grant {
        let now = granted(user);
        let grant = self.0.entry(user.id).or_insert_with(|| Grant::new(now));
        grant.set(now);
        grant.clone()
    }

    /// Updates all grants after users or groups changed.
    pub(crate) fn follow(&mut self, store: &Store) {
        self.0.retain(|id, grant| {
            let stays = store.item("/user", *id).is_some();
            if !stays {
                grant.set(Policies::NONE);
            }
            stays
        });
        for item in store.items("/user") {
            self.of(&User::of(store, item));
        }
    }

    /// Grant of the user with this id; an empty one if there is none.
    pub(crate) fn get(&self, user: Id) -> Grant {
        self.0.get(&user).cloned().unwrap_or_default()
    }
}

/// Policies of a user; none while disabled.
fn granted(user: &User) -> Policies {
    match user.disabled {
        true => Policies::NONE,
        false => user.policies,
    }
}
