//! VLAN interfaces, `/interface/vlan`: each lies on another interface, whose frames carry its own behind a tag.
//!
//! Whatever lies on others so is laid out in `compile/layout.rs`. Workers find the interface of a tag by a table
//! (`dataplane`'s `interface/vlan.rs`), in `walk/demux.rs`.

use menu::{Changes, Item};
use wire::EtherType;

use super::{Effect, Effects, Feature, View, each_item};
use crate::intent::{Class, Interface, InterfaceKind, Wanted};
use crate::read;

const MENU: &str = "/interface/vlan";

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Vlans;

impl Feature for Vlans {
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
    let number = item.number("vlan-id");
    let number = number.and_then(|number| u16::try_from(number).ok());
    let kind = match item.is("use-service-tag") {
        true => EtherType::QINQ,
        false => EtherType::VLAN,
    };
    let kind = InterfaceKind::Tagged {
        on: read::name(item, "interface").unwrap_or_else(|| "".into()),
        tag: (kind.0, number.unwrap_or(1)),
    };
    read::interface_of(item, kind, Class::Vlan)
}
