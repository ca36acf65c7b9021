//! `/interface/macvlan`: interfaces that have a hardware address of their own on another one.

use menu::Menu;

use crate::declare::{mac, words};
use crate::fragment::{
    ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, LOOP_PROTECT, idle_interfaces,
    interface, name_mtu,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &name_mtu("1500"),
        &[mac("mac-address", "Hardware address of the interface")],
        ARP,
        LOOP_PROTECT,
        &[
            interface("The interface that carries the frames"),
            words(
                "mode",
                &["bridge", "private"],
                "Whether they reach each other",
            )
            .default("bridge"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "mac-address", "interface", "mode"],
    ..idle_interfaces(
        "/interface/macvlan",
        "macvlan",
        "Interfaces with their own hardware address",
    )
};
