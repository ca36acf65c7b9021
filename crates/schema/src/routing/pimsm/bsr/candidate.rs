//! `/routing/pimsm/bsr/candidate`: candidate bootstrap routers.

use menu::{Family, Kind, Menu};

use crate::declare::{address, between, optional};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};
use crate::routing::pimsm::INSTANCE;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            INSTANCE,
            address("address", "Local address").required(),
            optional(
                "priority",
                between(0, 255),
                "Priority in the election of the bootstrap router",
            ),
            optional(
                "hash-mask-length",
                between(0, 128),
                "Length of the hash mask for rendezvous points",
            ),
            optional("scope4", Kind::Prefix(Family::V4), "Groups"),
            optional("scope6", Kind::Prefix(Family::V6), "Scope of IPv6 groups"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["instance", "address", "priority"],
    ..idle_list(
        "/routing/pimsm/bsr/candidate",
        "Candidate bootstrap router settings",
    )
};
