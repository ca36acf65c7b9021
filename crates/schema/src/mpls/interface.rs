//! `/mpls/interface`: MTU for labelled packets.

use menu::{Builtin, Flag, Menu, Property};

use crate::declare::{between, maybe, optional};
use crate::dynamic_routing::INTERFACES;
use crate::fragment::{COMMENT_SAID, idle_rules};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", INTERFACES, "The interface").required(),
            optional("mpls-mtu", between(512, 65_535), "MTU including the labels"),
            maybe("input", "Accept labelled packets"),
        ],
        COMMENT_SAID,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "inactive", 0),
        Flag::new('*', "default", 1),
    ],
    columns: &["interface", "mpls-mtu", "input"],
    supposed: &[Builtin {
        values: &[("interface", "all"), ("mpls-mtu", "1508")],
    }],
    ..idle_rules("/mpls/interface", "Interfaces that carry labelled packets")
};
