//! `/interface/vxlan/vteps`: the other ends of VXLAN interfaces.

use menu::{Menu, Unique};

use crate::declare::{address, number};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC, idle_list, interface};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            interface("The VXLAN interface"),
            address("remote-ip", "Address of the other end").required(),
            number("port", 1, 65_535, "UDP port of the other end").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["interface", "remote-ip"],
    unique: &[Unique {
        properties: &["interface", "remote-ip"],
        failure: "already have such vtep",
    }],
    ..idle_list("/interface/vxlan/vteps", "Other ends of VXLAN interfaces")
};
