//! `/ip/tftp/settings`: how files are sent.

use menu::{Effect, Menu, Shape};

use crate::brief::{number, with};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[with(
        "max-block-size",
        number(512, 65_536),
        "4096",
        "Longest block",
    )]],
    effect: Effect::None,
    ..Menu::new("/ip/tftp/settings", Shape::Settings, "TFTP settings")
};
