//! Links of a carrier by link number, and by the key that its protocol has for them.

use core::fmt::Debug;
use std::collections::BTreeMap;

use super::LinkId;
use crate::intent::ItemId;

/// State of a link.
pub(super) trait LinkState: Debug {
    /// Key of a link in its protocol.
    type Key: Copy + Debug + Ord;

    /// Returns the key, which never changes.
    fn key(&self) -> Self::Key;

    /// Returns the client item that dialled; `None` for a link of the server.
    fn client(&self) -> Option<ItemId>;
}

/// All links.
#[derive(Debug)]
pub(super) struct Links<L: LinkState> {
    last: u64,
    all: BTreeMap<LinkId, L>,
    keys: BTreeMap<L::Key, LinkId>,
}

impl<L: LinkState> Default for Links<L> {
    fn default() -> Self {
        Self {
            last: 0,
            all: BTreeMap::new(),
            keys: BTreeMap::new(),
        }
    }
}

impl<L: LinkState> Links<L> {
    /// Returns the number that the next added link gets.
    pub(super) const fn next_id(&self) -> LinkId {
        LinkId(self.last + 1)
    }

    /// Adds a link.
    pub(super) fn add(&mut self, link: L) -> LinkId {
        self.last += 1;
        let id = LinkId(self.last);
        self.keys.insert(link.key(), id);
        self.all.insert(id, link);
        id
    }

    /// Removes a link.
    pub(super) fn remove(&mut self, id: LinkId) -> Option<L> {
        let link = self.all.remove(&id)?;
        self.keys.remove(&link.key());
        Some(link)
    }

    /// Removes the link with this key.
    pub(super) fn remove_by_key(&mut self, key: L::Key) -> Option<(LinkId, L)> {
        let id = *self.keys.get(&key)?;
        Some((id, self.remove(id)?))
    }

    /// Returns a link.
    pub(super) fn get(&self, id: LinkId) -> Option<&L> {
        self.all.get(&id)
    }

    /// Returns a link.
    pub(super) fn get_mut(&mut self, id: LinkId) -> Option<&mut L> {
        self.all.get_mut(&id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the link with this key.
    pub(super) fn find_mut(&mut self, key: L::Key) -> Option<(LinkId, &mut L)> {
        let id = *self.keys.get(&key)?;
        Some((id, self.all.get_mut(&id)?))
    }
}
