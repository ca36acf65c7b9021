//! `/interface/ethernet/switch/qos`: QoS of CRS3xx and later switch chips.

use menu::{Builtin, ExportSelector, Flag, FollowedMenu, Kind, Menu, Property};

use crate::declare::{maybe, named, number, reference, words};
use crate::fragment::{COMMENT_DISABLED, idle_fixed, idle_list, idle_settings};

const FLAGS: &[Flag] = &[
    Flag::new('*', "default", 0),
    Flag::new('X', "disabled", 1),
    Flag::new('I', "inactive", 1),
    Flag::new('H', "hw-offloaded", 2),
];
/// A QoS profile.
pub(super) const PROFILE_NAME: Kind = Kind::Reference("switch-qos-profile");
/// Buffer size in percent or bytes.
const BUFFERS: Kind = Kind::Or(
    &["auto"],
    &Kind::Number {
        min: 0,
        max: 67_108_864,
    },
);
const TRUST: &[&str] = &["ignore", "keep", "trust"];
const LEVELS: &[&str] = &["high", "low", "medium"];
const COLOURS: &[&str] = &["all", "green-only", "yellow-and-green"];

pub(crate) static SETTINGS: Menu = Menu {
    properties: &[&[
        Property::new(
            "multicast-buffers",
            BUFFERS,
            "Memory for multicast, in percent or bytes",
        )
        .optional(),
        Property::new(
            "shared-buffers",
            BUFFERS,
            "Memory shared by queues, in percent or bytes",
        )
        .optional(),
        Property::new(
            "mirror-buffers",
            BUFFERS,
            "Memory for mirrored frames, in percent or bytes",
        )
        .optional(),
        Property::new(
            "lossless-buffers",
            BUFFERS,
            "Memory for lossless traffic, in percent or bytes",
        )
        .optional(),
        Property::new(
            "shared-pool0",
            BUFFERS,
            "Shared memory number 0 in percent or bytes",
        )
        .optional(),
        Property::new(
            "shared-pool1",
            BUFFERS,
            "Shared memory number 1 in percent or bytes",
        )
        .optional(),
        Property::new(
            "shared-pool2",
            BUFFERS,
            "Shared memory number 2 in percent or bytes",
        )
        .optional(),
        Property::new(
            "shared-pool3",
            BUFFERS,
            "Shared memory number 3 in percent or bytes",
        )
        .optional(),
        Property::new(
            "shared-pool4",
            BUFFERS,
            "Shared memory number 4 in percent or bytes",
        )
        .optional(),
        Property::new(
            "shared-pool5",
            BUFFERS,
            "Shared memory number 5 in percent or bytes",
        )
        .optional(),
        Property::new(
            "shared-pool6",
            BUFFERS,
            "Shared memory number 6 in percent or bytes",
        )
        .optional(),
        Property::new(
            "shared-pool7",
            BUFFERS,
            "Shared memory number 7 in percent or bytes",
        )
        .optional(),
        Property::new("mirror-profile", PROFILE_NAME, "Profile of mirrored frames").optional(),
        Property::new(
            "lossless-traffic-class",
            Kind::List(&Kind::Number { min: 0, max: 7 }),
            "Lossless traffic classes",
        )
        .optional(),
        words(
            "shared-buffers-color",
            COLOURS,
            "Colours of frames that may use shared memory",
        )
        .optional(),
        words(
            "treat-yellow-as",
            &["green", "red"],
            "Handling of yellow frames",
        )
        .optional(),
        words("wred-threshold", LEVELS, "Threshold of early drops (WRED)").optional(),
        words(
            "wred-shared-threshold",
            LEVELS,
            "Threshold of early drops (WRED) in shared memory",
        )
        .optional(),
    ]],
    ..idle_settings(
        "/interface/ethernet/switch/qos/settings",
        "Packet memory of the switch chip",
    )
};

pub(crate) static PORT: Menu = Menu {
    properties: &[&[
        reference("name", "interface", "The port").read_only(),
        Property::new("profile", PROFILE_NAME, "Profile of received frames").optional(),
        Property::new("map", Kind::Reference("switch-qos-map"), "The map").optional(),
        words("trust-l2", TRUST, "Trust in the priority of VLAN tags").optional(),
        words("trust-l3", TRUST, "Trust in the DSCP").optional(),
        Property::new(
            "tx-manager",
            Kind::Reference("switch-tx-manager"),
            "Transmit manager of the port",
        )
        .optional(),
        Property::new(
            "pfc",
            Kind::Or(&["disabled"], &Kind::Reference("switch-pfc")),
            "Priority flow control profile",
        )
        .optional(),
        Property::new(
            "egress-rate-queue0",
            Kind::Rate,
            "Maximum rate of queue 0 in bits a second",
        )
        .optional(),
        Property::new(
            "egress-rate-queue1",
            Kind::Rate,
            "Maximum rate of queue 1 in bits a second",
        )
        .optional(),
        Property::new(
            "egress-rate-queue2",
            Kind::Rate,
            "Maximum rate of queue 2 in bits a second",
        )
        .optional(),
        Property::new(
            "egress-rate-queue3",
            Kind::Rate,
            "Maximum rate of queue 3 in bits a second",
        )
        .optional(),
        Property::new(
            "egress-rate-queue4",
            Kind::Rate,
            "Maximum rate of queue 4 in bits a second",
        )
        .optional(),
        Property::new(
            "egress-rate-queue5",
            Kind::Rate,
            "Maximum rate of queue 5 in bits a second",
        )
        .optional(),
        Property::new(
            "egress-rate-queue6",
            Kind::Rate,
            "Maximum rate of queue 6 in bits a second",
        )
        .optional(),
        Property::new(
            "egress-rate-queue7",
            Kind::Rate,
            "Maximum rate of queue 7 in bits a second",
        )
        .optional(),
    ]],
    columns: &["name", "profile", "map", "trust-l2", "trust-l3"],
    key: Some("name"),
    pick: ExportSelector::Name,
    follows: &[FollowedMenu {
        path: "/interface/ethernet",
        values: &[],
    }],
    ..idle_fixed(
        "/interface/ethernet/switch/qos/port",
        "QoS settings of ports",
    )
};

