//! Ports: interfaces whose frames a device of the host carries.

use std::sync::Arc;

use dataplane::out::OutId;
use menu::{Item, Value};
use wire::Mac;

use super::{Idle, IfType, Kind, Site};
use crate::compile::LayoutEntry;
use crate::intent::{Class, Interface, Name};
use crate::link_modes::{self, LinkWish};
use crate::read;

/// A port of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Port {
    /// Name of the port's mapping (`--port NAME=…`).
    default_name: Name,
    /// Configured link address; `None` keeps the device's.
    mac: Option<Mac>,
    link: LinkWish,
}

impl Kind for Port {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        entry.port_name = Some(self.default_name.clone());
        let Some(port) = site.ground.ports.get(&self.default_name) else {
            return entry.link.mac = self.mac.unwrap_or_default();
        };
        entry.link.out = OutId::port(port.number);
        entry.link.mac = self.mac.unwrap_or(port.mac);
        entry.carries = port.mtu;
        entry.speed_mbps = port.speed_mbps;
        entry.half_duplex = port.link.full_duplex == Some(false);
        // RouterOS on x86 ignores the link state by default; here a port follows its link, so that no route leads to a
        // dead one.
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

/// Reads an item of a menu without a kind: a port, a virtual radio, or an unsupported interface.
pub(super) fn read(item: &Item) -> Option<Interface> {
    let class = class(item);
    match () {
        () if item.is_port() => port(item, "default-name", class),
        () if is_virtual_radio(item) => port(item, "name", class),
        () => read::interface_of(item, Idle, class),
    }
}

/// Reads an item whose property `known_by` names the mapping of its device.
pub(super) fn port(item: &Item, known_by: &str, class: Class) -> Option<Interface> {
    let port = Port {
        default_name: read::name(item, known_by).unwrap_or_else(|| Arc::from("")),
        mac: item.get("mac-address").and_then(Value::as_mac).map(Mac),
        link: link_modes::wish(item),
    };
    read::interface_of(item, port, class)
}

/// Whether an item is a virtual radio: another wireless network on a radio. hostapd creates its device, which is mapped
/// by the name of the item.
pub(crate) fn is_virtual_radio(item: &Item) -> bool {
    class(item) == Class::Wireless
        && !item.is_port()
        && !matches!(item.text("master-interface"), "" | "none")
}

/// Returns the class of an interface from its menu.
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

/// Menus of point-to-point connections.
const PPP: [&str; 7] = [
    "/interface/ppp-",
    "/interface/pppoe-",
    "/interface/pptp-",
    "/interface/l2tp-client",
    "/interface/l2tp-server",
    "/interface/sstp-",
    "/interface/ovpn-",
];
