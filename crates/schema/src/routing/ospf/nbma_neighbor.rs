//! `/routing/ospf/nbma-neighbor`: NBMA neighbours of RouterOS 6.

use menu::Menu;

use crate::declare::{between, ipv4, optional, span};
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            ipv4("address", "Address of the neighbour").required(),
            span("poll-interval", "Poll interval of silent neighbours").default("2m"),
            optional("priority", between(0, 255), "Priority of the neighbour").default("0"),
            optional(
                "instance",
                menu::Kind::Reference("ospf-instance"),
                "The instance",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["address", "poll-interval", "priority"],
    older: true,
    ..idle_list(
        "/routing/ospf/nbma-neighbor",
        "Version 6: configured OSPF neighbours",
    )
};
