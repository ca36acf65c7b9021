//! `/interface/ethernet/switch/l3hw-settings`: layer 3 hardware offload.

use menu::{Kind, Menu};

use crate::declare::{no, number, shown, span, yes};
use crate::fragment::idle_settings;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        yes("autorestart", "Starts again after an error"),
        yes(
            "fasttrack-hw",
            "Hardware offload of FastTracked connections",
        ),
        yes("icmp-reply-on-error", "Send ICMP errors"),
        no("ipv6-hw", "Hardware offload of IPv6"),
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
    ..idle_settings(
        "/interface/ethernet/switch/l3hw-settings",
        "Routing in switch chips",
    )
};

pub(crate) static ADVANCED: Menu = Menu {
    properties: &[&[
        number(
            "route-queue-limit-high",
            0,
            COUNT,
            "Maximum number of pending routes",
        )
        .default("256"),
        number(
            "route-queue-limit-low",
            0,
            COUNT,
            "Threshold to offload more routes",
        )
        .default("0"),
        number(
            "shwp-reset-counter",
            0,
            COUNT,
            "Changes before the shortest prefix is searched again",
        )
        .default("128"),
        number(
            "partial-offload-chunk",
            0,
            COUNT,
            "Batch size of partial offload",
        )
        .default("1024"),
        span(
            "route-index-delay-min",
            "Minimum delay before routes are counted again",
        )
        .default("1s"),
        span(
            "route-index-delay-max",
            "Maximum delay before routes are counted again",
        )
        .default("10s"),
        span(
            "neigh-keepalive-interval",
            "Neighbour timeout without traffic",
        )
        .default("15s"),
        span(
            "neigh-discovery-interval",
            "Time between looks for neighbours",
        )
        .default("1m37s"),
        number(
            "neigh-discovery-burst-limit",
            0,
            COUNT,
            "Neighbours at a time",
        )
        .default("64"),
        span("neigh-discovery-burst-delay", "Time in between").default("300ms"),
        number("neigh-dump-retries", 0, COUNT, "Tries to read neighbours").default("5"),
    ]],
    ..idle_settings(
        "/interface/ethernet/switch/l3hw-settings/advanced",
        "Offload of routes and neighbours",
    )
};

const COUNT: i64 = 4_294_967_295;
