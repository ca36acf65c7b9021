//! `/interface/ethernet/switch`: switch chips. There are none here; their items are kept.

pub(crate) mod acl;
pub(crate) mod host;
pub(crate) mod l3hw_settings;
pub(crate) mod port;
pub(crate) mod port_isolation;
pub(crate) mod rule;
pub(crate) mod trunk;
pub(crate) mod vlan;

use menu::{Builtin, Kind, Menu, Pick, Property};

use crate::fragment::idle_fixed;
use crate::terms::{list, maybe, no, shown, span, text, words, yes};

/// The name of a switch chip.
pub(crate) const SWITCH: Kind = Kind::Reference("switch");

/// A port of a switch chip, among them the one that leads to the processor.
pub(crate) const PORT: Kind = Kind::Or(
    &["switch1-cpu", "switch2-cpu", "switch-cpu"],
    &Kind::Reference("interface"),
);

/// Several ports of a switch chip.
pub(crate) const PORTS: Kind = Kind::List(&PORT);

/// The switch chip that an item is for.
pub(crate) const ON: Property =
    Property::new("switch", SWITCH, "The switch chip").default("switch1");

const MIRROR: Kind = Kind::Or(&["none"], &PORT);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        text("name", "Name of the switch chip"),
        shown("type", Kind::Text, "Type of the chip"),
        Property::new("mirror-source", MIRROR, "Port whose frames are copied").default("none"),
        Property::new("mirror-target", MIRROR, "Port that gets the copies").default("none"),
        Property::new(
            "mirror-egress-target",
            MIRROR,
            "Port that gets copies of what is sent",
        )
        .default("none"),
        no("switch-all-ports", "Makes all ports one group"),
        yes("cpu-flow-control", "Sends pause frames to the processor"),
        maybe("l3-hw-offloading", "Lets the chip route"),
        maybe("qos-hw-offloading", "Lets the chip prioritise"),
        words(
            "bridge-type",
            &["customer-vlan-bridge", "service-vlan-bridge"],
            "VLANs' tag",
        )
        .optional(),
        list(
            "drop-if-no-vlan-assignment-on-ports",
            &PORT,
            "Ports that need a VLAN",
        )
        .optional(),
        list(
            "drop-if-invalid-or-src-port-not-member-of-vlan-on-ports",
            &PORT,
            "Ports that take their VLANs' frames only",
        )
        .optional(),
        maybe(
            "use-svid-in-one2one-vlan-lookup",
            "Looks one to one VLANs up by the outer tag",
        ),
        maybe(
            "use-cvid-in-one2one-vlan-lookup",
            "Looks one to one VLANs up by the inner tag",
        ),
        words(
            "forwarding-mode",
            &["bridge", "vlan"],
            "How the chip forwards",
        )
        .optional(),
        maybe(
            "mac-level-isolation",
            "Isolates by host and not by port only",
        ),
        words(
            "multicast-lookup-mode",
            &["dst-ip-and-vid-for-ipv4", "dst-mac-and-vid-always"],
            "How multicast is looked up",
        )
        .optional(),
        maybe(
            "override-existing-when-ufdb-full",
            "Forgets hosts for new ones",
        ),
        span("unicast-fdb-timeout", "How long hosts are remembered").optional(),
    ]],
    columns: &["name", "type", "mirror-source", "mirror-target"],
    space: Some("switch"),
    key: Some("name"),
    builtin: &[
        Builtin {
            values: &[("name", "switch1")],
        },
        Builtin {
            values: &[("name", "switch2")],
        },
    ],
    pick: Pick::Number,
    rank: 76,
    ..idle_fixed("/interface/ethernet/switch", "Switch chips")
};
