//! `/interface/vxlan/vteps`: the other ends of VXLAN interfaces.

use menu::{Flag, Menu, Unique};

use crate::fragment::{COMMENT, idle_list, interface};
use crate::terms::{address, number};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        interface("The VXLAN interface"),
        address("remote-ip", "Address of the other end").required(),
        number("port", 1, 65_535, "UDP port of the other end").optional(),
        COMMENT,
    ]],
    flags: &[Flag::new('D', "dynamic", 0)],
    columns: &["interface", "remote-ip"],
    unique: &[Unique {
        properties: &["interface", "remote-ip"],
        failure: "already have such vtep",
    }],
    rank: 317,
    ..idle_list("/interface/vxlan/vteps", "Other ends of VXLAN interfaces")
};
