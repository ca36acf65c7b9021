//! `/routing/isis/interface-template`: IS-IS interface templates.

use menu::{Kind, Menu, Property};

use crate::declare::{U32, between, list, maybe, optional, reference, span};
use crate::dynamic_routing::INTERFACES;
use crate::fragment::{COMMENT_SAID, DISABLED, idle_rules};

const LEVELS: Kind = Kind::Words(&["l1", "l2"]);

/// Properties of one level on broadcast networks.
macro_rules! broadcast {
    ($start:literal) => {
        &[
            span(
                concat!($start, "hello-interval"),
                "How often others are greeted",
            )
            .optional(),
            span(
                concat!($start, "hello-interval-dr"),
                "The same of the designated one",
            )
            .optional(),
            optional(
                concat!($start, "hello-multiplier"),
                between(2, 255),
                "Greetings until it is gone",
            ),
            optional(concat!($start, "metric"), U32, "Cost of the way"),
            optional(
                concat!($start, "priority"),
                between(0, 127),
                "Who becomes the designated one",
            ),
            span(
                concat!($start, "csnp-interval"),
                "How often all is summed up",
            )
            .optional(),
            span(
                concat!($start, "psnp-interval"),
                "How often what is missing is asked",
            )
            .optional(),
        ]
    };
}

/// Properties of one level on point-to-point links.
macro_rules! ptp {
    ($start:literal) => {
        &[
            optional(concat!($start, "metric"), U32, "Cost of the way"),
            span(
                concat!($start, "csnp-interval"),
                "How often all is summed up",
            )
            .optional(),
            span(
                concat!($start, "psnp-interval"),
                "How often what is missing is asked",
            )
            .optional(),
        ]
    };
}

const BROADCAST1: &[Property] = broadcast!("bcast.l1.");
const BROADCAST2: &[Property] = broadcast!("bcast.l2.");
const PTP1: &[Property] = ptp!("ptp.l1.");
const PTP2: &[Property] = ptp!("ptp.l2.");

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            list("interfaces", &INTERFACES, "The interfaces").optional(),
            reference("instance", "isis-instance", "The instance").required(),
            list("levels", &LEVELS, "Levels").optional(),
            maybe("passive", "Speaks to nobody"),
            maybe("ptp", "There are two routers"),
        ],
        BROADCAST1,
        BROADCAST2,
        &[
            maybe("ptp.hello-3way", "Makes sure that both hear"),
            span("ptp.hello-interval", "How often the other is greeted").optional(),
            optional(
                "ptp.hello-multiplier",
                between(2, 255),
                "Greetings until it is gone",
            ),
        ],
        PTP1,
        PTP2,
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["interfaces", "instance", "levels"],
    ..idle_rules("/routing/isis/interface-template", "Interfaces of IS-IS")
};
