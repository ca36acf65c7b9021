//! `/routing/fantasy`: routes that are made up for tests.

use menu::{Family, Kind, Menu, Property};

use crate::brief::{U32, may};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};
use crate::terms::{maybe, named, note};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the routes"),
            Property::new("dst-address", Kind::Prefix(Family::Any), "Where they begin").optional(),
            may(
                "prefix-length",
                Kind::Range("-", &U32),
                "Lengths of their prefixes",
            ),
            may("count", U32, "How many"),
            may("offset", U32, "How many are left out"),
            may("gateway", Kind::Text, "Where they lead"),
            may("scope", U32, "Scope"),
            may("target-scope", U32, "Target scope"),
            may("dealer-id", U32, "Who deals them"),
            may("instance-id", U32, "Number of the instance"),
            may("priv-offs", U32, "Offset of their own data"),
            may("priv-size", U32, "Size of their own data"),
            note("seed", "Where chance begins"),
            maybe("use-hold", "Holds them back at first"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["name", "dst-address", "count"],
    key: Some("name"),
    ..idle_list("/routing/fantasy", "Routes for tests")
};
