//! `/interface/bridge/vlan`: which ports are members of which VLANs.

pub(crate) mod mvrp;

use menu::{Menu, Property, Unique};

use super::port::PORT;
use super::{BRIDGE, VLANS};
use crate::declare::{list, shown};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            BRIDGE,
            Property::new("vlan-ids", VLANS, "The VLANs, alone or from one to another")
                .default("1"),
            list("tagged", &PORT, "Ports that send the VLANs with their tag").default(""),
            list("untagged", &PORT, "Ports that send the VLANs without a tag").default(""),
            list("mvrp-forbidden", &PORT, "Ports that MVRP adds no VLAN to").default(""),
            shown(
                "current-tagged",
                menu::Kind::Text,
                "Ports that send tags at present",
            ),
            shown(
                "current-untagged",
                menu::Kind::Text,
                "Ports that send no tags at present",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["bridge", "vlan-ids", "current-tagged", "current-untagged"],
    distinct: &[Unique {
        properties: &["vlan-ids", "bridge"],
        failure: "vlan already added",
    }],
    ..idle_list(
        "/interface/bridge/vlan",
        "VLANs of bridges and their members",
    )
};
