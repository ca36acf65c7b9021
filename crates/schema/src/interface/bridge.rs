//! `/interface/bridge`: bridges (IEEE 802.1D, 802.1Q).

pub(crate) mod calea;
pub(crate) mod filter;
pub(crate) mod host;
pub(crate) mod matcher;
pub(crate) mod mdb;
pub(crate) mod mlag;
pub(crate) mod msti;
pub(crate) mod nat;
pub(crate) mod port;
pub(crate) mod port_controller;
pub(crate) mod port_extender;
pub(crate) mod settings;
pub(crate) mod vlan;

use menu::{Command, Effect, Kind, Menu, MenuShape, Property};

use super::RESET_COUNTERS;
use crate::declare::{NUMBERS, ONCE, mac, no, number, reference, shown, text, within, words, yes};
use crate::fragment::{
    ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES, name_mtu,
};

/// Ingress filters by VLAN tag.
pub(crate) const FRAME_TYPES: &[&str] = &[
    "admit-all",
    "admit-only-untagged-and-priority-tagged",
    "admit-only-vlan-tagged",
];

/// Multicast router modes of a port.
pub(crate) const MULTICAST_ROUTER: &[&str] = &["disabled", "permanent", "temporary-query"];

/// VLAN ids and ranges.
pub(crate) const VLANS: Kind = Kind::List(&Kind::Range("-", &Kind::Number { min: 1, max: 4_094 }));

/// Bridge priority in the spanning tree.
pub(crate) const PRIORITY: Property = Property::new(
    "priority",
    Kind::Hex { max: 0xffff },
    "Priority of the bridge in the spanning tree",
)
.default("0x8000");

/// The bridge of an item.
pub(crate) const BRIDGE: Property = reference("bridge", "interface", "The bridge").required();

/// Maximum of the multicast timers: 71w2h27m52s950ms.
const LONGEST: i64 = 42_949_672_950;

const NAME: &[Property] = &name_mtu("auto");

const PROTOCOLS: &[Property] = &[
    words(
        "protocol-mode",
        &["mstp", "none", "rstp", "stp"],
        "Spanning tree protocol",
    )
    .default("rstp"),
    yes("fast-forward", "Allow FastPath for a bridge with two ports"),
    no("igmp-snooping", "Forward multicast to listeners only"),
    yes("auto-mac", "Use the MAC address of a port"),
    mac("admin-mac", "Hardware address where auto-mac is off").optional(),
    within("ageing-time", 10_000, 1_000_000_000, "Ageing time of hosts").default("5m"),
    PRIORITY,
    within(
        "max-message-age",
        6_000,
        40_000,
        "Maximum age of spanning tree information",
    )
    .default("20s"),
    within("forward-delay", 4_000, 30_000, "Forward delay").default("15s"),
    number(
        "transmit-hold-count",
        1,
        10,
        "Maximum spanning tree messages per second and port",
    )
    .default("6"),
    text("region-name", "Name of the MSTP region"),
    number("region-revision", 0, 65_535, "Revision of the MSTP region").default("0"),
    number("max-hops", 6, 40, "Maximum hops in an MST region").default("20"),
    words("port-cost-mode", &["long", "short"], "Path cost mode").default("long"),
    no(
        "forward-reserved-addresses",
        "Forward frames to 01:80:C2:00:00:0X",
    ),
    Property::new(
        "max-learned-entries",
        Kind::Or(
            &["auto", "unlimited"],
            &Kind::Number {
                min: 0,
                max: 4_294_967_295,
            },
        ),
        "Maximum number of hosts",
    )
    .default("auto"),
];

const VLAN: &[Property] = &[
    no("vlan-filtering", "Filter frames by the VLAN table"),
    words(
        "ether-type",
        &["0x8100", "0x88a8", "0x9100"],
        "EtherType of the VLAN tag",
    )
    .default("0x8100"),
    number(
        "pvid",
        1,
        4_094,
        "VLAN of the bridge interface's untagged frames",
    )
    .default("1"),
    words(
        "frame-types",
        FRAME_TYPES,
        "Accepted frame types of the bridge interface",
    )
    .default("admit-all"),
    yes(
        "ingress-filtering",
        "Drop frames of VLANs that the bridge is not a member of",
    ),
    no("mvrp", "Register VLANs by MVRP").inert(),
];

