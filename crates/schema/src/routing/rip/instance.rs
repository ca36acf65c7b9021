//! `/routing/rip/instance`: RIP routers.

use menu::{Kind, Menu};

use crate::brief::may;
use crate::dynamic_routing::{FAMILIES, ORIGINATE, SOURCES, chain};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};
use crate::terms::{VRF, list, named, refer, span};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the instance"),
            list("afi", &FAMILIES, "Families").optional(),
            may("vrf", VRF, "The VRF that it is in"),
            refer("routing-table", "routing-table", "Table of its routes").optional(),
            chain(
                "in-filter-chain",
                "Chain that routes pass before they are used",
            ),
            chain(
                "out-filter-chain",
                "Chain that routes pass before others are told",
            ),
            chain("out-filter-select", "Chain that chooses such routes"),
            may(
                "originate-default",
                Kind::Words(ORIGINATE),
                "When others are told a default route",
            ),
            list("redistribute", &SOURCES, "Routes that others are told").optional(),
            span("update-interval", "How often others are told").optional(),
            span("route-timeout", "After which silence a route is gone").optional(),
            span("route-gc-timeout", "How long others are told that it is").optional(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "vrf", "afi"],
    space: Some("rip-instance"),
    key: Some("name"),
    ..idle_list("/routing/rip/instance", "RIP instances")
};
