//! Tables of CRS1xx and CRS2xx switch chips: VLANs, hosts, isolation.

use menu::{Family, Kind, Menu, Property};

use super::crs_qos::GROUP;
use super::{ON, PORT, PORTS};
use crate::declare::{maybe, number, words};
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID, idle_list, idle_rules};
use crate::interface::MAC_PROTOCOL;

/// Tag matchers.
const TAGS: &[&str] = &[
    "any",
    "priority-tagged-or-tagged",
    "tagged",
    "untagged-or-tagged",
];
/// Frames that a setting applies to.
const SET_FOR: &[&str] = &["all", "none", "tagged", "untagged-or-priority-tagged"];
/// Port isolation profiles.
pub(super) const ISOLATION: &[&str] = &["community1", "community2", "isolated", "promiscuous"];
/// Actions for frames.
pub(super) const HANDLED: &[&str] = &["copy-to-cpu", "drop", "forward", "redirect-to-cpu"];
/// Actions for frames of a host.
const FDB_ACTIONS: &[&str] = &[
    "dst-drop",
    "dst-redirect-to-cpu",
    "forward",
    "ingress-port-policing-bypass",
    "src-and-dst-drop",
    "src-and-dst-redirect-to-cpu",
    "src-drop",
    "src-redirect-to-cpu",
];
const VLAN: Kind = Kind::Number { min: 0, max: 4_095 };
const NEW_SERVICE: Kind = Kind::Or(&["customer-vid"], &VLAN);
const NEW_CUSTOMER: Kind = Kind::Or(&["service-vid"], &VLAN);
const ETHER_TYPE: Kind = Kind::Or(&["llc-bpdu"], &MAC_PROTOCOL);
const GROUP_ADDRESS: Kind = Kind::Either(&Kind::Mac, &Kind::Address(Family::V4));
pub(super) const FORWARDED: Kind = Kind::Set(&["bridged", "routed"]);
pub(super) const TRAFFIC: Kind = Kind::Set(&["unicast", "multicast", "broadcast"]);
pub(super) const REGISTERED: Kind = Kind::Set(&["known", "unknown"]);
pub(super) const PROTOCOLS: Kind = Kind::Set(&["arp", "nd", "dhcpv4", "dhcpv6", "ripv1"]);

