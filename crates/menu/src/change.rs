//! What a committed transaction changed, who did it, and who makes it durable.

use std::sync::Arc;

use crate::{Clock, Fill, Id, Item, Menu, Policies, Saved};

/// One item before and after a transaction.
#[derive(Clone, Debug)]
pub struct Change {
    /// The menu.
    pub menu: &'static Menu,
    /// The item.
    pub id: Id,
    /// As it was; `None` if it is new.
    pub before: Option<Arc<Item>>,
    /// As it is; `None` if it is gone.
    pub after: Option<Arc<Item>>,
}

impl Change {
    /// The policies that a user needs to make the change by commands. An item with an owner needs the policies that
    /// it runs with, and `policy` if the owner is another user.
    pub fn needs(&self, user: &str) -> Policies {
        let command = match (&self.before, &self.after) {
            (None, _) => "add",
            (_, None) => "remove",
            _ => "set",
        };
        let mut filled = self.menu.filled.iter();
        let owner = filled.find(|(_, fill)| *fill == Fill::User);
        let sides = [&self.before, &self.after].into_iter().flatten();
        let of_item = |item: &Arc<Item>| {
            let (owner, _) = owner?;
            let runs_with = item.get("policy").map(Policies::from_value);
            let manages = match item.text(owner) == user {
                true => Policies::NONE,
                false => Policies::POLICY,
            };
            Some(runs_with.unwrap_or_default() | manages)
        };
        let own = Policies::needed(self.menu, command);
        sides.filter_map(of_item).fold(own, Policies::or)
    }
}

impl Change {
    /// The change back.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self {
            before: self.after.clone(),
            after: self.before.clone(),
            ..*self
        }
    }
}

/// Who changed something, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct By {
    /// The user; empty for the router itself.
    pub user: String,
    /// The time of day; none for what the router does by itself, and where it was not kept.
    pub clock: Option<Clock>,
    /// What was done, in words; if empty, it follows from what changed.
    pub action: String,
}

impl By {
    /// A user at a time.
    pub fn user(user: impl Into<String>, clock: Clock) -> Self {
        Self {
            user: user.into(),
            clock: Some(clock),
            action: String::new(),
        }
    }

    /// With words for what was done.
    #[must_use]
    pub fn doing(mut self, action: impl Into<String>) -> Self {
        self.action = action.into();
        self
    }
}

/// How a transaction came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The router did it by itself: a port was found, say. There is nothing to undo.
    #[default]
    Router,
    /// A user's command.
    User,
    /// `/undo` of the transaction that made this revision.
    Undo(u64),
    /// `/redo` of the transaction that made this revision.
    Redo(u64),
    /// Everything since this revision was given back.
    Unroll(u64),
}

/// All that one transaction changed, each item once, in the order in which they were first touched.
#[derive(Clone, Debug)]
pub struct Changes {
    /// The revision of the store that the transaction made; they count from 1.
    pub revision: u64,
    /// Whose doing it was.
    pub by: By,
    /// How it came about.
    pub origin: Origin,
    /// The items.
    pub list: Vec<Change>,
}

impl Changes {
    /// The changes of one menu.
    pub fn of<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Change> {
        self.list
            .iter()
            .filter(move |change| change.menu.path == path)
    }

    /// What was done, in words: `ip address added`.
    pub fn action(&self) -> String {
        if !self.by.action.is_empty() {
            return self.by.action.clone();
        }
        let Some(first) = self.list.first() else {
            return String::new();
        };
        let words = |change: &Change| match (&change.before, &change.after) {
            (None, _) => "added",
            (_, None) => "removed",
            (Some(before), Some(after)) if before.same_values(after) => "moved",
            _ => "changed",
        };
        let noun = first.menu.path.trim_start_matches('/').replace('/', " ");
        let name = first.after.as_ref().or(first.before.as_ref());
        let name = name.and_then(|item| item.name()).unwrap_or_default();
        let gap = if name.is_empty() { "" } else { " " };
        let more = match self.list.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        format!("{noun}{gap}{name} {}{more}", words(first))
    }
}

/// Makes transactions durable. The store calls it before a command is acknowledged.
pub trait Journal: Send {
    /// Stores the changes, synced to disk.
    ///
    /// # Errors
    /// What went wrong, in words; the transaction is then rolled back.
    fn commit(&mut self, changes: &Changes) -> Result<(), String>;

    /// As [`Journal::commit`], of many changes: `meanwhile` is called often, so that life goes on.
    ///
    /// # Errors
    /// As of [`Journal::commit`].
    fn commit_while(
        &mut self,
        changes: &Changes,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), String> {
        let _ = meanwhile;
        self.commit(changes)
    }

    /// Takes changes that [`Journal::sync`] stores, at the latest; a router that is killed before may lose them. All
    /// other calls store them first.
    ///
    /// # Errors
    /// What went wrong, in words; the transaction is then rolled back.
    fn defer(&mut self, changes: &Arc<Changes>) -> Result<(), String> {
        self.commit(changes)
    }

    /// Stores the changes that were deferred, synced to disk.
    ///
    /// # Errors
    /// What went wrong, in words. The changes stay deferred, and the next call tries again.
    fn sync(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Gives back the changes that were deferred and are not stored, oldest first; they are forgotten.
    fn take_deferred(&mut self) -> Vec<Arc<Changes>> {
        Vec::new()
    }

    /// From here on, keeps what each item was before it changed first, until [`Journal::release`]:
    /// a router that starts and finds this gives it back.
    ///
    /// # Errors
    /// What went wrong; nothing is held then.
    fn hold(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Forgets what was held.
    ///
    /// # Errors
    /// What went wrong; it is still held then.
    fn release(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Keeps a word under a name, or forgets it: what has to outlive the router besides items.
    ///
    /// # Errors
    /// What went wrong; what was kept then stays.
    fn note(&mut self, name: &str, text: Option<&str>) -> Result<(), String> {
        let _ = (name, text);
        Ok(())
    }

    /// Removes and returns the notes that are kept in memory only: those of a journal that stands for another.
    fn take_notes(&mut self) -> Vec<(String, Option<String>)> {
        Vec::new()
    }

    /// Does work that can wait, and says whether it copied the whole configuration for it. It is called every few
    /// seconds while the router runs.
    fn rest(&mut self) -> bool {
        false
    }

    /// Does all work that waits: the router stops.
    fn settle(&mut self) {}

    /// Why no change can be stored, while that is so: the disk is full, or what it has is damaged.
    fn fault(&self) -> Option<&str> {
        None
    }

    /// Accepts the state that a damaged disk was found to have, so that changes can be stored again. `running` is the
    /// configuration that runs. Returns lines for the log.
    ///
    /// # Errors
    /// There is no damage, or the state cannot be written.
    fn accept(&mut self, running: &Saved) -> Result<Vec<String>, String> {
        let _ = running;
        Err(String::from("there is no damage to accept"))
    }
}

/// A journal that keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn commit(&mut self, _changes: &Changes) -> Result<(), String> {
        Ok(())
    }
}
