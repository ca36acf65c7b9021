//! `/routing/ospf/static-neighbor`: static neighbours on networks without multicast.

use menu::{Family, Kind, Menu, Property};

use super::AREA;
use crate::declare::{between, optional, span};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};

/// An address, or an address on an interface: `fe80::1%ether1`.
const ADDRESS: Kind = Kind::Gateway(Family::Any);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            AREA.required(),
            Property::new(
                "address",
                ADDRESS,
                "Address of the neighbour, and its interface",
            )
            .required(),
            optional(
                "instance-id",
                between(0, 255),
                "Instance ID on the link (OSPFv3)",
            ),
            span("poll-interval", "Poll interval of silent neighbours").optional(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["area", "address", "poll-interval"],
    ..idle_list(
        "/routing/ospf/static-neighbor",
        "Configured OSPF neighbours",
    )
};
