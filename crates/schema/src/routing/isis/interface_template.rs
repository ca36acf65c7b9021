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
                "Interval of hello messages",
            )
            .optional(),
            span(
                concat!($start, "hello-interval-dr"),
                "Hello interval of the designated router",
            )
            .optional(),
            optional(
                concat!($start, "hello-multiplier"),
                between(2, 255),
                "Number of missed hello messages after which a neighbour is down",
            ),
            optional(concat!($start, "metric"), U32, "Metric"),
            optional(
                concat!($start, "priority"),
                between(0, 127),
                "Priority in the election of the designated router",
            ),
            span(concat!($start, "csnp-interval"), "Interval of CSNPs").optional(),
            span(concat!($start, "psnp-interval"), "Interval of PSNPs").optional(),
        ]
    };
}

/// Properties of one level on point-to-point links.
macro_rules! ptp {
    ($start:literal) => {
        &[
            optional(concat!($start, "metric"), U32, "Metric"),
            span(concat!($start, "csnp-interval"), "Interval of CSNPs").optional(),
            span(concat!($start, "psnp-interval"), "Interval of PSNPs").optional(),
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
            maybe("passive", "Do not send or receive messages"),
            maybe("ptp", "Point-to-point interfaces"),
        ],
        BROADCAST1,
        BROADCAST2,
        &[
            maybe("ptp.hello-3way", "Use the three-way handshake"),
            span("ptp.hello-interval", "Interval of hello messages").optional(),
            optional(
                "ptp.hello-multiplier",
                between(2, 255),
                "Number of missed hello messages after which a neighbour is down",
            ),
        ],
        PTP1,
        PTP2,
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["interfaces", "instance", "levels"],
    ..idle_rules(
        "/routing/isis/interface-template",
        "IS-IS interface templates",
    )
};
