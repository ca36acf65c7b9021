//! `/ipv6/address`: IPv6 addresses of this router's interfaces.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::{IpNet, Ipv6Net};
use menu::{Draft, Family, Flag, Kind, Menu, MenuShape, Property, Reason, Store, Unique, Value};

use crate::fragment::{COMMENT_DISABLED, interface};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("address", Kind::Local(Family::V6), "IPv6 address"),
            Property::new(
                "from-pool",
                Kind::Text,
                "Pool from which the prefix is taken",
            )
            .default(""),
            Property::new(
                "from-pool-policy",
                Kind::Words(&["any", "exact", "recommended", "strict", "without-acquire"]),
                "Selection of the prefix from the pool",
            )
            .default("recommended")
            .inert(),
            interface("Interface name"),
            Property::new(
                "actual-interface",
                Kind::Text,
                "The interface that has the address",
            )
            .read_only(),
            Property::new(
                "eui-64",
                Kind::Bool,
                "Build the last 64 bits from the MAC address",
            )
            .default("no"),
            Property::new("advertise", Kind::Bool, "Advertise the prefix to hosts").default("yes"),
            Property::new(
                "no-dad",
                Kind::Bool,
                "Skip duplicate address detection (RFC 4862)",
            )
            .default("no"),
            Property::new(
                "auto-link-local",
                Kind::Bool,
                "Give the interface a link-local address too",
            )
            .default("yes"),
            Property::new("vrf", Kind::Text, "The VRF of the interface").read_only(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('D', "dynamic", 1),
        Flag::new('G', "global", 2),
        Flag::new('L', "link-local", 2),
        Flag::new('S', "slave", 3),
    ],
    columns: &["address", "from-pool", "interface", "vrf", "advertise"],
    unique: &[Unique {
        properties: &["address", "interface"],
        failure: "already have such address",
    }],
    networks: Some(("address", "interface")),
    derive: Some(take_from_pool),
    check: Some(is_of_a_host),
    ..Menu::new("/ipv6/address", MenuShape::List, "Address management")
};

/// RouterOS: without `address`, a pool assigns the first address of the network; assumes the usual prefix
/// length of 64.
fn take_from_pool(draft: &mut Draft<'_>) {
    const FIRST: IpNet = IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 64));
    let pool = draft.get("from-pool").and_then(Value::as_str);
    if draft.get("address").is_none() && pool.is_some_and(|pool| !pool.is_empty()) {
        draft.set("address", Some(Value::Prefix(FIRST)));
    }
}

/// Refuses multicast, unspecified and IPv4-mapped addresses (RFC 4291, 2.5.2, 2.5.5.2 and 2.7), unless a pool
/// or the MAC address completes the address.
fn is_of_a_host(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let address = draft.get("address");
    let address = address
        .ok_or_else(|| Reason::Missing(vec!["address"]))?
        .as_prefix();
    let Some(IpAddr::V6(own)) = address.map(|address| address.addr()) else {
        return Ok(());
    };
    let pool = draft.get("from-pool").and_then(Value::as_str);
    let eui = draft.get("eui-64").and_then(Value::as_bool);
    let half = pool.is_some_and(|pool| !pool.is_empty()) || eui == Some(true);
    let nobody = own.is_unspecified() || own.to_ipv4_mapped().is_some();
    match own.is_multicast() || nobody && !half {
        true => Err(Reason::failure("an interface can not have this address")),
        false => Ok(()),
    }
}
