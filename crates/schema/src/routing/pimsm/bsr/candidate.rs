//! `/routing/pimsm/bsr/candidate`: whether this router may tell meeting points.

use menu::{Family, Kind, Menu};

use crate::brief::{may, number};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};
use crate::routing::pimsm::INSTANCE;
use crate::terms::address;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            INSTANCE,
            address("address", "Own address").required(),
            may("priority", number(0, 255), "Who tells them"),
            may(
                "hash-mask-length",
                number(0, 128),
                "Groups that share a meeting point",
            ),
            may("scope4", Kind::Prefix(Family::V4), "Groups"),
            may("scope6", Kind::Prefix(Family::V6), "Groups of IPv6"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["instance", "address", "priority"],
    ..idle_list(
        "/routing/pimsm/bsr/candidate",
        "Whether this router tells meeting points",
    )
};