pub(crate) static EGRESS_VLAN_TAG: Menu = Menu {
    properties: &[
        &[
            ON,
            number("vlan-id", 0, 4095, "The VLAN").optional(),
            Property::new("tagged-ports", PORTS, "Ports that send tagged frames").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "vlan-id", "tagged-ports"],
    ..idle_list(
        "/interface/ethernet/switch/egress-vlan-tag",
        "Egress VLAN tagging by port",
    )
};

/// VLAN translation: matchers and new VLAN ids.
const TRANSLATION: &[Property] = &[
    ON,
    Property::new("ports", PORTS, "The ports").optional(),
    words("service-vlan-format", TAGS, "Outer tag matcher").optional(),
    number("service-vid", 0, 4095, "VLAN of the outer tag").optional(),
    number("service-pcp", 0, 7, "Priority of the outer tag").optional(),
    number("service-dei", 0, 1, "Drop eligibility of the outer tag").optional(),
    words("customer-vlan-format", TAGS, "Inner tag matcher").optional(),
    number("customer-vid", 0, 4095, "VLAN of the inner tag").optional(),
    number("customer-pcp", 0, 7, "Priority of the inner tag").optional(),
    number("customer-dei", 0, 1, "Drop eligibility of the inner tag").optional(),
    Property::new("new-service-vid", NEW_SERVICE, "New VLAN of the outer tag").optional(),
    Property::new(
        "new-customer-vid",
        NEW_CUSTOMER,
        "New VLAN of the inner tag",
    )
    .optional(),
    maybe("pcp-propagation", "Copy the priority between the tags"),
    words(
        "swap-vids",
        &["assign-cvid-to-svid", "no"],
        "Swap inner and outer VLAN",
    )
    .optional(),
];

pub(crate) static INGRESS_VLAN_TRANSLATION: Menu = Menu {
    properties: &[
        TRANSLATION,
        &[
            Property::new("protocol", ETHER_TYPE, "EtherType of the frame").optional(),
            maybe(
                "sa-learning",
                "Learn the source MAC address in the new VLAN",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "ports", "customer-vid", "new-customer-vid"],
    ..idle_rules(
        "/interface/ethernet/switch/ingress-vlan-translation",
        "Ingress VLAN translation",
    )
};

pub(crate) static EGRESS_VLAN_TRANSLATION: Menu = Menu {
    properties: &[TRANSLATION, COMMENT_DISABLED],
    flags: DISABLED_INVALID,
    columns: &["switch", "ports", "customer-vid", "new-customer-vid"],
    ..idle_rules(
        "/interface/ethernet/switch/egress-vlan-translation",
        "Egress VLAN translation",
    )
};

pub(crate) static MAC_BASED_VLAN: Menu = Menu {
    properties: &[
        &[
            ON,
            Property::new("src-mac-address", Kind::Mac, "Source MAC address").optional(),
            number("new-service-vid", 0, 4095, "New VLAN of the outer tag").optional(),
            number("new-customer-vid", 0, 4095, "New VLAN of the inner tag").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "src-mac-address", "new-customer-vid"],
    ..idle_list(
        "/interface/ethernet/switch/mac-based-vlan",
        "VLANs by source MAC address",
    )
};

pub(crate) static PROTOCOL_BASED_VLAN: Menu = Menu {
    properties: &[
        &[
            ON,
            Property::new("ports", PORTS, "The ports").optional(),
            words(
                "frame-type",
                &["ethernet", "llc", "rfc-1042"],
                "Protocol encapsulation of the frame",
            )
            .optional(),
            Property::new("protocol", ETHER_TYPE, "The protocol").optional(),
            words(
                "set-service-vid-for",
                SET_FOR,
                "Frames to which an outer VLAN is assigned",
            )
            .optional(),
            number("new-service-vid", 0, 4095, "New VLAN of the outer tag").optional(),
            words(
                "set-customer-vid-for",
                SET_FOR,
                "Frames to which an inner VLAN is assigned",
            )
            .optional(),
            number("new-customer-vid", 0, 4095, "New VLAN of the inner tag").optional(),
            words(
                "set-qos-for",
                SET_FOR,
                "Frames to which a QoS group is assigned",
            )
            .optional(),
            Property::new("qos-group", GROUP, "QoS group").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "ports", "protocol", "new-customer-vid"],
    ..idle_list(
        "/interface/ethernet/switch/protocol-based-vlan",
        "VLANs by protocol",
    )
};

pub(crate) static ONE2ONE: Menu = Menu {
    properties: &[
        &[
            ON,
            Property::new("dst-port", PORT, "Second port").optional(),
            number("service-vid", 0, 4095, "VLAN of the outer tag").optional(),
            number("customer-vid", 0, 4095, "VLAN of the inner tag").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "service-vid", "customer-vid", "dst-port"],
    ..idle_list(
        "/interface/ethernet/switch/one2one-vlan-switching",
        "One-to-one VLAN switching between two ports",
    )
};

pub(crate) static UNICAST_FDB: Menu = Menu {
    properties: &[
        &[
            ON,
            Property::new("mac-address", Kind::Mac, "MAC address of the host").optional(),
            Property::new("port", PORT, "The port").optional(),
            number("vlan-id", 0, 4095, "The VLAN").optional(),
            words("action", FDB_ACTIONS, "Action for frames of the host").optional(),
            maybe("mirror", "Mirror frames of the host"),
            words("isolation-profile", ISOLATION, "Isolation profile").optional(),
            maybe("svl", "Shared VLAN learning"),
            Property::new("qos-group", GROUP, "QoS group").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "mac-address", "port", "vlan-id"],
    ..idle_list(
        "/interface/ethernet/switch/unicast-fdb",
        "Unicast forwarding database",
    )
};

pub(crate) static MULTICAST_FDB: Menu = Menu {
    properties: &[
        &[
            ON,
            Property::new("address", GROUP_ADDRESS, "Multicast group").optional(),
            Property::new("ports", PORTS, "The ports").optional(),
            number("vlan-id", 0, 4095, "The VLAN").optional(),
            maybe("svl", "Shared VLAN learning"),
            maybe("bypass-vlan-filter", "Bypass egress VLAN filtering"),
            Property::new("qos-group", GROUP, "QoS group").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "address", "ports", "vlan-id"],
    ..idle_list(
        "/interface/ethernet/switch/multicast-fdb",
        "Multicast forwarding database",
    )
};

pub(crate) static RESERVED_FDB: Menu = Menu {
    properties: &[
        &[
            ON,
            Property::new("mac-address", Kind::Mac, "MAC address of the host").optional(),
            words("action", HANDLED, "Action for frames to the group").optional(),
            maybe(
                "bypass-ingress-vlan-filter",
                "Bypass ingress VLAN filtering",
            ),
            maybe("bypass-ingress-port-policing", "Bypass ingress policing"),
            Property::new("qos-group", GROUP, "QoS group").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "mac-address", "action"],
    ..idle_list(
        "/interface/ethernet/switch/reserved-fdb",
        "Forwarding rules for reserved MAC addresses",
    )
};

pub(crate) static PORT_LEAKAGE: Menu = Menu {
    properties: &[
        &[
            ON,
            Property::new("ports", PORTS, "The ports").optional(),
            words("type", &["dst", "src"], "Port of the profile").optional(),
            number("port-profile", 0, 31, "Port isolation profile").optional(),
            words("vlan-profile", ISOLATION, "VLAN isolation profile").optional(),
            words("mac-profile", ISOLATION, "MAC address isolation profile").optional(),
            number("flow-id", 0, 63, "Flow identifier").optional(),
            Property::new(
                "forwarding-type",
                FORWARDED,
                "Forwarding type: bridged or routed",
            )
            .optional(),
            Property::new(
                "traffic-type",
                TRAFFIC,
                "Traffic type: unicast, multicast or broadcast",
            )
            .optional(),
            Property::new(
                "registration-status",
                REGISTERED,
                "Presence of the destination in the FDB",
            )
            .optional(),
            Property::new("protocol-type", PROTOCOLS, "Protocols").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "ports", "type"],
    ..idle_list(
        "/interface/ethernet/switch/port-leakage",
        "Exceptions from port isolation",
    )
};