pub(crate) static PROFILE: Menu = Menu {
    properties: &[
        &[
            named("Name of the profile"),
            number(
                "traffic-class",
                0,
                7,
                "Traffic class, which selects the queue",
            )
            .optional(),
            number("pcp", 0, 7, "Priority written into VLAN tags").optional(),
            number("dscp", 0, 63, "DSCP written into packets").optional(),
            words("color", &["green", "red", "yellow"], "Drop precedence").optional(),
            maybe(
                "automap",
                "Map frames with these priorities and DSCPs to the profile",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: FLAGS,
    columns: &["name", "traffic-class", "pcp", "dscp"],
    key: Some("name"),
    space: Some("switch-qos-profile"),
    builtin: &[Builtin {
        values: &[("name", "default")],
    }],
    ..idle_list("/interface/ethernet/switch/qos/profile", "QoS profiles")
};

pub(crate) static MAP: Menu = Menu {
    properties: &[&[named("Name of the map")], COMMENT_DISABLED],
    flags: FLAGS,
    columns: &["name"],
    key: Some("name"),
    space: Some("switch-qos-map"),
    builtin: &[Builtin {
        values: &[("name", "default")],
    }],
    ..idle_list(
        "/interface/ethernet/switch/qos/map",
        "Maps from header fields to profiles",
    )
};

pub(crate) static MAP_VLAN: Menu = Menu {
    properties: &[
        &[
            Property::new("map", Kind::Reference("switch-qos-map"), "The map").optional(),
            Property::new(
                "pcp",
                Kind::List(&Kind::Range("-", &Kind::Number { min: 0, max: 7 })),
                "Priorities of the VLAN tag",
            )
            .optional(),
            maybe("dei-only", "Only for frames with drop eligibility"),
            Property::new("profile", PROFILE_NAME, "The profile").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: FLAGS,
    columns: &["map", "pcp", "profile"],
    ..idle_list(
        "/interface/ethernet/switch/qos/map/vlan",
        "Map from VLAN priority to profile",
    )
};

pub(crate) static MAP_IP: Menu = Menu {
    properties: &[
        &[
            Property::new("map", Kind::Reference("switch-qos-map"), "The map").optional(),
            Property::new(
                "dscp",
                Kind::List(&Kind::Range("-", &Kind::Number { min: 0, max: 63 })),
                "DSCPs of the packet",
            )
            .optional(),
            Property::new("profile", PROFILE_NAME, "The profile").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: FLAGS,
    columns: &["map", "dscp", "profile"],
    ..idle_list(
        "/interface/ethernet/switch/qos/map/ip",
        "Map from DSCP to profile",
    )
};

pub(crate) static TX_MANAGER: Menu = Menu {
    properties: &[
        &[
            named("Name of the manager"),
            Property::new(
                "queue-buffers",
                BUFFERS,
                "Memory of a queue in percent or bytes",
            )
            .optional(),
            maybe("ecn", "Mark packets (ECN) in a congested queue"),
        ],
        COMMENT_DISABLED,
    ],
    flags: FLAGS,
    columns: &["name"],
    key: Some("name"),
    space: Some("switch-tx-manager"),
    builtin: &[Builtin {
        values: &[("name", "default")],
    }],
    ..idle_list(
        "/interface/ethernet/switch/qos/tx-manager",
        "Transmit managers",
    )
};

pub(crate) static QUEUE: Menu = Menu {
    properties: &[
        &[
            words(
                "schedule",
                &[
                    "high-priority-group",
                    "low-priority-group",
                    "strict-priority",
                ],
                "Scheduling of the queue",
            )
            .optional(),
            number("weight", 0, 255, "Weight within the scheduling group").optional(),
            Property::new(
                "queue-buffers",
                BUFFERS,
                "Memory of the queue in percent or bytes",
            )
            .optional(),
            maybe("use-shared-buffers", "Use the memory shared by all queues"),
            number("shared-pool-index", 0, 7, "Shared memory pool").optional(),
            maybe("wred", "Drop early in a congested queue (WRED)"),
            maybe("ecn", "Mark packets (ECN) in a congested queue"),
        ],
        COMMENT_DISABLED,
    ],
    flags: FLAGS,
    columns: &["schedule", "weight"],
    parts: 64,
    ..idle_list(
        "/interface/ethernet/switch/qos/tx-manager/queue",
        "Queues of transmit managers",
    )
};

pub(crate) static PFC: Menu = Menu {
    properties: &[
        &[
            named("Name of the item"),
            Property::new(
                "traffic-class",
                Kind::List(&Kind::Number { min: 0, max: 7 }),
                "Paused traffic classes",
            )
            .optional(),
            maybe("rx", "Obey pause frames"),
            maybe("tx", "Send pause frames"),
            Property::new("pause-threshold", BUFFERS, "Threshold to send pause frames").optional(),
            Property::new("resume-threshold", BUFFERS, "Threshold to resume sending").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: FLAGS,
    columns: &["name", "traffic-class"],
    key: Some("name"),
    space: Some("switch-pfc"),
    ..idle_list(
        "/interface/ethernet/switch/qos/priority-flow-control",
        "Priority flow control (IEEE 802.1Qbb)",
    )
};
