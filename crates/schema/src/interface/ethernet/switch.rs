//! `/interface/ethernet/switch`: switch chips. The bridge of the ports does their work in ferroute.

pub(crate) mod acl;
pub(crate) mod crs;
pub(crate) mod crs_qos;
pub(crate) mod host;
pub(crate) mod l3hw_settings;
pub(crate) mod port;
pub(crate) mod port_isolation;
pub(crate) mod qos;
pub(crate) mod rule;
pub(crate) mod trunk;
pub(crate) mod vlan;

use menu::{Builtin, ExportSelector, Kind, Menu, MenuShape, Property};

use crate::declare::{list, maybe, no, number, shown, span, text, words, yes};

/// The name of a switch chip.
pub(crate) const SWITCH: Kind = Kind::Reference("switch");

/// A port of a switch chip, including the port to the CPU.
pub(crate) const PORT: Kind = Kind::Or(
    &["switch1-cpu", "switch2-cpu", "switch-cpu"],
    &Kind::Reference("interface"),
);

/// RouterOS: the CPU ports follow the other ports.
pub(crate) const CPUS: &[Builtin] = &[
    Builtin {
        values: &[("name", "switch1-cpu"), ("switch", "switch1")],
    },
    Builtin {
        values: &[("name", "switch2-cpu"), ("switch", "switch2")],
    },
];

/// Ports of a switch chip.
pub(crate) const PORTS: Kind = Kind::List(&PORT);

/// The switch chip of an item.
pub(crate) const ON: Property =
    Property::new("switch", SWITCH, "The switch chip").default("switch1");

/// Frame mirroring: port and format.
const COPIES: Kind = Kind::Tuple(
    ",",
    &[
        PORT,
        Kind::Words(&["analyzer-configured", "modified", "original", "unmodified"]),
    ],
);
const MIRRORS: &[&str] = &["mirror0", "mirror1"];
/// Protocols excluded from filters.
const BYPASSES: Kind = Kind::List(&Kind::Words(&[
    "arp",
    "dhcpv4",
    "dhcpv6",
    "eapol",
    "igmp",
    "mld",
    "nd",
    "pppoe-discovery",
    "ripv1",
]));
const MIRROR: Kind = Kind::Or(&["none"], &PORT);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        text("name", "Name of the switch chip"),
        shown("type", Kind::Text, "Type of the chip"),
        Property::new("mirror-source", MIRROR, "Mirror source port").default("none"),
        Property::new("mirror-target", MIRROR, "Mirror target port").default("none"),
        Property::new(
            "mirror-egress-target",
            MIRROR,
            "Mirror target port for egress",
        )
        .default("none"),
        no("switch-all-ports", "Join all ports to one group").inert(),
        yes("cpu-flow-control", "Send pause frames to the processor").inert(),
        maybe("l3-hw-offloading", "Layer 3 hardware offload").inert(),
        maybe("qos-hw-offloading", "Hardware offload of QoS").inert(),
        words(
            "bridge-type",
            &[
                "customer-vid-used-as-lookup-vid",
                "customer-vlan-bridge",
                "service-vid-used-as-lookup-vid",
                "service-vlan-bridge",
            ],
            "VLAN tag by which frames are switched",
        )
        .optional()
        .inert(),
        list(
            "drop-if-no-vlan-assignment-on-ports",
            &PORT,
            "Ports that drop frames without a VLAN assignment",
        )
        .optional()
        .inert(),
        list(
            "drop-if-invalid-or-src-port-not-member-of-vlan-on-ports",
            &PORT,
            "Ports that drop frames of other VLANs",
        )
        .optional()
        .inert(),
        maybe(
            "use-svid-in-one2one-vlan-lookup",
            "Look up one-to-one VLANs by the outer tag",
        )
        .inert(),
        maybe(
            "use-cvid-in-one2one-vlan-lookup",
            "Look up one-to-one VLANs by the inner tag",
        )
        .inert(),
        words(
            "forwarding-mode",
            &["bridge", "vlan"],
            "Forwarding mode of the chip",
        )
        .optional()
        .inert(),
        maybe(
            "mac-level-isolation",
            "Isolate by MAC address as well as by port",
        )
        .inert(),
        words(
            "multicast-lookup-mode",
            &["dst-ip-and-vid-for-ipv4", "dst-mac-and-vid-always"],
            "Multicast lookup mode",
        )
        .optional()
        .inert(),
        maybe(
            "override-existing-when-ufdb-full",
            "Replace old hosts when the table is full",
        )
        .inert(),
        span("unicast-fdb-timeout", "Ageing time of hosts")
            .optional()
            .inert(),
        maybe("unknown-vlan-lookup-mode", "Lookup mode of unknown VLANs").inert(),
        maybe("forward-unknown-vlan", "Forward frames of unknown VLANs").inert(),
        maybe("rspan", "Mirror through another switch (RSPAN)").inert(),
        number(
            "rspan-ingress-vlan-id",
            0,
            4_095,
            "VLAN of ingress mirror copies",
        )
        .optional()
        .inert(),
        number(
            "rspan-egress-vlan-id",
            0,
            4_095,
            "VLAN of egress mirror copies",
        )
        .optional()
        .inert(),
        Property::new(
            "ingress-mirror0",
            COPIES,
            "First ingress mirror port and frame format",
        )
        .optional()
        .inert(),
        Property::new(
            "ingress-mirror1",
            COPIES,
            "Second ingress mirror port and frame format",
        )
        .optional()
        .inert(),
        text(
            "ingress-mirror-ratio",
            "Ratio of mirrored frames, such as 1/1",
        )
        .inert(),
        Property::new(
            "egress-mirror0",
            COPIES,
            "First egress mirror port and frame format",
        )
        .optional()
        .inert(),
        Property::new(
            "egress-mirror1",
            COPIES,
            "Second egress mirror port and frame format",
        )
        .optional()
        .inert(),
        text(
            "egress-mirror-ratio",
            "Ratio of mirrored frames, such as 1/1",
        )
        .inert(),
        words("fdb-uses", MIRRORS, "Mirror used by unicast FDB entries")
            .optional()
            .inert(),
        words("vlan-uses", MIRRORS, "Mirror used by VLAN entries")
            .optional()
            .inert(),
        maybe(
            "mirror-egress-if-ingress-mirrored",
            "Mirror on egress as well as on ingress",
        )
        .inert(),
        maybe(
            "mirror-tx-on-mirror-port",
            "Mirror frames sent by the mirror port",
        )
        .inert(),
        number(
            "mirrored-packet-qos-priority",
            0,
            7,
            "QoS priority of mirrored frames",
        )
        .optional()
        .inert(),
        words(
            "mirrored-packet-drop-precedence",
            crs_qos::COLOURS,
            "Drop precedence of mirrored frames",
        )
        .optional()
        .inert(),
        Property::new(
            "bypass-vlan-ingress-filter-for",
            BYPASSES,
            "Protocols exempt from ingress VLAN filtering",
        )
        .optional()
        .inert(),
        Property::new(
            "bypass-ingress-port-policing-for",
            BYPASSES,
            "Protocols exempt from ingress policing",
        )
        .optional()
        .inert(),
        Property::new(
            "bypass-l2-security-check-filter-for",
            BYPASSES,
            "Protocols exempt from layer 2 security checks",
        )
        .optional()
        .inert(),
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
    pick: ExportSelector::Number,
    ..Menu::new(
        "/interface/ethernet/switch",
        MenuShape::Fixed,
        "Switch chips",
    )
};
