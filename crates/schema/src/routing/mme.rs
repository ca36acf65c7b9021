//! `/routing/mme`: the mesh protocol MME of RouterOS 6.

pub(crate) mod interface;
pub(crate) mod network;

use menu::Menu;

use crate::declare::{ipv4, number, span, words};
use crate::fragment::idle_settings;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        span("origination-interval", "Interval of originator messages").default("5s"),
        span("timeout", "Time after which a silent router is removed").default("1m"),
        number(
            "bidirectional-timeout",
            1,
            65_535,
            "Number of messages after which a link is considered unidirectional",
        )
        .default("2"),
        number("ttl", 1, 255, "Time to live of messages").default("50"),
        words("gateway-class", CLASSES, "Gateway class of this router").default("none"),
        words("gateway-selection", SELECTIONS, "Choice of the gateway").default("no-gateway"),
        span("gateway-keepalive", "Keepalive interval of the gateway").default("1m"),
        ipv4("preferred-gateway", "Preferred gateway").default("0.0.0.0"),
    ]],
    older: true,
    ..idle_settings("/routing/mme", "Version 6: mesh protocol")
};

const CLASSES: &[&str] = &[
    "1-mbit",
    "128-kbit",
    "2-mbit",
    "256-kbit",
    "3-mbit",
    "5-mbit",
    "512-kbit",
    "6-mbit",
    "64-kbit",
    "greater-than-6-mbit",
    "none",
    "56-kbit",
];
const SELECTIONS: &[&str] = &["best-adjusted", "best-statistic", "no-gateway"];
