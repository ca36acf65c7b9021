//! `/interface/ethernet/switch/acl`: rules of the older CRS switch chips.

use menu::{Family, Kind, Menu, Property};

use super::PORTS;
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID, idle_rules};
use crate::terms::{maybe, number, words};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            words(
                "action",
                &[
                    "copy-to-cpu",
                    "drop",
                    "forward",
                    "redirect-to-cpu",
                    "send-to-new-dst-ports",
                ],
                "What happens",
            )
            .default("forward"),
            words("table", &["egress", "ingress"], "When it is looked at").default("ingress"),
            Property::new("src-ports", PORTS, "Ports that the frame comes in by").optional(),
            Property::new("dst-ports", PORTS, "Ports that the frame leaves by").optional(),
            Property::new("new-dst-ports", PORTS, "Where frames go instead").optional(),
            Property::new("src-mac-address", Kind::Mac, "Source hardware address").optional(),
            Property::new("dst-mac-address", Kind::Mac, "Destination hardware address").optional(),
            Property::new("mac-protocol", crate::interface::MAC_PROTOCOL, "EtherType").optional(),
            Property::new("ip-protocol", crate::interface::IP_PROTOCOL, "IP protocol").optional(),
            Property::new("ip-src", Kind::Prefix(Family::V4), "Source network").optional(),
            Property::new("ip-dst", Kind::Prefix(Family::V4), "Destination network").optional(),
            number("src-l3-port", 0, 65_535, "Source port").optional(),
            number("dst-l3-port", 0, 65_535, "Destination port").optional(),
            number("vlan-id", 0, 4_095, "VLAN").optional(),
            number("new-vlan-id", 0, 4_095, "New VLAN").optional(),
            maybe("mirror", "Copies the frames to the mirror"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["action", "table", "src-ports"],
    rank: 330,
    ..idle_rules(
        "/interface/ethernet/switch/acl",
        "Rules of CRS switch chips",
    )
};
