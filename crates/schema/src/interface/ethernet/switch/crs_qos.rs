//! QoS tables of CRS1xx and CRS2xx switch chips.

use menu::{Kind, Menu, Property};

use super::{ON, PORT};
use crate::declare::{maybe, named, number, words};
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID, idle_list};

/// A QoS group, or none.
pub(super) const GROUP: Kind = Kind::Or(&["none"], &Kind::Reference("switch-qos-group"));
/// Drop precedences.
pub(super) const COLOURS: &[&str] = &["drop", "green", "red", "yellow"];
/// Queue of the chip.
pub(super) const PRIORITY: Property = number("priority", 0, 15, "Internal priority").optional();
/// Drop precedence of a frame when queues are full.
pub(super) const PRECEDENCE: Property =
    words("drop-precedence", COLOURS, "Drop precedence").optional();
const MARKED: &[&str] = &["drop", "forward", "remark"];
const UNITS: &[&str] = &["bit", "packet"];
const LAYERS: &[&str] = &["layer-1", "layer-2", "layer-3"];
const TARGETS: &[&str] = &[
    "port",
    "queue0",
    "queue1",
    "queue2",
    "queue3",
    "queue4",
    "queue5",
    "queue6",
    "queue7",
    "wrr-group0",
    "wrr-group1",
];
const RATE: Kind = Kind::Rate;
const REMAP_DEI: Kind = Kind::Or(&["remap"], &Kind::Number { min: 0, max: 1 });
const REMAP_PCP: Kind = Kind::Or(&["remap"], &Kind::Number { min: 0, max: 7 });
const REMAP_DSCP: Kind = Kind::Or(&["remap"], &Kind::Number { min: 0, max: 63 });
const PACKETS: Kind = Kind::Set(&[
    "arp-or-nd",
    "tcp-control",
    "broadcast",
    "unregistered-multicast",
    "registered-multicast",
    "unknown-unicast",
    "known-unicast",
]);

