//! `/routing/mme/interface`: MME interfaces.

use menu::{Menu, Property};

use crate::declare::no;
use crate::dynamic_routing::INTERFACES;
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", INTERFACES, "The interface").default("all"),
            no("passive", "Do not send messages"),
            no(
                "primary",
                "Use the interface's address as the router's identity",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["interface", "passive"],
    older: true,
    ..idle_list(
        "/routing/mme/interface",
        "Version 6: interfaces of the mesh",
    )
};
