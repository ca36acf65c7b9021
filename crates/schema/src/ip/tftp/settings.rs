//! `/ip/tftp/settings`: how files are sent.

use menu::{Effect, Kind, Menu, Shape};

use crate::brief::with;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[with(
        "max-block-size",
        Kind::Words(&["512", "1454", "4096", "8192"]),
        "4096",
        "Longest block",
    )]],
    effect: Effect::None,
    rank: 516,
    ..Menu::new("/ip/tftp/settings", Shape::Settings, "TFTP settings")
};
