//! `/interface/bonding`: one interface that sends and receives by its slaves. The feature decides whether enough slaves
//! carry frames (`feature/bonding/`).

use dataplane::interface::Above;
use dataplane::out::OutId;
use menu::Item;
use wire::Mac;

use super::{IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::intent::{Class, Interface};
use crate::read;

pub(crate) const MENU: &str = "/interface/bonding";

pub(super) const KIND: Registration = Registration {
    menus: &[MENU],
    read,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bond {
    /// Its link address; `None` while it has none.
    pub(crate) mac: Option<Mac>,
    /// Whether enough slaves carry frames.
    pub(crate) is_up: bool,
}

impl Kind for Bond {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        entry.is_master = true;
        entry.link.out = OutId::bond(site.id);
        entry.link.mac = self.mac.unwrap_or_default();
        entry.link.running = !entry.disabled && self.is_up;
        let slaves = site.ground.intent.slaves.of(&site.interface.name);
        let carries = slaves.filter_map(|name| Some(site.layout.named(name)?.1.carries));
        // 0 stands for a device that does not report its maximum payload.
        entry.carries = carries.filter(|bytes| *bytes > 0).min().unwrap_or(0);
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Bond
    }

    fn master_of(&self) -> Above {
        Above::Bond
    }
}

/// Reads an item. The bond is down until the feature knows its slaves.
pub(crate) fn read(item: &Item) -> Option<Interface> {
    read::interface_of(item, Bond::default(), Class::Other)
}
