//! Addresses that DHCP, PPP or router advertisements have not assigned yet. Without them a trace cannot know the
//! routes.

use frame::InterfaceId;
use menu::{Item, Store, Value};

use crate::drive::Control;
use crate::kind::DIALS;

/// An interface that waits for its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AwaitedAddress {
    pub(super) interface: InterfaceId,
    /// The protocol that assigns the address.
    pub(super) by: &'static str,
}

/// Clients: menu, IPv6 or IPv4, and name of the protocol.
const CLIENTS: [(&str, bool, &str); 2] = [
    ("/ip/dhcp-client", false, "DHCP"),
    ("/ipv6/dhcp-client", true, "DHCPv6"),
];

impl Control {
    /// Returns the interfaces that wait for an address of one family.
    pub(super) fn awaited_addresses(&self, store: &Store, ipv6: bool) -> Vec<AwaitedAddress> {
        let mut awaited = Vec::new();
        for (menu, _, by) in CLIENTS.into_iter().filter(|(_, family, _)| *family == ipv6) {
            for item in store.items(menu).filter(|item| !is_disabled(item)) {
                let named = self.layout.named(item.text("interface"));
                if let Some((interface, _)) = named.filter(|(id, _)| !self.has_global(*id, ipv6)) {
                    awaited.push(AwaitedAddress { interface, by });
                }
            }
        }
        for (menu, by) in DIALS.into_iter().filter(|_| !ipv6) {
            for item in store.items(menu).filter(|item| !is_disabled(item)) {
                let named = self.layout.named(item.text("name"));
                if let Some((interface, _)) = named.filter(|(id, _)| !self.has_global(*id, ipv6)) {
                    awaited.push(AwaitedAddress { interface, by });
                }
            }
        }
        if ipv6 && takes_advertisements(store) && awaited.is_empty() {
            let ports = self.layout.interfaces.iter();
            let without =
                ports.filter(|(id, laid)| laid.port_name.is_some() && !self.has_global(**id, true));
            awaited.extend(without.map(|(id, _)| AwaitedAddress {
                interface: *id,
                by: "router advertisements",
            }));
        }
        awaited
    }

    /// Whether an interface has an address with a scope beyond its link.
    fn has_global(&self, id: InterfaceId, ipv6: bool) -> bool {
        let found = self.interfaces().details(id, |details| match ipv6 {
            true => details.address6().is_some(),
            false => !details.addresses4.is_empty(),
        });
        found.unwrap_or(false)
    }

    /// Returns the missing addresses as text: `ether1 (DHCP)`.
    pub(super) fn missing(&self, awaited: &[AwaitedAddress]) -> String {
        let each = awaited.iter().map(|awaited| {
            let name = self.layout.name(awaited.interface);
            format!("{name} ({})", awaited.by)
        });
        each.collect::<Vec<_>>().join(", ")
    }
}

fn is_disabled(item: &Item) -> bool {
    item.get("disabled").and_then(Value::as_bool) == Some(true)
}

fn takes_advertisements(store: &Store) -> bool {
    let settings = store.settings("/ipv6/settings");
    settings.is_some_and(|settings| settings.text("accept-router-advertisements") == "yes")
}
