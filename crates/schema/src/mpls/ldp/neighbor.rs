//! `/mpls/ldp/neighbor`: LDP neighbours.

use menu::{Flag, Kind, Menu, Property};

use super::ADDRESSES;
use crate::declare::{maybe, shown};
use crate::fragment::{COMMENT_SAID, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("transport", ADDRESSES, "Address of the neighbour").required(),
            maybe("send-targeted", "Send targeted hello messages"),
            shown("local-transport", Kind::Text, "Local transport address"),
            shown("peer", Kind::Text, "LDP identifier of the neighbour"),
            shown("addresses", Kind::Text, "Addresses of the neighbour"),
        ],
        COMMENT_SAID,
    ],
    flags: &[
        Flag::new('D', "dynamic", 0),
        Flag::new('X', "disabled", 1),
        Flag::new('O', "operational", 2),
        Flag::new('t', "sending-targeted-hello", 3),
        Flag::new('v', "vpls", 4),
        Flag::new('p', "passive", 5),
    ],
    columns: &["transport", "local-transport", "peer", "send-targeted"],
    ..idle_list("/mpls/ldp/neighbor", "Neighbours of LDP")
};
