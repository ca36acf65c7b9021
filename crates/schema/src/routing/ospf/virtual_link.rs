//! `/routing/ospf/virtual-link`: what version 6 said of links through other areas.

use menu::Menu;

use crate::brief::{may, number};
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};
use crate::terms::{ipv4, refer, secret, words};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            ipv4("neighbor-id", "Number of the other router").required(),
            refer("transit-area", "ospf-area", "Area that the link passes").required(),
            words(
                "authentication",
                &["md5", "none", "simple"],
                "How messages are signed",
            )
            .default("none"),
            secret("authentication-key", "The key"),
            may("authentication-key-id", number(0, 255), "Number of the key").default("1"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["neighbor-id", "transit-area"],
    older: true,
    ..idle_list(
        "/routing/ospf/virtual-link",
        "Version 6: links through other areas",
    )
};
