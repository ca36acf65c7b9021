//! MAC VLANs, `/interface/macvlan`: interfaces with a link address of their own on another one's link.

use menu::{Changes, Item, Value};
use wire::Mac;

use super::{Effect, Effects, Feature, View, each_item};
use crate::intent::{Class, Interface, InterfaceKind, Station, Wanted};
use crate::read;

const MENU: &str = "/interface/macvlan";

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct MacVlans;

impl Feature for MacVlans {
    fn menus(&self) -> &'static [&'static str] {
        &[MENU]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        each_item(view, MENU, changes, |id, item| {
            let wanted = Wanted::Interface(item.and_then(interface));
            out.push(Effect::Item(id, wanted));
        });
    }
}

fn interface(item: &Item) -> Option<Interface> {
    let kind = InterfaceKind::Station {
        on: read::name(item, "interface").unwrap_or_else(|| "".into()),
        mac: item.get("mac-address").and_then(Value::as_mac).map(Mac),
        station: Station::MacVlan {
            bridged: item.text("mode") != "private",
        },
    };
    read::interface_of(item, kind, Class::Other)
}
