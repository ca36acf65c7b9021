//! `/routing/pimsm/static-rp`: static rendezvous points.

use menu::{Family, Kind, Menu, Property};

use super::INSTANCE;
use crate::declare::address;
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            INSTANCE,
            address("address", "Address of the rendezvous point").required(),
            Property::new(
                "group",
                Kind::Prefix(Family::Any),
                "Groups of the rendezvous point",
            )
            .optional(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["instance", "address", "group"],
    ..idle_list("/routing/pimsm/static-rp", "Static rendezvous points")
};
