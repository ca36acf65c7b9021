//! `/mpls/traffic-eng/interface`: traffic engineering interfaces.

use menu::{Kind, Menu, Property};

use crate::declare::{U32, between, list, maybe, optional, span};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list, interface};

const PERCENT: Kind = between(0, 100);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            interface("The interface"),
            Property::new("bandwidth", Kind::Rate, "Its bandwidth").default("0"),
            optional("resource-class", U32, "Its classes"),
            optional("te-metric", U32, "Its metric"),
            span("refresh-time", "How often tunnels are told of").optional(),
            optional("k-factor", U32, "How often that may fail"),
            optional("blockade-k-factor", U32, "How long a refused tunnel waits"),
            span(
                "igp-flood-period",
                "How often others are told of free bandwidth",
            )
            .optional(),
            list(
                "up-flood-thresholds",
                &PERCENT,
                "Percent at which they are told",
            )
            .optional(),
            list(
                "down-flood-thresholds",
                &PERCENT,
                "Percent at which they are told",
            )
            .optional(),
            maybe("use-udp", "Speaks over UDP"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["interface", "bandwidth", "te-metric"],
    ..idle_list(
        "/mpls/traffic-eng/interface",
        "Links of tunnels with a bandwidth",
    )
};
