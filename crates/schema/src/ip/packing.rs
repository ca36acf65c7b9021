//! `/ip/packing`: packet packing between two MikroTik routers.

use menu::{Effect, Kind, Menu, MenuShape};

use crate::declare::{DISABLED, ONLY_DISABLED, between, with_default};
use crate::fragment::interface;

const HOW: Kind = Kind::Words(&["none", "simple", "compress-headers", "compress-all"]);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            interface("The interface"),
            with_default("packing", HOW, "simple", "Packing of packets"),
            with_default("unpacking", HOW, "simple", "Unpacking of packets"),
            with_default(
                "aggregated-size",
                between(20, 16_384),
                "1500",
                "Maximum packet size",
            ),
        ],
        ONLY_DISABLED,
    ],
    flags: DISABLED,
    columns: &["interface", "packing", "unpacking", "aggregated-size"],
    effect: Effect::None,
    ..Menu::new("/ip/packing", MenuShape::List, "Packet packing")
};
