//! `/interface/vlan`: tagged interfaces on a parent interface (IEEE 802.1Q, 802.1ad).
//!
//! Workers look up the interface of a tag in a table (`dataplane`'s `interface/vlan.rs`), in `walk/demux.rs`.

use menu::Item;
use service::neighbour::Mode;
use wire::EtherType;

use super::{IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::compile::layout::MOST_TAGS;
use crate::intent::{Class, Interface, Name};
use crate::read;

pub(super) const KIND: Registration = Registration {
    menus: &["/interface/vlan"],
    read,
};

/// MTU of interfaces that features make, in bytes.
const MTU: u32 = 1500;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Vlan {
    /// The parent interface.
    on: Name,
    /// EtherType and VLAN id of the tag.
    tag: (u16, u16),
}

impl Kind for Vlan {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        match site.layout.named(&self.on) {
            Some((below, on)) if !on.invalid && on.link.tags.len() < MOST_TAGS => {
                entry.parent = Some((below, self.tag));
                entry.under = on.under;
                entry.carries = on.carries;
                (entry.speed_mbps, entry.half_duplex) = (on.speed_mbps, on.half_duplex);
                entry.link.out = on.link.out;
                entry.link.mac = on.link.mac;
                entry.link.running = !entry.disabled && on.link.running;
                entry.link.tags.clone_from(&on.link.tags);
                entry.link.tags.push(self.tag);
            }
            _ => entry.invalid = true,
        }
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Vlan
    }

    fn stands_on(&self) -> Option<&Name> {
        Some(&self.on)
    }
}

/// Returns a VLAN interface that a feature makes.
pub(crate) fn made(name: Name, on: Name, tag: (u16, u16)) -> Interface {
    Interface {
        name,
        disabled: false,
        mtu: MTU,
        arp: Mode::Enabled,
        arp_timeout: None,
        kind: Vlan { on, tag }.into(),
        class: Class::Vlan,
    }
}

fn read(item: &Item) -> Option<Interface> {
    let number = item.number("vlan-id");
    let number = number.and_then(|number| u16::try_from(number).ok());
    let ether_type = match item.is("use-service-tag") {
        true => EtherType::QINQ,
        false => EtherType::VLAN,
    };
    let vlan = Vlan {
        on: read::name(item, "interface").unwrap_or_else(|| "".into()),
        tag: (ether_type.0, number.unwrap_or(1)),
    };
    read::interface_of(item, vlan, Class::Vlan)
}
