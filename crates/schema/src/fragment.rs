//! Properties that several menus share.

use menu::{Effect, Family, Flag, Kind, Menu, Property, Shape};

/// Seconds as nanoseconds.
pub(crate) const SECOND: i64 = 1_000_000_000;

/// A note for people.
pub(crate) const COMMENT: Property =
    Property::new("comment", Kind::COMMENT, "Short description of the item").default("");

/// A note, and whether the item counts.
pub(crate) const COMMENT_DISABLED: &[Property] = &[
    COMMENT,
    Property::new(
        "disabled",
        Kind::Bool,
        "Defines whether item is ignored or used",
    )
    .default("no"),
];

/// How an interface answers and asks for hardware addresses.
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
        "How long an entry is kept after its neighbour was last heard; auto takes the IP settings'",
    )
    .default("auto"),
];

/// Detection of layer 2 loops.
pub(crate) const LOOP_PROTECT: &[Property] = &[
    LOOP_PROTECT_ON,
    Property::new(
        "loop-protect-status",
        Kind::Words(&["disable", "off", "on"]),
        "Whether it is on, and whether the interface is disabled because of a loop",
    )
    .read_only(),
    LOOP_PROTECT_INTERVAL,
    LOOP_PROTECT_TIME,
];

/// The same of interfaces that have no frames.
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
    "How often loop protect packets are sent",
)
.default("5s");

const LOOP_PROTECT_TIME: Property = Property::new(
    "loop-protect-disable-time",
    Kind::SPAN,
    "How long the interface is disabled after a loop; 0 is forever",
)
.default("5m");

/// What an interface has carried.
pub(crate) const INTERFACE_COUNTERS: &[Property] = &[
    counter("rx-byte", "Received bytes"),
    counter("tx-byte", "Transmitted bytes"),
    counter("rx-packet", "Received packets"),
    counter("tx-packet", "Transmitted packets"),
    counter("rx-drop", "Received packets that were dropped"),
    counter("tx-drop", "Packets that were dropped before transmission"),
    counter("tx-queue-drop", "Packets that a queue dropped"),
    counter("rx-error", "Packets received with errors"),
    counter("tx-error", "Packets that failed to be transmitted"),
    counter("fp-rx-byte", "Bytes received by FastPath"),
    counter("fp-tx-byte", "Bytes transmitted by FastPath"),
    counter("fp-rx-packet", "Packets received by FastPath"),
    counter("fp-tx-packet", "Packets transmitted by FastPath"),
];

/// The columns of `print stats` for interfaces.
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

/// When the link went down and up.
pub(crate) const LINK_TIMES: &[Property] = &[
    Property::new(
        "last-link-down-time",
        Kind::Text,
        "When the link last went down",
    )
    .bare()
    .read_only(),
    Property::new(
        "last-link-up-time",
        Kind::Text,
        "When the link last came up",
    )
    .bare()
    .read_only(),
    Property::new("link-downs", Kind::COUNTER, "How often the link went down").read_only(),
];

/// A counter that `print stats` shows.
pub(crate) const fn counter(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::COUNTER, help).stats()
}

/// A reference to an interface that must be given.
pub(crate) const fn interface(help: &'static str) -> Property {
    Property::new("interface", Kind::Reference("interface"), help).required()
}

/// Where a route of one family leads.
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
            "Where the route leads; several share by flow",
        )
        .optional(),
        Property::new("immediate-gw", Kind::Text, "The gateways after resolution").read_only(),
        Property::new(
            "blackhole",
            Kind::Presence,
            "Silently drops what takes the route",
        )
        .optional(),
        Property::new(
            "type",
            Kind::Words(&["prohibit", "unreachable"]),
            "Drops what takes the route and tells the sender so",
        )
        .optional(),
    ]
}

/// There is no BFD: a gateway that it should check is taken to be reachable.
fn is_bfd(word: &str) -> bool {
    matches!(word, "bfd" | "bfd-multihop")
}

