//! `/interface/bridge`: switches frames between its ports. The feature chooses its link address and its MTU
//! (`feature/bridge/`).

use dataplane::interface::Above;
use dataplane::out::OutId;
use menu::Item;
use wire::Mac;

use super::{IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::intent::{Class, Interface};
use crate::read;

pub(crate) const MENU: &str = "/interface/bridge";

pub(super) const KIND: Registration = Registration {
    menus: &[MENU],
    read,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bridge {
    /// Its link address; `None` while it has none.
    pub(crate) mac: Option<Mac>,
}

impl Kind for Bridge {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        entry.is_master = true;
        entry.link.out = OutId::bridge(site.id);
        entry.link.mac = self.mac.unwrap_or_default();
        // RouterOS: a bridge runs while it is enabled, with ports or without.
        entry.link.running = !entry.disabled;
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Bridge
    }

    fn master_of(&self) -> Above {
        Above::Bridge
    }
}

/// Reads an item. The feature adds a link address once it knows the ports.
pub(crate) fn read(item: &Item) -> Option<Interface> {
    read::interface_of(item, Bridge::default(), Class::Other)
}
