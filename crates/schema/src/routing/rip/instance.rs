//! `/routing/rip/instance`: RIP instances.

use menu::{Kind, Menu};

use crate::declare::{VRF, list, named, optional, reference, span};
use crate::dynamic_routing::{FAMILIES, ORIGINATE, SOURCES, chain};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the instance"),
            list("afi", &FAMILIES, "Families").optional(),
            optional("vrf", VRF, "The VRF that it is in"),
            reference("routing-table", "routing-table", "Table of its routes").optional(),
            chain(
                "in-filter-chain",
                "Chain that routes pass before they are used",
            ),
            chain(
                "out-filter-chain",
                "Chain that routes pass before others are told",
            ),
            chain("out-filter-select", "Chain that chooses such routes"),
            optional(
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
