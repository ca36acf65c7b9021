//! `/interface/ethernet/switch/acl`: access control rules of CRS1xx and CRS2xx switch chips.

use menu::{Family, Kind, Menu, Property};

use super::crs::ISOLATION;
use super::crs_qos::{COLOURS, PRECEDENCE, PRIORITY};
use super::{ON, PORTS};
use crate::declare::{maybe, number, optional_text, reference, words};
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID, idle_rules};

const MAC_PROTOCOL: Kind = Kind::Or(&["ip-or-ipv6", "non-ip"], &crate::interface::MAC_PROTOCOL);
const IP_PROTOCOL: Kind = Kind::Or(&["other"], &crate::interface::IP_PROTOCOL);
/// A MAC address with an optional mask.
const MASKED: Kind = Kind::Either(&Kind::Mac, &Kind::Tuple("/", &[Kind::Mac, Kind::Mac]));
/// A VLAN id or range, optionally negated.
const VLANS: Kind = Kind::Not(&Kind::Range("-", &Kind::Number { min: 0, max: 4_095 }));
const TAGS: &[&str] = &[
    "priority-tagged",
    "tagged",
    "tagged-or-priority-tagged",
    "untagged",
];

/// Further matchers.
const FRAME: &[Property] = &[
    maybe("invert-match", "Invert the match"),
    Property::new("mac-src-address", MASKED, "Source hardware address").optional(),
    Property::new("mac-dst-address", MASKED, "Destination hardware address").optional(),
    words("service-tag", TAGS, "Presence of an outer VLAN tag").optional(),
    Property::new("service-vid", VLANS, "VLAN of the outer tag").optional(),
    number("service-pcp", 0, 7, "Priority of the outer tag").optional(),
    number("service-dei", 0, 1, "Drop eligibility of the outer tag").optional(),
    words("customer-tag", TAGS, "Presence of an inner VLAN tag").optional(),
    Property::new("customer-vid", VLANS, "VLAN of the inner tag").optional(),
    number("customer-pcp", 0, 7, "Priority of the inner tag").optional(),
    number("customer-dei", 0, 1, "Drop eligibility of the inner tag").optional(),
    number(
        "lookup-vid",
        0,
        4_095,
        "VLAN used for the forwarding lookup",
    )
    .optional(),
    PRIORITY,
    PRECEDENCE,
    optional_text("custom-fields", "Bytes at given offsets of the frame"),
    maybe(
        "dst-addr-registered",
        "Presence of the destination in the FDB",
    ),
    maybe("fragmented", "Whether the packet is a fragment"),
    maybe("first-fragment", "Matches the first fragment"),
    words("ttl", &["0", "1", "max", "other"], "Time to live").optional(),
    number("dscp", 0, 63, "DSCP").optional(),
    number("ecn", 0, 3, "Explicit congestion notification").optional(),
    Property::new("ipv6-src", Kind::Prefix(Family::V6), "Source IPv6 network").optional(),
    Property::new(
        "ipv6-dst",
        Kind::Prefix(Family::V6),
        "Destination IPv6 network",
    )
    .optional(),
    words(
        "mac-isolation-profile",
        ISOLATION,
        "Isolation profile of the host",
    )
    .optional(),
    words(
        "src-mac-addr-state",
        &[
            "dynamic-station-move",
            "sa-found",
            "sa-not-found",
            "static-station-move",
        ],
        "Move of a static host to another port",
    )
    .optional(),
    number("flow-id", 0, 63, "Flow identifier").optional(),
];

/// Further actions.
const TREATMENT: &[Property] = &[
    number("new-flow-id", 0, 63, "New flow identifier").optional(),
    maybe("attack-filter-bypass", "Bypass the attack filter"),
    maybe(
        "ingress-vlan-filter-bypass",
        "Bypass ingress VLAN filtering",
    ),
    maybe("egress-vlan-filter-bypass", "Bypass egress VLAN filtering"),
    maybe("isolation-filter-bypass", "Bypass isolation"),
    maybe(
        "egress-vlan-translate-bypass",
        "Bypass egress VLAN translation",
    ),
    maybe(
        "new-registered-state",
        "New state of the destination in the FDB",
    ),
    maybe("src-mac-learn", "Learn the source MAC address"),
    words("mirror-to", &["mirror0", "mirror1"], "Mirror target").optional(),
    number("new-service-vid", 0, 4_095, "New VLAN of the outer tag").optional(),
    number("new-service-pcp", 0, 7, "New priority of the outer tag").optional(),
    number(
        "new-service-dei",
        0,
        1,
        "New drop eligibility of the outer tag",
    )
    .optional(),
    number("new-customer-vid", 0, 4_095, "New VLAN of the inner tag").optional(),
    number("new-customer-pcp", 0, 7, "New priority of the inner tag").optional(),
    number(
        "new-customer-dei",
        0,
        1,
        "New drop eligibility of the inner tag",
    )
    .optional(),
    number("new-dscp", 0, 63, "New DSCP").optional(),
    number("new-priority", 0, 15, "New internal priority").optional(),
    words("new-drop-precedence", COLOURS, "New drop precedence").optional(),
    reference(
        "policer",
        "switch-policer",
        "Policer that limits matching frames",
    )
    .optional(),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            ON,
            words(
                "action",
                &[
                    "copy-to-cpu",
                    "drop",
                    "forward",
                    "redirect-to-cpu",
                    "send-to-new-dst-ports",
                ],
                "Action",
            )
            .default("forward"),
            words("table", &["egress", "ingress"], "Processing stage").default("ingress"),
            Property::new("src-ports", PORTS, "Ingress ports").optional(),
            Property::new("dst-ports", PORTS, "Egress ports").optional(),
            Property::new("new-dst-ports", PORTS, "Redirect target ports").optional(),
            Property::new("src-mac-address", Kind::Mac, "Source hardware address").optional(),
            Property::new("dst-mac-address", Kind::Mac, "Destination hardware address").optional(),
            Property::new("mac-protocol", MAC_PROTOCOL, "EtherType").optional(),
            Property::new("ip-protocol", IP_PROTOCOL, "IP protocol").optional(),
            Property::new("ip-src", Kind::Prefix(Family::V4), "Source network").optional(),
            Property::new("ip-dst", Kind::Prefix(Family::V4), "Destination network").optional(),
            number("src-l3-port", 0, 65_535, "Source port").optional(),
            number("dst-l3-port", 0, 65_535, "Destination port").optional(),
            number("vlan-id", 0, 4_095, "VLAN").optional(),
            number("new-vlan-id", 0, 4_095, "New VLAN").optional(),
            maybe("mirror", "Mirror matching frames"),
        ],
        FRAME,
        TREATMENT,
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["action", "table", "src-ports"],
    ..idle_rules(
        "/interface/ethernet/switch/acl",
        "Rules of CRS switch chips",
    )
};
