//! `/interface/ethernet/switch/vlan`: VLAN tables of switch chips.

use menu::{Menu, MenuShape, Property};

use super::crs_qos::GROUP;
use super::{ON, PORTS};
use crate::declare::{maybe, number, yes};
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            ON,
            number("vlan-id", 0, 4_095, "The VLAN").default("0"),
            Property::new("ports", PORTS, "Ports that are members").default(""),
            yes("independent-learning", "Learn hosts per VLAN").inert(),
            maybe("learn", "Learn hosts").inert(),
            maybe("flood", "Flood frames to all members").inert(),
            maybe("svl", "Shared VLAN learning").inert(),
            maybe("ingress-mirror", "Mirror ingress frames of the VLAN").inert(),
            Property::new("qos-group", GROUP, "QoS group")
                .optional()
                .inert(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "vlan-id", "ports"],
    ..Menu::new(
        "/interface/ethernet/switch/vlan",
        MenuShape::List,
        "VLANs of switch chips",
    )
};
