//! Open sessions, and the settings of their packets.

use core::net::SocketAddr;

use dataplane::encap::l2tp_ether::{Cookie, L2tpEther};
use frame::InterfaceId;
use l2tp::{Opened, Path};
use menu::{Row, Value};

use super::super::l2tp::v4;
use super::super::ppp::LinkId;
use crate::intent::{ItemId, Name};

/// An open session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) link: LinkId,
    pub(super) origin: Origin,
    /// Settings of its packets; the layout adds the interface's id.
    pub(super) settings: L2tpEther,
}

/// Interface of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// An item dialled.
    Client(ItemId),
    /// A client of the server has a dynamic interface.
    Server {
        /// Its name.
        name: Name,
        /// Circuit or host that the name comes from, and the suffix of the name.
        user: Name,
        suffix: u32,
    },
}

impl Session {
    /// Returns a new session; `None` if it is no session of Ethernet over IPv4.
    pub(super) fn new(
        opened: &Opened,
        link: LinkId,
        origin: Origin,
        is_fast: bool,
        needs_ipsec: bool,
    ) -> Option<Self> {
        let pseudowire = opened.pseudowire.as_ref()?;
        let (local, remote) = (v4(opened.path.local)?, v4(opened.path.remote)?);
        let settings = L2tpEther {
            id: InterfaceId::NONE,
            local: *local.ip(),
            remote: *remote.ip(),
            remote_port: remote.port(),
            in_udp: remote.port() != 0,
            local_session: opened.session.session,
            remote_session: opened.remote.session,
            local_cookie: Cookie::new(&pseudowire.local_cookie)?,
            remote_cookie: Cookie::new(&pseudowire.remote_cookie)?,
            local_sublayer: pseudowire.local_sublayer,
            remote_sublayer: pseudowire.remote_sublayer,
            fast: is_fast,
            // Packets of a tunnel within IPsec never leave in clear, even if the server accepts both.
            protected: needs_ipsec || opened.path.is_protected,
        };
        Some(Self {
            link,
            origin,
            settings,
        })
    }

    /// Follows the other end to another port.
    pub(super) fn follow(&mut self, path: &Path) {
        if let SocketAddr::V4(remote) = path.remote {
            self.settings.remote_port = remote.port();
        }
    }
}

/// Adds the cells of an open session to its `monitor` page.
pub(super) fn show(session: &L2tpEther, row: &mut Row) {
    row.set("status", Value::Word("connected"));
    for (cell, number) in [
        ("local-session-id", session.local_session),
        ("remote-session-id", session.remote_session),
    ] {
        row.set(cell, Value::Number(number.into()));
    }
    row.set("local-address", Value::Address(session.local.into()));
    row.set("remote-address", Value::Address(session.remote.into()));
}
