//! `/routing/id`: router ids.

use menu::{Flag, Kind, Menu, Unique};

use crate::declare::{VRF, ipv4, list, named, optional, shown};
use crate::fragment::{COMMENT_SAID, idle_list};

const SELECT: Kind = Kind::Words(&[
    "any",
    "lowest",
    "only-active",
    "only-loopback",
    "only-static",
    "only-vrf",
]);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the router ID"),
            ipv4("id", "Router ID").optional(),
            list(
                "select-dynamic-id",
                &SELECT,
                "Choice of the router ID if none is set",
            )
            .optional(),
            optional("select-from-vrf", VRF, "VRF whose addresses are considered"),
            shown("dynamic-id", Kind::Text, "Current router ID"),
        ],
        COMMENT_SAID,
    ],
    flags: &[
        Flag::new('D', "dynamic", 0),
        Flag::new('X', "disabled", 1),
        Flag::new('I', "inactive", 1),
    ],
    columns: &["name", "dynamic-id", "select-dynamic-id"],
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have id with such name",
    }],
    ..idle_list("/routing/id", "Router IDs")
};
