//! `/routing/isis/instance`: IS-IS instances.

use menu::{Kind, Menu, Property};

use crate::declare::{U32, VRF, between, list, named, optional, optional_text, span};
use crate::dynamic_routing::{FAMILIES, ORIGINATE, SOURCES, chain};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};

/// Properties of one level.
macro_rules! level {
    ($start:literal) => {
        &[
            span(concat!($start, "lsp-max-age"), "Lifetime of LSPs").optional(),
            optional(
                concat!($start, "lsp-max-size"),
                between(512, 65_535),
                "Maximum size of an LSP",
            ),
            span(
                concat!($start, "lsp-refresh-interval"),
                "Refresh interval of LSPs",
            )
            .optional(),
            span(
                concat!($start, "lsp-update-interval"),
                "Minimum interval between changes of an LSP",
            )
            .optional(),
            optional(
                concat!($start, "originate-default"),
                Kind::Words(ORIGINATE),
                "Distribution of a default route",
            ),
            chain(
                concat!($start, "out-filter-chain"),
                "Filter chain for advertised routes",
            ),
            chain(
                concat!($start, "out-filter-select"),
                "Filter chain that selects advertised routes",
            ),
            list(
                concat!($start, "redistribute"),
                &SOURCES,
                "Redistributed routes",
            )
            .optional(),
        ]
    };
}

const L1: &[Property] = level!("l1.");
const L2: &[Property] = level!("l2.");

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the instance"),
            list("afi", &FAMILIES, "Families").optional(),
            optional("vrf", VRF, "The VRF"),
            optional_text("system-id", "System ID, such as 0000.0000.0001"),
            list("areas", &Kind::Name, "Areas, such as 49.0001").optional(),
            optional("areas-max", U32, "Maximum number of areas"),
            chain("in-filter-chain", "Filter chain for received routes"),
            optional(
                "metric-type",
                Kind::Words(&["both", "narrow", "old", "transition", "wide"]),
                "Metrics",
            ),
        ],
        L1,
        L2,
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "vrf", "system-id", "areas"],
    space: Some("isis-instance"),
    key: Some("name"),
    ..idle_list("/routing/isis/instance", "IS-IS instances")
};
