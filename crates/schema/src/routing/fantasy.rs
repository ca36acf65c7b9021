//! `/routing/fantasy`: generated routes for tests.

use menu::{Family, Kind, Menu, Property};

use crate::declare::{U32, maybe, named, optional, optional_text};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the routes"),
            Property::new(
                "dst-address",
                Kind::Prefix(Family::Any),
                "First destination",
            )
            .optional(),
            optional(
                "prefix-length",
                Kind::Range("-", &U32),
                "Prefix lengths of the routes",
            ),
            optional("count", U32, "Number of routes"),
            optional("offset", U32, "Number of routes to skip"),
            optional("gateway", Kind::Text, "Gateway"),
            optional("scope", U32, "Scope"),
            optional("target-scope", U32, "Target scope"),
            optional("dealer-id", U32, "Route source"),
            optional("instance-id", U32, "Number of the instance"),
            optional("priv-offs", U32, "Offset of the routes' private data"),
            optional("priv-size", U32, "Size of the routes' private data"),
            optional_text("seed", "Seed of the random numbers"),
            maybe("use-hold", "Hold back the routes at first"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["name", "dst-address", "count"],
    key: Some("name"),
    ..idle_list("/routing/fantasy", "Generated routes for tests")
};
