//! `/caps-man/aaa`: RADIUS attributes for wireless clients of CAPs.

use menu::{Kind, Menu, Property};

use crate::declare::words;
use crate::fragment::idle_settings;
use crate::interface::dot1x::server::MAC_FORMATS;

const TIME: Kind = Kind::Or(&["disabled"], &Kind::SPAN);
const CALLED: &[&str] = &["mac", "mac:ssid", "ssid"];

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        words("mac-format", MAC_FORMATS, "How addresses are spelled").default("XX:XX:XX:XX:XX:XX"),
        words(
            "mac-mode",
            &["as-username", "as-username-and-password"],
            "What they are",
        )
        .default("as-username"),
        Property::new("mac-caching", TIME, "How long it is believed").default("disabled"),
        Property::new("interim-update", TIME, "How often it is told").default("disabled"),
        words("called-format", CALLED, "What the radio is called").default("mac:ssid"),
    ]],
    ..idle_settings("/caps-man/aaa", "RADIUS for other devices' clients")
};
