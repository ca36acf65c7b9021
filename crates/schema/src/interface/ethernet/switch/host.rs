//! `/interface/ethernet/switch/host`: the MAC address table of switch chips.

use menu::{Flag, Menu, Property};

use super::{ON, PORTS};
use crate::declare::{mac, no, number};
use crate::fragment::{COMMENT_DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            ON,
            mac("mac-address", "Hardware address").required(),
            number("vlan-id", 0, 4_095, "The VLAN").optional(),
            Property::new("ports", PORTS, "Ports towards the host").default(""),
            no(
                "share-vlan-learned",
                "Use the entry in all VLANs with shared learning",
            ),
            no("drop", "Drop frames of the host"),
            no("copy-to-cpu", "Copy frames to the processor"),
            no("redirect-to-cpu", "Redirect frames to the processor"),
            no("mirror", "Mirror frames of the host"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('D', "dynamic", 1),
    ],
    columns: &["switch", "mac-address", "vlan-id", "ports"],
    ..idle_list("/interface/ethernet/switch/host", "Hosts of switch chips")
};
