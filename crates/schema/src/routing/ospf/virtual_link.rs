//! `/routing/ospf/virtual-link`: virtual links of RouterOS 6.

use menu::Menu;

use crate::declare::{between, ipv4, optional, reference, secret, words};
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            ipv4("neighbor-id", "Router ID of the remote router").required(),
            reference("transit-area", "ospf-area", "Transit area").required(),
            words(
                "authentication",
                &["md5", "none", "simple"],
                "Authentication of messages",
            )
            .default("none"),
            secret("authentication-key", "Authentication key"),
            optional("authentication-key-id", between(0, 255), "Key ID").default("1"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["neighbor-id", "transit-area"],
    older: true,
    ..idle_list("/routing/ospf/virtual-link", "Version 6: virtual links")
};
