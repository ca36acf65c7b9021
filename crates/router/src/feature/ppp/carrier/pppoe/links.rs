//! Links: the sessions of all clients and servers.

use std::collections::BTreeMap;

use dataplane::interface::Session;
use frame::InterfaceId;
use machine::Instant;

use super::super::{LinkId, LinkSetup};
use crate::intent::{ItemId, Name};

/// PPP control packets of a session in one second. A session needs two dozen to open.
const CONTROL_PER_SECOND: u16 = 100;

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

impl Link {
    /// Counts a PPP packet. Returns false for a control packet that exceeds the rate of a session.
    pub(super) fn admits(&mut self, packet: &[u8], now: Instant) -> bool {
        // Protocols from 8000 on are control protocols (RFC 1661, 2).
        packet.first().is_none_or(|first| *first < 0x80) || self.budget.admits(now)
    }
}

/// Control packets of a session in the current second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    /// Low bits of the second.
    second: u16,
    count: u16,
}

impl Budget {
    fn admits(&mut self, now: Instant) -> bool {
        let second = (now.as_nanos() / 1_000_000_000) as u16;
        if self.second != second {
            *self = Self { second, count: 0 };
        }
        self.count = self.count.saturating_add(1);
        self.count <= CONTROL_PER_SECOND
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_of_control_packets_is_cut_each_second_and_data_is_not() {
        let mut link = Link {
            key: Key {
                interface: InterfaceId(1),
                session: Session {
                    peer: wire::Mac([2, 0, 0, 0, 0, 1]),
                    number: 1,
                },
            },
            on: "ether1".into(),
            role: LinkRole::Server,
            pending: None,
            budget: Budget::default(),
        };
        for second in [7, 8] {
            let now = Instant::from_secs(second);
            let mut admitted = |packet: &[u8]| {
                let all = (0..10_000).filter(|_| link.admits(packet, now));
                all.count()
            };
            assert_eq!(admitted(&[0xc0, 0x21, 1, 1, 0, 4]), 100);
            assert_eq!(admitted(&[0x80, 0x21, 1, 1, 0, 4]), 0);
            assert_eq!(
                admitted(&[0x00, 0x3d, 0xc0]),
                10_000,
                "fragments of packets"
            );
        }
    }
}
