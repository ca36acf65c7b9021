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
            "Memory for multicast in percent or bytes",
        )
        .optional(),
        Property::new(
            "shared-buffers",
            BUFFERS,
            "Memory that queues share in percent or bytes",
        )
        .optional(),
        Property::new(
            "mirror-buffers",
            BUFFERS,
            "Memory for copies in percent or bytes",
        )
        .optional(),
        Property::new(
            "lossless-buffers",
            BUFFERS,
            "Memory for traffic that must not be lost in percent or bytes",
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
        Property::new("mirror-profile", PROFILE_NAME, "Profile of copies").optional(),
        Property::new(
            "lossless-traffic-class",
            Kind::List(&Kind::Number { min: 0, max: 7 }),
            "Classes that must not be lost",
        )
        .optional(),
        words(
            "shared-buffers-color",
            COLOURS,
            "Colours that may use shared memory",
        )
        .optional(),
        words(
            "treat-yellow-as",
            &["green", "red"],
            "Handling of yellow frames",
        )
        .optional(),
        words("wred-threshold", LEVELS, "Thresholds of early drops").optional(),
        words("wred-shared-threshold", LEVELS, "The same in shared memory").optional(),
    ]],
    ..idle_settings(
        "/interface/ethernet/switch/qos/settings",
        "Memory of the chip",
    )
};

pub(crate) static PORT: Menu = Menu {
    properties: &[&[
        reference("name", "interface", "The port").read_only(),
        Property::new("profile", PROFILE_NAME, "Profile of received frames").optional(),
        Property::new("map", Kind::Reference("switch-qos-map"), "The map").optional(),
        words("trust-l2", TRUST, "Whether the tag is believed").optional(),
        words("trust-l3", TRUST, "Whether the DSCP is believed").optional(),
        Property::new(
            "tx-manager",
            Kind::Reference("switch-tx-manager"),
            "Transmit manager of the port",
        )
        .optional(),
        Property::new(
            "pfc",
            Kind::Or(&["disabled"], &Kind::Reference("switch-pfc")),
            "Pauses by priority",
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
        "Quality of service of ports",
    )
};

pub(crate) static PROFILE: Menu = Menu {
    properties: &[
        &[
            named("Name of the profile"),
            number("traffic-class", 0, 7, "Queue and treatment in the chip").optional(),
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
    ..idle_list(
        "/interface/ethernet/switch/qos/profile",
        "Classes of traffic",
    )
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
                "Priorities of the tag",
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
        "Profiles by the tag's priority",
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
    ..idle_list("/interface/ethernet/switch/qos/map/ip", "Profiles by DSCP")
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
            maybe("ecn", "Marks packets where a queue is congested"),
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
            number("weight", 0, 255, "Share within the group").optional(),
            Property::new(
                "queue-buffers",
                BUFFERS,
                "Memory of the queue in percent or bytes",
            )
            .optional(),
            maybe(
                "use-shared-buffers",
                "Use the memory shared by all queues, too",
            ),
            number("shared-pool-index", 0, 7, "The shared memory").optional(),
            maybe("wred", "Early drops in a congested queue"),
            maybe("ecn", "Marks packets where the queue is congested"),
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
                "Classes that are paused",
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
        "Pauses by priority (IEEE 802.1Qbb)",
    )
};
