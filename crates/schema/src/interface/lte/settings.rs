//! `/interface/lte/settings`: settings of all mobile modems.

use menu::{Kind, Menu, Property};

use crate::declare::{text, words};
use crate::fragment::idle_settings;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        words("mode", &["auto", "mbim", "serial"], "Modem mode").default("auto"),
        text("firmware-path", "Folder of modem firmware"),
        Property::new(
            "link-recovery-timer",
            Kind::Or(
                &["disabled"],
                &Kind::Number {
                    min: 0,
                    max: 4_294_967_295,
                },
            ),
            "Seconds before a modem without a network is restarted",
        )
        .default("120"),
        words(
            "esim-channel",
            &["at", "auto", "mbim", "qmi"],
            "eSIM channel",
        )
        .default("auto"),
        Property::new(
            "info-polling-interval",
            Kind::Or(&["disabled"], &Kind::SPAN),
            "Polling interval of modems",
        )
        .optional(),
    ]],
    ..idle_settings("/interface/lte/settings", "LTE settings")
};
