//! `/ip/media`: media server (DLNA).

pub(crate) mod settings;

use menu::{Effect, Family, Kind, Menu, MenuShape};

use crate::declare::{DISABLED_DYNAMIC, ONLY_DISABLED, shown, text, with_default};
use crate::fragment::interface;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            interface("Interface of the server"),
            text("path", "The folder"),
            text("friendly-name", "Name of the server"),
            with_default(
                "allowed-ip",
                Kind::List(&Kind::Address(Family::V4)),
                "",
                "Allowed hosts",
            ),
            text("allowed-hostname", "Names of allowed hosts"),
            shown("status", Kind::Text, "State of the server"),
        ],
        ONLY_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["interface", "path", "friendly-name", "status"],
    effect: Effect::None,
    ..Menu::new("/ip/media", MenuShape::List, "Media servers")
};
