//! `/ip/neighbor/discovery-settings`: neighbour discovery.

use menu::{Kind, Menu, MenuShape, OldProperty};

use crate::declare::{INTERFACE_LIST, between, no, seconds, with_default, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with_default(
            "discover-interface-list",
            Kind::Not(&INTERFACE_LIST),
            "static",
            "Interfaces for discovery",
        ),
        with_default(
            "discover-interval",
            seconds(5, 32_767),
            "30s",
            "Interval of discovery messages",
        ),
        yes("lldp-med", "Whether LLDP sends the voice VLAN"),
        with_default(
            "lldp-med-net-policy-vlan",
            Kind::Or(&["disabled"], &between(0, 4_094)),
            "disabled",
            "The VLAN for voice",
        ),
        no("lldp-mac-phy-config", "Whether LLDP sends the port's speed"),
        no(
            "lldp-max-frame-size",
            "Whether LLDP sends the maximum frame size",
        ),
        no("lldp-vlan-info", "Whether LLDP sends VLANs"),
        yes(
            "lldp-poe-power",
            "Whether LLDP sends the state of power over Ethernet",
        )
        .inert(),
        no(
            "lldp-dcbx",
            "Whether LLDP sends the settings of data center bridging",
        )
        .inert(),
        no(
            "dying-gasp",
            "Whether a message is sent when the router loses power",
        )
        .inert(),
        with_default(
            "protocol",
            Kind::Set(&["cdp", "lldp", "mndp"]),
            "cdp,lldp,mndp",
            "Protocols to tell and listen by",
        ),
        with_default(
            "mode",
            Kind::Words(&["tx-and-rx", "tx-only", "rx-only"]),
            "tx-and-rx",
            "Whether discovery messages are sent, received, or both",
        ),
        no(
            "add-dns-entries",
            "Whether neighbours get a name in the DNS",
        )
        .inert(),
        with_default(
            "add-dns-entries-suffix",
            Kind::Sized { min: 1, max: 64 },
            "lan",
            "The domain of such names",
        )
        .inert(),
    ]],
    old: &[OldProperty::gone("default")],
    old_paths: &["/ip/neighbor/discovery/settings"],
    ..Menu::new(
        "/ip/neighbor/discovery-settings",
        MenuShape::Settings,
        "Neighbor discovery settings",
    )
};
