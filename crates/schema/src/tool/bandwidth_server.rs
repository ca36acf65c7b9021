//! `/tool/bandwidth-server`: the other end of throughput tests.

use menu::{Effect, Family, Kind, Menu, Property, Shape};

use crate::short::{COUNT, NUMBERS, between, idle, shown, switch};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        switch("enabled", "yes", "Whether tests are answered"),
        switch("authenticate", "yes", "Asks for name and password"),
        Property::new(
            "allocate-udp-ports-from",
            between(1_000, 64_000),
            "The first UDP port that tests use",
        )
        .default("2000"),
        Property::new(
            "max-sessions",
            between(1, 1_000),
            "How many tests may run at once",
        )
        .default("100"),
        Property::new(
            "allowed-addresses4",
            Kind::List(&Kind::Prefix(Family::V4)),
            "IPv4 networks that may test; all if empty",
        )
        .default(""),
        Property::new(
            "allowed-addresses6",
            Kind::List(&Kind::Prefix(Family::V6)),
            "IPv6 networks that may test; all if empty",
        )
        .default(""),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/tool/bandwidth-server",
        Shape::Settings,
        "The other end of throughput tests",
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
        shown("tx-current", COUNT, "Transmitted current"),
        shown(
            "tx-10-second-average",
            COUNT,
            "Transmitted 10 second average",
        ),
        shown("tx-total-average", COUNT, "Transmitted total average"),
        shown("rx-current", COUNT, "Received current"),
        shown("rx-10-second-average", COUNT, "Received 10 second average"),
        shown("rx-total-average", COUNT, "Received total average"),
        shown("lost-packets", COUNT, "Lost packets"),
        shown("tx-size", Kind::Text, "Transmitted size"),
        shown("rx-size", Kind::Text, "Received size"),
        shown("tcp-connection-count", COUNT, "TCP connection count"),
        shown("local-tx-speed", COUNT, "Local transmitted speed"),
        shown("remote-tx-speed", COUNT, "Remote transmitted speed"),
    ]],
    columns: &["client", "protocol", "direction", "user"],
    commands: &[idle("remove", "Remove items", &[NUMBERS])],
    effect: Effect::None,
    ..Menu::new(
        "/tool/bandwidth-server/session",
        Shape::Rows,
        "Tests that run",
    )
};
