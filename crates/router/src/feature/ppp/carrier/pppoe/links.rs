//! Links: the sessions of all clients and servers.

use std::collections::BTreeMap;

use dataplane::interface::Session;
use frame::InterfaceId;

use super::super::budget::Budget;
use super::super::{LinkId, LinkSetup};
use crate::intent::{ItemId, Name};

/// What identifies a session in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Interface that carries its frames.
    pub(super) interface: InterfaceId,
    /// Peer and number.
    pub(super) session: Session,
}

/// A link.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) key: Key,
    /// Name of the interface that carries its frames.
    pub(super) on: Name,
    pub(super) role: LinkRole,
    /// Setup of a server's link that waits for the first PPP packet: PPP has not begun.
    pub(super) pending: Option<Box<LinkSetup>>,
    pub(super) budget: Budget,
}

/// Role of this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkRole {
    /// A client item dialled.
    Client(ItemId),
    /// A client of a server opened it.
    Server,
}

/// All links.
#[derive(Debug, Default)]
pub(super) struct Links {
    last: u64,
    all: BTreeMap<LinkId, Link>,
    keys: BTreeMap<Key, LinkId>,
}

impl Links {
    /// Adds a link; `None` if another link has its key.
    pub(super) fn add(&mut self, link: Link) -> Option<LinkId> {
        if self.keys.contains_key(&link.key) {
            return None;
        }
        self.last += 1;
        let id = LinkId(self.last);
        self.keys.insert(link.key, id);
        self.all.insert(id, link);
        Some(id)
    }

    /// Removes a link.
    pub(super) fn remove(&mut self, id: LinkId) -> Option<Link> {
        let link = self.all.remove(&id)?;
        self.keys.remove(&link.key);
        Some(link)
    }

    /// Returns a link.
    pub(super) fn get(&self, id: LinkId) -> Option<&Link> {
        self.all.get(&id)
    }

    /// Returns the link with this key.
    pub(super) fn find(&self, key: &Key) -> Option<(LinkId, &Link)> {
        let id = *self.keys.get(key)?;
        Some((id, self.all.get(&id)?))
    }

    /// Returns a link.
    pub(super) fn get_mut(&mut self, id: LinkId) -> Option<&mut Link> {
        self.all.get_mut(&id)
    }

    /// Returns the link with this key.
    pub(super) fn find_mut(&mut self, key: &Key) -> Option<(LinkId, &mut Link)> {
        let id = *self.keys.get(key)?;
        Some((id, self.all.get_mut(&id)?))
    }
}
