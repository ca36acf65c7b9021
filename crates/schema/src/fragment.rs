//! Property fragments shared by several menus.

use menu::{Effect, Family, Flag, Kind, Menu, MenuShape, Property};

/// Nanoseconds per second.
pub(crate) const SECOND: i64 = 1_000_000_000;

/// The comment of an item.
pub(crate) const COMMENT: Property =
    Property::new("comment", Kind::COMMENT, "Short description of the item").default("");

/// Comment and disabled flag.
pub(crate) const COMMENT_DISABLED: &[Property] = &[
    COMMENT,
    Property::new(
        "disabled",
        Kind::Bool,
        "Defines whether item is ignored or used",
    )
    .default("no"),
];

/// ARP mode of an interface.
pub(crate) const ARP: &[Property] = &[
    Property::new(
        "arp",
        Kind::Words(&[
            "disabled",
            "enabled",
            "local-proxy-arp",
            "proxy-arp",
            "reply-only",
        ]),
        "Address resolution protocol to use",
    )
    .default("enabled"),
    Property::new(
        "arp-timeout",
        Kind::Or(&["auto"], &Kind::SPAN),
        "ARP entry timeout; auto: as in the IP settings",
    )
    .default("auto"),
];

/// Loop protection.
pub(crate) const LOOP_PROTECT: &[Property] = &[
    LOOP_PROTECT_ON,
    Property::new(
        "loop-protect-status",
        Kind::Words(&["disable", "off", "on"]),
        "Loop protection state: off, on, or disabled by a loop",
    )
    .read_only(),
    LOOP_PROTECT_INTERVAL,
    LOOP_PROTECT_TIME,
];

/// Loop protection of interfaces without Ethernet frames; without effect.
pub(crate) const IDLE_LOOP_PROTECT: &[Property] = &[
    LOOP_PROTECT_ON.inert(),
    LOOP_PROTECT_INTERVAL.inert(),
    LOOP_PROTECT_TIME.inert(),
];

const LOOP_PROTECT_ON: Property = Property::new(
    "loop-protect",
    Kind::Words(&["default", "off", "on"]),
    "Enables loop protection; default is off",
)
.default("default");

const LOOP_PROTECT_INTERVAL: Property = Property::new(
    "loop-protect-send-interval",
    Kind::Time {
        min: SECOND,
        max: i64::MAX,
    },
    "Interval of loop protect packets",
)
.default("5s");

const LOOP_PROTECT_TIME: Property = Property::new(
    "loop-protect-disable-time",
    Kind::SPAN,
    "How long a loop disables the interface; 0: permanently",
)
.default("5m");

/// Traffic counters of an interface.
pub(crate) const INTERFACE_COUNTERS: &[Property] = &[
    counter("rx-byte", "Received bytes"),
    counter("tx-byte", "Transmitted bytes"),
    counter("rx-packet", "Received packets"),
    counter("tx-packet", "Transmitted packets"),
    counter("rx-drop", "Dropped received packets"),
    counter("tx-drop", "Packets dropped before transmission"),
    counter("tx-queue-drop", "Packets dropped by a queue"),
    counter("rx-error", "Packets received with errors"),
    counter("tx-error", "Transmit errors"),
    counter("fp-rx-byte", "Bytes received by FastPath"),
    counter("fp-tx-byte", "Bytes transmitted by FastPath"),
    counter("fp-rx-packet", "Packets received by FastPath"),
    counter("fp-tx-packet", "Packets transmitted by FastPath"),
];

/// Columns of `print stats` for interfaces.
pub(crate) const INTERFACE_STATS: &[&str] = &[
    "name",
    "rx-byte",
    "tx-byte",
    "rx-packet",
    "tx-packet",
    "rx-drop",
    "tx-drop",
    "tx-queue-drop",
    "rx-error",
    "tx-error",
];

