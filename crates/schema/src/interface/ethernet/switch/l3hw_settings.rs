//! `/interface/ethernet/switch/l3hw-settings`: how switch chips route.

use menu::{Kind, Menu};

use crate::fragment::idle_settings;
use crate::terms::{no, number, shown, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        yes("autorestart", "Starts again after an error"),
        yes(
            "fasttrack-hw",
            "Lets the chip carry FastTracked connections",
        ),
        yes("icmp-reply-on-error", "Tells senders of errors"),
        no("ipv6-hw", "Lets the chip route IPv6"),
        number(
            "neigh-discovery-interval",
            0,
            4_294_967_295,
            "Seconds between looks",
        )
        .default("2"),
        number(
            "neigh-discovery-burst-limit",
            0,
            4_294_967_295,
            "Neighbours at a time",
        )
        .default("64"),
        number(
            "neigh-discovery-burst-delay",
            0,
            4_294_967_295,
            "Milliseconds in between",
        )
        .default("300"),
        number(
            "neigh-dump-retries",
            0,
            4_294_967_295,
            "Tries to read neighbours",
        )
        .default("5"),
        number(
            "neigh-keepalive-interval",
            0,
            4_294_967_295,
            "Seconds of a neighbour",
        )
        .default("15"),
        shown("hw-route-count", Kind::COUNTER, "Routes in the chip"),
    ]],
    rank: 331,
    ..idle_settings(
        "/interface/ethernet/switch/l3hw-settings",
        "Routing in switch chips",
    )
};
