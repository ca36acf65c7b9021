//! `/caps-man/aaa`: RADIUS attributes for wireless clients of CAPs.

use menu::{Kind, Menu, Property};

use crate::declare::words;
use crate::fragment::idle_settings;
use crate::interface::dot1x::server::MAC_FORMATS;

const TIME: Kind = Kind::Or(&["disabled"], &Kind::SPAN);
const CALLED: &[&str] = &["mac", "mac:ssid", "ssid"];

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        words("mac-format", MAC_FORMATS, "MAC address format").default("XX:XX:XX:XX:XX:XX"),
        words(
            "mac-mode",
            &["as-username", "as-username-and-password"],
            "MAC authentication mode",
        )
        .default("as-username"),
        Property::new("mac-caching", TIME, "Lifetime of cached answers").default("disabled"),
        Property::new(
            "interim-update",
            TIME,
            "Interim update interval of accounting",
        )
        .default("disabled"),
        words("called-format", CALLED, "Format of the NAS identifier").default("mac:ssid"),
    ]],
    ..idle_settings("/caps-man/aaa", "RADIUS for CAP clients")
};
