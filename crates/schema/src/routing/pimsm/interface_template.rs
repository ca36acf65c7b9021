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
            span("hello-delay", "How long a first greeting may wait").optional(),
            span("hello-period", "How often others are greeted").optional(),
            span("join-prune-period", "How often groups are asked for").optional(),
            maybe("join-tracking-support", "Knows who asks for groups"),
            span("override-interval", "How long an objection may wait").optional(),
            optional("priority", U32, "Who becomes the designated router"),
            span("propagation-delay", "How long a message is under way").optional(),
            list(
                "source-addresses",
                &Kind::Address(Family::Any),
                "Own addresses",
            )
            .optional(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["instance", "interfaces", "priority"],
    ..idle_rules("/routing/pimsm/interface-template", "Interfaces of PIM")
};
