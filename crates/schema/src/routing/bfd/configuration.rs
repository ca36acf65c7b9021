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
            optional(
                "address-list",
                Kind::Name,
                "Address list with the neighbours",
            ),
            maybe("forbid-bfd", "Do not monitor these neighbours"),
            optional("vrf", VRF, "VRF of the neighbours"),
            span("min-tx", "Minimum interval of sent messages").optional(),
            span("min-rx", "Minimum interval of received messages").optional(),
            optional(
                "multiplier",
                U32,
                "Number of missed messages after which the neighbour is down",
            ),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["interfaces", "addresses", "min-tx", "min-rx", "multiplier"],
    ..idle_rules(
        "/routing/bfd/configuration",
        "BFD configuration of neighbours",
    )
};
