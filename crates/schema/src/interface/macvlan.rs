//! `/interface/macvlan`: interfaces with a MAC address of their own on another interface.

use menu::{Menu, MenuShape, Unique};

use super::{FLAGS, RESET_COUNTERS};
use crate::declare::{mac, words};
use crate::fragment::{
    ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES, LOOP_PROTECT,
    interface, name_mtu,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &name_mtu("1500"),
        &[mac("mac-address", "Hardware address of the interface")],
        ARP,
        LOOP_PROTECT,
        &[
            interface("Parent interface"),
            words(
                "mode",
                &["bridge", "private"],
                "Communication between macvlan interfaces",
            )
            .default("bridge"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "mac-address", "interface", "mode"],
    flags: FLAGS,
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["interface", "mac-address"],
        failure: "already have macvlan with such mac-address on this interface",
    }],
    kind: "macvlan",
    commands: &[RESET_COUNTERS],
    check: Some(super::has_a_link),
    ..Menu::new("/interface/macvlan", MenuShape::List, "MACVLAN interfaces")
};