/// Times of the last link changes.
pub(crate) const LINK_TIMES: &[Property] = &[
    Property::new(
        "last-link-down-time",
        Kind::Text,
        "Time of the last link loss",
    )
    .bare()
    .read_only(),
    Property::new("last-link-up-time", Kind::Text, "Time of the last link up")
        .bare()
        .read_only(),
    Property::new("link-downs", Kind::COUNTER, "Number of link losses").read_only(),
];

/// A counter shown by `print stats`.
pub(crate) const fn counter(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::COUNTER, help).stats()
}

/// A required reference to an interface.
pub(crate) const fn interface(help: &'static str) -> Property {
    Property::new("interface", Kind::Reference("interface"), help).required()
}

/// Destination and gateway of a route.
pub(crate) const fn route(
    family: Family,
    destination: &'static str,
    gateways: &'static Kind,
) -> [Property; 7] {
    [
        Property::new(
            "dst-address",
            Kind::Prefix(family),
            "Destination of the route",
        )
        .default(destination),
        Property::new(
            "routing-table",
            Kind::Reference("routing-table"),
            "The table of the route",
        )
        .default("main"),
        Property::new(
            "pref-src",
            Kind::Address(family),
            "Source address of the router's own packets",
        )
        .optional(),
        Property::new(
            "gateway",
            Kind::List(gateways),
            "Gateway; several gateways share the load by flow",
        )
        .optional(),
        Property::new(
            "immediate-gw",
            Kind::Text,
            "Resolved gateways and interfaces",
        )
        .read_only(),
        Property::new("blackhole", Kind::Presence, "Drop packets silently").optional(),
        Property::new(
            "type",
            Kind::Words(&["prohibit", "unreachable"]),
            "Drop packets and notify the sender",
        )
        .optional(),
    ]
}

/// BFD is not implemented: a gateway checked by BFD counts as reachable.
fn is_bfd(word: &str) -> bool {
    matches!(word, "bfd" | "bfd-multihop")
}

/// Further properties of IPv4 and IPv6 routes.
pub(crate) const ROUTE: &[Property] = &[
    Property::new(
        "check-gateway",
        Kind::Words(&["arp", "bfd", "bfd-multihop", "none", "ping"]),
        "Gateway check method",
    )
    .inert_for(is_bfd)
    .optional(),
    Property::new(
        "distance",
        Kind::Number { min: 1, max: 255 },
        "Administrative distance; the smallest wins",
    )
    .default("1"),
    Property::new(
        "scope",
        Kind::Number { min: 0, max: 255 },
        "Scope for gateway resolution",
    )
    .default("30"),
    Property::new(
        "target-scope",
        Kind::Number { min: 0, max: 255 },
        "Maximum scope of routes that resolve the gateway",
    )
    .default("10"),
    Property::new(
        "vrf-interface",
        Kind::Reference("interface"),
        "Interface of the VRF for the next hop",
    )
    .optional()
    .inert(),
    Property::new(
        "suppress-hw-offload",
        Kind::Bool,
        "Do not offload the route to the switch",
    )
    .default("no")
    .inert(),
    Property::new("belongs-to", Kind::Text, "Origin of the route").read_only(),
];

/// Comment and disabled flag; disabled by default.
pub(crate) const COMMENT_WAITING: &[Property] = &[
    COMMENT,
    Property::new(
        "disabled",
        Kind::Bool,
        "Defines whether item is ignored or used",
    )
    .default("yes"),
];

/// Comment and disabled flag, which exports write if it was set.
pub(crate) const COMMENT_SAID: &[Property] = &[
    COMMENT,
    Property::new(
        "disabled",
        Kind::Bool,
        "Defines whether item is ignored or used",
    )
    .optional(),
];

pub(crate) use crate::declare::{DISABLED, DISABLED_DYNAMIC};

