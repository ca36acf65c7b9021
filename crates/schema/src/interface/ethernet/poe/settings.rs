//! `/interface/ethernet/poe/settings`: settings of power over Ethernet.

use menu::Menu;

use crate::declare::{no, number};
use crate::fragment::idle_settings;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("ether1-poe-in-long-cable", "Extended range"),
        number(
            "psu1-max-power",
            0,
            100_000,
            "Maximum power of the first supply in watts",
        )
        .optional(),
        number(
            "psu2-max-power",
            0,
            100_000,
            "Maximum power of the second supply in watts",
        )
        .optional(),
        number(
            "psu-max-power",
            0,
            100_000,
            "Maximum power of the supply in watts",
        )
        .optional(),
        number(
            "jack-max-power",
            0,
            100_000,
            "Maximum power of the DC jack in watts",
        )
        .optional(),
        number(
            "jack1-max-power",
            0,
            100_000,
            "Maximum power of the first DC jack in watts",
        )
        .optional(),
        number(
            "jack2-max-power",
            0,
            100_000,
            "Maximum power of the second DC jack in watts",
        )
        .optional(),
        number(
            "2pin-max-power",
            0,
            100_000,
            "Maximum power of the 2-pin terminal in watts",
        )
        .optional(),
        number(
            "2pin1-max-power",
            0,
            100_000,
            "Maximum power of the first 2-pin terminal in watts",
        )
        .optional(),
        number(
            "2pin2-max-power",
            0,
            100_000,
            "Maximum power of the second 2-pin terminal in watts",
        )
        .optional(),
        number(
            "poe-in-max-power",
            0,
            100_000,
            "Maximum power of the PoE input in watts",
        )
        .optional(),
    ]],
    older: true,
    ..idle_settings(
        "/interface/ethernet/poe/settings",
        "Power over Ethernet settings",
    )
};
