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
            optional("vrf", VRF, "The VRF"),
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
                "Distribution of a default route",
            ),
            list("redistribute", &SOURCES, "Routes that others are told").optional(),
            span("update-interval", "Update interval").optional(),
            span("route-timeout", "After which silence a route is gone").optional(),
            span(
                "route-gc-timeout",
                "Time for which an expired route is announced as unreachable",
            )
            .optional(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "vrf", "afi"],
    space: Some("rip-instance"),
    key: Some("name"),
    ..idle_list("/routing/rip/instance", "RIP instances")
};
