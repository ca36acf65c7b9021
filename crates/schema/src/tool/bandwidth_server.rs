//! `/tool/bandwidth-server`: server for bandwidth tests.

use menu::{Family, Kind, Menu, MenuShape, Property};

use crate::declare::{NUMBERS, U32, between, command, shown, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        yes("enabled", "Enable the bandwidth test server"),
        yes("authenticate", "Require name and password"),
        Property::new(
            "allocate-udp-ports-from",
            between(1_000, 64_000),
            "First UDP port for tests",
        )
        .default("2000"),
        Property::new(
            "max-sessions",
            between(1, 1_000),
            "Maximum number of concurrent tests",
        )
        .default("100"),
        Property::new(
            "allowed-addresses4",
            Kind::List(&Kind::Prefix(Family::V4)),
            "IPv4 networks with access; all if empty",
        )
        .default(""),
        Property::new(
            "allowed-addresses6",
            Kind::List(&Kind::Prefix(Family::V6)),
            "IPv6 networks with access; all if empty",
        )
        .default(""),
    ]],
    off: Some(("enabled", "no")),
    ..Menu::new(
        "/tool/bandwidth-server",
        MenuShape::Settings,
        "Bandwidth test server",
    )
};

pub(crate) static SESSION: Menu = Menu {
    properties: &[&[
        shown("client", Kind::Address(Family::Any), "Client"),
        shown("protocol", Kind::Words(&["udp", "tcp"]), "Protocol"),
        shown(
            "direction",
            Kind::Words(&["receive", "send", "both"]),
            "Direction",
        ),
        shown("user", Kind::Text, "User"),
        shown("random-data", Kind::Bool, "Random data"),
        shown("tx-current", U32, "Current transmit rate"),
        shown(
            "tx-10-second-average",
            U32,
            "Average transmit rate over 10 seconds",
        ),
        shown("tx-total-average", U32, "Average transmit rate"),
        shown("rx-current", U32, "Current receive rate"),
        shown(
            "rx-10-second-average",
            U32,
            "Average receive rate over 10 seconds",
        ),
        shown("rx-total-average", U32, "Average receive rate"),
        shown("lost-packets", U32, "Lost packets"),
        shown("tx-size", Kind::Text, "Size of transmitted packets"),
        shown("rx-size", Kind::Text, "Size of received packets"),
        shown("tcp-connection-count", U32, "TCP connection count"),
        shown("local-tx-speed", U32, "Local transmit rate"),
        shown("remote-tx-speed", U32, "Remote transmit rate"),
    ]],
    columns: &["client", "protocol", "direction", "user"],
    commands: &[command("remove", "End tests", &[NUMBERS])],
    ..Menu::new(
        "/tool/bandwidth-server/session",
        MenuShape::Rows,
        "Running tests",
    )
};
