//! PPTP sessions (RFC 2637): `/interface/pptp-client`, and bindings and dynamic interfaces of `/interface/pptp-server`.
//!
//! Items are read as those of L2TP. The feature that has the sessions (`feature/ppp/`) announces an item again with
//! this kind while its session is open.

use core::net::Ipv4Addr;

use dataplane::encap::plain::Plain;
use dataplane::encap::pptp::{self as encap, Numbers};
use dataplane::out::OutId;

use super::{IfType, Kind, Registration, Site, l2tp};
use crate::compile::LayoutEntry;
use crate::intent::Class;

/// Menu of clients.
pub(crate) const CLIENT_MENU: &str = "/interface/pptp-client";
/// Menu of server interfaces.
pub(crate) const SERVER_MENU: &str = "/interface/pptp-server";

pub(super) const KIND: Registration = Registration {
    menus: &[CLIENT_MENU, SERVER_MENU],
    read: l2tp::read,
};

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pptp {
    /// Address of this router.
    pub(crate) local: Ipv4Addr,
    /// Address of the other end.
    pub(crate) remote: Ipv4Addr,
    /// Number of the call at this end.
    pub(crate) call: u16,
    /// Number of the call at the other end.
    pub(crate) remote_call: u16,
    /// Numbers of packets.
    pub(crate) numbers: Numbers,
}

impl Kind for Pptp {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        entry.link.ethernet = false;
        entry.link.out = OutId::tunnel(site.id);
        entry.link.running = !entry.disabled;
        let call = encap::Pptp {
            local: self.local,
            remote: self.remote,
            call: self.call,
            remote_call: self.remote_call,
            numbers: self.numbers.clone(),
        };
        let session = Plain {
            id: site.id,
            carrier: call.into(),
        };
        entry.tunnel = (!entry.disabled).then(|| session.into());
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Ppp
    }
}
