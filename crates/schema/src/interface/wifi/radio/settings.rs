//! `/interface/wifi/radio/settings`: settings of radios.

use menu::{Kind, Menu};

use crate::declare::optional;
use crate::fragment::idle_settings;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        optional(
            "external-antenna",
            Kind::Words(&["a", "b", "both", "none"]),
            "External antennas",
        ),
        optional(
            "wifi-band",
            Kind::Words(&["2ghz", "5ghz", "6ghz"]),
            "Band of a multi-band radio",
        ),
    ]],
    ..idle_settings("/interface/wifi/radio/settings", "Radio settings")
};
