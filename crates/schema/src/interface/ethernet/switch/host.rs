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
            Property::new("ports", PORTS, "Ports that lead there").default(""),
            no(
                "share-vlan-learned",
                "Valid for all VLANs with shared learning",
            ),
            no("drop", "Drops the host's frames"),
            no("copy-to-cpu", "Copies the frames to the processor"),
            no("redirect-to-cpu", "Sends the frames to the processor"),
            no("mirror", "Copies the frames to the mirror"),
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