/// What routes of both families have besides.
pub(crate) const ROUTE: &[Property] = &[
    Property::new(
        "check-gateway",
        Kind::Words(&["arp", "bfd", "bfd-multihop", "none", "ping"]),
        "How to find out whether the gateway is reachable",
    )
    .inert_for(is_bfd)
    .optional(),
    Property::new(
        "distance",
        Kind::Number { min: 1, max: 255 },
        "The smallest distance wins",
    )
    .default("1"),
    Property::new(
        "scope",
        Kind::Number { min: 0, max: 255 },
        "Which routes may resolve by this one",
    )
    .default("30"),
    Property::new(
        "target-scope",
        Kind::Number { min: 0, max: 255 },
        "The greatest scope of a route that may resolve the gateway",
    )
    .default("10"),
    Property::new(
        "vrf-interface",
        Kind::Reference("interface"),
        "The interface of the VRF that the route leads out of",
    )
    .optional()
    .inert(),
    Property::new(
        "suppress-hw-offload",
        Kind::Bool,
        "Keeps the route from being offloaded to the switch",
    )
    .default("no")
    .inert(),
    Property::new("belongs-to", Kind::Text, "Who made the route").read_only(),
];

/// A note, and whether the item counts: it does not until told so.
pub(crate) const COMMENT_WAITING: &[Property] = &[
    COMMENT,
    Property::new(
        "disabled",
        Kind::Bool,
        "Defines whether item is ignored or used",
    )
    .default("yes"),
];

/// A note, and whether the item counts, where exports write what was said of that.
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

/// The letters of items that can be switched off, do not hold, or were made by the router.
pub(crate) const DISABLED_INVALID: &[Flag] = &[
    Flag::new('D', "dynamic", 0),
    Flag::new('X', "disabled", 1),
    Flag::new('I', "invalid", 1),
];

/// The same, and the letter of items that version 6 had from the start.
pub(crate) const INVALID_DEFAULT: &[Flag] = &[
    Flag::new('D', "dynamic", 0),
    Flag::new('X', "disabled", 1),
    Flag::new('I', "invalid", 1),
    Flag::new('*', "default", 2),
];

/// A list with items whose feature is not there.
pub(crate) const fn idle_list(path: &'static str, help: &'static str) -> Menu {
    Menu {
        effect: Effect::None,
        ..Menu::new(path, Shape::List, help)
    }
}

/// A list in which order counts, with items whose feature is not there.
pub(crate) const fn idle_rules(path: &'static str, help: &'static str) -> Menu {
    Menu {
        effect: Effect::None,
        ..Menu::new(path, Shape::Ordered, help)
    }
}

/// Settings of a feature that is not there.
pub(crate) const fn idle_settings(path: &'static str, help: &'static str) -> Menu {
    Menu {
        effect: Effect::None,
        ..Menu::new(path, Shape::Settings, help)
    }
}

/// Rows that a feature which is not there would show.
pub(crate) const fn idle_rows(path: &'static str, help: &'static str) -> Menu {
    Menu {
        effect: Effect::None,
        ..Menu::new(path, Shape::Rows, help)
    }
}

/// Interfaces of a type that is not built yet.
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

/// The head of an interface that a device of the machine would have: `help` says of its own name whose
/// it is.
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

/// What an interface is called, and the MTU that it may be given.
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

/// Items that exist by themselves, of a feature that is not there.
pub(crate) const fn idle_fixed(path: &'static str, help: &'static str) -> Menu {
    Menu {
        effect: Effect::None,
        ..Menu::new(path, Shape::Fixed, help)
    }
}

/// How many properties lists have together.
pub(crate) const fn length(lists: &[&[Property]]) -> usize {
    let (mut total, mut list) = (0, 0);
    while list < lists.len() {
        total += lists[list].len();
        list += 1;
    }
    total
}

/// Lists of properties as one, so that menus can share what has several fragments; `N` is their
/// [`length`].
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
