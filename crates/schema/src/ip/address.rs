//! `/ip/address`: IPv4 addresses of this router's interfaces.

use std::net::IpAddr;

use menu::{Draft, Family, Flag, Kind, Menu, MenuShape, Property, Reason, Store, Unique, Value};

use crate::fragment::{COMMENT_DISABLED, interface};

const ADDRESS: Kind = Kind::Address(Family::V4);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("address", Kind::Local(Family::V4), "Local IP address").required(),
            Property::new(
                "network",
                ADDRESS,
                "Network prefix; the peer's address of a /32",
            ),
            Property::new(
                "netmask",
                ADDRESS,
                "Network mask; becomes part of the address",
            )
            .optional(),
            Property::new("broadcast", ADDRESS, "Broadcast address")
                .optional()
                .inert(),
            interface("Interface name"),
            Property::new(
                "actual-interface",
                Kind::Text,
                "The interface that has the address",
            )
            .read_only(),
            Property::new("vrf", Kind::Text, "The VRF of the interface").read_only(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('D', "dynamic", 1),
        Flag::new('S', "slave", 2),
    ],
    columns: &["address", "network", "interface", "vrf"],
    unique: &[Unique {
        properties: &["address", "interface"],
        failure: "already have such address",
    }],
    networks: Some(("address", "interface")),
    derive: Some(complete),
    check: Some(is_of_a_host),
    ..Menu::new("/ip/address", MenuShape::List, "Address management")
};

/// Merges `netmask` into the address, and derives the network from a new address.
fn complete(draft: &mut Draft<'_>) {
    let mask = draft.get("netmask").and_then(Value::as_address);
    let address = draft.get("address").and_then(Value::as_prefix);
    let mut net = address;
    if let (Some(mask), Some(address)) = (mask, address) {
        net = ipnet_of(address.addr(), mask).or(net);
        draft.set("netmask", None);
        draft.set("address", net.map(Value::Prefix));
    }
    if (mask.is_some() || draft.is_given("address")) && !draft.is_given("network") {
        draft.set("network", net.map(|net| Value::Address(net.network())));
    }
}

/// Refuses multicast, broadcast and unspecified addresses (RFC 1122, 3.2.1.3).
fn is_of_a_host(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let address = draft.get("address").and_then(Value::as_prefix);
    match address.map(|address| address.addr()) {
        Some(IpAddr::V4(own))
            if own.is_multicast() || own.is_broadcast() || own.is_unspecified() =>
        {
            Err(Reason::failure("an interface can not have this address"))
        }
        _ => Ok(()),
    }
}

fn ipnet_of(address: IpAddr, mask: IpAddr) -> Option<ipnet::IpNet> {
    ipnet::IpNet::with_netmask(address, mask).ok()
}
