//! `/interface/macvlan`: interfaces with their own link address on the link of another interface.

use dataplane::out::OutId;
use menu::{Item, Value};
use wire::Mac;

use super::station::share;
use super::{IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::intent::{Class, Interface, Name};
use crate::read;

pub(super) const KIND: Registration = Registration {
    menus: &["/interface/macvlan"],
    read,
};

#[derive(Clone, Debug, PartialEq, Eq)]
struct MacVlan {
    on: Name,
    /// Its link address; `None` generates one from its number.
    mac: Option<Mac>,
    /// Whether its frames reach other stations on the link.
    is_bridged: bool,
}

impl Kind for MacVlan {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        if share(entry, site, &self.on, self.mac).is_some() && self.is_bridged {
            entry.link.out = OutId::station(site.id);
        }
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Ethernet
    }

    fn stands_on(&self) -> Option<&Name> {
        Some(&self.on)
    }
}

fn read(item: &Item) -> Option<Interface> {
    let macvlan = MacVlan {
        on: read::name(item, "interface").unwrap_or_else(|| "".into()),
        mac: item.get("mac-address").and_then(Value::as_mac).map(Mac),
        is_bridged: item.text("mode") != "private",
    };
    read::interface_of(item, macvlan, Class::Other)
}
