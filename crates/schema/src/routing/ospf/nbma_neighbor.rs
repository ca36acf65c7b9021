//! `/routing/ospf/nbma-neighbor`: what version 6 called neighbours that do not hear multicast.

use menu::Menu;

use crate::brief::{may, number};
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};
use crate::terms::{ipv4, span};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            ipv4("address", "Address of the neighbour").required(),
            span("poll-interval", "How often a silent neighbour is asked").default("2m"),
            may(
                "priority",
                number(0, 255),
                "Whether it may be the designated router",
            )
            .default("0"),
            may(
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
        "Version 6: neighbours of OSPF by address",
    )
};
