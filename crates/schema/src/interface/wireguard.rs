//! `/interface/wireguard`: WireGuard interfaces.

pub(crate) mod peers;

use menu::{Kind, Menu, Property};

use super::idle_command;
use crate::declare::{LATER_VRF, number, shown};
use crate::fragment::{
    COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces, name_mtu,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &name_mtu("1420"),
        &[
            number("listen-port", 0, 65_535, "UDP port that it listens on"),
            Property::new("private-key", Kind::Text, "Private key in base64").sensitive(),
            shown("public-key", Kind::Text, "Public key that follows from it"),
            Property::new("vrf", LATER_VRF, "LATER_VRF of the outer packets").default("main"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "listen-port"],
    naming: "wireguard",
    commands: &[
        idle_command("wg-export", "Show the configuration as wg-quick reads it"),
        idle_command("wg-import", "Read the configuration that wg-quick reads"),
    ],
    ..idle_interfaces("/interface/wireguard", "wg", "WireGuard interfaces")
};
