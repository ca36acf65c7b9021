//! `/interface/vrrp`: virtual routers, stations that have their addresses while they are master. The feature decides
//! who is master (`feature/vrrp.rs`).

use menu::Item;
use wire::Mac;

use super::station::share;
use super::{Idle, IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::intent::{Class, Interface, Name};
use crate::read;

pub(crate) const MENU: &str = "/interface/vrrp";

pub(super) const KIND: Registration = Registration {
    menus: &[MENU],
    read,
};

/// A virtual router whose state is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VirtualRouter {
    /// The interface whose link it shares.
    pub(crate) on: Name,
    /// The virtual link address (RFC 5798, 7.3).
    pub(crate) mac: Mac,
    pub(crate) is_master: bool,
}

impl Kind for VirtualRouter {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        if let Some(on) = share(entry, site, &self.on, Some(self.mac)) {
            // RouterOS: the MTU is that of the interface below.
            entry.link.mtu = on.link.mtu;
            entry.link.running &= self.is_master;
            (entry.shared, entry.waits) = (true, !self.is_master);
        }
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Ethernet
    }

    fn stands_on(&self) -> Option<&Name> {
        Some(&self.on)
    }
}

/// Reads an item. The interface is idle until the feature knows its state.
pub(crate) fn read(item: &Item) -> Option<Interface> {
    read::interface_of(item, Idle, Class::Other)
}
