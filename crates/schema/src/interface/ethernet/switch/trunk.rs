//! `/interface/ethernet/switch/trunk`: link aggregation in switch chips.

use menu::{Menu, Property};

use super::{ON, PORTS};
use crate::declare::named;
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            ON,
            named("Name of the trunk"),
            Property::new("member-ports", PORTS, "Member ports").default(""),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "member-ports"],
    key: Some("name"),
    space: Some("switch-trunk"),
    ..idle_list(
        "/interface/ethernet/switch/trunk",
        "Static link aggregation groups of switch chips",
    )
};
