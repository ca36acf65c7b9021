//! `/interface/lte/settings`: settings of all mobile modems.

use menu::{Kind, Menu, Property};

use crate::declare::{text, words};
use crate::fragment::idle_settings;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        words(
            "mode",
            &["auto", "mbim", "serial"],
            "How modems are spoken to",
        )
        .default("auto"),
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
            "Seconds after which a modem without a network is started again",
        )
        .default("120"),
        words(
            "esim-channel",
            &["at", "auto", "mbim", "qmi"],
            "How eSIMs are spoken to",
        )
        .default("auto"),
        Property::new(
            "info-polling-interval",
            Kind::Or(&["disabled"], &Kind::SPAN),
            "How often modems are asked",
        )
        .optional(),
    ]],
    ..idle_settings("/interface/lte/settings", "Mobile modems as a whole")
};
