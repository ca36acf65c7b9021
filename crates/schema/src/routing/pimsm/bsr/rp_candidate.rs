//! `/routing/pimsm/bsr/rp-candidate`: candidate rendezvous points.

use menu::{Family, Kind, Menu};

use crate::declare::{address, between, optional, seconds};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};
use crate::routing::pimsm::INSTANCE;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            INSTANCE,
            address("address", "Local address").required(),
            optional("group", Kind::Prefix(Family::Any), "Groups"),
            optional("holdtime", seconds(0, 65_535), "Hold time"),
            optional(
                "priority",
                between(0, 255),
                "Priority of the rendezvous point",
            ),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["instance", "address", "group", "priority"],
    ..idle_list(
        "/routing/pimsm/bsr/rp-candidate",
        "Candidate rendezvous point settings",
    )
};
