//! `/interface/ethernet/switch/port`: port settings of switch chips.

use menu::{ExportSelector, FollowedMenu, Kind, Menu, MenuShape, Property};

use super::crs::HANDLED;
use super::{CPUS, PORT};
use crate::declare::{list, maybe, no, number, optional_text, reference, shown, words, yes};

const RATE: Kind = Kind::Or(&["unlimited"], &Kind::Rate);

/// Further properties of CRS1xx and CRS2xx ports.
const CRS: &[Property] = &idle([
    number(
        "ingress-customer-tpid-override",
        0,
        65_535,
        "EtherType of inner tags on ingress",
    )
    .optional(),
    number(
        "egress-customer-tpid-override",
        0,
        65_535,
        "EtherType of inner tags on egress",
    )
    .optional(),
    number(
        "ingress-service-tpid-override",
        0,
        65_535,
        "EtherType of outer tags on ingress",
    )
    .optional(),
    number(
        "egress-service-tpid-override",
        0,
        65_535,
        "EtherType of outer tags on egress",
    )
    .optional(),
    maybe(
        "drop-secure-static-mac-move",
        "Drop frames of static hosts from other ports",
    ),
    maybe(
        "drop-dynamic-mac-move",
        "Drop frames of learned hosts from other ports",
    ),
    Property::new(
        "learn-limit",
        Kind::Or(&["unlimited"], &Kind::Number { min: 0, max: 1_023 }),
        "Maximum number of learned hosts",
    )
    .optional(),
    maybe(
        "allow-unicast-loopback",
        "Allow unicast forwarding to the ingress port",
    ),
    maybe(
        "allow-multicast-loopback",
        "Allow multicast forwarding to the ingress port",
    ),
    words(
        "action-on-static-station-move",
        HANDLED,
        "Action for static hosts that move to another port",
    )
    .optional(),
    maybe(
        "drop-when-ufdb-entry-src-drop",
        "Drop frames whose source the unicast FDB drops",
    ),
    Property::new(
        "isolation-leakage-profile-override",
        Kind::Or(&["none"], &Kind::Number { min: 0, max: 31 }),
        "Isolation profile",
    )
    .optional(),
    words(
        "vlan-type",
        &["edge-port", "network-port"],
        "Role of the port: hosts (edge) or switches (network)",
    )
    .optional(),
    maybe(
        "allow-fdb-based-vlan-translate",
        "Translate VLANs by the unicast FDB",
    ),
    words(
        "allow-mac-based-service-vlan-assignment-for",
        ASSIGNED,
        "Frames to which an outer VLAN is assigned by source MAC",
    )
    .optional(),
    words(
        "allow-mac-based-customer-vlan-assignment-for",
        ASSIGNED,
        "Frames to which an inner VLAN is assigned by source MAC",
    )
    .optional(),
    maybe("filter-untagged-frame", "Drop untagged frames"),
    maybe(
        "filter-priority-tagged-frame",
        "Drop frames with a priority tag (VLAN 0)",
    ),
    maybe("filter-tagged-frame", "Drop tagged frames"),
    words(
        "egress-vlan-tag-table-lookup-key",
        &["according-to-bridge-type", "egress-vid"],
        "VLAN used for the tagging lookup",
    )
    .optional(),
    words(
        "egress-vlan-mode",
        &["tagged", "unmodified", "untagged"],
        "Egress VLAN tagging",
    )
    .optional(),
    words("ingress-mirror-to", MIRROR_TO, "Ingress mirror").optional(),
    maybe(
        "ingress-mirroring-according-to-vlan",
        "Mirror ingress frames by the VLAN table",
    ),
    words("egress-mirror-to", MIRROR_TO, "Egress mirror").optional(),
    Property::new("qos-scheme-precedence", SCHEMES, "Order of QoS schemes").optional(),
    number(
        "default-customer-pcp",
        0,
        7,
        "Priority of frames without an inner tag",
    )
    .optional(),
    number(
        "default-service-pcp",
        0,
        7,
        "Priority of frames without an outer tag",
    )
    .optional(),
    maybe(
        "pcp-propagation-for-initial-pcp",
        "Copy the priority between tags on ingress",
    ),
    maybe(
        "egress-pcp-propagation",
        "Copy the priority between tags on egress",
    ),
    maybe(
        "dscp-based-qos-dscp-to-dscp-mapping",
        "Remark the DSCP by the DSCP map",
    ),
    maybe(
        "pcp-or-dscp-based-qos-change-dei",
        "Remark the drop eligibility",
    ),
    maybe("pcp-or-dscp-based-qos-change-pcp", "Remark the priority"),
    maybe("pcp-or-dscp-based-qos-change-dscp", "Remark the DSCP"),
    optional_text(
        "pcp-based-qos-drop-precedence-mapping",
        "Drop precedence by priority: 0-7:green",
    ),
    optional_text("pcp-based-qos-dscp-mapping", "New DSCP by priority: 0-7:0"),
    optional_text(
        "pcp-based-qos-dei-mapping",
        "New drop eligibility by priority: 0-7:0",
    ),
    optional_text(
        "pcp-based-qos-pcp-mapping",
        "New priority by priority: 0:1,1:0",
    ),
    optional_text(
        "pcp-based-qos-priority-mapping",
        "Internal priority by priority: 0:0,1:1",
    ),
    optional_text(
        "priority-to-queue",
        "Queue by internal priority: 0-15:0,1:1",
    ),
    optional_text(
        "per-queue-scheduling",
        "Scheduling of the queues: wrr-group0:1,strict-priority:0",
    ),
    list(
        "custom-drop-counter-includes",
        &Kind::Name,
        "Drops included in the custom counter",
    )
    .optional(),
    list(
        "queue-custom-drop-counter0-includes",
        &QUEUES,
        "Queues of the first counter",
    )
    .optional(),
    list(
        "queue-custom-drop-counter1-includes",
        &QUEUES,
        "Queues of the second counter",
    )
    .optional(),
    Property::new(
        "policy-drop-counter-includes",
        POLICIES,
        "Drops included in the policy counter",
    )
    .optional(),
]);

