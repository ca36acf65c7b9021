//! Ports: interfaces whose frames a device of the machine carries.

use std::sync::Arc;

use dataplane::out::OutId;
use menu::{Item, Value};
use wire::Mac;

use super::{Idle, IfType, Kind, Site};
use crate::compile::Laid;
use crate::intent::{Class, Interface, Name};
use crate::link_modes::{self, LinkWish};
use crate::read;

/// A port of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Port {
    /// The name that the port was mapped by (`--port NAME=…`).
    default_name: Name,
    /// Configured link address; `None` keeps the device's.
    mac: Option<Mac>,
    link: LinkWish,
}

impl Kind for Port {
    fn lay_out(&self, entry: &mut Laid, site: &Site<'_>) {
        entry.port_name = Some(self.default_name.clone());
        let Some(port) = site.ground.ports.get(&self.default_name) else {
            return entry.link.mac = self.mac.unwrap_or_default();
        };
        entry.link.out = OutId::port(port.number);
        entry.link.mac = self.mac.unwrap_or(port.mac);
        entry.carries = port.mtu;
        entry.speed_mbps = port.speed_mbps;
        entry.half_duplex = port.link.full_duplex == Some(false);
        // RouterOS on x86 leaves links unwatched by default; here a port follows its link, as routes must not lead
        // into a dead one.
        entry.link.running = !entry.disabled && port.up;
    }

    fn if_type(&self, class: Class) -> IfType {
        IfType::of_class(class, IfType::Ethernet)
    }

    fn stands_on(&self) -> Option<&Name> {
        Some(&self.default_name)
    }

    fn device(&self) -> Option<(&Name, LinkWish)> {
        Some((&self.default_name, self.link))
    }
}

/// Reads an item of a menu that no other kind has: a port, a virtual radio, or an interface that is not built.
pub(super) fn read(item: &Item) -> Option<Interface> {
    let class = class(item);
    match () {
        () if item.is_port() => port(item, "default-name", class),
        () if is_virtual_radio(item) => port(item, "name", class),
        () => read::interface_of(item, Idle, class),
    }
}

/// Reads an item whose device is mapped by the name in property `known_by`.
pub(super) fn port(item: &Item, known_by: &str, class: Class) -> Option<Interface> {
    let port = Port {
        default_name: read::name(item, known_by).unwrap_or_else(|| Arc::from("")),
        mac: item.get("mac-address").and_then(Value::as_mac).map(Mac),
        link: link_modes::wish(item),
    };
    read::interface_of(item, port, class)
}

/// Whether an item is a virtual radio: a network on another radio. Its device, which hostapd creates, is mapped by the
/// name of the item.
pub(crate) fn is_virtual_radio(item: &Item) -> bool {
    class(item) == Class::Wireless
        && !item.is_port()
        && !matches!(item.text("master-interface"), "" | "none")
}

/// Returns the class of an interface, which follows from its menu.
fn class(item: &Item) -> Class {
    let path = item.menu.path;
    let begins = |starts: &[&str]| starts.iter().any(|start| path.starts_with(start));
    if begins(&["/interface/ethernet"]) {
        Class::Ethernet
    } else if begins(&["/interface/wireless", "/interface/wifi"]) {
        Class::Wireless
    } else if begins(&PPP) {
        Class::Ppp
    } else {
        Class::Other
    }
}

/// The menus of point-to-point connections.
const PPP: [&str; 7] = [
    "/interface/ppp-",
    "/interface/pppoe-",
    "/interface/pptp-",
    "/interface/l2tp-client",
    "/interface/l2tp-server",
    "/interface/sstp-",
    "/interface/ovpn-",
];