const SNOOPING: &[Property] = &[
    no("dhcp-snooping", "Accept DHCP servers only on trusted ports"),
    no(
        "add-dhcp-option82",
        "Add the port to DHCP requests (option 82, RFC 3046)",
    ),
    text("dhcp-agent-circuit-id", "Circuit ID of option 82"),
    text("dhcp-agent-remote-id", "Remote ID of option 82"),
    no(
        "dhcpv6-snooping",
        "Accept DHCPv6 servers only on trusted ports",
    ),
    text("dhcpv6-agent-circuit-id", "Interface ID of DHCPv6 relaying").inert(),
    text("dhcpv6-agent-remote-id", "Remote ID of DHCPv6 relaying").inert(),
    no(
        "ra-guard",
        "Accept router advertisements only on trusted ports",
    ),
    number("igmp-version", 2, 3, "IGMP version of queries").default("2"),
    number("mld-version", 1, 2, "MLD version of queries").default("1"),
    words(
        "multicast-router",
        MULTICAST_ROUTER,
        "Multicast router state of the bridge",
    )
    .default("temporary-query")
    .inert(),
    no("multicast-querier", "Send membership queries"),
    no(
        "querier-uses-bridge-address",
        "Send queries from the bridge's own address",
    ),
    number(
        "last-member-query-count",
        0,
        4_294_967_295,
        "Number of queries after a leave message",
    )
    .default("2"),
    within(
        "last-member-interval",
        1_000,
        LONGEST,
        "Time between queries after a leave message",
    )
    .default("1s"),
    within("membership-interval", 1_000, LONGEST, "Membership interval").default("4m20s"),
    within("querier-interval", 1_000, LONGEST, "Querier timeout").default("4m15s"),
    within("query-interval", 1_000, LONGEST, "Time between queries").default("2m5s"),
    within(
        "query-response-interval",
        1_000,
        LONGEST,
        "Maximum response time of queries",
    )
    .default("10s"),
    number(
        "startup-query-count",
        0,
        4_294_967_295,
        "Number of queries after the start",
    )
    .default("2"),
    within(
        "startup-query-interval",
        1_000,
        LONGEST,
        "Time between queries after the start",
    )
    .default("31s250ms"),
    Property::new(
        "mlag-peer-port",
        Kind::Or(&["none"], &Kind::Reference("interface")),
        "Port to the MLAG peer",
    )
    .default("none")
    .inert(),
    number("mlag-priority", 0, 255, "Priority in the MLAG pair")
        .default("128")
        .inert(),
    Property::new(
        "mlag-heartbeat",
        Kind::Or(&["none"], &Kind::SPAN),
        "MLAG heartbeat interval",
    )
    .default("5s")
    .inert(),
];

/// Monitors bridges or their ports.
pub(crate) const MONITOR: Command = Command {
    name: "monitor",
    help: "Monitor the state of items",
    arguments: &[NUMBERS, ONCE],
    effect: Effect::Full,
    repeats: true,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        &[
            shown("actual-mtu", Kind::COUNTER, "Effective MTU of layer 3"),
            shown(
                "l2mtu",
                Kind::COUNTER,
                "Maximum transmission unit of layer 2",
            ),
        ],
        ARP,
        &[shown("mac-address", Kind::Mac, "Hardware address")],
        PROTOCOLS,
        VLAN,
        SNOOPING,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "protocol-mode", "vlan-filtering"],
    flags: super::FLAGS,
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    kind: "bridge",
    commands: &[MONITOR, RESET_COUNTERS],
    ..Menu::new("/interface/bridge", MenuShape::List, "Bridge interfaces")
};
