//! Safe mode: records changes, so that the configuration at its start can be restored.
//!
//! Instead of a list of actions, the hold stores the state of each item before its first change. Its size is
//! therefore limited by the configuration: an item that was added and removed again is not stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{By, Change, Changes, Id, Item, Menu, Origin, Policies, Reason, Store};

/// The held configuration: the original state of all items that changed since.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    since: u64,
    base: BTreeMap<(&'static str, Id), OriginalState>,
}

/// The original state of an item.
#[derive(Debug)]
struct OriginalState {
    menu: &'static Menu,
    /// `None` if the item did not exist.
    before: Option<Arc<Item>>,
    /// The only user who changed the item since; `None` if several users did, or if it is unknown.
    author: Option<Box<str>>,
}

impl Hold {
    /// Records the original state of the items that a transaction changed.
    pub(crate) fn note(&mut self, changes: &Changes) {
        if changes.origin == Origin::Router {
            return;
        }
        for change in &changes.list {
            let key = (change.menu.path, change.id);
            let user = &*changes.by.user;
            let first = self.base.entry(key).or_insert_with(|| OriginalState {
                menu: change.menu,
                before: change.before.clone(),
                author: Some(user.into()),
            });
            if first.author.as_deref() != Some(user) {
                first.author = None;
            }
            if first.before.is_none() && change.after.is_none() {
                self.base.remove(&key);
            }
        }
    }
}

impl Store {
    /// Holds the current configuration. Has no effect if one is held already.
    ///
    /// # Errors
    /// The hold cannot be made durable.
    pub fn hold(&mut self) -> Result<(), Reason> {
        if self.hold.is_none() {
            self.journal.hold().map_err(Reason::Storage)?;
            self.hold = Some(Hold {
                since: self.revision,
                base: BTreeMap::new(),
            });
        }
        Ok(())
    }

    /// Returns the held revision.
    pub fn held_since(&self) -> Option<u64> {
        self.hold.as_ref().map(|hold| hold.since)
    }

    /// Releases the hold and keeps the changes.
    ///
    /// # Errors
    /// The release cannot be made durable; the hold continues then.
    pub fn release(&mut self) -> Result<(), Reason> {
        if self.hold.is_some() {
            self.journal.release().map_err(Reason::Storage)?;
            self.hold = None;
        }
        Ok(())
    }

    /// Restores the held configuration as a transaction, and releases the hold. Restores only items that a user
    /// with these policies could undo; without the `policy` right, only items that nobody else changed.
    ///
    /// # Errors
    /// The change cannot be made durable; the hold continues then.
    pub fn unroll(&mut self, by: By, policies: Policies) -> Result<Option<Arc<Changes>>, Reason> {
        let Some(hold) = &self.hold else {
            return Ok(None);
        };
        let since = hold.since;
        let base = hold.base.iter();
        let all = policies.contains(Policies::POLICY);
        let own = |first: &OriginalState| all || first.author.as_deref() == Some(&*by.user);
        let list: Vec<_> = base
            .filter(|(_, first)| own(first))
            .map(|((path, id), first)| Change {
                menu: first.menu,
                id: *id,
                before: self.item(path, *id).cloned(),
                after: first.before.clone(),
            })
            .filter(|change| policies.contains(change.needs(&by.user)))
            .collect();
        let changes = self.transact(&list, by, Origin::Unroll(since))?;
        self.release()?;
        Ok(changes)
    }

    /// Restores a hold that was active when the router stopped: the original state of each item, by menu and
    /// id.
    pub fn hold_again(
        &mut self,
        since: u64,
        base: impl IntoIterator<Item = (&'static Menu, Id, Option<Arc<Item>>)>,
    ) {
        let base = base.into_iter();
        self.hold = Some(Hold {
            since,
            base: base
                .map(|(menu, id, before)| {
                    let first = OriginalState {
                        menu,
                        before,
                        author: None,
                    };
                    ((menu.path, id), first)
                })
                .collect(),
        });
    }

    /// Stores a text under a name beside the configuration, or removes it.
    ///
    /// # Errors
    /// The text cannot be made durable.
    pub fn note(&mut self, name: &str, text: Option<&str>) -> Result<(), Reason> {
        self.journal.note(name, text).map_err(Reason::Storage)
    }

    /// Lets the journal do deferrable work. Called every few seconds. Returns true if the journal copied the
    /// whole configuration.
    pub fn rest(&mut self) -> bool {
        self.journal.rest()
    }

    /// Lets the journal do all deferrable work, because the router stops.
    pub fn settle_journal(&mut self) {
        self.journal.settle();
    }

    /// Returns why changes cannot be stored at present; `None` if they can.
    pub fn fault(&self) -> Option<&str> {
        self.journal.fault()
    }

    /// Accepts the state found on a damaged disk; changes can be stored from then on. Returns lines for the
    /// log.
    ///
    /// # Errors
    /// There is no damage, or the state cannot be written.
    pub fn accept_damage(&mut self) -> Result<Vec<String>, Reason> {
        let running = self.save();
        self.journal.accept(&running).map_err(Reason::failure)
    }
}
