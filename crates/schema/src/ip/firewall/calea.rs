//! `/ip/firewall/calea`: packet copies for lawful interception.

use menu::{Effect, Menu, MenuShape, Property};

use crate::declare::{IPV4, PORT, RULE_FLAGS, U32, optional};
use crate::firewall as fw;

const ACTION: &[Property] = &[
    optional("sniff-id", U32, "CALEA case identifier"),
    optional(
        "sniff-target",
        IPV4,
        "Address to which copies of packets are sent",
    ),
    optional(
        "sniff-target-port",
        PORT,
        "Port to which copies of packets are sent",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &fw::head(
            &fw::chains(&["forward", "input", "output"]),
            &["sniff", "sniff-pc"],
        ),
        ACTION,
        fw::TLS,
        fw::TRACKED_V4,
    ],
    flags: RULE_FLAGS,
    stats: fw::HITS,
    commands: fw::COMMANDS,
    effect: Effect::None,
    ..Menu::new(
        "/ip/firewall/calea",
        MenuShape::Ordered,
        "Copies for lawful interception",
    )
};
