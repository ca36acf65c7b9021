//! `/routing/pimsm/interface-template`: PIM interface templates.

use menu::{Family, Kind, Menu};

use super::INSTANCE;
use crate::declare::{U32, list, maybe, optional, span};
use crate::dynamic_routing::INTERFACES;
use crate::fragment::{COMMENT_SAID, DISABLED, idle_rules};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            INSTANCE,
            list("interfaces", &INTERFACES, "The interfaces").optional(),
            span("hello-delay", "Maximum delay of the first hello message").optional(),
            span("hello-period", "Interval of hello messages").optional(),
            span("join-prune-period", "Interval of join and prune messages").optional(),
            maybe(
                "join-tracking-support",
                "Track the sources of join messages",
            ),
            span("override-interval", "Override interval").optional(),
            optional(
                "priority",
                U32,
                "Priority in the election of the designated router",
            ),
            span("propagation-delay", "Transmit delay").optional(),
            list(
                "source-addresses",
                &Kind::Address(Family::Any),
                "Local addresses",
            )
            .optional(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["instance", "interfaces", "priority"],
    ..idle_rules(
        "/routing/pimsm/interface-template",
        "PIM interface templates",
    )
};
