//! L2TP sessions (RFC 2661): `/interface/l2tp-client`, and bindings and dynamic interfaces of `/interface/l2tp-server`.
//!
//! An item without an open session is idle, or waits for packets if it dials on demand. The feature that has the
//! sessions (`feature/ppp/`) announces it again with this kind while its session is open.

use core::net::SocketAddrV4;

use dataplane::encap::l2tp::{self as encap, CallIds, Received, Sequence};
use dataplane::out::OutId;
use menu::Item;

use super::{AnyKind, Idle, IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::intent::{Class, Interface};
use crate::read;

/// Menu of clients.
pub(crate) const CLIENT_MENU: &str = "/interface/l2tp-client";
/// Menu of server interfaces.
pub(crate) const SERVER_MENU: &str = "/interface/l2tp-server";

pub(super) const KIND: Registration = Registration {
    menus: &[CLIENT_MENU, SERVER_MENU],
    read,
};

/// Default MTU of a session in bytes (RouterOS).
const MTU: u32 = 1450;

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct L2tp {
    /// Address and port of this router.
    pub(crate) local: SocketAddrV4,
    /// Address and port of the other end.
    pub(crate) remote: SocketAddrV4,
    /// Tunnel and session number of this end.
    pub(crate) local_ids: CallIds,
    /// Tunnel and session number of the other end.
    pub(crate) remote_ids: CallIds,
    /// Sequence number of sent packets; `None` for a session without numbers.
    pub(crate) sequence: Option<Sequence>,
    /// Number of the last received packet.
    pub(crate) received: Received,
    /// Whether packets may take the fast path (`allow-fast-path`).
    pub(crate) is_fast: bool,
    /// Whether packets pass only while an IPsec policy protects them (`use-ipsec`).
    pub(crate) is_protected: bool,
}

impl Kind for L2tp {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        entry.link.ethernet = false;
        entry.link.out = OutId::tunnel(site.id);
        entry.link.running = !entry.disabled;
        let session = encap::L2tp {
            id: site.id,
            local: self.local,
            remote: self.remote,
            local_ids: self.local_ids,
            remote_ids: self.remote_ids,
            sequence: self.sequence.clone(),
            received: self.received.clone(),
            fast: self.is_fast,
            protected: self.is_protected,
        };
        entry.tunnel = (!entry.disabled).then(|| session.into());
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Ppp
    }
}

/// A client that dials on demand, without a session: packets to it wait for the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OnDemand;

impl Kind for OnDemand {
    fn lay_out(&self, entry: &mut LayoutEntry, _: &Site<'_>) {
        entry.link.ethernet = false;
        entry.link.awaits_session = true;
        entry.link.running = !entry.disabled;
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Ppp
    }
}

/// Reads an item. The interface is idle until its session is open, or waits for packets if it dials on demand.
pub(crate) fn read(item: &Item) -> Option<Interface> {
    let kind = match item.is("dial-on-demand") {
        true => AnyKind::from(OnDemand),
        false => AnyKind::from(Idle),
    };
    Some(Interface {
        mtu: MTU,
        ..read::interface_of(item, kind, Class::Ppp)?
    })
}
