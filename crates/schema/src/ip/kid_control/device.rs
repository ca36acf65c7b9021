//! `/ip/kid-control/device`: devices of children.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{ONLY_DISABLED, counter, on_items, optional, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the device"),
            optional("mac-address", Kind::Mac, "The device's hardware address"),
            optional("user", Kind::Reference("kid"), "The child"),
            shown("ip-address", Kind::Text, "The device's addresses"),
            shown("activity", Kind::Text, "Current activity of the device"),
            counter("rate-down", "Rate to the device in bits per second"),
            counter("rate-up", "Rate from the device in bits per second"),
            counter("bytes-down", "Bytes to the device"),
            counter("bytes-up", "Bytes from the device"),
            shown("idle-time", Kind::SPAN, "Idle time of the device"),
        ],
        ONLY_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('D', "dynamic", 0),
        Flag::new('B', "blocked", 1),
        Flag::new('L', "limited", 2),
        Flag::new('I', "inactive", 3),
    ],
    columns: &[
        "name",
        "user",
        "mac-address",
        "ip-address",
        "rate-down",
        "rate-up",
    ],
    commands: &[on_items("reset-counters", "Reset counters of devices")],
    effect: Effect::None,
    ..Menu::new(
        "/ip/kid-control/device",
        MenuShape::List,
        "Devices of children",
    )
};