/// Marks properties as without effect.
const fn idle<const N: usize>(mut properties: [Property; N]) -> [Property; N] {
    let mut at = 0;
    while at < N {
        properties[at] = properties[at].inert();
        at += 1;
    }
    properties
}

const ASSIGNED: &[&str] = &[
    "all",
    "none",
    "tagged-frame-only",
    "untagged-and-priority-tagged-frame-only",
];
const MIRROR_TO: &[&str] = &["mirror0", "mirror1", "none"];
const SCHEMES: Kind = Kind::List(&Kind::Words(&[
    "da-based",
    "dscp-based",
    "ingress-acl-based",
    "pcp-based",
    "protocol-based",
    "sa-based",
    "vlan-based",
]));
const QUEUES: Kind = Kind::Words(&[
    "green", "queue0", "queue1", "queue2", "queue3", "queue4", "queue5", "queue6", "queue7", "red",
    "yellow",
]);
const POLICIES: Kind = Kind::Set(&[
    "ingress-policing",
    "ingress-acl",
    "egress-policing",
    "egress-acl",
]);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", PORT, "The port").read_only(),
            reference("switch", "switch", "The switch chip")
                .default("switch1")
                .read_only(),
            words(
                "vlan-mode",
                &["check", "disabled", "fallback", "secure"],
                "VLAN filtering mode",
            )
            .default("disabled"),
            words(
                "vlan-header",
                &["add-if-missing", "always-strip", "leave-as-is"],
                "Egress tag handling",
            )
            .default("leave-as-is"),
            Property::new(
                "default-vlan-id",
                Kind::Or(&["auto"], &Kind::Number { min: 0, max: 4_095 }),
                "VLAN of untagged frames",
            )
            .default("auto"),
            maybe("l3-hw-offloading", "Layer 3 hardware offload for this port").inert(),
            Property::new(
                "ingress-rate",
                RATE,
                "Maximum rate of received frames in bits a second",
            )
            .default("unlimited")
            .inert(),
            Property::new(
                "egress-rate",
                RATE,
                "Maximum rate of sent frames in bits a second",
            )
            .default("unlimited")
            .inert(),
            Property::new(
                "storm-rate",
                Kind::Number { min: 1, max: 100 },
                "Storm control limit in percent of the port's speed",
            )
            .default("100")
            .inert(),
            yes("limit-broadcasts", "Limit broadcasts").inert(),
            no("limit-unknown-multicasts", "Limit unknown multicasts").inert(),
            no("limit-unknown-unicasts", "Limit unknown unicasts").inert(),
            no("mirror-egress", "Mirror egress frames"),
            no("mirror-ingress", "Mirror ingress frames"),
            Property::new(
                "mirror-ingress-target",
                Kind::Or(&["none"], &PORT),
                "Mirror target",
            )
            .default("none"),
            shown("status", Kind::Text, "Features that the switch chip lacks"),
        ],
        CRS,
    ],
    columns: &[
        "name",
        "switch",
        "vlan-mode",
        "vlan-header",
        "default-vlan-id",
    ],
    key: Some("name"),
    pick: ExportSelector::Number,
    builtin: CPUS,
    follows: &[FollowedMenu {
        path: "/interface/ethernet",
        values: &[],
    }],
    ..Menu::new(
        "/interface/ethernet/switch/port",
        MenuShape::Fixed,
        "Ports of switch chips",
    )
};
