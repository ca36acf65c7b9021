//! What users are granted now: one grant for each user, which all sessions and scripts of theirs share.

use std::collections::BTreeMap;

use menu::{Grant, Id, Policies, Store};

use crate::user::User;

/// The grants of the users.
#[derive(Debug, Default)]
pub(crate) struct Grants(BTreeMap<Id, Grant>);

impl Grants {
    /// The grant of a user; it changes as the user does.
    pub(crate) fn of(&mut self, user: &User) -> Grant {
        let now = granted(user);
        let grant = self.0.entry(user.id).or_insert_with(|| Grant::new(now));
        grant.set(now);
        grant.clone()
    }

    /// Hears that users or groups are other than before.
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

    /// The grant of the user of this number; of nothing if there is none.
    pub(crate) fn get(&self, user: Id) -> Grant {
        self.0.get(&user).cloned().unwrap_or_default()
    }
}

/// What a user has; nothing while disabled.
fn granted(user: &User) -> Policies {
    match user.disabled {
        true => Policies::NONE,
        false => user.policies,
    }
}
