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
        lists("detect-interface-list", "Monitored interfaces"),
        lists("lan-interface-list", "Interface list for LAN interfaces"),
        lists("wan-interface-list", "Interface list for WAN interfaces"),
        lists(
            "internet-interface-list",
            "Interface list for Internet interfaces",
        ),
        within("request-interval", 60_000, 86_400_000, "Check interval").default("1m"),
    ]],
    off: Some(("detect-interface-list", "none")),
    ..idle_settings("/interface/detect-internet", "Detection of the Internet")
};
