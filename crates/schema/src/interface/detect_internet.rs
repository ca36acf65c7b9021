//! `/interface/detect-internet`: detection of interfaces with Internet access.

pub(crate) mod state;

use menu::{Kind, Menu, Property};

use crate::declare::within;
use crate::fragment::idle_settings;

const fn lists(name: &'static str, help: &'static str) -> Property {
    let kind = Kind::Or(&["none"], &Kind::Reference("interface-list"));
    Property::new(name, kind, help).default("none")
}

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        lists("detect-interface-list", "Interfaces that are looked at"),
        lists(
            "lan-interface-list",
            "The list that LAN interfaces are put into",
        ),
        lists(
            "wan-interface-list",
            "The list that WAN interfaces are put into",
        ),
        lists(
            "internet-interface-list",
            "The list that interfaces to the Internet are put into",
        ),
        within(
            "request-interval",
            60_000,
            86_400_000,
            "How often they are looked at",
        )
        .default("1m"),
    ]],
    off: Some(("detect-interface-list", "none")),
    ..idle_settings("/interface/detect-internet", "Detection of the Internet")
};
