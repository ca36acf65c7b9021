//! `/interface/ethernet/switch/l3hw-settings`: layer 3 hardware offload.

use menu::{Kind, Menu};

use crate::declare::{no, number, shown, span, yes};
use crate::fragment::idle_settings;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        yes("autorestart", "Restart the offload after an error"),
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
            "Neighbour discovery interval in seconds",
        )
        .default("2"),
        number(
            "neigh-discovery-burst-limit",
            0,
            4_294_967_295,
            "Number of neighbours per discovery burst",
        )
        .default("64"),
        number(
            "neigh-discovery-burst-delay",
            0,
            4_294_967_295,
            "Delay between discovery bursts in milliseconds",
        )
        .default("300"),
        number(
            "neigh-dump-retries",
            0,
            4_294_967_295,
            "Number of attempts to read the neighbour table",
        )
        .default("5"),
        number(
            "neigh-keepalive-interval",
            0,
            4_294_967_295,
            "Neighbour timeout without traffic in seconds",
        )
        .default("15"),
        shown(
            "hw-route-count",
            Kind::COUNTER,
            "Number of offloaded routes",
        ),
    ]],
    ..idle_settings(
        "/interface/ethernet/switch/l3hw-settings",
        "Layer 3 hardware offload settings",
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
            "Changes before the shortest offloaded prefix is recalculated",
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
        span("neigh-discovery-interval", "Neighbour discovery interval").default("1m37s"),
        number(
            "neigh-discovery-burst-limit",
            0,
            COUNT,
            "Number of neighbours per discovery burst",
        )
        .default("64"),
        span(
            "neigh-discovery-burst-delay",
            "Delay between discovery bursts",
        )
        .default("300ms"),
        number(
            "neigh-dump-retries",
            0,
            COUNT,
            "Number of attempts to read the neighbour table",
        )
        .default("5"),
    ]],
    ..idle_settings(
        "/interface/ethernet/switch/l3hw-settings/advanced",
        "Advanced layer 3 hardware offload settings",
    )
};

const COUNT: i64 = 4_294_967_295;
