//! `/interface/vxlan`: Ethernet over UDP (RFC 7348).

pub(crate) mod fdb;
pub(crate) mod vteps;

use menu::{Draft, Kind, Menu, MenuShape, OldProperty, Property, Reason, Store, Unique, Value};

use super::tunnel::FAST;
use super::{FLAGS, RESET_COUNTERS};
use crate::declare::{LATER_VRF, address, mac, no, number, words, yes};
use crate::fragment::{
    ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES, LOOP_PROTECT, name_mtu,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &name_mtu("1500"),
        &[mac("mac-address", "Hardware address of the interface")],
        ARP,
        LOOP_PROTECT,
        &[
            number("vni", 0, 16_777_215, "Network identifier").required(),
            address("group", "Multicast group for flooded frames").optional(),
            Property::new(
                "interface",
                Kind::Reference("interface"),
                "Interface of the multicast group",
            )
            .optional(),
            number("port", 1, 65_535, "UDP port").default("8472"),
            address("local-address", "Local address").optional(),
            words(
                "vteps-ip-version",
                &["ipv4", "ipv6"],
                "IP version of the remote endpoints",
            )
            .default("ipv4"),
            Property::new("vtep-vrf", LATER_VRF, "VRF of the remote endpoints").default("main"),
            number("max-fdb-size", 0, 4_294_967_295, "Maximum number of hosts").default("4096"),
            yes("learning", "Learn MAC addresses"),
            no("checksum", "Send UDP checksums"),
            words(
                "rem-csum",
                &["both", "none", "rx", "rx-tx", "tx"],
                "Remote checksum offload",
            )
            .default("none")
            .inert(),
            words(
                "dont-fragment",
                &["auto", "disabled", "enabled", "inherit"],
                "Don't Fragment bit of the outer header",
            )
            .default("disabled")
            .inert_for(|value| value == "auto"),
            Property::new(
                "ttl",
                Kind::Or(&["auto"], &Kind::Number { min: 1, max: 255 }),
                "TTL",
            )
            .default("auto"),
            Property::new(
                "bridge",
                Kind::Or(&["none"], &Kind::Reference("interface")),
                "Bridge to which the interface is added",
            )
            .optional()
            .inert(),
            number("bridge-pvid", 1, 4_094, "Bridge port VLAN id")
                .default("1")
                .inert(),
            yes("hw", "Hardware offload").inert(),
        ],
        FAST,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "mac-address", "vni", "port"],
    old: &[OldProperty::renamed("vrf", "vtep-vrf")],
    flags: FLAGS,
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    // These fields identify the VXLAN interface that a datagram belongs to.
    unique: &[Unique {
        properties: &["vni", "port", "vteps-ip-version"],
        failure: "already have vxlan with such vni and port",
    }],
    kind: "vxlan",
    commands: &[RESET_COUNTERS],
    check: Some(has_one_family),
    ..Menu::new("/interface/vxlan", MenuShape::List, "VXLAN interfaces")
};

/// RouterOS: a multicast group requires an interface, and all addresses must have the same IP version.
fn has_one_family(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let address = |name| draft.get(name).and_then(Value::as_address);
    let (local, group) = (address("local-address"), address("group"));
    let Some(group) = group else {
        return Ok(());
    };
    let on = draft.get("interface").and_then(Value::as_str);
    if !group.is_multicast() {
        Err(Reason::failure("group must be a multicast address"))
    } else if on.is_none_or(str::is_empty) {
        Err(Reason::failure("group needs an interface to be joined on"))
    } else if local.is_some_and(|local| local.is_ipv6() != group.is_ipv6()) {
        Err(Reason::failure(
            "group and local-address are of different families",
        ))
    } else {
        Ok(())
    }
}
