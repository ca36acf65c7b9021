//! `/routing/mme`: the mesh protocol MME of RouterOS 6.

pub(crate) mod interface;
pub(crate) mod network;

use menu::Menu;

use crate::declare::{ipv4, number, span, words};
use crate::fragment::idle_settings;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        span("origination-interval", "How often others are told").default("5s"),
        span("timeout", "After which silence a router is gone").default("1m"),
        number(
            "bidirectional-timeout",
            1,
            65_535,
            "Messages until a link counts as one way",
        )
        .default("2"),
        number("ttl", 1, 255, "How far messages go").default("50"),
        words("gateway-class", CLASSES, "What kind of gateway this is").default("none"),
        words("gateway-selection", SELECTIONS, "Which gateway is chosen").default("no-gateway"),
        span("gateway-keepalive", "How often it is asked").default("1m"),
        ipv4("preferred-gateway", "The gateway that is preferred").default("0.0.0.0"),
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
