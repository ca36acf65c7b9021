//! Holding on to the configuration of a moment, so that it can be had back: safe mode.
//!
//! What is kept is each item as it was before it changed first, not a list of actions: so there is no
//! number of actions that is too many. It is bounded by the configuration: what was added since and
//! is gone again is not kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{By, Change, Changes, Id, Item, Menu, Origin, Policies, Reason, Store};

/// The configuration of a moment: what has changed since, as it was.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    since: u64,
    base: BTreeMap<(&'static str, Id), First>,
}

/// An item as it was.
#[derive(Debug)]
struct First {
    menu: &'static Menu,
    /// `None` if it was not there.
    before: Option<Arc<Item>>,
    /// Who alone has changed it since; `None` for several, or where that is not known any more.
    author: Option<Box<str>>,
}

impl Hold {
    /// Hears of a transaction.
    pub(crate) fn note(&mut self, changes: &Changes) {
        if changes.origin == Origin::Router {
            return;
        }
        for change in &changes.list {
            let key = (change.menu.path, change.id);
            let user = &*changes.by.user;
            let first = self.base.entry(key).or_insert_with(|| First {
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
    /// Holds on to the configuration as it is now. Does nothing if one is held already.
    ///
    /// # Errors
    /// It cannot be made durable.
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

    /// The revision that is held.
    pub fn held_since(&self) -> Option<u64> {
        self.hold.as_ref().map(|hold| hold.since)
    }

    /// Lets go of what is held: what has changed since stays.
    ///
    /// # Errors
    /// It cannot be made durable; it is still held then.
    pub fn release(&mut self) -> Result<(), Reason> {
        if self.hold.is_some() {
            self.journal.release().map_err(Reason::Storage)?;
            self.hold = None;
        }
        Ok(())
    }

    /// Makes the configuration what is held, as a transaction, and lets go of it: what a user with
    /// these policies could undo. Who does not manage users takes back what is theirs alone.
    ///
    /// # Errors
    /// It cannot be made durable; it is still held then.
    pub fn unroll(&mut self, by: By, policies: Policies) -> Result<Option<Arc<Changes>>, Reason> {
        let Some(hold) = &self.hold else {
            return Ok(None);
        };
        let since = hold.since;
        let base = hold.base.iter();
        let all = policies.contains(Policies::POLICY);
        let own = |first: &First| all || first.author.as_deref() == Some(&*by.user);
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

    /// Takes up what was held when the router stopped: each item as it was, by menu and id.
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
                    let first = First {
                        menu,
                        before,
                        author: None,
                    };
                    ((menu.path, id), first)
                })
                .collect(),
        });
    }

    /// Keeps a word under a name beside the configuration, or forgets it.
    ///
    /// # Errors
    /// It cannot be made durable.
    pub fn note(&mut self, name: &str, text: Option<&str>) -> Result<(), Reason> {
        self.journal.note(name, text).map_err(Reason::Storage)
    }

    /// Lets the journal do work that can wait. Called every few seconds. Returns whether the journal copied the whole
    /// configuration for it.
    pub fn rest(&mut self) -> bool {
        self.journal.rest()
    }

    /// Lets the journal do all work that waits: the router stops.
    pub fn settle_journal(&mut self) {
        self.journal.settle();
    }

    /// Why no change can be stored, while that is so.
    pub fn fault(&self) -> Option<&str> {
        self.journal.fault()
    }

    /// Accepts the state that a damaged disk was found to have; changes can be stored from then on. Returns lines for
    /// the log.
    ///
    /// # Errors
    /// There is no damage, or the state cannot be written.
    pub fn accept_damage(&mut self) -> Result<Vec<String>, Reason> {
        let running = self.save();
        self.journal.accept(&running).map_err(Reason::failure)
    }
}
