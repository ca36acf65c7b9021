//! `/zerotier`: ZeroTier virtual networks.

use menu::{Effect, Family, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{PORT, U32, between, no, shown, text, yes};
use crate::fragment::COMMENT_DISABLED;

const INSTANCE: Kind = Kind::Reference("zerotier");
const TO_ROUTES: Kind = Kind::List(&Kind::Text);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the instance").required(),
            Property::new("port", PORT, "UDP port").default("9993"),
            Property::new("identity", Kind::Text, "Identity of the instance")
                .optional()
                .sensitive(),
            Property::new(
                "interfaces",
                Kind::List(&Kind::Or(&["all"], &Kind::Reference("interface"))),
                "Interfaces in use",
            )
            .default("all"),
            Property::new(
                "route-distance",
                between(1, 255),
                "Distance of routes set by the controller",
            )
            .default("1"),
            shown("identity.public", Kind::Text, "Identity.public"),
            shown("state", Kind::Text, "State"),
            shown("moons", Kind::List(&Kind::Text), "Moons"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 1),
        Flag::new('R', "online", 1),
        Flag::new('F', "tcp-fallback", 1),
    ],
    columns: &["name", "port", "interfaces"],
    space: Some("zerotier"),
    key: Some("name"),
    parts: 4,
    effect: Effect::None,
    ..Menu::new("/zerotier", MenuShape::List, "Instances of ZeroTier")
};

pub(crate) static INTERFACE: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            Property::new(
                "arp-timeout",
                Kind::Or(&["auto"], &Kind::SPAN),
                "ARP entry timeout",
            )
            .default("auto"),
            yes(
                "disable-running-check",
                "Consider the interface running at all times",
            ),
            Property::new("network", Kind::Name, "The network to join").required(),
            Property::new("instance", INSTANCE, "The instance").required(),
            yes(
                "allow-managed",
                "Accept addresses and routes of the controller",
            ),
            no(
                "allow-global",
                "Accept public addresses and routes of the controller",
            ),
            no("allow-default", "Accept a default route of the controller"),
            Property::new("mac-address", Kind::Mac, "Hardware address").optional(),
            shown("mtu", U32, "Mtu"),
            shown("bridge", Kind::Bool, "Bridge"),
            shown("dhcp", Kind::Bool, "DHCP"),
            shown("network-name", Kind::Text, "Network name"),
            shown("status", Kind::Text, "Status"),
            shown("type", Kind::Text, "Type"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('D', "dynamic", 0),
        Flag::new('X', "disabled", 1),
        Flag::new('R', "running", 1),
    ],
    columns: &["name", "mac-address", "network", "instance"],
    space: Some("interface"),
    key: Some("name"),
    kind: "zerotier",
    naming: "zerotier",
    effect: Effect::None,
    ..Menu::new("/zerotier/interface", MenuShape::List, "Virtual interfaces")
};

pub(crate) static PEER: Menu = Menu {
    properties: &[&[
        shown("instance", Kind::Text, "Instance"),
        shown("zt-address", Kind::Text, "ZeroTier address"),
        shown("bonded", Kind::Bool, "Bonded"),
        shown("latency", Kind::SPAN, "Latency"),
        shown("role", Kind::Text, "Role"),
        shown("path", Kind::List(&Kind::Text), "Path"),
    ]],
    flags: &[Flag::new('B', "bonded", 1)],
    columns: &["instance", "zt-address", "latency", "role", "path"],
    effect: Effect::None,
    ..Menu::new("/zerotier/peer", MenuShape::Rows, "ZeroTier peers")
};

pub(crate) static CONTROLLER: Menu = Menu {
    properties: &[
        &[
            Property::new("instance", INSTANCE, "The instance").required(),
            Property::new("name", Kind::Name, "Name of the network").required(),
            Property::new("network", Kind::Text, "Identifier of the network").optional(),
            yes("private", "Members need authorization"),
            yes("broadcast", "Forward broadcasts"),
            Property::new("mtu", between(1_280, 10_000), "Maximum transmission unit")
                .default("2800"),
            Property::new(
                "multicast-limit",
                U32,
                "Maximum number of recipients of a multicast",
            )
            .default("32"),
            Property::new(
                "ip-range",
                Kind::Addresses(Family::V4),
                "IPv4 addresses of members",
            )
            .optional(),
            Property::new(
                "ip6-range",
                Kind::Addresses(Family::V6),
                "IPv6 addresses of members",
            )
            .optional(),
            no("ip6-rfc4193", "Assign members RFC 4193 addresses"),
            no("ip6-6plane", "Assign members 6PLANE networks"),
            Property::new("routes", TO_ROUTES, "Routes of members").default(""),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1), Flag::new('I', "inactive", 1)],
    columns: &["name", "instance", "network", "private"],
    space: Some("zerotier-network"),
    key: Some("name"),
    effect: Effect::None,
    ..Menu::new(
        "/zerotier/controller",
        MenuShape::List,
        "Networks controlled by this router",
    )
};

pub(crate) static MEMBER: Menu = Menu {
    properties: &[
        &[
            text("name", "Name of the member"),
            Property::new(
                "network",
                Kind::Reference("zerotier-network"),
                "The network",
            )
            .required(),
            Property::new("zt-address", Kind::Digits, "Address of the member").required(),
            no("authorized", "Whether the member is authorized"),
            no("bridge", "Allow the member to bridge"),
            Property::new(
                "ip-address",
                Kind::List(&Kind::Address(Family::Any)),
                "Addresses of the member",
            )
            .default(""),
            shown("lost", Kind::Bool, "Lost"),
            shown("last-seen", Kind::SPAN, "Last seen"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 1),
        Flag::new('I', "inactive", 1),
        Flag::new('A', "authorized", 1),
        Flag::new('B', "bridge", 1),
    ],
    columns: &["network", "zt-address", "name", "authorized", "ip-address"],
    effect: Effect::None,
    ..Menu::new(
        "/zerotier/controller/member",
        MenuShape::List,
        "Members of networks",
    )
};