pub(crate) static QOS_GROUP: Menu = Menu {
    properties: &[
        &[
            ON,
            named("Name of the QoS group"),
            number("pcp", 0, 7, "Priority of the tag").optional(),
            number("dei", 0, 1, "Drop eligibility of the tag").optional(),
            number("dscp", 0, 63, "DSCP").optional(),
            PRIORITY,
            PRECEDENCE,
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "name", "pcp", "dscp", "priority"],
    key: Some("name"),
    space: Some("switch-qos-group"),
    ..idle_list("/interface/ethernet/switch/qos-group", "QoS groups")
};

pub(crate) static DSCP_QOS_MAP: Menu = Menu {
    properties: &[
        &[
            ON,
            PRECEDENCE,
            number("dei", 0, 1, "Drop eligibility of the tag").optional(),
            number("pcp", 0, 7, "Priority of the tag").optional(),
            PRIORITY,
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "drop-precedence", "pcp", "priority"],
    parts: 64,
    ..idle_list(
        "/interface/ethernet/switch/dscp-qos-map",
        "Map from DSCP to QoS values",
    )
};

pub(crate) static DSCP_TO_DSCP: Menu = Menu {
    properties: &[
        &[ON, number("new-dscp", 0, 63, "New DSCP").optional()],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "new-dscp"],
    parts: 64,
    ..idle_list(
        "/interface/ethernet/switch/dscp-to-dscp",
        "Map from DSCP to new DSCP",
    )
};

pub(crate) static POLICER_QOS_MAP: Menu = Menu {
    properties: &[
        &[
            ON,
            number("dscp-for-yellow", 0, 63, "DSCP of yellow frames").optional(),
            number("pcp-for-yellow", 0, 7, "Priority of yellow frames").optional(),
            number("dei-for-yellow", 0, 1, "Drop eligibility of yellow frames").optional(),
            number("dscp-for-red", 0, 63, "DSCP of red frames").optional(),
            number("pcp-for-red", 0, 7, "Priority of red frames").optional(),
            number("dei-for-red", 0, 1, "Drop eligibility of red frames").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "dscp-for-yellow", "dscp-for-red"],
    parts: 64,
    ..idle_list(
        "/interface/ethernet/switch/policer-qos-map",
        "Remarking by policers",
    )
};

pub(crate) static INGRESS_PORT_POLICER: Menu = Menu {
    properties: &[
        &[
            ON,
            Property::new("port", PORT, "The port").optional(),
            Property::new("rate", RATE, "Maximum rate in bits or packets a second").optional(),
            Property::new("burst", RATE, "Burst size").optional(),
            words("meter-unit", UNITS, "Counted unit").optional(),
            words("meter-len", LAYERS, "Layer of the counted bytes").optional(),
            Property::new("packet-types", PACKETS, "Limited frame types").optional(),
            words("yellow-action", MARKED, "Action for excess frames").optional(),
            Property::new(
                "new-dei-for-yellow",
                REMAP_DEI,
                "New drop eligibility of excess frames",
            )
            .optional(),
            Property::new(
                "new-pcp-for-yellow",
                REMAP_PCP,
                "New priority of excess frames",
            )
            .optional(),
            Property::new(
                "new-dscp-for-yellow",
                REMAP_DSCP,
                "New DSCP of excess frames",
            )
            .optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "port", "rate"],
    ..idle_list(
        "/interface/ethernet/switch/ingress-port-policer",
        "Ingress rate limits of ports",
    )
};

pub(crate) static SHAPER: Menu = Menu {
    properties: &[
        &[
            ON,
            Property::new("port", PORT, "The port").optional(),
            words("target", TARGETS, "Limited queue or port").optional(),
            words("meter-unit", UNITS, "Counted unit").optional(),
            Property::new("rate", RATE, "Maximum rate in bits or packets a second").optional(),
            Property::new("burst", RATE, "Burst size").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "port", "target", "rate"],
    ..idle_list(
        "/interface/ethernet/switch/shaper",
        "Egress rate limits of ports",
    )
};

pub(crate) static ACL_POLICER: Menu = Menu {
    properties: &[
        &[
            ON,
            named("Name of the policer"),
            Property::new(
                "yellow-rate",
                RATE,
                "Rate above which frames are yellow, in bits or packets a second",
            )
            .optional(),
            Property::new("yellow-burst", RATE, "Burst size before frames are yellow").optional(),
            Property::new(
                "red-rate",
                RATE,
                "Rate above which frames are red, in bits or packets a second",
            )
            .optional(),
            Property::new("red-burst", RATE, "Burst size before frames are red").optional(),
            words("meter-unit", UNITS, "Counted unit").optional(),
            words("meter-len", LAYERS, "Layer of the counted bytes").optional(),
            maybe("color-awareness", "Respect the existing colour of frames"),
            maybe(
                "bucket-coupling",
                "Let yellow frames use bandwidth left by green frames",
            ),
            words("yellow-action", MARKED, "Action for yellow frames").optional(),
            Property::new(
                "new-dei-for-yellow",
                REMAP_DEI,
                "New drop eligibility of yellow frames",
            )
            .optional(),
            Property::new(
                "new-pcp-for-yellow",
                REMAP_PCP,
                "New priority of yellow frames",
            )
            .optional(),
            Property::new(
                "new-dscp-for-yellow",
                REMAP_DSCP,
                "New DSCP of yellow frames",
            )
            .optional(),
            words("red-action", MARKED, "Action for red frames").optional(),
            Property::new(
                "new-dei-for-red",
                REMAP_DEI,
                "New drop eligibility of red frames",
            )
            .optional(),
            Property::new("new-pcp-for-red", REMAP_PCP, "New priority of red frames").optional(),
            Property::new("new-dscp-for-red", REMAP_DSCP, "New DSCP of red frames").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "name", "yellow-rate", "red-rate"],
    key: Some("name"),
    space: Some("switch-policer"),
    ..idle_list(
        "/interface/ethernet/switch/acl/policer",
        "Policers of ACL rules",
    )
};
