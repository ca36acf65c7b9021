//! `/interface/bonding`: link aggregation (IEEE 802.1AX).

use menu::{Command, Effect, Family, Flag, Kind, Menu, MenuShape, Property};

use super::RESET_COUNTERS;
use crate::declare::{NUMBERS, ONCE, list, mac, number, shown, span, words};
use crate::fragment::{
    ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES, name_mtu,
};

const MODES: &[&str] = &[
    "802.3ad",
    "active-backup",
    "balance-alb",
    "balance-rr",
    "balance-tlb",
    "balance-xor",
    "broadcast",
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &name_mtu("1500"),
        &[shown("mac-address", Kind::Mac, "Hardware address")],
        ARP,
        &[
            list("slaves", &Kind::Reference("interface"), "The ports").default(""),
            words("mode", MODES, "Port selection policy").default("balance-rr"),
            Property::new(
                "primary",
                Kind::Or(&["none"], &Kind::Reference("interface")),
                "Primary port",
            )
            .default("none"),
            words(
                "link-monitoring",
                &["arp", "mii", "none"],
                "Link monitoring method",
            )
            .default("mii"),
            span("arp-interval", "Interval of ARP requests").default("100ms"),
            list("arp-ip-targets", &Kind::Address(Family::V4), "ARP targets").default(""),
            span("mii-interval", "Interval of link checks").default("100ms"),
            span("down-delay", "Delay before a failed port is disabled").default("0s"),
            span("up-delay", "Delay before a recovered port is enabled").default("0s"),
            words("lacp-rate", &["1sec", "30secs"], "LACP rate").default("30secs"),
            words("lacp-mode", &["active", "passive"], "LACP mode").default("active"),
            mac("lacp-system-id", "System identity of LACP").optional(),
            number("lacp-system-priority", 0, 65_535, "System priority of LACP").default("65535"),
            number("lacp-user-key", 0, 1_023, "Key of LACP").default("0"),
            number(
                "min-links",
                0,
                4_294_967_295,
                "Minimum number of active ports",
            )
            .default("0"),
            words(
                "transmit-hash-policy",
                &[
                    "encap-2-and-3",
                    "encap-3-and-4",
                    "layer-2",
                    "layer-2-and-3",
                    "layer-3-and-4",
                ],
                "Transmit hash policy",
            )
            .default("layer-2"),
            mac("forced-mac-address", "Configured MAC address").optional(),
            number("mlag-id", 0, 255, "MLAG identifier of the bond")
                .optional()
                .inert(),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "mac-address", "slaves", "mode"],
    naming: "bonding",
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('R', "running", 0),
        Flag::new('S', "slave", 1),
    ],
    commands: &[
        Command {
            name: "monitor",
            help: "Monitor the state of bonds",
            arguments: &[NUMBERS, ONCE],
            effect: Effect::Full,
            repeats: true,
        },
        Command {
            name: "monitor-slaves",
            help: "Monitor the ports of bonds",
            arguments: &[NUMBERS, ONCE],
            effect: Effect::Full,
            repeats: true,
        },
        RESET_COUNTERS,
    ],
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    kind: "bond",
    ..Menu::new(
        "/interface/bonding",
        MenuShape::List,
        "Bonds of several ports",
    )
};