/// Flags of dynamic, disabled and invalid items.
pub(crate) const DISABLED_INVALID: &[Flag] = &[
    Flag::new('D', "dynamic", 0),
    Flag::new('X', "disabled", 1),
    Flag::new('I', "invalid", 1),
];

/// Flags of dynamic, disabled, invalid and default items; RouterOS 6 had default items.
pub(crate) const INVALID_DEFAULT: &[Flag] = &[
    Flag::new('D', "dynamic", 0),
    Flag::new('X', "disabled", 1),
    Flag::new('I', "invalid", 1),
    Flag::new('*', "default", 2),
];

/// A list menu without effect.
pub(crate) const fn idle_list(path: &'static str, help: &'static str) -> Menu {
    Menu {
        effect: Effect::None,
        ..Menu::new(path, MenuShape::List, help)
    }
}

/// An ordered list menu without effect.
pub(crate) const fn idle_rules(path: &'static str, help: &'static str) -> Menu {
    Menu {
        effect: Effect::None,
        ..Menu::new(path, MenuShape::Ordered, help)
    }
}

/// A settings menu without effect.
pub(crate) const fn idle_settings(path: &'static str, help: &'static str) -> Menu {
    Menu {
        effect: Effect::None,
        ..Menu::new(path, MenuShape::Settings, help)
    }
}

/// A menu of read-only rows without effect.
pub(crate) const fn idle_rows(path: &'static str, help: &'static str) -> Menu {
    Menu {
        effect: Effect::None,
        ..Menu::new(path, MenuShape::Rows, help)
    }
}

/// An interface menu without effect.
pub(crate) const fn idle_interfaces(
    path: &'static str,
    kind: &'static str,
    help: &'static str,
) -> Menu {
    Menu {
        flags: crate::interface::FLAGS,
        stats: INTERFACE_STATS,
        space: Some("interface"),
        key: Some("name"),
        kind,
        commands: crate::interface::IDLE_COMMANDS,
        ..idle_list(path, help)
    }
}

/// Common properties of hardware interfaces that ferroute does not support. `help` describes the property
/// `default-name`.
pub(crate) const fn idle_port(help: &'static str) -> [Property; 5] {
    use crate::declare::{mac, number, shown};
    [
        Property::new("name", Kind::Name, "Name of the interface"),
        shown("default-name", Kind::Text, help),
        number("mtu", 68, 65_535, "Maximum transmission unit of layer 3").default("1500"),
        number("l2mtu", 0, 65_535, "Maximum transmission unit of layer 2").optional(),
        mac("mac-address", "Hardware address").optional(),
    ]
}

/// Name and MTU of an interface.
pub(crate) const fn name_mtu(default: &'static str) -> [Property; 2] {
    [
        Property::new("name", Kind::Name, "Name of the interface"),
        Property::new(
            "mtu",
            Kind::Or(
                &["auto"],
                &Kind::Number {
                    min: 0,
                    max: 65_535,
                },
            ),
            "Maximum transmission unit of layer 3",
        )
        .default(default),
    ]
}

/// A menu of fixed items without effect.
pub(crate) const fn idle_fixed(path: &'static str, help: &'static str) -> Menu {
    Menu {
        effect: Effect::None,
        ..Menu::new(path, MenuShape::Fixed, help)
    }
}

/// Returns the total number of properties of several fragments.
pub(crate) const fn length(lists: &[&[Property]]) -> usize {
    let (mut total, mut list) = (0, 0);
    while list < lists.len() {
        total += lists[list].len();
        list += 1;
    }
    total
}

/// Joins fragments to one; `N` must be their [`length`].
pub(crate) const fn join<const N: usize>(lists: &[&[Property]]) -> [Property; N] {
    let mut joined = [COMMENT; N];
    let (mut at, mut list) = (0, 0);
    while list < lists.len() {
        let mut place = 0;
        while place < lists[list].len() {
            joined[at] = lists[list][place];
            at += 1;
            place += 1;
        }
        list += 1;
    }
    joined
}
