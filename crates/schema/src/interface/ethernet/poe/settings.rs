//! `/interface/ethernet/poe/settings`: settings of power over Ethernet.

use menu::Menu;

use crate::declare::{no, number};
use crate::fragment::idle_settings;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("ether1-poe-in-long-cable", "Extended range"),
        number("psu1-max-power", 0, 100_000, "Watts of the first supply").optional(),
        number("psu2-max-power", 0, 100_000, "Watts of the second supply").optional(),
        number("psu-max-power", 0, 100_000, "Watts of the only supply").optional(),
        number("jack-max-power", 0, 100_000, "Watts of the jack").optional(),
        number("jack1-max-power", 0, 100_000, "Watts of the first jack").optional(),
        number("jack2-max-power", 0, 100_000, "Watts of the second jack").optional(),
        number("2pin-max-power", 0, 100_000, "Watts of the terminal").optional(),
        number("2pin1-max-power", 0, 100_000, "Watts of the first terminal").optional(),
        number(
            "2pin2-max-power",
            0,
            100_000,
            "Watts of the second terminal",
        )
        .optional(),
        number("poe-in-max-power", 0, 100_000, "Power consumption in watts").optional(),
    ]],
    older: true,
    ..idle_settings(
        "/interface/ethernet/poe/settings",
        "Power over Ethernet as a whole",
    )
};
