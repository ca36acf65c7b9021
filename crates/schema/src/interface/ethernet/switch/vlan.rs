//! `/interface/ethernet/switch/vlan`: the VLAN table of a switch chip.

use menu::{Menu, Property};

use super::crs_qos::GROUP;
use super::{ON, PORTS};
use crate::declare::{maybe, number, yes};
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            ON,
            number("vlan-id", 0, 4_095, "The VLAN").default("0"),
            Property::new("ports", PORTS, "Ports that are members").default(""),
            yes("independent-learning", "Remembers hosts for each VLAN"),
            maybe("learn", "Learns hosts"),
            maybe("flood", "Sends to all members"),
            maybe("svl", "Shares what is learned"),
            maybe("ingress-mirror", "Copies the VLAN's frames"),
            Property::new("qos-group", GROUP, "Quality of service that the frames get").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "vlan-id", "ports"],
    ..idle_list("/interface/ethernet/switch/vlan", "VLANs of switch chips")
};
