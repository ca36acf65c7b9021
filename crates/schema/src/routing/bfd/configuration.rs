//! `/routing/bfd/configuration`: BFD configuration.

use menu::{Family, Kind, Menu};

use crate::declare::{U32, VRF, list, maybe, optional, span};
use crate::dynamic_routing::INTERFACES;
use crate::fragment::{COMMENT_SAID, DISABLED, idle_rules};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            list("interfaces", &INTERFACES, "Interfaces of neighbours").optional(),
            list(
                "addresses",
                &Kind::Prefix(Family::Any),
                "Addresses of neighbours",
            )
            .optional(),
            optional("address-list", Kind::Name, "List of their addresses"),
            maybe("forbid-bfd", "Does not watch them"),
            optional("vrf", VRF, "The VRF that they are in"),
            span("min-tx", "Shortest time between messages to them").optional(),
            span("min-rx", "Shortest time between messages from them").optional(),
            optional("multiplier", U32, "Messages that may be missed"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["interfaces", "addresses", "min-tx", "min-rx", "multiplier"],
    ..idle_rules(
        "/routing/bfd/configuration",
        "How neighbours are watched by BFD",
    )
};
