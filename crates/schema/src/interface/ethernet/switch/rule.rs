//! `/interface/ethernet/switch/rule`: access control rules of switch chips.

use menu::{Family, Kind, Menu, MenuShape, Property};

use super::qos::PROFILE_NAME;
use super::{ON, PORTS};
use crate::declare::{maybe, number};
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID};

/// A MAC address with an optional mask.
const MASKED: Kind = Kind::Either(&Kind::Mac, &Kind::Tuple("/", &[Kind::Mac, Kind::Mac]));
const RATE: Kind = Kind::Or(&["none"], &Kind::Rate);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            ON,
            Property::new("ports", PORTS, "Ingress ports").default(""),
            Property::new("src-mac-address", MASKED, "Source hardware address").optional(),
            Property::new("dst-mac-address", MASKED, "Destination hardware address").optional(),
            Property::new(
                "vlan-header",
                Kind::Words(&["not-present", "present"]),
                "Presence of a VLAN tag",
            )
            .optional(),
            number("vlan-id", 0, 4_095, "VLAN of the tag").optional(),
            number("vlan-priority", 0, 7, "Priority of the tag").optional(),
            Property::new("mac-protocol", crate::interface::MAC_PROTOCOL, "EtherType").optional(),
            Property::new("src-address", Kind::Prefix(Family::V4), "Source network").optional(),
            Property::new(
                "dst-address",
                Kind::Prefix(Family::V4),
                "Destination network",
            )
            .optional(),
            Property::new(
                "src-address6",
                Kind::Prefix(Family::V6),
                "Source IPv6 network",
            )
            .optional(),
            Property::new(
                "dst-address6",
                Kind::Prefix(Family::V6),
                "Destination IPv6 network",
            )
            .optional(),
            Property::new("protocol", crate::interface::IP_PROTOCOL, "IP protocol").optional(),
            number("src-port", 0, 65_535, "Source port").optional(),
            number("dst-port", 0, 65_535, "Destination port").optional(),
            number("dscp", 0, 63, "DSCP").optional(),
            number("traffic-class", 0, 255, "Traffic class of IPv6")
                .optional()
                .inert(),
            number("flow-label", 0, 1_048_575, "Flow label of IPv6")
                .optional()
                .inert(),
            Property::new(
                "new-dst-ports",
                PORTS,
                "Redirect target ports; none if empty",
            )
            .optional()
            .inert_for(|value| !value.is_empty()),
            number("new-vlan-id", 0, 4_095, "New VLAN")
                .optional()
                .inert(),
            number("new-vlan-priority", 0, 7, "New priority").optional(),
            Property::new("rate", RATE, "Maximum rate in bits a second").optional(),
            maybe("copy-to-cpu", "Copy matching frames to the processor").inert(),
            maybe(
                "redirect-to-cpu",
                "Redirect matching frames to the processor",
            )
            .inert(),
            maybe("mirror", "Mirror matching frames").inert(),
            Property::new("mirror-ports", PORTS, "Mirror target")
                .optional()
                .inert(),
            Property::new("new-qos-profile", PROFILE_NAME, "New QoS profile")
                .optional()
                .inert(),
            maybe("keep-qos-fields", "Keep the priority and the DSCP").inert(),
            Property::new("new-vrf", Kind::Name, "New VRF")
                .optional()
                .inert(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["switch", "ports"],
    ..Menu::new(
        "/interface/ethernet/switch/rule",
        MenuShape::Ordered,
        "Rules of switch chips",
    )
};
