//! `/interface/vxlan`: Ethernet over UDP (RFC 7348).

pub(crate) mod fdb;
pub(crate) mod vteps;

use menu::{Kind, Menu, Old, Property};

use super::tunnel::FAST;
use crate::declare::{LATER_VRF, address, mac, no, number, words, yes};
use crate::fragment::{
    ARP, COMMENT_DISABLED, IDLE_LOOP_PROTECT, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces,
    name_mtu,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &name_mtu("1500"),
        &[mac("mac-address", "Hardware address of the interface")],
        ARP,
        IDLE_LOOP_PROTECT,
        &[
            number("vni", 0, 16_777_215, "Network identifier").required(),
            address("group", "Multicast group for unknown hosts").optional(),
            Property::new(
                "interface",
                Kind::Reference("interface"),
                "Interface of the multicast group",
            )
            .optional(),
            number("port", 1, 65_535, "UDP port").default("8472"),
            address("local-address", "Address of this end").optional(),
            words(
                "vteps-ip-version",
                &["ipv4", "ipv6"],
                "Family of the other ends",
            )
            .default("ipv4"),
            Property::new("vtep-vrf", LATER_VRF, "LATER_VRF of the other ends").default("main"),
            number(
                "max-fdb-size",
                0,
                4_294_967_295,
                "Most hosts that are remembered",
            )
            .default("4096"),
            yes("learning", "Learns where hosts are"),
            no("checksum", "Sends UDP checksums"),
            words(
                "rem-csum",
                &["both", "none", "rx", "rx-tx", "tx"],
                "Remote checksum offload",
            )
            .default("none"),
            words(
                "dont-fragment",
                &["auto", "disabled", "enabled", "inherit"],
                "The DF bit",
            )
            .default("disabled"),
            Property::new(
                "ttl",
                Kind::Or(&["auto"], &Kind::Number { min: 1, max: 255 }),
                "TTL",
            )
            .default("auto"),
            Property::new(
                "bridge",
                Kind::Or(&["none"], &Kind::Reference("interface")),
                "Bridge that it is put into",
            )
            .optional(),
            number("bridge-pvid", 1, 4_094, "VLAN of its port of that bridge").default("1"),
            yes("hw", "Lets a switch chip carry it"),
        ],
        FAST,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "mac-address", "vni", "port"],
    old: &[Old::renamed("vrf", "vtep-vrf")],
    ..idle_interfaces("/interface/vxlan", "vxlan", "VXLAN interfaces")
};
