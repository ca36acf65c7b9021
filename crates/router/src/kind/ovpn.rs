//! OpenVPN sessions: `/interface/ovpn-client`, and bindings and dynamic interfaces of `/interface/ovpn-server`.
//!
//! An item without an open session is idle. The feature that has the sessions (`feature/ppp/`) announces it again with
//! this kind while its session is open.

use std::sync::Arc;

use dataplane::encap::ovpn::{self as encap, Session};
use dataplane::out::OutId;
use menu::Item;

use super::{Idle, IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::intent::{Class, Interface};
use crate::read;

/// Menu of clients.
pub(crate) const CLIENT_MENU: &str = "/interface/ovpn-client";
/// Menu of server interfaces.
pub(crate) const SERVER_MENU: &str = "/interface/ovpn-server";

pub(super) const KIND: Registration = Registration {
    menus: &[CLIENT_MENU, SERVER_MENU],
    read,
};

/// Default MTU of a session in bytes (RouterOS).
const MTU: u32 = 1500;

/// An open session.
#[derive(Clone, Debug)]
pub(crate) struct Ovpn {
    /// Its keys and addresses.
    pub(crate) session: Arc<Session>,
}

impl PartialEq for Ovpn {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.session, &other.session)
    }
}

impl Eq for Ovpn {}

impl Kind for Ovpn {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        entry.link.ethernet = false;
        entry.link.out = OutId::tunnel(site.id);
        entry.link.running = !entry.disabled;
        let tunnel = encap::Ovpn {
            id: site.id,
            session: Arc::clone(&self.session),
        };
        entry.tunnel = (!entry.disabled).then(|| tunnel.into());
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Ppp
    }
}

/// Reads an item. The interface is idle until its session is open.
pub(crate) fn read(item: &Item) -> Option<Interface> {
    Some(Interface {
        mtu: MTU,
        ..read::interface_of(item, Idle, Class::Ppp)?
    })
}
