//! `/ip/kid-control/device`: what children use.

use menu::{Effect, Flag, Kind, Menu, Property, Shape};

use crate::brief::{ONLY_DISABLED, count, may, on_items, read};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the device"),
            may("mac-address", Kind::Mac, "The device's hardware address"),
            may("user", Kind::Reference("kid"), "The child"),
            read("ip-address", Kind::Text, "The device's addresses"),
            read("activity", Kind::Text, "What the device does"),
            count("rate-down", "Bits a second to the device"),
            count("rate-up", "Bits a second from the device"),
            count("bytes-down", "Bytes to the device"),
            count("bytes-up", "Bytes from the device"),
            read("idle-time", Kind::SPAN, "How long the device is silent"),
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
    ..Menu::new("/ip/kid-control/device", Shape::List, "What children use")
};
