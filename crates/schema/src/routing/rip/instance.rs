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
            reference(
                "routing-table",
                "routing-table",
                "Routing table of the routes",
            )
            .optional(),
            chain("in-filter-chain", "Filter chain for received routes"),
            chain("out-filter-chain", "Filter chain for advertised routes"),
            chain(
                "out-filter-select",
                "Filter chain that selects advertised routes",
            ),
            optional(
                "originate-default",
                Kind::Words(ORIGINATE),
                "Distribution of a default route",
            ),
            list("redistribute", &SOURCES, "Redistributed routes").optional(),
            span("update-interval", "Update interval").optional(),
            span("route-timeout", "Timeout of routes").optional(),
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
