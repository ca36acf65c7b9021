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
        yes("lldp-med", "Send the voice VLAN by LLDP-MED"),
        with_default(
            "lldp-med-net-policy-vlan",
            Kind::Or(&["disabled"], &between(0, 4_094)),
            "disabled",
            "Voice VLAN",
        ),
        no(
            "lldp-mac-phy-config",
            "Send the port's speed and duplex by LLDP",
        ),
        no("lldp-max-frame-size", "Send the maximum frame size by LLDP"),
        no("lldp-vlan-info", "Send VLANs by LLDP"),
        yes(
            "lldp-poe-power",
            "Send the state of power over Ethernet by LLDP",
        )
        .inert(),
        no(
            "lldp-dcbx",
            "Send the data center bridging settings by LLDP",
        )
        .inert(),
        no("dying-gasp", "Send a message on power loss").inert(),
        with_default(
            "protocol",
            Kind::Set(&["cdp", "lldp", "mndp"]),
            "cdp,lldp,mndp",
            "Discovery protocols",
        ),
        with_default(
            "mode",
            Kind::Words(&["tx-and-rx", "tx-only", "rx-only"]),
            "tx-and-rx",
            "Send discovery messages, receive them, or both",
        ),
        no("add-dns-entries", "Add a DNS entry for each neighbour").inert(),
        with_default(
            "add-dns-entries-suffix",
            Kind::Sized { min: 1, max: 64 },
            "lan",
            "Domain of the neighbours' DNS entries",
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
