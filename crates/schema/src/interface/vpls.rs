//! `/interface/vpls`: Ethernet over MPLS (RFC 4762).

use menu::{Kind, Menu, OldProperty, Property};

use crate::declare::{address, mac, no, number, words};
use crate::fragment::{
    ARP, COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces, name_mtu,
};

const RD: Kind = Kind::Tuple(
    ":",
    &[
        Kind::Number {
            min: 0,
            max: 4_294_967_295,
        },
        Kind::Number {
            min: 0,
            max: 4_294_967_295,
        },
    ],
);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &name_mtu("1500"),
        &[mac("mac-address", "Hardware address of the interface")],
        ARP,
        &[
            no(
                "disable-running-check",
                "Consider the interface running at all times",
            ),
            address("peer", "Remote endpoint").required(),
            Property::new("vpls-id", RD, "Identifier of the VPLS").optional(),
            number(
                "cisco-static-id",
                0,
                4_294_967_295,
                "Pseudowire identifier (Cisco static VPLS)",
            )
            .optional(),
            words(
                "pw-type",
                &["raw-ethernet", "tagged-ethernet", "vpls"],
                "Payload type",
            )
            .default("raw-ethernet"),
            number("pw-l2mtu", 0, 65_535, "MTU of the pseudowire").default("1500"),
            words(
                "pw-control-word",
                &["default", "disabled", "enabled"],
                "Control word",
            )
            .default("default"),
            Property::new(
                "bridge",
                Kind::Reference("interface"),
                "Bridge to which the interface is added",
            )
            .optional(),
            number("bridge-cost", 1, 200_000_000, "Bridge path cost").optional(),
            Property::new(
                "bridge-horizon",
                Kind::Or(
                    &["none"],
                    &Kind::Number {
                        min: 0,
                        max: 4_294_967_295,
                    },
                ),
                "Bridge horizon",
            )
            .optional(),
            number("bridge-pvid", 1, 4_094, "Bridge port VLAN id").default("1"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    columns: &["name", "mtu", "mac-address", "peer", "vpls-id"],
    old: &[
        OldProperty::renamed("remote-peer", "peer"),
        OldProperty::renamed("l2mtu", "pw-l2mtu"),
        OldProperty::renamed("advertised-l2mtu", "pw-l2mtu"),
        OldProperty::renamed("cisco-style-id", "cisco-static-id"),
        OldProperty::gone("cisco-style"),
        OldProperty {
            value: Some("default"),
            becomes: "",
            ..OldProperty::renamed("use-control-word", "")
        },
        OldProperty {
            value: Some("yes"),
            with: Some("enabled"),
            ..OldProperty::renamed("use-control-word", "pw-control-word")
        },
        OldProperty {
            value: Some("no"),
            with: Some("disabled"),
            ..OldProperty::renamed("use-control-word", "pw-control-word")
        },
    ],
    ..idle_interfaces("/interface/vpls", "vpls", "VPLS interfaces")
};
