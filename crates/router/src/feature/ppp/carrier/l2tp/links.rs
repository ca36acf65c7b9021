//! L2TP sessions by link number: those of clients, and those of the server.

use dataplane::encap::l2tp::{CallIds, Received, Sequence};
use l2tp::{Opened, Path, SessionId, data_header};

use super::super::budget::Budget;
use super::super::links::LinkState;
use crate::feature::hear::Datagram;
use crate::feature::l2tp::{datagram, v4};
use crate::intent::ItemId;
use crate::kind::l2tp as kind;

/// A link.
#[derive(Debug)]
pub(super) struct Link {
    /// Numbers of this end.
    pub(super) session: SessionId,
    /// Client item that dialled; `None` for a session of the server.
    pub(super) client: Option<ItemId>,
    pub(super) budget: Budget,
    remote: l2tp::CallIds,
    pub(super) path: Path,
    sequence: Option<Sequence>,
    received: Received,
    uses: Uses,
}

/// Settings of the data path of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uses {
    /// `allow-fast-path`.
    pub(super) fast_path: bool,
    /// Packets pass only while an IPsec policy protects them.
    pub(super) ipsec: bool,
}

impl Link {
    /// Returns the link of a new session.
    pub(super) fn new(opened: &Opened, uses: Uses) -> Self {
        Self {
            session: opened.session,
            client: opened.client,
            budget: Budget::default(),
            remote: opened.remote,
            path: opened.path,
            sequence: opened.requires_sequence.then(Sequence::default),
            received: Received::default(),
            uses,
        }
    }

    /// Returns the datagram of a PPP packet, which begins with its protocol field.
    pub(super) fn datagram(&self, packet: &[u8]) -> Datagram {
        let ns = self.sequence.as_ref().map(Sequence::next);
        datagram(&self.path, [&data_header(self.remote, ns), packet].concat())
    }

    /// Returns the interface kind of the session; `None` over IPv6.
    pub(super) fn kind(&self) -> Option<kind::L2tp> {
        let ids = |ids: l2tp::CallIds| CallIds {
            // Numbers of version 2 have 16 bits.
            tunnel: ids.tunnel as u16,
            session: ids.session as u16,
        };
        Some(kind::L2tp {
            local: v4(self.path.local)?,
            remote: v4(self.path.remote)?,
            local_ids: ids(self.session),
            remote_ids: ids(self.remote),
            sequence: self.sequence.clone(),
            received: self.received.clone(),
            is_fast: self.uses.fast_path,
            // Packets of a tunnel within IPsec never leave in clear, even if the server accepts both.
            is_protected: self.uses.ipsec || self.path.is_protected,
        })
    }
}

impl LinkState for Link {
    type Key = SessionId;

    fn key(&self) -> SessionId {
        self.session
    }

    fn client(&self) -> Option<ItemId> {
        self.client
    }
}
