//! `/mpls/traffic-eng/interface`: traffic engineering interfaces.

use menu::{Kind, Menu, Property};

use crate::declare::{U32, between, list, maybe, optional, span};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list, interface};

const PERCENT: Kind = between(0, 100);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            interface("The interface"),
            Property::new("bandwidth", Kind::Rate, "Bandwidth of the interface").default("0"),
            optional("resource-class", U32, "Affinity bits of the interface"),
            optional("te-metric", U32, "Metric of the interface"),
            span("refresh-time", "Refresh interval of tunnels").optional(),
            optional("k-factor", U32, "Maximum number of missed refreshes"),
            optional(
                "blockade-k-factor",
                U32,
                "Blockade time of a refused tunnel",
            ),
            span(
                "igp-flood-period",
                "Interval at which available bandwidth is announced",
            )
            .optional(),
            list(
                "up-flood-thresholds",
                &PERCENT,
                "Rising percentages of use that trigger an announcement",
            )
            .optional(),
            list(
                "down-flood-thresholds",
                &PERCENT,
                "Falling percentages of use that trigger an announcement",
            )
            .optional(),
            maybe("use-udp", "Send messages over UDP"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["interface", "bandwidth", "te-metric"],
    ..idle_list(
        "/mpls/traffic-eng/interface",
        "Interfaces of traffic engineering tunnels",
    )
};
